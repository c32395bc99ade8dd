"""Cambricon MLUs: PCI and the nodes of its driver.

Ids: pci.ids (MLU270, MLU370). A newer MLU (590) has no public id: class 12 of the vendor counts, and its model is not
known. `cambricon_ctl` and `cambricon_ipcm<n>` are no devices. MLU-Link between cards is told by Cambricon's tool
alone.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Cambricon(PlainFamily):
    """Cambricon MLUs."""

    vendor = "cambricon"
    family = "Cambricon"
    described = Family(
        vendor="cambricon",
        name="Cambricon",
        kind="npu",
        vendor_id="cabc",
        models={"0270": "MLU270", "0370": "MLU370"},
        resource=None,
        visible_env="MLU_VISIBLE_DEVICES",
        drivers=("cambricon",),
        classes=("12",),
    )
    node = r"cambricon_dev([0-9]{1,5})"
    is_node_alone_enough = True
    fabric = "MLU-Link"
    custom_resource = "MLU"
