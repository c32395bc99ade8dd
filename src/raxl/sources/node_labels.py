"""Labels of a Kubernetes node that say where it stands, in all the spellings that are found on clusters.

Well-known: https://kubernetes.io/docs/reference/labels-annotations-taints · GPU feature discovery's clique:
https://github.com/NVIDIA/k8s-device-plugin · https://github.com/NVIDIA/topograph, which renamed its labels three times.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Tuple

from raxl.model.placement import Placement

EVIDENCE = "kubernetes"
TOPOGRAPH = "topograph"
_CLIQUE = "nvidia.com/gpu.clique"
_CLIQUE_FORM = re.compile(r"(?=[0-]*[1-9a-fA-F])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\.[0-9]{1,10}")
_OWN = {
    "instance_type": ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
    "region": ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
    "zone": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    "rack": ("topology.kubernetes.io/rack", "cloud.google.com/gce-topology-subblock"),
    "block": (
        "cloud.google.com/gce-topology-block",
        "topology.k8s.aws/network-node-layer-4",
        "topology.k8s.aws/network-node-layer-3",
        "topology.k8s.aws/network-node-layer-2",
        "topology.k8s.aws/network-node-layer-1",
    ),
    "slice_topology": ("cloud.google.com/gke-tpu-topology",),
}
"""By field, the labels of Kubernetes and of the clouds themselves; a higher layer of AWS' is nearer to the node."""
_OTHERS = {
    "rack": ("oci.oraclecloud.com/host.rack_id", "topology.gpustack.ai/rack"),
    "block": (
        "oci.oraclecloud.com/rdma.local_block_id",
        "oci.oraclecloud.com/host.network_block_id",
        "ib/torset",
        "topology.gpustack.ai/switch",
    ),
    "fabric_domain": (
        "ds.coreweave.com/nvlink.domain",
        "topology.k8s.aws/ultraserver-id",
        "topology.gpustack.ai/accelerator-domain",
    ),
}
"""Labels that name a place otherwise than the cloud's own services do: by a hash, or by an operator's name."""
_TOPOGRAPH = {
    "block": (
        "fabric.topograph.run/tier-0",
        *(f"network.topology.nvidia.com/{name}" for name in ("leaf", "block", "tier-0", "tier-1")),
    ),
    "fabric_domain": ("accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator"),
}
"""The nearest tier has had four names; long values are written as hashes."""
_PROVIDERS = {"aws": "aws", "gce": "gcp", "azure": "azure", "oci": "oci", "ocid1": "oci"}
"""By how a node's `providerID` begins."""
_CLOUD_LABELS = {
    "topology.k8s.aws/": "aws",
    "eks.amazonaws.com/": "aws",
    "cloud.google.com/": "gcp",
    "kubernetes.azure.com/": "azure",
    "oci.oraclecloud.com/": "oci",
}
KEPT = frozenset(
    [_CLIQUE, *(label for group in (_OWN, _OTHERS, _TOPOGRAPH) for labels in group.values() for label in labels)]
)
"""The labels that are read; all others are an operator's own business."""
LONGEST = 253


def kept(labels: Mapping[str, object]) -> Dict[str, str]:
    """The labels that are read."""
    return {name: text for name in sorted(KEPT) if (text := _text(labels.get(name))) is not None}


def provider(labels: Mapping[str, object], provider_id: object) -> Optional[str]:
    """The cloud by the node's `providerID`, else by the labels that only one cloud gives."""
    start = re.match("[a-z0-9]{1,20}", provider_id) if isinstance(provider_id, str) else None
    if start and start[0] in _PROVIDERS:
        return _PROVIDERS[start[0]]
    found = {cloud for prefix, cloud in _CLOUD_LABELS.items() if any(name.startswith(prefix) for name in labels)}
    return found.pop() if len(found) == 1 else None


def placements(labels: Mapping[str, object], cloud: Optional[str] = None) -> Tuple[Placement, ...]:
    """Where the node stands: by Kubernetes' and the cloud's labels, by those of others, and by Topograph's."""
    own = _placement(_OWN, labels, EVIDENCE)
    clique = _text(labels.get(_CLIQUE))
    if clique and _CLIQUE_FORM.fullmatch(clique):
        own = replace(own, fabric_domain=clique)
    others, topograph = _placement(_OTHERS, labels, EVIDENCE), _placement(_TOPOGRAPH, labels, TOPOGRAPH)
    told = (replace(own, provider=cloud), others, topograph)
    return tuple(one for one in told if one != Placement(evidence=one.evidence))


def _placement(group: Mapping[str, Tuple[str, ...]], labels: Mapping[str, object], evidence: str) -> Placement:
    said: Dict[str, Any] = {
        field: next((text for name in names if (text := _text(labels.get(name))) is not None), None)
        for field, names in group.items()
    }
    return Placement(evidence=(evidence,), **said)


def _text(value: object) -> Optional[str]:
    return value.strip()[:LONGEST] or None if isinstance(value, str) else None
