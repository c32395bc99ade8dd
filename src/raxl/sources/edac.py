"""Errors of the host's memory, as its memory controllers count them.

`/sys/devices/system/edac/mc/mc*/ue_count` and `ce_count`: https://docs.kernel.org/admin-guide/ras.html
"""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import NOT_APPLICABLE, NOT_PRESENT
from raxl.sources.numbers import whole

FOLDER = "/sys/devices/system/edac/mc"
_MOST = 256
_LARGEST = (1 << 64) - 1


class Answers(NamedTuple):
    """The controllers, and the counters of each."""

    listing: Answer
    counters: Dict[str, Tuple[Answer, Answer]]


def ask(host: Host) -> Answers:
    """Asks for the counters of every controller."""
    listing = host.names(FOLDER)
    names = [name for name in listing.value if name.startswith("mc") and name[2:].isdigit()] if listing.known else []
    return Answers(
        listing,
        {
            name: (host.text(f"{FOLDER}/{name}/ue_count"), host.text(f"{FOLDER}/{name}/ce_count"))
            for name in names[:_MOST]
        },
    )


def readings(host: Host) -> Reading:
    """By controller, its uncorrected and its corrected errors since its driver was loaded; None within is a counter
    that could not be read. A machine without such a driver, as virtual ones are, has no such thing."""
    answers = ask(host)
    if not answers.listing.known:
        reason = NOT_APPLICABLE if answers.listing.reason == NOT_PRESENT else answers.listing.reason
        words = answers.listing.message or "no driver of a memory controller is loaded"
        return Reading(None, FOLDER, reason, words)
    return Reading({name: (_count(pair[0]), _count(pair[1])) for name, pair in answers.counters.items()}, FOLDER)


def _count(answer: Answer) -> Optional[int]:
    return whole(stripped(answer), _LARGEST)
