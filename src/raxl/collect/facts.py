"""From one machine's recording to the readings that checks want."""

from __future__ import annotations

from raxl.collect import family_facts, machine_facts, nvidia_devices, pcie_facts
from raxl.host import allowed
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.model.facts import Facts, Reading
from raxl.model.node import Node
from raxl.sources import (
    edac,
    fabric_manager_log,
    infiniband,
    kernel_log,
    limits,
    modules,
    nccl_files,
    nvidia_driver,
    peers,
    processes,
    system,
    vantage,
)


def of(recording: Recording, node: Node) -> Facts:
    """What the recording says beside the inventory; `node` is what was assembled from it."""
    host = ReplayHost(recording)
    limit, module, own, rdma = limits.ask(host), modules.ask(host), system.ask(host), infiniband.ask(host)
    command_line = own.files["command_line"]
    loaded = Reading(modules.loaded(module), modules.FOLDER, module.listing.reason, module.listing.message)
    parameters = Reading(system.kernel_parameters(own), "/proc/cmdline", command_line.reason, command_line.message)
    nvidia = nvidia_devices.read(host, node)
    return Facts(
        limits=Reading(limits.parse(limit), "getrlimit(2)", limit.reason, limit.message),
        modules=loaded,
        kernel_parameters=parameters,
        environment=machine_facts.variables(host),
        links_downed=Reading(
            infiniband.links_downed(rdma) if rdma.listing.known else None,
            infiniband.FOLDER,
            rdma.listing.reason,
            rdma.listing.message,
        ),
        given_variables=machine_facts.given_variables(host),
        library_files=nccl_files.readings(host),
        vantage=vantage.readings(host),
        devices={**family_facts.devices(host, node), **nvidia.devices},
        drivers={
            **family_facts.drivers(host, node),
            **nvidia_driver.readings(host),
            **nvidia.driver,
            "rdma.firmware": _firmware(rdma),
        },
        pcie=pcie_facts.of(host, node, peers.parse(peers.ask(host), loaded, parameters)),
        host={
            **machine_facts.host(host),
            "memory_errors": edac.readings(host),
            "cloud": machine_facts.cloud(host, node.os.virtualization),
        },
        kept_variables=allowed.KEPT_VARIABLES,
        kept_kernel_parameters=allowed.KERNEL_PARAMETERS,
        rdma=machine_facts.rdma(host),
        networks=machine_facts.networks(host),
        logs={**machine_facts.logs(host), "fabric manager": fabric_manager_log.readings(host)},
        processes=processes.readings(host),
        kernel_log=kernel_log.readings(host),
    )


def _firmware(rdma: infiniband.Answers) -> Reading:
    """By RDMA device, the version of its firmware, of those that tell one."""
    told = {one.name: one.firmware for one in infiniband.parse(rdma) if one.firmware}
    listing = rdma.listing
    return Reading(told if listing.known else None, infiniband.FOLDER, listing.reason, listing.message)
