"""`nvidia-smi -q`: an indented text, one block a GPU. Drivers 390 to 610, whole or of some sections (`-d`).

A paste may have lost its indentation: then a value belongs to the title that stands nearest above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from raxl.intake.foreign import Foreign
from raxl.model.accelerator import Partition
from raxl.model.identity import pci_address
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import nvidia_smi_counters, nvidia_smi_places
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import READINGS, claim, slug, software
from raxl.sources.nvidia_smi_readings import Told

FORM = "nvidia-smi -q"
_TELLTALE = re.compile(r"NVSMI LOG|^[ \t]*GPU[ \t]+[0-9A-Fa-f]{2,8}:", re.MULTILINE)
_TITLE = re.compile(r"=+\s*NVSMI LOG\s*=+")
_GPU = re.compile(r"\s*GPU\s+((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")
_HEAD = re.compile(r"\s*(Timestamp|Driver Version|CUDA Version|KMD Version|CUDA UMD Version|Attached GPUs)\s*:\s*(.*)")
_NAME = re.compile(r"[A-Za-z][^:]{0,80}")
_PROCESSES = ("Processes", "Compute Processes")
_MIG = "MIG Device"
_FRAME_BUFFERS = ("Shared FB Memory Usage", "FB Memory Usage")

_WORDS = {
    "model": (("", "Product Name"),),
    "architecture": (("", "Product Architecture"),),
    "uuid": (("", "GPU UUID"),),
    "serial": (("", "Serial Number"),),
    "minor": (("", "Minor Number"),),
    "vbios": (("", "VBIOS Version"),),
    "addressing_mode": (("", "Addressing Mode"),),
    "recovery_action": (("", "GPU Recovery Action"),),
    "numa_node": (("", "GPU NUMA ID"), ("", "NUMA ID")),
    "memory": (("FB Memory Usage", "Total"),),
    "mig_mode": (("MIG Mode", "Current"),),
    "virtualization_mode": (("GPU Virtualization Mode", "Virtualization Mode"),),
    "device_id": (("PCI", "Device Id"),),
    "subsystem_id": (("PCI", "Sub System Id"),),
    "link_generation": (("PCIe Generation", "Current"),),
    "link_most_generation": (("PCIe Generation", "Max"),),
    "link_width": (("Link Width", "Current"),),
    "link_most_width": (("Link Width", "Max"),),
    "fabric_state": (("Fabric", "State"),),
    "fabric_clique": (("Fabric", "CliqueId"),),
    "fabric_cluster": (("Fabric", "ClusterUUID"),),
    "remapped_rows_correctable": (("Remapped Rows", "Correctable Error"),),
    "remapped_rows_uncorrectable": (("Remapped Rows", "Uncorrectable Error"),),
    "remap_pending": (("Remapped Rows", "Pending"),),
    "remap_failure": (("Remapped Rows", "Remapping Failure Occurred"),),
    "retired_pages_single_bit": (("Retired Pages", "Single Bit ECC"),),
    "retired_pages_double_bit": (("Retired Pages", "Double Bit ECC"),),
    "retirement_pending": (("Retired Pages", "Pending Page Blacklist"), ("Retired Pages", "Pending")),
    "pcie_replays": (("PCI", "Replays Since Reset"),),
}
"""Where a GPU's block says each word: the title above it and its own name."""
_READ = frozenset(place for places in _WORDS.values() for place in places)
_UNCORRECTED = re.compile(r"(?:SRAM|DRAM) Uncorrectable(?: Parity| SEC-DED)?")
"""Errors below the title `Volatile`: before Turing, the total below `Double Bit`."""


class _Entry(NamedTuple):
    depth: int
    title: str
    """The title that stands above it; empty for the GPU's own."""
    name: str
    word: str | None
    """None: this is a title itself."""
    counter: str
    """`Volatile` below the title of what was counted since the driver was loaded, `Aggregate` below that of all."""


class _Block(NamedTuple):
    address: str
    entries: tuple[_Entry, ...]


class _Log(NamedTuple):
    head: dict[str, str]
    blocks: list[_Block]


def recognises(text: str) -> bool:
    """Whether the text holds such a log: its title, or a GPU's line with an indented entry beneath."""
    if not _TELLTALE.search(values.plain(text)):
        return False
    kept = list(_kept(text))
    return any(_TITLE.search(line) for line in kept) or any(
        _GPU.fullmatch(line) and ":" in after and not _GPU.fullmatch(after) for line, after in pairwise(kept)
    )


