"""Documents that say where hosts stand: what is read of them, what is dropped, and what damage costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metadata_server import CANARY
from raxl.collect import assemble, inputs, machines
from raxl.errors import NoNodes
from raxl.model.node import Node
from raxl.model.placement import Placement
from raxl.render import node_heading
from raxl.render.text import UNBREAKABLE, Page
from raxl.sources import hostlist, node_labels


def nodes(text: str) -> tuple[Node, ...]:
    found = machines.together(inputs._from_bytes(text.encode(), "given"))
    for recording in found:
        assert not any(CANARY in str(answer.value) for answer in recording.answers.values())
    return assemble.inventory(found).nodes


def places(text: str) -> dict[str, Placement]:
    return {node.name: node.placement for node in nodes(text)}


AZURE: dict[str, Any] = {
    "compute": {
        "name": "vm-7",
        "vmSize": "Standard_ND96isr_H100_v5",
        "location": "eastus",
        "zone": "2",
        "placementGroupId": "f67c14ab-e92c-408c-ae2d-da15866ec79a",
        "platformFaultDomain": "4",
        "userData": CANARY,
        "osProfile": {"adminUsername": CANARY, "computerName": "gpu-7"},
        "publicKeys": [{"keyData": CANARY}],
    },
    "network": {},
}


def test_azure() -> None:
    """A fault domain is no rack; an old answer without interconnect groups tells the placement group."""
    assert places(json.dumps(AZURE)) == {
        "gpu-7": Placement(
            "azure",
            "Standard_ND96isr_H100_v5",
            "eastus",
            "eastus-2",
            block="f67c14ab-e92c-408c-ae2d-da15866ec79a",
            evidence=("azure-imds",),
        )
    }


def test_oracle_s_three_objects_are_one_host() -> None:
    text = (
        f'{{"shape": "BM.GPU.H100.8", "region": "phx", "canonicalRegionName": "us-phoenix-1", "metadata": "{CANARY}",\n'
        f' "availabilityDomain": "Uocm:PHX-AD-2", "displayName": "gpu-1"}}\n{{"id": "{CANARY}", "rackId": "r-1"}}'
    )
    (place,) = places(text).values()
    assert (place.instance_type, place.zone, place.rack) == ("BM.GPU.H100.8", "PHX-AD-2", "r-1")
    whole = json.dumps({"instance": {"shape": "BM.GPU.H100.8", "region": "iad"}, "host": {"rackId": "r-1"}})
    (place,) = places(whole).values()
    assert (place.instance_type, place.region, place.rack) == ("BM.GPU.H100.8", "iad", "r-1")


@pytest.mark.parametrize(
    ("network", "block"),
    [(["nn-1", "nn-2", "nn-3"], "nn-3"), (["nn-1", "nn-2", "nn-3", "nn-4"], "nn-4"), ([], None)],
    ids=["three tiers", "four tiers", "none"],
)
def test_aws_names_the_nearest_switch_last(network: list[str], block: str | None) -> None:
    instance = {
        "InstanceId": "i-0123456789abcdef0",
        "InstanceType": "p6-b200.48xlarge",
        "NetworkNodes": network,
        "AvailabilityZone": "us-west-2-lax-1a",
        "CapacityBlockId": "null",
    }
    assert places(json.dumps({"Instances": [instance]})) == {
        "i-0123456789abcdef0": Placement(
            "aws", "p6-b200.48xlarge", "us-west-2", "us-west-2-lax-1a", block=block, evidence=("aws-instance-topology",)
        )
    }


@pytest.mark.parametrize("unnamed", [{}, {"InstanceId": None}, {"InstanceId": ""}])
def test_an_entry_of_aws_without_an_instance_is_shown_and_told(unnamed: dict[str, Any]) -> None:
    common = {"InstanceType": "p5.48xlarge", "AvailabilityZone": "us-west-2a"}
    entries = [{"InstanceId": "i-1"}, unnamed, unnamed]
    listed = [{**one, **common, "NetworkNodes": ["nn-1", f"nn-{n}"]} for n, one in enumerate(entries, 2)]
    found = nodes(json.dumps({"Instances": listed}))
    assert [(node.name, node.placement.block) for node in found] == [
        ("i-1", "nn-2"),
        ("given", "nn-3"),
        ("given-2", "nn-4"),
    ]
    told = [[one.message for one in node.problems if one.reason == "failed"] for node in found]
    words = ["the entry has no InstanceId: whose place it tells is not known"]
    assert told == [[], words, words]
    (alone,) = nodes(json.dumps({"Instances": listed[1:2]}))
    assert (alone.name, alone.placement.block) == ("given", "nn-3")


def test_a_document_that_is_cut_off_tells_what_stands_before() -> None:
    text = json.dumps({"Instances": [{"InstanceId": f"i-{n}", "NetworkNodes": ["nn-1", "nn-2"]} for n in range(3)]})
    found = nodes(text[:-20])
    assert [(node.name, node.placement.block) for node in found][:2] == [("i-0", "nn-2"), ("i-1", "nn-2")]
    assert any(one.reason == "failed" and "damaged" in one.message for node in found for one in node.problems)


def test_netq_tells_the_domain_and_an_ill_node() -> None:
    text = json.dumps(
        [{"Name": f"node{n}", "DomainUUID": "3f-uuid", "Health": h} for n, h in ((1, "HEALTHY"), (2, "BAD"))]
    )
    first, second = nodes(text)
    assert first.placement.fabric_domain == second.placement.fabric_domain == "3f-uuid"
    assert [one.message for one in second.problems if one.subject == "links.fabric"] == [
        "NetQ says that the node's health is BAD"
    ]
    assert not [one for one in first.problems if one.subject == "links.fabric"]


@pytest.mark.parametrize("network", ["x", None, 7, {"a": "b"}, ["nn-1", None]], ids=str)
def test_an_entry_that_is_malformed_leaves_the_block_open(network: object) -> None:
    sound = {"InstanceId": "i-1", "NetworkNodes": ["nn-1", "nn-2"], "AvailabilityZone": "us-east-1a"}
    broken = {"InstanceId": "i-2", "NetworkNodes": network, "AvailabilityZone": "us-east-1a"}
    one, other = nodes(json.dumps({"Instances": [sound, broken]}))
    assert (one.name, one.placement.block, one.placement.zone) == ("i-1", "nn-2", "us-east-1a")
    assert (other.name, other.placement.block, other.placement.zone) == ("i-2", None, "us-east-1a")
    assert [(told.reason, told.message) for told in other.problems if told.subject == "placement.block"] == [
        ("failed", "NetworkNodes is no list of names: which switch is nearest is not known")
    ]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"Instances": []}', "cloud metadata"),
        ('{"apiVersion": "v1", "items": [], "kind": "List", "metadata": {"resourceVersion": ""}}', "kubectl get nodes"),
        ("apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: ''\n", "kubectl get nodes"),
    ],
    ids=["aws", "kubectl -o json", "kubectl -o yaml"],
)
def test_a_list_without_a_node_is_known_and_empty(text: str, form: str) -> None:
    with pytest.raises(NoNodes) as told:
        nodes(text)
    assert (str(told.value), told.value.exit_code) == (f"given is empty ({form} that lists no node)", 4)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("is_whole", [True, False])
def test_google_s_metadata_as_a_whole(indent: int | None, is_whole: bool) -> None:
    instance = {
        "attributes": {"ssh-keys": CANARY, "physical_host": "/b-1/s-1/h-1"},
        "hostname": "n1.c.example.internal",
        "machineType": "projects/1/machineTypes/a4-highgpu-8g",
        "zone": "projects/1/zones/us-central1-a",
    }
    document = {"instance": instance, "project": {"projectId": CANARY}} if is_whole else instance
    place = Placement("gcp", "a4-highgpu-8g", "us-central1", "us-central1-a", "s-1", "b-1", evidence=("gcp-metadata",))
    assert places(json.dumps(document, indent=indent)) == {"n1": place}
    bare = {"instance": {"attributes": {"physical_host": "/b-1/s-1/h-1"}}, "project": {}}
    (found,) = places(json.dumps(bare, indent=indent)).values()
    assert (found.provider, found.block, found.rack) == ("gcp", "b-1", "s-1")


@pytest.mark.parametrize(
    "text",
    [
        '{"cluster": "c", "block": "b-1", "subBlock": "s-1", "host": "h-1"}',
        '{"block": "b-1", "subblock": "s-1"}',
        '{"physical_host_topology": "{\\"block\\": \\"b-1\\", \\"subBlock\\": \\"s-1\\"}"}',
        "physical_host: /b-1/s-1/h-1\n",
        "n1  physical_host /b-1/s-1/h-1\r\n",
    ],
)
def test_google_s_place_is_block_and_sub_block(text: str) -> None:
    (place,) = places(text).values()
    assert (place.provider, place.block, place.rack) == ("gcp", "b-1", "s-1")


def test_the_heading_says_where_the_node_stands() -> None:
    block = "ocid1.computelocalblock.oc1.iad.anuwcljrg5pyaeycajoqlss"
    text = f'{{"customerLocalBlock": "{block}", "customerNetworkBlock": "n", "rackId": "r-7", "displayName": "gpu-1"}}'
    (line, *_) = node_heading.heading(Page(), nodes(text)[0])
    assert "".join(part for part, _ in line).replace(UNBREAKABLE, " ") == "gpu-1  oci · block ocid…joqlss, rack r-7"


CLIQUE = "7e2c0000-0000-4000-8000-0000000000f1.3"
LABELS = {
    "topology.kubernetes.io/region": "us-central1",
    "topology.kubernetes.io/zone": "us-central1-a",
    "node.kubernetes.io/instance-type": "a4x-highgpu-4g",
    "cloud.google.com/gce-topology-block": "b-1",
    "cloud.google.com/gce-topology-subblock": "s-1",
    "nvidia.com/gpu.clique": CLIQUE,
    "team/secret": CANARY,
}


def kubernetes_node(name: str, labels: dict[str, str], provider: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"x": CANARY}},
        "spec": {"providerID": provider},
        "status": {"addresses": [{"address": CANARY}]},
    }


def test_kubectl_get_nodes_as_json_and_as_yaml() -> None:
    items = [kubernetes_node("n1.example.net", LABELS, "gce://p/us-central1-a/x"), kubernetes_node("n2", {})]
    document = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=2)
    expected = {
        "n1": Placement(
            "gcp",
            "a4x-highgpu-4g",
            "us-central1",
            "us-central1-a",
            "s-1",
            "b-1",
            fabric_domain=CLIQUE,
            evidence=("kubernetes",),
        ),
        "n2": Placement(),
    }
    assert places(document) == expected
    labels = "".join(f"      {name}: {value}\n" for name, value in LABELS.items())
    text = (
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: n1.example.net\n    labels:\n"
        f"{labels}  spec:\n    providerID: gce://p/z/x\n- kind: Node\n  metadata:\n    name: n2\nkind: List\n"
    )
    assert places(text) == expected


def test_nodes_whose_short_names_are_equal_stay_apart() -> None:
    items = [kubernetes_node(f"n1.rack{n}", {"topology.kubernetes.io/rack": f"r{n}"}) for n in (1, 2)]
    assert {name: place.rack for name, place in places(json.dumps({"kind": "List", "items": items})).items()} == {
        "n1.rack1": "r1",
        "n1.rack2": "r2",
    }


@pytest.mark.parametrize(
    ("labels", "block", "domain"),
    [
        ({"fabric.topograph.run/tier-0": "t0", "accelerator.topograph.run/domain": "d"}, "t0", "d"),
        ({"network.topology.nvidia.com/block": "b", "network.topology.nvidia.com/accelerator": "d"}, "b", "d"),
        ({"network.topology.nvidia.com/leaf": "l", "network.topology.nvidia.com/spine": "s"}, "l", None),
        ({"network.topology.nvidia.com/tier-1": "t1", "network.topology.nvidia.com/tier-2": "t2"}, "t1", None),
        ({"topology.k8s.aws/network-node-layer-1": "a", "topology.k8s.aws/network-node-layer-3": "c"}, "c", None),
        ({"oci.oraclecloud.com/rdma.local_block_id": "l", "oci.oraclecloud.com/rdma.hpc_island_id": "i"}, "l", None),
        ({"ds.coreweave.com/nvlink.domain": "nvl"}, None, "nvl"),
        ({"nvidia.com/gpu.clique": "00000000-0000-0000-0000-000000000000.0"}, None, None),
        ({"nvidia.com/gpu.clique": ""}, None, None),
        ({"ib/torset": "t"}, "t", None),
    ],
)
def test_every_spelling_of_labels_is_read(labels: dict[str, str], block: str | None, domain: str | None) -> None:
    (place,) = places(json.dumps(kubernetes_node("n1", labels))).values()
    assert (place.block, place.fabric_domain) == (block, domain)


@pytest.mark.parametrize(
    ("labels", "provider", "cloud"),
    [
        ({}, "aws:///us-west-2a/i-1", "aws"),
        ({}, "azure:///subscriptions/x", "azure"),
        ({}, "ocid1.instance.oc1.x", "oci"),
        ({"cloud.google.com/gke-nodepool": "p"}, "", "gcp"),
        ({"eks.amazonaws.com/nodegroup": "p", "cloud.google.com/gke-nodepool": "p"}, "", None),
        ({}, "kind://docker/x", None),
    ],
)
def test_the_cloud_of_a_node(labels: dict[str, str], provider: str, cloud: str | None) -> None:
    assert node_labels.provider(labels, provider) == cloud


SHOWN = """$ scontrol show topo
SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[3-4]
"""


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (SHOWN, {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}),
        (SHOWN.replace("\n", "\r\n"), {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}),
        ("BlockName=b1 BlockIndex=0 Nodes=n[01-02] BlockSize=2\nBlockSizes=2,4\n", {"n01": "b1", "n02": "b1"}),
        ("switchname=s0 nodes=a,b2\n", {"a": "s0", "b2": "s0"}),
        ("- topology: t\n  block:\n    blocks:\n      - block: b1\n        nodes: n[1-2]\n", {"n1": "b1", "n2": "b1"}),
    ],
    ids=["tree", "CRLF", "block", "lower case", "yaml"],
)
def test_slurm_s_network(text: str, blocks: dict[str, str]) -> None:
    found = places(text)
    assert {name: place.block for name, place in found.items()} == blocks
    assert {place.evidence for place in found.values()} == {("slurm",)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[008-010]x", ["n008x", "n009x", "n010x"]),
        ("a,b[1-2],c", ["a", "b1", "b2", "c"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a,n[1-", ["a"]),
        ("a[1,2]b[3", []),
        ("n[]", []),
        ("n[5-2]", []),
        ("", []),
    ],
)
def test_hostlists(text: str, names: list[str]) -> None:
    assert hostlist.names(text) == names


def test_a_hostlist_is_never_longer_than_a_cluster() -> None:
    assert len(hostlist.names("n[0-999999999][0-999999999]")) <= hostlist.MOST_NAMES
    assert len(hostlist.names(",".join(["n[0-999999999]"] * 100))) == hostlist.MOST_NAMES


MODEL = """switches:
  core:
    labels:
      topology.kubernetes.io/region: us-east
    switches:
    - leaf1
blocks:
- switch: leaf1
  nodes: ["n[1-2]"]
  annotations:
    accelerator.topology.test/domain: nvl1
"""


def test_topograph_s_model() -> None:
    expected = Placement(region="us-east", block="leaf1", fabric_domain="nvl1", evidence=("topograph",))
    assert places(MODEL) == {"n1": expected, "n2": expected}
