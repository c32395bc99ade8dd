"""`kubectl get nodes -o json` and `-o yaml`: where each node stands, by its labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake import placed_hosts, yaml_events
from raxl.intake.foreign import Foreign
from raxl.intake.placed_hosts import Record, inner
from raxl.model.problem import Problem
from raxl.sources import json_text, node_labels

FORM = "kubectl get nodes"
_MARK = re.compile(r'"kind"\s*:\s*"(?:Node|NodeList)"|^[ \t-]*kind:[ \t]*(?:Node|NodeList)[ \t]*\r?$', re.MULTILINE)
_START = re.compile(r"^apiVersion:", re.MULTILINE)
_HOSTNAME = "kubernetes.io/hostname"


def recognises(text: str) -> bool:
    """Whether a Node is in it."""
    return _MARK.search(text) is not None and any(True for _ in _records(text))


def is_empty(text: str) -> bool:
    """Whether it is a list of kubectl's without an entry."""
    found = [value for value, _ in _documents(text)]
    return bool(found) and all(value.get("items") == [] for value in found)


def own(text: str) -> str:
    """A line a node: its name, its cloud, and the labels that are read."""
    return placed_hosts.lines([_line(record) for record in _records(text)])


machines = placed_hosts.machines


def _line(record: Record) -> Record:
    """The record as a Node again, which this module reads like any."""
    labels, cloud = record.said["labels"], record.said["provider"]
    return record._replace(
        said={
            "kind": "Node",
            "metadata": {"labels": labels},
            "spec": {"providerID": next((f"{one}:" for one, name in _SCHEMES.items() if name == cloud), None)},
        }
    )


_SCHEMES = {"aws": "aws", "gce": "gcp", "azure": "azure", "oci": "oci"}


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Where the first node stands."""
    records = list(_records(text))
    said = records[0].said if records else {}
    placements = node_labels.placements(said["labels"], said["provider"]) if said else ()
    return placed_hosts.foreign(FORM, records, placements)


def _records(text: str) -> Iterator[Record]:
    """Each Node: its labels, as far as they are read, and its cloud."""
    for value, damage in _documents(text):
        items = value.get("items")
        for node in items if isinstance(items, list) else [value]:
            if not isinstance(node, dict) or node.get("kind") not in ("Node", None):
                continue
            metadata = inner(node, "metadata")
            labels = inner(metadata, "labels")
            name = placed_hosts.host_of(node) or labels.get(_HOSTNAME) or metadata.get("name")
            if not isinstance(name, str) or not name or (node.get("kind") is None and not labels):
                continue
            cloud = node_labels.provider(labels, inner(node, "spec").get("providerID"))
            said = {"labels": node_labels.kept(labels), "provider": cloud}
            told = node.get(placed_hosts.DAMAGE, damage)
            yield Record(name, said, told if isinstance(told, str) else None)


def _documents(text: str) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    found = [one for one in json_text.documents(text) if isinstance(one.value, dict) and _is_kind(one.value)]
    if found:
        yield from ((one.value, one.damage) for one in found)
    elif start := _START.search(text):
        tree = yaml_events.read(text[start.start() :])
        if isinstance(tree.value, dict) and _is_kind(tree.value):
            yield tree.value, tree.damage


def _is_kind(value: Mapping[str, Any]) -> bool:
    return value.get("kind") in ("Node", "NodeList", "List")
