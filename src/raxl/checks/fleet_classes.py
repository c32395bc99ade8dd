"""Nodes that can be held against each other: those of one class, and which of them is the odd one out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.checks import Case, Fleet
from raxl.checks.raylets import silence
from raxl.model.cluster import DEAD

MAJORITY = 2 / 3
"""What share of a class has to agree before the others are blamed."""
FEWEST = 3


class Class(NamedTuple):
    """Nodes of the same accelerators, NICs, processor architecture and instance type."""

    name: str
    cases: tuple[Case, ...]


class Split(NamedTuple):
    """How the nodes of a class divide over one value."""

    values: Mapping[str, tuple[str, ...]]
    """By value, its nodes, the commonest first, then by spelling: no order of nodes decides."""

    @property
    def total(self) -> int:
        """How many nodes it is known of."""
        return sum(map(len, self.values.values()))

    @property
    def common(self) -> str | None:
        """The value that enough nodes have to blame the others; None where no such majority is."""
        value, nodes = next(iter(self.values.items()))
        return value if self.total >= FEWEST and len(nodes) >= MAJORITY * self.total - 1e-9 else None

    def words(self, most: int = 4) -> str:
        """`570.124.06 on a, b and c; 550.90 on d`."""
        return "; ".join(
            f"{value} on {', '.join(nodes[:most])}{f' and {len(nodes) - most} more' if len(nodes) > most else ''}"
            for value, nodes in self.values.items()
        )


def classes(fleet: Fleet) -> list[Class]:
    """The classes of the nodes that were read and have accelerators, by name."""
    found: dict[str, list[Case]] = {}
    for case in fleet:
        if silence(case) is None and case.node.accelerators and (case.ray is None or case.ray.state != DEAD):
            found.setdefault(_name(case), []).append(case)
    return [Class(name, tuple(sorted(cases, key=lambda one: one.node.name))) for name, cases in sorted(found.items())]


def _name(case: Case) -> str:
    node = case.node
    devices = Counter(device.model or device.vendor for device in node.accelerators)
    nics = Counter(nic.model or nic.kind or "NIC" for nic in node.nics if nic.kind not in (None, "ethernet"))
    words = [f"{count} {name}" for name, count in sorted(devices.items())]
    words += [f"{count} {name}" for name, count in sorted(nics.items())]
    return ", ".join([*words, *filter(None, (node.os.architecture, node.placement.instance_type))])


def split(told: Sequence[tuple[str, str]]) -> Split:
    """The nodes by their value; `told` is of (node, value)."""
    found: dict[str, list[str]] = {}
    for node, value in told:
        found.setdefault(value, []).append(node)
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return Split({value: tuple(sorted(nodes)) for value, nodes in ordered})
