"""NUMA nodes: where devices stand, and what the kernel does to pages on them."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P1, Case, Verdict, check, evidence, ok, skip, unknown, unread, warn
from raxl.checks.ports import is_rdma
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ
from raxl.model.finding import QUICK, Evidence
from raxl.model.nic import Nic
from raxl.model.node import NumaNode
from raxl.model.problem import NOT_ASKED, most_telling

_FOLDER = "/sys/devices/system/node"


def _with_cpus(case: Case) -> list[NumaNode]:
    """Nodes on which a process can run. Memory of an accelerator, and memory alone, is none."""
    return [one for one in case.node.numa_nodes if one.cpus]


@check(
    "host.numa-balancing",
    "The kernel does not move pages between NUMA nodes",
    P1,
    QUICK,
    "config",
    reference="https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing",
)
def numa_balancing(case: Case) -> Iterator[Verdict]:
    """Automatic NUMA balancing unmaps pages to see who uses them, and stalls transfers to and from memory that devices
    use.

    Read: `/proc/sys/kernel/numa_balancing`. It warns where it is on, the node has accelerators and RDMA adapters, and
    several NUMA nodes have CPUs; RCCL warns of the same.

    Not to be confused: the kernel switches it on by itself on machines with several NUMA nodes; on one node it does
    nothing.
    """
    if case.node.numa_nodes and len(_with_cpus(case)) < 2:
        yield skip("node", "one NUMA node has CPUs: there is nothing to balance")
        return
    reading = case.facts.host.get("numa_balancing", NOT_READ)
    if not reading.known:
        yield unread("node", "automatic NUMA balancing", reading)
    elif reading.value == 0:
        yield ok("node", "automatic NUMA balancing is off", evidence(reading))
    elif not case.node.accelerators or not any(is_rdma(nic) for nic in case.node.nics):
        yield skip("node", "automatic NUMA balancing is on, and the node has no accelerators beside RDMA adapters")
    else:
        yield warn(
            "node",
            "automatic NUMA balancing is on: it stalls transfers between RDMA adapters and accelerators",
            evidence(reading),
            remedy="sysctl -w kernel.numa_balancing=0, and the same in /etc/sysctl.d; no drain is needed",
            remedy_class="config",
        )


@check(
    "host.numa-map",
    "Accelerators and adapters say which NUMA node they are at",
    P1,
    QUICK,
    "config",
    reference="https://docs.kernel.org/admin-guide/abi-testing.html",
)
def numa_map(case: Case) -> Iterator[Verdict]:
    """A device that says no NUMA node leaves the placement of processes and buffers beside it to chance.

    Read: `numa_node` of every accelerator and RDMA adapter, and the NUMA nodes. It warns where one says none (-1) on a
    machine, no virtual one, on which several nodes have CPUs.

    Not to be confused: on Grace Hopper and GB200 each GPU's memory is more NUMA nodes, up to eight, without CPUs; that
    is how they are, and so is their absence with newer drivers. Virtual machines often hide the nodes.
    """
    homes = _with_cpus(case)
    devices: list[Accelerator | Nic] = [*case.node.accelerators, *[nic for nic in case.node.nics if is_rdma(nic)]]
    if not case.node.numa_nodes:
        yield unknown("node", NOT_ASKED, "which NUMA nodes there are was not read")
    elif not devices:
        yield skip("node", "no accelerator and no RDMA adapter is here")
    elif len(homes) < 2:
        yield ok("node", f"{_counted(case)}: every device is at the only one with CPUs", _nodes(case))
    elif case.node.os.virtualization not in (None, "none") or case.node.path_trust == "virtual":
        yield skip("node", f"{_counted(case)}, as the hypervisor shows them")
    else:
        yield from _unplaced(case, [one.id for one in devices if _is_unplaced(one)])


def _is_unplaced(one: Accelerator | Nic) -> bool:
    """Of those that the kernel lists on the bus: a chip behind another one has no place of its own, and a topology
    document may place a device beside several nodes."""
    is_near_one = isinstance(one, Accelerator) and len(one.local_numa_nodes) == 1
    return one.pci is not None and "sysfs" in one.evidence and one.numa_node is None and not is_near_one


def _unplaced(case: Case, names: list[str]) -> Iterator[Verdict]:
    reasons = {one.subject: one for one in case.node.problems if one.subject.endswith(".numa_node")}
    told = [reasons.get(f"{name}.numa_node") or reasons.get("accelerators.numa_node") for name in names]
    unasked = [one for one in told if one is not None and one.reason in ("not-asked", "not-permitted", "timed-out")]
    if not names:
        yield ok("node", f"{_counted(case)}, and every device says at which it is", _nodes(case))
    elif unasked:
        reason = most_telling([one.reason for one in unasked])
        yield unknown("node", reason, f"the NUMA node of {listed(names)}: {unasked[0].message}")
    else:
        yield warn(
            "node",
            f"{listed(names)} tell{'s' if len(names) == 1 else ''} no NUMA node, and the machine has "
            f"{len(_with_cpus(case))} with CPUs",
            Evidence("/sys/bus/pci/devices/*/numa_node", "-1"),
            remedy="look in the firmware for NUMA settings, and for its update; reboot after a drain",
            remedy_class="config",
        )


def _counted(case: Case) -> str:
    """`9 NUMA nodes, 1 with CPUs`"""
    every, homes = len(case.node.numa_nodes), len(_with_cpus(case))
    count = f"{every} NUMA node{'s' if every > 1 else ''}"
    return count if every == homes else f"{count}, {homes} with CPUs"


def _nodes(case: Case) -> Evidence:
    return Evidence(_FOLDER, "; ".join(f"node{one.id} CPUs {one.cpus or 'none'}" for one in case.node.numa_nodes[:16]))


@check(
    "numa.nps",
    "How many NUMA nodes the firmware makes of a processor",
    P1,
    QUICK,
    "config",
    reference="https://github.com/NVIDIA/nccl-tests/issues/293",
)
def nps(case: Case) -> Iterator[Verdict]:
    """On AMD EPYC the firmware's NPS setting (nodes per socket) makes one, two or four NUMA nodes of a processor, and
    has doubled or halved the figures of collectives (NVIDIA/nccl-tests #293).

    Read: packages and NUMA nodes with CPUs. It says the setting and gives no verdict: which one is best depends on the
    job.
    """
    cpu = case.node.cpu
    if not cpu.packages or not case.node.numa_nodes:
        yield skip("node", "packages and NUMA nodes were not both read")
    elif "AMD" not in (cpu.model or ""):
        yield skip("node", f"the processors are no AMD ones: {cpu.model or 'model not known'}")
    else:
        count = len(_with_cpus(case)) / cpu.packages
        yield ok(
            "node",
            f"NPS{count:g}: {len(_with_cpus(case))} NUMA nodes with CPUs in {cpu.packages} packages",
            _nodes(case),
        )
