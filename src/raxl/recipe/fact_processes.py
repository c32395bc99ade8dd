"""What Ray's processes on a node have: versions, limits, variables, and what Ray registered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from raxl.checks import Case, library_files, raylets, variables
from raxl.model.facts import NOT_READ, Reading
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED, NOT_PRESENT
from raxl.topology.reasons import why

UNLIMITED = "unlimited"
"""The value of a limit that there is not."""
_CALLED = {
    "nvidia-driver": ("nvidia",),
    "amdgpu-driver": ("amdgpu",),
    "neuron-driver": ("neuron",),
    "fabric-manager": ("nvidia.fabric_manager",),
    "nccl": ("nccl", "libnccl", "nvidia-nccl-cu12", "nvidia-nccl-cu13"),
    "rccl": ("rccl", "librccl"),
    "ucx": ("ucx", "libucp", "libucx-cu12", "libucx-cu13"),
    "nixl": ("nixl", "nixl-cu12", "nixl-cu13"),
}
"""What people call a piece of software, and the names of what tells its version."""


def software(case: Case, name: str) -> Reading:
    """A version: of the inventory, of a driver, of a package or library in the Python that Ray runs in. Several, where
    these differ: which of them a job takes is not known."""
    told = list(_versions(case, _CALLED.get(name, (name,))))
    if told:
        several = tuple(dict.fromkeys(version for version, _ in told))
        sources = ", ".join(dict.fromkeys(source for _, source in told))
        return Reading(several[0] if len(several) == 1 else several, sources)
    said = why(case.node, f"software.{name}", "software", "node", otherwise="nothing that was read says its version")
    return Reading(None, ", ".join(said.evidence) or "the inventory", said.reason, said.message)


def _versions(case: Case, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each version of one of these names, and who says so."""
    beside = raylets.versions(case)
    for name in names:
        yield from ((one.version, one.evidence) for one in case.node.software if one.name == name)
        own = case.facts.drivers.get(name, NOT_READ)
        if own.known and isinstance(own.value, str):
            yield own.value, own.source
        if beside.known:
            packages, libraries = beside.value["packages"], beside.value["libraries"]
            yield from (
                (version, beside.source) for version in (*libraries.get(name, ()), packages.get(name)) if version
            )


def limits(case: Case, field: str) -> Reading:
    """A limit of the raylets that were seen, the narrowest of them; else of a process that raxl starts."""
    name = field.removesuffix("_bytes").removesuffix("_hard")
    place = 1 if "_hard" in field else 0
    seen = raylets.process(case, "raylets")
    if not seen.known and seen.reason != NOT_ASKED:
        return Reading(None, seen.source, seen.reason, seen.message or "whether a raylet runs here was not read")
    if any(name not in one["limits"] for one in raylets.raylets(case)):
        return Reading(None, "/proc", NOT_PERMITTED, "the limits of a raylet could not be read")
    told = [
        (one["limits"][name][place], f"/proc/{one['pid']}/limits (raylet)")
        for one in raylets.raylets(case)
        if name in one["limits"]
    ]
    own = case.facts.limits
    if not told and own.known and name in own.value:
        told = [(own.value[name][place], own.source)]
    if not told:
        return Reading(None, own.source, own.reason or NOT_ASKED, own.message or "it was not read")
    limit, source = min(told, key=lambda one: float("inf") if one[0] is None else one[0])
    return Reading(UNLIMITED if limit is None else limit, source)


def variable(case: Case, name: str) -> Reading:
    """A variable as it counts for Ray's processes: one that their environment does not have may be in a file of
    NCCL's."""
    told = in_environment(case, name)
    return (library_files.setting(case, name) or told) if told.reason == NOT_PRESENT else told


def in_environment(case: Case, name: str) -> Reading:
    """A variable as Ray's processes have it."""
    hidden = raylets.unseen(case)
    given = case.facts.given_variables
    if hidden is not None and not (given.known and name in given.value):
        return Reading(None, "/proc", hidden, "the environment of the raylet could not be read")
    told = variables.in_environment(case, name)
    if told.known and told.value is None and not re.fullmatch(case.facts.kept_variables, name):
        return Reading(None, told.source, NOT_ASKED, f"raxl keeps no variable {name}")
    if told.known and told.value is None:
        return Reading(None, told.source, NOT_PRESENT, f"{name} is not set")
    return told


def ray(case: Case, _: str) -> Reading:
    """The cluster's Ray, else the one that lies here."""
    if case.cluster is not None and case.cluster.ray_version is not None:
        return Reading(case.cluster.ray_version, "ray.nodes()")
    told = raylets.versions(case)
    if not told.known:
        return told
    version = told.value["packages"].get("ray")
    return Reading(version, told.source) if version else Reading(None, told.source, NOT_PRESENT, "no Ray lies here")


def ray_resource(case: Case, name: str) -> Reading:
    """What the node's raylet registered."""
    told = _of_raylet(case, name, lambda one: one.resources)
    if case.ray is not None and not case.ray.resources:
        return Reading(None, told.source, NOT_ASKED, "what was given does not say what Ray registered")
    return told


def ray_label(case: Case, name: str) -> Reading:
    """A label of the node's raylet."""
    return _of_raylet(case, name, lambda one: one.labels)


def _of_raylet(case: Case, name: str, part: Callable[[Any], Mapping[str, Any]]) -> Reading:
    source = "ray.nodes()"
    if case.ray is None:
        return Reading(None, source, NOT_ASKED, "no Ray was asked")
    held = part(case.ray)
    if name not in held:
        return Reading(None, source, NOT_PRESENT, f"Ray has no {name} for this node")
    return Reading(held[name], source)
