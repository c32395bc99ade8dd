"""What `mx-smi` says of MetaX's GPUs: its table (two layouts), and the matrix of `mx-smi topo -m`.

Moffett's tool has the same name: only what bears MetaX's banner, models (`MetaX C500`, `MXC550`) or links is read.
A cell `MX` says that MetaXLink joins a pair, and not by how many links. Of a GPU's health the cell `GPU-State` of the
newer layout tells (`Available`), and nothing in the older one.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.link import PCIE_CLASSES, fabric_class
from raxl.model.node import Software
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import kernel_list, tool_box, tool_words
from raxl.sources.numbers import MOST_PLACES, whole

TOOL, TOPO = "mx-smi", "mx-smi topo -m"
VENDOR, RESOURCE, VISIBLE = "metax", "GPU", "CUDA_VISIBLE_DEVICES"
FABRIC = "metaxlink"
_BANNER = re.compile(r"MetaX System Management Interface|MX-SMI|traversing MetaXLink|Device link type matrix")
_ATTACHED = re.compile(r"Attached GPUs\s{0,80}:\s{0,8}([0-9]{1,20})")
_VERSIONS = {
    "metax": re.compile(r"Kernel Mode Driver Version:\s{0,8}([\w.-]{1,40})"),
    "maca": re.compile(r"MACA Version:\s{0,8}([\w.-]{1,40})"),
}
_NAMED = re.compile(r"([0-9]{1,5})\s{1,40}((?:MetaX|MX[A-Z])\s?\S.{0,60})")
_NUMBER = re.compile(r"([0-9]{1,5})(?:\s{1,40}\S{1,20})?")
_MEMORY = re.compile(r"(?:[0-9]{1,20}) ?(?:MiB)? ?/ ?([0-9]{1,20} ?MiB)")
_HEAD = re.compile(r"\s*GPU[0-9]{1,5}(\s+GPU[0-9]{1,5})*(\s+(Node|NUMA|CPU) Affinity)*\s*")
_CELL = re.compile(r"X|MX[0-9]{0,3}|ETH|SYS|NODE|PHB|PXB|PIX|NA|N/A")
_NAMES_OF_NOTHING = ("X", "NA", "N/A")


class _Gpu(NamedTuple):
    number: int
    name: str
    address: Optional[str]
    beneath: Tuple[str, ...]
    """The cells of the line beneath: power, temperature, memory, state. None for a device in which the text ends."""
    is_cut: bool
    """Whether the text ends before or in the line beneath."""


def recognises_table(text: str) -> bool:
    """Whether a row of a MetaX GPU, or the table's head, stands in the text."""
    return any(kind in ("gpu", "version") for _, kind, _ in lines(text))


def recognises_matrix(text: str) -> bool:
    """Whether a matrix stands in the text that says by banner, legend or cell that it is of MetaX's GPUs."""
    told = list(lines(text))
    if not any(kind == "columns" for _, kind, _ in told):
        return False
    return _BANNER.search(text) is not None or any(kind == "row" and "MX" in line.split() for line, kind, _ in told)


def lines(text: str) -> Iterator[Tuple[str, str, Tuple[str, ...]]]:
    """The lines that are read, each with its kind and its cells or words."""
    below = False
    is_matrix = False
    for line in tool_words.lines(text):
        cells = tool_words.cells(line)
        kind = ""
        if cells and _NAMED.fullmatch(cells[0]) and any(map(pci_address, cells)):
            kind = "gpu"
        elif below and cells:
            kind = "beneath"
        elif cells and any(found.search(line) for found in _VERSIONS.values()):
            kind = "version"
        elif not cells and _ATTACHED.search(line):
            kind = "attached"
        elif _HEAD.fullmatch(line):
            kind, cells, is_matrix = "columns", tuple(re.findall(r"GPU[0-9]{1,5}", line)), True
        elif is_matrix and re.match(r"\s*GPU[0-9]{1,5}\s+\S", line):
            kind, cells = "row", tuple(line.split())
        below = kind == "gpu"
        if kind:
            yield line, kind, cells


def report(text: str) -> Report:
    """The GPUs of the table, those that only the matrix names, and the pairs of the matrix."""
    gpus: List[_Gpu] = []
    attached: Optional[int] = None
    versions: Dict[str, str] = {}
    columns: List[str] = []
    rows: Dict[str, Tuple[str, ...]] = {}
    for line, kind, cells in lines(text):
        if kind == "gpu":
            gpus.append(_gpu(cells))
        elif kind == "beneath":
            gpus[-1] = gpus[-1]._replace(beneath=cells, is_cut=tool_box.is_broken(line))
        elif kind == "attached":
            found = _ATTACHED.search(line)
            attached = whole(found[1], MOST_PLACES) if found else None
        elif kind == "version":
            for name, pattern in _VERSIONS.items():
                said = pattern.search(line)
                versions.update({name: said[1]} if said and tool_words.value_of(said[1]) else {})
        elif kind == "columns":
            columns = list(dict.fromkeys(cells))
        else:
            rows.setdefault(cells[0], cells[1:])
    listed = {(one.number, one.address): _claim(one) for one in gpus}
    links, problems = _matrix(columns, rows) if columns else ([], [])
    names = list(dict.fromkeys((*columns, *rows)))
    told = list(lines(text))
    of_gpus = {line for line, kind, _ in told if kind in ("gpu", "beneath")}
    damage = tool_box.damage(TOOL, TOOL, tool_words.lines(text), of_gpus)
    if any(kind == "version" for _, kind, _ in told) and not gpus and not names:
        damage = (tool_box.empty(TOOL, TOOL, "GPU"),)
    if attached is not None and (listed or names):
        damage = (*_counted(attached, len(listed or names), bool(damage)), *damage)
    return Report(
        claims=(*listed.values(), *(_seen(name, rows.get(name, ()), len(columns)) for name in names)),
        links=tuple(links),
        software=tuple(Software(name, version, TOOL) for name, version in versions.items()),
        problems=(*damage, *problems),
    )


