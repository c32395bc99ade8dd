"""Facts of the machine itself: its place, system, processors, fabric, kernel and drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from raxl.checks import Case
from raxl.model.facts import NOT_READ, Reading
from raxl.model.label import Label
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED
from raxl.recipe import fact_processes
from raxl.topology import label_links
from raxl.topology.reasons import why
from raxl.topology.working import fleet

_SHM = "/dev/shm"  # noqa: S108 - it is told how large it is
_SYSTEM = {
    "kernel": "/proc/sys/kernel/osrelease",
    "distribution": "/etc/os-release",
    "architecture": "uname(2)",
    "virtualization": "/proc/cpuinfo, /sys/class/dmi/id",
    "container": "/proc/self/cgroup",
}
_OF_CLOUD = ("provider", "instance_type", "region", "zone")
"""Names that a machine of no cloud does not have."""
_CPUS, _CPU_INFO, _NUMA = "/sys/devices/system/cpu", "/proc/cpuinfo", "/sys/devices/system/node"


def _field(case: Case, subject: str, value: Any, source: str, *wider: str) -> Reading:
    """A field of the inventory, or the problem that says why it is not known."""
    source = source if case.node.recorded_by else case.node.source
    if value is not None and value != ():
        return Reading(value, source)
    told = why(case.node, subject, *wider, "node", otherwise="nothing that was read says it")
    return Reading(None, ", ".join(told.evidence) or source, told.reason, told.message)


def placement(case: Case, field: str) -> Reading:
    """A name of the node's place."""
    place = case.node.placement
    evidence = ", ".join(place.evidence) or "the inventory"
    value = getattr(place, field)
    if value is not None:
        return Reading(value, evidence)
    cloud = case.facts.host.get("cloud", NOT_READ)
    if place.provider is None and field in _OF_CLOUD and cloud.reason == NOT_PRESENT:
        return cloud
    return _field(case, f"placement.{field}", None, evidence, "placement")


def system(case: Case, field: str) -> Reading:
    """A field of the operating system."""
    return _field(case, f"os.{field}", getattr(case.node.os, field), _SYSTEM[field], "os")


def processors(case: Case, field: str) -> Reading:
    """A field of the processors."""
    if field == "usable":
        return usable(case)
    return _field(case, f"cpu.{field}", getattr(case.node.cpu, field), _CPU_INFO if field == "model" else _CPUS, "cpu")


def usable(case: Case) -> Reading:
    """How many CPUs a process may use: its affinity and its group's quota, where those were read; else all."""
    told, threads = case.facts.host.get("usable_cpus", NOT_READ), processors(case, "threads")
    if told.known or not threads.known:
        return told if told.known else threads
    return Reading(threads.value, f"{threads.source}: all that are online; neither a quota nor an affinity was read")


def numa(case: Case, _: str) -> Reading:
    """How many NUMA nodes there are."""
    nodes = case.node.numa_nodes
    return _field(case, "numa_nodes", len(nodes) or None, _NUMA, "numa")


def scale_up(case: Case, field: str) -> Reading:
    """The fabric between the node's accelerators, or the narrowest class between two, as `raxl labels` tells them."""
    key = label_links.SCALE_UP if field == "kind" else label_links.LINK_CLASS
    told = next(one for one in label_links.between(case.node, fleet(case.node)) if one.key == key)
    source = ", ".join(told.evidence) or "the inventory's links"
    if isinstance(told, Label):
        return Reading(told.fact, source)
    return Reading(None, source, told.reason, told.message)


def shared_memory(case: Case, field: str) -> Reading:
    """The file system at /dev/shm."""
    whole = case.facts.host.get("filesystem /", NOT_READ)
    reading = case.facts.host.get(f"filesystem {_SHM}", NOT_READ if whole.known else whole)
    return Reading(getattr(reading.value, field), reading.source) if reading.known else reading


