"""The variables by which Ray and the runtimes hide devices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from raxl.checks import P0, Case, Verdict, check, fail, ok, skip, unknown
from raxl.checks.raylets import Environment, environments, raylets, unheard, unseen
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.finding import QUICK, ROOT
from raxl.model.problem import NOT_ASKED
from raxl.topology import ray_lists, ray_visible
from raxl.topology.ray_counts import AMD, GPUS, NVIDIA, OTHERS, Count, Family
from raxl.topology.ray_detection import Found

_CUDA, _HIP, _ROCR, _DOCKER = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)
_NOSET = "RAY_EXPERIMENTAL_NOSET_"
_HIDDEN = ("", "-1", "NoDevFiles", "none", "void")
"""Lists that hide all devices on purpose."""
_LONGEST = 80


@check(
    "ray.visible-devices",
    "Variables that hide devices name devices that are there",
    P0,
    QUICK,
    "config",
    vantage=ROOT,
    reference="https://github.com/ray-project/ray/issues/53737",
)
def visible_devices(case: Case) -> Iterator[Verdict]:
    """Each runtime hides devices by a variable of its own, and Ray takes its count from some of them.

    Read: the raylet's environment (in a cluster that of each node's), else the asking process's. It fails where a list
    names a device that is not there or one twice (ray #28064), where `ROCR_VISIBLE_DEVICES` is set with AMD GPUs (Ray
    takes `HIP_VISIBLE_DEVICES` alone, and ROCR filters before HIP and CUDA count in what is left), and where
    `HIP_VISIBLE_DEVICES` and `CUDA_VISIBLE_DEVICES` differ on an AMD node.

    Not to be confused: an empty list, `-1` and `NoDevFiles` hide all on purpose. UUIDs (ray #43314) and MIG names are
    lists like numbers; a range (`0-63`) is one to Ray, and a fault only where Ray runs. `NVIDIA_VISIBLE_DEVICES` is the
    container runtime's. What a job sets for itself is not seen.
    """
    found = environments(case)
    if not found:
        yield unheard(case) or _unread(case)
        return
    is_rays = case.ray is not None or bool(raylets(case))
    faults = [fault for one in found for fault in _faults(one, case.node.accelerators, is_rays)]
    yield from faults
    reason = unseen(case)
    if not faults and reason is not None:
        yield unknown("node", reason, "the raylet's environment could not be read; the asking process's is sound")
    elif not faults:
        yield _well(found, case.node.accelerators)


def _unread(case: Case) -> Verdict:
    reason = case.facts.environment.reason or NOT_ASKED
    if reason == NOT_ASKED and case.ray is None:
        return skip("node", "no Ray and no environment were asked")
    return unknown("node", reason, "the raylet's environment was not read")


def _faults(environment: Environment, devices: Sequence[Accelerator], is_rays: bool) -> Iterator[Verdict]:
    variables = environment.variables
    amd = _of(AMD, devices)
    if amd:
        yield from _of_amd(environment, amd)
    for family in (NVIDIA, *OTHERS):
        own = _of(family, devices)
        one = _found(family, variables, is_rays)
        if own and one is not None and (wrong := ray_lists.wrong(one, own)):
            step = f"{ray_lists.corrected(one, own)} and restart it"
            yield _fault(environment, wrong, (family.variable,), step)


def _of_amd(environment: Environment, devices: Sequence[Accelerator]) -> Iterator[Verdict]:
    """ROCR filters what HIP and CUDA number: https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html"""
    variables = environment.variables
    names = [name for name in (_ROCR, _HIP, _CUDA) if name in variables]
    left = _left(variables.get(_ROCR), devices)
    if _ROCR in variables and variables[_ROCR].strip() not in _HIDDEN:
        refused = "and HIP counts in what it leaves" if _HIP in variables else "which Ray refuses"
        order = " before ".join(names) if len(names) > 1 else _ROCR
        words = f"{_ROCR}={_cut(variables[_ROCR])} is set, {refused}; {order} "
        words += f"leaves {len(left)} of {len(devices)} GPUs"
        beyond = [
            f"{name}={_cut(variables[name])} {fault}"
            for name in (_HIP, _CUDA)
            if (fault := _missing(name, variables, left))
        ]
        words += f", of which {' and '.join(beyond)}" if beyond else ""
        step = f"unset {_ROCR} and set {_HIP} to the numbers of all GPUs that are wanted"
        yield _fault(environment, words, names, step)
        return
    for name in (_HIP, _CUDA):
        fault = _missing(name, variables, devices)
        if fault:
            yield _fault(environment, f"{name}={_cut(variables[name])} {fault}", (name,), f"correct or unset {name}")
    both = [variables[name] for name in (_HIP, _CUDA) if name in variables]
    if len(both) == 2 and _entries(both[0]) != _entries(both[1]):
        words = f"{_HIP}={_cut(both[0])} and {_CUDA}={_cut(both[1])} differ, and PyTorch reads both"
        yield _fault(environment, words, (_HIP, _CUDA), f"unset {_CUDA}: Ray sets {_HIP} on AMD")


def _fault(environment: Environment, words: str, names: Sequence[str], step: str) -> Verdict:
    where = (
        "in the environment that the raylet was started with"
        if environment.source.startswith("/proc")
        else "where it is set"
    )
    remedy = f"tr '\\0' '\\n' < /proc/$(pgrep -o raylet)/environ | grep VISIBLE shows it; {where}, {step}"
    told = environment.evidence(*names)
    return fail(names[0], words, *told, remedy=remedy, remedy_class="config", root=environment.source)


def _of(family: Family, devices: Sequence[Accelerator]) -> list[Accelerator]:
    return [device for device in devices if device.vendor == family.vendor]


def _found(family: Family, variables: Mapping[str, str], is_rays: bool) -> Found | None:
    """The list as Ray takes it; where no Ray is, with the ranges that a runtime takes written out."""
    entries = ray_visible.ids(variables, family.variable)
    if entries is None or variables.get(family.variable, "").strip() in (*_HIDDEN, "all"):
        return None
    each = ray_visible.chips(variables) if family.variable == "TPU_VISIBLE_CHIPS" else 1
    if not is_rays:
        entries = [number for entry in entries[: ray_visible.MOST] for number in _written_out(entry)]
    return Found(family, Count(None, ""), tuple(entries), None, each)


def _written_out(entry: str) -> list[str]:
    match = re.fullmatch(r" *(\d{1,4})-(\d{1,4}) *", entry)
    if match is None or int(match[2]) - int(match[1]) >= ray_visible.MOST:
        return [entry]
    return [str(number) for number in range(int(match[1]), int(match[2]) + 1)] or [entry]


def _entries(value: str) -> list[str]:
    return [entry.strip() for entry in value.split(",")] if value.strip() not in _HIDDEN else []


def _left(value: str | None, devices: Sequence[Accelerator]) -> list[Accelerator]:
    """What ROCR leaves, in the order in which it is numbered anew."""
    if value is None:
        return list(devices)
    found: list[Accelerator] = []
    for entry in _entries(value)[: ray_visible.MOST]:
        units = ray_visible.named(_HIP, entry, devices)
        if not units:
            break
        found += [unit.device for unit in units if unit.device not in found]
    return found


def _missing(name: str, variables: Mapping[str, str], devices: Sequence[Accelerator]) -> str:
    """What a list of HIP's names that is not among so many, or twice; empty where it is sound."""
    entries = _entries(variables.get(name, ""))[: ray_visible.MOST]
    units = sum(max(1, len(device.partitions)) for device in devices)
    beyond = [entry for entry in entries if entry.isdigit() and int(entry[:9]) >= units]
    if beyond:
        return f"names {listed(beyond)}, and there are {units}"
    twice = sorted({entry for entry in entries if entries.count(entry) > 1})
    return f"names {listed(twice)} twice" if twice else ""


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def _well(found: Sequence[Environment], devices: Sequence[Accelerator]) -> Verdict:
    wanted = {family.variable for family in (*GPUS, *OTHERS)} | {_ROCR, _DOCKER}
    names = [
        (one, name) for one in found for name in sorted(one.variables) if name in wanted or name.startswith(_NOSET)
    ]
    told = [item for one, name in names for item in one.evidence(name)]
    if not names:
        return ok("node", f"no variable hides devices ({listed([one.source for one in found])})")
    if not devices:
        return skip("node", f"{listed([name for _, name in names])} set, and there is no device to name")
    words = [f"{name}={_cut(one.variables[name]) or 'nothing'}" for one, name in names]
    hidden = [name for one, name in names if name in wanted and one.variables[name].strip() in _HIDDEN]
    note = f"; {listed(hidden)} hides all on purpose" if hidden else ""
    return ok("node", f"{listed(words)} {'name' if len(words) > 1 else 'names'} what is there{note}", *told)
