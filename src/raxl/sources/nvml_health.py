"""What checks ask of NVIDIA's management library beyond what tells which devices there are.

It is asked after all of that, so that a device that hangs has been told first. Each answer becomes a reading, under the
names that `raxl.model.facts.Facts.devices` has for NVIDIA's devices (`raxl.collect.nvidia_devices` lists them).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Answer, Host
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_ASKED, NOT_SUPPORTED, TIMED_OUT
from raxl.sources import library_answers, nvidia_words, nvml

_CALLS = (
    "ecc_errors",
    "sram_threshold_exceeded",
    "remap_histogram",
    "temperature",
    "memory_temperature",
    "temperature_margin",
    "slowdown_temperature",
    "power_draw",
    "power_limit",
    "power_default",
    "persistence_mode",
    "compute_mode",
    "display_active",
    "performance_state",
    "utilization",
    "clocks",
    "memory",
    "holders",
    "violations",
    "nvlink_errors",
    "inforom",
)
_SHAPES: Mapping[str, Any] = {
    "ecc_errors": dict.fromkeys(nvidia_words.ECC_ERRORS, int),
    "remap_histogram": [int],
    "clocks": {"now": int, "most": int, "applications": int, "applications_default": int},
    "memory": {"total": int, "used": int, "reserved": int},
    "holders": [int],
    "violations": {},
    "nvlink_errors": [{}],
    "event_samples": {"seconds": float, "bits": [[int]], "grown": [{}]},
    "start_seconds": float,
}
_asked = library_answers.asker(nvml.NAME, _SHAPES, {"remap_histogram": 5})
_CORRUPTED = "NVML error 14:"
_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}


class Answers(NamedTuple):
    """How long the library took to start, each device's answers by the name of the call, and the samples of all."""

    start_seconds: Answer
    devices: Tuple[Mapping[str, Answer], ...]
    samples: Answer
    sampled: Tuple[int, ...] = ()
    """The indexes of the devices of the samples, in their order."""


def ask(host: Host, first: Optional[nvml.Answers] = None) -> Answers:
    """Asks each device that the library lists, and last the samples, which take a second.

    `first`: what `nvml.ask` gave.
    """
    known = nvml.ask(host) if first is None else first
    if not known.start.known:
        return Answers(known.start, (), known.start)
    started = _asked(host, "start_seconds")
    devices = tuple({call: _asked(host, call, index) for call in _CALLS} for index in range(len(known.devices)))
    answering = tuple(
        index
        for index, (before, own) in enumerate(zip(known.devices, devices))
        if not any(answer.reason == TIMED_OUT for answer in (*before.values(), *own.values()))
    )
    samples = _asked(host, "event_samples", *answering) if answering else Answer(None, TIMED_OUT, "no device answers")
    return Answers(started, devices, samples, answering)


def readings(first: nvml.Answers, answers: Answers, index: int) -> Dict[str, Reading]:
    """The readings of one device, by name; `first` are the answers that tell the devices."""
    known, own = first.devices[index], answers.devices[index]

    def told(call: str, value: Callable[[Any], Any] = lambda value: value) -> Reading:
        return _reading(call, known[call] if call in known else own[call], value)

    ecc, rows, fabric = told("ecc_mode", _modes), told("remapped_rows"), told("fabric", nvidia_words.fabric)
    memory, clocks, errors = told("memory", _memory), told("clocks", _filled), told("ecc_errors", _filled)
    return {
        "ecc_mode": ecc,
        "ecc_errors": errors,
        "sram_threshold_exceeded": told("sram_threshold_exceeded", bool),
        "remapped_rows": _part(rows, lambda value: tuple(value[:2])),
        "remap_pending": _part(rows, lambda value: bool(value[2])),
        "remap_failure": _part(rows, lambda value: bool(value[3])),
        "remap_histogram": told("remap_histogram", tuple),
        "recovery_action": told("recovery_action", _action),
        "events": told("clocks_event_reasons", nvidia_words.events),
        "event_samples": _samples(answers, index),
        "temperature_celsius": told("temperature"),
        "memory_temperature_celsius": told("memory_temperature"),
        "temperature_margin_celsius": _margin(
            told("temperature_margin"), told("temperature"), told("slowdown_temperature")
        ),
        "power_draw_watts": told("power_draw", _watts),
        "power_limit_watts": told("power_limit", _watts),
        "power_default_watts": told("power_default", _watts),
        "persistence_mode": told("persistence_mode", bool),
        "compute_mode": told("compute_mode", lambda mode: _COMPUTE_MODES.get(mode)),
        "display_active": told("display_active", bool),
        "performance_state": told("performance_state"),
        "utilization_percent": told("utilization"),
        "clocks_mhz": clocks,
        "mig_mode": told("mig_mode", _modes),
        "mig_instances": told("mig_devices", len),
        "memory_bytes": memory,
        "holders": told("holders", tuple),
        "violations_seconds": told("violations", _seconds),
        "inforom": _inforom(own["inforom"]),
        "vbios": told("vbios"),
        "nvlinks": told("nvlinks", nvidia_words.nvlinks),
        "nvlink_errors": told("nvlink_errors", lambda links: [_filled(one) for one in links]),
        "fabric": fabric,
        "virtualization": told("virtualization", lambda mode: nvml.VIRTUALIZATION.get(mode)),
        "unanswered": _unanswered({**known, **own}),
        "refused": Reading(
            tuple(dict.fromkeys(one.message for one in (*known.values(), *own.values()) if one.reason == FAILED)),
            nvml.NAME,
        ),
    }


