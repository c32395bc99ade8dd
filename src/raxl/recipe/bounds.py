"""What hardware cannot exceed: an expected figure above it was measured, counted or copied wrongly.

Rates are bytes per second, one direction. A figure is held against the least of what bounds it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from raxl.model.recipe import Expectation, Hardware

GB = 1e9


class Link(NamedTuple):
    """A scale-up link of an accelerator."""

    rate: float
    """To all its peers together."""
    to_one: float | None = None
    """To one peer, where each pair has links of its own; None where a switch gives all of it to any."""
    multicast: bool = False
    """Whether switches of it add up and multiply (NVLS), by which a collective reads up to a tenth more."""


LINKS = {
    "nvlink-5": Link(900 * GB, multicast=True),
    "nvlink-4": Link(450 * GB, multicast=True),
    "nvlink-3": Link(300 * GB),
    "xgmi-mi300x": Link(448 * GB, 64 * GB),
    "xgmi-mi355x": Link(535.5 * GB, 76.5 * GB),
    "gaudi-3": Link(525 * GB, 75 * GB),
    "gaudi-2": Link(262.5 * GB, 37.5 * GB),
    "ici-v7": Link(600 * GB),
    "neuronlink-3": Link(1024 * GB),
    "pcie-5": Link(63 * GB),
    "pcie-4": Link(31 * GB),
}
"""By name, as data sheets give them."""
NONE = "none"
"""Accelerators without a link to each other, or no accelerators."""
_MULTICAST = 1.1
"""The highest share of the link's rate that was seen with NVLS is 1.07."""
_REDUCED = 2.0
COLLECTIVES = ("p2p", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "copy")
BANDWIDTHS = ("bus_bandwidth_bytes_per_second", "bandwidth_bytes_per_second")


class Bound(NamedTuple):
    """A rate that is not exceeded."""

    rate: float
    why: str


class Unknown(NamedTuple):
    """Why there is no bound, and what the recipe has to say for one."""

    why: str


def bound(one: Expectation, hardware: Hardware) -> Bound | Unknown | None:
    """What bounds the figure; None where nothing does, as of a time."""
    if one.metric not in BANDWIDTHS or one.nodes < 1 or one.ranks < 1:
        return None
    inside = _inside(one, hardware)
    fabrics = math.ceil(one.nodes / max(hardware.nodes_in_fabric, 1))
    if fabrics == 1:
        return inside or Unknown(f"say hardware.link, one of {', '.join(LINKS)}")
    across = _across(one, hardware, fabrics)
    if across is None:
        return Unknown("say hardware.nics and hardware.nic_bits_per_second")
    collective = one.collective not in ("p2p", "copy")
    return min(inside, across) if collective and inside else across


def words(rate: float) -> str:
    """`437.8 GB/s`."""
    return f"{rate / GB:.4g} GB/s"


def _inside(one: Expectation, hardware: Hardware) -> Bound | None:
    """Over the links between accelerators."""
    link = LINKS.get(hardware.link or "")
    if link is None:
        return None
    name = hardware.link
    if link.to_one is not None:
        peers = max(min(one.ranks, hardware.accelerators or one.ranks) - 1, 1)
        if one.collective in ("p2p", "copy"):
            peers = 1
        if peers * link.to_one < link.rate:
            return Bound(peers * link.to_one, f"{name} has {words(link.to_one)} between two")
    if one.collective in ("p2p", "copy"):
        return Bound(link.rate * max(one.ranks // 2, 1), f"{name} has {words(link.rate)} one way")
    if link.multicast and (one.algorithm or "nvls").lower().startswith(("nvls", "collnet")):
        return Bound(link.rate * _MULTICAST, f"{name} has {words(link.rate)} one way, and NVLS reads a tenth more")
    return Bound(link.rate, f"{name} has {words(link.rate)} one way")


def _across(one: Expectation, hardware: Hardware, fabrics: int) -> Bound | None:
    """Over the NICs of one fabric of accelerators."""
    if (hardware.nics or 0) < 1 or (hardware.nic_bits_per_second or 0) <= 0:
        return None
    nodes = min(one.nodes, max(hardware.nodes_in_fabric, 1))
    nics, speed = (hardware.nics or 0) * nodes, hardware.nic_bits_per_second or 0
    rate = nics * speed / 8
    told = f"{nics} NICs of {speed / 1e9:g} Gb/s carry {words(rate)}"
    if one.collective in ("p2p", "copy", "broadcast"):
        return Bound(rate, told)
    if one.collective == "all_to_all":
        share = rate * fabrics / one.ranks * fabrics / (fabrics - 1) * (one.ranks - 1) / one.ranks
        return Bound(share, f"{told} for {one.ranks // fabrics or 1} ranks")
    if hardware.reduces_in_network and one.collective == "all_reduce":
        return Bound(rate * _REDUCED, f"{told}, and switches that add up double it")
    if fabrics == 2 and (one.algorithm or "tree").lower() != "ring":
        factor = 2 * (one.ranks - 1) / one.ranks
        return Bound(rate * factor, f"{told}, and a tree over exactly two reads {factor:.4g} times that")
    return Bound(rate, told)
