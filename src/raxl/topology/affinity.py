"""What each NIC is for, as far as its speed and its place tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from raxl.model.link import Link
from raxl.model.nic import Nic

_NEAR = ("PIX", "PXB")
"""Classes that stay off the host bridge."""
_RDMA = ("infiniband", "roce", "iwarp", "efa", "omni-path", "rdma")


def with_roles(nics: Sequence[Nic], links: Sequence[Link]) -> tuple[Nic, ...]:
    """The NICs with their role, where it can be told: see `role`."""
    near = {link.b for link in links if link.link_class in _NEAR}
    fastest = max((nic.speed_bits_per_second or 0 for nic in nics if nic.kind in _RDMA), default=0)
    return tuple(replace(nic, role=nic.role or role(nic, fastest, near)) for nic in nics)


def role(nic: Nic, fastest: int, near: set[str]) -> str | None:
    """`management` below half of the fastest RDMA rate; `compute` for an RDMA adapter at least that fast that shares a
    switch with an accelerator, or when none does; None where speed or kind is not known, or only others share one, or
    the link is down: its rate then is not what it can do.

    A storage network looks like a compute network from the node: it is never guessed.
    """
    if not fastest or nic.speed_bits_per_second is None or nic.state == "down":
        return None
    if 2 * nic.speed_bits_per_second < fastest:
        return "management"
    if nic.kind not in _RDMA:
        return None
    return "compute" if nic.id in near or not near else None
