"""`raxl diagnose` of several files of one machine: every one of them counts, in any order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from diagnosing import findings, variant
from kernel_texts import BOOT, XID
from raxl.collect import inputs, keeping
from raxl.host.kernel_condense import condensed
from raxl.host.record import Recording
from raxl.model.finding import Finding, Findings
from raxl.render import text_findings
from raxl.render.text import to_text

HEALTHY, SICK = "nvidia-hgx-h100-healthy", "nvidia-hgx-h100-sick"
LOST = "NVRM: Xid (PCI:0000:62:00): 79, GPU has fallen off the bus."
NEW_XID = "NVRM: Xid (PCI:0000:63:00): 95, pid=1, name=x, Uncontained: LTC TAG (0x2,0x0)"
LIST = "GPU 0: NVIDIA GeForce RTX 5090 (UUID: GPU-00000000-0000-0000-0000-000000000001)\n"
LSPCI = "01:00.0 VGA compatible controller: NVIDIA Corporation GB202 [GeForce RTX 5090] (rev a1)\n"
IBSTAT = """CA '{}'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: {}
\t\tPhysical state: {}
\t\tRate: {}
\t\tBase lid: 18
\t\tSM lid: 1
\t\tLink layer: InfiniBand
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def snapshot(folder: Path, name: str, recording: Recording) -> str:
    path = folder / f"{name}.tar.gz"
    path.write_bytes(keeping.packed([recording]))
    return str(path)


def file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def together(*paths: str) -> Findings:
    """What is found in files of one machine."""
    return findings(inputs.opened(paths, "n"))


def of(found: Findings, check: str) -> list[Finding]:
    return [one for one in found.findings if one.check == check]


def statuses(found: Findings, check: str) -> dict[str, str]:
    return {one.subject: one.status for one in of(found, check)}


def log(*lines: tuple[str, str]) -> str:
    return "".join(f"{stamp} {text}\n" for stamp, text in lines)


def dated(second: int, text: str, minute: int = 0) -> tuple[str, str]:
    return f"2026-01-02T03:{minute:02}:{second:02}+0000 gpu-1 kernel:", text


def test_variables_of_a_file_count_beside_a_healthy_snapshot(folder: Path) -> None:
    paths = [
        snapshot(folder, "healthy", variant(HEALTHY)),
        file(folder, "env", "UCX_TLS=^cuda_ipc\nNCCL_IB_DISABLE=1\n"),
    ]
    for order in permutations(paths):
        found = together(*order)
        assert statuses(found, "env.ucx") == {"UCX_TLS": "fail"}
        assert statuses(found, "lib.bad-env") == {"NCCL_IB_DISABLE": "warn"}


def test_a_file_that_contradicts_the_environment_is_judged_and_told(folder: Path) -> None:
    own = variant(HEALTHY, ("process environment", {"UCX_TLS": "rc,cuda_copy,cuda_ipc", "NCCL_DEBUG": "INFO"}))
    given = file(folder, "env", "UCX_TLS=^cuda_ipc\nNCCL_DEBUG=INFO\n")
    found = together(snapshot(folder, "healthy", own), given)
    assert statuses(found, "env.ucx") == {"UCX_TLS": "fail"}
    (told,) = of(found, "node.disagreement")
    assert (told.status, told.subject, told.reason) == ("unknown", "environment", "disagreement")
    assert f"says rc,cuda_copy,cuda_ipc, {given} says ^cuda_ipc" in told.message


def test_two_files_of_variables_that_differ_are_told(folder: Path) -> None:
    paths = [file(folder, "a.env", "UCX_TLS=^cuda_ipc\n"), file(folder, "b.env", "UCX_TLS=all\n")]
    for order in permutations(paths):
        assert statuses(together(*order), "node.disagreement") == {"environment": "unknown"}


def test_a_list_of_visible_devices_in_a_file_is_judged_beside_the_raylet_s_own(folder: Path) -> None:
    given = file(folder, "env", "CUDA_VISIBLE_DEVICES=0,99\n")
    found = together(snapshot(folder, "healthy", variant(HEALTHY)), given)
    assert statuses(found, "ray.visible-devices") == {"CUDA_VISIBLE_DEVICES": "fail"}


def test_two_logs_both_count_and_a_line_of_both_once(folder: Path) -> None:
    paths = [
        file(folder, "a.log", log(("[  100.000000]", XID))),
        file(folder, "b.log", log(("[  100.000000]", XID), ("[  200.000000]", LOST))),
    ]
    for order in permutations(paths):
        found = together(*order)
        (xid,) = [one for one in of(found, "nvidia.xid") if one.status == "fail"]
        assert (xid.subject, xid.count) == ("0000:61:00", 1)
        assert statuses(found, "nvidia.lost")["0000:62:00.0"] == "fail"


