"""The heading of a node: where am I, and what runs here."""

from __future__ import annotations

import re

from raxl.model.node import Cpu, Node, NumaNode
from raxl.model.placement import Placement
from raxl.model.printable import clean
from raxl.render.naming import Names
from raxl.render.quantity import binary_size
from raxl.render.text import UNBREAKABLE, Line, Page, display_width

_PRODUCTS = {"nvidia": "NVIDIA", "cuda": "CUDA", "rocm": "ROCm"}
_DECORATION = re.compile(
    r"\((R|TM)\)|\bIntel\b|\bAMD\b|\bCPU\b|@.*|\b\d+-Core Processor\b|\bProcessor\b", re.IGNORECASE
)
VIRTUAL = "virtual PCI tree: distances below are the hypervisor’s, not the machine’s"
_LONGEST_NAME = 24
"""A cloud's ids are longer: they are told apart by their ends."""
_REMEDY = "a topology file of the platform helps (raxl topo --from it)"


def heading(page: Page, node: Node) -> list[Line]:
    """Name, platform, system, processors and drivers, as far as they are known; then whether to trust the distances."""
    name = clean(node.name)
    hang = display_width(name) + 2
    parts = _parts(node)
    if not parts:
        lines: list[Line] = [page.cut([(page.spell(name), "bold")])]
    else:
        kept = f"{UNBREAKABLE}· ".join(part.replace(" ", UNBREAKABLE) for part in parts)
        lines = page.fold(kept, hang, lead=(f"{name}  ", "bold"))
    if node.path_trust == "virtual":
        described = not node.accelerators or any("nccl-xml" in one.evidence for one in node.accelerators)
        for text in (VIRTUAL,) if described else (VIRTUAL, _REMEDY):
            lines += page.fold(text, hang, style="warn", lead=(" " * min(hang, page.width // 3), ""))
    return lines


def numa_title(numa: tuple[int, ...], listed: dict[int, NumaNode], names: Names) -> str:
    """`NUMA 0  CPUs 0-55,112-167 · 1.0 TiB`; `NUMA ?` for devices whose node is not known."""
    if not numa:
        return "NUMA ?"
    if len(numa) > 1:
        return f"NUMA {' or '.join(map(str, numa))}"
    found = listed.get(numa[0])
    return f"NUMA {numa[0]}" + (f"  {resources(found, names)}" if found else "")


def resources(numa: NumaNode, names: Names) -> str:
    """`CPUs 0-55 · 1.0 TiB`, `no CPUs, no memory`, `memory of GPU 0 · 96.0 GiB`."""
    size = None if numa.memory_bytes is None else binary_size(numa.memory_bytes)
    if numa.accelerator:
        return f"memory of {names.of(numa.accelerator)} · {size or '?'}"
    if numa.cpus == "" and numa.memory_bytes == 0:
        return "no CPUs, no memory"
    cpus = "CPUs ?" if numa.cpus is None else f"CPUs {clean(numa.cpus)}" if numa.cpus else "no CPUs"
    memory = "no memory" if numa.memory_bytes == 0 else size or "memory ?"
    return f"{cpus} · {memory}"


def _parts(node: Node) -> list[str]:
    system, place = node.os, node.placement
    platform = " ".join(clean(text) for text in (place.provider, place.instance_type) if text)
    drivers = (f"{_PRODUCTS.get(found.name, found.name)} {found.version}" for found in node.software)
    parts = [
        platform,
        _where(place),
        _slice(place),
        system.distribution,
        system.kernel and f"Linux {system.kernel}",
        f"VM ({system.virtualization})" if system.virtualization not in (None, "none") else None,
        f"container ({system.container})" if system.container not in (None, "none") else None,
        _processors(node.cpu),
        *drivers,
    ]
    return [clean(part) for part in parts if part]


def _where(place: Placement) -> str | None:
    """`block b-2, rack r07`, long names by both their ends."""
    told = (("block", place.block), ("rack", place.rack))
    return ", ".join(f"{word} {_short(clean(name))}" for word, name in told if name) or None


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:4]}…{name[-6:]}"


def _slice(place: Placement) -> str | None:
    """`slice example-tpu-1 (4x4x8), worker 0`."""
    if place.slice is None and place.slice_topology is None:
        return None
    shape = f" ({place.slice_topology})" if place.slice and place.slice_topology else place.slice_topology or ""
    worker = f", worker {place.worker_index}" if place.worker_index is not None else ""
    return f"slice {place.slice or ''}{shape}{worker}"


def _processors(cpu: Cpu) -> str | None:
    model = " ".join(_DECORATION.sub(" ", clean(cpu.model)).split()) if cpu.model else ""
    if not model:
        return None
    return f"{cpu.packages} × {model}" if cpu.packages else model
