"""How the devices of a node are joined: the links that sources state, and those that follow from the bus."""

from __future__ import annotations

from functools import partial
from typing import Mapping, NamedTuple, Sequence

from raxl.collect import merge
from raxl.collect.alike import Itself, Steps
from raxl.collect.bus import Bus
from raxl.model.accelerator import Accelerator
from raxl.model.component import Switch
from raxl.model.link import Link
from raxl.model.nic import Nic
from raxl.model.problem import Problem
from raxl.model.report import LinkClaim
from raxl.topology import affinity, links, switches

Stated = Mapping[frozenset[str], LinkClaim]
"""The stated links by the ids of their ends."""


class Joined(NamedTuple):
    """Every link, what of them is told differently, the adapters with their roles, and the PCIe switches."""

    links: tuple[Link, ...]
    contradictions: tuple[Problem, ...]
    nics: tuple[Nic, ...]
    switches: tuple[Switch, ...]


def joined(accelerators: Sequence[Accelerator], nics: Sequence[Nic], stated: Stated, bus: Bus, steps: Steps) -> Joined:
    """How these devices are joined. Of the accelerators it depends on nothing but id and place."""
    of_devices = tuple((device.id, device.pci, device.numa_node) for device in accelerators)
    of_links = tuple((ends, *_words(claim)) for ends, claim in stated.items())
    key = (of_devices, of_links, Itself(nics), Itself(bus))
    return steps.same("links", key, partial(_joined, accelerators, nics, stated, bus))


def stated(
    claims: Sequence[LinkClaim], devices: Sequence[merge.Merged], nics: set[str]
) -> dict[frozenset[str], LinkClaim]:
    """The stated links by the ids of their ends; scale-up links come before PCIe paths, what nobody says comes last."""
    ids = {name: device.accelerator.id for device in devices for name in device.names}
    ids.update((nic, nic) for nic in nics)
    stated: dict[frozenset[str], LinkClaim] = {}
    for claim in sorted(claims, key=lambda claim: (claim.kind is None, claim.kind == "pcie", claim.link_class is None)):
        ends = frozenset(ids[end] for end in (claim.a, claim.b) if end in ids)
        if len(ends) == 2:
            stated.setdefault(ends, claim)
    return stated


def _words(claim: LinkClaim) -> tuple[object, ...]:
    """All that a stated link says, but for the names that its source has for the ends."""
    return tuple(value for name, value in vars(claim).items() if name not in ("a", "b"))


def _joined(accelerators: Sequence[Accelerator], nics: Sequence[Nic], stated: Stated, bus: Bus) -> Joined:
    found, contradictions = links.links(accelerators, nics, bus.functions, stated, len(bus.numa_nodes))
    every: list[Accelerator | Nic] = [*accelerators, *nics]
    placed = [
        (device.id, bus.functions[device.pci.address])
        for device in every
        if device.pci and device.pci.address in bus.functions
    ]
    return Joined(
        found, contradictions, affinity.with_roles(nics, found), switches.pcie_switches(placed, bus.functions)
    )
