"""The single-file collector gives the snapshot that raxl gives, and no snapshot holds a secret."""

from __future__ import annotations

import ast
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from raxl.host import pack
from raxl.plugins import registry

CANARY = "canary-5f0e9c"
PLANTED = {
    "AWS_SECRET_ACCESS_KEY": CANARY,
    "NCCL_PROXY_TOKEN": CANARY,
    "RAY_AUTH_TOKEN": CANARY,
    "HOME": f"/home/{CANARY}",
}


def run(*command: str, content: bytes | None = None, **environment: str) -> bytes:
    done = subprocess.run(
        command,
        input=content,
        capture_output=True,
        env={**os.environ, **PLANTED, **environment},
        timeout=60,
        check=True,
    )
    return done.stdout


def raxl(*arguments: str, **environment: str) -> bytes:
    return run(sys.executable, "-m", "raxl", *arguments, **environment)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the collector writes when it is piped into a Python that has nothing else."""
    program = raxl("snapshot", "collector")
    path = tmp_path_factory.mktemp("collected") / "node.tar.gz"
    path.write_bytes(run(sys.executable, "-I", "-S", "-", content=program))
    return path


def inventory(*arguments: str) -> dict[str, object]:
    document = json.loads(raxl("topo", "--format", "json", *arguments))
    document.pop("created")
    return document  # type: ignore[no-any-return]


def test_the_collector_gives_the_inventory_that_raxl_gives(collected: Path) -> None:
    assert inventory("--from", str(collected)) == inventory()


def test_the_collector_is_written_for_the_python_of_old_nodes() -> None:
    text = pack.collector("0", registry.ask_tasks(), registry.LIBRARIES)
    ast.parse(text, feature_version=(3, 8))
    text.encode("ascii")


@pytest.mark.parametrize("budget", ["soon", "nan", "-1", "1e99"])
def test_a_budget_that_is_none_is_one_line(budget: str) -> None:
    program = pack.collector("0", registry.ask_tasks(), registry.LIBRARIES).encode()
    environment = {**os.environ, "RAXL_TIMEOUT": budget}
    done = subprocess.run([sys.executable, "-I", "-"], input=program, capture_output=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr == f"raxl: error: RAXL_TIMEOUT={budget} is no number of seconds\n".encode()


def test_it_carries_no_more_of_raxl_than_asking_needs() -> None:
    text = pack.collector("0", registry.ask_tasks(), registry.LIBRARIES)
    for module in ("raxl.render", "raxl.cli", "raxl.collect", "raxl.topology", "raxl.model.codec", "raxl.host.redact"):
        assert f'"{module}' not in text


def test_no_snapshot_holds_a_secret(collected: Path, tmp_path: Path) -> None:
    """Planted in the environment, in the kernel's command line and in a process's arguments."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "sys").mkdir()
    (root / "proc/cmdline").write_text(f"BOOT_IMAGE=/vmlinuz root={CANARY} iommu=pt token={CANARY}\n")
    named = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", CANARY])
    try:
        time.sleep(0.2)
        raxl("snapshot", "--output", str(tmp_path / "live.tar.gz"))
        raxl("topo", "--record", str(tmp_path / "recorded.tar.gz"))
        raxl("snapshot", "--output", str(tmp_path / "rooted.tar.gz"), RAXL_HOST_ROOT=str(root))
        raxl("snapshot", "--from", str(root), "--output", str(tmp_path / "tree.tar.gz"))
    finally:
        named.kill()
        named.wait()
    written = [collected, *sorted(tmp_path.glob("*.tar.gz"))]
    assert len(written) == 5
    for path in written:
        content = gzip.decompress(path.read_bytes())
        assert CANARY.encode() not in content, path.name
    assert b"iommu=pt" in gzip.decompress((tmp_path / "rooted.tar.gz").read_bytes())


def test_arguments_of_processes_are_cut_from_what_a_tool_lists(tmp_path: Path) -> None:
    process = f"<process_info><process_name>/usr/bin/python3 train.py --key {CANARY}</process_name></process_info>"
    log = f'<nvidia_smi_log><gpu id="00000000:01:00.0"><processes>{process}</processes></gpu></nvidia_smi_log>'
    (tmp_path / "log.xml").write_text(log)
    raxl("topo", "--from", str(tmp_path / "log.xml"), "--record", str(tmp_path / "kept.tar.gz"))
    content = gzip.decompress((tmp_path / "kept.tar.gz").read_bytes())
    assert b"/usr/bin/python3</process_name>" in content
    assert CANARY.encode() not in content


def test_files_are_private_and_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("before")
    (tmp_path / "link.tar.gz").symlink_to(tmp_path / "target")
    done = subprocess.run(
        [sys.executable, "-m", "raxl", "topo", "--record", str(tmp_path / "link.tar.gz")],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 4
    assert (tmp_path / "target").read_text() == "before"
    raxl("snapshot", "--output", str(tmp_path / "x.tar.gz"))
    assert (tmp_path / "x.tar.gz").stat().st_mode & 0o777 == 0o600
