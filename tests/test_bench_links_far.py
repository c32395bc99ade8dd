"""`raxl bench-transport` over a link that is far: 2 ms each way. What another process takes of the core would be in the
figure, so that this runs alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import links
from link_benches import measured, rows, way
from links import GBIT, Cable, relayed
from ray_hosts import RayCluster, cluster

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def far() -> Iterator[RayCluster]:
    """Two hosts, 2 ms each way between them."""
    if (reason := links.missing(relay=True)) is not None:
        pytest.skip(reason)
    with relayed([Cable.of(0.2 * GBIT, 0.001)] * 2) as hosts, cluster(hosts) as running:
        yield running


def test_the_latency_of_a_far_link_is_read(far: RayCluster) -> None:
    arguments = ("--transport", "tcp,torch-gloo", "--pairs", "host-1:host-2", "--sizes", "8,16MiB", "--budget", "12s")
    document = measured(far, *arguments)
    for transport in ("tcp", "torch-gloo"):
        run = rows(document, transport)
        assert run[8]["latency_seconds"]["p50"] == pytest.approx(0.002, abs=0.0003)
        rate = run[16 << 20]["bandwidth_bytes_per_second"]["median"]
        assert rate == pytest.approx(way(far).payload_rate, rel=0.03)
