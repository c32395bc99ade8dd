"""What `furiosa-smi` says of FuriosaAI's NPUs: `info` and `status` as JSON, the table of `info`, the matrix of `topo`.

https://developer.furiosa.ai/latest/en/device_management/system_management_interface/furiosa_smi_cli.html. The numbers
of `npu<n>` may have gaps and move between boots. Of the words of `topo` one is a class of raxl's legend: `Bridge` (one
or more PCIe switches) may be PIX or PXB, `Cpu` (within one socket) PHB or NODE, `Interconnect` is SYS.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Claim, LinkClaim, Report
from raxl.sources import json_text, kernel_list, tool_box, tool_words
from raxl.sources.numbers import MOST_PLACES, whole

TOOL = "furiosa-smi"
VENDOR, RESOURCE, VISIBLE = "furiosa", "FURIOSA", "FURIOSA_DEVICES"
_NAME = re.compile(r"npu([0-9]{1,5})")
_WORDS = {"Bridge": None, "Cpu": None, "Interconnect": "SYS"}
"""By the tool's word of a pair, the class that it is; None where it may be one of two."""
_SELF = "Noc"
_UNKNOWN = "Unknown"
_COLUMNS = {"arch": "arch", "device": "dev_name", "firmware": "firmware", "pci-bdf": "pci_bdf"}


def ray_type(arch: str) -> Optional[str]:
    """Ray's `ray.io/accelerator-type` of an architecture: `rngd+` is `FURIOSA_RNGDPLUS`."""
    letters = "".join(one for one in arch.split(".")[-1].strip().replace("+", "plus") if one.isalnum()).upper()
    return f"FURIOSA_{letters}" if letters else None


def has_json(text: str) -> bool:
    """Whether NPUs as `furiosa-smi` lists them stand in the text."""
    return '"arch"' in text and any(True for one in json_text.documents(text) for _ in _entries(one.value))


def has_table(text: str) -> bool:
    """Whether a line of its tables stands in the text."""
    return ("npu" in text or "PCI-BDF" in text) and any(True for _ in table(text))


def table(text: str) -> Iterator[Tuple[str, str, Tuple[str, ...]]]:
    """The lines of its tables that are read: the line, its kind (`head`, `info`, `matrix`, `row`) and its cells."""
    is_matrix = is_info = False
    for line in tool_words.lines(text):
        cells = tool_words.cells(line)
        names = [_NAME.fullmatch(cell) is not None for cell in cells]
        if len(cells) > 1 and cells[0] == "Device" and names[1]:
            is_matrix, is_info = True, False
            yield line, "matrix", cells
        elif len(cells) > 2 and cells[:2] == ("Arch", "Device"):
            is_matrix, is_info = False, True
            yield line, "head", cells
        elif is_matrix and cells and names[0]:
            yield line, "row", cells
        elif len(cells) > 1 and names[1] and (any(map(pci_address, cells)) or (is_info and tool_box.is_broken(line))):
            yield line, "info", cells


def report(text: str) -> Report:
    """The NPUs, and the pairs of `topo`. Of a damaged document, what is whole is read."""
    claims: List[Claim] = []
    problems: List[Problem] = []
    for document in json_text.documents(text):
        entries = list(_entries(document.value))
        claims += [_claim(_flat(one), document.damage is not None and one is entries[-1]) for one in entries]
        problems += document.problems(TOOL, TOOL) if entries else ()
    head: Tuple[str, ...] = ("arch", "device", "firmware", "temp.", "power", "pci-bdf")
    columns: List[str] = []
    rows: Dict[str, Tuple[str, ...]] = {}
    read = list(table(text))
    for line, kind, cells in read:
        if kind == "head":
            head = tuple(cell.lower() for cell in cells)
        elif kind == "info":
            words = {_COLUMNS.get(name, name): cell for name, cell in zip(head, cells)}
            claims.append(_claim(words, tool_box.is_broken(line)))
        elif kind == "matrix":
            columns = [cell for cell in cells[1:] if _NAME.fullmatch(cell)]
        else:
            rows.setdefault(cells[0], cells[1:])
    of_devices = {line for line, kind, _ in read if kind == "info"}
    problems += tool_box.damage(TOOL, TOOL, tool_words.lines(text), of_devices)
    if any(kind == "head" for _, kind, _ in read) and not of_devices:
        problems.append(tool_box.empty(TOOL, TOOL, "NPU"))
    links, told = _matrix(columns, rows)
    claims += [_placed(name, rows.get(name, ()), len(columns)) for name in dict.fromkeys((*columns, *rows))]
    distinct = {(one.evidence, one.index): one for one in reversed(claims)}
    return Report(claims=tuple(distinct.values())[::-1], links=tuple(links), problems=(*problems, *told))


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """The devices of `info` (`dev_name`) and `status` (`device`)."""
    for entry in value if isinstance(value, list) else (value,):
        if isinstance(entry, dict) and "arch" in entry and _NAME.fullmatch(str(_name(entry))):
            yield entry


