"""What is told of something slow: its figures, the pairs that show it, and the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from raxl.bench.accused import NODE, Accused
from raxl.bench.scores import RECEIVES, SENDS, Measured, best, ends
from raxl.model.measurement import Slow, SlowEvidence

SHOWN = 4
"""How many pairs are shown, the slowest first."""
GOOD_PARTNERS = 3


def told(found: Sequence[Accused], measured: Sequence[Measured], transport: str | None) -> tuple[Slow, ...]:
    """All that was found, in its order."""
    good = _good(found, measured)
    return tuple(
        Slow(one.kind, one.subject, one.direction, _evidence(one), command(_again(one, good), transport))
        for one in found
    )


def _evidence(one: Accused) -> SlowEvidence:
    return SlowEvidence(
        best_bytes_per_second=one.best,
        peers_bytes_per_second=one.peers,
        pairs=tuple(shown(figure) for figure in sorted(one.shows, key=_speed)[:SHOWN]),
        rounds=len({figure.round for figure in one.explains}),
        slow_rounds=len({figure.round for figure in one.shows}),
    )


def _speed(figure: Measured) -> float:
    return figure.bandwidth_bytes_per_second


def shown(figure: Measured) -> str:
    """`a → b 0.669`, in gigabits per second, three digits that count."""
    return f"{figure.source} → {figure.target} {gigabits(figure.bandwidth_bytes_per_second)}"


def gigabits(bytes_per_second: float) -> str:
    value = bytes_per_second * 8 / 1e9
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _good(found: Sequence[Accused], measured: Sequence[Measured]) -> list[str]:
    """Nodes of which nothing is found, those first whose worse direction is best."""
    bad = {one.subject for one in found if one.kind == NODE}
    sent, received = best(measured, SENDS), best(measured, RECEIVES)
    good = [end for end in ends(measured) if end not in bad]
    return sorted(good, key=lambda end: -min(sent.get(end, 0.0), received.get(end, 0.0)))


def _again(one: Accused, good: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What to measure next: a node with three good partners, a link alone."""
    return tuple((one.subject, partner) for partner in good[:GOOD_PARTNERS]) if one.kind == NODE else one.again


def command(pairs: Sequence[tuple[str, str]], transport: str | None) -> str:
    """The command line that measures these."""
    words = ["raxl", "bench-transport", "--cluster"]
    if transport:
        words += ["--transport", transport]
    if pairs:
        words += ["--pairs", ",".join(f"{source}:{target}" for source, target in pairs)]
    return shlex.join(words)
