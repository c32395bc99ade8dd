"""Something that is slow, with the figures that show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from raxl.bench.scores import Measured

NODE, LINK = "node", "link"


@dataclass(frozen=True)
class Accused:
    """A node or a link, before it is told."""

    kind: str
    subject: str
    direction: str
    """sends | receives | both"""
    best: float
    """Bytes per second: its best round; of a group of links the median of its pairs."""
    peers: float
    """What it is held against."""
    explains: tuple[Measured, ...]
    """Every figure that it touches in this direction."""
    shows: tuple[Measured, ...]
    """Those of them that are too low."""
    again: tuple[tuple[str, str], ...] = ()
    """The pairs to measure next, where it is a link."""


def unexplained(measured: Sequence[Measured], accused: Iterable[Accused]) -> list[Measured]:
    """What none of these touches."""
    explained = {figure for one in accused for figure in one.explains}
    return [figure for figure in measured if figure not in explained]
