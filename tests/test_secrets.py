"""What is kept from everybody: canaries planted where secrets live are in no byte of what raxl writes."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import seeds
from raxl.collect import inputs, keeping, machines
from raxl.host import allowed

CANARY = "canary-7f3a91d0"
RAXL = (sys.executable, "-m", "raxl")
ENVIRONMENT = {
    "AWS_SECRET_ACCESS_KEY": CANARY,
    "NCCL_FOO_TOKEN": CANARY,
    "UCX_PASSWORD": CANARY,
    "TPU_API_KEYS": CANARY,
    "NCCL_PROXY_PWD": CANARY,
    "RAY_AUTH_TOKEN": CANARY,
    "LD_PRELOAD_NOTE": CANARY,
    "https_proxy": f"http://user:{CANARY}@proxy:3128",
}
TOLD = {"NCCL_IB_PKEY": "17", "NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "0,1"}
"""Variables that a snapshot keeps: without them a test would pass because nothing was recorded."""
COMMAND_LINE = (
    f'BOOT_IMAGE=/vmlinuz root=UUID={CANARY} iommu=pt ds="nocloud;s=x pci={CANARY} numa={CANARY}" token={CANARY} '
    f"pci=realloc systemd.setenv=A={CANARY} rd.luks.key={CANARY} -- --password {CANARY} numa={CANARY}"
)


def run(
    *command: str, content: bytes | None = None, code: int | None = 0, **environment: str
) -> subprocess.CompletedProcess:  # type: ignore[type-arg]
    done = subprocess.run(
        command,
        input=content,
        capture_output=True,
        env={**os.environ, **ENVIRONMENT, **TOLD, **environment},
        timeout=60,
        check=False,
    )
    assert done.returncode == code or (code is None and done.returncode in (0, 3)), done.stderr
    assert CANARY.encode() not in done.stdout + done.stderr
    return done


def unpacked(path: Path) -> bytes:
    """The bytes of a snapshot, packed and not."""
    content = path.read_bytes()
    return content + gzip.decompress(content)


@pytest.fixture(autouse=True)
def process() -> Iterator[None]:
    """A process that has a secret among its arguments and in its environment runs beside every test."""
    child = subprocess.Popen(["bash", "-c", "exec -a sleep sleep 300", "sh", f"--token={CANARY}"], env=ENVIRONMENT)
    named = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", f"--token={CANARY}"])
    yield
    for one in (child, named):
        one.kill()
        one.wait()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The file system of a host, with secrets where hosts have them."""
    folder = tmp_path / "root"
    files, links = seeds.machine()
    files |= {
        "proc/cmdline": COMMAND_LINE + "\n",
        "proc/1/cmdline": f"init\0--token={CANARY}\0",
        "proc/1/environ": f"AWS_SECRET_ACCESS_KEY={CANARY}\0",
        "proc/self/environ": f"NCCL_DEBUG={CANARY}\0",
        "root/.ssh/id_ed25519": CANARY,
        "etc/shadow": CANARY,
        "var/lib/cloud/instance/user-data.txt": CANARY,
        "run/secrets/kubernetes.io/serviceaccount/token": CANARY,
        "run/credentials": CANARY,
    }
    seeds.write(folder, files, links)
    return folder


