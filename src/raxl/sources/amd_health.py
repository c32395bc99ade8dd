"""What amdgpu's files say of how its devices do: errors by block, bad pages, partitions, load, and dumps after a hang.

https://docs.kernel.org/gpu/amdgpu/ras.html, https://docs.kernel.org/gpu/amdgpu/driver-misc.html. `xgmi_error` is not
read: reading clears it. Nor is `amdgpu_gpu_recover`: reading resets the device. Counts of a suspended device are bogus.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.identity import last_pci_address, pci_address
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_PRESENT, NOT_SUPPORTED
from raxl.sources import amd_names, kfd, pci
from raxl.sources.numbers import MOST_COUNT, MOST_PLACES, whole

ROCM = "/opt/rocm/.info/version"
MODULE = "/sys/module/amdgpu/version"
DUMPS = "/sys/class/devcoredump"
_BLOCK = re.compile("([a-z0-9_]{1,24})_err_count")
_MOST_BLOCKS, _MOST_DUMPS = 40, 64
_FILES = {
    "compute_partition": "current_compute_partition",
    "memory_partition": "current_memory_partition",
    "utilization_percent": "gpu_busy_percent",
    "pcie_replays": "pcie_replay_count",
}
_PAGES = "ras/gpu_vram_bad_pages"
_POWER = "power/runtime_status"
_COUNT = re.compile(r"^\s*(ue|ce|de)\s*:\s*([0-9]{1,20})\s*$", re.MULTILINE)
_PAGE = re.compile(r"^\s*0x[0-9a-fA-F]{1,16}\s*:\s*0x[0-9a-fA-F]{1,16}\s*:\s*([RPF])\s*$", re.MULTILINE)
_BOGUS = 1048560
"""Counts of a device that slept are multiples of this."""
_ASLEEP = Answer(None, NOT_APPLICABLE, "the device is suspended: its counts would be wrong, and reading would wake it")


class Answers(NamedTuple):
    """amdgpu's files by function, the blocks whose errors each counts, dumps by name, and versions."""

    devices: Mapping[str, Mapping[str, Answer]]
    blocks: Mapping[str, Answer]
    dumps: Mapping[str, Answer]
    dump_list: Answer
    nodes: kfd.Answers
    versions: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks of each GPU that amdgpu drives; of a machine without one only that it has none."""
    devices, blocks = {}, {}
    for name in _driven(host):
        folder = f"{pci.FOLDER}/{name}"
        power = host.text(f"{folder}/{_POWER}")
        asleep = stripped(power) in ("suspended", "suspending")
        blocks[name] = _ASLEEP if asleep else host.names(f"{folder}/ras")
        named = [f"ras/{file}" for file in blocks[name].value or () if _BLOCK.fullmatch(file)]
        asked = (*_FILES.values(), _PAGES, *named[:_MOST_BLOCKS])
        devices[name] = {file: _ASLEEP if asleep else host.text(f"{folder}/{file}") for file in asked}
        devices[name]["threshold"] = _ASLEEP if asleep else _threshold(host, name)
    unasked = Answer(None, "not-asked", "no GPU here is driven by amdgpu")
    dump_list = host.names(DUMPS) if devices else unasked
    dumps = {
        name: host.link(f"{DUMPS}/{name}/failing_device")
        for name in (dump_list.value or ())[:_MOST_DUMPS]
        if name.startswith("devcd")
    }
    versions = {"amdgpu": host.text(MODULE), "rocm": host.text(ROCM)} if _is_here(host) else {}
    return Answers(devices, blocks, dumps, dump_list, kfd.ask(host), versions)


def _functions(host: Host) -> List[str]:
    """The vendor's display and accelerator functions, a processor's own graphics left out."""
    found = []
    for name in host.names(pci.FOLDER).value or ():
        folder = f"{pci.FOLDER}/{name}"
        if stripped(host.text(f"{folder}/vendor")) == "0x" + amd_names.VENDOR_ID:
            kind, device = stripped(host.text(f"{folder}/class")), stripped(host.text(f"{folder}/device"))
            if (kind or "").startswith(("0x03", "0x12")) and (device or "")[2:] not in amd_names.INTEGRATED:
                found.append(name)
    return found


def _is_here(host: Host) -> bool:
    return bool(_functions(host))


def _driven(host: Host) -> List[str]:
    links = {name: stripped(host.link(f"{pci.FOLDER}/{name}/driver")) or "" for name in _functions(host)}
    return [name for name, link in links.items() if link.rpartition("/")[2] == "amdgpu"]


def _threshold(host: Host, name: str) -> Answer:
    """How many bad pages the driver bears: below debugfs, by the number of the device's card, for root alone."""
    cards = [
        card for card in host.names(f"{pci.FOLDER}/{name}/drm").value or () if re.fullmatch("card[0-9]{1,3}", card)
    ]
    if not cards:
        return Answer(None, NOT_PRESENT, "the device has no card below drm")
    return host.text(f"/sys/kernel/debug/dri/{cards[0][4:]}/ras/bad_page_cnt_threshold")


