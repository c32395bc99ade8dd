"""The real /proc of this machine, and the checks that go by processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from diagnosing import statuses, told, variant
from raxl.host import package_versions, process_table
from raxl.host.live import LiveHost
from raxl.model.facts import Reading
from raxl.sources import processes
from ray_views import holder, on_ray, raylet, table

H100 = "nvidia-hgx-h100"
ROOT = ("process root", True)
HOST = "/proc/2/comm=kthreadd"


@contextmanager
def child(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python that runs a program until the end of the block, once it has said that it is ready."""
    text = f"import os,sys,time\n{program}\nprint('ready', flush=True)\ntime.sleep(60)"
    command = [sys.executable, "-I", "-S", "-c", text, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            yield running
        finally:
            running.kill()


def test_this_machines_processes_are_read_within_a_second() -> None:
    begun = time.monotonic()
    found = process_table.table()
    assert time.monotonic() - begun < 1.0
    assert found["processes"] >= 2
    assert found["apart_seconds"] < 1.0


def test_a_process_that_holds_a_device_file_is_a_holder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test has an accelerator: another file stands in for one, and signals are nothing to who reads /proc."""
    node = tmp_path / "nvidia0"
    node.touch()
    monkeypatch.setattr(process_table, "_PLACE", str(tmp_path))
    monkeypatch.setattr(process_table, "_DEVICE", process_table.re.compile(f"{tmp_path}/nvidia[0-9]+"))
    with child(
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); f = open(sys.argv[1])", str(node)
    ) as held:
        (found,) = [one for one in process_table.table()["holders"] if one["pid"] == held.pid]
    assert found["nodes"] == [str(node)]
    assert (found["parent"], found["is_ours"], found["is_rays"]) == (os.getpid(), True, False)
    assert held.pid not in [one["pid"] for one in process_table.table()["holders"]]


def test_rays_processes_are_known_by_name_and_title(tmp_path: Path) -> None:
    title = "import ctypes; ctypes.CDLL(None).prctl(15, b'raylet', 0, 0, 0)"
    secret = "--gcs_address=secret"
    arguments = ["--node_manager_port=0", "--plasma_directory=/dev/shm", secret, "--object_store_memory=123"]
    with child(title, *arguments) as running:
        found = process_table.table()
        (one,) = [one for one in found["raylets"] if one["pid"] == running.pid]
    assert one["arguments"] == {
        "node_manager_port": "0",
        "plasma_directory": "/dev/shm",
        "object_store_memory": "123",
    }
    assert one["limits"]["nofile"][0] == process_limit()
    assert one["plasma"]["kind"]
    assert one["plasma"]["size_bytes"]
    assert "secret" not in str(found)


def test_a_raylet_that_ended_and_was_not_buried_is_none() -> None:
    title = "import ctypes; ctypes.CDLL(None).prctl(15, b'raylet', 0, 0, 0)"
    dead = subprocess.Popen([sys.executable, "-c", title])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{dead.pid}/comm").read_text() == "raylet\n"
    assert dead.pid not in [one["pid"] for one in process_table.table()["raylets"]]
    dead.wait()


def process_limit() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_of_a_workers_title_only_rays_own_word_is_kept() -> None:
    command = ["ray::Trainer.fit secret", "-I", "-S", "-c", "import time; print('ready', flush=True); time.sleep(60)"]
    with subprocess.Popen(command, executable=sys.executable, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        found = [one for one in process_table.table()["workers"] if one["pid"] == running.pid]
        running.kill()
    assert found == [{"pid": running.pid, "parent": os.getpid(), "title": "ray::Trainer.fit"}]


def test_a_process_in_state_d_at_both_looks_is_stuck(tmp_path: Path) -> None:
    """State D cannot be made here: a tree of files stands in for /proc."""
    for pid, state, name in ((7, "D", "nvidia-smi (x)"), (8, "S", "bash")):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True)
        rest = f"{state} 1 7 7 0 -1 4194560 " + "0 " * 12 + "4711 0 0"
        (folder / "stat").write_text(f"{pid} ({name}) {rest}\n")
        (folder / "wchan").write_text("os_acquire_rwlock_read")
    found = process_table.table(str(tmp_path))
    (stuck,) = found["stuck"]
    assert stuck == {"pid": 7, "comm": "nvidia-smi (x)", "wchan": "os_acquire_rwlock_read", "stack": []}
    assert 0.45 <= found["apart_seconds"] < 1.0


def test_versions_are_read_by_names_alone(tmp_path: Path) -> None:
    for name in ("ray-2.60.0", "nvidia_nccl_cu12-2.27.3", "torch-2.9.0+cu128", "secret_thing-1.0", "ray-x.y"):
        (tmp_path / f"{name}.dist-info").mkdir()
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "_version.py").write_text(f'commit = "{"ab" * 20}"\nversion = "2.60.0"\n')
    found = package_versions.beside(str(tmp_path))
    assert found["packages"] == {"ray": "2.60.0", "nvidia-nccl-cu12": "2.27.3", "torch": "2.9.0+cu128"}
    assert found["commit"] == "ab" * 20
    assert package_versions.beside(str(tmp_path / "gone"))["packages"] == {}


def test_libraries_of_the_system_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "opt/amazon/ofi-nccl/lib"
    folder.mkdir(parents=True)
    for name in ("libnccl-net-ofi.so", "libnccl.so.2.27.3", "libnccl.so.2", "libother.so.1"):
        (folder / name).touch()
    assert package_versions.libraries(str(tmp_path)) == {"libnccl-net-ofi": [], "libnccl": ["2", "2.27.3"]}


def test_the_live_host_answers_both(tmp_path: Path) -> None:
    host = LiveHost()
    for name, reading in processes.readings(host).items():
        assert reading.known, (name, reading.message)
    assert host.process("processes").value["processes"] >= 2
    assert not LiveHost(str(tmp_path)).process("processes").known


@pytest.mark.parametrize("value", [{}, {"stuck": 7}, {"raylets": [{"pid": 1, "limits": {"memlock": ["x", 1]}}]}])
def test_an_edited_table_is_told_and_breaks_nothing(value: dict[str, Any]) -> None:
    recording = variant(H100, ("process processes", value), ("process versions", {"packages": 3}))
    found = told("ray.orphan-process", recording)
    assert [one.status for one in found] == ["unknown"]
    from raxl.host.replay import ReplayHost

    assert isinstance(processes.readings(ReplayHost(recording))["stuck"], Reading)


RAYS = holder(50, "/dev/nvidia0", parent=41, is_rays=True)
IDLE = {"pid": 60, "parent": 1, "title": "ray::IDLE"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"holders": [RAYS]}, {"node": "ok"}),
        ({"holders": [RAYS, holder(60, "/dev/nvidia1")], "workers": [IDLE]}, {"process 60": "fail"}),
        ({"holders": [RAYS, holder(70, "/dev/nvidia1")]}, {"process 70": "warn"}),
        ({"holders": [RAYS, holder(70, "/dev/nvidia1", comm="nv-hostengine")]}, {"node": "ok"}),
        ({"holders": [RAYS], "denied": 20}, {"node": "unknown"}),
        ({"holders": [RAYS], "late": 20}, {"node": "unknown"}),
        ({"raylets": [], "holders": [holder(70, "/dev/nvidia1")]}, {"node": "skip"}),
        ({"raylets": [], "holders": [holder(60, "/dev/nvidia1")], "workers": [IDLE]}, {"process 60": "fail"}),
    ],
)
def test_orphan_process(changed: dict[str, Any], expected: dict[str, str]) -> None:
    """Ray #31451."""
    recording = variant(H100, ROOT, HOST, table(**{"raylets": [raylet()], **changed}))
    assert statuses("ray.orphan-process", recording) == expected


def test_orphans_from_inside_a_container_are_not_to_be_seen() -> None:
    inside = variant("nvidia-container", ROOT, "/proc/2/comm !absent", table(raylets=[raylet()]))
    (found,) = told("ray.orphan-process", inside)
    assert (found.status, found.is_ruled_out) == ("skip", True)
    unread = variant(H100, ROOT, HOST, "process processes !denied")
    assert statuses("ray.orphan-process", unread) == {"node": "unknown"}


LOCK = {"path": "/tmp/libtpu_lockfile", "is_ours": False, "age_seconds": 4000}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"holders": [holder(50, "/dev/vfio/0", is_rays=True)]}, {"node": "ok"}),
        ({"holders": [holder(50, "/dev/vfio/0")]}, {"process 50": "warn"}),
        ({"holders": [], "lock": LOCK}, {"node": "warn"}),
        ({"holders": [], "lock": {**LOCK, "age_seconds": 3}}, {"node": "ok"}),
        ({"holders": [], "denied": 9}, {"node": "unknown"}),
        ({"holders": [holder(50, "/dev/vfio/0")], "raylets": []}, {"node": "ok"}),
    ],
)
def test_tpu_in_use(changed: dict[str, Any], expected: dict[str, str]) -> None:
    recording = variant("tpu-v6e-8", ROOT, HOST, table(**{"raylets": [raylet()], **changed}))
    assert statuses("tpu.in-use", recording) == expected


def test_chips_are_looked_for_where_there_are_some() -> None:
    assert statuses("tpu.in-use", on_ray(H100, table(), GPU=8.0)) == {"node": "skip"}
    unread = variant("tpu-v6e-8", ROOT, HOST, "process processes !timeout")
    assert statuses("tpu.in-use", unread) == {"node": "unknown"}
