"""Recordings that go by one boot or host name and tell of other hardware: two machines, or one that was rebuilt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from raxl.collect import assemble
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.problem import DISAGREEMENT
from raxl.sources import pci

Note = tuple[str, str, str]
_TOLD = "two recordings of one machine, by its name and boot, tell of other hardware"
_Device = TypeVar("_Device", Accelerator, Nic)


def apart(recordings: Sequence[Recording]) -> tuple[list[list[Recording]], tuple[Note, ...]]:
    """The recordings in parts that hold no contradiction, and what contradicts itself.

    Only what lists the machine's bus can; what does not stays with the first.
    """
    whole = [place for place, one in enumerate(recordings) if ReplayHost(one).names(pci.FOLDER).known]
    if len(whole) < 2:
        return [list(recordings)], ()
    nodes = {place: assemble.node(recordings[place]) for place in whole}
    parts: list[list[int]] = []
    for place, node in nodes.items():
        fitting = (part for part in parts if not any(_difference(nodes[one], node) for one in part))
        part = next(fitting, None)
        if part is None:
            parts.append([place])
        else:
            part.append(place)
    parts[0] = sorted({*range(len(recordings))} - {place for part in parts[1:] for place in part})
    told = dict.fromkeys(_difference(one, other) for one, other in combinations(nodes.values(), 2))
    notes = tuple(("identity", DISAGREEMENT, f"{_TOLD}: {words}") for words in told if words is not None)
    return [[recordings[place] for place in part] for part in parts], notes


def _difference(one: Node, other: Node) -> str | None:
    """The first thing in which they cannot both be right; None where there is none."""
    return next(_differences(one, other), None)


def _differences(one: Node, other: Node) -> Iterator[str]:
    mine, theirs = _at(one.accelerators), _at(other.accelerators)
    for address in sorted(mine.keys() & theirs.keys()):
        a, b = mine[address], theirs[address]
        for word, values in (
            ("device id", (a.pci and a.pci.device_id, b.pci and b.pci.device_id)),
            ("UUID", (a.uuid, b.uuid)),
            ("serial number", (a.serial, b.serial)),
        ):
            if None not in values and values[0] != values[1]:
                yield f"at {address} {word} {values[0]}, and {values[1]}"
    if alone := sorted(mine.keys() ^ theirs.keys()):
        yield f"an accelerator at {alone[0]}, and none"
    our_nics, their_nics = _at(one.nics), _at(other.nics)
    for address in sorted(our_nics.keys() & their_nics.keys()):
        ids = [nic.pci.device_id for nic in (our_nics[address], their_nics[address]) if nic.pci]
        if None not in ids and len(set(ids)) > 1:
            yield f"at {address} device id {ids[0]}, and {ids[1]}"
    models = (one.cpu.model, other.cpu.model)
    if None not in models and models[0] != models[1]:
        yield f"processor {models[0]}, and {models[1]}"


def _at(devices: Sequence[_Device]) -> Mapping[str, _Device]:
    return {one.pci.address: one for one in devices if one.pci}
