"""The NVLink fabric: its manager, whether the GPUs have joined it, and memory across nodes (IMEX)."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, ok, skip, unread, warn, without
from raxl.checks.devices import Seen, concluded, counted, name, of_vendor, reading, seen
from raxl.checks.nvidia import VENDOR
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import HOST, STANDARD
from raxl.model.problem import NOT_SUPPORTED

_MANAGER, _IMEX = "nvidia-fabricmanager.service", "nvidia-imex.service"
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
_IN_PROGRESS, _COMPLETED, _NOT_STARTED, _NOT_SUPPORTED = "in progress", "completed", "not started", "not supported"
_PASSING = ("route recovery in progress",)
_RESTART = (
    "`systemctl status nvidia-fabricmanager`, `/var/log/fabricmanager.log`; drain the node, restart the service; if "
    "the state stays, reset all GPUs and NVSwitches or reboot"
)


def _driver(case: Case, key: str) -> Reading:
    return case.facts.drivers.get(f"nvidia.{key}", NOT_READ)


def _is_joined(own: Reading) -> bool:
    return own.known and own.value["state"] == _COMPLETED and own.value["status"] == "success"


@check(
    "fabric.manager",
    "The fabric manager runs, in the driver's version",
    P0,
    STANDARD,
    "restart-service",
    vantage=HOST,
    reference="https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/",
)
def manager(case: Case) -> Iterator[Verdict]:
    """Whether NVSwitches are served by a fabric manager, without which CUDA does not begin (error 802).

    Read: the NVSwitches on the bus, the services that run, the manager's version and the driver's. It fails where there
    are NVSwitches, no manager runs and the GPUs have not joined the fabric, and where its version is not the driver's.

    Not to be confused: without NVSwitches on the bus (PCIe cards, trays of an NVL72, whose manager runs on the switch
    trays) it is not asked for, and refuses to start. In a guest the manager may run outside: GPUs that have joined say
    so.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    if not any(one.kind == "nvswitch" for one in case.node.switches):
        yield without(case, "NVSwitch")
        return
    services, version, module = _driver(case, "services"), _driver(case, "fabric_manager"), _driver(case, "module")
    joined = [reading(case, device, "fabric") for device in of_vendor(case, VENDOR) if device.state != "lost"]
    has_joined = bool(joined) and all(map(_is_joined, joined))
    runs = services.known and _MANAGER in services.value
    if runs and version.known and module.known and version.value != module.value:
        message = f"fabric manager {version.value} with driver {module.value}: it refuses to serve another version"
        remedy = f"install nvidia-fabricmanager {module.value}, drain the node, restart the service"
        told = (evidence(version), evidence(module))
        yield fail("node", message, *told, remedy=remedy, remedy_class="restart-service", root="version")
    elif runs and not (version.known and module.known):
        yield unread(
            "node", "the fabric manager runs, its version and the driver's", module if version.known else version
        )
    elif runs:
        yield ok("node", f"the fabric manager {version.value} runs", evidence(services, _MANAGER))
    elif has_joined:
        yield ok(
            "node", "no fabric manager runs here, and all GPUs have joined the fabric", evidence(joined[0], _COMPLETED)
        )
    elif services.known:
        message = f"{_switches(case)} and no fabric manager runs: CUDA does not begin"
        told_ = evidence(services, ", ".join(services.value) or "none of NVIDIA's")
        yield fail("node", message, told_, remedy=f"{_RESTART} (or `systemctl start`)", remedy_class="restart-service")
    else:
        yield unread("node", "whether a fabric manager runs", services)


def _switches(case: Case) -> str:
    return f"{sum(one.kind == 'nvswitch' for one in case.node.switches)} NVSwitches"


