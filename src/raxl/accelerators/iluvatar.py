"""Iluvatar CoreX GPUs: PCI and the nodes of its driver.

Vendor 1e3e (pci.ids); device ids by model are not public. The runtime is a clone of CUDA's and reads
`CUDA_VISIBLE_DEVICES`: on a machine with NVIDIA GPUs too, one variable hides devices of both.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Iluvatar(PlainFamily):
    """Iluvatar CoreX GPUs."""

    vendor = "iluvatar"
    family = "Iluvatar"
    described = Family(
        vendor="iluvatar",
        name="Iluvatar",
        kind="gpu",
        vendor_id="1e3e",
        models={},
        resource=None,
        visible_env="CUDA_VISIBLE_DEVICES",
        drivers=(),
    )
    node = r"iluvatar([0-9]{1,5})"
    is_node_alone_enough = True
    custom_resource = "ILUVATAR"
