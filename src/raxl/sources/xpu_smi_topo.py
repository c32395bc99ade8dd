"""`xpu-smi topology -m`, with `-j` too: how Intel's GPUs are joined, tile by tile.

Its words are not the field's. It counts the bridges that two ways share, the host bridge among them: PHB means one (the
host bridge: PHB), PXB two (the root port: functions of one card, PIX), PIX three and more (a PCIe switch: PIX or PXB,
which it does not tell). SYS also stands for ways that share nothing within one NUMA node. MDF joins the tiles of one
card, XL16 is 16 lanes of Xe Link, XL* Xe Link by way of another tile.
https://github.com/intel/xpumanager (topology)
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from raxl.model.accelerator import Partition, RayView
from raxl.model.link import PCIE_CLASSES
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Claim, LinkClaim
from raxl.sources import kernel_list, tool_matrix
from raxl.sources.intel_names import INTEL, TILES
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.tool_matrix import Shape
from raxl.sources.xpu_smi import TILE

FORM = "xpu-smi topology"
COMMAND = ("xpu-smi", "topology", "-m")
SHAPE = Shape(
    name=re.compile(r"(?<![A-Za-z])GPU ?[0-9]{1,4}/[0-9]{1,2}|(?<![A-Za-z])NIC ?[0-9]{1,4}"),
    cell=re.compile(r"XL(?:\*|[0-9]{1,3})|MDF|SYS|NODE|PHB|PXB|PIX|N/A|S"),
    own="S",
)
_MEANING = {"PHB": "PHB", "PXB": "PIX", "PIX": None, "NODE": "NODE", "SYS": "SYS"}
"""The field's class for the tool's word; None: it does not tell which."""
_NEAREST = ("PIX", "PXB", "PHB", "NODE", "SYS")


class Topology(NamedTuple):
    """What the tool says, tiles put together to devices."""

    tiles: Mapping[int, Set[int]]
    words: Mapping[Tuple[int, int], Set[str]]
    """By pair of devices in both directions, the tool's words."""
    affinity: Mapping[int, str]
    numa: Mapping[int, int]
    damage: Optional[str]


def recognises(text: str) -> bool:
    """Whether such a matrix stands in the text."""
    return "GPU" in text and tool_matrix.recognises(text, SHAPE)


def own(text: str) -> str:
    """The lines of the matrix."""
    return tool_matrix.own(text, SHAPE)


def read(text: str) -> Topology:
    """What the matrix says; adapters' rows and columns are left out, for it names them by number alone."""
    matrix = tool_matrix.read(text, SHAPE)
    tiles: Dict[int, Set[int]] = {}
    words: Dict[Tuple[int, int], Set[str]] = {}
    affinity: Dict[int, str] = {}
    for name in matrix.names:
        place = _tile(name)
        if place:
            tiles.setdefault(place[0], set()).add(place[1])
    for (a, b), word in matrix.cells.items():
        first, second = _tile(a), _tile(b)
        if first and second and first[0] != second[0]:
            words.setdefault((first[0], second[0]), set()).add(word)
    for name, rest in matrix.beside.items():
        place = _tile(name)
        near = next((word for word in rest.split() if kernel_list.parse(word)), None)
        if place and near:
            affinity.setdefault(place[0], near)
    return Topology(tiles, words, affinity, {}, matrix.damage)


def _tile(name: str) -> Optional[Tuple[int, int]]:
    found = re.fullmatch(r"GPU([0-9]{1,4})/([0-9]{1,2})", name)
    return (int(found[1]), int(found[2])) if found else None


def is_document(value: Any) -> bool:
    """Whether a parsed document is `topology -m -j` or `topology -d N -j`."""
    return isinstance(value, dict) and (
        isinstance(value.get("topo_list"), list) or ("affinity_localcpulist" in value and "device_id" in value)
    )