def _unread(reading: Reading) -> Reading:
    """A listing that is not here: what would stand in it is not known, which is not to say that there is none."""
    reason = FAILED if reading.reason in (NOT_PRESENT, NOT_APPLICABLE) else reading.reason
    return Reading(None, reading.source, reason, reading.message or f"there is no {reading.source} here")


def module(case: Case, name: str) -> Reading:
    """Whether a kernel module is loaded."""
    told = case.facts.modules
    if not told.known:
        return _unread(told)
    return Reading(name.replace("-", "_") in {one.replace("-", "_") for one in told.value}, told.source)


def kernel_parameter(case: Case, name: str) -> Reading:
    """The value of a parameter of the kernel's command line; true where it stands there without one."""
    told = case.facts.kernel_parameters
    if not told.known:
        return _unread(told)
    if name not in case.facts.kept_kernel_parameters:
        return Reading(None, told.source, NOT_ASKED, f"raxl keeps no kernel parameter {name}")
    words = [word.partition("=") for word in str(told.value or "").split()]
    held = tuple(value if sign else True for key, sign, value in words if key == name)
    if not held:
        return Reading(None, told.source, NOT_PRESENT, f"the kernel was not started with {name}")
    return Reading(held[0] if len(held) == 1 else held, told.source)


def driver(case: Case, name: str) -> Reading:
    """A reading of a driver, or of what serves it."""
    return _named(case.facts.drivers, name)


def host(case: Case, name: str) -> Reading:
    """A reading of the machine."""
    return _named(case.facts.host, name)


def _named(readings: Mapping[str, Reading], name: str) -> Reading:
    """The reading of that name; `NAME.PART` is a part of one that has several."""
    if name in readings:
        return _plain(readings[name])
    for at in range(len(name) - 1, 0, -1):
        if name[at] == "." and name[:at] in readings:
            whole = readings[name[:at]]
            return _plain(_part(whole, name[at + 1 :])) if whole.known else whole
    return Reading(None, "nothing", NOT_ASKED, f"nobody read {name}")


def _part(whole: Reading, key: str) -> Reading:
    value = whole.value
    if isinstance(value, Mapping):
        held = next((value[one] for one in value if str(one) == key), None)
    elif key in getattr(value, "_fields", ()):
        held = getattr(value, key)
    else:
        return Reading(None, whole.source, NOT_SUPPORTED, f"it has no part {key}")
    absent = Reading(None, whole.source, NOT_PRESENT, f"there is no {key}")
    return absent if held is None else held if isinstance(held, Reading) else Reading(held, whole.source)


def _plain(reading: Reading) -> Reading:
    """A reading that holds a scalar, or several as a tuple: of a mapping its values."""
    value = reading.value
    if not reading.known or isinstance(value, str | int | float | bool):
        return reading
    if value is None:
        return Reading(None, reading.source, NOT_PRESENT, "there is none")
    several: Sequence[Any] = ()
    if isinstance(value, Mapping):
        several = tuple(value.values())
    elif isinstance(value, tuple | list | set | frozenset) and not hasattr(value, "_fields"):
        several = tuple(value)
    told = sorted({one for one in several if isinstance(one, str | int | float | bool)}, key=str)
    if told:
        return Reading(told[0] if len(told) == 1 else tuple(told), reading.source)
    if isinstance(value, Mapping | tuple | list | set | frozenset) and not value:
        return Reading(None, reading.source, NOT_PRESENT, "there is none")
    return Reading(None, reading.source, NOT_SUPPORTED, "it has several parts: name one behind a point")


READERS: Mapping[str, Callable[[Case, str], Reading]] = {
    "placement": placement,
    "os": system,
    "cpu": processors,
    "numa": numa,
    "scale_up": scale_up,
    "software": fact_processes.software,
    "limits": fact_processes.limits,
    "shm": shared_memory,
    "modules": module,
    "kernel_parameters": kernel_parameter,
    "environment": fact_processes.variable,
    "drivers": driver,
    "host": host,
    "ray": fact_processes.ray,
    "ray.resources": fact_processes.ray_resource,
    "ray.labels": fact_processes.ray_label,
}
"""By root of a path, who reads its fields."""
