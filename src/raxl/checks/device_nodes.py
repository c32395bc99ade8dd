"""The device files through which a process uses accelerators and RDMA adapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, skip, unread, warn, without
from raxl.checks.ports import is_rdma
from raxl.checks.variables import value
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK
from raxl.model.machine import DeviceNode
from raxl.model.nic import Nic
from raxl.model.problem import NOT_ASKED, NOT_PRESENT

_CONTROL = "/dev/nvidiactl"
_FILES = {
    "nvidia": ("/dev/nvidia",),
    "amd": ("/dev/kfd",),
    "neuron": ("/dev/neuron",),
    "tpu": ("/dev/accel", "/dev/vfio/"),
    "gaudi": ("/dev/accel/accel",),
}
"""By vendor, with what the device files of its accelerators begin."""
_VERBS = "/dev/infiniband/uverbs"
_NOTHING = ("void", "none", "")


class _Family(NamedTuple):
    vendor: str
    devices: int
    paths: list[str]


def _paths(nodes: Mapping[str, DeviceNode], begins: str) -> list[str]:
    """Those that are called so, with or without a number."""
    return [path for path in nodes if path == begins or (path.startswith(begins) and path[len(begins) :].isdigit())]


def _families(case: Case, nodes: Mapping[str, DeviceNode]) -> list[_Family]:
    found = []
    for vendor, begins in _FILES.items():
        count = sum(1 for one in case.node.accelerators if one.vendor == vendor)
        if count:
            found.append(_Family(vendor, count, [path for one in begins for path in _paths(nodes, one)]))
    return found


def _is_inside(case: Case) -> bool:
    return case.node.os.container not in (None, "none")


def _may_use(case: Case, nodes: Mapping[str, DeviceNode]) -> bool:
    """Whether this is a place where jobs run: no container, or one that was given accelerators."""
    return not _is_inside(case) or any(family.paths for family in _families(case, nodes))


@check(
    "host.device-nodes",
    "Device files are there and may be opened",
    P0,
    QUICK,
    "restart-service",
    reference="https://github.com/NVIDIA/nvidia-container-toolkit/issues/48",
)
def device_nodes(case: Case) -> Iterator[Verdict]:
    """A container that loses its device list keeps its device files, and every new process in it fails to find a GPU.

    Read: stat(2) and access(2) of the device files, and from level standard on the errno of opening /dev/nvidiactl; no
    other is opened, since opening may take a device. It fails where /dev/nvidiactl gives EPERM though the file's own
    mode lets it be opened (the container's device list was revoked, as by `systemctl daemon-reload` on the host). It
    warns in a container that has no file of a family that the PCI bus shows, and where RDMA adapters have no
    /dev/infiniband/uverbs.

    Not to be confused: EACCES is an ordinary permission. A container may be given some of the devices, or none on
    purpose (NVIDIA_VISIBLE_DEVICES=void): the bus shows all of them even so.
    """
    reading = case.facts.host.get("device_nodes", NOT_READ)
    if not reading.known:
        yield unread("node", "the device files", reading)
        return
    nodes: Mapping[str, DeviceNode] = reading.value
    families = _families(case, nodes)
    wrong = [verdict for verdict in (_revoked(case, nodes), *_missing(case, families, reading)) if verdict]
    yield from wrong
    yield from _unopened(case, nodes)
    verbs = _without_verbs(case, nodes, reading)
    if verbs is not None:
        yield verbs
    if (listing := case.facts.links_downed).reason not in (None, NOT_PRESENT, NOT_ASKED):
        yield unread(
            "/dev/infiniband", "whether there are RDMA adapters, and so whether they have their files", listing
        )
    if not families and verbs is None:
        yield skip(
            "node", "no accelerator with device files that raxl knows, and RDMA adapters have theirs or are none"
        )
    elif not wrong and verbs is None:
        words = listed([f"{family.vendor} {_count(family)}" for family in families])
        closed = [path for family in families for path in family.paths if not nodes[path].may_open]
        note = f"; this user may not open {listed(closed, 3)}" if closed else ""
        yield ok("node", f"device files: {words}{note}", evidence(reading, listed(list(nodes), 16)))


def _count(family: _Family) -> str:
    return f"{len(family.paths)} of {family.devices}" if len(family.paths) != family.devices else str(family.devices)


def _revoked(case: Case, nodes: Mapping[str, DeviceNode]) -> Verdict | None:
    control, node = case.facts.host.get("nvidia_control", NOT_READ), nodes.get(_CONTROL)
    if not control.known or control.value != "EPERM" or node is None or not node.may_open:
        return None
    words = f"{_CONTROL} is there and opening it is refused (EPERM): the container's device list was revoked"
    remedy = (
        "start the container anew; on the host use CDI, or create the links of /dev/char (nvidia-ctk system "
        "create-dev-char-symlinks), so that a daemon-reload does not revoke them again"
    )
    return fail(
        _CONTROL, words, evidence(control), remedy=remedy, remedy_class="restart-service", root="cgroup-revoked"
    )


def _unopened(case: Case, nodes: Mapping[str, DeviceNode]) -> Iterator[Verdict]:
    """In a container it is only by opening the file that a revoked list shows."""
    control = case.facts.host.get("nvidia_control", NOT_READ)
    if _CONTROL not in nodes or not _is_inside(case) or control.known:
        return
    if control.reason == NOT_ASKED:
        yield skip(_CONTROL, f"whether {_CONTROL} can be opened was not asked: level quick does not", NOT_ASKED)
    else:
        yield unread(_CONTROL, f"whether {_CONTROL} can be opened", control)


def _missing(case: Case, families: list[_Family], reading: Reading) -> Iterator[Verdict]:
    if not _is_inside(case):
        return
    for family in families:
        nothing_wanted = family.vendor == "nvidia" and (value(case, "NVIDIA_VISIBLE_DEVICES") or "all") in _NOTHING
        if not family.paths and not nothing_wanted:
            words = (
                f"the bus shows {family.devices} {family.vendor} accelerators, and the container has no file of them"
            )
            remedy = "give the container its devices (--gpus all, the pod's resource limit, --device); start it anew"
            yield warn(family.vendor, words, evidence(reading, "none"), remedy=remedy, remedy_class="restart-service")


def _without_verbs(case: Case, nodes: Mapping[str, DeviceNode], reading: Reading) -> Verdict | None:
    devices = [nic for nic in case.node.nics if is_rdma(nic) and nic.kind != "efa"]
    if not devices or _paths(nodes, _VERBS) or not _may_use(case, nodes):
        return None
    names = listed([nic.id for nic in devices], 4)
    words = f"{names} have no {_VERBS}*: RDMA cannot be used"
    if _is_inside(case):
        remedy = (
            "give the container /dev/infiniband (--device=/dev/infiniband, or the resource of the RDMA device plug-in)"
        )
        return warn("/dev/infiniband", words, evidence(reading, "none"), remedy=remedy, remedy_class="restart-service")
    remedy = "modprobe ib_uverbs"
    return warn("/dev/infiniband", words, evidence(reading, "none"), remedy=remedy, remedy_class="config")


@check(
    "efa.present",
    "EFA devices have their driver and their device files",
    P0,
    QUICK,
    "config",
    reference="https://github.com/aws/aws-ofi-nccl/issues/1020",
)
def efa(case: Case) -> Iterator[Verdict]:
    """Without its device files libfabric finds no EFA (`fi_getinfo: -61`), and NCCL goes on over TCP.

    Read: PCI functions 1d0f:efa*, `/sys/class/infiniband`, /dev/infiniband/uverbs*. It fails where an EFA device on the
    bus has no driver, and where there is no uverbs file on the host or in a container that was given accelerators; in
    any other container it warns. How many there are to be is `nic.count`'s.

    Not to be confused: that the security group lets its own members in cannot be seen from here.
    """
    on_bus = [nic for nic in case.node.nics if nic.kind == "efa" or _is_efa(nic)]
    if not on_bus:
        yield _no_efa(case)
        return
    driverless = [nic.id for nic in on_bus if not is_rdma(nic)]
    if driverless and case.facts.links_downed.reason in (None, "not-present"):
        words = f"{listed(driverless, 4)} on the bus and no RDMA device: the driver efa does not hold every one"
        remedy = "modprobe efa; dmesg | grep efa; install the EFA installer's driver after a kernel update"
        yield fail("node", words, remedy=remedy, remedy_class="config", root="driver")
    reading = case.facts.host.get("device_nodes", NOT_READ)
    if not reading.known:
        yield unread("/dev/infiniband", "whether EFA's device files are there", reading)
        return
    verbs = _paths(reading.value, _VERBS)
    if verbs:
        yield ok("node", f"{len(on_bus)} EFA devices, {len(verbs)} device files", evidence(reading, listed(verbs, 4)))
        return
    words = f"PCI shows {len(on_bus)} EFA devices, and there is no {_VERBS}*: libfabric finds none of them"
    remedy = "ask for vpc.amazonaws.com/efa in the pod's resources, or give the container --device=/dev/infiniband"
    made = fail if _may_use(case, reading.value) else warn
    yield made("/dev/infiniband", words, evidence(reading, "none"), remedy=remedy, remedy_class="config", root="nodes")


def _is_efa(nic: Nic) -> bool:
    pci = nic.pci
    return pci is not None and pci.vendor_id == "1d0f" and (pci.device_id or "").startswith("efa")


def _no_efa(case: Case) -> Verdict:
    if case.node.nics and case.node.looked_for.pci_functions is None:
        return skip("node", "no EFA device among what was read")
    return without(case, "EFA device")
