"""The kernel's log, as the machine itself holds it or as a file gave it: what it tells of faults.

What was read is made short where it was read (`raxl.host.kernel_condense`); here it becomes events. The journal is
asked only where the ring may not be read: https://www.freedesktop.org/software/systemd/man/latest/journalctl.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host
from raxl.host.kernel_lines import telling
from raxl.model.facts import ANY, KernelEvent, KernelLog, Reading
from raxl.model.problem import FAILED, NOT_ASKED
from raxl.sources.kernel_logs import joined
from raxl.sources.kernel_times import time

FORM = "kernel-log"
"""The document that a log in a file becomes: a line of JSON a host."""
RING = "/dev/kmsg"
JOURNAL = ("journalctl", "-k", "-b", "--no-pager", "-o", "short-iso", "-n", "20000")
_MOST_EVENTS, _MOST_KINDS = 1 << 13, 256
_MOST_LOGS = 64
"""Files of one machine that are joined."""
_DEVICE = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?")


class Answers(NamedTuple):
    """The ring, and the journal where the ring was refused."""

    ring: Answer
    journal: Answer


def ask(host: Host) -> Answers:
    """Asks for the ring; for the journal only where there is no other way."""
    ring = host.process("kernel_log")
    if ring.known or ring.reason == NOT_ASKED:
        return Answers(ring, Answer(None, NOT_ASKED, "the ring is the same log"))
    return Answers(ring, host.command(JOURNAL))


def readings(host: Host) -> KernelLog:
    """What the logs tell: the files that were given, and the machine's own. Where nothing could be read, it has the
    refusal of the ring."""
    return joined([*_given(host.document(FORM)), *_own(host)])


def _given(document: Answer) -> Iterator[KernelLog]:
    """The logs in files, each a line."""
    lines = str(document.value).splitlines()[:_MOST_LOGS] if document.known else []
    for line in lines:
        if line.strip():
            yield _log(_decoded(line), "kernel log")


def _own(host: Host) -> Iterator[KernelLog]:
    ring, journal = ask(host)
    if ring.known:
        yield _log(ring.value, RING)
        return
    told = _decoded(journal.value.stdout) if journal.known else None
    if isinstance(told, dict) and told.get("lines"):
        yield _log(told, "journalctl -k")
    else:
        yield KernelLog(Reading(None, RING, ring.reason, ring.message))


def device(text: Optional[str]) -> Optional[str]:
    """A PCI address as the kernel's lines spell it: with at least four digits of the domain, in lower case. Xids name
    no function, and then it has none."""
    found = _DEVICE.fullmatch((text or "").lower())
    if not found:
        return None
    domain, bus, place, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{place}" + (f".{function}" if function else "")


def _decoded(text: object) -> Any:
    try:
        return json.loads(str(text).split("\n", 1)[0])
    except (ValueError, RecursionError):
        return None


def _log(told: Any, source: str) -> KernelLog:
    if not isinstance(told, Mapping) or not isinstance(told.get("kept"), list) or not _is_count(told.get("lines")):
        return KernelLog(Reading(None, source, FAILED, "the recording holds no kernel log"))
    events = [_event(entry) for entry in told["kept"][:_MOST_EVENTS] if isinstance(entry, Mapping)]
    whole, oldest = told.get("whole"), told.get("oldest")
    return KernelLog(
        Reading(told["lines"], source),
        tuple(event for event in events if event is not None),
        whole if isinstance(whole, bool) else None,
        time(oldest).words if isinstance(oldest, str) else None,
        _left_out(told),
    )


def _left_out(told: Mapping[str, Any]) -> dict[str, int]:
    """By kind, how many lines were not kept. A recording that does not say of which kind they are leaves it open for
    each."""
    kinds = told.get("left_out_kinds")
    if isinstance(kinds, Mapping):
        counts = list(kinds.items())[:_MOST_KINDS]
        return {str(name)[:40]: count for name, count in counts if _is_count(count) and count}
    total = told.get("left_out")
    return {ANY: total} if _is_count(total) and total else {}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _event(entry: Mapping[str, Any]) -> Optional[KernelEvent]:
    """The event that a kept line tells; None for a line that is no longer of the catalogue."""
    line = telling(str(entry.get("text", ""))[:1000])
    if line is None:
        return None
    first, last = entry.get("first"), entry.get("last")
    begun = time(first) if isinstance(first, str) else None
    uptime = entry.get("uptime")
    known = isinstance(uptime, (int, float)) and not isinstance(uptime, bool) and abs(uptime) < 1e12
    counts = {name: entry[name] if _is_count(entry.get(name)) else least for name, least in _COUNTS.items()}
    detail = {name: value for name, value in line.groups.items() if name not in ("device", "code")}
    return KernelEvent(
        line.kind,
        line.text,
        line.groups.get("code"),
        device(line.groups.get("device")),
        detail,
        begun.words if begun else None,
        time(last).words if isinstance(last, str) else None,
        seconds=float(uptime) if known and uptime is not None else begun.seconds if begun else None,
        **counts,
    )


_COUNTS = {"count": 1, "boot": 0, "order": 0, "ends": 0}
