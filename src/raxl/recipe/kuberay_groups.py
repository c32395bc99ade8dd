"""The groups of the Ray clusters that a manifest describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from raxl.model.manifest import ManifestFinding
from raxl.recipe import kuberay_quantity
from raxl.recipe.kuberay_quantity import MOST
from raxl.recipe.kuberay_tree import Path, Tree, at, entries, mapping

CLUSTER_AT: Mapping[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""By kind, where its cluster is described."""
CONTAINERS: Path = ("template", "spec", "containers")
RAY_CONTAINER: Path = (*CONTAINERS, 0)
"""KubeRay starts Ray in the first container of a pod, and reads its limits alone."""


@dataclass(frozen=True)
class Object:
    """A RayCluster, or a RayJob or RayService with one inside."""

    tree: Tree
    path: Path
    kind: str
    name: str

    @property
    def title(self) -> str:
        """`RayCluster tpu`"""
        return f"{self.kind} {self.name}".strip()

    def found(self, level: str, check: str, at_: Path, message: str, remedy: str = "") -> ManifestFinding:
        """A finding about the object; `at_` is a path within it."""
        return ManifestFinding(level, check, self.title, "", self.tree.line((*self.path, *at_)), message, remedy)


@dataclass(frozen=True)
class Group:
    """Pods that are alike: the head, or a group of workers."""

    owner: Object
    path: Path
    """Within the file's document."""
    spec: Mapping[str, Any]
    is_head: bool
    is_patched: bool = False
    """Whether it is what a patch made of the file's group: then it has no lines."""

    @property
    def name(self) -> str:
        """As the manifest calls it."""
        return "head" if self.is_head else str(self.spec.get("groupName") or "")

    @property
    def where(self) -> str:
        """`workerGroupSpecs[0] 'gpu-workers'`"""
        return "headGroupSpec" if self.is_head else f"workerGroupSpecs[{self.path[-1]}] '{self.name}'"

    @property
    def container(self) -> Mapping[str, Any]:
        """The one in which Ray runs."""
        return mapping(at(self.spec, RAY_CONTAINER))

    @property
    def pod(self) -> Mapping[str, Any]:
        """The pod's spec."""
        return mapping(at(self.spec, ("template", "spec")))

    @property
    def start(self) -> Mapping[str, Any]:
        """What `ray start` is given."""
        return mapping(self.spec.get("rayStartParams"))

    @property
    def limits(self) -> Mapping[str, Any]:
        """Of the Ray container."""
        return mapping(mapping(self.container.get("resources")).get("limits"))

    @property
    def node_selector(self) -> Mapping[str, Any]:
        """Which nodes its pods may run on."""
        return mapping(self.pod.get("nodeSelector"))

    @property
    def hosts(self) -> int | None:
        """The pods of one replica; None where it is no number of pods."""
        told = self.spec.get("numOfHosts", 1)
        return kuberay_quantity.whole(told) if isinstance(told, int) and told > 0 else None

    @property
    def replicas(self) -> int | None:
        """As many as the manifest asks for at first."""
        return kuberay_quantity.whole(self.spec.get("replicas", 1 if self.is_head else 0))

    @property
    def pods(self) -> int | None:
        """All of it."""
        if self.is_head:
            return 1
        return None if self.replicas is None or self.hosts is None else min(self.replicas * self.hosts, MOST)

    def line(self, at_: Path = ()) -> int | None:
        """The line of what is at this path within the group."""
        return None if self.is_patched else self.owner.tree.line((*self.path, *at_))

    def found(self, level: str, check: str, at_: Path, message: str, remedy: str = "") -> ManifestFinding:
        """A finding about what is at this path within the group."""
        return ManifestFinding(level, check, self.owner.title, self.where, self.line(at_), message, remedy)


def objects(trees: list[Tree]) -> list[Object]:
    """What is Ray's among the documents; a List's items are looked at one by one."""
    found = []
    for tree in trees:
        for path in _items(tree.value):
            one = mapping(at(tree.value, path))
            if str(one.get("apiVersion", "")).startswith("ray.io/"):
                name = str(mapping(one.get("metadata")).get("name") or "")
                found.append(Object(tree, path, str(one.get("kind") or ""), name))
    return found


def _items(value: Any) -> Iterator[Path]:
    if mapping(value).get("kind") == "List":
        yield from (("items", place) for place in range(len(entries(mapping(value).get("items")))))
    else:
        yield ()


def of(owner: Object) -> list[Group]:
    """The head's group and those of the workers."""
    at_ = (*owner.path, *CLUSTER_AT[owner.kind])
    cluster = mapping(at(owner.tree.value, at_))
    groups = []
    if "headGroupSpec" in cluster:
        groups.append(Group(owner, (*at_, "headGroupSpec"), mapping(cluster["headGroupSpec"]), True))
    for place, spec in enumerate(entries(cluster.get("workerGroupSpecs"))):
        groups.append(Group(owner, (*at_, "workerGroupSpecs", place), mapping(spec), False))
    return groups
