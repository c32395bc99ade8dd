"""A transfer of which an end is killed, paused or cut off in the middle, and what comes of it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from raxl.bench.request import KILL_SOURCE, KILL_TARGET, PARTITION, PAUSE
from raxl.model.measurement import ALIVE, DEAD, HANGS, UNKNOWN
from raxl.transfer import FAILURES, EndFailed, EndLost, Session, Transfer, Unavailable, cutting, leftovers
from raxl.transfer.ray_ends import RayEnd, first_line

_BEFORE_SECONDS = 0.3
"""The transfer is under way for so long when it is hurt."""
_ALIVE_SECONDS = 3.0
_SMALL_BYTES = 1 << 20
_GONE_SECONDS = 10.0

Open = Callable[[], tuple[Session, list[RayEnd]]]


def hurt(
    kind: str, opened: Open, witnesses: tuple[RayEnd, RayEnd], transfer: Transfer, seconds: float
) -> dict[str, Any]:
    """Seconds to the error and its words, whether the other end lives, what is left in it, and what the next does.

    `opened` makes new ends and sets the transport up between them; `witnesses` are processes beside the ends, on the
    source's node and on the target's. Raises `Unavailable` where the transport, or the fault, is.
    """
    session, ends = opened()
    source, target = ends[0], ends[-1]
    session.measure(_small(transfer))
    survivor, witness = (target, witnesses[1]) if kind == KILL_SOURCE else (source, witnesses[0])
    before = survivor.call(leftovers.held)
    outcome: dict[str, Any] = {}
    worker = threading.Thread(target=_measured, args=(session, transfer, outcome), daemon=True)
    worker.start()
    time.sleep(_BEFORE_SECONDS)
    if not worker.is_alive():
        raise Unavailable("the transfer was over before it could be hurt: give a larger size")
    begun = time.monotonic()
    _injure(kind, source, target, witnesses, seconds)
    worker.join(seconds)
    told = {
        "seconds": None if worker.is_alive() else outcome["at"] - begun,
        "error": "it hangs" if worker.is_alive() else outcome["words"],
        "raised": not worker.is_alive() and outcome["raised"],
        "other_end": _state(survivor, witness),
    }
    told["left"] = _left(before, survivor) if told["other_end"] == ALIVE else {}
    if kind == PAUSE:
        witnesses[1].call(leftovers.signalled, target.pid, signal.SIGCONT)
    if not worker.is_alive():  # else it would wait for what hangs
        with suppress(Exception):
            session.close()
    for end in ends:
        with suppress(Exception):
            end.end()
    worker.join(_ALIVE_SECONDS)
    told["actors"] = _still_there(witness, survivor)
    told["next"] = _next(opened, transfer)
    return told


def _injure(kind: str, source: RayEnd, target: RayEnd, witnesses: tuple[RayEnd, RayEnd], seconds: float) -> None:
    if kind == KILL_SOURCE:
        witnesses[0].call(leftovers.signalled, source.pid, signal.SIGKILL)
    elif kind == KILL_TARGET:
        witnesses[1].call(leftovers.signalled, target.pid, signal.SIGKILL)
    elif kind == PAUSE:
        witnesses[1].call(leftovers.signalled, target.pid, signal.SIGSTOP)
    elif kind == PARTITION:
        why = witnesses[1].call(cutting.cut, source.address, seconds / 2)
        if why is not None:
            raise Unavailable(why)


def _measured(session: Session, transfer: Transfer, outcome: dict[str, Any]) -> None:
    try:
        session.measure(transfer)
    except Exception as error:  # whatever is raised is what is asked for
        outcome.update(words=f"{_kind(error)}{first_line(error)}", raised=True)
    else:
        outcome.update(words="the data arrived", raised=False)
    outcome["at"] = time.monotonic()


def _kind(error: Exception) -> str:
    """`EndFailed` and `EndLost` carry the name of what was raised there."""
    return "" if isinstance(error, (EndFailed, EndLost)) else f"{type(error).__name__}: "


def _state(end: RayEnd, witness: RayEnd) -> str:
    """Whether an end answers, only has its process, or is gone."""
    with suppress(*FAILURES):
        end.call(leftovers.held, seconds=_ALIVE_SECONDS)
        return ALIVE
    with suppress(*FAILURES):
        return HANGS if witness.call(leftovers.alive, [end.pid], seconds=_ALIVE_SECONDS) else DEAD
    return UNKNOWN


def _left(before: Mapping[str, int | None], survivor: RayEnd) -> dict[str, int | None]:
    return _more(before, survivor.call(leftovers.held))


def _more(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> dict[str, int | None]:
    """What is there beyond what was there before; nothing is where there is less."""
    return {
        name: None if value is None or before[name] is None else max(0, value - int(before[name] or 0))
        for name, value in after.items()
    }


def _still_there(witness: RayEnd, end: RayEnd) -> int | None:
    """Whether the survivor's process is still there after it was ended: 1 or 0."""
    until = time.monotonic() + _GONE_SECONDS
    while time.monotonic() < until:
        try:
            if not witness.call(leftovers.alive, [end.pid]):
                return 0
        except FAILURES:
            return None
        time.sleep(0.2)
    return 1


def _next(opened: Open, transfer: Transfer) -> str:
    """Whether new ends can do the same."""
    try:
        session, ends = opened()
    except FAILURES as error:
        return f"failed: {error}"
    try:
        taken = session.measure(_small(transfer))
        return "ok" if taken.verified else f"failed: {taken.wrong or 'not verified'}"
    except Exception as error:
        return f"failed: {_kind(error)}{first_line(error)}"
    finally:
        with suppress(Exception):
            session.close()
        for end in ends:
            with suppress(Exception):
                end.end()


def _small(transfer: Transfer) -> Transfer:
    size = min(_SMALL_BYTES, transfer.size_bytes)
    return replace(transfer, size_bytes=size, most_samples=6, seconds=0.2, least_seconds=0.0)