def peers(answers: nvml.Answers, index: int) -> Reading:
    """What it says of access to each other device, by that one's index: the words of `nvml.p2p`."""
    words: Dict[int, str] = {}
    refusals = []
    for pair, asked in answers.pairs.items():
        if index in pair:
            answer = asked["p2p"]
            word = nvml.p2p_words(answer)
            if word is None:
                refusals.append(answer)
            else:
                words[pair[1] if pair[0] == index else pair[0]] = word
    if words or not refusals:
        return Reading(words, nvml.NAME)
    return Reading(None, nvml.NAME, refusals[0].reason or FAILED, refusals[0].message or "NVML gave no status")


def _unanswered(calls: Mapping[str, Answer]) -> Reading:
    """The calls that did not come back; nothing where some were never made, and none of the others hung."""
    waited = tuple(f"{call}: {answer.message}" for call, answer in calls.items() if answer.reason == TIMED_OUT)
    if not waited and any(answer.reason == NOT_ASKED for answer in calls.values()):
        return Reading(None, nvml.NAME, NOT_ASKED, "not all calls were made")
    return Reading(waited, nvml.NAME)


def _reading(call: str, answer: Answer, value: Callable[[Any], Any]) -> Reading:
    source = f"{nvml.NAME} {call}"
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    made = value(answer.value)
    if made is None:
        return Reading(None, source, FAILED, f"{call} gave {str(answer.value)[:40]}, which raxl does not know")
    return Reading(made, source)


def _part(reading: Reading, value: Callable[[Any], Any]) -> Reading:
    if not reading.known:
        return reading
    return Reading(value(reading.value), reading.source)


def _modes(modes: Sequence[int]) -> Tuple[bool, bool]:
    return bool(modes[0]), bool(modes[1])


def _action(number: int) -> str:
    return nvml.RECOVERY.get(number, f"action {number}").lower()


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _filled(values: Mapping[str, Optional[int]]) -> Dict[str, int]:
    """Those of the values that are numbers."""
    return {name: value for name, value in values.items() if isinstance(value, int)}


def _memory(told: Mapping[str, Optional[int]]) -> Optional[Dict[str, Optional[int]]]:
    """All three sizes; nothing where one of the two that every driver tells is missing."""
    known = _filled(told)
    if not {"total", "used"} <= set(known):
        return None
    return {"total": known["total"], "used": known["used"], "reserved": known.get("reserved")}


def _seconds(nanoseconds: Mapping[str, Optional[int]]) -> Dict[str, float]:
    return {name: value / 1e9 for name, value in _filled(nanoseconds).items()}


def _margin(margin: Reading, now: Reading, slowdown: Reading) -> Reading:
    """Degrees to the slowdown: as the library tells them, else from the temperature at which it comes."""
    if margin.known or not (now.known and slowdown.known):
        return margin
    return Reading(slowdown.value - now.value, slowdown.source)


def _inforom(answer: Answer) -> Reading:
    """That the records are corrupted is an answer, although it comes as an error."""
    source = f"{nvml.NAME} inforom"
    if answer.known:
        return Reading("valid", source)
    if answer.message.startswith(_CORRUPTED):
        return Reading("corrupted", source)
    return Reading(None, source, answer.reason, answer.message)


def _samples(answers: Answers, index: int) -> Reading:
    """`bits` as words of each time, `grown` by word the share of the time that the driver's clock of it went on."""
    samples, source = answers.samples, f"{nvml.NAME} event_samples"
    if not samples.known:
        return Reading(None, source, samples.reason, samples.message)
    if index not in answers.sampled:
        return Reading(None, source, TIMED_OUT, "it was left out, since it did not answer before")
    told, place = samples.value, answers.sampled.index(index)
    bits = told.get("bits") or []
    if place >= len(bits) or not bits[place] or not told.get("seconds"):
        return Reading(None, source, NOT_SUPPORTED, "the device tells no reasons")
    grown = (told.get("grown") or [])[place : place + 1]
    shares = {
        name: value / 1e9 / told["seconds"]
        for name, value in (grown[0] if grown else {}).items()
        if isinstance(value, int) and value >= 0
    }
    return Reading({"times": tuple(map(nvidia_words.events, bits[place])), "shares": shares}, source)
