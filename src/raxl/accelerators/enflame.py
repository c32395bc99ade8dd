"""Enflame GCUs: PCI and the nodes /dev/gcu<n>.

Ids: pci.ids. The name of its kernel module is not public. A process is shown its devices by `TOPS_VISIBLE_DEVICES`, a
container by `ENFLAME_VISIBLE_DEVICES`. GCU-LARE between cards is told by Enflame's tool alone.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Enflame(PlainFamily):
    """Enflame GCUs."""

    vendor = "enflame"
    family = "Enflame"
    described = Family(
        vendor="enflame",
        name="Enflame",
        kind="npu",
        vendor_id="1e36",
        models={"c033": "Enflame S60G", "c035": "Enflame S60", "c041": "Enflame L300", "c042": "Enflame L600"},
        resource=None,
        visible_env="TOPS_VISIBLE_DEVICES",
        drivers=(),
        classes=("12",),
    )
    node = r"gcu([0-9]{1,5})"
    is_node_alone_enough = True
    fabric = "GCU-LARE"
    custom_resource = "GCU"