def readings(answers: Answers) -> Dict[str, Dict[str, Reading]]:
    """By PCI address: `ras` (by block `ue`, `ce`, `de`), `bad_pages` (by `R`, `P`, `F`), `bad_page_threshold`,
    `compute_partition`, `memory_partition`, `utilization_percent`, `pcie_replays`, `dumps` (names)."""
    found = {}
    for name, files in answers.devices.items():
        address = pci_address(name)
        if address is not None:
            folder = f"{pci.FOLDER}/{name}"
            found[address] = {
                "ras": _ras(f"{folder}/ras", answers.blocks[name], files),
                "bad_pages": _read(f"{folder}/{_PAGES}", files[_PAGES], _pages),
                "bad_page_threshold": _read("/sys/kernel/debug/dri", files["threshold"], _number),
                "compute_partition": _read(
                    f"{folder}/{_FILES['compute_partition']}", files[_FILES["compute_partition"]], str
                ),
                "memory_partition": _read(
                    f"{folder}/{_FILES['memory_partition']}", files[_FILES["memory_partition"]], str
                ),
                "utilization_percent": _read(f"{folder}/gpu_busy_percent", files["gpu_busy_percent"], _number),
                "pcie_replays": _read(f"{folder}/pcie_replay_count", files["pcie_replay_count"], _number),
                "dumps": _dumps(address, answers),
            }
    return found


def drivers(answers: Answers) -> Dict[str, Reading]:
    """`amdgpu` and `rocm`: versions; `kfd`: the addresses of the GPUs that KFD lists."""
    sources = {"amdgpu": MODULE, "rocm": ROCM}
    told = {name: _read(sources[name], answer, str) for name, answer in answers.versions.items()}
    if answers.versions:
        listing, silent = answers.nodes.listing, kfd.unread(answers.nodes)
        refused = listing if not listing.known else next(iter(silent.values()), None)
        listed = tuple(sorted({node.address for node in kfd.parse(answers.nodes)}))
        told["kfd"] = (
            Reading(listed, kfd.FOLDER)
            if refused is None
            else Reading(None, kfd.FOLDER, refused.reason, refused.message)
        )
    return told


def _ras(source: str, blocks: Answer, files: Mapping[str, Answer]) -> Reading:
    """The counts of every block; one that cannot be read costs the answer, for the error may be there."""
    if not blocks.known:
        reason = NOT_SUPPORTED if blocks.reason == NOT_PRESENT else blocks.reason
        return Reading(None, source, reason, blocks.message or "the device counts no errors: no RAS")
    told: Dict[str, Mapping[str, int]] = {}
    for file, answer in files.items():
        block = _BLOCK.fullmatch(file.rpartition("/")[2])
        if block is None:
            continue
        counts = {kind: int(count) for kind, count in _COUNT.findall(str(answer.value or ""))}
        if not answer.known:
            return Reading(None, f"{source}/{block[0]}", answer.reason, answer.message)
        if not counts or any(count > MOST_COUNT or (count and count % _BOGUS == 0) for count in counts.values()):
            return Reading(None, f"{source}/{block[0]}", FAILED, f"it says {str(answer.value).strip()[:40]!r}")
        told[block[1]] = counts
    if not told:
        return Reading(None, source, NOT_SUPPORTED, "the device counts no errors of any block")
    return Reading(told, source)


def _read(source: str, answer: Answer, value: Callable[[str], object]) -> Reading:
    if not answer.known:
        reason = NOT_SUPPORTED if answer.reason == NOT_PRESENT else answer.reason
        return Reading(None, source, reason, answer.message or "this driver has no such file")
    said = value(stripped(answer) or "")
    if said is None or said == "":
        return Reading(None, source, FAILED, f"it says {str(answer.value).strip()[:40]!r}")
    return Reading(said, source)


def _pages(text: str) -> Mapping[str, int]:
    """How many pages are retired, pending and failed. A good memory has an empty list."""
    kinds = _PAGE.findall(text)
    return {kind: kinds.count(kind) for kind in "RPF"}


def _number(text: str) -> Optional[int]:
    return whole(text, MOST_COUNT)


def _dumps(address: str, answers: Answers) -> Reading:
    """The dumps that a hang of this device left; the kernel keeps one for five minutes, or until it is read."""
    listing = answers.dump_list
    if not listing.known and listing.reason != NOT_PRESENT:
        return Reading(None, DUMPS, listing.reason, listing.message)
    own = [name for name, link in answers.dumps.items() if last_pci_address(stripped(link) or "") == address]
    return Reading(tuple(own[:MOST_PLACES]), DUMPS)
