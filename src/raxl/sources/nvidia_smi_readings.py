"""The words of one device in an output of `nvidia-smi`, as readings: under the names that NVML's answers have."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PERMITTED, NOT_SUPPORTED
from raxl.sources import nvidia_smi_places as places
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_BYTES, MOST_COUNT, whole

_NUMBER = re.compile(r"(-?[0-9]{1,7}(?:\.[0-9]{1,6})?) ?(?:W|C|%|MHz|us|bank\(s\))?")
_SWITCHES = {"Enabled": True, "On": True, "Yes": True, "Active": True}
_SWITCHES.update({"Disabled": False, "Off": False, "No": False, "Not Active": False})
_COMPUTE = {
    "Default": "default",
    "Exclusive_Process": "exclusive process",
    "E. Process": "exclusive process",
    "Exclusive_Thread": "exclusive thread",
    "E. Thread": "exclusive thread",
    "Prohibited": "prohibited",
}


class Told(NamedTuple):
    """What one output says of one device: by which names it calls it, and its words by the names of `places.ALL`."""

    form: str
    words: Mapping[str, str]
    address: Optional[str] = None
    uuid: Optional[str] = None
    number: Optional[int] = None
    processes: Optional[int] = None
    """How many it lists; None where it lists none of any device."""
    partitions: Optional[int] = None


def readings(told: Told) -> Dict[str, Reading]:
    """What the words say; what stands nowhere in them was not asked."""
    one = _Reader(told)
    return {
        "ecc_mode": one.pair("ecc_mode"),
        "ecc_errors": one.group("ecc ", _errors),
        "sram_threshold_exceeded": one.word("sram_threshold", _SWITCHES.get),
        "remapped_rows": one.numbers("remapped_corrected", "remapped_uncorrected"),
        "remap_pending": one.of_rows("remap_pending"),
        "remap_failure": one.of_rows("remap_failure"),
        "remap_histogram": one.numbers(*(f"bank {name}" for name in places.BANKS)),
        "recovery_action": one.action(),
        "events": one.group("event ", _events),
        "temperature_celsius": one.word("temperature", _whole),
        "memory_temperature_celsius": one.word("memory_temperature", _whole),
        "temperature_margin_celsius": one.margin(),
        "power_draw_watts": one.word("power_draw", _number),
        "power_limit_watts": one.word("power_limit", _number),
        "power_default_watts": one.word("power_default", _number),
        "persistence_mode": one.word("persistence_mode", _SWITCHES.get),
        "compute_mode": one.word("compute_mode", _COMPUTE.get),
        "display_active": one.word("display_active", _SWITCHES.get),
        "performance_state": one.word("performance_state", lambda word: _whole(word.lstrip("P"))),
        "utilization_percent": one.word("utilization", _whole),
        "clocks_mhz": one.clocks(),
        "mig_mode": one.pair("mig_mode"),
        "mig_instances": one.given(told.partitions),
        "memory_bytes": one.memory(),
        "holders": one.given(None if told.processes is None else tuple(range(told.processes))),
        "inforom": one.word("inforom", lambda word: word.lower()),
        "vbios": one.word("vbios", str),
        "virtualization": one.word("virtualization", str),
        "fabric": one.fabric(),
    }


class _Reader:
    """Reads the words of one device."""

    def __init__(self, told: Told) -> None:
        self._words, self._form = told.words, told.form

    def word(self, name: str, value: Callable[[str], Any]) -> Reading:
        """One word as a value; a word that is none of those that are known fails."""
        said = self._words.get(name)
        refused = self._refused(said)
        if refused is not None or said is None:
            return refused or self._unasked()
        made = value(said.strip())
        return Reading(made, self._form) if made is not None else self._strange(said)

    def pair(self, name: str) -> Reading:
        """A mode now and after a reset: where an output has the one, both are taken to be equal."""
        now = self.word(name, _SWITCHES.get)
        later = self.word(f"{name}_pending", _SWITCHES.get)
        return Reading((now.value, later.value if later.known else now.value), self._form) if now.known else now

    def of_rows(self, name: str) -> Reading:
        """A switch of the remapped rows; a GPU without such rows says so of all of them at once."""
        return self.word(name if name in self._words else "remapped_rows", _SWITCHES.get)

    def numbers(self, *names: str) -> Reading:
        """Several numbers as one value."""
        found = [self.of_rows_number(name) for name in names]
        missing = next((one for one in found if not one.known), None)
        return missing or Reading(tuple(one.value for one in found), self._form)

    def of_rows_number(self, name: str) -> Reading:
        return self.word(name if name in self._words else "remapped_rows", _whole)

    def group(self, prefix: str, value: Callable[[Dict[str, str]], Any]) -> Reading:
        """All words of a group that say something; why the first does not, where none does."""
        said = {name[len(prefix) :]: word for name, word in self._words.items() if name.startswith(prefix)}
        refusals = {name: refused for name, word in said.items() if (refused := self._refused(word)) is not None}
        failed = next((one for one in refusals.values() if one.reason != NOT_SUPPORTED), None)
        if not said:
            return self._unasked()
        if failed is not None or len(refusals) == len(said):
            return failed or next(iter(refusals.values()))
        made = value({name: word for name, word in said.items() if name not in refusals})
        return Reading(made, self._form) if made is not None else self._strange(next(iter(said.values())))

    def action(self) -> Reading:
        """`None` is an action, and none of the words that say nothing."""
        said = self._words.get("recovery_action", "").strip()
        return Reading("none", self._form) if said == "None" else self.word("recovery_action", str.lower)

    def margin(self) -> Reading:
        """Degrees to the slowdown: newer drivers tell the distance to the limit, older ones both temperatures."""
        limit, slow = self.word("temperature_limit", _whole), self.word("slowdown_limit", _whole)
        now, slowdown = self.word("temperature", _whole), self.word("slowdown", _whole)
        if limit.known:
            return Reading(limit.value - (slow.value if slow.known else 0), self._form)
        if now.known and slowdown.known:
            return Reading(slowdown.value - now.value, self._form)
        if limit.reason != NOT_ASKED:
            return limit
        return slowdown if now.known else now

    def clocks(self) -> Reading:
        found = {
            name: self.word(f"clock_{name}", _whole) for name in ("now", "most", "applications", "applications_default")
        }
        known = {name: one.value for name, one in found.items() if one.known}
        return Reading(known, self._form) if known else found["now"]

    def memory(self) -> Reading:
        found = {name: self.word(f"memory_{name}", _bytes) for name in ("total", "used", "reserved")}
        missing = next((found[name] for name in ("total", "used") if not found[name].known), None)
        reserved = found["reserved"].value
        return missing or Reading(
            {"total": found["total"].value, "used": found["used"].value, "reserved": reserved}, self._form
        )

    def fabric(self) -> Reading:
        """As `nvidia_words.fabric` has it."""
        state = self.word("fabric_state", str.lower)
        if not state.known:
            return state
        said = {name: values.says(word) for name, word in self._words.items() if name.startswith("fabric")}
        status, summary = said.get("fabric_status"), said.get("fabric_summary")
        return Reading(
            {
                "state": state.value,
                "status": (status or "success").lower(),
                "summary": summary.lower() if summary else None,
                "faults": tuple(_faults(said)),
                "cluster": said.get("fabric_cluster"),
                "clique": said.get("fabric_clique"),
            },
            self._form,
        )

    def given(self, value: Any) -> Reading:
        return self._unasked() if value is None else Reading(value, self._form)

    def _refused(self, said: Optional[str]) -> Optional[Reading]:
        """The reading for a word that is no value; None for any other."""
        word = (said or "").strip()
        if said is None:
            return None
        if values.is_failure(word):
            reason = NOT_PERMITTED if "insufficient permissions" in word.lower() else FAILED
            return Reading(None, self._form, reason, f"nvidia-smi says {word[:100]}")
        if values.says(word) is None:
            return Reading(None, self._form, NOT_SUPPORTED, f"nvidia-smi says {word[:100] or 'nothing'}")
        return None

    def _strange(self, said: str) -> Reading:
        return Reading(None, self._form, FAILED, f"nvidia-smi says {said[:100]!r}, which raxl does not know")

    def _unasked(self) -> Reading:
        return Reading(None, self._form, NOT_ASKED, "this output of nvidia-smi does not hold it")


def _number(word: str) -> Optional[float]:
    found = _NUMBER.fullmatch(word)
    return float(found[1]) if found else None


def _whole(word: str) -> Optional[int]:
    number = _number(word)
    return None if number is None else round(number)


def _bytes(word: str) -> Optional[int]:
    """Of `593 MiB`; a bare number is one too, since csv may leave the unit out."""
    count = whole(re.sub(r"\s*MiB$", "", word), MOST_BYTES >> 20)
    return None if count is None else count << 20


def _errors(said: Mapping[str, str]) -> Optional[Dict[str, int]]:
    """The counts, and their sums where the output has only parts of them."""
    counts = {name: count for name, word in said.items() if (count := whole(word, MOST_COUNT)) is not None}
    if not counts:
        return None
    for counter in ("volatile", "aggregate"):
        halves = [counts.pop(f"uncorrected_{counter}_sram_{half}", None) for half in ("parity", "secded")]
        if None not in halves:
            counts.setdefault(f"uncorrected_{counter}_sram", sum(one or 0 for one in halves))
        for kind in ("uncorrected", "corrected"):
            parts = [counts.get(f"{kind}_{counter}_{memory}") for memory in ("sram", "dram")]
            if any(one is not None for one in parts):
                counts.setdefault(f"{kind}_{counter}", sum(one or 0 for one in parts))
    return counts


def _events(said: Mapping[str, str]) -> Tuple[str, ...]:
    return tuple(name for name in places.EVENTS if _SWITCHES.get(said.get(name, "")))


def _faults(said: Mapping[str, Optional[str]]) -> List[str]:
    """What the health section calls faulty; `Full` and `False` are how it calls the rest."""
    found = []
    for name in places.FABRIC_HEALTH:
        word = (said.get(f"fabric {name}") or "").lower()
        if word in ("true", "degraded") or (name == "incorrect configuration" and word not in ("", "none", "false")):
            found.append(f"{name}: {word}" if name == "incorrect configuration" else name)
    return found


QUESTIONS = tuple(readings(Told("", {})))
"""The names of the readings."""
