"""Graphcore IPUs: PCI alone.

Ids: pci.ids. Its nodes (/dev/ipu<n>) are unverified, and Intel's camera units have such names too: they prove nothing.
IPU-Links between IPUs are told by `gc-info` alone.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Graphcore(PlainFamily):
    """Graphcore IPUs."""

    vendor = "graphcore"
    family = "Graphcore"
    described = Family(
        vendor="graphcore",
        name="Graphcore",
        kind="ipu",
        vendor_id="1d95",
        models={"0001": "Colossus GC2", "0002": "Colossus GC1"},
        resource=None,
        visible_env=None,
        drivers=(),
        classes=("12",),
    )
    fabric = "IPU-Link"
    custom_resource = "IPU"
