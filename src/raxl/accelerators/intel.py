"""Intel data-centre and Arc GPUs: PCI, the files of xe and i915, and what `xpu-smi` says.

https://docs.kernel.org/gpu/xe/ (tiles, physical_vram_size_bytes). A processor's own graphics is no accelerator, nor are
Intel's NPUs and QuickAssist.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import Partition
from raxl.model.component import PciFunction, PciLink
from raxl.model.presence import Presence
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, intel_names, pci, xpu_smi, xpu_smi_topo
from raxl.sources.intel_names import INTEL
from raxl.sources.numbers import MOST_BYTES, whole

_TILE = re.compile(r"tile[0-9]{1,2}")
_CARD = re.compile(r"card[0-9]{1,5}")
_IDLE_ENDPOINT = PciLink(2.5, 1, 2.5, 1)
"""What the function behind a card's own switch says of its link, whatever the slot's is."""
_NO_MEMORY = Silence(NOT_SUPPORTED, "neither xe nor i915 has a file with the memory's size", "sysfs")


class Answers(NamedTuple):
    """What was asked: memory files by function and tile, and the tool's list, matrix and single devices."""

    memory: Mapping[str, Mapping[str, Answer]]
    listing: Answer
    single: Mapping[str, Answer]
    matrix: Answer


class Intel:
    """Intel GPUs with memory of their own."""

    vendor = INTEL.vendor
    family = INTEL.name

    def probe(self, host: Host) -> Presence:
        """Looks on the bus."""
        return families.probe(INTEL, host)

    def ask(self, host: Host) -> Answers:
        """Asks the driver's files, and `xpu-smi` where such a GPU is on the bus."""
        memory = {name: _memory_files(host, name) for name in _listed(host)}
        unasked = Answer(None, NOT_ASKED, "no Intel GPU is on the bus")
        listed = host.command(xpu_smi.COMMAND) if memory else unasked
        single = {}
        for name, files in memory.items():
            if listed.known and not any(answer.known for answer in files.values()):
                single[name] = host.command(("xpu-smi", "discovery", "-d", name, "-j"))
        return Answers(memory, listed, single, host.command(xpu_smi_topo.COMMAND) if listed.known else listed)

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; paths from the tool's matrix, in the field's words."""
        by_address = {function.address: function for function in functions}
        on_bus = families.on_bus(INTEL, functions)
        listed, silence = _list(answers.listing)
        devices = [*listed, *(one for answer in answers.single.values() for one in _list(answer)[0])]
        told = xpu_smi.claims(devices)
        indexes, named = {claim.index for claim in told}, {claim.address for claim in told}
        topology = _matrix(answers.matrix)
        seen = xpu_smi_topo.claims(topology) if topology else []
        links, problems = xpu_smi_topo.links(topology) if topology else ([], [])
        if listed and on_bus and len(listed) != len(on_bus):
            message = f"{len(on_bus)} Intel GPUs are on the bus, xpu-smi lists {len(listed)}"
            problems.append(Problem("accelerators", DISAGREEMENT, message, ("sysfs", xpu_smi.FORM)))
        return Report(
            claims=(
                *(_from_bus(one, by_address, answers, None if one.address in named else silence) for one in on_bus),
                *told,
                *(claim for claim in seen if claim.index in indexes),
            ),
            links=tuple(_unmapped(links)),
            software=xpu_smi.software(devices),
            problems=tuple(problems),
        )


def _unmapped(links: Iterable[LinkClaim]) -> Iterable[LinkClaim]:
    """The fabric's links alone: of PCIe paths the kernel's tree says more than the tool."""
    return (link for link in links if link.kind != "pcie")


def _listed(host: Host) -> list[str]:
    """The addresses of the family's functions, as the kernel lists them."""
    found = []
    for name in host.names(pci.FOLDER).value or ():
        if stripped(host.text(f"{pci.FOLDER}/{name}/vendor")) != "0x" + INTEL.vendor_id:
            continue
        if (stripped(host.text(f"{pci.FOLDER}/{name}/device")) or "")[2:] in INTEL.models:
            found.append(name)
    return found