def _name(entry: Mapping[str, Any]) -> Any:
    return entry.get("dev_name", entry.get("device"))


def _flat(entry: Mapping[str, Any]) -> Dict[str, Any]:
    memory = entry.get("memory")
    dram = memory.get("DRAM") if isinstance(memory, dict) else None
    total = {"dram": dram["total_size"]} if isinstance(dram, dict) and "total_size" in dram else {}
    return {**entry, "dev_name": _name(entry), **total}


def _claim(held: Mapping[str, Any], is_cut: bool) -> Claim:
    words = tool_words.Words(TOOL, held, is_cut)
    name, arch, liveness = words.said("dev_name") or "", words.said("arch"), words.said("liveness")
    found = _NAME.fullmatch(name)
    command = "info" if "pci_bdf" in held or "liveness" not in held else "status"
    memory = tool_words.size(words.said("dram"))
    told: Dict[str, Any] = {
        "model": arch.upper() if arch else None,
        "architecture": arch.lower() if arch else None,
        "uuid": words.said("device_uuid"),
        "serial": words.said("device_sn"),
        "memory_bytes": memory,
        "numa_node": whole(words.said("numa_node"), MOST_PLACES),
        "state": "ok" if liveness == "alive" else None,
    }
    asked = ("arch", "arch", "device_uuid", "device_sn", "dram", "numa_node", "liveness")
    silent = {field: words.silence(word) for field, word in zip(told, asked) if told[field] is None}
    if liveness is not None and liveness != "alive":
        told["state"] = "degraded"
        del silent["state"]
    if arch is None:
        silent["ray.type"] = silent["model"]
    index = whole(found[1], MOST_PLACES) if found else None
    attributes = {"firmware": words.said("firmware"), "visible_name": None if index is None else f"npu:{index}"}
    return Claim(
        vendor=VENDOR,
        kind="npu",
        evidence=f"{TOOL} {command}",
        address=pci_address(words.said("pci_bdf")),
        index=index,
        ray=RayView(resource=RESOURCE, type=ray_type(arch) if arch else None),
        visible_env=VISIBLE,
        attributes={key: word for key, word in attributes.items() if word is not None},
        silent=silent,
        **told,
    )


def _placed(name: str, cells: Tuple[str, ...], columns: int) -> Claim:
    """A device of the matrix: its last column is its NUMA node, or a list of them."""
    nodes = kernel_list.parse(cells[columns] if len(cells) > columns else "") or frozenset()
    return Claim(
        vendor=VENDOR,
        kind="npu",
        evidence=f"{TOOL} topo",
        index=whole(name[3:], MOST_PLACES),
        numa_node=next(iter(nodes)) if len(nodes) == 1 else None,
        local_numa_nodes=tuple(sorted(nodes)),
        ray=RayView(resource=RESOURCE),
        visible_env=VISIBLE,
        attributes={"visible_name": f"npu:{int(name[3:])}"},
    )


def _matrix(columns: List[str], rows: Mapping[str, Tuple[str, ...]]) -> Tuple[List[LinkClaim], List[Problem]]:
    cells = {(row, column): word for row, held in rows.items() for column, word in zip(columns, held)}
    links, problems = [], []
    for a, b in combinations(columns, 2):
        words = [word for word in (cells.get((a, b)), cells.get((b, a))) if word in _WORDS]
        if len(set(words)) > 1:
            message = f"{TOOL} topo calls {a}–{b} {words[0]} in one row and {words[1]} in the other"
            problems.append(Problem("links", DISAGREEMENT, message, (TOOL,)))
        if words:
            one, other = (f"{VENDOR}#{int(name[3:])}" for name in (a, b))
            links.append(LinkClaim(one, other, _WORDS[words[0]], "pcie", evidence=f"{TOOL} topo"))
    missing = [name for name in columns if len(rows.get(name, ())) < len(columns)]
    if missing:
        message = f"the matrix of {TOOL} topo is incomplete: the rows of {', '.join(missing)} are missing or cut off"
        problems.append(Problem("links", FAILED, message, (TOOL,)))
    return links, problems