def own(text: str) -> str:
    """The log, without the processes that it lists."""
    return "".join(f"{line}\n" for line in _kept(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs in the log's order, which is NVML's index order where all attached GPUs are listed."""
    log = _read(text)
    attached = whole(log.head.get("Attached GPUs"), MOST_PLACES)
    cut = bool(log.blocks) and _is_cut(log.blocks[-1])
    numbered = attached is not None and (attached == len(log.blocks) or (cut and attached > len(log.blocks)))
    claims = tuple(
        _claim(block, place if numbered else None, cut and block is log.blocks[-1])
        for place, block in enumerate(log.blocks)
    )
    driver = log.head.get("KMD Version") or log.head.get("Driver Version")
    cuda = log.head.get("CUDA UMD Version") or log.head.get("CUDA Version")
    versions = software(FORM, driver, cuda)
    return Foreign(FORM, report=Report(claims=claims, software=versions)), tuple(_problems(log, attached, cut))


def _problems(log: _Log, attached: int | None, cut: bool) -> Iterator[Problem]:
    if attached is not None and attached != len(log.blocks):
        message = f"nvidia-smi states {attached} attached GPUs and lists {len(log.blocks)}"
        yield Problem("accelerators", DISAGREEMENT, message, (FORM,))
    if cut or (attached is not None and not log.blocks):
        message = "nvidia-smi's output is incomplete: it ends before the last GPU's end"
        yield Problem("accelerators", FAILED, message, (FORM,))


def _kept(text: str) -> Iterator[str]:
    """The lines that are the log's own. A process's lines are left out: its arguments may hold anything."""
    inside, processes = False, None
    for line in values.lines(text):
        if _TITLE.search(line) or _GPU.fullmatch(line) or (_HEAD.fullmatch(line) and not line.startswith(" ")):
            inside, processes = True, None
            yield line
            continue
        if not line.strip() or not inside:
            continue
        depth, name, _ = _parts(line)
        if processes is not None and (depth > processes or depth == 0):
            continue
        processes = None
        if not _NAME.fullmatch(name) or (depth == 0 and _is_strange(line)):
            inside = False
            continue
        if name in _PROCESSES:
            processes = depth
        yield line


def _parts(line: str) -> tuple[int, str, str | None]:
    """How deep the line stands, its name, and its word; None where it is a title."""
    body = line.expandtabs().lstrip()
    name, colon, word = body.partition(":")
    return len(line.expandtabs()) - len(body), name.rstrip(), word.strip() if colon else None


def _is_strange(line: str) -> bool:
    """Whether a line without indentation is no entry of a log that lost its own: a prompt, another tool's line."""
    return not re.fullmatch(r"[A-Z][\w .()/-]{0,60}?(?:\s*:(?:\s.*)?)?", line) or bool(re.match(r"GPU\s*\d+\s*:", line))


def _read(text: str) -> _Log:
    head: dict[str, str] = {}
    blocks: list[tuple[str, list[_Entry]]] = []
    above: list[tuple[int, str]] = []
    for line in _kept(text):
        gpu, known = _GPU.fullmatch(line), _HEAD.fullmatch(line)
        if gpu:
            blocks.append((gpu[1], []))
            above = []
        elif known and not blocks:
            head.setdefault(known[1], known[2].strip())
        elif blocks:
            depth, name, word = _parts(line)
            while above and depth and above[-1][0] >= depth:
                above.pop()
            if depth == 0 and word is None:
                above = []
            title = above[-1][1] if above else ""
            counter = next((name for _, name in above if name in ("Volatile", "Aggregate")), "")
            blocks[-1][1].append(_Entry(depth, title, name, word, counter))
            if word is None:
                above.append((depth, name))
    return _Log(head, _joined(blocks))


def _joined(blocks: Sequence[tuple[str, list[_Entry]]]) -> list[_Block]:
    """One block a GPU: a log of other sections adds them, the same log once more adds nothing."""
    whole: dict[str, list[_Entry]] = {}
    for address, entries in blocks:
        known = whole.setdefault(address, entries)
        if known is not entries and not {(e.title, e.name) for e in known} & {(e.title, e.name) for e in entries}:
            known.extend(entries)
    return [_Block(address, tuple(entries)) for address, entries in whole.items()]


def _claim(block: _Block, index: int | None, is_cut: bool) -> Claim:
    mine, partitions = _apart(block.entries)
    flat = not any(entry.depth for entry in mine)
    said: dict[tuple[str, str], str] = {}
    for entry in mine:
        if entry.word is not None:
            said[entry.title, entry.name] = entry.word
            if flat:
                said.setdefault(("", entry.name), entry.word)
    words = {name: said[place] for name, places in _WORDS.items() for place in places if place in said}
    uncorrected = nvidia_smi_counters.total([entry.word for entry in mine if entry.word and _is_uncorrected(entry)])
    if uncorrected is not None:
        words["ecc_uncorrected"] = uncorrected
    failed = {
        slug(f"{title} {name}"): f"{word} ({name})"
        for (title, name), word in said.items()
        if (title, name) not in _READ and (title or not flat) and values.is_failure(word)
    }
    made = claim(
        FORM, {**words, "address": block.address}, index=index, partitions=partitions, failed=failed, is_cut=is_cut
    )
    if made.state == "lost":
        made = replace(made, silent={k: v for k, v in made.silent.items() if not k.startswith(READINGS)})
    if index is None:
        unnumbered = "nvidia-smi -q numbers no GPU, and this output does not list all of them"
        made = replace(made, silent={**made.silent, "index": Silence(NOT_ASKED, unnumbered)})
    return made


def _is_uncorrected(entry: _Entry) -> bool:
    is_total = (entry.title, entry.name) == ("Double Bit", "Total")
    return entry.counter == "Volatile" and (is_total or bool(_UNCORRECTED.fullmatch(entry.name)))


def _apart(entries: Sequence[_Entry]) -> tuple[list[_Entry], tuple[Partition, ...]]:
    """The GPU's own entries, and its MIG devices."""
    mine: list[_Entry] = []
    devices: list[list[_Entry]] = []
    within: int | None = None
    for entry in entries:
        if entry.word is None and entry.name in (_MIG, "MIG Devices"):
            within = entry.depth
            if entry.name == _MIG:
                devices.append([])
        elif within is not None and entry.depth > within:
            if devices:
                devices[-1].append(entry)
        elif within == 0 and devices and not _ends_mig(entry):
            devices[-1].append(entry)
        else:
            within = None
            mine.append(entry)
    return mine, tuple(_partition(place, device) for place, device in enumerate(devices))


def told(text: str) -> list[Told]:
    """What the log says of each GPU that checks go by."""
    return [_told(block) for block in _read(text).blocks]


def _told(block: _Block) -> Told:
    mine, partitions = _apart(block.entries)
    said: dict[str, str] = {}
    for entry in mine:
        if entry.word is not None:
            for title in (entry.title, f"{entry.counter} {entry.title}", *([] if any(e.depth for e in mine) else [""])):
                said.setdefault(f"{title}/{entry.name}", entry.word)
    words = {}
    for name, places in nvidia_smi_places.ALL.items():
        held = [said[place] for place in places.query if place in said]
        if held:
            words[name] = next((word for word in held if values.says(word) is not None), held[0])
    listed = next((entry for entry in mine if entry.name in _PROCESSES), None)
    return Told(
        form=FORM,
        words=words,
        address=pci_address(block.address),
        uuid=values.says(said.get("/GPU UUID")),
        processes=0 if listed is not None and listed.word == "None" else None,
        partitions=len(partitions) if words.get("mig_mode") == "Enabled" else None,
    )


def _ends_mig(entry: _Entry) -> bool:
    """What stands after the MIG devices of a log without indentation."""
    return entry.name in ("Accounting Mode", "Display Mode", "Serial Number", "GPU UUID", "Driver Model")


def _partition(place: int, entries: Sequence[_Entry]) -> Partition:
    said = {(entry.title, entry.name): entry.word or "" for entry in entries}
    number = next((word for (_, name), word in said.items() if name == "Index"), None)
    memory = next((said[title, "Total"] for title in _FRAME_BUFFERS if (title, "Total") in said), None)
    uuid = next((values.says(word) for (_, name), word in said.items() if name in ("UUID", "MIG UUID")), None)
    number = str(place if whole(number, MOST_PLACES) is None else whole(number, MOST_PLACES))
    return Partition(uuid or f"mig:{number}", None, values.mebibytes(memory))


def _is_cut(block: _Block) -> bool:
    """Whether a whole log ends inside this GPU: after all else it tells the processes."""
    names = {entry.name for entry in block.entries}
    whole_log = {"Product Name", "Product Brand"} <= names
    ends = names & {*_PROCESSES, "Capabilities"}
    return not names or (whole_log and not ends)
