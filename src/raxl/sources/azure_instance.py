"""Azure's instance metadata: every value is a text, an empty one where it is not set.

https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service. An interconnect group is the reach of an
InfiniBand fabric, a subgroup what stands closer together, of GB200 one rack. A fault domain is no rack: VMs of several
share a fabric, and those of one may not. VMs of two placement groups never share one.
"""

from __future__ import annotations

from typing import Mapping, Optional

from raxl.model.placement import Placement

EVIDENCE = "azure-imds"
PROVIDER = "azure"


def placement(document: Mapping[str, object]) -> Placement:
    """Where the VM stands, by the document or its `compute` alone."""
    inner = document.get("compute")
    compute = inner if isinstance(inner, dict) else document
    region, zone = _text(compute, "location"), _text(compute, "zone")
    return Placement(
        provider=PROVIDER,
        instance_type=_text(compute, "vmSize"),
        region=region,
        zone=f"{region}-{zone}" if region and zone else None,
        rack=_text(compute, "interconnectSubgroupId"),
        block=_text(compute, "interconnectGroupId") or _text(compute, "placementGroupId"),
        evidence=(EVIDENCE,),
    )


def _text(compute: Mapping[str, object], name: str) -> Optional[str]:
    value = compute.get(name)
    return value.strip() or None if isinstance(value, str) else None
