"""The fault table: what came when an end died, and what stayed behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

from raxl.model import measurement as m
from raxl.model.measurement import Fault, Left
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_units import about, duration, size, unbroken
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.text import Line, Page, Span
from raxl.render.unknown import INAPPLICABLE, REMARK, UNKNOWN

_COLUMNS = (
    Column("FAULT"),
    Column("TRANSPORT", least=14),
    Column("PAIR", rank=3, least=20),
    Column("SIZE", rank=4, right=True),
    Column("ERROR IN", right=True),
    Column("OTHER END", rank=1),
    Column("LEFT BEHIND", rank=2, least=16),
    Column("NEXT", least=6),
    Column("WHAT CAME", least=16),
)
_MOST_REMARKS = 6
_BUFFER = 0.25
_OTHER_ENDS = {"alive": "", "": "", "hangs": "the other end hangs", "unknown": "of the other end nothing is known"}


def faults(page: Page, found: Sequence[Fault]) -> list[Line]:
    """A row for each fault; those without an error and those that took others along first. What could not be tried is
    told below, by its reason."""
    return [*_tried(page, tried(found)), *_not_tried(page, [one for one in found if one.status != m.OK])]


def tried(found: Sequence[Fault]) -> list[Fault]:
    """Those that were done."""
    return [one for one in found if one.status == m.OK]


def _not_tried(page: Page, found: Sequence[Fault]) -> list[Line]:
    reasons: dict[str, list[str]] = {}
    for one in found:
        reasons.setdefault(clean(one.error).strip().rstrip(".") or "no reason given", []).append(one.transport)
    if not reasons:
        return []
    told = [
        f"{', '.join(map(bench_names.transport, dict.fromkeys(transports)))}: {why}"
        for why, transports in reasons.items()
    ]
    return page.fold(f"not tried  {'; '.join(told)}", 3, "dim", (f"{UNKNOWN}  ", "dim"))


def _tried(page: Page, found: Sequence[Fault]) -> list[Line]:
    if not found:
        return []
    ranked = sorted(found, key=lambda one: -badness(one))
    pairs = {bench_names.way(one.source, one.target) for one in found}
    sizes = {size(one.size_bytes) for one in found}
    # What is the same in all rows stands in the heading.
    common = [next(iter(told)) for told in (pairs, sizes) if len(told) == 1]
    rows = [_row(one, has_pair=len(pairs) > 1, has_size=len(sizes) > 1) for one in ranked]
    lines = [
        *page.fold(unbroken(", ".join(["when an end dies", *common])), style="bold"),
        *lay_out(page, _COLUMNS, rows, refill=True),
    ]
    for one in [one for one in ranked if badness(one)][:_MOST_REMARKS]:
        subject = f"{bench_names.transport(one.transport)}, {clean(one.kind)}"
        lines += page.fold(f"{subject}: {_told(one)}", 3, lead=(f"{REMARK}  ", "warn"))
    return lines


def _told(one: Fault) -> str:
    """What was wrong, in full: a cell of the table may be cut."""
    left, _ = _left(one)
    told = [
        f"no error came, {clean(one.error)}" if one.seconds_to_error is None and one.error else "",
        _OTHER_ENDS.get(one.other_end, f"the other end is {clean(one.other_end)}"),
        f"the next transfer {clean(one.next_transfer)}" if one.next_transfer not in ("ok", "") else "",
        f"left {left}" if any(astuple(_stayed(one))) else "",
    ]
    return "; ".join(filter(None, told)) or "what came of it is not known"


def badness(one: Fault) -> int:
    """0: an error came in time, the other end lived on, and nothing stayed behind."""
    stayed = any(value for value in astuple(_stayed(one)) if value)
    return (
        8 * (one.seconds_to_error is None) + 4 * (one.other_end != "alive") + 2 * (one.next_transfer != "ok") + stayed
    )


def _row(one: Fault, *, has_pair: bool, has_size: bool) -> Row:
    return [
        (clean(one.kind), ""),
        (bench_names.transport(one.transport), ""),
        (bench_names.way(one.source, one.target) if has_pair else "", ""),
        (size(one.size_bytes) if has_size else "", ""),
        (INAPPLICABLE, "fail") if one.seconds_to_error is None else (duration(one.seconds_to_error), ""),
        (clean(one.other_end) or UNKNOWN, "" if one.other_end == "alive" else "fail"),
        _left(one),
        (clean(one.next_transfer).partition(":")[0] or UNKNOWN, "" if one.next_transfer == "ok" else "fail"),
        (clean(one.error) or UNKNOWN, "fail" if one.seconds_to_error is None else ""),
    ]


def _stayed(one: Fault) -> Left:
    """What was left, without the little memory that an interpreter takes meanwhile: no buffer of the transfer's size
    is among it. In files of an older raxl fewer sockets than before are a number below 0."""
    memory, sockets = one.left.memory_bytes, one.left.sockets
    return replace(
        one.left,
        memory_bytes=0 if memory and memory < _BUFFER * one.size_bytes else memory,
        sockets=max(sockets, 0) if sockets is not None else None,
    )


def _left(one: Fault) -> Span:
    """`2 sockets, 64 MiB shared memory`; `nothing` only where all of it was read."""
    left = _stayed(one)
    told = [
        f"{about(left.memory_bytes)} memory" if left.memory_bytes else "",
        counted(left.sockets, "socket") if left.sockets else "",
        f"{about(left.shared_memory_bytes)} shared memory" if left.shared_memory_bytes else "",
        counted(left.actors, "actor") if left.actors else "",
    ]
    if any(told):
        return ", ".join(filter(None, told)), "warn"
    known = [value for value in astuple(left) if value is not None]
    if not known:
        return UNKNOWN, "dim"
    return ("nothing", "") if len(known) == len(astuple(left)) else ("nothing seen", "dim")


def table(found: Sequence[Fault]) -> str:
    """The same for a document, in Markdown, and nothing of it cut."""
    rows = [["transport", "fault", "error in", "what came", "other end", "left behind", "next transfer"], ["---"] * 7]
    for one in tried(found):
        cells = [text.replace("|", "\\|") for text, _ in _row(one, has_pair=False, has_size=False)]
        kind, transport, _, _, error_in, other_end, left, then, came = cells
        rows.append([f"`{transport}`", kind, error_in, came, other_end, left, then])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
