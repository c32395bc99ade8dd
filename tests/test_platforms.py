"""Where a node stands, asked of servers that answer as each cloud's metadata service does, well and badly."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metadata_server as server
from raxl.collect import assemble, placement
from raxl.host import Answer, Question, allowed_metadata, snapshot
from raxl.host.metadata import Metadata
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.host.stand_in import VARIABLE
from raxl.model.accelerator import Accelerator, Fabric
from raxl.model.placement import Placement
from raxl.plugins import registry

RAXL = (sys.executable, "-m", "raxl")
FOLDER = "/sys/class/dmi/id"
CLUSTER = "7e2c0000-0000-4000-8000-0000000000f1"


def recorded(cloud: str, address: str) -> Recording:
    """What a node of this cloud is told by the server at this address."""
    recording = Recording(
        {Question("text", f"{FOLDER}/{name}"): Answer(value) for name, value in server.FIRMWARE[cloud].items()}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, address)
        metadata = Metadata()
        for path in allowed_metadata.paths(cloud):
            recording.answers[Question("metadata", f"{cloud} {path}")] = metadata.ask(cloud, path)
    return recording


def place(cloud: str, respond: server.Respond) -> tuple[Placement, str]:
    """Where the node stands, and why no more is known."""
    with server.serving(respond) as (address, _):
        node = assemble.node(recorded(cloud, address))
    (problem,) = [one for one in node.problems if one.subject == "placement"]
    return node.placement, problem.reason


@pytest.mark.parametrize(
    ("cloud", "respond", "expected"),
    [
        ("aws", server.aws, Placement("aws", "p5en.48xlarge", "us-west-2", "us-west-2a", evidence=("aws-imds", "dmi"))),
        (
            "gcp",
            server.gcp,
            Placement(
                "gcp", "a3-megagpu-8g", "us-central1", "us-central1-a", "s-1", "b-1", evidence=("gcp-metadata", "dmi")
            ),
        ),
        (
            "azure",
            server.azure,
            Placement(
                "azure",
                "Standard_ND128isr_NDR_GB200_v6",
                "eastus2",
                "eastus2-3",
                rack="6a1f0000-0000-4000-8000-000000000002",
                block="6a1f0000-0000-4000-8000-000000000001",
                evidence=("azure-imds", "dmi"),
            ),
        ),
        (
            "azure",
            server.azure_of_old,
            Placement("azure", "Standard_ND96isr_H100_v5", "eastus", evidence=("azure-imds", "dmi")),
        ),
        (
            "oci",
            server.oci,
            Placement(
                "oci",
                "BM.GPU.GB200-v3.4",
                "us-phoenix-1",
                "PHX-AD-1",
                rack="rack-7",
                block="local-1",
                fabric_domain="fabric-1",
                evidence=("oci-imds", "dmi"),
            ),
        ),
    ],
    ids=["aws", "gcp", "azure", "azure, an older region", "oci"],
)
def test_each_cloud_says_where_a_node_stands(cloud: str, respond: server.Respond, expected: Placement) -> None:
    assert place(cloud, respond) == (expected, "not-asked")


def test_google_s_older_attribute_and_a_tpu_slice_are_read() -> None:
    def respond(method: str, path: str, headers: Any) -> server.Page:
        held = {
            "attributes/physical_host": "/b-9/s-9/h-9",
            "attributes/tpu-env": "ACCELERATOR_TYPE: 'v5p-16'\nTOPOLOGY: '2x2x2'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\n"
            f"HOST_BOUNDS: '1,1,2'\nNODE_ID: 'slice-c'\nWORKER_ID: '1'\nSECRET: '{server.CANARY}'\n",
        }
        value = held.get(path.removeprefix("/computeMetadata/v1/instance/"))
        return server.text(value or "", 200 if value else 404, Metadata_Flavor="Google")

    found, _ = place("gcp", respond)
    assert (found.block, found.rack, found.zone) == ("b-9", "s-9", None)
    assert (found.slice, found.slice_topology, found.worker_index) == ("slice-c", "2x2x2", 1)
    assert found.fabric_domain == "slice-c"


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (lambda *_: server.text("", 404), "not-present"),
        (lambda *_: server.text("", 401), "not-permitted"),
        (lambda *_: server.text("", 403), "not-permitted"),
        (lambda *_: server.text("", 500), "failed"),
        (lambda *_: server.text("", 302, Location="http://127.0.0.1:9/"), "failed"),
        (lambda *_: server.text("<html>Log in to the network</html>"), "failed"),
        (lambda *_: server.text("[" * 50_000), "failed"),
        (lambda *_: server.text("{" + " " * (1 << 20) + "}"), "failed"),
    ],
    ids=["404", "401", "403", "500", "redirect", "html", "deep", "huge"],
)
@pytest.mark.parametrize("cloud", ["aws", "azure", "oci", "gcp"])
def test_a_service_that_refuses_leaves_the_place_unknown(
    cloud: str, respond: server.Respond, reason: str, request: pytest.FixtureRequest
) -> None:
    """The firmware still says whose machine it is."""
    found, why = place(cloud, respond)
    if cloud == "gcp" and why == "failed":
        reason = "failed"  # what does not call itself Google's is not believed
    assert (found.provider, found.region, found.evidence) == (cloud, None, ("dmi",))
    assert why == reason


def test_a_redirect_is_not_followed() -> None:
    with server.serving(server.oci) as (other, asked):
        place("oci", lambda method, path, headers: server.text("", 302, Location=other + path))
        assert asked == []


@pytest.mark.parametrize("lines", [server.silence, server.trickle], ids=["silent", "a byte now and then"])
@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure", "oci"])
def test_all_questions_together_wait_a_second(cloud: str, lines: Callable[[], Any]) -> None:
    with server.speaking(lines) as address:
        begun = time.monotonic()
        recording = recorded(cloud, address)
        taken = time.monotonic() - begun
    assert {answer.reason for question, answer in recording.answers.items() if question.kind == "metadata"} == {
        "timed-out"
    }
    assert 0.9 < taken < 1.5
    (problem,) = [one for one in assemble.node(recording).problems if one.subject == "placement"]
    assert problem.reason == "timed-out"


@pytest.mark.parametrize("said", [b"", b"\0\1\2", b"HTTP/1.1 200\r\n" + b"a: b\r\n" * 500 + b"\r\n", b"SSH-2.0-x\r\n"])
def test_what_does_not_speak_http_has_failed(said: bytes) -> None:
    with server.speaking(lambda: iter([said])) as address:
        (reasons,) = (
            {answer.reason for q, answer in recorded("oci", address).answers.items() if q.kind == "metadata"},
        )
    assert reasons == {"failed"}


def test_a_port_that_is_closed_has_failed() -> None:
    answers = recorded("azure", "http://127.0.0.1:9").answers
    answer = answers[Question("metadata", f"azure {allowed_metadata.AZURE_NEW}")]
    assert (answer.reason, answer.message) == ("failed", "Azure's metadata service cannot be asked: Connection refused")


@pytest.mark.parametrize("address", ["http://203.0.113.1:80", "https://127.0.0.1:1", "http://127.0.0.1.example.net:80"])
def test_only_a_server_on_the_loopback_address_stands_in(address: str) -> None:
    """The clouds' headers go nowhere else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, address)
        assert Metadata().ask("oci", "host").reason == "failed"


