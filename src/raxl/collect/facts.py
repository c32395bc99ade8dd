"""From one machine's recording to the readings that checks want."""

from __future__ import annotations

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
    system,
    vantage,
)


def of(recording: Recording, node: Node) -> Facts:
    """What the recording says beside the inventory; `node` is what was assembled from it."""
    host = ReplayHost(recording)
    limit, module, own, rdma = limits.ask(host), modules.ask(host), system.ask(host), infiniband.ask(host)
    command_line, environment = own.files["command_line"], own.environment
    return Facts(
        limits=Reading(limits.parse(limit), "getrlimit(2)", limit.reason, limit.message),
        modules=Reading(modules.loaded(module), modules.FOLDER, module.listing.reason, module.listing.message),
        kernel_parameters=Reading(
            system.kernel_parameters(own), "/proc/cmdline", command_line.reason, command_line.message
        ),
        environment=Reading(environment.value, "environ(7)", environment.reason, environment.message),
        links_downed=Reading(
            infiniband.links_downed(rdma) if rdma.listing.known else None,
            infiniband.FOLDER,
            rdma.listing.reason,
            rdma.listing.message,
        ),
        vantage=vantage.readings(host),
        kernel_log=kernel_log.readings(host),
        host={"memory_errors": edac.readings(host)},
        logs={"fabric manager": fabric_manager_log.readings(host)},
    )
