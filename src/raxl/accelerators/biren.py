"""Biren GPUs: PCI and the nodes /dev/biren/card_<n>.

Vendor 1ee0 is unverified: it is not in pci.ids. So a processing accelerator of that vendor counts, and no model is
named. BLink between cards is told by Biren's tool alone.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Biren(PlainFamily):
    """Biren GPUs."""

    vendor = "biren"
    family = "Biren"
    described = Family(
        vendor="biren",
        name="Biren",
        kind="gpu",
        vendor_id="1ee0",
        models={},
        resource=None,
        visible_env="BIREN_VISIBLE_DEVICES",
        drivers=(),
        classes=("12",),
    )
    folder = "/dev/biren"
    node = r"card_([0-9]{1,5})"
    is_node_alone_enough = True
    fabric = "BLink"
    custom_resource = "BIREN"