@pytest.mark.parametrize("path", ["user-data", "iam/info", "../user-data", "instance-type/../../user-data", ""])
def test_what_the_list_does_not_name_is_not_asked(path: str) -> None:
    with server.serving(server.aws) as (address, asked), pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, address)
        assert Metadata().ask("aws", path).reason == "not-permitted"
        assert asked == []


def run(*arguments: str, root: Path, address: str) -> bytes:
    environment = {
        **os.environ,
        "RAXL_HOST_ROOT": str(root),
        VARIABLE: address,
        "http_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run([*RAXL, *arguments], env=environment, capture_output=True, check=False, timeout=60)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def root_of(folder: Path, firmware: dict[str, str]) -> Path:
    place = folder / "root" / FOLDER[1:]
    place.mkdir(parents=True)
    for name, value in firmware.items():
        (place / name).write_text(value + "\n")
    return folder / "root"


@pytest.mark.parametrize(
    ("cloud", "respond"), [("aws", server.aws), ("gcp", server.gcp), ("azure", server.azure), ("oci", server.oci)]
)
def test_a_live_run_is_recorded_without_secrets_and_replays_to_the_same_bytes(
    cloud: str, respond: server.Respond, tmp_path: Path
) -> None:
    root, path = root_of(tmp_path, server.FIRMWARE[cloud]), tmp_path / "node.tar.gz"
    with server.serving(respond) as (address, asked):
        live = run("topo", "--format", "json", "--record", str(path), root=root, address=address)
    assert asked
    (node,) = json.loads(live)["nodes"]
    assert node["source"] == f"local, metadata of {address}"
    assert (node["placement"]["provider"], node["placement"]["evidence"][-1]) == (cloud, "dmi")
    assert node["placement"]["region"]
    content = path.read_bytes() + gzip.decompress(path.read_bytes())
    assert server.CANARY.encode() not in content + live
    assert server.TOKEN.encode() not in content + live
    assert run("topo", "--format", "json", "--from", str(path), root=root, address="") == live


def test_what_another_hand_put_into_a_snapshot_passes_the_same_door() -> None:
    with server.serving(server.azure) as (address, _):
        recording = recorded("azure", address)
    held = {name.partition("/")[2]: content for name, content in snapshot.members([recording])}
    (path,) = [name for name in held if name.endswith("metadata/azure.jsonl")]
    instance = json.dumps({"compute": {"vmSize": "Standard_X", "userData": server.CANARY}})
    held[path] = b"".join(
        json.dumps({"path": name, "value": instance}).encode() + b"\n"
        for name in (allowed_metadata.AZURE_NEW, "instance/compute/userData")
    )
    (edited,) = snapshot.read(held, "edited")
    assert not any(server.CANARY in str(answer.value) for answer in edited.answers.values())
    assert not any("userData" in question.subject for question in edited.answers)
    assert assemble.node(edited).placement.instance_type == "Standard_X"


def test_a_redacted_snapshot_names_no_identifier_of_the_cloud() -> None:
    ocid = "ocid1.computelocalblock.oc1.iad.anuwcljrg5pyaeycajoqlss"
    recording = Recording(
        {Question("text", f"{FOLDER}/chassis_asset_tag"): Answer("OracleCloud.com")}, name="node", recorded_by="0"
    )
    recording.answers[Question("metadata", "oci host/rdmaTopologyData")] = Answer(
        json.dumps({"customerLocalBlock": ocid})
    )
    recording.answers[Question("text", "/etc/slurm/topology.conf")] = Answer("SwitchName=s1 Nodes=secret-host[1-9]\n")
    redacted = Redactor(b"key").recording(recording)
    block = assemble.node(redacted).placement.block or ""
    assert (block[:32], len(block)) == (ocid[:32], len(ocid))
    assert block != ocid
    assert not any("secret-host" in str(answer.value) for answer in redacted.answers.values())


def test_a_machine_of_no_cloud_asks_nobody(tmp_path: Path) -> None:
    root = root_of(tmp_path, {"sys_vendor": "Supermicro", "product_name": "SYS-821GE-TNHR", "chassis_asset_tag": "x"})
    with server.serving(server.aws) as (address, asked):
        (node,) = json.loads(run("topo", "--format", "json", root=root, address=address))["nodes"]
    assert asked == []
    assert [one["reason"] for one in node["problems"] if one["subject"] == "placement"] == ["not-asked"]


def test_another_machine_s_files_ask_no_cloud(tmp_path: Path) -> None:
    """A copied tree of a cloud's machine says nothing of the one that raxl runs on."""
    root = root_of(tmp_path, server.FIRMWARE["oci"] | {"product_name": "a machine that this one is not"})
    begun = time.monotonic()
    (node,) = json.loads(run("topo", "--format", "json", root=root, address=""))["nodes"]
    assert node["placement"]["evidence"] == ["dmi"]
    assert time.monotonic() - begun < 20


def test_the_more_trusted_is_believed_and_a_difference_told() -> None:
    """The label is of before the VM moved; the scheduler's names are its own, and contradict nobody."""
    cloud = Placement("gcp", "a4-highgpu-8g", "us-east1", "us-east1-b", "s-2", "b-2", evidence=("gcp-metadata",))
    label = Placement("gcp", "a4-highgpu-8g", "us-east1", "us-east1-b", "s-1", "b-1", evidence=("kubernetes",))
    slurm = Placement(block="leaf-7", evidence=("slurm",))
    found, problems = placement.merged([slurm, label, cloud])
    assert (found.rack, found.block, found.evidence) == ("s-2", "b-2", ("gcp-metadata", "kubernetes"))
    assert [(one.subject, one.message) for one in problems] == [
        ("placement.rack", "gcp-metadata says s-2, kubernetes says s-1"),
        ("placement.block", "gcp-metadata says b-2, kubernetes says b-1"),
    ]


def test_an_nvlink_domain_is_told_two_ways_only_where_both_are_cliques() -> None:
    device = Placement(fabric_domain=f"{CLUSTER}.3", evidence=("nvml",))
    fabric = Placement("oci", fabric_domain="ocid1.fabric", evidence=("oci-imds",))
    label = Placement(fabric_domain=f"{CLUSTER}.4", evidence=("kubernetes",))
    found, problems = placement.merged([label, fabric, device])
    assert found.fabric_domain == f"{CLUSTER}.3"
    assert [one.message for one in problems] == [f"nvml says {CLUSTER}.3, kubernetes says {CLUSTER}.4"]


def test_topograph_and_slurm_are_held_against_each_other() -> None:
    topograph = Placement(block="leaf 1!", evidence=("topograph",))
    slurm = Placement(block="leaf1", evidence=("slurm",))
    found, problems = placement.merged([slurm, topograph])
    assert (found.block, found.evidence) == ("leaf 1!", ("topograph",))
    assert [(one.subject, one.message) for one in problems] == [
        ("placement.block", "topograph says leaf 1!, slurm says leaf1")
    ]
    agreed, none = placement.merged([slurm, replace(topograph, block="leaf1")])
    assert (agreed.evidence, none) == (("topograph", "slurm"), ())


@pytest.mark.parametrize("zero", [None, "00000000-0000-0000-0000-000000000000"])
def test_a_label_does_not_join_a_node_whose_fabric_ends_there(zero: str | None) -> None:
    label = Placement("gcp", zone="us-east1-b", fabric_domain=f"{CLUSTER}.4", evidence=("kubernetes",))
    alone = [gpu(number, Fabric(zero, "0", "completed")) for number in range(2)]
    ((found,), (problem,)) = placement.of_domain(alone, [label])
    assert (found.fabric_domain, found.zone) == (None, "us-east1-b")
    assert (problem.subject, problem.reason) == ("placement.fabric_domain", "disagreement")
    assert problem.message == (
        f"nvml says that the NVLink fabric ends at this node (cluster UUID zero), kubernetes says {CLUSTER}.4"
    )
    unknown = [gpu(0, Fabric(None, None, "in progress"))]
    assert placement.of_domain(unknown, [label]) == ([label], ())


def gpu(number: int, fabric: Fabric | None) -> Accelerator:
    return Accelerator(f"nvidia:{number}", "nvidia", "gpu", fabric=fabric, evidence=("sysfs", "nvml"))


@pytest.mark.parametrize(
    ("fabrics", "domain", "problems"),
    [
        ([Fabric(CLUSTER, "3", "completed")] * 4, f"{CLUSTER}.3", 0),
        ([Fabric(CLUSTER, "3", "completed"), None], f"{CLUSTER}.3", 0),
        ([Fabric(None, None, "completed")] * 4, None, 0),
        ([Fabric(None, None, "in progress")] * 4, None, 0),
        ([None] * 4, None, 0),
        ([Fabric(CLUSTER, "3", "completed"), Fabric(CLUSTER, "4", "completed")], None, 1),
        ([Fabric(CLUSTER, "3", "completed"), Fabric(None, None, "in progress")], None, 1),
    ],
    ids=["one", "one is lost", "zero UUID", "not completed", "none", "two", "one not completed"],
)
def test_the_nvlink_domain_of_a_node_is_that_of_all_its_gpus(
    fabrics: list[Fabric | None], domain: str | None, problems: int
) -> None:
    found, told = placement.of_fabric([gpu(number, fabric) for number, fabric in enumerate(fabrics)])
    assert (found.fabric_domain, len(told)) == (domain, problems)


CONF = """# topology.conf
SwitchName=leaf1 Nodes=gpu[01-08] LinkSpeed=50
SwitchName=leaf2 Nodes=gpu[09-12],\\
gpu[13-16]
SwitchName=core Switches=leaf[1-2]
"""
YAML = """---
- topology: blocks
  cluster_default: true
  block:
    block_sizes: [18]
    blocks:
      - block: b1
        nodes: gpu[01-18]
      - block: b2
        nodes: "gpu[19-36]"
- topology: tree
  tree:
    switches:
      - switch: leaf9
        nodes: gpu[01-36]
"""


@pytest.mark.parametrize(
    ("files", "environment", "block"),
    [
        ({"topology.conf": CONF}, {}, "leaf2"),
        ({"topology.conf": CONF, "topology.yaml": YAML}, {}, "b1"),
        ({}, {"SLURM_TOPOLOGY_ADDR": "core.leaf3.gpu14", "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node"}, "leaf3"),
        ({}, {"SLURM_TOPOLOGY_ADDR": "b7.gpu14", "SLURM_TOPOLOGY_ADDR_PATTERN": "block.node"}, "b7"),
        ({}, {"SLURM_TOPOLOGY_ADDR": "gpu14", "SLURM_TOPOLOGY_ADDR_PATTERN": "node"}, None),
        ({}, {"SLURM_TOPOLOGY_ADDR": "core.leaf3.gpu14"}, None),
        ({"topology.conf": "SwitchName=leaf1 Nodes=other[1-4]"}, {}, None),
        ({"topology.conf": "SwitchName= Nodes=[[[ \\"}, {}, None),
    ],
    ids=["tree", "yaml wins", "environment", "block", "flat", "no pattern", "not listed", "garbage"],
)
def test_slurm_says_the_leaf_switch_or_block(
    files: dict[str, str], environment: dict[str, str], block: str | None
) -> None:
    recording = Recording({Question("text", f"/etc/slurm/{name}"): Answer(text) for name, text in files.items()})
    recording.answers[Question("text", "/proc/sys/kernel/hostname")] = Answer("gpu14.example.net\n")
    recording.answers[Question("process", "environment")] = Answer(environment)
    found = assemble.node(recording).placement
    assert (found.block, found.evidence) == (block, ("slurm",) if block else ())


def test_the_table_of_platforms_is_that_of_the_entry_points() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["raxl.platforms"] == registry.PLATFORMS
