"""Moore Threads GPUs: PCI and the nodes of `mtgpu`.

Ids: pci.ids. MTLink joins S4000 cards in some machines; only Moore Threads' own library tells. `MUSA_VISIBLE_DEVICES`
is the variable of its runtime.
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class MooreThreads(PlainFamily):
    """Moore Threads GPUs."""

    vendor = "mthreads"
    family = "Moore Threads"
    described = Family(
        vendor="mthreads",
        name="Moore Threads",
        kind="gpu",
        vendor_id="1ed5",
        models={
            "0201": "MTT S80",
            "0222": "MTT S3000",
            "0323": "MTT S4000",
            "0327": "MTT S4000",
            "0328": "MTT S4000",
        },
        resource=None,
        visible_env="MUSA_VISIBLE_DEVICES",
        drivers=("mtgpu",),
    )
    node = r"mtgpu\.?([0-9]{1,5})"
    is_node_alone_enough = True
    fabric = "MTLink"
    custom_resource = "MTGPU"
