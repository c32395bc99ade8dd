"""raxl measures it, and every byte arrives: run it where the package is installed."""

from __future__ import annotations

from raxl.bench import run
from raxl.bench.request import Request


def test_every_byte_arrives() -> None:
    wanted = Request(transports=("example-tcp",), plugins=("example-tcp",), sizes=(1 << 10, 1 << 20), budget_seconds=2)
    rows = run.bench(wanted).runs
    assert [row.size_bytes for row in rows] == [1 << 10, 1 << 20]
    assert all(row.verified for row in rows), rows
