"""The facts of a node, each by its path: what recipes are matched, checked and filled by.

    facts = NodeFacts(node, facts, cluster)
    facts.read("accelerators[vendor=nvidia].count")     Reading(8, "sysfs, nvml")
    facts.read("limits.memlock_bytes")                  Reading("unlimited", "/proc/4121/limits (raylet)")

A reading without a value says why: the reasons in `ABSENT` say that there is no such thing, all others that it is not
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from raxl.checks import Case
from raxl.model import printable
from raxl.model.cluster import Cluster
from raxl.model.facts import NOT_READ, Facts, Reading
from raxl.model.node import Node
from raxl.model.policy import Policy
from raxl.model.problem import NOT_SUPPORTED
from raxl.recipe import fact_devices, fact_paths, fact_readings
from raxl.recipe.fact_devices import ABSENT
from raxl.recipe.fact_processes import UNLIMITED

__all__ = ["ABSENT", "UNLIMITED", "NodeFacts", "is_path"]


class NodeFacts:
    """One node's facts. What was asked is remembered with its answer."""

    def __init__(self, node: Node, facts: Facts, cluster_view: Cluster | None = None) -> None:
        """`cluster_view`: what Ray says of the cluster, where it was asked."""
        every = cluster_view.nodes if cluster_view else ()
        mine = next((one for one in every if one.node_id == node.ray_node_id), None)
        self.case = Case(node, facts, Policy(), mine, cluster_view)
        self._asked: dict[str, Reading] = {}

    @property
    def node(self) -> Node:
        """The node."""
        return self.case.node

    @property
    def asked(self) -> Mapping[str, Reading]:
        """Every path that was asked, with what was read, in the order of the asking."""
        return MappingProxyType(self._asked)

    def read(self, path: str) -> Reading:
        """The value at a path: a scalar, or a tuple of several; or why there is none."""
        if path not in self._asked:
            self._asked[path] = printable.record(self._read(path))
        return self._asked[path]

    def _read(self, path: str) -> Reading:
        parts = fact_paths.parse(path)
        if parts is None:
            return Reading(None, "nothing", NOT_SUPPORTED, f"{path} is no fact that raxl knows")
        if parts.root == "device_files":
            return fact_devices.device_files(self.case.facts.host.get("device_nodes", NOT_READ), parts)
        if parts.root in fact_paths.DEVICES:
            return fact_devices.read(self.node, parts)
        return fact_readings.READERS[parts.root](self.case, parts.field)


def is_path(text: str) -> bool:
    """Whether it names a fact, with or without filters."""
    return fact_paths.parse(text) is not None
