"""Labels for Kubernetes: a patch of a RayCluster, and commands that label its Nodes.

KubeRay (1.5 or newer) starts the raylets of a group with the group's top-level `labels`; `rayStartParams.labels` is
refused: https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/label-based-scheduling.html
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from raxl.model.label import LabelsDocument, NodeLabels
from raxl.render.label_files import comment, no_answer, pairs
from raxl.render.text_labels import named

HEAD = "headgroup"
"""What KubeRay calls the head's group."""
_SHAPE = "raxl/shape"
_NODE_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names"""


def kuberay(document: LabelsDocument) -> str:
    """The part of a RayCluster's spec that labels its groups: what all nodes of a group share.

    A group is Ray's own (`ray.io/node-group`) where Ray was asked, else the nodes of one shape.
    """
    groups: dict[tuple[str | None, str | None], list[NodeLabels]] = {}
    for node in document.nodes:
        if node.labels:
            group = HEAD if node.is_head else node.group
            groups.setdefault((group, None if group else _value(node, _SHAPE)), []).append(node)
    lines = [
        comment("For the manifest of the RayCluster: KubeRay 1.5 or newer, the labels field of the group itself."),
        comment("rayStartParams.labels is refused. Pods keep their labels: delete a group's pods after the change."),
        comment("kubectl patch --type=merge would replace the whole list of groups: put the labels into the manifest."),
    ]
    heads = [nodes for (group, _), nodes in groups.items() if group == HEAD]
    lines += [*(no_answer(node) for node in document.nodes if node.refusal), "spec:"]
    workers = [(group, nodes) for (group, _), nodes in groups.items() if group != HEAD]
    for nodes in heads:
        lines += ["  headGroupSpec:", *_labels(nodes, "    ")]
    if workers:
        lines.append("  workerGroupSpecs:")
    for group, nodes in workers:
        named = json.dumps(group) if group else '"GROUP"  # its name'
        lines += [f"    - groupName: {named}", *_labels(nodes, "      ")]
    return "\n".join(lines if groups else [*lines[:-1], "spec: {}"]) + "\n"


def _labels(nodes: Sequence[NodeLabels], indent: str) -> list[str]:
    """The labels that all nodes of a group share; what they do not share is named."""
    shared = {one.key: one.value for one in nodes[0].labels}
    every = dict.fromkeys(one.key for node in nodes for one in node.labels)
    for node in nodes[1:]:
        own = {one.key: one.value for one in node.labels}
        shared = {key: value for key, value in shared.items() if own.get(key) == value}
    lines = [indent + comment(f"nodes: {named(nodes)}")]
    apart = [key for key in every if key not in shared]
    if apart:
        lines.append(indent + comment(f"not shared by all of them, hence no label of the group: {', '.join(apart)}"))
    within = pairs(shared, f"{indent}  ")
    return [*lines, f"{indent}labels:", *within] if shared else [*lines, f"{indent}labels: {{}}"]


def k8s(document: LabelsDocument) -> str:
    """`kubectl label --overwrite node NAME key=value …`, a line a node; a name that no Node has is told."""
    lines = []
    for node in document.nodes:
        name = node.node.lower()
        if not _NODE_NAME.fullmatch(name):
            lines.append(comment(f"{node.node}: no Node of Kubernetes can be called so"))
        elif node.labels:
            words = [f"{one.key}={one.value}" for one in node.labels]
            lines.append(shlex.join(["kubectl", "label", "--overwrite", "node", name, *words]))
        else:
            lines.append(no_answer(node) if node.refusal else comment(f"{node.node}: no label"))
    return "".join(f"{line}\n" for line in lines)


def _value(node: NodeLabels, key: str) -> str | None:
    return next((one.value for one in node.labels if one.key == key), None)
