"""Dumps of what Ray says of its nodes: `ray.nodes()` as Python or JSON, `ray list nodes` and `ray get nodes` as JSON or
YAML, and `ray.cluster_resources()`, which names addresses alone.

https://docs.ray.io/en/latest/ray-core/api/doc/ray.nodes.html
https://docs.ray.io/en/latest/ray-observability/reference/doc/ray.util.state.common.NodeState.html
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake import yaml_events
from raxl.intake.foreign import Foreign
from raxl.model.cluster import ALIVE, DEAD, IDLE, PREEMPTED, TERMINATED, UNEXPECTED
from raxl.model.problem import FAILED, Problem

FORM = "ray nodes"
_OF_PYTHON = re.compile(r"\{\s*['\"](?:NodeID|node_id)['\"]\s*:")
_DOCUMENTS = re.compile(r"^---[ \t\r]*$", re.MULTILINE)
_YAML_NODE = re.compile(r"^[ \t-]*node_id[ \t]*:[ \t]*['\"]?[0-9a-f]{56}['\"]?[ \t\r]*$", re.MULTILINE)
_TOTALS = re.compile(r"\{[^{}]*['\"]node:[^{}]*\}")
_PREFIX = re.compile(r"^\([\w.:-]+ pid=\d+(?:, ip=[\w.:]+)?\)[ \t]?", re.MULTILINE)
"""What Ray puts before a line that a task printed."""
_LONGEST, _MOST, _LARGEST = 1 << 16, 10_000, 1e18
_OTHERS = "node:"
_HEAD = "node:__internal_head__"
_DEATHS = {
    "Expected termination": TERMINATED,
    "Unexpected termination": UNEXPECTED,
    "Terminated due to preemption": PREEMPTED,
    "Terminated due to idle": IDLE,
}
"""`compose_state_message` in `ray/dashboard/utils.py`."""


def recognises(text: str) -> bool:
    """Whether a record of one of Ray's nodes is in it."""
    return bool(_OF_PYTHON.search(text) or _YAML_NODE.search(text) or _totals(text))


def own(text: str) -> str:
    """A line of JSON for each node, as raxl's own recordings have it; the last one may tell damage."""
    return "\n".join(json.dumps(one) for one in _without_restarted([*_nodes(_PREFIX.sub("", text))]))


def machines(text: str) -> list[str]:
    """A text for each node: its line, and what of the dump was damaged after it."""
    found: list[str] = []
    for line in text.splitlines():
        if found and "damage" in json.loads(line):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found or [text]


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The name of the node; what Ray says of it is read by whoever reads a recording of a cluster."""
    told = view(text)
    damaged = [line["damage"] for line in _lines(text) if "damage" in line]
    problems = tuple(Problem("node", FAILED, words, (FORM,)) for words in damaged)
    return Foreign(FORM, hostname=told.get("name") or told.get("address")), problems


def view(text: str) -> Mapping[str, Any]:
    """What Ray says of the node whose line comes first; empty where that one could not be read."""
    return next((line for line in _lines(text)[:1] if "damage" not in line), {})


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _nodes(text: str) -> Iterator[dict[str, Any]]:
    places = [match.start() for match in _OF_PYTHON.finditer(text)][:_MOST]
    if places:
        for place, after in zip(places, [*places[1:], len(text)]):
            yield _of_record(_literal(text[place : min(after, place + _LONGEST)]))
        if re.search(r",[ \t]*\{?['\"]?[ \t\r\n]*$", text[places[-1] :]):
            yield {"damage": "the dump ends early: a further node was begun"}
    elif _YAML_NODE.search(text):
        for part in _DOCUMENTS.split(text)[:_MOST]:
            if _YAML_NODE.search(part):
                tree = yaml_events.read(part)
                yield from map(_of_record, tree.value if isinstance(tree.value, list) else [tree.value])
                if tree.damage:
                    yield {"damage": f"the dump is damaged: {tree.damage}"}
    else:
        yield from _of_totals(_totals(text))


def _without_restarted(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the dead whose address a node has that is alive: their raylets were started again."""
    alive = {one["address"] for one in told if one.get("state") == ALIVE}
    return [one for one in told if one.get("state") != DEAD or one["address"] is None or one["address"] not in alive]


def _literal(text: str) -> Any:
    """The mapping at the beginning of a text, Python's or JSON's; None where it is cut off."""
    depth, quote, place = 0, "", 0
    while place < len(text):
        character = text[place]
        if quote:
            if character == "\\":
                place += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if not depth:
                return _evaluated(text[: place + 1])
        place += 1
    return None


def _evaluated(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _of_record(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {"damage": "the record of a node cannot be read: it is cut off, or no mapping"}
    get = record.get
    node_id = get("NodeID") or get("node_id")
    if not isinstance(node_id, str):
        return {"damage": "a record names no node"}
    resources = _mapping(get("Resources") or get("resources_total"))
    alive = get("Alive") if isinstance(get("Alive"), bool) else str(get("state")).upper() == "ALIVE"
    head = get("is_head_node")
    return {
        "node_id": node_id,
        "state": ALIVE if alive else DEAD,
        "name": get("NodeManagerHostname") or get("NodeName") or get("node_name"),
        "address": get("NodeManagerAddress") or get("node_ip"),
        "is_head": head in (True, "true") if head is not None else (_HEAD in resources or None),
        "reason": get("DeathReasonMessage") or get("state_message") or None,
        "death": None if alive else _death(get("DeathReason"), get("state_message")),
        "resources": _registered(resources),
        "labels": _mapping(get("Labels") or get("labels")),
    }


def _registered(resources: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: number
        for name, amount in resources.items()
        if not name.startswith(_OTHERS) and (number := _amount(amount)) is not None
    }


def _death(told: Any, message: Any) -> str | int | None:
    """What `ray.nodes()` tells of it, else how the state API's message begins."""
    if isinstance(told, (str, int)):
        return told
    return next((death for words, death in _DEATHS.items() if str(message).startswith(words)), None)


def _amount(told: Any) -> float | None:
    """A finite number; YAML gives words."""
    if isinstance(told, bool) or not isinstance(told, (int, float, str)):
        return None
    try:
        number = float(told)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < _LARGEST else None


def _mapping(told: Any) -> dict[str, Any]:
    return {str(name): value for name, value in told.items()} if isinstance(told, dict) else {}


def _totals(text: str) -> Mapping[str, Any]:
    """The mapping of `ray.cluster_resources()` in a text; empty where there is none."""
    for match in _TOTALS.finditer(text[:_LONGEST]):
        found = _evaluated(match[0].replace("\n", " "))
        if isinstance(found, dict) and isinstance(found.get("CPU"), (int, float)):
            return {str(name): value for name, value in found.items()}
    return {}


def _of_totals(totals: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes that the totals name. Those of a cluster of one node are that node's; of several, nothing says which
    has what."""
    names = [name.removeprefix(_OTHERS) for name in totals if name.startswith(_OTHERS)]
    addresses = [name for name in names if not name.startswith("__")]
    own = {"resources": _registered(totals), "is_head": _HEAD in totals or None} if len(addresses) == 1 else {}
    for address in addresses:
        yield {"node_id": address, "state": ALIVE, "name": address, "address": address, **own}
