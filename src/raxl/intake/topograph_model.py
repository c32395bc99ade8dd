"""A model of a cluster as Topograph's simulation reads it, YAML: a tree of switches, and blocks of nodes below them.

https://github.com/NVIDIA/topograph (`tests/models`)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake import placed_hosts, yaml_events
from raxl.intake.foreign import Foreign
from raxl.intake.placed_hosts import Record, inner
from raxl.model.placement import Placement
from raxl.model.problem import Problem
from raxl.sources import hostlist, node_labels

FORM = "topograph model"
_SWITCHES = re.compile(r"^switches:[ \t]*\r?$", re.MULTILINE)
_BLOCKS = re.compile(r"^blocks:[ \t]*\r?$", re.MULTILINE)
_NODES = re.compile(r"^[ \t]+nodes:", re.MULTILINE)
_ABOVE = ("region", "zone")
_DOMAIN = "/domain"
_MOST_TIERS = 32


def recognises(text: str) -> bool:
    """Whether switches and blocks with nodes stand in it."""
    return all(part.search(text) for part in (_SWITCHES, _BLOCKS, _NODES))


def own(text: str) -> str:
    """A line a node: its block's switch and NVLink domain, and what the switches above it say."""
    return placed_hosts.lines(list(_of_yaml(text)))


machines = placed_hosts.machines


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Where the first node stands."""
    records = list(placed_hosts.read(text))
    said = placed_hosts.texts(records[0].said, ("block", "fabric_domain", *_ABOVE)) if records else {}
    return placed_hosts.foreign(FORM, records, [Placement(evidence=(node_labels.TOPOGRAPH,), **said)])


def _of_yaml(text: str) -> Iterator[Record]:
    found = _SWITCHES.search(text)
    tree = yaml_events.read(text[found.start() :] if found else "")
    model = tree.value if isinstance(tree.value, dict) else {}
    switches, blocks = inner(model, "switches"), model.get("blocks")
    above = {
        child: name
        for name, switch in switches.items()
        if isinstance(switch, dict) and isinstance(switch.get("switches"), list)
        for child in switch["switches"]
        if isinstance(child, str)
    }
    seen: set[str] = set()
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, dict) or not isinstance(block.get("nodes"), list):
            continue
        said = {**_labels(block.get("switch"), switches, above), **_of_block(block)}
        for node in (name for listed in block["nodes"] if isinstance(listed, str) for name in hostlist.names(listed)):
            if node not in seen and len(seen) < placed_hosts.MOST_HOSTS:
                seen.add(node)
                yield Record(node, said, tree.damage)


def _of_block(block: Mapping[str, Any]) -> dict[str, str]:
    notes = inner(block, "annotations")
    domain = next((value for name, value in notes.items() if name.endswith(_DOMAIN) and isinstance(value, str)), None)
    told = {"block": block.get("switch"), "fabric_domain": domain}
    return {name: value for name, value in told.items() if isinstance(value, str) and value}


def _labels(switch: Any, switches: Mapping[str, Any], above: Mapping[str, str]) -> dict[str, str]:
    """Region and zone, as the nearest switch above says them."""
    said: dict[str, str] = {}
    for _ in range(_MOST_TIERS):
        if not isinstance(switch, str):
            break
        labels = inner(inner(switches, switch), "labels")
        for place in node_labels.placements(labels):
            said = {**{name: value for name in _ABOVE if (value := getattr(place, name))}, **said}
        switch = above.get(switch)
    return said