def test_copies_at_other_times_add_up(folder: Path) -> None:
    paths = [
        file(folder, "a.log", log(dated(1, XID), dated(2, XID))),
        file(folder, "b.log", log(dated(1, XID, 5), dated(2, XID, 5), dated(3, XID, 5))),
    ]
    for order in permutations(paths):
        (xid,) = [one for one in of(together(*order), "nvidia.xid") if one.status == "fail"]
        assert (xid.count, xid.first_seen, xid.last_seen) == (5, "2026-01-02T03:00:01Z", "2026-01-02T03:05:03Z")


def test_a_log_that_ends_before_another_one_s_boot_is_of_an_earlier_boot(folder: Path) -> None:
    before = file(folder, "before.log", log(dated(1, XID)))
    after = file(folder, "after.log", log(dated(1, BOOT, 9), dated(2, "usb 1-1: new device", 9)))
    for order in permutations([before, after]):
        assert "fail" not in statuses(together(*order), "nvidia.xid").values()
    assert "fail" in statuses(together(before), "nvidia.xid").values()


def test_the_order_of_joined_logs_is_that_of_their_stamps(folder: Path) -> None:
    amd = "amdgpu 0000:43:00.0: amdgpu: "
    begun = file(folder, "begun.log", log(dated(1, f"{amd}GPU reset begin!")))
    over = file(folder, "over.log", log(dated(9, f"{amd}GPU reset(1) succeeded!")))
    for order in permutations([begun, over]):
        (told,) = of(together(*order), "amd.events")
        assert (told.status, told.remedy_class) == ("warn", "app")


def test_a_log_beside_a_snapshot_joins_its_own(folder: Path) -> None:
    own = ("process kernel_log", condensed([f"[    0.000000] {BOOT}", f"[  100.000000] {XID}"]))
    paths = [
        snapshot(folder, "own", variant(HEALTHY, own)),
        file(folder, "given.log", log(dated(1, NEW_XID))),
    ]
    for order in permutations(paths):
        told = {one.subject for one in of(together(*order), "nvidia.xid") if one.status == "fail"}
        assert len(told) == 2
    assert len([one for one in of(together(paths[0]), "nvidia.xid") if one.status == "fail"]) == 1


def test_two_snapshots_of_one_machine_are_never_green(folder: Path) -> None:
    healthy, sick = variant(HEALTHY), variant(SICK)
    for later, faults in ((healthy, 0), (sick, 11)):
        healthy.created = sick.created = "2026-01-01T00:00:00Z"
        later.created = "2026-01-02T00:00:00Z"
        paths = [snapshot(folder, "healthy", healthy), snapshot(folder, "sick", sick)]
        for order in permutations(paths):
            found = together(*order)
            assert found.summary.fail == faults
            (told,) = of(found, "node.inputs")
            assert (told.status, told.reason) == ("unknown", "disagreement")
            assert "of 2026-01-02T00:00:00Z and" in told.message
            assert not found.coverage[0].complete


def test_one_snapshot_twice_is_one(folder: Path) -> None:
    path = snapshot(folder, "healthy", variant(HEALTHY))
    assert statuses(together(path, path), "node.inputs") == {"node": "ok"}


def test_ibstat_that_contradicts_the_kernel_counts_where_it_is_worse(folder: Path) -> None:
    text = IBSTAT.format("mlx5_0", "Active", "LinkUp", 400) + IBSTAT.format("mlx5_1", "Down", "Disabled", 10)
    text += IBSTAT.format("mlx5_3", "Active", "LinkUp", 40)
    paths = [snapshot(folder, "healthy", variant(HEALTHY)), file(folder, "ibstat.txt", text)]
    for order in permutations(paths):
        found = together(*order)
        assert statuses(found, "ib.port-state")["mlx5_1/1"] == "fail"
        assert statuses(found, "ib.rate")["mlx5_3/1"] == "fail"
        told = [one.message for one in of(found, "node.disagreement")]
        assert any("mlx5_1.state" in one and "sysfs says ok, ibstat says down" in one for one in told)
        assert any("mlx5_3.speed" in one and "sysfs says 400 Gb/s, ibstat says 40 Gb/s" in one for one in told)


def test_ibstat_that_agrees_changes_nothing(folder: Path) -> None:
    text = IBSTAT.format("mlx5_0", "Active", "LinkUp", 400)
    alone = together(path := snapshot(folder, "healthy", variant(HEALTHY)))
    assert together(path, file(folder, "ibstat.txt", text)).summary == alone.summary


