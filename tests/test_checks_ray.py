"""Ray's view held against the hardware: resources, variables, ports, labels, versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recordings
from diagnosing import findings, statuses, told, variant
from raxl.checks.diagnosis import EVERYTHING, Wanted
from raxl.collect import inputs
from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.model.finding import Finding
from raxl.model.policy import Policy
from ray_views import WHOLE, on_ray, raylet, table, versions, view

OURS = (
    "ray.resource-vs-hardware",
    "ray.phantom-accelerator",
    "ray.partitions",
    "ray.accelerator-type",
    "ray.visible-devices",
    "ray.object-store",
    "ray.ports",
    "ray.labels",
    "ray.node-dead",
    "ray.version-skew",
    "ray.orphan-process",
    "tpu.in-use",
    "lib.cuda-driver",
    "lib.collectives",
    "lib.known-bad",
    "fleet.coverage",
    "fleet.version-outlier",
    "fleet.firmware-outlier",
    "fleet.config-outlier",
    "fleet.topology-outlier",
    "fleet.numeric-outlier",
)
GPU = "ray.GPU"
H100 = "nvidia-hgx-h100"


def environment(**variables: str) -> tuple[str, dict[str, str]]:
    return "process environment", variables


def one(check: str, recording: Recording) -> Finding:
    (found,) = told(check, recording)
    return found


@pytest.mark.parametrize("name", recordings.NAMES)
def test_nothing_is_wrong_with_a_machine_for_the_lack_of_a_ray(name: str) -> None:
    wanted = Wanted(only=OURS, level="deep")
    wrong = [one for one in findings(recordings.recording(name), wanted).findings if one.status in ("warn", "fail")]
    faults = {
        "nvidia-h100-mig": ["ray.partitions"],
        "nvidia-hgx-h100-sick": ["ray.object-store", "ray.orphan-process", "ray.resource-vs-hardware", "ray.ports"],
    }
    assert [one.check for one in wrong] == faults.get(name, [])


@pytest.mark.parametrize("check", OURS)
def test_a_machine_that_did_not_answer_is_well_in_nothing(check: str) -> None:
    silent = Recording(
        {Question("ray", "node"): Answer(view(resources={"GPU": 8})[1]), Question("ray", "cluster"): Answer(WHOLE)},
        name="node-a",
        recorded_by="0.1.0",
        unasked=Answer(None, "timed-out", "no answer within 20 s"),
        notes=(("node", "timed-out", "no answer within 20 s"),),
    )
    found = told(check, silent)
    assert found
    # That Ray has it as alive is Ray's own word.
    assert [one for one in found if one.status in ("ok", "warn", "fail")] == [
        one for one in found if check in ("ray.node-dead", "ray.ports")
    ]


@pytest.mark.parametrize(
    ("name", "resources", "subject", "status"),
    [
        (H100, {"GPU": 8.0, "CPU": 224.0}, GPU, "ok"),
        (H100, {"CPU": 224.0}, GPU, "fail"),
        (H100, {"GPU": 9.0}, GPU, "fail"),
        (H100, {"GPU": 4.0}, GPU, "warn"),
        ("nvidia-hgx-h100-gpu-lost", {"GPU": 8.0}, GPU, "fail"),
        ("nvidia-hgx-h100-gpu-lost", {"GPU": 7.0}, GPU, "ok"),
        ("none-cpu-server", {"CPU": 64.0}, "node", "ok"),
        ("none-cpu-server", {"GPU": 1.0}, GPU, "fail"),
        ("nvidia-pci-denied", {"TPU": 1.0}, "ray.TPU", "unknown"),
        ("nvidia-h100-mig", {"GPU": 1.0}, GPU, "skip"),
        ("neuron-trn2-ultraserver", {"neuron_cores": 64.0}, "ray.neuron_cores", "ok"),
        ("neuron-trn2-ultraserver", {"CPU": 192.0}, "ray.neuron_cores", "fail"),
        ("tpu-v6e-8", {"TPU": 8.0}, "ray.TPU", "ok"),
        ("amd-mi300x-spx", {"GPU": 8.0}, GPU, "ok"),
    ],
)
def test_what_ray_registered_is_held_against_the_hardware(
    name: str, resources: dict[str, float], subject: str, status: str
) -> None:
    found = statuses("ray.resource-vs-hardware", on_ray(name, **resources))
    assert found[subject] == status


def test_registered_as_much_as_is_there_says_why_a_driver_script_has_no_ids() -> None:
    """Ray #53919, #45674."""
    assert (
        "ray.get_gpu_ids() in a driver script is empty by design"
        in one("ray.resource-vs-hardware", on_ray("nvidia-l40s", GPU=4.0)).message
    )


