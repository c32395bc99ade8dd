"""How rocm-smi spells what raxl reads of a GPU, in its JSON and its text alike.

After python_smi_tools/rocm_smi.py of https://github.com/ROCm/rocm_smi_lib; releases changed words and capitals
(`GPU ID`, then `Device ID`; `Card series`, then `Card Series`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from raxl.intake.amd_words import Told, known, silence
from raxl.model.node import Software
from raxl.model.problem import Problem

FIELDS = {
    "address": ("pci bus",),
    "unit": ("unique id",),
    "serial": ("serial number",),
    "model": ("card series", "device name"),
    "device_id": ("device id", "gpu id"),
    "architecture": ("gfx version",),
    "compute_partition": ("compute partition",),
    "memory_partition": ("memory partition",),
    "partition_id": ("partition id",),
    "numa_node": ("(topology) numa node",),
    "numa_affinity": ("(topology) numa affinity",),
    "vbios": ("vbios version",),
    "memory": ("vram total memory (b)",),
    "pcie_replays": ("pcie replay count",),
}
_VERSION = re.compile(r"[0-9][\w.+~-]{0,60}")


def key(words: str) -> str:
    """A key of rocm-smi without what differs between releases: capitals, blanks, a colon at its end."""
    return " ".join(words.lower().rstrip(": ").split())


def with_units(told: Told) -> Told:
    """The words with `B` behind a memory size, whose unit stands in rocm-smi's key."""
    return {
        number: {**card, **({"memory": f"{card['memory']} B"} if known(card.get("memory")) else {})}
        for number, card in told.items()
    }


def software(form: str, versions: Iterable[str]) -> tuple[tuple[Software, ...], list[Problem]]:
    """The driver by its version: that of amdgpu's own package, or of the kernel that it came with."""
    held = list(versions)
    found = tuple(
        Software("amdgpu", words, form) for words in dict.fromkeys(held) if _VERSION.fullmatch(known(words) or "")
    )
    if found or not held:
        return found, []
    why = silence(held[0], form)
    message = f"the driver has no version: {why.message}"
    return found, [Problem("software.amdgpu", why.reason, message, (form,))]
