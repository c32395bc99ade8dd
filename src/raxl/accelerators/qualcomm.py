"""Qualcomm Cloud AI 100 and 80: PCI and the nodes of the kernel's `qaic` driver.

Every SKU of the AI 100 has the id a100 (Linux, drivers/accel/qaic), so the id tells the family and not the card; an
Ultra card is four such SoCs behind a PCIe switch. Its nodes are /dev/accel/accel<n>, a folder that other drivers use
too: a node there is no proof of such a device. `QAIC_VISIBLE_DEVICES` is Qualcomm's variable.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Qualcomm(PlainFamily):
    """Qualcomm Cloud AI accelerators."""

    vendor = "qualcomm"
    family = "Qualcomm"
    described = Family(
        vendor="qualcomm",
        name="Qualcomm",
        kind="npu",
        vendor_id="17cb",
        models={"a100": "Qualcomm Cloud AI 100", "a080": "Qualcomm Cloud AI 80"},
        resource=None,
        visible_env="QAIC_VISIBLE_DEVICES",
        drivers=("qaic",),
        classes=("12",),
    )
    custom_resource = "QAIC"
