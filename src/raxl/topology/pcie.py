"""The class of a PCIe path, as `nvidia-smi topo -m` names it, from the positions of its two ends."""

from __future__ import annotations

from raxl.model.component import PciFunction


def path_class(a: PciFunction, b: PciFunction, numa_nodes: int) -> str | None:
    """PIX, PXB, PHB, NODE or SYS; None when the positions do not tell.

    `numa_nodes` is how many nodes the machine has: with one, two host bridges are always in the same.

    Below one host bridge the bridges tell: none in common is PHB; else the bridges between the last common one and
    each device count, and one (the switch's downstream port) is PIX. Devices of two NUMA nodes share no host bridge,
    known or not.
    """
    if a.host_bridge is not None and a.host_bridge == b.host_bridge:
        return _below_one_host_bridge(a, b)
    if a.numa_node is not None and b.numa_node is not None and a.numa_node != b.numa_node:
        return "SYS"
    if a.host_bridge is None or b.host_bridge is None:
        return None
    if numa_nodes == 1:
        return "NODE"
    return "NODE" if a.numa_node is not None and b.numa_node is not None else None


def _below_one_host_bridge(a: PciFunction, b: PciFunction) -> str:
    if _slot(a) == _slot(b) and a.chain == b.chain:
        return "PIX"
    common = 0
    for mine, other in zip(a.chain, b.chain):
        if mine != other:
            break
        common += 1
    if common == 0:
        return "PHB"
    return "PIX" if max(len(a.chain), len(b.chain)) - common <= 1 else "PXB"


def _slot(function: PciFunction) -> str:
    """Domain, bus and device: functions of one card share it."""
    return function.address.rsplit(".", 1)[0]
