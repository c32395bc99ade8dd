"""Whether a plug-in says why a value of its devices is not known, or leaves it to raxl to say that nobody knows."""

from __future__ import annotations

from typing import Iterable, Sequence

from raxl.collect import unknown
from raxl.collect.assemble import NOBODY
from raxl.model.accelerator import Accelerator
from raxl.model.node import Node

FIELDS = ("model", "memory_bytes", "state", "pci")
"""What an operator misses first."""


def unexplained(node: Node, devices: Sequence[Accelerator]) -> Iterable[str]:
    """The fields that a device lacks without a reason of its own."""
    told = {problem.subject: problem.message for problem in node.problems}
    for device in devices:
        for field in FIELDS:
            if unknown.value(device, field) is None:
                words = told.get(f"{device.id}.{field}") or told.get(f"accelerators.{field}") or told.get(device.id)
                if words is None or words == NOBODY:
                    yield field