def tarred(folder: Path) -> Path:
    path = folder.with_suffix(".tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, arcname="root")
    return path


@pytest.mark.parametrize(
    "command", [("snapshot", "--output"), ("topo", "--record"), ("discover", "--record")], ids=" ".join
)
def test_a_live_run_records_no_secret(command: tuple[str, ...], root: Path, tmp_path: Path) -> None:
    for name, environment in (("here", {}), ("root", {"RAXL_HOST_ROOT": str(root)})):
        path = tmp_path / f"{name}.tar.gz"
        run(*RAXL, *command, str(path), code=None, **environment)  # nvidia-smi is not here to be asked
        assert CANARY.encode() not in unpacked(path)
        assert b'"NCCL_IB_PKEY": "17"' in unpacked(path)
    assert b"iommu=pt pci=realloc\n" in unpacked(path)


def test_the_collector_records_no_secret(tmp_path: Path) -> None:
    program = run(*RAXL, "snapshot", "collector").stdout
    path = tmp_path / "x.tar.gz"
    path.write_bytes(run(sys.executable, "-I", "-", content=program).stdout)
    assert CANARY.encode() not in unpacked(path)
    assert b'"NCCL_IB_PKEY": "17"' in unpacked(path)


def test_the_collector_tells_what_raxl_tells_of_this_machine(tmp_path: Path) -> None:
    program = run(*RAXL, "snapshot", "collector").stdout
    path = tmp_path / "x.tar.gz"
    path.write_bytes(run(sys.executable, "-I", "-", content=program).stdout)
    collected = json.loads(run(*RAXL, "topo", "--format", "json", "--from", str(path)).stdout)
    live = json.loads(run(*RAXL, "topo", "--format", "json").stdout)
    for document in (collected, live):
        document.pop("created")
        document["nodes"][0].pop("name")
    assert collected == live


@pytest.mark.parametrize("form", ["folder", "tar"])
@pytest.mark.parametrize("command", [("snapshot", "--output"), ("topo", "--record")], ids=" ".join)
def test_a_tree_s_secrets_are_not_recorded(command: tuple[str, ...], form: str, root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    run(*RAXL, *command, str(path), "--from", str(root if form == "folder" else tarred(root)))
    assert CANARY.encode() not in unpacked(path)
    assert command[0] == "topo" or b"iommu=pt pci=realloc\n" in unpacked(path)


ARGUMENTS = f"python3 train.py --token {CANARY}"
SHAPES = {
    "xml": seeds.log_xml([seeds.gpu_xml(0, process_name=ARGUMENTS)]),
    "a tab in xml": seeds.log_xml([seeds.gpu_xml(0, process_name=ARGUMENTS.replace(" ", "&#9;"))]),
    "CDATA": seeds.log_xml([seeds.gpu_xml(0, process_name=f"<![CDATA[{ARGUMENTS}]]>")]),
    "an attribute": seeds.log_xml([seeds.gpu_xml(0)]).replace(
        "<process_name>/usr/bin/python3", f'<process_name lang="en">{ARGUMENTS}'
    ),
    "an empty one before": seeds.log_xml([seeds.gpu_xml(0, process_name=ARGUMENTS)]).replace(
        "<process_info>", "<process_info><process_name/></process_info><process_info>"
    ),
    "xml that is cut off": seeds.log_xml([seeds.gpu_xml(0, process_name=ARGUMENTS)]).partition("</process_name>")[0],
    "accounted processes": seeds.log_xml([seeds.gpu_xml(0)]).replace(
        "<processes>", f"<accounted_processes><process_name>{ARGUMENTS}</process_name></accounted_processes><processes>"
    ),
    "a shell around it": f"$ export TOKEN={CANARY}\n{seeds.log_xml([seeds.gpu_xml(0)])}\n$ curl -H {CANARY}\n",
    "-q beside the matrix": f"""
    Processes
        Process ID                        : 4711
            Type                          : C
            Name                          : {ARGUMENTS}
{seeds.matrix(2)}""",
    "the table beside the matrix": f"""
|    0   N/A  N/A      4711      C   {ARGUMENTS}      500MiB |
|    0      4711      C   {ARGUMENTS}      500MiB |
{seeds.matrix(2)}""",
    "environment beside the matrix": f"AWS_SECRET_ACCESS_KEY={CANARY}\n{seeds.matrix(2)}\nTOKEN={CANARY}\n",
    "hwloc beside nvidia-smi": seeds.HWLOC + seeds.log_xml([seeds.gpu_xml(0, process_name=ARGUMENTS)]),
}
"""Outputs of nvidia-smi with a process that has arguments, in every form in which raxl takes them."""


@pytest.mark.parametrize("shape", SHAPES)
def test_the_arguments_of_processes_are_not_recorded(shape: str) -> None:
    assert CANARY in SHAPES[shape]
    recordings = machines.together(inputs._from_bytes(SHAPES[shape].encode(), "given"))
    content = gzip.decompress(keeping.packed(recordings))
    assert CANARY.encode() not in content
    assert b"GPU" in content


KEPT = {
    "<process_name>/usr/bin/python3 -m x</process_name>": "<process_name>/usr/bin/python3</process_name>",
    "<process_name/><a>b c</a>": "<process_name/><a>b c</a>",
    "  Name : python3 -m x\n  Product Name : NVIDIA L4\n": "  Name : python3\n  Product Name : NVIDIA L4\n",
    "|    0   N/A  N/A      4711      C   python3 -m x    5MiB |\n": "|    0   N/A  N/A      4711      C   python3 |\n",
    "|   0  NVIDIA L4    Off | 00:01:00.0 Off |    0 |\n": "|   0  NVIDIA L4    Off | 00:01:00.0 Off |    0 |\n",
}


@pytest.mark.parametrize(("text", "kept"), KEPT.items())
def test_of_a_process_its_program_s_name_is_kept_and_of_others_everything(text: str, kept: str) -> None:
    assert allowed.command_output(text) == kept


@pytest.mark.parametrize("command", ["topo", "snapshot"])
def test_what_another_hand_put_into_a_snapshot_goes_through_the_same_door(command: str, tmp_path: Path) -> None:
    given, kept = tmp_path / "given.tar", tmp_path / "kept.tar.gz"
    held = {entry.path: entry for entry in seeds.snapshot()}
    node = "raxl-snapshot/nodes/gpu-node-17"
    planted = {
        f"{node}/root/proc/cmdline": COMMAND_LINE,
        f"{node}/environment.json": json.dumps({"value": {**ENVIRONMENT, **TOLD}}),
        f"{node}/commands/0.out": SHAPES["xml"],
        f"{node}/root/proc/1/environ": CANARY,
        f"{node}/notes.txt": CANARY,
    }
    for path, text in planted.items():
        held[path] = seeds.Entry(path, "file", text.encode())
    given.write_bytes(seeds.tar(list(held.values())))
    option = "--record" if command == "topo" else "--output"
    run(*RAXL, command, option, str(kept), "--from", str(given))
    assert CANARY.encode() not in unpacked(kept)
    assert b'"NCCL_IB_PKEY": "17"' in unpacked(kept)


WRITES = [("snapshot", "--output"), ("topo", "--record"), ("topo", "--output"), ("discover", "--output")]


@pytest.mark.parametrize("command", WRITES, ids=" ".join)
@pytest.mark.parametrize("before", [None, 0o644])
def test_what_is_written_is_its_owner_s_alone(command: tuple[str, ...], before: int | None, tmp_path: Path) -> None:
    path = tmp_path / "written"
    if before is not None:
        path.write_text("what was there")
        path.chmod(before)
    source = tmp_path / "matrix"
    source.write_text(seeds.matrix(2))
    run("bash", "-c", 'umask 0; exec "$@"', "sh", *RAXL, *command, str(path), "--from", str(source))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(errors="replace") != "what was there"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["matrix", "written"]


@pytest.mark.parametrize("command", WRITES, ids=" ".join)
@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_nothing_is_written_through_a_symbolic_link(command: tuple[str, ...], target: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    (tmp_path / "matrix").write_text(seeds.matrix(2))
    (tmp_path / "link").symlink_to(tmp_path / target)
    done = run(*RAXL, *command, str(tmp_path / "link"), "--from", str(tmp_path / "matrix"), code=4)
    assert done.stderr.count(b"\n") == 1
    assert (tmp_path / "there").read_text() == "kept"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "matrix", "there"]
