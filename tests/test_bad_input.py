"""Bad input and faults: one clear line or a problem entry, the contract's exit code, never a traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import machines
from raxl.collect import keeping

MATRIX = Path(__file__).parent / "data" / "matrix.txt"


def raxl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "raxl", *arguments],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def refused(code: int, *arguments: str) -> str:
    """The one line with which raxl refuses."""
    done = raxl(*arguments)
    assert done.returncode == code, (done.returncode, done.stderr, done.stdout)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("raxl: error: ")
    return done.stderr


def nodes(*arguments: str, code: int = 0) -> list[dict[str, object]]:
    done = raxl("topo", "--format", "json", *arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    return json.loads(done.stdout)["nodes"]  # type: ignore[no-any-return]


def packed(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member, content in members:
            member.size = member.size or len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"x\n") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


# --- what is no recording -------------------------------------------------------------------------------------------
def test_no_such_file_comes_first() -> None:
    assert "no such file" in refused(4, "topo", "--from", "/nowhere/at-all")


@pytest.mark.parametrize("content", [b"", b"hello\n", bytes(range(256)) * 64, b"\x00" * 4096, b"<a><b/></a>"], ids=repr)
def test_a_file_of_no_form_says_which_are_known(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi.xml").write_bytes(content)
    assert "not a form that is known" in refused(4, "topo", "--from", str(tmp_path / "nvidia-smi.xml"))


def test_an_empty_folder_is_no_form(tmp_path: Path) -> None:
    assert "not a form that is known" in refused(4, "topo", "--from", str(tmp_path))


def test_one_unreadable_file_among_several_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\x01\x02")
    found = nodes("--from", str(MATRIX), "--from", str(tmp_path / "noise"), code=3)
    assert [len(node["accelerators"]) for node in found] == [2, 0]  # type: ignore[arg-type]
    assert found[1]["problems"][0]["subject"] == "node"  # type: ignore[index]


# --- archives -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_truncated_archive_is_refused(mode: str, tmp_path: Path) -> None:
    noise = os.urandom(1 << 16)
    path = packed(tmp_path / "cut.tar", file("sys/kernel/x", noise), file("sys/y", noise), mode=mode)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert "damaged or cut off" in refused(4, "topo", "--from", str(path))


def test_links_that_leave_the_archive_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    path = packed(
        tmp_path / "escape.tar.gz",
        file("sys/bus/pci/devices/0000:00:01.0/class", b"0x030200\n"),
        link("proc/sys/kernel/hostname", str(tmp_path / "secret")),
        link("proc/cpuinfo", "../../../../../../../../etc/hostname"),
        link("etc/os-release", "/../../etc/os-release", tarfile.LNKTYPE),
        file("../../climbs", b"out"),
    )
    done = raxl("topo", "--from", str(path), "--format", "json")
    assert done.returncode == 0
    assert "SECRET" not in done.stdout
    assert json.loads(done.stdout)["nodes"][0]["os"]["distribution"] is None


def test_a_folder_s_links_stay_inside_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "secret").write_text("SECRET-HOST")
    (tree / "proc/sys/kernel/hostname").symlink_to(tmp_path / "secret")
    (tree / "proc/sys/kernel/osrelease").symlink_to("../../../../secret")
    done = raxl("topo", "--from", str(tree), "--format", "json")
    assert "SECRET-HOST" not in done.stdout


def test_a_bomb_by_its_header_is_refused_at_once(tmp_path: Path) -> None:
    header = tarfile.TarInfo("sys/big")
    header.size = 10 << 30
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf() + bytes(1 << 20)))
    begun = time.monotonic()
    assert "512 MiB" in refused(4, "topo", "--from", str(path))
    assert time.monotonic() - begun < 5


def test_ten_gigabytes_of_zeros_are_no_archive(tmp_path: Path) -> None:
    """A gzip of zeros: little on disk, without end in memory. raxl stops at the first empty block."""
    path = tmp_path / "zeros.tar.gz"
    block = gzip.compress(bytes(64 << 20))
    path.write_bytes(block * 160)
    peak = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", peak, sys.executable, "-m", "raxl", "topo", "--from", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4
    assert int(done.stdout.split()[-1]) < 300 << 10  # KiB


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    one = tarfile.TarInfo("sys/x").tobuf()
    path = tmp_path / "many.tar.gz"
    path.write_bytes(gzip.compress(one * 200_001 + bytes(1024), compresslevel=1))
    assert "200,000 entries" in refused(4, "topo", "--from", str(path))


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_cyclic_links_and_links_through_links_end(form: str, tmp_path: Path) -> None:
    """A link to itself, and links each of which leads twice through the next: 2^40 steps if all were taken."""
    tree = tmp_path / "tree"
    (tree / "sys/bus/pci/devices").mkdir(parents=True)
    (tree / "proc").mkdir()
    (tree / "proc/cpuinfo").symlink_to("cpuinfo")
    for step in range(40):
        (tree / f"proc/l{step}").symlink_to(f"l{step + 1}/../l{step + 1}")
    (tree / "proc/version").symlink_to("l0/x")
    (tree / "sys/bus/pci/devices/0000:00:01.0").symlink_to("../devices/0000:00:01.0")
    path = tree
    if form == "tar":
        path = tmp_path / "tree.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(tree, arcname="tree")
    begun = time.monotonic()
    assert raxl("topo", "--from", str(path)).returncode == 0
    assert time.monotonic() - begun < 10


def test_a_pipe_and_a_socket_in_a_tree_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    os.mkfifo(tmp_path / "proc/cpuinfo")
    os.mkfifo(tmp_path / "proc/sys/kernel/osrelease")
    begun = time.monotonic()
    assert raxl("topo", "--from", str(tmp_path)).returncode == 0
    assert time.monotonic() - begun < 5


# --- snapshots ------------------------------------------------------------------------------------------------------
@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    recording = machines.ALL["hgx-h100"]().recording()
    from raxl.cli import source

    source.read_through(recording)
    keeping.write([recording], tmp_path / "x.tar.gz")
    with tarfile.open(tmp_path / "x.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "raxl-snapshot"


def test_a_snapshot_may_be_unpacked(snapshot: Path) -> None:
    assert nodes("--from", str(snapshot)) == nodes("--from", str(snapshot.parent / "x.tar.gz"))


def test_a_newer_snapshot_names_both_layouts(snapshot: Path) -> None:
    manifest = snapshot / "manifest.json"
    manifest.write_text(manifest.read_text().replace("raxl.snapshot/v1", "raxl.snapshot/v9"))
    line = refused(4, "topo", "--from", str(snapshot))
    assert "raxl.snapshot/v9" in line
    assert "raxl.snapshot/v1" in line


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"schema": "raxl.snapshot/v1"}'),
        ("manifest.json", '{"schema": "raxl.snapshot/v1", "nodes": [7]}'),
        ("manifest.json", '{"schema": "raxl.snapshot/v1", "nodes": ' + "[" * 5000),
        ("nodes/hgx-h100/manifest.json", "{}"),
        ("nodes/hgx-h100/root.jsonl", "not json\n"),
        ("nodes/hgx-h100/root.jsonl", '{"question": "names", "path": "/sys/bus/pci/devices", "value": 7}\n'),
        ("nodes/hgx-h100/commands/index.jsonl", '{"arguments": "nvidia-smi -q -x"}\n'),
    ],
)
def test_a_damaged_snapshot_is_refused(name: str, content: str, snapshot: Path) -> None:
    (snapshot / name).write_text(content)
    assert "damaged snapshot" in refused(4, "topo", "--from", str(snapshot))


# --- texts of other tools -------------------------------------------------------------------------------------------
def text(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_an_entity_bomb_is_not_expanded(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 20))
    bomb = f'<!DOCTYPE topology [<!ENTITY e0 "x">{entities}]><topology version="2.0">&e19;</topology>'
    found = nodes("--from", text(tmp_path / "bomb", bomb), code=3)
    assert any("entities" in problem["message"] for problem in found[0]["problems"])  # type: ignore[attr-defined]


def test_deep_xml_is_refused(tmp_path: Path) -> None:
    deep = '<topology version="2.0">' + "<object>" * 100_000
    assert nodes("--from", text(tmp_path / "deep", deep), code=3)[0]["accelerators"] == []


def test_utf16_as_powershell_writes_it(tmp_path: Path) -> None:
    log = machines.log_xml([machines.gpu_xml("0000:01:00.0", 0, "NVIDIA L4", 23034)])
    found = nodes("--from", text(tmp_path / "log", log.encode("utf-16")))
    assert found[0]["accelerators"][0]["model"] == "NVIDIA L4"  # type: ignore[index]


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "ERR!", "Unknown Error", "[Unknown Error]", "0 MiB"])
def test_words_for_nothing_and_for_failure_stay_apart(word: str, tmp_path: Path) -> None:
    gpu = machines.gpu_xml("0000:01:00.0", 0, "NVIDIA L4", 0, total=word).replace(f"<total>{word}</total>", "", 1)
    log = machines.log_xml([gpu])
    failed = "Err" in word or "ERR" in word
    device = (node := nodes("--from", text(tmp_path / "log", log), code=3 if failed else 0)[0])["accelerators"][0]  # type: ignore[index]
    assert device["memory_bytes"] == (0 if word == "0 MiB" else None)
    told = [p["reason"] for p in node["problems"] if p["subject"].endswith(".memory_bytes")]  # type: ignore[attr-defined]
    assert told == ([] if word == "0 MiB" else ["failed"] if failed else ["not-supported"])


def test_a_lost_gpu_is_lost(tmp_path: Path) -> None:
    gpus = [machines.gpu_xml("0000:01:00.0", 0, "NVIDIA L4", 23034)]
    gpus.append(machines.gpu_xml("0000:02:00.0", 1, "NVIDIA L4", 0, uuid="GPU is lost", serial="GPU is lost"))
    node = nodes("--from", text(tmp_path / "log", machines.log_xml(gpus)))[0]
    assert [device["state"] for device in node["accelerators"]] == ["ok", "lost"]  # type: ignore[attr-defined]


def test_a_count_that_contradicts_the_rows_is_told(tmp_path: Path) -> None:
    log = machines.log_xml([machines.gpu_xml("0000:01:00.0", 0, "NVIDIA L4", 23034)], attached=8)
    node = nodes("--from", text(tmp_path / "log", log))[0]
    assert len(node["accelerators"]) == 1  # type: ignore[arg-type]
    assert [p["message"] for p in node["problems"] if p["reason"] == "disagreement"] == [  # type: ignore[attr-defined]
        "nvidia-smi states 8 attached GPUs and lists 1"
    ]


def test_xml_that_is_cut_off_gives_what_is_there(tmp_path: Path) -> None:
    gpus = [machines.gpu_xml(f"0000:0{n}:00.0", n, "NVIDIA L4", 23034) for n in range(1, 5)]
    log = machines.log_xml(gpus, attached=4)
    node = nodes("--from", text(tmp_path / "log", log[: log.rindex("<serial>")]), code=3)[0]
    assert len(node["accelerators"]) == 4  # type: ignore[arg-type]
    assert any("not well-formed" in problem["message"] for problem in node["problems"])  # type: ignore[attr-defined]


def test_a_matrix_without_rows_knows_its_devices(tmp_path: Path) -> None:
    lines = MATRIX.read_text().splitlines(keepends=True)
    node = nodes("--from", text(tmp_path / "cut", "".join(lines[:2])), code=3)[0]
    assert [device["id"] for device in node["accelerators"]] == ["nvidia:0", "nvidia:1"]  # type: ignore[attr-defined]
    classes = {(link["a"], link["b"]): link["link_class"] for link in node["links"]}  # type: ignore[attr-defined]
    assert classes["nvidia:0", "nvidia:1"] == "NV4"
    assert classes["nvidia:1", "NIC0"] is None


def test_two_files_of_one_machine_are_one_node(tmp_path: Path) -> None:
    gpus = [machines.gpu_xml(f"0000:0{n + 1}:00.0", n, "NVIDIA L4", 23034) for n in range(2)]
    log = text(tmp_path / "log.xml", machines.log_xml(gpus))
    assert len(nodes("--from", str(MATRIX), "--from", log)) == 2
    (node,) = nodes("--from", str(MATRIX), "--from", log, "--as-node", "gpu-07")
    assert node["name"] == "gpu-07"
    assert [device["model"] for device in node["accelerators"]] == ["NVIDIA L4"] * 2  # type: ignore[attr-defined]
    assert node["links"][0]["link_class"] == "NV4"  # type: ignore[index]


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "raxl", "topo", "--from", "-", "--format", "json"],
        input=MATRIX.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert len(json.loads(done.stdout)["nodes"][0]["accelerators"]) == 2


HOSTILE = "\x1b]0;title\x07\x1b[31mX[/bold]\u202e‮\x00"


@pytest.mark.parametrize("arguments", [("topo",), ("topo", "--expand"), ("discover",), ("topo", "--format", "json")])
def test_a_name_never_acts(arguments: tuple[str, ...], tmp_path: Path) -> None:
    machine = machines.Machine("box")
    port = machine.bridges("00", "00:1c.0")
    path = f"{port}/0000:01:00.0"
    machine.function(path, "1002:ffff", "038000", driver="amdgpu")
    machine.file(f"/sys/devices/{path}/product_name", HOSTILE)
    recording = machine.recording()
    from raxl.cli import source

    source.read_through(recording)
    keeping.write([recording], tmp_path / "x.tar.gz")
    done = raxl(*arguments, "--from", str(tmp_path / "x.tar.gz"))
    assert "X[/bold]" in done.stdout
    assert all(character.isprintable() or character == "\n" for character in done.stdout)


# --- the command line and the streams -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "arguments",
    [("bogus",), ("topo", "--bogus"), ("topo", "--view", "x"), ("topo", "--timeout", "no"), ("schema", "x"),
     ("discover", "--expect", "H100", "--from", str(MATRIX)), ("topo", "extra")],
    ids=" ".join,
)  # fmt: skip
def test_a_wrong_command_line_is_one_line_and_two(arguments: tuple[str, ...]) -> None:
    refused(2, *arguments)


def test_expectations_are_met_or_told(tmp_path: Path) -> None:
    gpus = [machines.gpu_xml(f"0000:0{n + 1}:00.0", n, "NVIDIA H100 80GB HBM3", 81559) for n in range(8)]
    log = text(tmp_path / "log.xml", machines.log_xml(gpus))
    assert raxl("discover", "--from", log, "--expect", "8xH100").returncode == 0
    assert raxl("discover", "--from", log, "--expect", "8xH100 80GB").returncode == 0
    for wrong in ("7xH100", "9xH100", "8xH200", "8x100"):
        done = raxl("discover", "--from", log, "--expect", wrong)
        assert done.returncode == 1
        assert "expected" in done.stderr


def test_output_is_written_whole_and_private(tmp_path: Path) -> None:
    assert raxl("topo", "--from", str(MATRIX), "--output", str(tmp_path / "o")).stdout == ""
    assert (tmp_path / "o").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "o").read_text() == raxl("topo", "--from", str(MATRIX)).stdout


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    refused(4, "topo", "--from", str(MATRIX), "--output", "/nowhere/at/all")
    refused(4, "topo", "--from", str(MATRIX), "--record", "/nowhere/at/all")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    refused(4, "topo", "--from", str(MATRIX), "--output", str(tmp_path / "link"))
    assert not (tmp_path / "target").exists()


def test_a_reader_that_has_gone_is_no_error() -> None:
    command = f"{sys.executable} -m raxl topo --from {MATRIX} --format json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_a_plain_locale_gets_ascii() -> None:
    assert raxl("topo", "--from", str(MATRIX), LC_ALL="C").stdout.isascii()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_line_is_wider_than_asked(columns: int) -> None:
    for view in ("tree", "matrix"):
        shown = raxl("topo", "--view", view, "--from", str(MATRIX), COLUMNS=str(columns)).stdout
        assert max(map(len, shown.splitlines())) <= columns


# --- a machine that does not answer ---------------------------------------------------------------------------------
@pytest.fixture
def root(tmp_path: Path) -> Callable[[str], Path]:
    def build(blocked: str) -> Path:
        for name, content in {
            "proc/sys/kernel/osrelease": "6.8.0\n",
            "etc/os-release": 'PRETTY_NAME="Debian"\n',
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
        (tmp_path / blocked).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / blocked)
        return tmp_path

    return build


def test_a_kernel_file_that_blocks_costs_its_deadline_once(root: Callable[[str], Path]) -> None:
    begun = time.monotonic()
    done = raxl("topo", "--format", "json", RAXL_HOST_ROOT=str(root("proc/cpuinfo")))
    assert 2 <= time.monotonic() - begun < 6
    (node,) = json.loads(done.stdout)["nodes"]
    assert node["os"]["kernel"] == "6.8.0"
    assert node["cpu"]["model"] is None
    assert done.returncode == 0


def test_the_node_s_budget_ends_it(root: Callable[[str], Path]) -> None:
    begun = time.monotonic()
    raxl("topo", "--timeout", "0.5", RAXL_HOST_ROOT=str(root("proc/cpuinfo")))
    assert time.monotonic() - begun < 3
