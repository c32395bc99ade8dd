"""What the kernel, and the logs of libraries, say of one machine: the parts of `Facts` that are about no
accelerator."""

from __future__ import annotations

from collections.abc import Mapping

from raxl.host.replay import ReplayHost
from raxl.intake import environment, nccl_log, rdma_states, ucx_log
from raxl.model.facts import NOT_READ, Reading
from raxl.model.peering import Peering
from raxl.model.presence import PRESENT, UNKNOWN
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PRESENT
from raxl.plugins import registry
from raxl.sources import (
    clouds,
    device_nodes,
    filesystems,
    flow_control,
    interfaces,
    kernel_settings,
    netdev,
    nvidia_control,
    peers,
    rdma_ports,
    system,
    usable_cpus,
)

_NO_IOMMU = "none"
_NO_CLOUD = "slurm"
"""The platform that is none of a cloud: it may run in any."""


def host(asked: ReplayHost) -> Mapping[str, Reading]:
    """`filesystem /dev/shm` and the like; `device_nodes` by path; `nvidia_control`, the errno's name of opening it;
    `numa_balancing`; `open_files`, open and at most; `kernel_config`, options of the kernel that are on;
    `nvidia_module`, open or closed; `memory_clients`, who offers device memory to RDMA; `iommu_types` by PCI address,
    `none` for a device that no IOMMU translates for; `usable_cpus`: how many a process may use.
    """
    peering = peers.parse(peers.ask(asked), NOT_READ, NOT_READ)
    return {
        **{f"filesystem {path}": reading for path, reading in filesystems.readings(asked).items()},
        "device_nodes": device_nodes.reading(asked),
        "nvidia_control": nvidia_control.reading(asked),
        "usable_cpus": usable_cpus.reading(asked),
        **kernel_settings.readings(asked),
        "nvidia_module": peering.nvidia_module,
        "memory_clients": peering.memory_clients,
        "iommu_types": _iommu_types(peering),
    }


def cloud(asked: ReplayHost, virtualization: str | None) -> Reading:
    """The cloud that the firmware names. That it names none is known of a machine without a hypervisor, and of a guest
    whose firmware tells the tag by which clouds mark theirs."""
    told = {name: registry.platform(name).probe(asked) for name in registry.PLATFORMS if name != _NO_CLOUD}
    present = [name for name, one in told.items() if one.state == PRESENT]
    if present:
        return Reading(present[0], clouds.FOLDER)
    unread = next((one for one in told.values() if one.state == UNKNOWN), None)
    if unread is not None:
        return Reading(None, clouds.FOLDER, unread.reason or FAILED, unread.message)
    marks = {name: asked.text(f"{clouds.FOLDER}/{name}") for name in ("sys_vendor", "chassis_asset_tag")}
    refused = next((one for one in marks.values() if one.reason not in (None, NOT_PRESENT)), None)
    if refused is not None:
        return Reading(None, clouds.FOLDER, refused.reason, refused.message)
    if marks["sys_vendor"].known and (virtualization == "none" or marks["chassis_asset_tag"].known):
        return Reading(None, clouds.FOLDER, NOT_PRESENT, "the firmware names no cloud that raxl knows")
    return Reading(None, clouds.FOLDER, NOT_ASKED, "the firmware does not tell whose machine this is")


def _iommu_types(peering: Peering) -> Reading:
    told = {
        address: str(reading.value) if reading.known else _NO_IOMMU
        for address, reading in peering.iommu_types.items()
        if reading.known or reading.reason == NOT_PRESENT
    }
    if told or not peering.iommu_types:
        return Reading(told, peers.GROUPS)
    return next(iter(peering.iommu_types.values()))


def rdma(asked: ReplayHost) -> Mapping[str, Mapping[str, Reading]]:
    """By port, what the kernel says, and what tools say where it says nothing or they know worse: see
    `sources.rdma_ports.readings`, and `active_mtu`. A device that a tool died on stands under its own name."""
    return rdma_states.worse(rdma_ports.readings(asked), *rdma_states.readings(asked))


def logs(asked: ReplayHost) -> Mapping[str, Reading]:
    """`nccl` and `ucx`, where their logs were given."""
    found = {}
    for name, form, said in (("nccl", nccl_log.FORM, nccl_log.said), ("ucx", ucx_log.FORM, ucx_log.said)):
        answer = asked.document(form)
        if answer.known:
            found[name] = Reading(said(answer.value), form)
    return found


def networks(asked: ReplayHost) -> Mapping[str, Reading]:
    """See `sources.interfaces.readings`; and `flow_control`: by network device of an RDMA adapter, a reading of its
    congestion control."""
    return {**interfaces.readings(asked), "flow_control": Reading(flow_control.readings(asked), netdev.FOLDER)}


def variables(asked: ReplayHost) -> Reading:
    """The allowed part of the asking process's environment, or what a file of variables says."""
    own, told = system.ask(asked).environment, given_variables(asked)
    if not own.known and told.known:
        return told
    return Reading(own.value, "environ(7)", own.reason, own.message)


def given_variables(asked: ReplayHost) -> Reading:
    """What files of variables say."""
    told = asked.document(environment.FORM)
    if not told.known:
        return Reading(None, environment.FORM, told.reason, told.message)
    return Reading(environment.variables(told.value), environment.FORM)
