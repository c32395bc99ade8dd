"""What is not known or contradicts itself, and why."""

from __future__ import annotations

from dataclasses import dataclass

NOT_PRESENT = "not-present"
NOT_SUPPORTED = "not-supported"
NOT_APPLICABLE = "not-applicable"
NOT_PERMITTED = "not-permitted"
NOT_INSTALLED = "not-installed"
TIMED_OUT = "timed-out"
FAILED = "failed"
NOT_ASKED = "not-asked"
DISAGREEMENT = "disagreement"

REASONS = (
    FAILED,
    TIMED_OUT,
    NOT_PERMITTED,
    NOT_INSTALLED,
    DISAGREEMENT,
    NOT_SUPPORTED,
    NOT_APPLICABLE,
    NOT_PRESENT,
    NOT_ASKED,
)
"""The vocabulary, the most telling first: of several reasons why one value is not known, the first one is told."""

UNREAD = (NOT_PERMITTED, TIMED_OUT, FAILED, NOT_INSTALLED)
"""Reasons that mean: it is there and could not be read. They alone can make an answer incomplete."""


@dataclass(frozen=True)
class Problem:
    """One thing that is not known, or two readings that contradict each other."""

    subject: str
    """What is not known: `nvidia:6.memory_bytes`; `accelerators.uuid` is that value of every accelerator of the node,
    `nics.pci` of every NIC, `os` or `links` all that stands beneath."""
    reason: str
    """One of `REASONS`."""
    message: str
    """One sentence for a person, with the words of whoever refused."""
    evidence: tuple[str, ...] = ()
    """The path, command or call that was asked."""


def most_telling(reasons: list[str]) -> str:
    """The reason to tell when several sources failed to give one value."""
    return min(reasons, key=REASONS.index, default=NOT_ASKED)