def _counted(attached: int, listed: int, is_cut: bool) -> List[Problem]:
    """What is wrong where the tool states more GPUs than it lists, or fewer: of one that is not listed nothing is
    known. `is_cut`: the table ends early, which is told already."""
    if attached == listed:
        return []
    message = f"{TOOL} states {attached} attached GPUs and lists {listed}"
    found = [Problem("accelerators", DISAGREEMENT, message, (TOOL,))]
    if listed < attached and not is_cut:
        message = f"model, memory and state of {attached - listed} attached GPUs are not in {TOOL}'s output"
        found.append(Problem("accelerators", FAILED, message, (TOOL,)))
    return found


def _gpu(cells: Tuple[str, ...]) -> _Gpu:
    """The row of a GPU. The newer layout counts boards first and GPUs in the second cell, before its mode."""
    found = _NAMED.fullmatch(cells[0])
    assert found is not None
    address = next((place for place in map(pci_address, cells) if place), None)
    number = _NUMBER.fullmatch(cells[1]) if len(cells) > 1 and not pci_address(cells[1]) else None
    return _Gpu(int((number or found)[1]), found[2].strip(), address, (), is_cut=True)


def _claim(gpu: _Gpu) -> Claim:
    memory = next((found[1] for cell in gpu.beneath if (found := _MEMORY.fullmatch(cell))), None)
    place = next((i for i, cell in enumerate(gpu.beneath) if "/" in cell and not cell.upper().endswith("W")), None)
    held = {} if not gpu.beneath else {"memory": memory or (gpu.beneath[place] if place is not None else "")}
    held.update({"state": gpu.beneath[-1]} if len(gpu.beneath) > 3 and gpu.beneath[-1] else {})
    words = tool_words.Words(TOOL, held, gpu.is_cut)
    total = tool_words.size(words.said("memory"))
    silent = {} if total is not None else {"memory_bytes": words.silence("memory")}
    is_ray_name = gpu.name.startswith("MX")
    if not is_ray_name:
        message = f"Ray takes the name that pymxsml gives; the table prints {gpu.name}"
        silent["ray.type"] = Silence(NOT_ASKED, message)
    is_well = words.said("state") == "Available"
    if not is_well:
        told = words.raw("state")
        is_named = told is not None and told not in _NAMES_OF_NOTHING
        silent["state"] = Silence(FAILED, f"{TOOL} says {told}", TOOL) if is_named else words.silence("state")
    return Claim(
        vendor=VENDOR,
        kind="gpu",
        evidence=TOOL,
        address=gpu.address,
        index=gpu.number,
        model=gpu.name,
        memory_bytes=total,
        state="ok" if is_well else None,
        ray=RayView(resource=RESOURCE, type=gpu.name if is_ray_name else None),
        visible_env=VISIBLE,
        silent=silent,
    )


def _seen(name: str, cells: Tuple[str, ...], columns: int) -> Claim:
    """A GPU of the matrix: after its cells come the NUMA node, or a list of them, and the CPUs."""
    beside = cells[columns:]
    nodes = (kernel_list.parse(beside[0]) if len(beside) > 1 else None) or frozenset()
    return Claim(
        vendor=VENDOR,
        kind="gpu",
        evidence=TOPO,
        index=whole(name[3:], MOST_PLACES),
        numa_node=next(iter(nodes)) if len(nodes) == 1 else None,
        local_numa_nodes=tuple(sorted(nodes)),
        ray=RayView(resource=RESOURCE),
        visible_env=VISIBLE,
    )


def _matrix(columns: List[str], rows: Mapping[str, Tuple[str, ...]]) -> Tuple[List[LinkClaim], List[Problem]]:
    cells = {
        (row, column): word
        for row, held in rows.items()
        for column, word in zip(columns, held)
        if _CELL.fullmatch(word)
    }
    links, problems = [], []
    for a, b in combinations(columns, 2):
        words = [word for word in (cells.get((a, b)), cells.get((b, a))) if word is not None]
        if len(set(words)) > 1:
            message = f"the matrix calls {a}–{b} {words[0]} in one row and {words[1]} in the other"
            problems.append(Problem("links", DISAGREEMENT, message, (TOPO,)))
        if words:
            links.append(_link(a, b, words[0]))
    short = [name for name in columns if sum((name, other) in cells for other in columns) < len(columns)]
    if short:
        message = f"the matrix is incomplete: the rows of {', '.join(short)} are missing or cut off"
        problems.append(Problem("links", FAILED, message, (TOPO,)))
    return links, problems


def _link(a: str, b: str, word: str) -> LinkClaim:
    one, other = (f"{VENDOR}#{int(name[3:])}" for name in (a, b))
    if word in PCIE_CLASSES:
        return LinkClaim(one, other, word, "pcie", evidence=TOPO)
    if word in _NAMES_OF_NOTHING:
        return LinkClaim(one, other, None, None, evidence=TOPO)
    count = whole(word[2:], MOST_PLACES) if word.startswith("MX") else None
    kind = FABRIC if word.startswith("MX") else "ethernet"
    return LinkClaim(one, other, fabric_class(kind, count), kind, count, evidence=TOPO)