def of_document(value: Mapping[str, Any]) -> Topology:
    """What the JSON says. A NUMA node is believed where it varies as the CPUs do: some releases write 0 for all."""
    tiles: Dict[int, Set[int]] = {}
    words: Dict[Tuple[int, int], Set[str]] = {}
    affinity: Dict[int, str] = {}
    numa: Dict[int, int] = {}
    entries = value.get("topo_list")
    for entry in entries if isinstance(entries, list) else [value]:
        if not isinstance(entry, dict):
            continue
        mine, other = (
            _number(entry.get("local_device_id", entry.get("device_id"))),
            _number(entry.get("remote_device_id")),
        )
        if mine is None or entry.get("local_node_type") == "NIC":
            continue
        tile, node = _number(entry.get("local_subdevice_id")), _number(entry.get("local_numa_index"))
        tiles.setdefault(mine, set()).add(tile or 0)
        near = entry.get("local_cpu_affinity", entry.get("affinity_localcpulist"))
        if isinstance(near, str) and kernel_list.parse(near):
            affinity.setdefault(mine, near)
        if node is not None:
            numa.setdefault(mine, node)
        word = entry.get("link_type")
        if other not in (None, mine) and isinstance(word, str) and entry.get("remote_node_type") != "NIC":
            words.setdefault((mine, int(other or 0)), set()).add(word.strip())
    believed = numa if len(set(numa.values())) >= len(set(affinity.values())) else {}
    return Topology(tiles, words, affinity, believed, None)


def _number(value: Any) -> Optional[int]:
    return None if isinstance(value, (bool, type(None), list, dict)) else whole(str(value), MOST_PLACES)


def claims(topology: Topology, form: str = FORM) -> List[Claim]:
    """The devices by number, with their tiles, the CPUs near them, and the tool's own words for the ways from them."""
    made = []
    for device, tiles in sorted(topology.tiles.items()):
        named = {
            "cpu_affinity": topology.affinity.get(device),
            "vendor_path": _own_words(device, topology) or None,
            "visible_env_ids": TILES if len(tiles) > 1 else None,
        }
        made.append(
            Claim(
                vendor=INTEL.vendor,
                kind=INTEL.kind,
                evidence=form,
                index=device,
                numa_node=topology.numa.get(device),
                partitions=tuple(Partition(f"tile:{tile}", TILE) for tile in sorted(tiles)) if len(tiles) > 1 else (),
                ray=RayView(resource=INTEL.resource),
                visible_env=INTEL.visible_env,
                attributes={name: value for name, value in named.items() if value is not None},
            )
        )
    return made


def _own_words(device: int, topology: Topology) -> str:
    """`NODE to 1, 2; SYS to 4`."""
    by_word: Dict[str, List[int]] = {}
    for other in sorted(topology.tiles):
        told = topology.words.get((device, other)) or topology.words.get((other, device))
        if told and other != device:
            by_word.setdefault("/".join(sorted(told)), []).append(other)
    return "; ".join(f"{word} to {', '.join(map(str, others))}" for word, others in by_word.items())


def links(topology: Topology, form: str = FORM) -> Tuple[List[LinkClaim], List[Problem]]:
    """A claim for each pair in the field's words; two rows that contradict each other are told."""
    problems = []
    if topology.damage:
        problems.append(Problem("links", FAILED, f"the matrix is incomplete: {topology.damage}", (form,)))
    made = []
    devices = sorted(topology.tiles)
    for place, a in enumerate(devices):
        for b in devices[place + 1 :]:
            there, back = topology.words.get((a, b), set()), topology.words.get((b, a), set())
            if there and back and there != back:
                shown = " and ".join("/".join(sorted(words)) for words in (there, back))
                message = f"the matrix calls GPU {a}–{b} {shown} in its two rows"
                problems.append(Problem("links", DISAGREEMENT, message, (form,)))
            claim = _link(a, b, sorted(there or back), topology.affinity, form)
            made += [claim] if claim else []
    return made, problems


def _link(a: int, b: int, words: Sequence[str], affinity: Mapping[int, str], form: str) -> Optional[LinkClaim]:
    ends = f"{INTEL.vendor}#{a}", f"{INTEL.vendor}#{b}"
    if any(word.startswith("XL") for word in words):  # lanes are told, and how many of them make a link is not
        return LinkClaim(*ends, link_class=None, kind="xelink", evidence=form)
    known = [word for word in _NEAREST if word in words]
    if not known:
        return None
    meant = _MEANING[known[0]]
    near = affinity.get(a)
    if meant == "SYS" and near is not None and near == affinity.get(b):
        meant = "NODE"
    assert meant is None or meant in PCIE_CLASSES
    return LinkClaim(*ends, link_class=meant, kind="pcie", evidence=form)
