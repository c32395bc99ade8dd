"""The present, as documents write it."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """The present in UTC, ISO 8601, to the second."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