def _memory_files(host: Host, name: str) -> dict[str, Answer]:
    """By tile or card, the file that holds its memory's size: xe's of a tile, i915's of a card."""
    folder = f"{pci.FOLDER}/{name}"
    files = {}
    for entry in host.names(folder).value or ():
        if _TILE.fullmatch(entry):
            files[entry] = host.text(f"{folder}/{entry}/physical_vram_size_bytes")
    for entry in host.names(f"{folder}/drm").value or ():
        if _CARD.fullmatch(entry) and not files:
            files[entry] = host.text(f"{folder}/drm/{entry}/lmem_total_bytes")
    return files


def _parsed(answer: Answer) -> Any:
    """The JSON that a command printed; None for anything else."""
    printed = answer.value.stdout if answer.known else ""
    try:
        return json.loads(printed, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _list(answer: Answer) -> tuple[list[Mapping[str, Any]], Silence]:
    """The devices that the tool lists, and why it says nothing of another."""
    if not answer.known:
        return [], Silence(answer.reason or FAILED, answer.message, xpu_smi.FORM)
    value = _parsed(answer)
    devices = xpu_smi.devices_of(value)
    if devices:
        return devices, Silence(FAILED, "xpu-smi does not list this device", xpu_smi.FORM)
    words = (answer.value.stdout + answer.value.stderr).strip().splitlines()
    said = xpu_smi.refusal(value) or (words[0][:200] if words else f"xpu-smi ended with {answer.value.status}")
    return [], Silence(FAILED, said, xpu_smi.FORM)


def _matrix(answer: Answer) -> xpu_smi_topo.Topology | None:
    printed = answer.value.stdout if answer.known else ""
    return xpu_smi_topo.read(printed) if xpu_smi_topo.recognises(printed) else None


def _from_bus(
    function: PciFunction, functions: Mapping[str, PciFunction], answers: Answers, silence: Silence | None
) -> Claim:
    """`silence`: why the tool says nothing of the device; None where it lists it."""
    claim = families.claim(INTEL, function, silence)
    sizes = {name: _size(answer) for name, answer in answers.memory.get(function.address, {}).items()}
    memory = sum(size or 0 for size in sizes.values()) if None not in sizes.values() else 0
    silent = dict(claim.silent)
    if memory:
        silent.pop("memory_bytes", None)
    elif function.driver in INTEL.drivers and silence is None:
        silent["memory_bytes"] = _unread(answers.single.get(function.address))
    if silence is not None and claim.ray is not None and claim.ray.type is None:
        silent["ray.type"] = Silence(NOT_ASKED, "Ray makes the type of the name that the runtime gives")
    tiles = [name for name in sizes if _TILE.fullmatch(name)]
    parts = tuple(Partition(f"tile:{name[4:]}", xpu_smi.TILE, sizes[name]) for name in tiles)
    return replace(
        claim,
        link=behind_switch(function, functions),
        memory_bytes=memory or None,
        state=claim.state or ("ok" if memory and function.driver in INTEL.drivers else None),
        partitions=parts if len(parts) > 1 else (),
        attributes={**claim.attributes, **({"visible_env_ids": intel_names.TILES} if len(parts) > 1 else {})},
        silent=silent,
    )


def _size(answer: Answer) -> int | None:
    """Bytes of a file of xe (in hex, `0x00000005fb000000`) or of i915 (decimal)."""
    text = stripped(answer) or ""
    found = re.fullmatch(r"0x([0-9a-fA-F]{1,16})", text)
    return whole(str(int(found[1], 16)) if found else text, MOST_BYTES)


def _unread(answer: Answer | None) -> Silence:
    """Why the memory of a device that the tool lists is not known."""
    if answer is None or answer.known:
        return _NO_MEMORY
    return Silence(answer.reason or FAILED, answer.message, xpu_smi.FORM)


def behind_switch(function: PciFunction, functions: Mapping[str, PciFunction]) -> PciLink | None:
    """The link between card and slot. A card with a switch of its own says 2.5 GT/s ×1 at the GPU's function; what the
    slot gives stands at the switch's upstream port, two levels up."""
    if function.link != _IDLE_ENDPOINT and not (function.device_id or "").startswith(intel_names.SWITCHED):
        return function.link
    if len(function.chain) < 3:
        return function.link
    upstream, downstream = (functions.get(address) for address in function.chain[-2:])
    if upstream is None or downstream is None or upstream.link is None:
        return function.link
    if {upstream.vendor_id, downstream.vendor_id} != {INTEL.vendor_id}:
        return function.link
    seen_from_slot = replace(function, link=upstream.link, chain=function.chain[:-2])
    return pci.with_ceiling(seen_from_slot, functions).link
