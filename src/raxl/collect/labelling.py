"""The root of `raxl.labels/v1`: the labels of every node of an inventory, and how the cluster's own differ."""

from __future__ import annotations

from raxl import __version__
from raxl.errors import CannotStart
from raxl.model import printable
from raxl.model.inventory import Inventory
from raxl.model.label import DIFFERS, LabelsDocument
from raxl.model.problem import UNREAD
from raxl.model.schemas import LABELS
from raxl.topology import label_check, labels


def document(inventory: Inventory, check: bool = False) -> LabelsDocument:
    """What the nodes should carry; with `check`, what their raylets carry otherwise.

    Raises CannotStart for a check of an inventory that holds no cluster.
    """
    cluster = inventory.cluster
    nodes = tuple(labels.of_node(node, cluster) for node in inventory.nodes)
    if check:
        if cluster is None or not cluster.nodes:
            why = "what was read tells no labels that Ray's nodes carry"
            raise CannotStart("there is no cluster to check against", why, "Check a running cluster, or its recording")
        silent = [
            node.ray_node_id or ""
            for node in inventory.nodes
            if any(problem.subject == "node" and problem.reason in UNREAD for problem in node.problems)
        ]
        nodes = label_check.checked(nodes, cluster, silent)
    last = sorted(nodes, key=lambda node: bool(node.is_head))
    restart = tuple(node.node for node in last if node.check is not None and node.check.status == DIFFERS)
    made: LabelsDocument = printable.record(LabelsDocument(LABELS, __version__, inventory.created, nodes, restart))
    return made
