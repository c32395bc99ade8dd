"""Hygon DCUs: PCI alone.

Vendor 1d94 (pci.ids) also makes processors, whose bridges and controllers bear it: a display or processing class is
required. The driver (`hydcu` or `hycu`) has KFD's interface and AMD's variable `HIP_VISIBLE_DEVICES`; device ids by
model are not public.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Hygon(PlainFamily):
    """Hygon DCUs."""

    vendor = "hygon"
    family = "Hygon"
    described = Family(
        vendor="hygon",
        name="Hygon DCU",
        kind="gpu",
        vendor_id="1d94",
        models={},
        resource=None,
        visible_env="HIP_VISIBLE_DEVICES",
        drivers=("hydcu", "hycu"),
        classes=("0302", "0380", "12"),
    )
    fabric = "the DCUs' own link"
    custom_resource = "DCU"
