"""The path between two devices of a recorded machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from raxl import __version__
from raxl.collect import assemble
from raxl.collect.bus import bus_of
from raxl.errors import UsageError
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.intake.foreign import Foreign
from raxl.model import printable
from raxl.model.codec import PATH
from raxl.model.facts import Reading
from raxl.model.inventory import Inventory
from raxl.model.node import Node, NumaNode
from raxl.model.path import PathDocument
from raxl.sources import cpu, kernel_list, nvml, peers
from raxl.topology import ends, paths


def document(
    recordings: Sequence[Recording], inventory: Inventory, names: tuple[str, str]
) -> tuple[PathDocument, Node]:
    """The path between the two devices that the names mean, and the node that both are in.

    Raises UsageError for names that mean none, several, or one and the same.
    """
    place, a, b = _ends(inventory.nodes, names)
    node = inventory.nodes[place]
    path = printable.record(paths.between(machine(recordings[place], node), a, b))
    return PathDocument(PATH, __version__, inventory.created, node.name, node.source, path), node


def machine(recording: Recording, node: Node) -> paths.Machine:
    """The node with what it does not publish."""
    host = ReplayHost(recording)
    facts = assemble.facts(recording)
    told = documents.read(host)[0]
    peering = peers.parse(peers.ask(host), facts.modules, facts.kernel_parameters)
    return paths.Machine(
        node=node,
        functions=bus_of(host, told).functions,
        packages=_packages(node.numa_nodes, cpu.packages(cpu.ask(host))),
        peering=replace(peering, p2p=nvml.p2p(nvml.ask(host)), ports=_ports(peering.ports, told)),
    )


def _ports(kernel: Mapping[str, Reading], told: Sequence[Foreign]) -> dict[str, Reading]:
    """What of ACS is on at each port, from the kernel where it let raxl read that, else from a document."""
    found = dict(kernel)
    for address, reading in (item for document in told for item in document.ports.items()):
        known = found.get(address)
        if known is None or (known.reason is not None and reading.reason is None):
            found[address] = reading
    return found


def _packages(numa_nodes: Sequence[NumaNode], packages: Mapping[int, int]) -> dict[int, int]:
    """The package of each NUMA node whose CPUs are all in one."""
    found = {}
    for numa in numa_nodes:
        held = {packages.get(one) for one in kernel_list.parse(numa.cpus) or ()}
        if len(held) == 1 and (package := held.pop()) is not None:
            found[numa.id] = package
    return found


def _ends(nodes: Sequence[Node], names: tuple[str, str]) -> tuple[int, str, str]:
    """The place of the node that holds both ends, and their ids."""
    found = [[ends.named(node, name) for name in names] for node in nodes]
    both = [place for place, (a, b) in enumerate(found) if a and b]
    if len(both) > 1:
        where = _some([nodes[place].name for place in both])
        raise UsageError(f"{names[0]} and {names[1]} are in several nodes", where, "give the file of one with --from")
    if not both:
        raise _missing(nodes, names, found)
    place = both[0]
    for name, ids in zip(names, found[place], strict=True):
        if len(ids) > 1:
            raise UsageError(f"{name} is not one device", f"it may be {_some(ids)}", "give an id")
    (a,), (b,) = found[place]
    if a == b:
        raise UsageError(f"{names[0]} and {names[1]} are the same device", a, "give two devices")
    return place, a, b


def _missing(nodes: Sequence[Node], names: tuple[str, str], found: Sequence[Sequence[Sequence[str]]]) -> UsageError:
    lacking = [name for at, name in enumerate(names) if not any(pair[at] for pair in found)]
    if not lacking:
        where = [nodes[next(place for place, pair in enumerate(found) if pair[at])].name for at in (0, 1)]
        told = f"{names[0]} is in {where[0]}, {names[1]} in {where[1]}"
        return UsageError("the two are in different nodes", told, "a path lies within one node")
    here = [id for node in nodes for id in (*(a.id for a in node.accelerators), *(nic.id for nic in node.nics))]
    return UsageError(f"no device is called {lacking[0]}", f"there are {_some(here)}" if here else "there is none")


_MOST = 40


def _some(names: Sequence[str]) -> str:
    """`nvidia:0, nvidia:1 and 30 more`."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _MOST} more" if len(distinct) > _MOST else ""
    return ", ".join(distinct[:_MOST]) + more
