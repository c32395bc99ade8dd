"""The labels of a node: what the scheduler may go by, and why it cannot go by the rest.

What is not known has no label. A device that is lost, that its driver does not list or that is given to a virtual
machine counts nowhere: a scheduler is promised nothing that does not answer. Where it could not be read whether a
device works, vendor, model, count, memory, type and shape are not told at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from raxl.model.cluster import Cluster
from raxl.model.label import KEYS, Label, NodeLabels, Unlabelled
from raxl.model.node import Node
from raxl.model.problem import NOT_ASKED
from raxl.topology import label_devices, label_domain, label_links, rails
from raxl.topology.label_devices import Told, label, place_label
from raxl.topology.reasons import Why, unread, why
from raxl.topology.shape import shape
from raxl.topology.working import Fleet, fleet

GROUP = "ray.io/node-group"
"""Ray takes it from RAY_NODE_TYPE_NAME, which KubeRay and the autoscaler set."""


def of_node(node: Node, cluster: Cluster | None = None) -> NodeLabels:
    """What this node should carry; of a cluster, the node's group too."""
    refused, found = unread(node, "node", "recording"), fleet(node)
    told = [refused.unlabelled(key) for key in KEYS] if refused else list(_told(node, found))
    told.sort(key=lambda one: KEYS.index(one.key))
    mine = next((one for one in cluster.nodes if one.node_id == node.ray_node_id), None) if cluster else None
    return NodeLabels(
        node=node.name,
        source=node.source,
        ray_node_id=node.ray_node_id,
        group=mine.labels.get(GROUP) if mine else None,
        is_head=mine.is_head if mine else None,
        labels=tuple(one for one in told if isinstance(one, Label)),
        unlabelled=tuple(one for one in told if isinstance(one, Unlabelled)),
        not_counted=found.out,
    )


def _told(node: Node, found: Fleet) -> Iterator[Told]:
    yield label_domain.gpu_domain(node, found)
    yield label_devices.accelerator_type(node, found)
    yield from label_devices.inventory(node, found)
    yield from label_links.between(node, found)
    yield from label_links.to_nics(node, found)
    yield from _places(node)
    yield label_devices.driver(node, found)
    alike = shape(node, found)
    if isinstance(alike, Why):
        yield alike.unlabelled("raxl/shape")
    else:
        yield label("raxl/shape", alike, "equal for nodes that are built alike", label_devices.seen_by(found.working))


def _places(node: Node) -> Iterator[Told]:
    place = node.placement
    for name, value in (("rack", place.rack), ("block", place.block), ("slice", place.slice)):
        if value:
            yield place_label(f"raxl/{name}", value, place.provider or "placement", place.evidence)
        else:
            subjects = (f"placement.{name}", "placement")
            yield why(node, *subjects, otherwise="no platform was asked").unlabelled(f"raxl/{name}")
    wired = "its rails are known by their place in the node: nothing that was read says to which leaf each is wired"
    own = rails.rails([node])
    yield Unlabelled("raxl/rail-group", NOT_ASKED, wired if own else "nothing that raxl reads names one")
