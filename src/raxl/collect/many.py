"""Many recordings at once: read and assembled on every core, and only the nodes kept.

What comes out is what reading and assembling them one after another gives.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import NamedTuple

from raxl import __version__
from raxl.collect import assemble, catalog_files, inputs, machines, ray_nodes
from raxl.collect.alike import Alike
from raxl.errors import UnknownForm
from raxl.host.record import Recording
from raxl.model import printable
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.schemas import INVENTORY

_FEW = 24
"""Up to so many, starting processes takes longer than they save."""
_TOGETHER = 56
"""How many a process reads at most before it hands over: what they share is handed over once."""
_TURNS = 8
"""So often a process hands over at least, where there are few: none waits long for the last one."""


class _Read(NamedTuple):
    """One recording: its node as it is when no other one is of the same machine."""

    key: machines.Key
    name: str
    created: str
    node: Node
    ray: ray_nodes.Seen
    part: inputs.Part | None = None
    """Where it was found; None for a recording that says that a part cannot be read."""
    place: int = 0
    """Which of that part's recordings it is."""
    recording: Recording | None = None
    """Itself, where it cannot be read once more: standard input."""


def inventory(paths: Sequence[str]) -> Inventory:
    """The inventory of what `--from` names, in its order."""
    parts = inputs.listed(paths)
    with _collecting_less():
        opened = _in_processes(parts) if len(parts) > _FEW else _opened(parts)
        gathered = inputs.gathered(parts, opened)
        held = [one if isinstance(one, _Read) else _read(one) for one in gathered]
        nodes, seen = _nodes(held)
    created = printable.clean(max((one.created for one in held), default=""))
    cluster = ray_nodes.cluster(seen)
    return Inventory(INVENTORY, __version__, created, nodes, printable.record(cluster) if cluster else None)


def _nodes(held: Sequence[_Read]) -> tuple[tuple[Node, ...], list[ray_nodes.Seen]]:
    """One node a machine, each with a name of its own; and what Ray says of each, of those that have left too."""
    every: list[tuple[_Read | Recording, ray_nodes.Seen]] = []
    for members, key in machines.groups([one.key for one in held]):
        if len(members) == 1:
            every.append((held[members[0]], held[members[0]].ray))
        else:
            joined = machines.joined(_again([held[place] for place in members]), key)
            every += [(one, ray_nodes.seen(one)) for one in joined]
    whole = [one for one, ray in every if not ray.has_left]
    names = machines.distinct([one.name for one in whole])
    nodes = tuple(
        _named(one.node if isinstance(one, _Read) else assemble.node(one), name)
        for one, name in zip(whole, names, strict=True)
    )
    return nodes, [ray for _, ray in every]


def _again(held: Sequence[_Read]) -> list[Recording]:
    """The recordings once more: of those that are put together the whole is assembled, not the parts.

    A path that was given twice is read once.
    """
    opened: dict[inputs.Part, list[Recording] | UnknownForm] = {}
    found: dict[tuple[inputs.Part, int], Recording] = {}
    for one in held:
        if one.part is None:
            continue
        if one.recording is not None:
            found[one.part, one.place] = one.recording
            continue
        recordings = opened[one.part] = opened.get(one.part) or inputs.open_part(one.part)
        if not isinstance(recordings, UnknownForm):
            found[one.part, one.place] = recordings[one.place]
    return list(found.values())


def _named(node: Node, name: str) -> Node:
    shown = printable.clean(name)
    return node if node.name == shown else replace(node, name=shown)


def _read(recording: Recording) -> _Read:
    known = machines.key(recording)
    recording.name = machines.called(recording, known)
    node = assemble.node(recording, (), _alike().steps(recording), _overlay())
    return _Read(known, recording.name, recording.created, node, ray_nodes.seen(recording))


def _opened(parts: Sequence[inputs.Part]) -> list[list[_Read] | UnknownForm]:
    opened: list[list[_Read] | UnknownForm] = []
    for part in parts:
        recordings = inputs.open_part(part)
        if isinstance(recordings, UnknownForm):
            opened.append(recordings)
        else:
            opened.append([_placed(part, place, one) for place, one in enumerate(recordings)])
    return opened


def _placed(part: inputs.Part, place: int, recording: Recording) -> _Read:
    kept = recording if part.path == inputs.STANDARD_INPUT else None
    return _read(recording)._replace(part=part, place=place, recording=kept)


@cache
def _alike() -> Alike:
    """What this process has seen."""
    return Alike()


@cache
def _overlay() -> catalog_files.Overlay:
    return catalog_files.overlay()


def _in_processes(parts: Sequence[inputs.Part]) -> list[list[_Read] | UnknownForm]:
    """What each part holds, in order; one process for each core. Standard input is read here."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if cores < 2 or any(part.path == inputs.STANDARD_INPUT for part in parts):
        return _opened(parts)
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    order = _alike_together(parts)
    together = max(1, min(_TOGETHER, len(parts) // (cores * _TURNS)))
    batches = [order[start : start + together] for start in range(0, len(parts), together)]
    pool = ProcessPoolExecutor(min(cores, len(batches)), get_context("fork"), _begin)
    try:
        read = pool.map(_opened, [[parts[place] for place in batch] for batch in batches])
        found = dict(zip(order, chain.from_iterable(read), strict=True))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return [found[place] for place in range(len(parts))]


def _alike_together(parts: Sequence[inputs.Part]) -> list[int]:
    """The places of the parts, the largest first: recordings of one kind of machine are about as large, and the first
    of a kind costs several times what the next does in the same process."""
    return sorted(range(len(parts)), key=lambda place: _size(parts[place].path), reverse=True)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):  # opening it tells why
        return 0


def _begin() -> None:
    """Ctrl-C is for the parent to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


@contextmanager
def _collecting_less() -> Iterator[None]:
    """Nodes hold no cycles: looking through them again and again finds nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