def test_a_fault_of_the_count_says_both_numbers_and_the_flag() -> None:
    found = one("ray.resource-vs-hardware", on_ray(H100, GPU=4.0))
    assert found.message == "Ray registered 4 GPU, 8 can be used here"
    assert found.remedy is not None
    assert "--num-gpus 8" in found.remedy


def test_a_raylet_that_was_shown_a_few_registers_those() -> None:
    few = environment(CUDA_VISIBLE_DEVICES="0,1")
    assert statuses("ray.resource-vs-hardware", on_ray(H100, few, GPU=2.0)) == {GPU: "ok"}
    assert statuses("ray.resource-vs-hardware", on_ray(H100, environment(CUDA_VISIBLE_DEVICES=""))) == {GPU: "ok"}


def test_a_head_that_registered_none_may_be_meant_so() -> None:
    head = variant(H100, view(is_head=True, resources={"CPU": 8.0}), ("ray cluster", WHOLE))
    assert statuses("ray.resource-vs-hardware", head) == {GPU: "warn"}


def test_what_ray_would_make_of_a_node_counts_where_a_raylet_runs() -> None:
    recording = variant("nvidia-hgx-h100-gpu-lost", table(raylets=[raylet()]))
    found = one("ray.resource-vs-hardware", recording)
    assert (found.status, found.remedy_class) == ("warn", "config")
    assert "GPU 6 lost" in found.message
    assert "--num-gpus 7" in str(found.remedy)
    alone = one("ray.resource-vs-hardware", variant("nvidia-hgx-h100-gpu-lost", table()))
    assert alone.status == "skip"
    assert "GPU 6 lost" in alone.message


def test_a_tpu_on_a_machine_with_gpus_is_a_phantom_and_the_gpus_are_hidden() -> None:
    """Ray #63322, #45302, #65034: another driver's /dev/accel0, or a NIC's VFIO group."""
    recording = on_ray("nvidia-rtx-pro-6000-cx8", TPU=1.0, CPU=24.0)
    assert statuses("ray.phantom-accelerator", recording) == {"ray.TPU": "fail"}
    assert "hides NVIDIA RTX PRO 6000" in one("ray.phantom-accelerator", recording).message
    assert statuses("ray.resource-vs-hardware", recording) == {"ray.TPU": "fail", GPU: "fail"}


def test_a_phantom_where_the_bus_was_not_read_is_unknown() -> None:
    assert statuses("ray.phantom-accelerator", on_ray(H100, GPU=8.0)) == {"node": "ok"}
    assert statuses("ray.phantom-accelerator", on_ray(H100, CPU=8.0)) == {"node": "skip"}
    assert statuses("ray.phantom-accelerator", on_ray("nvidia-pci-denied", TPU=1.0)) == {"ray.TPU": "unknown"}
    assert statuses("ray.phantom-accelerator", variant(H100)) == {"node": "skip"}


@pytest.mark.parametrize(
    ("resources", "variables", "status", "words"),
    [
        ({"GPU": 1.0}, {}, "warn", "3 slices, Ray offers 1"),
        ({"GPU": 3.0}, {"CUDA_VISIBLE_DEVICES": "MIG-a,MIG-b,MIG-c"}, "ok", "3 slices, and Ray offers 3 GPU"),
        (None, {}, "warn", "3 slices, Ray will offer 1"),
        (None, {"CUDA_VISIBLE_DEVICES": "MIG-a"}, "warn", "3 slices, Ray will offer 1"),
    ],
)
def test_slices_that_ray_does_not_offer(
    resources: dict[str, float] | None, variables: dict[str, str], status: str, words: str
) -> None:
    """Ray #12413."""
    name, change = "nvidia-h100-mig", environment(**variables)
    recording = variant(name, change) if resources is None else on_ray(name, change, **resources)
    found = one("ray.partitions", recording)
    assert (found.status, found.message) == (status, words)


