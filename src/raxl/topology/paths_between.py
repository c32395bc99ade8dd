"""The way from a device of one node to a device of another: over the fabric that joins them, else from NIC to NIC.

Ids are those that `--path` takes: the node's name, a colon, and the device's id there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.link import Link, fabric_class
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.path import BLOCKS, NETWORK, Component, Condition, Hop, Path, Use
from raxl.model.problem import NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.topology import domains, paths
from raxl.topology.domains import DomainName
from raxl.topology.paths import Machine

_COMPLETED = "completed"
_LIBRARY = {"nvidia": "NCCL", "amd": "RCCL"}
_IMEX = "where the job has an IMEX channel, which nothing here says"


class End(NamedTuple):
    """A device in its node."""

    machine: Machine
    id: str

    @property
    def node(self) -> Node:
        return self.machine.node

    @property
    def name(self) -> str:
        """`gpu-07:nvidia:0`."""
        return f"{self.node.name}:{self.id}"

    @property
    def device(self) -> Accelerator | Nic:
        return paths.device(self.node, self.id)


def across(a: End, b: End) -> Path:
    """The path from one to the other, in different nodes."""
    kind = _fabric(a, b)
    return _by_network(a, b) if kind is None else _over_fabric(a, b, kind)


def _fabric(a: End, b: End) -> str | None:
    """The kind of the scale-up fabric that both are in; None where none is known to join them."""
    domain = domains.of_node(a.node)
    if domain is None or domain != domains.of_node(b.node) or not domain.kind or not domain.name.strip("0-"):
        return None
    if any(isinstance(end.device, Nic) or not _is_ready(end.device, domain) for end in (a, b)):
        return None
    return domain.kind


def _is_ready(device: Accelerator, domain: DomainName) -> bool:
    """Whether the device itself is in the domain, where it says what it is in."""
    own = device.fabric
    if own is None:
        return domain.kind != "nvlink"
    return (own.domain, own.clique) == (domain.name, domain.clique) and own.state in (None, _COMPLETED)


def _over_fabric(a: End, b: End, kind: str) -> Path:
    """Through the NVSwitches of an NVLink domain; of other fabrics nothing says how many hops it takes."""
    links = [_link(end, kind) for end in (a, b)]
    first, last = (Component(end.name, "accelerator", end.device.numa_node) for end in (a, b))
    name = paths.fabric_name(kind, a.device)
    if kind == "nvlink":
        components: tuple[Component, ...] = (first, Component("nvswitch", "nvswitch"), last)
        hops: tuple[Hop, ...] = (
            _fabric_hop(name, links[0], a.name, "nvswitch"),
            _fabric_hop(name, links[1], "nvswitch", b.name),
        )
    else:
        components, hops = (first, last), (Hop(kind, a.name, b.name, name),)
    counts = {hop.count for hop in hops}
    path = Path(
        a=a.name,
        b=b.name,
        link_class=fabric_class(kind, counts.pop() if len(counts) == 1 else None),
        kind=kind,
        components=components,
        hops=hops,
        obstacles=_states((a, b)),
        problems=tuple(
            Problem(f"hops.{place}.bandwidth_bytes_per_second", NOT_SUPPORTED, "nothing that was read says it")
            for place, hop in enumerate(hops)
            if hop.bandwidth_bytes_per_second is None
        ),
        evidence=tuple(dict.fromkeys(source for hop in hops for source in hop.evidence)),
    )
    vendor = a.device.vendor if isinstance(a.device, Accelerator) else ""
    use = Use("scale-up", (_LIBRARY.get(vendor, "the vendor's own library"),), _IMEX if kind == "nvlink" else None)
    return replace(paths.measured(path), uses=() if path.obstacles else (use,))


def _link(end: End, kind: str) -> Link | None:
    """A link of the end inside its node, which has as many lanes as one that leaves it."""
    return next((one for one in end.node.links if one.kind == kind and end.id in (one.a, one.b)), None)


def _fabric_hop(name: str, link: Link | None, a: str, b: str) -> Hop:
    if link is None:
        return Hop("nvlink", a, b, name)
    rate, source = link.bandwidth_bytes_per_second, link.bandwidth_source
    return Hop("nvlink", a, b, name, link.count, None, rate, source, link.evidence)


def _states(ends: Iterable[End]) -> tuple[Condition, ...]:
    lost = (end for end in ends if end.device.state in ("lost", "down"))
    return tuple(
        Condition("state", BLOCKS, f"{end.name} is {end.device.state}", evidence=end.device.evidence) for end in lost
    )


class _Leg(NamedTuple):
    """What the path has inside one node, its ids with the node's name."""

    path: Path
    nic: Nic | None
    """The one by which it leaves the node; None where none is known."""


def _by_network(a: End, b: End) -> Path:
    out, back = _leg(a, is_first=True), _leg(b, is_first=False)
    components = (*out.path.components, Component(NETWORK, NETWORK), *back.path.components)
    middle = (
        _to_network(components[len(out.path.hops)].id, NETWORK, out.nic),
        _to_network(NETWORK, back.path.components[0].id, back.nic),
    )
    shift = len(out.path.hops) + len(middle)
    path = Path(
        a=a.name,
        b=b.name,
        kind=NETWORK,
        path_trust="virtual" if "virtual" in (a.node.path_trust, b.node.path_trust) else a.node.path_trust,
        components=components,
        hops=(*out.path.hops, *middle, *back.path.hops),
        obstacles=(*out.path.obstacles, *back.path.obstacles),
        uses=_common(out, back),
        problems=(
            _unknown(a, out, b, back),
            *out.path.problems,
            *(
                _unrated(len(out.path.hops) + place, end, leg)
                for place, (end, leg) in enumerate(((a, out), (b, back)))
                if middle[place].bandwidth_bytes_per_second is None
            ),
            *(_shifted(problem, shift) for problem in back.path.problems),
        ),
        evidence=tuple(dict.fromkeys((*out.path.evidence, *back.path.evidence))),
    )
    return replace(paths.measured(path), is_bound=True)


