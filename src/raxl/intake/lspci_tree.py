"""The tree that `lspci -t` and `lspci -tv` draw: the way up, and with `-v` names, but neither classes nor, mostly, ids.

pciutils' ls-tree.c draws a host bridge as `[dddd:bb]`, a bridge as `dd.f-[bb]-` or `dd.f-[bb-bb]-`, and begins every
further line of a bus with `+` or `\\` in the column where the first `+` of that bus stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.intake import pci_classes, pci_names
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.component import PciFunction
from raxl.model.problem import FAILED, Problem

FORM = "lspci-tree"
_MARGIN = re.compile(r"[ |>]*")
_ROOT = re.compile(r"-?\[([0-9a-f]{4,8}):([0-9a-f]{2})\]-?", re.IGNORECASE)
_FUNCTION = re.compile(r"-*([0-9a-f]{2}\.[0-7])", re.IGNORECASE)
_BRIDGE = re.compile(r"-\[([0-9a-f]{2})(?:-[0-9a-f]{2})?\]-?", re.IGNORECASE)
_BRANCH = re.compile(r"-*([+\\])(?=-)")
_LINE = re.compile(r"[ |>]*(?:[+\\]-|-\+?-?\[|-\[).*", re.IGNORECASE)
_DEEPEST = 64
"""Bridges above a function: more than stand one below the other in any machine."""
_SLACK = 2
"""Columns by which a copied line may have slipped: branches stand further apart."""


class _Bus(NamedTuple):
    """A bus in the drawing; its domain is known below a host bridge alone."""

    domain: str
    number: str
    host_bridge: str
    chain: tuple[str, ...]


class _Drawing:
    """What was read of the drawing so far: functions, and the open branches by column."""

    def __init__(self) -> None:
        self.functions: dict[str, PciFunction] = {}
        self.branches: dict[int, _Bus | None] = {}
        self.lost = 0

    def read(self, line: str) -> None:
        place = _MARGIN.match(line).end()  # type: ignore[union-attr]
        bus: _Bus | None = None
        if line[place : place + 1] in ("+", "\\"):
            column = min(self.branches, key=lambda known: abs(known - place), default=None)
            if column is None or abs(column - place) > _SLACK:
                self.lost += 1
                return
            bus = self.branches[column]
            self.branches = {known: value for known, value in self.branches.items() if known <= column}
            place += 1
        else:
            self.branches = {}
        self._along(line, place, bus)

    def _along(self, line: str, place: int, bus: _Bus | None) -> None:
        """The buses and functions of one line, from left to right."""
        while place < len(line):
            if (branch := _BRANCH.match(line, place)) is not None:
                self.branches[branch.start(1)] = bus
                place = branch.end()
            elif (root := _ROOT.match(line, place)) is not None:
                domain, number = f"{int(root[1], 16):04x}", root[2].lower()
                bus = _Bus(domain, number, *(bus[2:] if bus else (f"pci{domain}:{number}", ())))
                place = root.end()
            elif bus is not None and (found := _FUNCTION.match(line, place)) is not None:
                address = f"{bus.domain}:{bus.number}:{found[1].lower()}"
                bridge = _BRIDGE.match(line, found.end())
                if bridge is None:
                    self._end(address, bus, line[found.end() :])
                    return
                if len(bus.chain) >= _DEEPEST:
                    self.lost += 1
                    return
                self._add(_function(address, bus, pci_classes.BRIDGE, None))
                bus = _Bus(bus.domain, bridge[1].lower(), bus.host_bridge, (*bus.chain, address))
                place = bridge.end()
            else:
                return

    def _end(self, address: str, bus: _Bus, words: str) -> None:
        named = pci_names.named(words) if words.strip() else None
        class_id = pci_classes.of_name(named.vendor_id, named.device_id, named.name) if named else None
        self._add(_function(address, bus, class_id, named))

    def _add(self, function: PciFunction) -> None:
        self.functions.setdefault(function.address, function)


def recognises(text: str) -> bool:
    """Whether such a drawing is in it: a host bridge with a function beside it."""
    return any(_is_first(line) for line in lines(text))


def own(text: str) -> str:
    """The lines of the drawing, without what stands around it."""
    return joined(list(_drawn(text)))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The functions of the tree with the bridges above them; names as far as they are told."""
    drawing = _Drawing()
    for line in _drawn(text):
        drawing.read(line)
    problems = []
    if drawing.lost:
        message = (
            f"{drawing.lost} lines of the tree hang below no bus, or too deep: the blanks that place them are lost"
        )
        problems.append(Problem("pci_tree", FAILED, message, (FORM,)))
    functions = tuple(function for _, function in sorted(drawing.functions.items()))
    return Foreign(FORM, functions=functions), tuple(problems)


def _is_first(line: str) -> bool:
    return bool(re.match(r"[\s>]*-(?:\+-)?\[[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}\]-", line))


def _drawn(text: str) -> Iterator[str]:
    """From the first host bridge on, every line that is drawn."""
    begun = False
    for line in lines(text):
        begun = begun or _is_first(line)
        if begun and _LINE.fullmatch(line):
            yield line


def _function(address: str, bus: _Bus, class_id: str | None, named: pci_names.Named | None) -> PciFunction:
    return PciFunction(
        address=address,
        class_id=class_id,
        host_bridge=bus.host_bridge,
        chain=bus.chain,
        vendor_id=named.vendor_id if named else None,
        device_id=named.device_id if named else None,
        name=named.model if named else None,
        evidence=FORM,
    )