def test_gpus_that_are_whole_have_no_slices_to_offer() -> None:
    assert statuses("ray.partitions", on_ray(H100, GPU=8.0)) == {"node": "skip"}
    unasked = variant("nvidia-h100-mig", "process environment !unasked")
    assert statuses("ray.partitions", unasked) == {"node": "skip"}


@pytest.mark.parametrize(
    ("name", "kind", "status"),
    [(H100, "H100", "ok"), (H100, "A100", "fail"), ("nvidia-rtx-pro-6000-cx8", "RTX", "warn"), (H100, None, "skip")],
)
def test_accelerator_type(name: str, kind: str | None, status: str) -> None:
    labels = {"ray.io/accelerator-type": kind} if kind else {}
    recording = variant(name, view(labels=labels, resources={"GPU": 8.0}), ("ray cluster", WHOLE))
    assert statuses("ray.accelerator-type", recording) == {"node": status}
    resources = {f"accelerator_type:{kind}": 1.0} if kind else {}
    assert statuses("ray.accelerator-type", on_ray(name, **resources)) == {"node": status}


@pytest.mark.parametrize(
    ("name", "variables", "status", "words"),
    [
        (H100, {}, "ok", "no variable hides devices"),
        (H100, {"CUDA_VISIBLE_DEVICES": "0,1,7"}, "ok", "names what is there"),
        (H100, {"CUDA_VISIBLE_DEVICES": ""}, "ok", "hides all on purpose"),
        (H100, {"CUDA_VISIBLE_DEVICES": "-1"}, "ok", "hides all on purpose"),
        (H100, {"CUDA_VISIBLE_DEVICES": "0,8"}, "fail", "names 8, which is not here"),
        (H100, {"CUDA_VISIBLE_DEVICES": "0,1,0"}, "fail", "names 0 twice"),
        (H100, {"NVIDIA_VISIBLE_DEVICES": "all"}, "ok", "NVIDIA_VISIBLE_DEVICES=all"),
        (H100, {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES": "1"}, "ok", "RAY_EXPERIMENTAL_NOSET"),
        (H100, {"CUDA_VISIBLE_DEVICES": "GPU-ffffffff-0000-4000-8000-000000000001"}, "fail", "which is not here"),
        ("none-cpu-server", {"CUDA_VISIBLE_DEVICES": "0"}, "skip", "no device to name"),
        ("amd-mi300x-spx", {"HIP_VISIBLE_DEVICES": "0,1"}, "ok", "names what is there"),
        ("amd-mi300x-spx", {"HIP_VISIBLE_DEVICES": "0,8"}, "fail", "names 8, and there are 8"),
        ("amd-mi300x-spx", {"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "0"}, "ok", "name what is there"),
        ("amd-mi300x-spx", {"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, "fail", "differ"),
        ("amd-mi300x-spx", {"ROCR_VISIBLE_DEVICES": "0"}, "fail", "which Ray refuses"),
        ("amd-mi300x-spx", {"ROCR_VISIBLE_DEVICES": ""}, "ok", "hides all on purpose"),
        (
            "amd-mi300x-spx",
            {"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "2"},
            "fail",
            "names 2, and there are 2",
        ),
        ("nvidia-hgx-h100-gpu-lost", {"CUDA_VISIBLE_DEVICES": "5,6"}, "ok", "names what is there"),
        (
            "amd-mi300x-spx",
            {"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0,1"},
            "fail",
            "names 1, and there are 1",
        ),
        ("tpu-v6e-8", {"TPU_VISIBLE_CHIPS": "0,9"}, "fail", "names 9, which is not here"),
    ],
)
def test_visible_devices(name: str, variables: dict[str, str], status: str, words: str) -> None:
    """Ray #53737, #43314, #28064."""
    found = one("ray.visible-devices", variant(name, environment(**variables)))
    assert found.status == status
    assert words in found.message


def test_uuids_are_names_like_numbers_and_may_stand_once() -> None:
    (node,) = (recordings.recording(H100),)
    from raxl.collect import assemble

    uuids = [device.uuid for device in assemble.node(node).accelerators]
    assert uuids[0]
    assert uuids[1]
    good, twice = (
        environment(CUDA_VISIBLE_DEVICES=f"{uuids[1]},{uuids[0]}"),
        environment(CUDA_VISIBLE_DEVICES=f"{uuids[1]},{uuids[1]}"),
    )
    assert statuses("ray.visible-devices", variant(H100, good)) == {"node": "ok"}
    assert statuses("ray.visible-devices", variant(H100, twice)) == {"CUDA_VISIBLE_DEVICES": "fail"}


def test_the_raylets_variables_count_before_those_of_who_asks() -> None:
    asks, runs = (
        environment(CUDA_VISIBLE_DEVICES="99"),
        table(raylets=[raylet(environment={"CUDA_VISIBLE_DEVICES": "0"})]),
    )
    assert statuses("ray.visible-devices", variant(H100, asks, runs)) == {"node": "ok"}
    assert statuses("ray.visible-devices", on_ray(H100, asks, runs, GPU=8.0)) == {"node": "ok"}
    hidden = table(raylets=[raylet(environment=None)])
    assert statuses("ray.visible-devices", variant(H100, asks, hidden)) == {"CUDA_VISIBLE_DEVICES": "fail"}


def test_a_range_of_cores_is_one_to_ray_alone() -> None:
    cores = environment(NEURON_RT_VISIBLE_CORES="0-63")
    assert statuses("ray.visible-devices", variant("neuron-trn2-ultraserver", cores)) == {"node": "ok"}
    found = one("ray.visible-devices", on_ray("neuron-trn2-ultraserver", cores, neuron_cores=1.0))
    assert found.status == "fail"
    assert "which Ray takes for one" in found.message


def test_variables_that_nobody_read_are_unknown() -> None:
    assert statuses("ray.visible-devices", variant(H100, "process environment !denied")) == {"node": "unknown"}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, "ok"),
        ({"arguments": {"object_store_memory": str(95 << 30)}}, "ok"),
        ({"arguments": {"object_store_memory": str(96 << 30)}}, "fail"),
        ({"plasma": {"kind": "ext4", "size_bytes": 1 << 40}, "arguments": {"plasma_directory": "/tmp/ray"}}, "fail"),
        (
            {
                "plasma": {"kind": "xfs", "size_bytes": 1 << 40},
                "environment": {"RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE": "1"},
            },
            "warn",
        ),
        ({"plasma": None}, "unknown"),
        ({"plasma": {"kind": "tmpfs", "size_bytes": None}}, "unknown"),
    ],
)
def test_object_store(changed: dict[str, Any], status: str) -> None:
    recording = variant(H100, table(raylets=[raylet(**changed)]))
    assert statuses("ray.object-store", recording) == {"raylet 41": status}


def test_an_object_store_of_which_nobody_saw_the_raylet() -> None:
    assert statuses("ray.object-store", variant(H100, table())) == {"node": "skip"}
    assert statuses("ray.object-store", on_ray(H100, table(), GPU=8.0)) == {"node": "unknown"}
    denied = "process processes !denied"
    assert statuses("ray.object-store", on_ray(H100, denied, GPU=8.0)) == {"node": "unknown"}


def test_ports() -> None:
    """Ray #50419, #46548, #54365."""
    random = table(raylets=[raylet()])
    pinned = table(raylets=[raylet(arguments={"node_manager_port": "6800", "object_manager_port": "6801"})])
    (found,) = told("ray.ports", variant(H100, random))
    assert (found.status, found.subject) == ("warn", "raylet 41")
    assert "node-manager-port" in found.message
    assert "--node-manager-port" in str(found.remedy)
    assert statuses("ray.ports", variant(H100, pinned)) == {"raylet 41": "ok"}
    assert statuses("ray.ports", on_ray(H100, random, GPU=8.0)) == {"raylet 41": "ok"}
    assert statuses("ray.ports", variant(H100, table(raylets=[raylet(), raylet(pid=42)]))) == {
        "raylet 41": "warn",
        "raylet 42": "warn",
    }
    assert statuses("ray.ports", variant(H100, table())) == {"node": "skip"}


@pytest.mark.parametrize(
    ("reason", "status"),
    [("health check failed due to missing too many heartbeats", "fail"), ("received SIGTERM", "skip")],
)
def test_a_node_that_health_checks_did_not_reach_has_a_closed_port(reason: str, status: str) -> None:
    dead = view(state="dead", death="UNEXPECTED_TERMINATION", reason=reason)
    assert statuses("ray.ports", variant(H100, dead, ("ray cluster", WHOLE))) == {"node": status}


def test_labels_that_contradict_the_hardware() -> None:
    def labelled(**labels: str) -> Recording:
        given = {name.replace("_", "/"): value for name, value in labels.items()}
        return variant(H100, view(labels=given, resources={"GPU": 8.0}), ("ray cluster", WHOLE))

    assert statuses("ray.labels", labelled()) == {"node": "ok"}
    assert statuses("ray.labels", labelled(raxl_accelerators="8", mine_own="x")) == {"node": "ok"}
    assert statuses("ray.labels", labelled(raxl_accelerators="4")) == {"raxl/accelerators": "warn"}
    assert statuses("ray.labels", variant(H100)) == {"node": "skip"}


def nodes(*made: Recording) -> list[Recording]:
    """Nodes of one cluster, each with an id, a name and an address of its own."""
    for number, recording in enumerate(made):
        given = recording.answers[Question("ray", "node")].value
        own = {"node_id": f"{number + 1:056x}", "name": f"node-{number}", "address": f"192.0.2.{number + 1}"}
        recording.answers[Question("ray", "node")] = Answer({**given, **own})
        recording.name = f"node-{number}"
    return list(made)


def by_node(check: str, made: list[Recording], wanted: Wanted = EVERYTHING) -> dict[tuple[str, str], str]:
    return {(one.node, one.subject): one.status for one in told(check, made, wanted)}


def dead(reason: str | None, death: str | None) -> Recording:
    recording = on_ray(H100)
    changed = view(state="dead", reason=reason, death=death)
    recording.answers[Question("ray", "node")] = Answer(changed[1])
    return recording


def test_a_node_that_died_and_one_that_left() -> None:
    alive = on_ray(H100, GPU=8.0)
    died = dead("Unexpected termination: health check failed", "UNEXPECTED_TERMINATION")
    left = dead("stopped by ray stop", "EXPECTED_TERMINATION")
    assert by_node("ray.node-dead", nodes(alive, on_ray(H100, GPU=8.0))) == {("", "cluster"): "ok"}
    assert by_node("ray.node-dead", nodes(alive, died)) == {("node-1", "node"): "fail"}
    assert by_node("ray.node-dead", nodes(alive, left)) == {("", "cluster"): "ok"}
    assert by_node("ray.node-dead", nodes(alive, dead(None, None))) == {("node-1", "node"): "warn"}
    (found,) = told("ray.node-dead", nodes(on_ray(H100), dead("SIGKILL", "UNEXPECTED_TERMINATION")))
    assert found.remedy_class == "restart-service"
    assert "192.0.2.2" in str(found.remedy)


def test_a_raylet_that_was_started_again_has_a_new_id_at_the_old_address() -> None:
    alive, died = nodes(on_ray(H100), dead("SIGKILL", "UNEXPECTED_TERMINATION"))
    died.answers[Question("ray", "node")].value["address"] = "192.0.2.1"
    assert by_node("ray.node-dead", [alive, died]) == {("", "cluster"): "ok"}


def test_fewer_nodes_than_the_policy_expects() -> None:
    wanted = Wanted(policy=Policy(expected={"nodes": 3}))
    made = nodes(on_ray(H100), on_ray(H100))
    assert by_node("ray.node-dead", made, wanted) == {("", "cluster"): "fail"}
    assert by_node("ray.node-dead", [variant(H100)]) == {(variant(H100).name, "node"): "skip"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {("", "cluster"): "ok"}),
        ({"ray": "2.49.1"}, {("node-2", "ray"): "fail"}),
        ({"commit": "f" * 40}, {("node-2", "ray"): "fail"}),
        ({"python": "3.12.1"}, {("node-2", "python"): "fail"}),
        ({"python": "3.11.9"}, {("node-2", "python"): "warn"}),
    ],
)
def test_version_skew(changed: dict[str, str], expected: dict[tuple[str, str], str]) -> None:
    """Ray #50511, #7648."""
    made = nodes(*(on_ray(H100, versions()) for _ in range(2)), on_ray(H100, versions(**changed)))
    assert by_node("ray.version-skew", made) == expected


def test_versions_that_nobody_read_and_a_mismatch_that_is_ignored() -> None:
    unread = nodes(on_ray(H100, versions()), on_ray(H100, "process versions !denied"))
    assert by_node("ray.version-skew", unread) == {("node-1", "node"): "unknown", ("", "cluster"): "ok"}
    ignoring = on_ray(H100, versions(), environment(RAY_IGNORE_VERSION_MISMATCH="1"))
    assert by_node("ray.version-skew", nodes(ignoring))[("node-0", "RAY_IGNORE_VERSION_MISMATCH")] == "warn"
    assert by_node("ray.version-skew", [variant(H100)]) == {(variant(H100).name, "node"): "skip"}


@pytest.mark.parametrize(
    ("packages", "status"),
    [
        ({"nvidia_cuda_runtime_cu12": "12.4.127"}, "ok"),
        ({"nvidia_cuda_runtime_cu12": "12.9.79"}, "ok"),
        ({"nvidia_cuda_runtime": "14.0.1"}, "fail"),
        ({"torch": "3.0.0+cu140"}, "fail"),
        ({"torch": "2.9.0+cpu"}, "skip"),
    ],
)
def test_cuda_of_a_later_major_version_than_the_drivers(packages: dict[str, str], status: str) -> None:
    (found,) = told("lib.cuda-driver", variant(H100, versions(**packages)))
    assert found.status == status


def test_cuda_where_nothing_was_read_or_there_is_none() -> None:
    assert statuses("lib.cuda-driver", variant("none-cpu-server", versions())) == {"node": "skip"}
    assert statuses("lib.cuda-driver", variant(H100, "process versions !denied")) == {"node": "unknown"}
    assert statuses("lib.cuda-driver", variant(H100)) == {"node": "skip"}


def test_collectives() -> None:
    same = [on_ray(H100, versions(nvidia_nccl_cu12="2.27.3")) for _ in range(2)]
    assert by_node("lib.collectives", nodes(*same)) == {("", "cluster"): "ok"}
    mixed = [*same[:1], on_ray(H100, versions(nvidia_nccl_cu12="2.21.5"))]
    assert by_node("lib.collectives", nodes(*mixed)) == {("", "nvidia-nccl-cu12"): "fail"}
    other = [*same[:1], on_ray("amd-mi300x-spx", versions(nvidia_nccl_cu12="2.21.5"))]
    assert by_node("lib.collectives", nodes(*other)) == {("", "cluster"): "ok"}
    unread = nodes(on_ray(H100, "process versions !denied"))
    assert by_node("lib.collectives", unread) == {("", "cluster"): "unknown"}


def test_efa_without_ncclls_plug_in_falls_back_to_tcp() -> None:
    assert statuses("lib.collectives", variant("nvidia-aws-p5en", versions())) == {"node": "warn"}
    known = ("process versions", {**versions()[1], "libraries": {"libnccl-net-ofi": []}})
    assert statuses("lib.collectives", variant("nvidia-aws-p5en", known)) == {"node": "ok"}


@pytest.mark.parametrize(
    ("name", "version", "status"),
    [
        ("nvidia-gb200-tray", "2.27.5", "warn"),
        ("nvidia-gb200-tray", "2.27.7", "ok"),
        (H100, "2.27.5", "ok"),
        ("none-cpu-server", "2.27.5", "skip"),
    ],
)
def test_nccl_that_is_known_to_crash(name: str, version: str, status: str) -> None:
    """NCCL #2186."""
    found = one("lib.known-bad", variant(name, versions(nvidia_nccl_cu13=version)))
    assert found.status == status


def faulty() -> Recording:
    """A node with a fault for most of the checks."""
    bad = raylet(environment={"CUDA_VISIBLE_DEVICES": "0,8"}, plasma={"kind": "ext4", "size_bytes": 1 << 40})
    packages = versions(nvidia_cuda_runtime="14.0.1", nvidia_nccl_cu13="2.27.5", ray="2.49.1")
    labels = {"ray.io/accelerator-type": "A100", "raxl/accelerators": "4"}
    ray = view(resources={"GPU": 4.0, "TPU": 1.0}, labels=labels)
    return variant("nvidia-gb200-tray", ray, ("ray cluster", WHOLE), packages, table(raylets=[bad]))


@pytest.mark.parametrize("refusal", ["!denied", "!timeout", "!unsupported"])
def test_what_is_taken_from_a_recording_makes_nothing_well(refusal: str) -> None:
    wanted = Wanted(only=OURS, level="deep")
    before = {(one.check, one.subject) for one in findings(faulty(), wanted).findings if one.status != "ok"}
    assert len(before) > 8
    for subject in (
        "process processes",
        "process versions",
        "process environment",
        "/sys/bus/pci",
        "/sys/bus/pci/devices",
    ):
        recording = faulty()
        found = findings(removed(recording, subject, refusal), wanted).findings
        assert not {(one.check, one.subject) for one in found if one.status == "ok"} & before, subject


def removed(recording: Recording, subject: str, refusal: str) -> Recording:
    """The recording in which a question, or all below a path, was refused."""
    answer = {
        "!denied": Answer(None, "not-permitted", "Permission denied"),
        "!timeout": Answer(None, "timed-out", "no answer within 2 s"),
        "!unsupported": Answer(None, "not-supported", "Not Supported"),
    }[refusal]
    if subject.startswith("/"):
        for question in [one for one in recording.answers if one.subject.startswith(subject)]:
            recording.answers[question] = answer
    else:
        recording.answers[Question(*subject.split(" "))] = answer
    return recording


def test_without_the_raylets_own_nothing_of_whoever_asked_is_taken_for_it() -> None:
    for change in (table(raylets=[raylet(environment=None)]), "process processes !denied"):
        asked = variant(H100, versions(nvidia_cuda_runtime_cu12="12.4.127"), change)
        assert statuses("ray.visible-devices", asked) == {"node": "unknown"}
        assert statuses("lib.cuda-driver", asked) == {"node": "unknown"}


def dumped(tmp_path: Path, **texts: str) -> Recording:
    """Files of other tools as one node."""
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    (recording,) = inputs.opened([str(tmp_path / f"{name}.txt") for name in texts], "node-a")
    return recording


def nodes_of(resources: dict[str, float]) -> str:
    given = {"NodeID": f"{7:056x}", "Alive": True, "NodeManagerAddress": "192.0.2.10", "NodeManagerHostname": "node-a"}
    return repr([{**given, "Resources": resources}])


SLICED = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-000000000001)
  MIG 1g.5gb      Device  0: (UUID: MIG-00000000-0000-0000-0000-00000000000a)
  MIG 1g.5gb      Device  1: (UUID: MIG-00000000-0000-0000-0000-00000000000b)
"""
WHOLE_GPU = "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-00000000-0000-0000-0000-000000000002)\n"


def test_slices_of_other_tools_files(tmp_path: Path) -> None:
    """Ray #12413: `nvidia-smi -L` and the environment."""
    alone = dumped(tmp_path, smi=SLICED)
    assert statuses("ray.partitions", alone) == {"node": "skip"}
    named = {"CUDA_VISIBLE_DEVICES": "MIG-00000000-0000-0000-0000-00000000000a"}
    alone.answers[Question("process", "environment")] = Answer(named)
    found = one("ray.partitions", alone)
    assert (found.status, found.message) == ("warn", "2 slices, Ray will offer 1")
    assert statuses("ray.visible-devices", alone) == {"node": "ok"}


def test_a_tpu_beside_an_rtx_5090_in_other_tools_files(tmp_path: Path) -> None:
    """Ray #63322."""
    recording = dumped(tmp_path, smi=WHOLE_GPU, ray=nodes_of({"TPU": 1.0, "CPU": 24.0}))
    assert statuses("ray.resource-vs-hardware", recording) == {GPU: "fail", "ray.TPU": "unknown"}
    well = dumped(tmp_path, smi=WHOLE_GPU, ray=nodes_of({"GPU": 1.0, "CPU": 16.0}))
    assert statuses("ray.resource-vs-hardware", well) == {GPU: "ok"}


def test_a_raylet_of_another_user_is_for_root_alone() -> None:
    hidden = table(raylets=[raylet(environment=None, plasma=None)])
    recording = variant(H100, hidden, ("process root", False), "/proc/2/comm=kthreadd")
    for check in ("ray.visible-devices", "ray.object-store"):
        found = one(check, recording)
        assert (found.status, found.is_ruled_out) == ("skip", True)
