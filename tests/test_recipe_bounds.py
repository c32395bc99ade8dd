"""What hardware cannot exceed: figures that were published pass, and what is above the bound is refused."""

from __future__ import annotations

import pytest

from raxl.model.recipe import Expectation, Hardware
from raxl.recipe import bounds
from raxl.recipe.bounds import Bound, Unknown

BUS, BANDWIDTH = "bus_bandwidth_bytes_per_second", "bandwidth_bytes_per_second"
HGX_H100 = Hardware(8, "nvlink-4", 1, 8, 400e9)
HGX_B300 = Hardware(8, "nvlink-5", 1, 8, 800e9)
NVL72 = Hardware(4, "nvlink-5", 18, 4, 400e9)
RTX = Hardware(8, "pcie-5", 1, 8, 400e9)
MI300X = Hardware(8, "xgmi-mi300x", 1, 8, 400e9)
GAUDI_2 = Hardware(8, "gaudi-2")
EFA = Hardware(8, "nvlink-4", 1, 32, 100e9)


def figure(
    nodes: int, ranks: int, collective: str = "all_reduce", algorithm: str | None = None, metric: str = BUS
) -> Expectation:
    return Expectation("one", collective, nodes, ranks, metric, "observed", 1.0, algorithm=algorithm)


def gigabytes(one: Expectation, hardware: Hardware) -> float:
    found = bounds.bound(one, hardware)
    assert isinstance(found, Bound), found
    return round(found.rate / 1e9, 3)


@pytest.mark.parametrize(
    ("hardware", "one", "most"),
    [
        (HGX_H100, figure(1, 8), 495),  # NVLS: a tenth above the link
        (HGX_H100, figure(1, 8, algorithm="Ring"), 450),
        (HGX_H100, figure(1, 8, algorithm="NVLSTree"), 495),
        (HGX_H100, figure(4, 32), 400),  # the NICs of a node
        (HGX_H100, figure(4, 32, algorithm="Ring"), 400),
        (HGX_H100, figure(2, 16, algorithm="Ring"), 400),
        (HGX_H100, figure(2, 16), 495),  # a tree over two: 750, the links inside less
        (HGX_B300, figure(2, 16), 990),
        (HGX_B300, figure(2, 16, algorithm="Ring"), 800),
        (Hardware(8, None, 1, 8, 400e9), figure(2, 16, algorithm="Tree"), 750),
        (Hardware(8, None, 1, 8, 400e9), figure(3, 24, algorithm="Tree"), 400),
        (Hardware(8, None, 1, 8, 400e9, reduces_in_network=True), figure(8, 64), 800),
        (Hardware(8, "nvlink-4", 1, 8, 400e9, reduces_in_network=True), figure(8, 64), 495),
        (Hardware(8, None, 1, 8, 400e9, reduces_in_network=True), figure(8, 64, "all_gather"), 400),
        (NVL72, figure(18, 72), 990),  # one fabric
        (NVL72, figure(36, 144), 990),  # two racks: the NICs of 18 trays are no bound
        (Hardware(4, None, 1, 4, 400e9), figure(3, 12), 200),
        (RTX, figure(1, 8), 63),
        (RTX, figure(2, 16), 63),
        (MI300X, figure(1, 2), 64),
        (MI300X, figure(1, 8), 448),
        (MI300X, figure(1, 2, "p2p", metric=BANDWIDTH), 64),
        (GAUDI_2, figure(1, 8), 262.5),
        (Hardware(8, "gaudi-3"), figure(1, 8), 525),
        (HGX_H100, figure(1, 2, "p2p", metric=BANDWIDTH), 450),
        (HGX_H100, figure(2, 2, "p2p", metric=BANDWIDTH), 400),
        (HGX_H100, figure(2, 16, "all_to_all"), 93.75),
        (HGX_H100, figure(1, 2, "copy", metric=BANDWIDTH), 450),
        (Hardware(16, None, 1, 16, 200e9), figure(2, 2, "p2p", metric=BANDWIDTH), 400),
    ],
)
def test_a_bound_follows_from_links_and_nics(hardware: Hardware, one: Expectation, most: float) -> None:
    assert gigabytes(one, hardware) == pytest.approx(most)


@pytest.mark.parametrize(
    ("hardware", "one", "published"),
    [
        (HGX_H100, figure(1, 8), 480.0),  # H200, NVLS: above its link's 450
        (HGX_H100, figure(2, 16), 470),
        (HGX_H100, figure(4, 32), 366),
        (Hardware(8, "nvlink-4", 1, 8, 400e9, reduces_in_network=True), figure(8, 64), 450),
        (EFA, figure(2, 16), 437.8),
        (Hardware(8, "nvlink-5"), figure(1, 8), 830),
        (HGX_B300, figure(2, 16), 800),
        (HGX_B300, figure(2, 16, algorithm="Ring"), 760),
        (NVL72, figure(1, 4, algorithm="Ring"), 679.6),
        (NVL72, figure(18, 72), 937),
        (NVL72, figure(36, 144), 810),
        (RTX, figure(2, 16, algorithm="Tree"), 34),
        (MI300X, figure(1, 2), 47.7),
        (MI300X, figure(1, 8), 312.9),
        (MI300X, figure(2, 16), 361),
        (MI300X, figure(2, 16, "all_to_all"), 50),
        (Hardware(8, "xgmi-mi355x"), figure(1, 8), 393),
        (GAUDI_2, figure(1, 8), 258.2),
        (Hardware(8, "gaudi-3"), figure(1, 8), 513),
        (Hardware(4, "ici-v7"), figure(1, 4, "all_gather"), 178.8),
    ],
)
def test_what_was_published_of_real_hardware_is_possible(
    hardware: Hardware, one: Expectation, published: float
) -> None:
    assert published <= gigabytes(one, hardware)


@pytest.mark.parametrize(
    ("hardware", "one", "claimed"),
    [
        (HGX_H100, figure(1, 8), 500),  # the floor of a health check that nothing reaches
        (EFA, figure(2, 16), 800),
        (Hardware(8, "nvlink-5", 1, 8, 400e9), figure(4, 32), 900),
        (RTX, figure(1, 8), 100),
        (GAUDI_2, figure(1, 8), 513),
        (MI300X, figure(1, 2), 128),
    ],
)
def test_what_no_such_hardware_reaches_is_above_its_bound(hardware: Hardware, one: Expectation, claimed: float) -> None:
    assert claimed > gigabytes(one, hardware)


@pytest.mark.parametrize(
    ("hardware", "one", "words"),
    [
        (Hardware(), figure(1, 8), "say hardware.link, one of nvlink-5"),
        (Hardware(link="none"), figure(1, 8), "say hardware.link"),
        (Hardware(link="nvlink-4"), figure(2, 16), "say hardware.nics and hardware.nic_bits_per_second"),
        (Hardware(link="nvlink-4", nics=8), figure(2, 16), "say hardware.nics and hardware.nic_bits_per_second"),
    ],
)
def test_without_the_hardware_no_bound_is_known(hardware: Hardware, one: Expectation, words: str) -> None:
    found = bounds.bound(one, hardware)
    assert isinstance(found, Unknown)
    assert words in found.why


def test_nothing_bounds_a_time() -> None:
    assert bounds.bound(figure(1, 2, "p2p", metric="latency_seconds"), HGX_H100) is None


def test_a_bound_says_what_it_follows_from() -> None:
    found = bounds.bound(figure(3, 24), HGX_H100)
    assert found == Bound(400e9, "8 NICs of 400 Gb/s carry 400 GB/s")
