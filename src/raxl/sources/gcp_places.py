"""How Google Cloud writes where a VM stands.

`attributes/physical_host_topology` is JSON with `cluster`, `block`, `subBlock` and `host`, the older
`attributes/physical_host` is `/block/subblock/host`: https://cloud.google.com/compute/docs/instances/view-vm-topology.
The hosts of one sub-block share a rack, those of one block one network. A host says nothing of its neighbours.
"""

from __future__ import annotations

import json
import re
from typing import Dict, Mapping, Optional, Tuple

EVIDENCE = "gcp-metadata"
PROVIDER = "gcp"
_TPU_LINE = re.compile(r"[ \t]*([A-Z_]{1,40})[ \t]*:[ \t]*(?:'([^']*)'|(\S*))[ \t]*")
Place = Tuple[Optional[str], Optional[str]]
"""Block and sub-block."""


def of_topology(text: Optional[str]) -> Place:
    """Of the JSON; both None for anything else."""
    try:
        said = json.loads(text or "")
    except (ValueError, RecursionError):
        return None, None
    return of_names(said) if isinstance(said, dict) else (None, None)


def of_names(said: Mapping[str, object]) -> Place:
    """Of the JSON's object, in each spelling of its names."""
    names = {str(name).lower(): value for name, value in said.items()}
    block, sub_block = names.get("block"), names.get("subblock")
    return _name(block), _name(sub_block)


def of_host(text: Optional[str]) -> Place:
    """Of `/block/subblock/host`, with the first slash or without; some VMs show the host alone, which is no place."""
    parts = (text or "").strip().lstrip("/").split("/")
    return (_name(parts[0]), _name(parts[1])) if len(parts) == 3 else (None, None)


def last(text: Optional[str]) -> Optional[str]:
    """`us-central1-a` of `projects/1/zones/us-central1-a`."""
    return _name((text or "").rpartition("/")[2])


def region(zone: Optional[str]) -> Optional[str]:
    """`us-central1` of `us-central1-a`."""
    return _name((zone or "").rpartition("-")[0])


def tpu_variables(text: Optional[str]) -> Dict[str, str]:
    """The variables of `attributes/tpu-env`, lines of `NAME: 'value'`."""
    found = (_TPU_LINE.fullmatch(line) for line in (text or "").splitlines())
    return {one[1]: one[2] if one[2] is not None else one[3] for one in found if one}


def _name(value: object) -> Optional[str]:
    return value.strip() or None if isinstance(value, str) else None
