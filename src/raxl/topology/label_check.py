"""Nodes held against the labels that their raylets were started with."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from raxl.model.cluster import DEAD, Cluster, RayNode
from raxl.model.label import (
    ACCELERATOR_TYPE,
    DIFFERS,
    KEYS,
    NO_ANSWER,
    NOT_IN_CLUSTER,
    SAME,
    Check,
    Difference,
    NodeLabels,
    Unlabelled,
)
from raxl.model.problem import NOT_ASKED, UNREAD

_PORT = 6379
"""Where a head listens unless `ray start --port` says otherwise."""
_RAYS = "ray.io/"
_NO_ACCELERATOR = ("raxl/accelerators", "0")
_NOTHING = {_NO_ACCELERATOR, ("raxl/scale-up", "none")}
"""What a node without accelerators is labelled with."""


def checked(nodes: Sequence[NodeLabels], cluster: Cluster, silent: Sequence[str]) -> tuple[NodeLabels, ...]:
    """The nodes with what their raylets carry otherwise. `silent`: the ids of Ray's nodes that gave no answer.

    A node that is alive in Ray and of which there is no inventory stands at the end.
    """
    ray = {one.node_id: one for one in cluster.nodes if one.state != DEAD}
    head = next((one.address for one in cluster.nodes if one.is_head and one.state != DEAD), None)
    found = [replace(node, check=_check(node, ray.get(node.ray_node_id or ""), head, silent)) for node in nodes]
    seen = {node.ray_node_id for node in nodes}
    rest = [
        NodeLabels(
            one.name or one.node_id, f"ray:{one.node_id}", one.node_id, is_head=one.is_head, check=Check(NO_ANSWER)
        )
        for one in ray.values()
        if one.node_id not in seen
    ]
    return (*found, *rest)


def _check(node: NodeLabels, mine: RayNode | None, head: str | None, silent: Sequence[str]) -> Check:
    if mine is None:
        return Check(NOT_IN_CLUSTER)
    if mine.node_id in silent:
        return Check(NO_ANSWER)
    if _is_bare(node, mine):
        return Check(SAME)
    differences = tuple(sorted(_differences(node, mine.labels), key=lambda one: KEYS.index(one.key)))
    unchecked = tuple(one.key for one in node.unlabelled if one.key in mine.labels and _is_open(one))
    command = _command(node, mine, head) if differences else None
    return Check(DIFFERS if differences else SAME, differences, unchecked, command)


def _is_bare(node: NodeLabels, mine: RayNode) -> bool:
    """Whether all that is to be said is that there are no accelerators, and the raylet says nothing of them."""
    told = {(one.key, one.value) for one in node.labels}
    return _NO_ACCELERATOR in told and told <= _NOTHING and not mine.labels.keys() & set(KEYS)


def _differences(node: NodeLabels, carried: Mapping[str, str]) -> Iterator[Difference]:
    for label in node.labels:
        if carried.get(label.key) != label.value:
            yield Difference(label.key, label.value, carried.get(label.key), label.message)
    for one in node.unlabelled:
        found = carried.get(one.key)
        if one.ray_gives is not None:
            if found != one.ray_gives:
                yield Difference(one.key, one.ray_gives, found, one.message)
        elif found is not None and not _is_open(one):
            yield Difference(one.key, None, found, one.message)


def _is_open(one: Unlabelled) -> bool:
    """Whether what the raylet carries may be right: nobody knows better."""
    if one.ray_gives is not None:
        return False
    return one.reason in (*UNREAD, NOT_ASKED) or one.key == ACCELERATOR_TYPE


def _command(node: NodeLabels, mine: RayNode, head: str | None) -> str:
    """`ray stop && ray start --address=10.0.0.1:6379 --labels=…`, with the labels of others that it carries."""
    wanted = {key: value for key, value in mine.labels.items() if key not in KEYS and not key.startswith(_RAYS)}
    wanted |= {one.key: one.value for one in node.labels}
    wanted |= {one.key: mine.labels[one.key] for one in node.unlabelled if _kept(one, mine)}
    labels = ",".join(f"{key}={value}" for key, value in wanted.items())
    address = f"[{head}]" if head and ":" in head else head or "HEAD"
    to = "--head" if mine.is_head else shlex.quote(f"--address={address}:{_PORT}")
    given = [shlex.quote(f"--labels={labels}")] if labels else []
    return " ".join(["ray stop && ray start", to, *given])


def _kept(one: Unlabelled, mine: RayNode) -> bool:
    return one.key in mine.labels and one.key != ACCELERATOR_TYPE and _is_open(one)
