"""Whether a machine has devices of a family, as a cheap look tells."""

from __future__ import annotations

from typing import NamedTuple, Optional

PRESENT, ABSENT, UNKNOWN = "present", "absent", "unknown"


class Presence(NamedTuple):
    """What a plug-in's `probe` found. Absent and could-not-look are different answers."""

    state: str
    """present | absent | unknown"""
    reason: Optional[str] = None
    """Where it is unknown, one of the reasons of `raxl.model.problem`; else None."""
    message: str = ""
    """What was found, or who refused to say."""
