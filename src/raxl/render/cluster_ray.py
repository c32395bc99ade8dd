"""Ray's view of a cluster in a few lines: who answered, what is registered, which nodes lack their domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.model.cluster import IDLE, PREEMPTED, TERMINATED
from raxl.model.printable import clean
from raxl.render.cluster_gaps import advice
from raxl.render.naming import counted
from raxl.render.node_names import node_ranges, nodes_called, short
from raxl.render.text import Line, Page

if TYPE_CHECKING:
    from raxl.topology.overview import Overview
    from raxl.topology.ray_registered import RayHeld, Registered

LABEL = "Ray’s view"
_MOST = 6
_MOST_SILENT = 4
_LONGEST_REASON = 100
_LABEL = "ray.io/gpu-domain"
_NEXT = "raxl labels --cluster"
_DEPARTURES = {TERMINATED: "stopped", IDLE: "drained, idle", PREEMPTED: "drained, preempted"}


def head(page: Page, view: Overview) -> list[Line]:
    """`ray 2.60.0 · 26 nodes, 24 answered · 2 did not (gpu-11: no answer in 20 s; gpu-19: …)`."""
    lead = f"ray {clean(view.ray_version)} · " if view.ray_version else ""
    verb, did = ("answered", "did not") if view.is_cluster else ("read", "could not be")
    words = f"{lead}{counted(view.total, 'node')}"
    if not view.total:
        lines = page.fold(words, 3)
    elif not view.silent:
        lines = page.fold(f"{words}, all {verb}" if view.is_cluster else words, 3)
    else:
        by_cause: dict[str, list[str]] = {}
        for name, why in view.silent:
            by_cause.setdefault(_briefly(why), []).append(name)
        causes = [(_called(names), why, len(names)) for why, names in by_cause.items()]
        told = "; ".join(f"{names}: {why}" for names, why, _ in causes[:_MOST_SILENT])
        rest = sum(number for *_, number in causes[_MOST_SILENT:])
        more = f"; {rest} more" if rest else ""
        count = len(view.silent)
        lines = page.fold(f"{words}, {view.total - count} {verb} · {count} {did} ({told}{more})", 3, "warn")
    return [*lines, *_draining(page, view), *_left(page, view)]


def _called(names: Sequence[str]) -> str:
    return short(names[0]) if len(names) == 1 else node_ranges(names)


def _briefly(why: str) -> str:
    """The reason without what it lists at length."""
    shown = clean(why)
    return shown if len(shown) <= _LONGEST_REASON else f"{shown[:_LONGEST_REASON].rsplit(' ', 1)[0]} …"


def ray_lines(view: Overview) -> list[str]:
    """What Ray registered, against what works; without a cluster, what Ray would register where that is wrong."""
    if view.ray is None:
        told = [words.replace(": Ray would ", ": would ", 1) for words in advice(view.read)]
        return told if len(told) <= _MOST else [*told[: _MOST - 1], f"{len(told) - _MOST + 1} more: raxl discover"]
    lines = []
    for resource, by_device in dict.fromkeys((one.resource, one.is_by_device) for one in view.ray.resources):
        mine = [one for one in view.ray.resources if (one.resource, one.is_by_device) == (resource, by_device)]
        notable = [one for one in mine if not one.is_right or one.unknown]
        number = sum(one.registered for one in mine)
        words = f"{number:g} {resource} registered, {_working(mine)}"
        lines.append(words if not notable else f"{words}: {_differing(notable)}")
    return [*lines, *_domains(view.ray)]


def _working(found: Sequence[Registered]) -> str:
    """`8 work, 8 not known`; `16 devices work` where the resource counts another unit."""
    number = sum(one.working for one in found)
    noun, verb = (
        ("", "work") if found[0].is_by_device else (" device", "works") if number == 1 else (" devices", "work")
    )
    return f"{number}{noun} {verb}{_unknown(sum(one.unknown for one in found))}"


def _unknown(count: int) -> str:
    return f", {count} not known" if count else ""


def _differing(found: Sequence[Registered]) -> str:
    told: dict[str, list[str]] = {}
    for one in sorted(found, key=lambda one: one.is_right):
        has = str(one.working) if one.is_by_device else counted(one.working, "device")
        told.setdefault(f"registered {one.registered:g}, has {has}{_unknown(one.unknown)}", []).append(one.node)
    words = [f"{nodes_called(names)} {text}{' each' if len(names) > 1 else ''}" for text, names in told.items()]
    return "; ".join(words[:_MOST]) + (f"; {len(words) - _MOST} more" if len(words) > _MOST else "")


def _domains(held: RayHeld) -> list[str]:
    lines = []
    if held.wrong:
        lines.append(f"{nodes_called([node.name for node in held.wrong])}: a {_LABEL} that is not theirs: {_NEXT}")
    if held.lacking:
        who = "no node" if held.is_told_none else nodes_called([node.name for node in held.lacking])
        verb = "has" if held.is_told_none else "lacks" if len(held.lacking) == 1 else "lack"
        lines.append(f"{who} {verb} {_LABEL}: {_NEXT}")
    return lines


def _draining(page: Page, view: Overview) -> list[Line]:
    if not view.draining:
        return []
    names = node_ranges([one.name or one.node_id for one in view.draining])
    reasons = dict.fromkeys(clean(one.reason) for one in view.draining if one.reason)
    why = f" ({'; '.join(list(reasons)[:_MOST_SILENT])})" if reasons else ""
    return page.fold(f"draining: {names}{why}", 3, "warn", lead=("   ", ""))


def _left(page: Page, view: Overview) -> list[Line]:
    """`left: gpu-04 (stopped: received SIGTERM), gpu-05–09 (idle)`: somebody wanted so."""
    by_cause: dict[str, list[str]] = {}
    for one in view.left:
        word, reason = _DEPARTURES.get(one.death or "", ""), _briefly(one.reason or "")
        by_cause.setdefault(": ".join(filter(None, (word, reason))), []).append(one.name or one.address or one.node_id)
    told = [f"{_called(list(dict.fromkeys(names)))} ({why})" for why, names in by_cause.items()]
    rest = sum(map(len, list(by_cause.values())[_MOST_SILENT:]))
    more = f"; {rest} more" if rest else ""
    return page.fold(f"left: {'; '.join(told[:_MOST_SILENT])}{more}", 3, lead=("   ", "")) if told else []
