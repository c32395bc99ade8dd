"""The path between two devices of one recorded machine, or of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl import __version__
from raxl.collect import acs, facts
from raxl.collect.bus import bus_of
from raxl.errors import UsageError
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.model import printable
from raxl.model.inventory import Inventory
from raxl.model.measurement import Endpoint
from raxl.model.node import Node, NumaNode
from raxl.model.path import PathDocument
from raxl.model.schemas import PATH
from raxl.sources import cpu, kernel_list, nvml, peers
from raxl.topology import ends, paths, paths_between


def document(
    recordings: Sequence[Recording], inventory: Inventory, names: tuple[str, str]
) -> tuple[PathDocument, tuple[Node, ...]]:
    """The path between the two devices that the names mean, and the node that both are in, or the two.

    Raises UsageError for names that mean none, several, or one and the same.
    """
    a, b = _ends(inventory.nodes, names)
    nodes = tuple(inventory.nodes[place] for place in dict.fromkeys((a.place, b.place)))
    machines = {one.place: machine(recordings[one.place], inventory.nodes[one.place]) for one in (a, b)}
    if len(nodes) == 1:
        path = paths.between(machines[a.place], a.id, b.id)
    else:
        path = paths_between.across(*(paths_between.End(machines[one.place], one.id) for one in (a, b)))
    document = PathDocument(
        PATH,
        __version__,
        inventory.created,
        nodes[0].name,
        nodes[0].source,
        printable.record(path),
        *((nodes[1].name, nodes[1].source) if len(nodes) > 1 else ()),
    )
    return document, nodes


def ends_of(document: PathDocument) -> tuple[Endpoint, Endpoint]:
    """The two devices, each with its node, as measurements name them."""
    other = document.other_node
    if other is None:
        return Endpoint(document.node, document.path.a), Endpoint(document.node, document.path.b)
    a, b = document.path.a.removeprefix(f"{document.node}:"), document.path.b.removeprefix(f"{other}:")
    return Endpoint(document.node, a), Endpoint(other, b)


def machine(recording: Recording, node: Node) -> paths.Machine:
    """The node with what it does not publish."""
    host = ReplayHost(recording)
    own = facts.of(recording, node)
    told = documents.read(host)[0]
    peering = peers.parse(peers.ask(host), own.modules, own.kernel_parameters)
    return paths.Machine(
        node=node,
        functions=bus_of(host, told).functions,
        packages=_packages(node.numa_nodes, cpu.packages(cpu.ask(host))),
        peering=replace(peering, p2p=nvml.p2p(nvml.ask(host)), ports=acs.ports(peering.ports, told)),
    )


def _packages(numa_nodes: Sequence[NumaNode], packages: Mapping[int, int]) -> dict[int, int]:
    """The package of each NUMA node whose CPUs are all in one."""
    found = {}
    for numa in numa_nodes:
        held = {packages.get(one) for one in kernel_list.parse(numa.cpus) or ()}
        if len(held) == 1 and (package := held.pop()) is not None:
            found[numa.id] = package
    return found


class _End(NamedTuple):
    """A device, and the place of its node."""

    place: int
    id: str


def _ends(nodes: Sequence[Node], names: tuple[str, str]) -> tuple[_End, _End]:
    """The devices that the names mean: of one node, where one has both."""
    found = [_named(nodes, name) for name in names]
    _no_lack(nodes, names, found)
    both = [place for place in found[0] if place in found[1]]
    if len(both) > 1:
        raise _ambiguous(nodes, f"{names[0]} and {names[1]} are", names[0], both)
    for name, held in zip(names, found, strict=True):
        if not both and len(held) > 1:
            raise _ambiguous(nodes, f"{name} is", name, list(held))
    a, b = (_one(name, held, both) for name, held in zip(names, found, strict=True))
    if a == b:
        raise UsageError(f"{names[0]} and {names[1]} are the same device", a.id, "give two devices")
    return a, b


def _named(nodes: Sequence[Node], name: str) -> dict[int, list[str]]:
    """By the place of a node, the ids of its devices that a name means; `NODE:DEVICE` means one node's alone."""
    own = [(place, name[len(node.name) + 1 :]) for place, node in enumerate(nodes) if name.startswith(f"{node.name}:")]
    told = [(place, ends.named(nodes[place], text)) for place, text in own]
    if not any(ids for _, ids in told):
        told = [(place, ends.named(node, name)) for place, node in enumerate(nodes)]
    return {place: ids for place, ids in told if ids}


def _one(name: str, held: Mapping[int, list[str]], both: Sequence[int]) -> _End:
    place = both[0] if both else next(iter(held))
    if len(held[place]) > 1:
        raise UsageError(f"{name} is not one device", f"it may be {_some(held[place])}", "give an id")
    return _End(place, held[place][0])


def _ambiguous(nodes: Sequence[Node], what: str, name: str, places: Sequence[int]) -> UsageError:
    where = [nodes[place].name for place in places]
    return UsageError(f"{what} in several nodes", _some(where), f"name the node too: {where[0]}:{name}")


def _no_lack(nodes: Sequence[Node], names: tuple[str, str], found: Sequence[Mapping[int, list[str]]]) -> None:
    lacking = [name for name, held in zip(names, found, strict=True) if not held]
    if lacking:
        own = [node for node in nodes if lacking[0].startswith(f"{node.name}:")] or nodes
        here = [id for node in own for id in (*(a.id for a in node.accelerators), *(nic.id for nic in node.nics))]
        raise UsageError(f"no device is called {lacking[0]}", f"there are {_some(here)}" if here else "there is none")


_MOST = 40


def _some(names: Sequence[str]) -> str:
    """`nvidia:0, nvidia:1 and 30 more`."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _MOST} more" if len(distinct) > _MOST else ""
    return ", ".join(distinct[:_MOST]) + more
