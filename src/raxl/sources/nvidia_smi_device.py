"""One device of a text of `nvidia-smi`: its words as they stand there, made into a claim.

A word that is not there was not asked; `N/A` says that there is no such value; `ERR!` that reading it failed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Collection, Iterable, Mapping, Union

from raxl.model.accelerator import Partition, RayView
from raxl.model.component import PciLink
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PERMITTED, NOT_SUPPORTED
from raxl.model.report import Claim, Silence
from raxl.sources import nvidia_names, nvidia_smi_counters
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole

Words = Mapping[str, str]
"""By name, what the tool printed: `model`, `uuid`, `serial`, `address`, `memory`, `minor` … as `claim` reads them."""
Attributes = Mapping[str, Union[str, int, float, bool, None]]

READINGS = "attributes."
"""What precedes the name of a reading that is published nowhere, where `silent` says why it has no value."""
_FIELDS = {
    "model": "model",
    "architecture": "architecture",
    "uuid": "uuid",
    "serial": "serial",
    "memory": "memory_bytes",
    "fabric_state": "fabric",
    "link_generation": "link",
}
"""Words and the fields of a claim that they fill."""
_TOLD = ("mig_mode", "virtualization_mode", "vbios", "addressing_mode", "compute_capability")
"""Words that are published as they are."""
_ELSEWHERE = ("address", "device_id", "subsystem_id", "link_width", "link_most_generation", "link_most_width")
"""Words that the bus says too: that they failed here as well is no news."""
_WHOLE = ("nvidia-smi -q -x", "nvidia-smi -q")
"""Outputs that tell of a fabric wherever the driver knows one."""
_CUT = re.compile(r"\.\.\.$|…$")
NOT_HELD = Silence(NOT_ASKED, "this output of nvidia-smi does not hold it")


def claim(
    form: str,
    words: Words,
    *,
    index: int | None = None,
    partitions: tuple[Partition, ...] = (),
    attributes: Attributes | None = None,
    failed: Mapping[str, str] | None = None,
    is_cut: bool = False,
    is_cut_at: Collection[str] = (),
) -> Claim:
    """What the words say of one device.

    `failed` names readings that are published nowhere and failed, with the tool's words. `is_cut`: the text ends
    inside this device; `is_cut_at`: the words that it would have told there, where the others were not asked.
    """
    said = {name: word for name, raw in words.items() if (word := values.says(raw)) is not None}
    name = said.get("model")
    is_whole = name is not None and not _CUT.search(name)
    fabric = nvidia_names.fabric(said.get("fabric_state"), said.get("fabric_cluster"), said.get("fabric_clique"))
    silent = {**_unsaid(form, words, is_cut, is_cut_at), **_failures(form, words, failed or {})}
    if name is not None and not is_whole:
        silent["ray.type"] = Silence(NOT_ASKED, f"the table cuts the name “{name}” off")
    memory = values.mebibytes(said.get("memory"))
    link = _link(said)
    return Claim(
        vendor="nvidia",
        kind="gpu",
        evidence=form,
        address=pci_address(said.get("address")),
        uuid=said.get("uuid"),
        index=index,
        model=name if is_whole else None,
        model_by_id=name,
        architecture=said.get("architecture"),
        serial=said.get("serial"),
        vendor_id=values.half(said.get("device_id"), 4),
        device_id=values.half(said.get("device_id"), 0),
        subsystem_id=_subsystem(said.get("subsystem_id")),
        link=link if link != PciLink() else None,
        memory_bytes=memory,
        memory_numa_node=whole(said.get("numa_node"), MOST_PLACES),
        state=_state(words, silent),
        partitions=partitions,
        fabric=fabric,
        ray=RayView(resource="GPU", type=nvidia_names.ray_type(name) if is_whole else None),
        visible_env=nvidia_names.VISIBLE,
        attributes={**_attributes(said, words), **(attributes or {})},
        silent=silent,
    )


def seen(form: str, words: Words, index: int | None, attributes: Attributes, silent: Mapping[str, Silence]) -> Claim:
    """A device of which a text names little more than that it is there."""
    bare = claim(form, words, index=index, attributes=attributes)
    return replace(bare, silent={**bare.silent, **silent})


def distinct_gpus(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Each GPU once, as it was told first; of those that nothing identifies, one."""
    first: dict[tuple[str, ...], Claim] = {}
    for one in claims:
        first.setdefault(one.names, one)
    return tuple(first.values())


