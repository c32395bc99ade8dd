"""Findings as files for other programs and people: JSON, JUnit, Prometheus, Markdown."""

from __future__ import annotations

from raxl.model import codec
from raxl.model.finding import Findings


def written(found: Findings, format: str) -> str:
    """The document in one of these formats."""
    return codec.encode(found)
