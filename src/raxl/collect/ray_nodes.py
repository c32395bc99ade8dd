"""Ray's own view of a node and its cluster, as the node's recording holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raxl.host import Question
from raxl.host.record import Recording
from raxl.intake import ray_dump
from raxl.model.cluster import ALIVE, DEAD, DEATHS, DRAINING, Cluster, RayNode
from raxl.model.problem import FAILED, Problem

VIEW, WHOLE = Question("ray", "node"), Question("ray", "cluster")
DUMP = Question("document", ray_dump.FORM)


def view(recording: Recording) -> RayNode | None:
    """What Ray says of the node; None for a machine that was not reached through Ray. A recording may be edited."""
    told = _mapping(recording.answers.get(VIEW)) or _dumped(recording)
    if not isinstance(told.get("node_id"), str):
        return None
    state = told.get("state")
    return RayNode(
        node_id=told["node_id"],
        state=state if state in (ALIVE, DRAINING, DEAD) else DEAD,
        name=_word(told.get("name")),
        address=_word(told.get("address")),
        is_head=told["is_head"] if isinstance(told.get("is_head"), bool) else None,
        reason=_word(told.get("reason")),
        death=_death(told.get("death")),
        resources={name: float(amount) for name, amount in _pairs(told.get("resources")) if _is_number(amount)},
        labels={name: text for name, text in _pairs(told.get("labels")) if isinstance(text, str)},
    )


class Seen(NamedTuple):
    """What one recording holds of it."""

    node: RayNode | None
    whole: Mapping[str, Any]
    has_left: bool
    """Whether Ray says that the node was taken away, and nothing was read of it."""


def seen(recording: Recording) -> Seen:
    """Ray's view of the node, and what it says of the whole cluster."""
    mine = view(recording)
    has_left = mine is not None and mine.has_left and _is_all(recording)
    return Seen(mine, _mapping(recording.answers.get(WHOLE)), has_left)


def present(recordings: Sequence[Recording]) -> list[Recording]:
    """Without the nodes that have left: Ray's view of the cluster alone names them."""
    return [one for one in recordings if not seen(one).has_left]


def missed(recording: Recording, mine: RayNode | None) -> tuple[Problem, ...]:
    """That a node of a dump is dead, where nothing else was read of it."""
    if mine is None or mine.state != DEAD or DUMP not in recording.answers or not _is_all(recording):
        return ()
    return (Problem("node", FAILED, f"dead: {mine.reason or 'Ray does not say why'}", (ray_dump.FORM,)),)


def _is_all(recording: Recording) -> bool:
    """Whether the recording holds what Ray says and nothing that was read of the node itself."""
    return recording.answers.keys() <= {VIEW, WHOLE, DUMP} and not recording.is_composed


def cluster(held: Sequence[Seen]) -> Cluster | None:
    """What Ray says of the cluster whose nodes these are; None where none of them is a node of one."""
    views = {one.node.node_id: one.node for one in reversed(held) if one.node is not None}  # the first of one node
    if not views:
        return None
    whole: Mapping[str, Any] = next((one.whole for one in held if one.whole), {})
    numbers = {name: whole[name] for name in ("nodes_alive", "nodes_dead") if isinstance(whole.get(name), int)}
    return Cluster(
        ray_version=_word(whole.get("ray_version")),
        python_version=_word(whole.get("python_version")),
        nodes=tuple(sorted(views.values(), key=lambda one: one.node_id)),
        **numbers,
    )


def _dumped(recording: Recording) -> Mapping[str, Any]:
    """The same of a dump that was pasted; empty for none."""
    dump = recording.answers.get(DUMP)
    return ray_dump.view(dump.value) if dump is not None and dump.known else {}


def _mapping(answer: Any) -> Mapping[str, Any]:
    return answer.value if answer is not None and isinstance(answer.value, dict) else {}


def _pairs(told: Any) -> Sequence[tuple[str, Any]]:
    return sorted((str(name), value) for name, value in told.items()) if isinstance(told, dict) else ()


def _word(told: Any) -> str | None:
    return told if isinstance(told, str) and told else None


def _death(told: Any) -> str | None:
    """By its number, which `ray.nodes()` may give, or by its name."""
    if isinstance(told, int) and 0 <= told < len(DEATHS):
        return DEATHS[told]
    return _word(told)


def _is_number(told: Any) -> bool:
    return isinstance(told, (int, float)) and not isinstance(told, bool)
