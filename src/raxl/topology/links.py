"""How every pair of accelerators, and every accelerator and NIC, is joined."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Mapping, Sequence

from raxl.model import nominal
from raxl.model.accelerator import Accelerator
from raxl.model.component import PciFunction
from raxl.model.link import Link
from raxl.model.nic import Nic
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, Problem
from raxl.model.report import LinkClaim
from raxl.topology import pcie

Stated = Mapping[frozenset[str], LinkClaim]
"""Links that a source states, by the ids of their ends."""


def links(
    accelerators: Sequence[Accelerator],
    nics: Sequence[Nic],
    functions: Mapping[str, PciFunction],
    stated: Stated,
    numa_nodes: int,
) -> tuple[tuple[Link, ...], tuple[Problem, ...]]:
    """A link for every pair: a stated scale-up link, else the computed PCIe class, else a stated one."""
    device_ids = {
        accelerator.id: accelerator.pci.device_id if accelerator.pci else None for accelerator in accelerators
    }
    found, problems = [], []
    pairs: list[tuple[Accelerator, Accelerator | Nic]] = [*combinations(accelerators, 2), *product(accelerators, nics)]
    for a, b in pairs:
        claim = stated.get(frozenset((a.id, b.id)))
        if claim is not None and claim.kind != "pcie":
            found.append(_scale_up(a.id, b.id, claim, device_ids.get(a.id)))
            continue
        link = _pcie(a.id, b.id, _function(a, functions), _function(b, functions), claim, numa_nodes)
        found.append(link)
        if claim is not None and claim.link_class not in (None, link.link_class):
            message = f"{a.id}–{b.id}: {claim.evidence} says {claim.link_class}, the PCI tree says {link.link_class}"
            problems.append(Problem("links", DISAGREEMENT, message, (claim.evidence, "sysfs")))
    return tuple(found), (*problems, *_unasked(found, stated, device_ids))


def _unasked(found: Sequence[Link], stated: Stated, device_ids: Mapping[str, str | None]) -> tuple[Problem, ...]:
    """Pairs that NVLink may join, and of which only the PCIe path was read."""
    count = sum(
        1
        for link in found
        if link.kind == "pcie"
        and frozenset((link.a, link.b)) not in stated
        and all(nominal.may_have_nvlink(device_ids.get(end)) for end in (link.a, link.b))
    )
    if not count:
        return ()
    message = f"nobody was asked whether NVLink joins them: {count} pairs are given by their PCIe paths"
    return (Problem("links.scale_up", NOT_ASKED, message),)


def _function(device: Accelerator | Nic, functions: Mapping[str, PciFunction]) -> PciFunction | None:
    return functions.get(device.pci.address) if device.pci else None


def _pcie(
    a: str, b: str, mine: PciFunction | None, other: PciFunction | None, claim: LinkClaim | None, numa_nodes: int
) -> Link:
    computed = pcie.path_class(mine, other, numa_nodes) if mine and other else None
    if computed is not None and mine is not None:
        return Link(a, b, computed, "pcie", evidence=(mine.evidence,))
    if claim is not None and claim.link_class is not None:
        return Link(a, b, claim.link_class, "pcie", evidence=(claim.evidence,))
    return Link(a, b, kind="pcie", evidence=(claim.evidence,)) if claim is not None else Link(a, b)


def _scale_up(a: str, b: str, claim: LinkClaim, device_id: str | None) -> Link:
    link = Link(
        a=a,
        b=b,
        link_class=claim.link_class,
        kind=claim.kind,
        count=claim.count,
        bandwidth_bytes_per_second=claim.bandwidth_bytes_per_second,
        bandwidth_source=claim.bandwidth_source,
        state=claim.state,
        evidence=(claim.evidence,),
    )
    rate = nominal.nvlink_bytes_per_second(device_id) if claim.kind == "nvlink" else None
    if link.bandwidth_bytes_per_second is None and rate is not None and claim.count:
        return replace(link, bandwidth_bytes_per_second=rate * claim.count, bandwidth_source="nominal")
    return link