@check(
    "fabric.state",
    "The GPUs have joined the NVLink fabric",
    P0,
    STANDARD,
    "restart-service",
    reference="https://github.com/NVIDIA/NVSentinel/issues/883",
)
def state(case: Case, fail_uptime_seconds: float = 600) -> Iterator[Verdict]:
    """Whether each GPU is registered in the NVLink fabric: links come up by themselves, and say nothing of that.

    Read: the fabric's state, its status, and what the driver's health summary calls faulty. It fails where the state is
    `completed` with another status than success, for a degraded bandwidth, an unhealthy route, an access time-out and a
    wrong configuration, and where the registration is still in progress `fail_uptime_seconds` after boot; until then,
    and where the uptime is not known, it warns. It warns while a route recovers.

    Not to be confused: clique 0 and a zero cluster UUID are normal outside of a rack of NVLink. A GPU without a fabric
    is not supported (skip), one that never started is so where the node has no NVSwitch.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults, well = seen(case, VENDOR, "fabric", "the state of the NVLink fabric"), [], []
    is_switched = any(one.kind == "nvswitch" for one in case.node.switches)
    none: list[Accelerator] = []
    for device, own in found.known:
        now = own.value["state"]
        if now == _NOT_SUPPORTED or (now == _NOT_STARTED and not is_switched):
            none.append(device)
        elif (told := _fault(case, device, own, fail_uptime_seconds)) is not None:
            faults.append(told)
        else:
            well.append((device, own))
    if none:
        yield skip("node", f"{counted(none)}: no NVLink fabric", NOT_SUPPORTED)
    yield from concluded(Seen(well, found.missing), faults, "joined the fabric", _shown)


def _shown(own: Reading) -> str:
    told = own.value
    words = f"state {told['state']}, status {told['status']}, clique {told['clique']}, cluster {told['cluster']}"
    return words + (f", {', '.join(told['faults'])}" if told["faults"] else "")


def _fault(case: Case, device: Accelerator, own: Reading, fail_uptime_seconds: float) -> Verdict | None:
    told, now = evidence(own, _shown(own)), own.value["state"]
    more = {"remedy": _RESTART, "remedy_class": "restart-service", "root": now}
    if now == _IN_PROGRESS:
        uptime = case.facts.vantage.uptime_seconds
        is_old = uptime.known and uptime.value > fail_uptime_seconds
        since = f"{uptime.value / 60:.0f} min after boot" if uptime.known else "after an unknown time"
        message = f"{name(device)} has not joined the fabric {since}: its registration is in progress"
        return (fail if is_old else warn)(device.id, message, told, **more)
    if now != _COMPLETED:
        message = f"{name(device)} has not joined the fabric: {now}"
        return fail(device.id, message, told, **more)
    if own.value["status"] != "success":
        message = f"{name(device)}: the fabric's registration ended with {own.value['status']}"
        return fail(device.id, message, told, **{**more, "root": own.value["status"]})
    return _unhealthy(device, own)


def _unhealthy(device: Accelerator, own: Reading) -> Verdict | None:
    told, faults, summary = evidence(own, _shown(own)), own.value["faults"], own.value["summary"]
    more = {"remedy": _RESTART, "remedy_class": "restart-service"}
    hard = [one for one in faults if one not in _PASSING]
    if hard or summary == "unhealthy":
        words = ", ".join(hard) or "unhealthy"
        return fail(device.id, f"{name(device)} in the fabric: {words}", told, root=words, **more)
    if faults or summary == "limited capacity":
        words = ", ".join(faults) or summary
        return warn(device.id, f"{name(device)} in the fabric: {words}", told, root=words, **more)
    return None


def _domain(case: Case) -> str | None:
    """The cluster UUID of the NVLink domain of several nodes that GPUs here belong to."""
    for device in of_vendor(case, VENDOR):
        own = reading(case, device, "fabric")
        cluster = own.value["cluster"] if _is_joined(own) else None
        if cluster and cluster != _NO_CLUSTER:
            return str(cluster)
    return None


def _no_domain(case: Case) -> Verdict | None:
    """Why IMEX is of no use here; None where it may be."""
    if (nothing := absent(case, VENDOR)) is not None:
        return nothing
    if _domain(case) is not None:
        return None
    found = seen(case, VENDOR, "fabric", "the state of the NVLink fabric")
    unread_ = next((one for one in found.missing if one.status == "unknown"), None)
    return unread_ or skip("node", "no NVLink domain of several nodes is in use")


@check(
    "fabric.imex",
    "IMEX serves the NVLink domain",
    P1,
    STANDARD,
    "restart-service",
    vantage=HOST,
    reference="https://github.com/NVIDIA/DCGM/issues/308",
)
def imex(case: Case) -> Iterator[Verdict]:
    """Whether GPUs can map memory of other nodes of their NVLink domain.

    Read: the cluster UUID of the fabric, and whether the service nvidia-imex runs on the host. It is well where the
    service runs. Where it does not, this is skipped and said: Kubernetes' ComputeDomains run IMEX in pods and switch
    the host's service off, and a job that stays within its node needs none.
    """
    if (nothing := _no_domain(case)) is not None:
        yield nothing
        return
    services = _driver(case, "services")
    if not services.known:
        yield unread("node", "whether nvidia-imex runs", services)
    elif _IMEX in services.value:
        yield ok("node", f"nvidia-imex runs for the domain {_domain(case)}", evidence(services, _IMEX))
    else:
        yield skip(
            "node", "nvidia-imex does not run on the host; ComputeDomains run it in pods, jobs of one node need none"
        )


@check(
    "fabric.imex-channel",
    "There is a channel for memory across nodes",
    P1,
    STANDARD,
    "config",
    vantage=HOST,
    reference="https://github.com/NVIDIA/nvbandwidth/issues/39",
)
def imex_channel(case: Case) -> Iterator[Verdict]:
    """Whether a program may use the IMEX that serves this node.

    Read: the channels below `/dev/nvidia-caps-imex-channels`. It fails where nvidia-imex runs on this host and there is
    no channel: CUDA then refuses with `CUDA_ERROR_NOT_PERMITTED`. Without that service this is skipped, since
    ComputeDomains make channels in the pods that asked for them.
    """
    if (nothing := _no_domain(case)) is not None:
        yield nothing
        return
    services, channels = _driver(case, "services"), _driver(case, "imex_channels")
    named = [one for one in channels.value or () if one.startswith("channel")]
    if named:
        yield ok("node", f"{len(named)} IMEX channels", evidence(channels, ", ".join(named[:4])))
    elif not services.known:
        yield unread("node", "whether nvidia-imex runs", services)
    elif _IMEX not in services.value:
        yield skip("node", "nvidia-imex does not run on the host; ComputeDomains make channels in pods")
    elif not channels.known and channels.reason != "not-present":
        yield unread("node", "the IMEX channels", channels)
    else:
        message = "nvidia-imex runs and there is no IMEX channel: CUDA refuses memory of other nodes"
        remedy = "`nvidia-modprobe -c 0`, or load the module with `NVreg_CreateImexChannel0=1`"
        told = evidence(channels, "no channel")
        yield fail("node", message, told, remedy=remedy, remedy_class="config")
