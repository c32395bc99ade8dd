"""How two components are joined."""

from __future__ import annotations

from dataclasses import dataclass

PCIE_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""Classes of a PCIe path, the nearest first, as `nvidia-smi topo -m` names them."""

LEGEND = {
    "PIX": "at most one PCIe switch between them",
    "PXB": "several PCIe switches, not the host bridge",
    "PHB": "through a PCIe host bridge of the CPU",
    "NODE": "between host bridges of one NUMA node",
    "SYS": "between NUMA nodes",
}

FABRIC_NAMES = {
    "nvlink": "NVLink",
    "xgmi": "XGMI",
    "ici": "ICI",
    "neuron": "NeuronLink",
    "metaxlink": "MetaXLink",
    "tt-eth": "Ethernet",
    "roce": "RoCE",
    "hccs": "HCCS",
    "sio": "SIO",
    "xelink": "Xe Link",
}
"""The name of each scale-up fabric, by the kind of its links."""

FABRIC_PREFIXES = {
    "nvlink": "NV",
    "xgmi": "XGMI",
    "ici": "ICI",
    "neuron": "NEURON",
    "metaxlink": "MX",
    "tt-eth": "ETH",
    "roce": "ROCE",
    "hccs": "HCCS",
    "sio": "SIO",
    "xelink": "XL",
}
"""The fabric's short name in a link class; the count of links follows it."""
UNCOUNTED = ("ici", "neuron")
"""Fabrics whose sources name neighbours and count no links: their class is the short name alone."""


@dataclass(frozen=True)
class Link:
    """How a pair is joined: by a scale-up fabric where there is one, else by the PCIe path between them."""

    a: str
    b: str
    link_class: str | None = None
    """One of `PCIE_CLASSES`, or the fabric's short name with the count of links (`NV18`, `ICI`); None: not known."""
    kind: str | None = None
    """pcie, or one of `FABRIC_PREFIXES`; tt-eth is Tenstorrent's Ethernet between chips."""
    count: int | None = None
    """Links, never hops."""
    bandwidth_bytes_per_second: int | None = None
    """One direction, all links of the pair together."""
    bandwidth_source: str | None = None
    """nominal | reported | measured"""
    state: str | None = None
    evidence: tuple[str, ...] = ()


def fabric_class(kind: str, count: int | None) -> str | None:
    """`NV18` for 18 NVLinks; None while the count is not known, but for fabrics of which nobody counts links: `ICI`."""
    prefix = FABRIC_PREFIXES.get(kind)
    if count is None and kind in UNCOUNTED:
        return prefix
    return f"{prefix}{count}" if prefix and count else None
