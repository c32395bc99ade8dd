"""A policy file: what it may say, what it may not, and that what it expects is held against every node."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from diagnosing import findings, statuses, told, variant
from raxl.checks import diagnosis, expected, registry
from raxl.checks.diagnosis import Wanted
from raxl.collect import policy_file
from raxl.errors import UnreadableInput
from raxl.host.record import Recording
from raxl.model.policy import Policy
from raxl.model.problem import NOT_PRESENT

ROOT = Path(__file__).parents[1]
HEALTHY = "nvidia-hgx-h100-healthy"
CPU = "none-cpu-server"


def read(folder: Path, text: str) -> Policy:
    """The policy, as the command reads it and holds it."""
    (folder / "policy.yaml").write_text(text)
    policy = policy_file.read(folder / "policy.yaml")
    diagnosis.held(Wanted(policy=policy))
    return policy


def expecting(**values: Any) -> Wanted:
    return Wanted(policy=Policy(expected=values))


def faults(recording: Recording, wanted: Wanted) -> list[tuple[str, str]]:
    return [(one.check, one.status) for one in findings(recording, wanted).findings if one.status in ("warn", "fail")]


# The file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("expected: {accelerators: banana}", "accelerators takes 8xH100"),
        ("expected: {accelerators: -8}", "accelerators takes 8xH100"),
        ("expected: {accelerators: [8xH100, banana]}", "accelerators takes 8xH100"),
        ("expected: {accelerators: []}", "accelerators takes 8xH100"),
        ("expected: {nic_speed_bits_per_second: 800G}", "nic_speed_bits_per_second takes a number"),
        ("expected: {nic_speed_bits_per_second: 0}", "nic_speed_bits_per_second takes a number"),
        ("expected: {nics: -3}", "nics: -3 .nics takes a whole number"),
        ("expected: {nics: 8.5}", "nics takes a whole number"),
        ("expected: {nics: .inf}", "nics takes a whole number"),
        ("expected: {nics: .nan}", "nics takes a whole number"),
        ("expected: {nics: '8'}", "nics takes a whole number"),
        ("expected: {nics: true}", "true where text or a number"),
        ("expected: {tpu_chips: many}", "tpu_chips takes a whole number"),
        ("expected: {compute_partition: banana}", "compute_partition takes SPX"),
        ("expected: {bogus: 1}", "bogus, which no check compares .known are accelerators, nics, "),
        ("expected: {driver: 999.1}", "driver, which no check compares"),
        ("expected: {nvidia: 570.1}", "nvidia takes text: write it in quotes"),
        ("thresholds: {host.disk: {warn_share: .nan}}", "a number from 0 on, not nan"),
        ("thresholds: {host.disk: {warn_share: .inf}}", "a number from 0 on, not inf"),
        ("thresholds: {host.disk: {warn_share: -1}}", "a number from 0 on, not -1"),
        ("thresholds: {host.disk: {warn_share: true}}", "true where text or a number"),
        ("suppressions: [{check: nvidia.lost, reason: x, until: 2026-02-30}]", "is no YAML"),
        ("suppressions: [{check: nvidia.lost, reason: x, until: '2026-02-30'}]", "until is to be a day"),
        ("expected: {kernel: 2026-13-45}", "is no YAML"),
        ("expected: &a {kernel: *a}", "nested deeper"),
        ("a: &a [1,1,1,1,1,1,1,1,1]\nexpected: {x: [*a, *a]}", "it has 'a'"),
        ("expected:\n  a: &a {b: 1, c: 1}\n  d: {e: *a, f: *a}", "no policy"),
    ],
)
def test_what_is_no_policy_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UnreadableInput, match=words) as caught:
        read(tmp_path, text)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)


def test_aliases_do_not_unfold_without_end(tmp_path: Path) -> None:
    lines = [
        "a0: &a0 {x: 1}",
        *(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(60))}}}" for n in (1, 2, 3)),
    ]
    text = "expected:\n" + "".join(f"  {line}\n" for line in lines)
    with pytest.raises(UnreadableInput, match="more than 100000 values"):
        read(tmp_path, text)


def test_a_policy_is_a_regular_file_of_bounded_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UnreadableInput, match="no regular file"):
            policy_file.read(path)
    with pytest.raises(UnreadableInput, match="cannot be read"):
        policy_file.read(tmp_path)
    (tmp_path / "large").write_text("#" * (1 << 20) + "\nexpected: {nics: 8}")
    with pytest.raises(UnreadableInput, match="larger than 1 MiB"):
        policy_file.read(tmp_path / "large")


def test_the_example_of_the_readme_is_a_policy(tmp_path: Path) -> None:
    (example,) = re.findall(r"^A policy file.*?^```yaml\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    policy = read(tmp_path, example)
    assert policy.thresholds
    assert policy.suppressions
    assert "accelerators" in policy.expected
    assert faults(variant(HEALTHY), Wanted(policy=policy)) == []


def test_every_key_is_held_by_a_check_that_says_so() -> None:
    by_id = {one.id: one for one in registry.checks()}
    for name, key in expected.KEYS.items():
        assert f"`{name}`" in by_id[key.check].explanation, (name, key.check)
        assert f"`{name}`" in (ROOT / "README.md").read_text() or f"{name}:" in (ROOT / "README.md").read_text()


# What is expected


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("8xH100", "ok"),
        ("8 x H100", "ok"),
        ("8xNVIDIA H100 80GB HBM3", "ok"),
        (("8xH100",), "ok"),
        (8.0, "ok"),
        ("8xA100", "fail"),
        ("7xH100", "fail"),
        ("9xH100", "fail"),
        ("8xH100, 1xT4", "fail"),
        (("4xH100", "4xA100"), "fail"),
        (7.0, "fail"),
        (9.0, "fail"),
        (0.0, "fail"),
    ],
)
def test_accelerators(value: Any, status: str) -> None:
    (found,) = told("accelerator.count", variant(HEALTHY), expecting(accelerators=value))
    assert found.status == status, found.message
    assert "8 × NVIDIA H100 80GB HBM3" in found.message


def test_accelerators_that_are_lost_or_not_there() -> None:
    (lost,) = told("accelerator.count", variant("nvidia-hgx-h100-gpu-lost"), expecting(accelerators=8.0))
    assert (lost.status, "found 7" in lost.message, "1 of them lost" in lost.message) == ("fail", True, True)
    assert statuses("accelerator.count", variant(CPU), expecting(accelerators="8xH100")) == {"node": "fail"}
    assert statuses("accelerator.count", variant(CPU), expecting(accelerators=0.0)) == {"node": "ok"}
    dark = Recording(name="dark")
    assert statuses("accelerator.count", dark, expecting(accelerators="8xH100")) == {"node": "unknown"}


@pytest.mark.parametrize("name", ["nvidia-hgx-h100-gpu-missing", "nvidia-driver-hangs"])
def test_accelerators_on_the_bus_of_which_the_driver_says_nothing(name: str) -> None:
    assert statuses("accelerator.count", variant(name), expecting(accelerators="8xH100")) == {"node": "unknown"}
    assert statuses("accelerator.count", variant(name), expecting(accelerators="9xH100")) == {"node": "fail"}


def test_accelerators_of_which_nobody_expects_a_number() -> None:
    assert statuses("accelerator.count", variant(HEALTHY)) == {"node": "ok"}
    assert statuses("accelerator.count", variant(CPU)) == {"node": "skip"}


@pytest.mark.parametrize(("value", "status"), [(9.0, "ok"), (8.0, "ok"), (10.0, "fail"), (99.0, "fail")])
def test_adapters(value: float, status: str) -> None:
    assert statuses("nic.count", variant(HEALTHY), expecting(nics=value)) == {"node": status}


def test_an_adapter_that_is_gone_from_the_bus() -> None:
    recording = variant(HEALTHY)
    for question, answer in list(recording.answers.items()):
        if "/infiniband/mlx5_3" in question.subject or "0000:49:00.0" in question.subject:
            recording.answers[question] = answer._replace(value=None, reason=NOT_PRESENT)
        elif question.kind == "names" and isinstance(answer.value, (list, tuple)):
            kept = [one for one in answer.value if one not in ("mlx5_3", "0000:49:00.0")]
            recording.answers[question] = answer._replace(value=kept)
    (found,) = told("nic.count", recording, expecting(nics=9.0))
    assert (found.status, found.message.startswith("8 RDMA adapters")) == ("fail", True)


def test_adapters_where_there_are_none() -> None:
    assert statuses("nic.count", variant(CPU)) == {"node": "skip"}
    assert statuses("nic.count", variant(CPU), expecting(nics=8.0)) == {"node": "fail"}
    assert statuses("nic.count", Recording(name="dark"), expecting(nics=8.0)) == {"node": "unknown"}
    assert statuses("ib.rate", variant(CPU), expecting(nic_speed_bits_per_second=4e11)) == {"node": "fail"}
    assert statuses("ib.rate", variant(CPU)) == {"node": "skip"}


def test_a_rate_as_people_write_it(tmp_path: Path) -> None:
    """YAML takes `800e9` for a text."""
    wanted = Wanted(policy=read(tmp_path, "expected: {nic_speed_bits_per_second: 800e9}"))
    assert set(statuses("ib.rate", variant(HEALTHY), wanted).values()) == {"fail", "ok"}


def test_devices_of_others_on_a_node_without_any() -> None:
    assert statuses("neuron.count", variant(HEALTHY), expecting(neuron_devices=16.0)) == {"node": "fail"}
    assert statuses("neuron.count", variant(HEALTHY), expecting(neuron_devices=0.0)) == {"node": "skip"}
    assert statuses("neuron.count", Recording(name="dark"), expecting(neuron_devices=16.0)) == {"node": "unknown"}
    assert statuses("tpu.present", variant(HEALTHY), expecting(tpu_chips=4.0)) == {"node": "fail"}


def test_nodes_that_nobody_counts() -> None:
    assert statuses("ray.node-dead", variant(HEALTHY), expecting(nodes=3.0)) == {"node": "unknown"}


def test_versions_hold_for_a_single_node() -> None:
    told_by = statuses("fleet.version-outlier", variant(HEALTHY), Wanted(policy=Policy(expected={"nvidia": "999.1"})))
    assert told_by == {"nvidia": "fail"}
    right = Wanted(policy=Policy(expected={"nvidia": "570.133.20"}))
    assert statuses("fleet.version-outlier", variant(HEALTHY), right) == {"node": "ok"}
    nowhere = Wanted(policy=Policy(expected={"rocm": "6.4"}))
    assert statuses("fleet.version-outlier", variant(HEALTHY), nowhere) == {"rocm": "unknown"}


def test_each_node_of_a_cluster_is_held_to_it() -> None:
    found = told("accelerator.count", [variant(HEALTHY), variant(CPU)], expecting(accelerators="8xH100"))
    assert {one.node: one.status for one in found} == {"gpu-09": "ok", variant(CPU).name: "fail"}
