"""Shared memory of a pod, its object store, and what RDMA needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.model.manifest import FAIL, NOTE, WARN, ManifestFinding
from raxl.recipe import kuberay_quantity, kuberay_resources
from raxl.recipe.kuberay_groups import RAY_CONTAINER, Group
from raxl.recipe.kuberay_tree import at, entries, mapping

SHM = "/dev/shm"  # noqa: S108
_LEAST = 1 << 30
_RDMA = re.compile(r"rdma/.+|.+/(roce|.*rdma).*|vpc\.amazonaws\.com/efa")
VOLUMES = ("template", "spec", "volumes")
MOUNTS = (*RAY_CONTAINER, "volumeMounts")
MEMORY_VOLUME = "volumes: [{name: shm, emptyDir: {medium: Memory}}]"


def findings(group: Group) -> Iterator[ManifestFinding]:
    """What is wrong with the memory of a group's pods, and with what they may lock of it."""
    yield from _shared(group)
    yield from _store(group)
    yield from _rdma(group)
    if group.pod.get("hostNetwork") is True and group.pod.get("dnsPolicy") != "ClusterFirstWithHostNet":
        told = "hostNetwork without dnsPolicy ClusterFirstWithHostNet: the pod does not find the head's service"
        path = ("template", "spec", "hostNetwork")
        yield group.found(WARN, "host-network", path, told, "dnsPolicy: ClusterFirstWithHostNet")


def shared(group: Group) -> tuple[int, Mapping[str, Any] | None] | None:
    """The place of the mount at /dev/shm and its volume (None: there is no such volume); None without a mount."""
    for place, mount in enumerate(entries(group.container.get("volumeMounts"))):
        if mapping(mount).get("mountPath") == SHM:
            named = [one for one in entries(group.pod.get("volumes")) if mapping(one).get("name") == mount.get("name")]
            return place, mapping(named[0]) if named else None
    return None


def _shared(group: Group) -> Iterator[ManifestFinding]:
    found = shared(group)
    if found is None:
        if "plasma-directory" in group.start:
            told = f"with plasma-directory KubeRay mounts no memory at {SHM}: 64 MiB are left to libraries"
            yield group.found(WARN, "shm", ("rayStartParams", "plasma-directory"), told, MEMORY_VOLUME)
        return
    place, volume = found
    if volume is None:
        told = f"the volume that is mounted at {SHM} is not among the pod's: 64 MiB are left"
        yield group.found(FAIL, "shm", (*MOUNTS, place), told, MEMORY_VOLUME)
        return
    at_ = (*VOLUMES, entries(group.pod.get("volumes")).index(volume))
    if "emptyDir" not in volume:
        if "hostPath" not in volume:
            yield group.found(FAIL, "shm", at_, f"the volume at {SHM} is no memory", MEMORY_VOLUME)
        return
    empty = mapping(volume["emptyDir"])
    if empty.get("medium") != "Memory":
        yield group.found(FAIL, "shm", at_, f"the volume at {SHM} is on disk: medium is not Memory", MEMORY_VOLUME)
        return
    size, memory = kuberay_quantity.read(empty.get("sizeLimit")), _memory(group)
    devices = sum(one.number or 0 for one in kuberay_resources.asked(group.limits))
    if size is not None and size < _LEAST and devices > 1:
        told = f"{kuberay_quantity.told(size)} at {SHM} for {devices} accelerators: collective libraries need 1 GiB"
        yield group.found(FAIL, "shm", (*at_, "emptyDir", "sizeLimit"), told, "sizeLimit: 32Gi")
    elif size is not None and memory is not None and size > memory:
        told = (
            f"{SHM} may grow to {kuberay_quantity.told(size)}, and counts as the container's memory, "
            f"of which it has {kuberay_quantity.told(memory)}"
        )
        yield group.found(WARN, "shm", (*at_, "emptyDir", "sizeLimit"), told, "raise limits.memory, or lower sizeLimit")


def _memory(group: Group) -> Any:
    return kuberay_quantity.read(group.limits.get("memory"))


def _store(group: Group) -> Iterator[ManifestFinding]:
    """The object store lies in shared memory, else on a disk."""
    told = group.start.get("object-store-memory")
    store, memory = kuberay_quantity.read(told), _memory(group)
    if store is None or "plasma-directory" in group.start:
        return
    found, room = shared(group), memory
    if found and found[1] is not None:
        limit = kuberay_quantity.read(mapping(found[1].get("emptyDir")).get("sizeLimit"))
        room = limit if limit is not None and (memory is None or limit < memory) else memory
    if room is not None and store > room:
        words = (
            f"the object store of {kuberay_quantity.told(store)} does not fit into {SHM}, "
            f"{kuberay_quantity.told(room)}: Ray would keep objects in /tmp"
        )
        path = ("rayStartParams", "object-store-memory")
        yield group.found(
            FAIL if memory is not None and store > memory else WARN,
            "object-store",
            path,
            words,
            f'object-store-memory: "{int(room) // 2}"',
        )


def _rdma(group: Group) -> Iterator[ManifestFinding]:
    keys = [key for key in group.limits if _RDMA.fullmatch(key)]
    context = mapping(group.container.get("securityContext"))
    if context.get("privileged") is True:
        path = (*RAY_CONTAINER, "securityContext", "privileged")
        told = "the Ray container is privileged: RDMA needs the capability IPC_LOCK alone"
        yield group.found(NOTE, "rights", path, told)
    elif keys and "IPC_LOCK" not in entries(at(context, ("capabilities", "add"))):
        told = f"{keys[0]} without the capability IPC_LOCK: memory cannot be registered with the NIC"
        path = (*RAY_CONTAINER, "resources", "limits", keys[0])
        yield group.found(FAIL, "rights", path, told, "securityContext: {capabilities: {add: [IPC_LOCK]}}")
