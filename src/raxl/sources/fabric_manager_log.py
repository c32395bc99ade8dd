"""What the log of NVIDIA's fabric manager tells of switches and links."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any, List, Mapping, Optional

from raxl.host import Host
from raxl.model.facts import KernelEvent, Reading
from raxl.model.problem import FAILED
from raxl.sources.kernel_log import device

FORM = "fabric manager log"
_MOST = 256
_SWITCH = re.compile(
    r"detected NVSwitch (?P<severity>non-fatal|fatal) error (?P<code>\d{1,6}) on (?:fid \d{1,4} on )?NVSwitch "
    r"pci bus id (?P<device>[0-9A-Fa-f:.]{7,16})(?: physical id (?P<unit>\d{1,4}))?(?: port (?P<link>\d{1,4}))?"
)


def readings(host: Host) -> Reading:
    """What it warns of and what errors it tells, as events: `switch-error` with its SXid as code, else `message` with
    its level."""
    answer = host.document(FORM)
    if not answer.known:
        return Reading(None, FORM, answer.reason, answer.message)
    try:
        kept = json.loads(answer.value)["kept"]
        events: List[KernelEvent] = [_event(entry, order) for order, entry in enumerate(kept[:_MOST])]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Reading(None, FORM, FAILED, "the recording holds no such log")
    return Reading(tuple(events), FORM)


def _event(entry: Mapping[str, Any], order: int) -> KernelEvent:
    text = str(entry["text"])[:1000]
    found = _SWITCH.search(text)
    told = {name: value for name, value in found.groupdict().items() if value is not None} if found else {}
    count = entry.get("count")
    return KernelEvent(
        "switch-error" if found else "message",
        text,
        told.pop("code", None) if found else str(entry.get("level", ""))[:20],
        device(told.pop("device", None)),
        told,
        _time(entry.get("first")),
        _time(entry.get("last")),
        count if isinstance(count, int) and 0 < count < 1 << 53 else 1,
        order=order,
    )


def _time(stamp: object) -> Optional[str]:
    """`2025-02-27T15:10:02`, in the machine's own zone, which the log does not name."""
    try:
        return datetime.strptime(str(stamp), "%b %d %Y %H:%M:%S").strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