def _leg(end: End, is_first: bool) -> _Leg:
    """From the end to the NIC that is nearest to it, or from there to the end."""
    device = end.device
    own = Component(end.name, "nic", device.numa_node)
    if isinstance(device, Nic):
        own = replace(own, speed_bits_per_second=device.speed_bits_per_second)
        return _Leg(Path(end.name, end.name, components=(own,), obstacles=_states((end,))), device)
    nearest = paths.nearest_nics(end.node, end.id)[1]
    if not nearest:
        alone = Path(end.name, end.name, components=(replace(own, kind="accelerator"),), obstacles=_states((end,)))
        return _Leg(alone, None)
    nic = next(one for one in end.node.nics if one.id == nearest[0])
    ends = (end.id, nic.id) if is_first else (nic.id, end.id)
    return _Leg(_qualified(paths.between(end.machine, *ends), end.node), nic)


def _qualified(path: Path, node: Node) -> Path:
    """The path with the node's name before each id, in messages too."""
    inner = [one.id for one in path.components]
    devices: tuple[Accelerator | Nic, ...] = (*node.accelerators, *node.nics)
    names = sorted({*inner, *(one.id for one in devices)}, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![\w:.@-]){re.escape(name)}(?![\w@:-])" for name in names))

    def named(text: str) -> str:
        return pattern.sub(lambda found: f"{node.name}:{found[0]}", text)

    def told(message: str) -> str:
        """Of a condition that names no device, whose it is."""
        qualified = named(message)
        return qualified if qualified != message else f"{node.name}: {message}"

    return replace(
        path,
        a=named(path.a),
        b=named(path.b),
        components=tuple(replace(one, id=f"{node.name}:{one.id}") for one in path.components),
        hops=tuple(replace(one, a=f"{node.name}:{one.a}", b=f"{node.name}:{one.b}") for one in path.hops),
        obstacles=tuple(
            replace(one, message=told(one.message), why=one.why and named(one.why)) for one in path.obstacles
        ),
        problems=tuple(replace(one, message=named(one.message)) for one in path.problems),
    )


def _to_network(a: str, b: str, nic: Nic | None) -> Hop:
    """From a NIC to the network or back: as fast as its fastest port."""
    if nic is None or nic.speed_bits_per_second is None:
        return Hop(NETWORK, a, b)
    return Hop(NETWORK, a, b, None, None, None, nic.speed_bits_per_second // 8, "reported")


def _unknown(a: End, out: _Leg, b: End, back: _Leg) -> Problem:
    ends = [f"{end.node.name}:{leg.nic.id}" if leg.nic else end.node.name for end, leg in ((a, out), (b, back))]
    message = f"nothing that was read says what joins {ends[0]} and {ends[1]}: which switches, or whether any do"
    return Problem(NETWORK, NOT_SUPPORTED, message)


def _unrated(place: int, end: End, leg: _Leg) -> Problem:
    """Why it is not known how fast an end reaches the network."""
    subject = f"hops.{place}.bandwidth_bytes_per_second"
    if leg.nic is None:
        return Problem(subject, NOT_ASKED, f"which NIC of {end.node.name} is near {end.name} is not known")
    wanted = (f"{leg.nic.id}.speed_bits_per_second", "nics.speed_bits_per_second")
    told = next((one for one in end.node.problems if one.subject in wanted), None)
    name = f"{end.node.name}:{leg.nic.id}"
    if told is None:
        return Problem(subject, NOT_ASKED, f"the speed of {name} is not in what was read")
    return Problem(subject, told.reason, f"the speed of {name}: {told.message}", told.evidence)


def _shifted(problem: Problem, shift: int) -> Problem:
    """The problem of a hop that has other ones before it now."""
    first, _, rest = problem.subject.partition(".")
    place, _, field = rest.partition(".")
    return replace(problem, subject=f"{first}.{int(place) + shift}.{field}") if place else problem


def _common(out: _Leg, back: _Leg) -> tuple[Use, ...]:
    """The ways that both nodes can go; the one that goes without conditions comes first, as in each of them."""
    if not out.path.uses or not back.path.uses:
        return out.path.uses or back.path.uses if _is_nic_alone(out) != _is_nic_alone(back) else ()
    theirs = {use.way: use for use in back.path.uses}
    both = [(use, theirs[use.way]) for use in out.path.uses if use.way in theirs]
    return tuple(
        replace(
            use,
            transports=tuple(one for one in use.transports if one in other.transports),
            caveat="; ".join(dict.fromkeys(filter(None, (use.caveat, other.caveat)))) or None,
        )
        for use, other in both
        if set(use.transports) & set(other.transports)
    )


def _is_nic_alone(leg: _Leg) -> bool:
    return leg.nic is not None and not leg.path.hops
