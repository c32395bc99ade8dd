"""The loopback recipe from its plan to its rollback, with a Ray that is started from the files that it wrote."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ray_hosts
from processes import Started
from recipe_roots import listing

pytestmark = pytest.mark.alone  # it measures, and holds what it measured against itself

BIN = Path(sys.executable).parent
NAME = "cpu-loopback"
_VIEW = """
import json, sys, ray
ray.init(address=sys.argv[1], logging_level="ERROR")
print(json.dumps([{key: one[key] for key in ("Resources", "Labels")} for one in ray.nodes() if one["Alive"]]))
"""


def raxl(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "raxl"), "recipe", *arguments, "--root", str(root)]
    environment = {**os.environ, **ray_hosts.environment(), "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=180)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that holds a file of somebody else."""
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    return folder


def started(root: Path, folder: Path) -> tuple[Started, str]:
    """`ray start` as the plan says it, its files sourced and given; and the address of its GCS."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    own = f"--port={port} --node-ip-address=127.0.0.1 --temp-dir={folder} --include-dashboard=false --block"
    program = f". {root}/current/{NAME}.env && exec xargs -a {root}/current/ray-start.args ray start --head {own}"
    environment = {**os.environ, **ray_hosts.environment(), "PATH": f"{BIN}:{os.environ['PATH']}"}
    ray = Started(["sh", "-c", program], environment)
    until = time.monotonic() + 60
    while time.monotonic() < until and ray.poll() is None:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0 and list(folder.glob("session_*/sockets/raylet")):
                return ray, f"127.0.0.1:{port}"
        time.sleep(0.1)
    ray.end()
    raise AssertionError("ray did not start")


def environment_of_the_raylet(folder: Path) -> dict[str, str]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                if line[0].endswith(b"/raylet") and any(str(folder).encode() in one for one in line):
                    told = Path(f"/proc/{name}/environ").read_bytes().decode().split("\0")
                    return dict(one.partition("=")[::2] for one in told)
            except OSError:
                continue
    raise AssertionError("no raylet")


def verified(root: Path, address: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the recipe's figures by id."""
    done = raxl(root, "verify", "--cluster", "--address", address, "--format", "json")
    return done.returncode, {one["id"]: one for one in json.loads(done.stdout)["figures"]}


def test_from_the_plan_to_the_rollback(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = listing(root)

    planned = raxl(root, "plan", NAME)
    assert planned.returncode == 0, planned.stderr
    assert "+export GLOO_SOCKET_IFNAME=lo" in planned.stdout
    assert listing(root) == before

    assert raxl(root, "apply", NAME, "--yes").returncode == 0
    applied = listing(root)
    again = raxl(root, "apply", NAME, "--yes")
    assert (again.returncode, listing(root)) == (0, applied)
    assert "Nothing to change" in again.stdout

    folder = tmp_path_factory.mktemp("ray")
    ray, address = started(root, folder)
    try:
        own = environment_of_the_raylet(folder)
        assert {name: own.get(name) for name in ("GLOO_SOCKET_IFNAME", "UCX_TLS", "UCX_NET_DEVICES")} == {
            "GLOO_SOCKET_IFNAME": "lo",
            "UCX_TLS": "tcp,self",
            "UCX_NET_DEVICES": "lo",
        }
        seen = subprocess.run(
            [sys.executable, "-c", _VIEW, address],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **ray_hosts.environment()},
        )
        (node,) = json.loads(seen.stdout.splitlines()[-1])
        assert node["Resources"]["CPU"] == len(os.sched_getaffinity(0))
        assert "GPU" not in node["Resources"]
        assert node["Labels"]["raxl/scale-up"] == "none"
        assert node["Labels"]["raxl/accelerators"] == "0"

        first, measured = verified(root, address)
        assert first == 0
        assert {name: one["status"] for name, one in measured.items()} == {
            "tcp-lo": "baseline",
            "nixl-lo": "skip" if find_spec("nixl") is None else "baseline",
        }
        tcp = measured["tcp-lo"]
        assert (tcp["path"], tcp["path_verdict"], tcp["verified_bytes"]) == ("lo", "proven", True)
        # How near the two are says how busy this machine is; `test_recipe_figures` holds what follows from that.
        again = verified(root, address)[1]["tcp-lo"]
        assert again["expected"] == tcp["measured"]
        assert again["ratio"] == pytest.approx(again["measured"] / tcp["measured"])
    finally:
        os.killpg(ray.pid, signal.SIGTERM)
        try:
            ray.communicate(timeout=60)
        finally:
            ray.end()

    edited = root / "current" / f"{NAME}.env"
    edited.write_text(edited.read_text().replace("=lo", "=eth9"))
    hand = listing(root)
    refused = raxl(root, "apply", NAME, "--yes")
    assert (refused.returncode, listing(root)) == (1, hand)
    assert "+export GLOO_SOCKET_IFNAME=eth9" in refused.stdout + refused.stderr
    refused = raxl(root, "rollback", "--yes")
    assert (refused.returncode, listing(root)) == (1, hand)

    assert raxl(root, "rollback", "--yes", "--force").returncode == 0
    assert listing(root) == before
