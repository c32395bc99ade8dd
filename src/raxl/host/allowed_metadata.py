"""What may be kept of a cloud's metadata: named paths, and of their answers named parts. Never user data, credentials,
startup scripts or keys: nothing else is asked for, and what a document holds beside its named parts is dropped here.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping, Optional, Tuple, Union

_Part = Union[None, Mapping[str, Any]]

AZURE_NEW = "instance?api-version=2025-11-11&format=json"
AZURE_OLD = "instance?api-version=2021-02-01&format=json"
"""Of a region whose service does not know the new version yet; it leaves the interconnect groups out."""
WORD, LINES = "word", "lines"
_AZURE: Mapping[str, Any] = {
    "compute": dict.fromkeys(
        (
            "vmSize",
            "location",
            "zone",
            "placementGroupId",
            "interconnectGroupId",
            "interconnectSubgroupId",
        )
    )
}
_OCI_RDMA = dict.fromkeys(
    (
        "customerHPCIslandId",
        "customerNetworkBlock",
        "customerLocalBlock",
        "customerGpuMemoryFabric",
    )
)
_PATHS: Dict[str, Dict[str, Union[str, Mapping[str, Any]]]] = {
    "aws": {"instance-type": WORD, "placement/region": WORD, "placement/availability-zone": WORD},
    "gcp": {
        "zone": WORD,
        "machine-type": WORD,
        "attributes/physical_host_topology": dict.fromkeys(("cluster", "block", "subBlock", "subblock")),
        "attributes/physical_host": WORD,
        "attributes/tpu-env": LINES,
    },
    "azure": {AZURE_NEW: _AZURE, AZURE_OLD: _AZURE},
    "oci": {
        "instance/": dict.fromkeys(("shape", "region", "canonicalRegionName", "availabilityDomain")),
        "host": {**dict.fromkeys(("networkBlockId", "rackId")), "rdmaTopologyData": _OCI_RDMA},
        "host/rdmaTopologyData": _OCI_RDMA,
    },
}
"""By service and path, what its answer is: a word, lines of a TPU's environment, or the parts of a JSON object."""
LONGEST = 512
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,511}|/[A-Za-z0-9._:/-]{1,511}")
_OF_SLICE = re.compile(
    r"(?:TPU_)?(?:ACCELERATOR_TYPE|TOPOLOGY|TOPOLOGY_WRAP|WRAP|CHIPS_PER_HOST_BOUNDS|HOST_BOUNDS|WORKER_ID|ZONE"
    r"|NODE_ID|NAME)[ \t]*:[ \t]*'?[A-Za-z0-9._,:/ -]{0,200}'?"
)


def paths(service: str) -> Tuple[str, ...]:
    """The paths that may be asked of a service; none of one that raxl does not know."""
    return tuple(_PATHS.get(service, ()))


def kept(service: str, path: str, text: str) -> Optional[str]:
    """Of an answer what may be recorded; None where it is not what that path holds."""
    part = _PATHS.get(service, {}).get(path)
    if part is None:
        return None
    if part == WORD:
        return text.strip() if _WORD.fullmatch(text.strip()) else None
    if part == LINES:
        lines = [line.strip() for line in text.splitlines()]
        return "".join(f"{line}\n" for line in lines if _OF_SLICE.fullmatch(line))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return json.dumps(_parts(value, part)) if isinstance(value, dict) and isinstance(part, dict) else None


def _parts(value: Mapping[str, Any], wanted: Mapping[str, _Part]) -> Dict[str, Any]:
    """The wanted texts of an object, and of the objects in it."""
    found: Dict[str, Any] = {}
    for name, inner in wanted.items():
        held = value.get(name)
        if inner is None and isinstance(held, str) and len(held) <= LONGEST:
            found[name] = held
        elif inner is not None and isinstance(held, dict):
            found[name] = _parts(held, inner)
    return found
