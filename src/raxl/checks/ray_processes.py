"""Who has accelerators open: Ray's own processes, what they left behind, and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raxl.checks import P0, Case, Verdict, absent, check, fail, ok, skip, unknown, unread, warn, without
from raxl.checks.raylets import process, raylets, unheard
from raxl.checks.words import listed
from raxl.model.cluster import DEAD
from raxl.model.finding import QUICK, ROOT, Evidence
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED, TIMED_OUT

_SERVICES = (
    "nvidia-persiste",
    "nv-hostengine",
    "nv-fabricmanage",
    "nvidia-smi",
    "nvidia-cuda-mps",
    "dcgm-exporter",
    "dcgmi",
    "dcgmproftester",
    "nvidia-device-p",
    "nvidia_gpu_expo",
    "gpu-feature-dis",
    "nvidia-container",
    "nvidia-ctk",
    "gpud",
    "telegraf",
    "node_exporter",
    "amd-smi",
    "rocm-smi",
    "amdgpu-exporter",
    "device-metrics-",
    "neuron-monitor",
    "neuron-top",
    "neuron-ls",
    "Xorg",
    "Xwayland",
    "gnome-shell",
    "kwin_wayland",
    "systemd-logind",
    "vdagent",
    "raxl",
)
"""Names of services, as /proc/PID/comm cuts them at 15 characters, that watch or share devices."""
_TPU_NODES = ("/dev/accel", "/dev/vfio/")


@check(
    "ray.orphan-process",
    "Only Ray's own processes hold accelerators",
    P0,
    QUICK,
    "app",
    vantage=ROOT,
    reference="https://github.com/ray-project/ray/issues/31451",
)
def orphan_process(case: Case) -> Iterator[Verdict]:
    """A worker that outlives its raylet keeps its device's memory, and the next task there fails for lack of it.

    Read: all processes that have an accelerator's device file open, and whether a raylet is among their ancestors. It
    fails for a former worker of Ray (its title begins with `ray::`) that no raylet is above of, and warns for any other
    process on a node of Ray's.

    Not to be confused: monitors, the MPS daemon and displays share devices; a long-lived actor is Ray's own. Other
    users' processes are seen by root alone, those of other containers on the host alone.
    """
    holders, seen = process(case, "holders"), process(case, "seen")
    if (why := unheard(case)) is not None:
        yield why
        return
    if not holders.known or not seen.known:
        is_unasked = holders.reason == NOT_ASKED and case.ray is None
        words = "who has accelerators open"
        yield skip("node", "no Ray and no processes were asked") if is_unasked else unread("node", words, holders)
        return
    if case.node.has_none:
        yield without(case, "accelerator")
        return
    titles = {one["pid"]: one["title"] for one in process(case, "workers").value or ()}
    strangers = [one for one in holders.value if not one["is_rays"]]
    left = [one for one in strangers if one["pid"] in titles]
    others = [one for one in strangers if one["pid"] not in titles and not _is_service(one)]
    for one in left:
        yield _leak(one, titles[one["pid"]])
    is_rays_node = bool(raylets(case)) or (case.ray is not None and case.ray.state != DEAD)
    for one in others if is_rays_node else ():
        yield _stranger(one)
    if not left and not (others and is_rays_node):
        yield from _none(case, holders.value, seen.value, is_rays_node)


def _is_service(one: Mapping[str, Any]) -> bool:
    return str(one["comm"]).startswith(_SERVICES)


def _told(one: Mapping[str, Any]) -> Evidence:
    return Evidence(f"/proc/{one['pid']}/fd", f"{one['comm']} holds {listed(list(one['nodes']))}")


def _leak(one: Mapping[str, Any], title: str) -> Verdict:
    words = f"process {one['pid']} ({title}) holds {listed(list(one['nodes']))}, and no raylet is above it: it was left"
    step = (
        f"ps -o pid,ppid,etime,user -p {one['pid']} shows it; kill -9 {one['pid']}; if it comes back, drain the node "
        "and restart its raylet"
    )
    return fail(f"process {one['pid']}", words, _told(one), remedy=step, remedy_class="app")


def _stranger(one: Mapping[str, Any]) -> Verdict:
    words = f"process {one['pid']} ({one['comm']}) holds {listed(list(one['nodes']))} and is none of Ray's"
    step = (
        f"ps -o pid,ppid,etime,user -p {one['pid']} shows whose it is; end it, or start the raylet without the devices "
        "that it holds"
    )
    return warn(f"process {one['pid']}", words, _told(one), remedy=step, remedy_class="app")


def _none(
    case: Case, holders: Sequence[Mapping[str, Any]], seen: Mapping[str, int], is_rays_node: bool
) -> Iterator[Verdict]:
    """Nobody was found; whether everybody was looked at."""
    partly = _partly(case, seen)
    told = Evidence("/proc", f"{len(holders)} of {seen['processes']} processes hold accelerators")
    if partly is not None:
        yield partly
    elif not is_rays_node:
        yield skip("node", "no raylet runs here, and no worker of Ray's is left behind")
    else:
        rays = sum(bool(one["is_rays"]) for one in holders)
        others = len(holders) - rays
        beside = f", and {others} service{'s' if others > 1 else ''}" if others else ""
        yield ok("node", f"{rays} process{'es' if rays != 1 else ''} of Ray's hold accelerators{beside}", told)


def _partly(case: Case, seen: Mapping[str, int]) -> Verdict | None:
    """Why not all processes were seen; None where they were."""
    if seen["denied"]:
        words = f"who has accelerators open: {seen['denied']} of {seen['processes']} processes could not be looked into"
        return unknown("node", NOT_PERMITTED, words)
    if seen["late"]:
        words = f"who has accelerators open: {seen['late']} of {seen['processes']} processes were not come to in time"
        return unknown("node", TIMED_OUT, words)
    sees = case.facts.vantage.sees_host_processes
    if not sees.value:
        return unknown("node", NOT_PERMITTED, "who has accelerators open: the host's other processes are not seen")
    return None


@check(
    "tpu.in-use",
    "TPU chips are held by Ray's own processes",
    P0,
    QUICK,
    "app",
    vantage=ROOT,
    reference="https://cloud.google.com/tpu/docs/troubleshooting/trouble-tf",
)
def tpu_in_use(case: Case, stale_seconds: float = 60) -> Iterator[Verdict]:
    """A TPU chip is one process's at a time: whoever comes second hangs or is told that it is in use.

    Read: who has the chips' device files open, and libtpu's lock file with its age. It warns where a process outside
    the raylet's tree holds a chip on a node of Ray's, and where a lock file older than `stale_seconds` (raxl) has no
    holder.

    Not to be confused: a chip that is busy with Ray's current job is well. Another user's processes are seen by root
    alone, those outside a container on the host alone.
    """
    if (why := absent(case, "tpu")) is not None:
        yield why
        return
    holders, seen, lock = process(case, "holders"), process(case, "seen"), process(case, "lock")
    if not holders.known or not seen.known:
        yield unread("node", "who holds the chips", holders)
        return
    held = [one for one in holders.value if any(node.startswith(_TPU_NODES) for node in one["nodes"])]
    strangers = [one for one in held if not one["is_rays"]] if raylets(case) else []
    for one in strangers:
        yield _stranger(one)
    partly = _partly(case, seen.value)
    if not strangers and partly is not None:
        yield partly
    elif not held and lock.value and lock.value.get("age_seconds", 0) >= stale_seconds:
        yield _stale(lock.value)
    elif not strangers:
        words = (
            f"{len(held)} processes hold chips, all of them Ray's"
            if raylets(case)
            else f"{len(held)} processes hold chips"
        )
        yield ok("node", words, Evidence("/proc", f"{seen.value['processes']} processes were looked at"))


def _stale(lock: Mapping[str, Any]) -> Verdict:
    path, age = lock.get("path"), lock.get("age_seconds")
    words = f"{path} is {age} s old, and no process holds a chip: libtpu will say that they are in use"
    told = Evidence(str(path), f"{age} s old, {'ours' if lock.get('is_ours') else 'of another user'}")
    return warn("node", words, told, remedy=f"ls -l {path}, then rm {path}", remedy_class="app")
