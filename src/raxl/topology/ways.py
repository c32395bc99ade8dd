"""The way from a device up the PCI tree, and where the ways of two devices meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple

from raxl.model import nominal
from raxl.model.component import PciFunction, PciLink
from raxl.model.path import Component, Hop


class Tree(NamedTuple):
    """The PCI functions by address, and the processor of each NUMA node where it is known."""

    functions: Mapping[str, PciFunction]
    packages: Mapping[int, int]


class Way(NamedTuple):
    """Components from one to another; hop n joins component n and n + 1."""

    components: tuple[Component, ...]
    hops: tuple[Hop, ...]

    @property
    def reversed(self) -> Way:
        """The same way from its other end."""
        back = (replace(hop, a=hop.b, b=hop.a) for hop in self.hops[::-1])
        return Way(self.components[::-1], tuple(back))

    def until(self, id: str) -> Way:
        """Its beginning, as far as the component of that id."""
        place = next(at for at, component in enumerate(self.components) if component.id == id)
        return Way(self.components[: place + 1], self.hops[:place])


def up(device: Component, function: PciFunction, tree: Tree) -> Way:
    """From a device to the processor (or the root complex) that it hangs on.

    Below the root port a chain alternates: a switch's upstream port, a downstream port of it … What is left without a
    counterpart is a bridge that is no switch. Inside a switch there is no link.
    """
    components, hops = [device], []
    ports, lower = list(function.chain), function
    while ports:
        port = ports.pop()
        if not ports:
            upper = root(function, tree)
        elif len(ports) % 2:
            upper = Component(port, "pcie-bridge")
        else:
            upper = Component(ports.pop(), "pcie-switch")
        link = _between(lower.link, tree.functions.get(port))
        hops.append(_hop(components[-1].id, upper.id, link, function.evidence))
        components.append(upper)
        lower = tree.functions.get(upper.id, PciFunction(upper.id, None, None))
    if not function.chain:
        hops.append(_hop(device.id, root(function, tree).id, function.link, function.evidence))
        components.append(root(function, tree))
    return Way(tuple(components), tuple(hops))


def root(function: PciFunction, tree: Tree) -> Component:
    """The processor by its NUMA node; the host bridge where the node is not known."""
    numa_node = function.numa_node
    if numa_node is None:
        return Component(function.host_bridge or "root complex", "cpu")
    return Component(f"numa:{numa_node}", "cpu", numa_node, tree.packages.get(numa_node))


def meeting(a: PciFunction, b: PciFunction) -> tuple[str, ...]:
    """The ports at which traffic between two devices turns: of the switch that they share, else of their host bridge.

    Empty where they share neither, or no port lies above.
    """
    if a.host_bridge is None or a.host_bridge != b.host_bridge:
        return ()
    common = shared(a, b)
    return tuple(function.chain[common] for function in (a, b) if len(function.chain) > common)


def shared(a: PciFunction, b: PciFunction) -> int:
    """How many bridges, counted from the root port, stand above both."""
    if a.host_bridge != b.host_bridge:
        return 0
    count = 0
    for mine, other in zip(a.chain, b.chain):
        if mine != other:
            break
        count += 1
    return count


def is_one_card(a: PciFunction, b: PciFunction) -> bool:
    """Whether both are functions of one device."""
    return a.address.rsplit(".", 1)[0] == b.address.rsplit(".", 1)[0] and a.chain == b.chain


def _hop(a: str, b: str, link: PciLink | None, evidence: str) -> Hop:
    rate = bytes_per_second(link)
    return Hop(
        kind="pcie",
        a=a,
        b=b,
        link=link,
        bandwidth_bytes_per_second=rate,
        bandwidth_source="nominal" if rate is not None else None,
        evidence=(evidence,),
    )


def bytes_per_second(link: PciLink | None) -> int | None:
    """What a link can do at most with the lanes that it has now, one direction. An idle link may be slower."""
    if link is None:
        return None
    speed = link.max_speed_gts if link.max_speed_gts is not None else link.speed_gts
    widths = [width for width in (link.width, link.max_width) if width]
    return nominal.pcie_bytes_per_second(speed, min(widths, default=None))


def _between(lower: PciLink | None, port: PciFunction | None) -> PciLink | None:
    """The link from a device to the port above it: at most what both ends can do."""
    upper = port.link if port else None
    if lower is None or upper is None:
        return lower
    speeds = [speed for speed in (lower.max_speed_gts, upper.max_speed_gts) if speed is not None]
    widths = [width for width in (lower.max_width, upper.max_width) if width is not None]
    return PciLink(lower.speed_gts, lower.width, min(speeds, default=None), min(widths, default=None))