def software(form: str, driver: str | None, cuda: str | None) -> tuple[Software, ...]:
    """Driver and CUDA version, where the text says them."""
    told = (("nvidia", _version(driver)), ("cuda", _version(cuda)))
    return tuple(Software(name, version, form) for name, version in told if version is not None)


def _version(word: str | None) -> str | None:
    """`610.57.04` of `610.57.04 [Deprecated; …]`."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)+", values.says(word) or "")
    return found[0] if found else None


def slug(name: str) -> str:
    """A title as a key: `Power Draw` is `power_draw`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def distinct(words: Iterable[str | None]) -> str | None:
    """The one word that all of them are; None where they differ."""
    told = {word for word in words if word is not None}
    return told.pop() if len(told) == 1 else None


def _state(words: Words, silent: Mapping[str, Silence]) -> str | None:
    """`lost` or `degraded` where the tool says so; `ok` where the memory was read and no reading of its own failed."""
    failures = [word.lower() for word in words.values() if values.is_failure(word)]
    if any("lost" in word or "fallen off" in word for word in failures):
        return "lost"
    action = words.get("recovery_action", "").strip()
    if any("requires reset" in word for word in failures) or (values.says(action) and action.lower() != "none"):
        return "degraded"
    return None if "state" in silent else "ok"


def _unsaid(form: str, words: Words, is_cut: bool, is_cut_at: Collection[str]) -> dict[str, Silence]:
    """Why a field has no value where no reading of it failed."""
    ended = Silence(FAILED, "nvidia-smi's output ends inside this device", form)
    nothing = Silence(NOT_SUPPORTED, "nvidia-smi does not say", form)
    missing = {word: ended if is_cut or word in is_cut_at else NOT_HELD for word in _FIELDS}
    silent = {field: nothing if word in words else missing[word] for word, field in _FIELDS.items()}
    is_whole = form in _WHOLE and "model" in words and "memory" in words and not is_cut
    if "fabric_state" in words or is_whole:
        silent["fabric"] = Silence(NOT_APPLICABLE, "nvidia-smi names no fabric", form)
    if "memory" not in words:
        silent["state"] = missing["memory"]
    if "model" not in words:
        silent["ray.type"] = missing["model"]
    return silent


def _failures(form: str, words: Words, readings: Mapping[str, str]) -> dict[str, Silence]:
    """What failed: a field that the words fill leaves the device's state open, any other reading does not."""
    found: dict[str, Silence] = {}
    for name, word in words.items():
        if values.is_failure(word):
            silence = failure(form, word)
            if name not in _ELSEWHERE:
                found[_FIELDS.get(name, READINGS + name)] = silence
            if name in _FIELDS or name == "condition":
                for field in ("state", "fabric", "ray.type"):
                    found.setdefault(field, silence)
    for name, word in readings.items():
        found.setdefault(READINGS + name, failure(form, word))
    return found


def failure(form: str, words: str) -> Silence:
    """Why a reading failed, in the tool's words."""
    refused = "insufficient permissions" in words.lower()
    return Silence(NOT_PERMITTED if refused else FAILED, f"nvidia-smi says: {words.strip()[:200]}", form)


def _link(said: Words) -> PciLink:
    return PciLink(
        values.transfers(said.get("link_generation")),
        values.lanes(said.get("link_width")),
        values.transfers(said.get("link_most_generation")),
        values.lanes(said.get("link_most_width")),
    )


def _subsystem(identifier: str | None) -> str | None:
    vendor, device = values.half(identifier, 4), values.half(identifier, 0)
    return f"{vendor}:{device}" if vendor and device else None


def _attributes(said: Words, words: Words) -> dict[str, str | int | float | bool | None]:
    found: dict[str, str | int | float | bool | None] = {name: said[name] for name in _TOLD if name in said}
    minor = whole(said.get("minor"), MOST_PLACES)
    if minor is not None:
        found["minor"] = minor
    action = words.get("recovery_action", "").strip()
    if action == "None" or values.says(action):
        found["recovery_action"] = action
    return {**found, **nvidia_smi_counters.attributes(said)}
