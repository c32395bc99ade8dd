"""Oracle Cloud's instance metadata: the instance, its host, and its place in the cluster network.

https://docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm. The local block is the tier next to a host, the
network block the next one, the island the outermost; a GPU memory fabric is one NVLink domain.
"""

from __future__ import annotations

from typing import Mapping, Optional

from raxl.model.placement import Placement

EVIDENCE = "oci-imds"
PROVIDER = "oci"


def placement(said: Mapping[str, object]) -> Placement:
    """Where the instance stands, of the objects `instance/`, `host` and `host/rdmaTopologyData` in one."""
    inner = said.get("rdmaTopologyData")
    said = {**(inner if isinstance(inner, dict) else {}), **said}
    return Placement(
        provider=PROVIDER,
        instance_type=_text(said, "shape"),
        region=_text(said, "canonicalRegionName") or _text(said, "region"),
        zone=(_text(said, "availabilityDomain") or "").rpartition(":")[2] or None,
        rack=_text(said, "rackId"),
        block=_text(said, "customerLocalBlock"),
        fabric_domain=_text(said, "customerGpuMemoryFabric"),
        evidence=(EVIDENCE,),
    )


def _text(said: Mapping[str, object], name: str) -> Optional[str]:
    value = said.get(name)
    return value.strip() or None if isinstance(value, str) and value.strip() != "null" else None
