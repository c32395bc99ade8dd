"""One document of each form that says where a host stands."""

from __future__ import annotations

TEXTS = {
    "cloud metadata": 'gpu-07: {"customerHPCIslandId": "island-1", "customerNetworkBlock": "net-1", '
    '"customerLocalBlock": "local-1", "customerGpuMemoryFabric": "fabric-1", "rackId": "r-7"}\n',
    "gcp physical_host": "rank    hostname  physical_host\n0       gpu-07.c.example.internal       /b-1/s-1/h-1\n",
    "kubectl get nodes": """apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    labels:
      node.kubernetes.io/instance-type: a4x-highgpu-4g
      topology.kubernetes.io/region: us-central1
      topology.kubernetes.io/zone: us-central1-a
      cloud.google.com/gce-topology-block: b-1
      cloud.google.com/gce-topology-subblock: s-1
      nvidia.com/gpu.clique: 7e2c0000-0000-4000-8000-0000000000f1.3
    name: gpu-07
  spec:
    providerID: gce://example/us-central1-a/gpu-07
kind: List
""",
    "slurm topology": "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=gpu-07\n"
    "SwitchName=core Level=1 LinkSpeed=1 Nodes=gpu-07 Switches=leaf1\n",
    "topograph model": """switches:
  core:
    labels:
      topology.kubernetes.io/region: us-east
    switches:
    - leaf1
blocks:
- switch: leaf1
  nodes:
  - gpu-[07]
  annotations:
    accelerator.topology.test/domain: nvl1
""",
}
