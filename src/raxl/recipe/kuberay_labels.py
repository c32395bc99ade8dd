"""Where a group's labels stand, and whether Kubernetes takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.model.manifest import FAIL, WARN, ManifestFinding
from raxl.recipe.kuberay_groups import Group
from raxl.recipe.kuberay_tree import at, mapping

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_PREFIX = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII)
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""
_FOR_RAY = ("raxl/", "ray.io/accelerator-type", "ray.io/gpu-domain", "ray.io/tpu-", "ray.io/market-type")
"""Labels that tell Ray's scheduler something."""


def findings(group: Group) -> Iterator[ManifestFinding]:
    """Labels that KubeRay refuses, and those that Ray never sees."""
    yield from _start(group)
    labels = mapping(group.spec.get("labels"))
    for key, value in labels.items():
        if fault := _fault(key, value):
            yield group.found(FAIL, "labels", ("labels", key), f"the label {key[:80]!r} {fault}", "KubeRay refuses it")
    on_pod = mapping(at(group.spec, ("template", "metadata", "labels")))
    lost = [key for key in on_pod if key.startswith(_FOR_RAY) and key not in labels]
    if lost:
        path = ("template", "metadata", "labels", lost[0])
        told = f"{', '.join(lost)} on the pod template alone: Ray does not see labels of pods"
        yield group.found(WARN, "labels", path, told, "move them to the group's own labels (KubeRay 1.5 or newer)")


def _start(group: Group) -> Iterator[ManifestFinding]:
    if "labels" in group.start:
        told = "rayStartParams.labels is refused by KubeRay from 1.5 on; older ones hide it from the autoscaler"
        remedy = "move them to the group's own labels, beside rayStartParams"
        yield group.found(FAIL, "labels", ("rayStartParams", "labels"), told, remedy)
    if "labels-file" in group.start:
        told = "the autoscaler does not see the labels of rayStartParams.labels-file"
        remedy = "write them into the group's own labels (KubeRay 1.5 or newer)"
        yield group.found(WARN, "labels", ("rayStartParams", "labels-file"), told, remedy)


def _fault(key: str, value: object) -> str | None:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
        return "has a key that Kubernetes does not take"
    if isinstance(value, str) and value and not _NAME.fullmatch(value):
        return f"has a value that Kubernetes does not take: {value[:80]!r}"
    return None
