"""Nodes held against each other: who did not answer, and who is unlike its peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from statistics import median

from raxl.checks import P0, P1, Case, Fleet, Verdict, check, expected, fail, ok, skip, unknown, warn
from raxl.checks.fleet_classes import FEWEST, Class, Split, classes, split
from raxl.checks.fleet_fields import numbers, of_firmware, of_settings, of_shape, of_versions
from raxl.checks.ray_cluster import not_asked, only
from raxl.checks.raylets import silence
from raxl.checks.words import listed
from raxl.model.finding import STANDARD, Evidence
from raxl.model.problem import NOT_ASKED
from raxl.topology import working

_GRAVE = ("nvidia", "amdgpu", "neuron", "habanalabs", "nvidia.fabric_manager")
"""Versions that nodes of one job must share."""
_STEP = "drain the node, then "


@check(
    "fleet.coverage",
    "Every node answered",
    P0,
    STANDARD,
    "none",
    is_of_fleet=True,
)
def coverage(fleet: Fleet) -> Iterator[Verdict]:
    """A node that was not read is not well: nobody knows.

    Read: which of the nodes answered. Each that did not is unknown, with the reason; raxl gives every node the time of
    `--timeout`.

    Not to be confused: a node that was stopped or scaled down on purpose is none of the cluster's any more. What a
    node's own vantage keeps from being read stands in its coverage.
    """
    silent = [(case, told) for case in fleet if (told := silence(case)) is not None]
    for case, told in silent:
        yield unknown("node", told.reason, f"the node was not read: {told.message}", node=case.node.name)
    if len(fleet) < 2 and not silent:
        yield not_asked(fleet, "one node was asked")
    elif not silent:
        yield ok("cluster", f"{len(fleet)} of {len(fleet)} nodes answered")


@check(
    "fleet.version-outlier",
    "Nodes of one kind run the same versions",
    P0,
    STANDARD,
    "config",
    is_of_fleet=True,
)
def version_outlier(fleet: Fleet) -> Iterator[Verdict]:
    """One node with another driver than its peers makes the jobs that land there fail, or slow.

    Read: kernel, system, drivers and packages of all nodes with the same accelerators and NICs. Where at least two
    thirds of three nodes or more agree, the others warn, and fail for a driver or the fabric manager. With no such
    majority one warning tells the split and blames nobody. The policy's `expected` goes before the majority, and holds
    for a single node too: `kernel`, `distribution`, `nvidia`, `torch` … as text in quotes.

    Not to be confused: two nodes alone say nothing of who is right: the difference is told without a verdict. An
    upgrade that is under way looks like this. Ray and Python are `ray.version-skew`, NCCL is `lib.collectives`.
    """
    yield from _compared(fleet, of_versions, "version", "install the version of its peers")


@check(
    "fleet.firmware-outlier",
    "Nodes of one kind run the same firmware",
    P0,
    STANDARD,
    "vendor",
    is_of_fleet=True,
)
def firmware_outlier(fleet: Fleet) -> Iterator[Verdict]:
    """Firmware that differs between nodes of one kind is the commonest cause of one slow node in a rack.

    Read: VBIOS and InfoROM of accelerators, firmware and board ids of NICs, and what of the machine's own is readable;
    nodes of one kind are held against each other as in `fleet.version-outlier`.

    Not to be confused: several boards of one model may carry different VBIOS by design: then a node is held against
    its peers with all that it has.
    """
    yield from _compared(fleet, of_firmware, "firmware", "update its firmware with the maker's tool")


@check(
    "fleet.config-outlier",
    "Nodes of one kind are set up alike",
    P1,
    STANDARD,
    "config",
    is_of_fleet=True,
)
def config_outlier(fleet: Fleet) -> Iterator[Verdict]:
    """A node that is set up otherwise than its peers behaves otherwise, and nobody remembers why.

    Read: the allowed kernel parameters, limits, the modes of devices (ECC, MIG, partitions), and the variables of NCCL,
    UCX and libfabric that the raylet was started with; nodes of one kind are held against each other as in
    `fleet.version-outlier`, and warn at most.

    Not to be confused: a canary, and two groups of one hardware for two purposes, are meant to differ: suppress them.
    """
    yield from _compared(fleet, of_settings, "setting", "set it like its peers, and restart what reads it at its start")


@check(
    "fleet.topology-outlier",
    "Nodes of one kind are built alike",
    P0,
    STANDARD,
    "vendor",
    is_of_fleet=True,
)
def topology_outlier(fleet: Fleet) -> Iterator[Verdict]:
    """A card in the wrong slot, a bridge that is off or a NIC that is missing shows in how devices are joined.

    Read: a hash over each node's devices and the link class of every pair (the label `raxl/shape`), which is equal for
    nodes that are built alike whatever their devices are called. Nodes of one kind are held against each other as in
    `fleet.version-outlier`, and warn at most.

    Not to be confused: where a hypervisor makes the PCI tree up, its classes do not enter. A node of which not every
    link is known has no hash.
    """
    yield from _compared(fleet, of_shape, "shape", "compare its matrix with a peer's: raxl topo --view matrix", _joined)


@check(
    "fleet.numeric-outlier",
    "Idle nodes of one kind are as warm, and draw as much, as each other",
    P1,
    STANDARD,
    "vendor",
    is_of_fleet=True,
)
def numeric_outlier(fleet: Fleet, deviations: float = 5, share: float = 0.1, nodes: float = 5) -> Iterator[Verdict]:
    """A node that idles hotter than its peers has a fan, a pump or a cold plate that fails.

    Read: of nodes whose accelerators all idle (at most 5 % busy) the hottest one's temperature and the median power,
    and how long NVML took to start. Of `nodes` or more of one kind, one warns that is further from the median than
    `deviations` times the median absolute deviation, than `share` of the median, and than 10 °C, 20 W or 2 s (raxl).

    Not to be confused: a node at work, which is not compared; a rack with other cooling, which the median follows only
    where most nodes have it.
    """
    told = [one for group in classes(fleet) for one in _of_numbers(group, deviations, share, nodes)]
    yield from told
    if not told:
        yield not_asked(fleet, f"it takes {nodes:g} idle nodes of a kind to find the odd one out")


_LEAST = {"idle temperature in °C": 10.0, "idle power in W": 20.0, "start of NVML in s": 2.0}


def _of_numbers(group: Class, deviations: float, share: float, fewest: float) -> Iterator[Verdict]:
    values = {case.node.name: numbers(case) for case in group.cases}
    for name, least in _LEAST.items():
        own = {node: found[name] for node, found in values.items() if name in found}
        if len(own) < fewest:
            continue
        middle = median(own.values())
        spread = median(abs(value - middle) for value in own.values())
        odd = [
            node for node, value in own.items() if abs(value - middle) > max(deviations * spread, share * middle, least)
        ]
        for node in odd:
            words = f"{name} is {own[node]:g}, the median of {len(own)} nodes of its kind is {middle:g}"
            told = Evidence("nodes of one kind", f"median {middle:g}, median absolute deviation {spread:g}")
            step = (
                "raxl diagnose on it once more; then drain it, look at its fans and coolant, and compare its power caps"
            )
            yield warn(name, words, told, remedy=step, remedy_class="vendor", node=node, expected=f"{middle:g}")
        if not odd:
            yield ok("cluster", f"{name} is within {deviations:g} deviations on {len(own)} nodes ({group.name})"[:300])


Fields = Callable[[Case], "dict[str, str]"]


def _compared(
    fleet: Fleet, fields: Fields, what: str, step: str, shown: Callable[[Case], str] | None = None
) -> Iterator[Verdict]:
    """Every field of every class; at least one verdict."""
    groups = classes(fleet)
    told = [verdict for group in groups for verdict in _of_class(group, fields, what, step, shown)]
    told += _unheld(fleet, fields, what)
    yield from told
    if not told:
        alone = [group.cases[0].node.name for group in groups if len(group.cases) == 1]
        words = f"{listed(alone, 4)} {'has' if len(alone) == 1 else 'have'} no peer" if alone else "no nodes to compare"
        yield not_asked(fleet, f"{words}: it takes {FEWEST} of a kind to find the odd one out")


def _unheld(fleet: Fleet, fields: Fields, what: str) -> Iterator[Verdict]:
    """What the policy expects and no node tells."""
    names = expected.fields(fleet[0], what) if fleet else []
    read = {name for case in fleet for name in fields(case)} if names else set()
    for name in names:
        if name not in read:
            words = f"whether {name} is {expected.golden(fleet[0], name)} as the policy expects: no node tells it"
            yield unknown(name, NOT_ASKED, words, node=only(fleet))


def _of_class(
    group: Class, fields: Fields, what: str, step: str, shown: Callable[[Case], str] | None
) -> Iterator[Verdict]:
    values = {case.node.name: fields(case) for case in group.cases}
    names = sorted({name for own in values.values() for name in own})
    if len(group.cases) < 2:
        names = [name for name in names if expected.golden(group.cases[0], name) is not None]
        if not names:
            return
    alike = 0
    for name in names:
        found = split([(node, own[name]) for node, own in values.items() if name in own])
        if (
            len(found.values) == 1
            and (expected.golden(group.cases[0], name) or next(iter(found.values))) in found.values
        ):
            alike += 1
        else:
            yield from _field(group, name, found, what, step, shown)
    if alike:
        words = f"{alike} of {len(names)} {what}s are the same on all of {len(group.cases)} nodes ({group.name})"
        node = None
        if len(group.cases) < 2:
            words, node = f"{alike} of {len(names)} {what}s are what the policy expects", group.cases[0].node.name
        yield ok("node" if node else "cluster", words[:300], node=node)
    elif not names:
        yield skip("cluster", f"no {what} was read on {len(group.cases)} nodes ({group.name})"[:300])


def _field(
    group: Class, name: str, found: Split, what: str, step: str, shown: Callable[[Case], str] | None
) -> Iterator[Verdict]:
    golden = expected.golden(group.cases[0], name)
    common = golden if golden is not None else found.common
    told = Evidence("nodes of one kind", found.words()[:500])
    if common is None and found.total < FEWEST:
        yield skip(name, f"{name} differs between two nodes, and nothing says which is right: {found.words()}"[:400])
        return
    if common is None:
        words = f"{name} is split {'/'.join(str(len(nodes)) for nodes in found.values.values())}: {found.words()}"
        yield warn(name, words[:400], told, remedy=f"decide on one, then {step} on the others", remedy_class="config")
        return
    grave = what == "version" and name.lower() in _GRAVE
    cases = {case.node.name: case for case in group.cases}
    whom = (
        "the policy says" if golden is not None else f"{len(found.values.get(common, ()))} of {found.total} nodes have"
    )
    for value, nodes in found.values.items():
        for node in nodes if value != common else ():
            words = f"{name} is {value}, {whom} {common}"
            if shown is not None:
                words = (
                    f"the node is built otherwise than {whom.removesuffix(' have')} of its kind: {shown(cases[node])}"
                )
            made = fail if grave else warn
            made_class = "vendor" if what in ("firmware", "shape") else "config"
            yield made(
                name, words[:400], told, remedy=_STEP + step, remedy_class=made_class, node=node, expected=common
            )


def _joined(case: Case) -> str:
    """How its working devices are joined, in numbers."""
    found = working.fleet(case.node)
    links = Counter(link.link_class for link in case.node.links if link.link_class)
    words = ", ".join(f"{count} {name}" for name, count in sorted(links.items()))
    gone = f"; {listed(list(found.out))}" if found.out else ""
    return f"{len(found.working)} accelerators, {len(case.node.nics)} NICs, links {words or 'unknown'}{gone}"
