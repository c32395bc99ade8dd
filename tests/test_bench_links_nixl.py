"""NIXL over a link whose rate is known. UCX polls on both cores and waits where anything else takes one of them, so
that these tests run alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import links
from link_benches import SIZE, measured, rows, way
from links import GIGABIT, shaped
from ray_hosts import RayCluster, cluster

pytestmark = pytest.mark.alone
RATES = {"nixl": 0.03, "rdt-nixl": 0.08}
"""How near to what the link carries each reads; the whole chain of Ray Direct Transport loses more."""


@pytest.fixture(scope="module")
def pair() -> Iterator[RayCluster]:
    """Two hosts, 1 Gbit/s between them."""
    if (reason := links.missing()) is not None:
        pytest.skip(reason)
    with shaped([GIGABIT, GIGABIT], apart=False) as hosts, cluster(hosts, object_store=200_000_000) as running:
        yield running


@pytest.fixture(scope="module")
def document(pair: RayCluster) -> dict[str, Any]:
    """One run of both, with UCX told to stay on the link."""
    arguments = (
        "--transport",
        ",".join(RATES),
        "--pairs",
        "host-1:host-2",
        "--sizes",
        "64KiB,32MiB",
        "--budget",
        "16s",
    )
    return measured(pair, *arguments, environment={"UCX_TLS": "tcp,self"})


@pytest.mark.parametrize(("transport", "within"), RATES.items())
def test_it_reads_what_the_link_carries(
    document: dict[str, Any], pair: RayCluster, transport: str, within: float
) -> None:
    run = rows(document, transport)[SIZE]
    assert run["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(pair).payload_rate, rel=within)
    assert (run["path"]["claimed"], run["path"]["verdict"]) == ("eth0", "proven")
    assert run["verified"] is True
    assert run["cold_seconds"] > 0


def test_ray_s_nixl_below_twenty_of_its_steps_is_quantised(document: dict[str, Any]) -> None:
    run = rows(document, "rdt-nixl")[64 << 10]
    assert run["status"] == "quantised"
    assert run["latency_seconds"]["p50"] < 0.02
    assert run["error"].startswith("the transport waits in steps of 1 ms")