def test_the_kernel_s_word_stands_where_it_is_the_worse_one(folder: Path) -> None:
    port = "/sys/class/infiniband/mlx5_1/ports/1"
    down = variant(HEALTHY, f"{port}/state=1: DOWN", f"{port}/phys_state=3: Disabled")
    text = file(folder, "ibstat.txt", IBSTAT.format("mlx5_1", "Active", "LinkUp", 400))
    assert statuses(together(snapshot(folder, "down", down), text), "ib.port-state")["mlx5_1/1"] == "fail"


def test_a_file_that_cannot_be_read_is_told_by_itself(folder: Path) -> None:
    unread = file(folder, "13.log", "hello\n")
    for path in (snapshot(folder, "healthy", variant(HEALTHY)), file(folder, "gpus.txt", LIST)):
        for order in permutations([path, unread]):
            found = together(*order)
            (told,) = of(found, "node.inputs")
            assert (told.status, told.message) == ("unknown", f"{unread}: not a form that is known")
            lines = to_text(text_findings.findings(found, 400))
            assert f"node.inputs: {unread}: not a form that is known" in lines
            assert not [one for one in found.findings if one.message.startswith("the node was not read")]


def ray(**resources: float) -> str:
    return repr({**resources, "node:192.0.2.1": 1.0}) + "\n"


@pytest.mark.parametrize("hardware", [(LIST,), (LSPCI,), (LIST, LSPCI)])
def test_as_many_gpus_as_ray_s_totals_of_one_node_are_well(folder: Path, hardware: tuple[str, ...]) -> None:
    texts = [file(folder, f"{place}.txt", text) for place, text in enumerate(hardware)]
    for order in permutations([*texts, file(folder, "ray.txt", ray(CPU=16.0, GPU=1.0))]):
        found = together(*order)
        (told,) = of(found, "ray.resource-vs-hardware")
        assert (told.status, told.subject) == ("ok", "ray.GPU")
        assert "1 devices of it work" in {one.value for one in told.evidence}


@pytest.mark.parametrize(
    ("hardware", "phantom", "gpu"),
    [((LSPCI,), "fail", "unknown"), ((LIST,), "unknown", "fail"), ((LIST, LSPCI), "fail", "fail")],
)
def test_a_phantom_tpu_shows_in_ray_s_totals(folder: Path, hardware: tuple[str, ...], phantom: str, gpu: str) -> None:
    texts = [file(folder, f"{place}.txt", text) for place, text in enumerate(hardware)]
    found = together(*texts, file(folder, "ray.txt", ray(CPU=24.0, TPU=1.0)))
    assert statuses(found, "ray.phantom-accelerator") == {"ray.TPU": phantom}
    assert statuses(found, "ray.resource-vs-hardware")["ray.GPU"] == gpu


def test_totals_of_several_nodes_are_no_node_s_own(folder: Path) -> None:
    totals: dict[str, Any] = {"CPU": 16.0, "GPU": 9.0, "node:192.0.2.1": 1.0, "node:192.0.2.2": 1.0}
    found = together(file(folder, "ray.txt", f"{totals}\n"), file(folder, "gpus.txt", LIST))
    for check in ("ray.resource-vs-hardware", "ray.phantom-accelerator"):
        assert statuses(found, check) == {"node": "unknown"}


def test_two_outputs_of_one_tool_both_count(folder: Path) -> None:
    up = file(folder, "up.txt", IBSTAT.format("mlx5_1", "Active", "LinkUp", 400))
    down = file(folder, "down.txt", IBSTAT.format("mlx5_1", "Initializing", "LinkUp", 400))
    for order in permutations([up, down]):
        assert statuses(together(*order), "ib.port-state") == {"mlx5_1/1": "fail"}


QUERY = """==============NVSMI LOG==============

Driver Version                            : 570.133.20
CUDA Version                              : 12.8

Attached GPUs                             : 1
GPU 00000000:19:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : {}
        Pending                           : No
        Remapping Failure Occurred        : {}
"""


def test_nvidia_smi_that_contradicts_nvml_is_told(folder: Path) -> None:
    paths = [snapshot(folder, "healthy", variant(HEALTHY)), file(folder, "q.txt", QUERY.format(8, "Yes"))]
    for order in permutations(paths):
        told = [one.message for one in of(together(*order), "node.disagreement") if one.status == "unknown"]
        assert any("remap failure of nvidia:0" in one for one in told)
    agreeing = file(folder, "q.txt", QUERY.format(0, "No"))
    assert statuses(together(paths[0], agreeing), "node.disagreement") == {"node": "ok"}
