"""Bad input and faults: one clear line or a problem entry, the contract's exit code, never a traceback or a guess."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pty
import resource
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recordings
import seeds
from raxl.cli import outcome
from raxl.cli.app import app
from raxl.collect import keeping
from raxl.host import archive

MATRIX = Path(__file__).parent / "data" / "matrix.txt"
RAXL = (sys.executable, "-m", "raxl")
NOBODY = 65534


def raxl(*arguments: str, content: bytes | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, where streams, signals or the machine matter."""
    done = subprocess.run(
        [*RAXL, *arguments],
        input=content,
        capture_output=True,
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
        check=False,
    )
    texts = (stream.decode(errors="surrogateescape") for stream in (done.stdout, done.stderr))
    result = subprocess.CompletedProcess(done.args, done.returncode, *texts)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def told(*arguments: str) -> tuple[int, str, str]:
    """The command in this process: its exit code and what it wrote."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = outcome.run(app, arguments)
    return code, stdout.getvalue(), stderr.getvalue()


def refused(code: int, *arguments: str) -> str:
    """The one line with which raxl refuses."""
    ended, stdout, stderr = told(*arguments)
    assert (ended, stdout) == (code, ""), stderr
    assert stderr.startswith("raxl: error: ")
    assert stderr.count("\n") == 1
    assert stderr.rstrip("\n").isprintable()
    return stderr


def nodes(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    """The nodes of the inventory; every text is shown too."""
    ended, stdout, stderr = told("topo", "--format", "json", *arguments)
    assert (ended, stderr) == (code, "")
    for command in (("topo",), ("topo", "--view", "matrix"), ("discover", "--nics")):
        assert told(*command, *arguments)[0] == code
    return json.loads(stdout)["nodes"]  # type: ignore[no-any-return]


def given(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def packed(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for member, content in members:
            member.size = member.size or len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"x\n") -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


MEASURED = """
import json, os, sys, time
begun, nowhere = time.monotonic(), [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), time.monotonic() - begun, usage.ru_maxrss]))
"""
"""In a small process: the most memory of a child is at least that of the one that started it."""


def peak(*arguments: str) -> tuple[int, float, int]:
    """Exit code, seconds, and the most memory in KiB that a raxl of its own took."""
    command = [sys.executable, "-c", MEASURED, *RAXL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    code, seconds, kibibytes = json.loads(done.stdout)
    return code, seconds, kibibytes


@pytest.mark.parametrize("path", ["/nowhere/at-all", "", "/tmp/\x1b[31mx\ny\u202ez", "/tmp/\udcff", "x" * 5000])
def test_no_such_file_comes_first(path: str) -> None:
    line = refused(4, "topo", "--from", path)
    assert "no such file" in line or "too long" in line


JUNK = {
    "empty": b"",
    "a word": b"hello\n",
    "every byte": bytes(range(256)) * 64,
    "zeros": b"\x00" * 4096,
    "other XML": b"<a><b/></a>",
    "JSON": b'{"nodes": []}',
    "gzip of a text": gzip.compress(b"hello\n" * 1000),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(500),
    "half a word of a form": b"<topolog",
    "a long line": b"GPU0" * 100_000,
}


@pytest.mark.parametrize("what", JUNK)
def test_a_file_of_no_form_says_which_are_known(what: str, tmp_path: Path) -> None:
    """A name does not make a form."""
    assert "not a form that is known" in refused(4, "topo", "--from", given(tmp_path / "nvidia-smi.xml", JUNK[what]))


def test_an_empty_folder_and_one_of_other_things_are_no_form(tmp_path: Path) -> None:
    assert "the folder is empty" in refused(4, "topo", "--from", str(tmp_path))
    given(tmp_path / "readme", "hello\n")
    (tmp_path / "below").mkdir()
    assert "not a form that is known" in refused(4, "topo", "--from", str(tmp_path))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/self/mem", "/proc/self/fd/none"])
def test_what_is_no_file_is_refused_and_not_read(path: str) -> None:
    refused(4, "topo", "--from", path)


def test_a_pipe_a_socket_and_a_circle_of_links_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))
        for name in ("pipe", "socket", "circle", "dangling"):
            refused(4, "topo", "--from", str(tmp_path / name))


def test_a_text_that_is_too_long_is_refused_by_its_size(tmp_path: Path) -> None:
    with open(tmp_path / "big", "wb") as big:
        big.truncate(10 << 30)
    assert "256 MiB" in refused(4, "topo", "--from", str(tmp_path / "big"))


def test_one_unreadable_file_among_several_is_a_problem_and_the_only_one_an_error(tmp_path: Path) -> None:
    for content in (b"\x01\x02", gzip.compress(b"x")[:10], b"raxl.snapshot/v9"):
        bad = given(tmp_path / "bad", content)
        found = nodes("--from", str(MATRIX), "--from", bad, code=3)
        assert [len(node["accelerators"]) for node in found] == [2, 0]
        assert (found[1]["problems"][0]["subject"], found[1]["problems"][0]["reason"]) == ("node", "failed")
        assert bad in found[1]["problems"][0]["message"]
        refused(4, "topo", "--from", bad)
    assert len(nodes("--from", "/nowhere", "--from", str(MATRIX), code=3)) == 2


def test_of_a_folder_of_recordings_each_is_a_node_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    shutil.copy(MATRIX, tmp_path / "a.txt")
    given(tmp_path / "b.tar.gz", gzip.compress(seeds.tar(seeds.entries()))[:2000])
    given(tmp_path / "c.md", "passed over\n")
    (tmp_path / "d").symlink_to("/proc/self/mem")  # a read fails
    found = nodes("--from", str(tmp_path), code=3)
    assert [len(node["accelerators"]) for node in found] == [2, 0, 0]
    assert "damaged or cut off" in found[1]["problems"][0]["message"]
    assert "cannot be read" in found[2]["problems"][0]["message"]


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w:"])
def test_a_truncated_archive_is_refused(mode: str, tmp_path: Path) -> None:
    noise = os.urandom(1 << 16)
    path = packed(tmp_path / "cut.tar", file("sys/kernel/x", noise), file("sys/y", noise), mode=mode)
    whole = path.read_bytes()
    for length in (len(whole) // 2, 1000, 700):
        path.write_bytes(whole[:length])
        assert "damaged or cut off" in refused(4, "topo", "--from", str(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "compressed"])
@pytest.mark.parametrize("form", ["snapshot", "tree"])
def test_an_archive_that_is_cut_between_two_entries_is_shown_and_told(
    form: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    raw = gzip.decompress(recordings.snapshot("nvidia-hgx-h100")) if form == "snapshot" else seeds.tar(seeds.entries())
    headers = [place for place in range(0, len(raw), 512) if raw[place + 257 : place + 262] == b"ustar"]
    (whole,) = nodes("--from", given(tmp_path / "whole", pack(raw)))
    assert [one for one in whole["problems"] if one["subject"] == "recording"] == []
    end = max(headers[-1] + 512, len(raw.rstrip(b"\0")))
    for place in (headers[-1], -(-end // 512) * 512):  # without the last entry, and with all of them
        path = given(tmp_path / "cut", pack(raw[:place]))
        (node,) = nodes("--from", path, code=3)
        assert len(node["accelerators"]) == len(whole["accelerators"])
        (problem,) = (one for one in node["problems"] if one["subject"] == "recording")
        assert (problem["reason"], problem["message"][:22]) == ("failed", "the archive is cut off")
        code, text, _ = told("labels", "--from", path)
        assert (code, "raxl/accelerators  " in text) == (3, False)
        replay = str(tmp_path / "again.tar.gz")
        first = told("topo", "--from", path, "--record", replay)
        assert told("topo", "--from", replay) == first


def test_an_archive_with_a_damaged_header_is_not_taken_for_a_shorter_one(tmp_path: Path) -> None:
    whole = bytearray(seeds.tar(seeds.entries()))
    headers = [place for place in range(0, len(whole), 512) if whole[place + 257 : place + 262] == b"ustar"]
    whole[headers[20]] ^= 1
    assert "damaged" in refused(4, "topo", "--from", given(tmp_path / "x.tar", bytes(whole)))


def test_links_that_leave_the_archive_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    path = packed(
        tmp_path / "escape.tar.gz",
        file("sys/bus/pci/devices/0000:00:01.0/class", b"0x030200\n"),
        link("proc/sys/kernel/hostname", str(tmp_path / "secret")),
        link("proc/sys/kernel/osrelease", "../../../../../../../../.." + str(tmp_path / "secret")),
        link("proc/version", str(tmp_path / "secret"), tarfile.LNKTYPE),
        link("proc/cpuinfo", "../../../../../../../../etc/hostname"),
        link("etc/os-release", "/../../etc/os-release", tarfile.LNKTYPE),
        link("sys/class/net", "/"),
        file("../../climbs", b"out"),
        file("/etc/os-release", b"PRETTY_NAME=inside\n"),
    )
    (node,) = nodes("--from", str(path))
    assert "SECRET" not in json.dumps(node)
    assert node["os"]["kernel"] is None
    assert not (tmp_path.parent / "climbs").exists()


def test_a_folder_s_links_stay_inside_it(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "proc/sys/kernel").mkdir(parents=True)
    (tree / "sys/class").mkdir(parents=True)
    (tmp_path / "secret").write_text("SECRET-HOST")
    (tree / "proc/sys/kernel/hostname").symlink_to(tmp_path / "secret")
    (tree / "proc/sys/kernel/osrelease").symlink_to("../../../../secret")
    (tree / "sys/class/net").symlink_to("/sys/class/net")
    (tree / "etc").symlink_to("/etc")
    (node,) = nodes("--from", str(tree))
    assert "SECRET-HOST" not in json.dumps(node)
    assert (node["os"]["kernel"], node["os"]["distribution"], node["nics"]) == (None, None, [])


BOMBS = {
    "a file": tarfile.REGTYPE,
    "a long name": tarfile.GNUTYPE_LONGNAME,
    "a long link": tarfile.GNUTYPE_LONGLINK,
    "an extended header": tarfile.XHDTYPE,
    "a global header": tarfile.XGLTYPE,
    "a sparse file": tarfile.GNUTYPE_SPARSE,
}


@pytest.fixture(scope="module")
def zeros() -> bytes:
    """Ten gigabytes of zeros, as gzip."""
    return gzip.compress(bytes(64 << 20), compresslevel=1) * 160


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_header_that_claims_ten_gigabytes_is_refused_fast_and_in_little_memory(
    bomb: str, zeros: bytes, tmp_path: Path
) -> None:
    header = tarfile.TarInfo("sys/big")
    header.size, header.type = 10 << 30, BOMBS[bomb]
    path = given(tmp_path / "bomb.tar.gz", gzip.compress(header.tobuf(tarfile.GNU_FORMAT)) + zeros)
    code, seconds, kibibytes = peak("topo", "--from", path)
    assert code == 4
    assert seconds < 5
    assert kibibytes < 300 << 10
    assert "512 MiB" in refused(4, "topo", "--from", path)


@pytest.mark.parametrize("form", ["file", "standard input"])
def test_ten_gigabytes_of_zeros_are_no_archive(form: str, zeros: bytes, tmp_path: Path) -> None:
    """Little on disk, without end in memory: raxl stops at the first empty block."""
    path = given(tmp_path / "zeros.tar.gz", zeros)
    if form == "standard input":
        assert raxl("topo", "--from", "-", content=zeros).returncode == 4
        return
    code, seconds, kibibytes = peak("topo", "--from", path)
    assert code == 4
    assert seconds < 5
    assert kibibytes < 300 << 10


def test_an_archive_is_read_once_from_front_to_back(tmp_path: Path) -> None:
    """Python's own reader steps back before each header, and unpacks all before it anew: this took a minute."""
    path = packed(tmp_path / "x.tar.gz", *(file(f"sys/{n}", bytes(1 << 20)) for n in range(150)))
    begun = time.monotonic()
    nodes("--from", str(path))
    assert time.monotonic() - begun < 15


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (archive.MOST_ENTRIES, archive.LARGEST) == (200_000, 512 << 20)
    one = tarfile.TarInfo("sys/x").tobuf()
    path = given(tmp_path / "many.tar.gz", gzip.compress(one * 2001 + bytes(1024)))
    nodes("--from", path)
    monkeypatch.setattr(archive, "MOST_ENTRIES", 2000)
    assert "200,000 entries" in refused(4, "topo", "--from", path)


def test_headers_that_every_entry_inherits_do_not_multiply(tmp_path: Path) -> None:
    with tarfile.open(
        tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT, pax_headers={f"k{n}": "v" for n in range(9999)}
    ) as tar:
        for n in range(2000):
            tar.addfile(tarfile.TarInfo(f"sys/{n}"))
    begun = time.monotonic()
    refused(4, "topo", "--from", str(tmp_path / "x.tar"))
    assert time.monotonic() - begun < 2


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
    (tree / "proc/cmdline").symlink_to("/" + "a/" * 990)
    (tree / "sys/bus/pci/devices/0000:00:01.0").symlink_to("../devices/0000:00:01.0")
    path = tree
    if form == "tar":
        path = tmp_path / "tree.tar"
        with tarfile.open(path, "w") as tar:
            tar.add(tree, arcname="tree")
    begun = time.monotonic()
    (node,) = nodes("--from", str(path), code=3)  # the PCI function's own link
    assert time.monotonic() - begun < 10
    assert node["cpu"]["model"] is None
    message = "1 of 1 PCI functions could not be read: Too many levels of symbolic links"
    assert message in [problem["message"] for problem in node["problems"]]


def test_a_pipe_and_a_socket_in_a_tree_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    os.mkfifo(tmp_path / "proc/cpuinfo")
    os.mkfifo(tmp_path / "proc/sys/kernel/osrelease")
    monkeypatch.chdir(tmp_path)
    begun = time.monotonic()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("proc/version")
        (node,) = nodes("--from", str(tmp_path))
    assert time.monotonic() - begun < 5
    assert (node["cpu"]["model"], node["os"]["kernel"]) == (None, None)
    reasons = {one["subject"]: one["reason"] for one in node["problems"]}
    assert reasons["cpu.model"] == reasons["os.kernel"] == "failed"


@pytest.fixture
def as_nobody(tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Runs raxl as a user whom file modes bind: root reads everything."""

    def run(*arguments: str) -> tuple[int, str]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover
            code = 70
            with contextlib.suppress(BaseException):
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                code, stdout, stderr = told(*arguments)
                os.write(writing, (stdout or stderr).encode())
            os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read().decode()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), answer

    told("topo", "--format", "json", "--from", str(MATRIX))  # nobody may not be able to import it
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o777 == 0o700:  # pytest's own folders, however many
            folder.chmod(0o755)
    return run  # type: ignore[return-value]


def test_what_may_not_be_read_in_a_tree_is_not_permitted(as_nobody: Any, tmp_path: Path) -> None:
    seeds.write(tmp_path, *seeds.machine())
    (tmp_path / "proc/sys/kernel/osrelease").chmod(0)
    (tmp_path / "proc/version").chmod(0)
    code, answer = as_nobody("topo", "--format", "json", "--from", str(tmp_path))
    (node,) = json.loads(answer)["nodes"]
    assert code == 0
    assert node["os"]["kernel"] is None
    assert len(node["accelerators"]) == 3
    (tmp_path / "sys/bus/pci/devices").chmod(0)
    code, answer = as_nobody("topo", "--format", "json", "--from", str(tmp_path))
    (node,) = json.loads(answer)["nodes"]
    assert code == 3
    assert ("pci_tree", "not-permitted") in [(one["subject"], one["reason"]) for one in node["problems"]]


def test_a_file_that_may_not_be_read_is_one_line(as_nobody: Any, tmp_path: Path) -> None:
    path = given(tmp_path / "matrix", MATRIX.read_text())
    Path(path).chmod(0)
    code, answer = as_nobody("topo", "--from", path)
    assert (code, answer) == (4, f"raxl: error: {path} cannot be read (Permission denied)\n")


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    keeping.write([seeds.recording()], tmp_path / "x.tar.gz")
    with tarfile.open(tmp_path / "x.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "raxl-snapshot"


NODE = "nodes/gpu-node-17"


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
        ("manifest.json", '{"schema": "raxl.snapshot/v1", "nodes": ["nodes/other"]}'),
        ("manifest.json", '{"schema": "raxl.snapshot/v1", "nodes": ["../../.."]}'),
        ("manifest.json", '{"schema": "raxl.snapshot/v1", "nodes": ' + "[" * 5000),
        ("manifest.json", '"raxl.snapshot/v1"'),
        (f"{NODE}/manifest.json", "{}"),
        (f"{NODE}/manifest.json", "[]"),
        (f"{NODE}/manifest.json", "\xff\xfe"),
        (f"{NODE}/root.jsonl", "not json\n"),
        (f"{NODE}/root.jsonl", "7\n"),
        (f"{NODE}/root.jsonl", '{"question": "names", "path": "/sys/bus/pci/devices", "value": 7}\n'),
        (f"{NODE}/root.jsonl", '{"question": "link", "path": "/x", "value": ["/y"]}\n'),
        (f"{NODE}/root.jsonl", '{"question": "text", "path": "/x", "value": null}\n'),
        (f"{NODE}/commands/index.jsonl", '{"arguments": "nvidia-smi -q -x"}\n'),
        (f"{NODE}/commands/index.jsonl", '{"arguments": "nvidia-smi -q -x", "status": 1e999}\n'),
        (f"{NODE}/commands/index.jsonl", '{"arguments": "nvidia-smi -q -x", "status": "x"}\n'),
        (f"{NODE}/libraries/os.jsonl", '{"value": {}}\n'),
        (f"{NODE}/environment.json", '{"value": "NCCL_DEBUG=INFO"}'),
        (f"{NODE}/environment.json", "9" * 5000),
    ],
)
def test_a_damaged_snapshot_is_refused(name: str, content: str, snapshot: Path) -> None:
    (snapshot / name).write_text(content, encoding="latin-1")
    assert "damaged snapshot" in refused(4, "topo", "--from", str(snapshot))


def test_a_reason_that_is_none_of_the_vocabulary_is_a_failure(snapshot: Path) -> None:
    refusal = {"question": "names", "path": "/sys/bus/pci/devices", "reason": "because", "message": "\x1b[31mno"}
    (snapshot / NODE / "root.jsonl").write_text(json.dumps(refusal) + "\n")
    (node,) = nodes("--from", str(snapshot), code=3)
    assert [(p["reason"], p["message"]) for p in node["problems"] if p["subject"] == "pci_tree"] == [("failed", "no")]


def test_an_entity_bomb_is_not_expanded(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 20))
    for root in ('topology version="2.0"', "nvidia_smi_log", 'system version="1"'):
        bomb = f'<!DOCTYPE x [<!ENTITY e0 "x">{entities}]><{root}>&e19;</{root.split()[0]}>'
        (node,) = nodes("--from", given(tmp_path / "bomb", bomb), code=3)
        assert any("entities" in problem["message"] for problem in node["problems"])
        assert node["accelerators"] == []


def test_an_entity_that_names_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    document = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]><nvidia_smi_log>&e;</nvidia_smi_log>'
    (node,) = nodes("--from", given(tmp_path / "log", document), code=3)
    assert "SECRET" not in json.dumps(node)


@pytest.mark.parametrize(
    "deep",
    [
        '<topology version="2.0">' + "<object>" * 100_000,
        '<topology version="2.0">' + "<object>" * 300 + "</object>" * 300 + "</topology>",
        "<nvidia_smi_log>" + "<gpu>" * 100_000,
        '<system version="1"><cpu>' + "<pci>" * 100_000,
    ],
    ids=["hwloc", "hwloc, whole", "nvidia-smi", "NCCL"],
)
def test_deep_xml_is_refused(deep: str, tmp_path: Path) -> None:
    assert nodes("--from", given(tmp_path / "deep", deep), code=3)[0]["accelerators"] == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("form", seeds.TEXTS)
def test_a_text_with_a_byte_order_mark_is_read_as_powershell_writes_it(
    form: str, encoding: str, tmp_path: Path
) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    plain = nodes("--from", given(tmp_path / "x", seeds.TEXTS[form]))
    assert nodes("--from", given(tmp_path / "x", (mark + seeds.TEXTS[form]).encode(encoding))) == plain


def test_bytes_that_are_no_utf8_are_marked_and_not_guessed(tmp_path: Path) -> None:
    log = seeds.log_xml([seeds.gpu_xml(0, product_name="Grafikk\u00f8rt")]).encode("latin-1")
    (node,) = nodes("--from", given(tmp_path / "x", log))
    assert node["accelerators"][0]["model"] == "Grafikk\ufffdrt"


@pytest.mark.parametrize(
    "word", ["N/A", "[N/A]", "ERR!", "Unknown Error", "[Unknown Error]", "0 MiB", "-", "", "99999"]
)
def test_words_for_nothing_and_for_failure_stay_apart(word: str, tmp_path: Path) -> None:
    failed = "Err" in word or "ERR" in word
    log = given(tmp_path / "log", seeds.log_xml([seeds.gpu_xml(0, total=word)]))
    (node,) = nodes("--from", log, code=3 if failed else 0)
    assert node["accelerators"][0]["memory_bytes"] == (0 if word == "0 MiB" else None)
    reasons = [p["reason"] for p in node["problems"] if p["subject"].endswith(".memory_bytes")]
    assert reasons == ([] if word == "0 MiB" else ["failed"] if failed else ["not-supported"])


@pytest.mark.parametrize("field", ["product_name", "serial", "uuid"])
@pytest.mark.parametrize("word", ["ERR!", "[Unknown Error]", "N/A", "[N/A]"])
def test_no_such_word_becomes_a_name(field: str, word: str, tmp_path: Path) -> None:
    log = given(tmp_path / "log", seeds.log_xml([seeds.gpu_xml(0, **{field: word})]))
    code, stdout, _ = told("topo", "--format", "json", "--from", log)
    assert code in (0, 3)
    device = json.loads(stdout)["nodes"][0]["accelerators"][0]
    assert device[{"product_name": "model"}.get(field, field)] != word
    assert word not in json.dumps(device)


def test_a_lost_gpu_is_lost(tmp_path: Path) -> None:
    lost = seeds.gpu_xml(1, uuid="GPU is lost", serial="GPU is lost", total="GPU is lost")
    (node,) = nodes("--from", given(tmp_path / "log", seeds.log_xml([seeds.gpu_xml(0), lost])), code=3)
    assert [device["state"] for device in node["accelerators"]] == ["ok", "lost"]
    assert node["accelerators"][1]["uuid"] is None


@pytest.mark.parametrize("attached", ["8", "0", "-1", "99999999999999999999", "x", ""])
def test_a_count_that_contradicts_the_rows_is_told(attached: str, tmp_path: Path) -> None:
    (node,) = nodes("--from", given(tmp_path / "log", seeds.log_xml([seeds.gpu_xml(0)], attached=attached)))
    assert len(node["accelerators"]) == 1
    told_ = [p["message"] for p in node["problems"] if p["reason"] == "disagreement"]
    assert told_ == ([f"nvidia-smi states {attached} attached GPUs and lists 1"] if attached in ("8", "0") else [])


@pytest.mark.parametrize("form", ["nvidia-smi-xml", "hwloc-xml", "nccl-xml"])
def test_xml_that_is_cut_off_gives_what_is_there_and_says_so(form: str, tmp_path: Path) -> None:
    whole = seeds.TEXTS[form]
    for part in (0.5, 0.7, 0.9):
        (node,) = nodes("--from", given(tmp_path / "x", whole[: int(len(whole) * part)]), code=3)
        assert any("not well-formed" in problem["message"] for problem in node["problems"])
        assert len(node["accelerators"]) <= 2


def test_a_matrix_without_rows_knows_its_devices(tmp_path: Path) -> None:
    lines = MATRIX.read_text().splitlines(keepends=True)
    (node,) = nodes("--from", given(tmp_path / "cut", "".join(lines[:2])), code=3)
    assert [device["id"] for device in node["accelerators"]] == ["nvidia:0", "nvidia:1"]
    classes = {(one["a"], one["b"]): one["link_class"] for one in node["links"]}
    assert classes["nvidia:0", "nvidia:1"] == "NV4"
    assert classes["nvidia:1", "NIC0"] is None


def test_rows_that_are_cut_in_the_middle_give_their_cells_and_are_told(tmp_path: Path) -> None:
    lines = seeds.matrix(4).splitlines()
    cut = "\n".join([lines[0], "\t".join(lines[1].split("\t")[:3]), *lines[5:]])
    (node,) = nodes("--from", given(tmp_path / "cut", cut), code=3)
    classes = {(one["a"], one["b"]): one["link_class"] for one in node["links"]}
    assert classes["nvidia:0", "nvidia:1"] == "NV18"
    assert classes["nvidia:2", "nvidia:3"] is None
    (message,) = [p["message"] for p in node["problems"] if p["reason"] == "failed"]
    assert "GPU1, GPU2, GPU3 are missing" in message
    assert "GPU0 are cut off" in message


def test_a_header_without_blanks_still_names_every_device(tmp_path: Path) -> None:
    lines = seeds.matrix(4).splitlines()
    lines[0] = lines[0].replace("\t", "")
    (node,) = nodes("--from", given(tmp_path / "x", "\n".join(lines)))
    assert [device["id"] for device in node["accelerators"]] == [f"nvidia:{n}" for n in range(4)]
    assert {one["link_class"] for one in node["links"]} == {"NV18", "PXB"}


def test_two_files_of_one_machine_are_one_node(tmp_path: Path) -> None:
    log = given(tmp_path / "log.xml", seeds.log_xml([seeds.gpu_xml(n) for n in range(8)]))
    matrix = given(tmp_path / "matrix.txt", seeds.matrix(8))
    for files in ((log, matrix), (matrix, log)):
        sources = [argument for path in files for argument in ("--from", path)]
        assert len(nodes(*sources)) == 2
        (node,) = nodes(*sources, "--as-node", "gpu-07")
        assert node["name"] == "gpu-07"
        assert [device["id"] for device in node["accelerators"]] == [f"nvidia:{n}" for n in range(8)]
        assert {device["model"] for device in node["accelerators"]} == {"NVIDIA H100 80GB HBM3"}
        assert {one["link_class"] for one in node["links"] if one["b"].startswith("nvidia")} == {"NV18"}
        assert len(node["links"]) == 28 + 8


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    for content in (MATRIX.read_bytes(), gzip.compress(seeds.tar(seeds.entries())), seeds.HWLOC.encode()):
        path = given(tmp_path / "x", content)
        piped = json.loads(raxl("topo", "--from", "-", "--format", "json", content=content).stdout)["nodes"]
        named = nodes("--from", path)
        assert [n["accelerators"] for n in piped] == [n["accelerators"] for n in named]
        assert piped[0]["source"] == "-"
    assert raxl("topo", "--from", "-", content=b"").returncode == 4


HOSTILE = "\x1b]0;title\x07\x1b[31mX[/bold][red]\u202e\u2066\u200b\x9b2J\x00Y"


@pytest.mark.parametrize("where", ["a device", "a document", "the node", "an error"])
def test_a_name_never_acts(where: str, tmp_path: Path) -> None:
    held = {entry.path: entry for entry in seeds.entries()}
    hostile = [path for path in held if path.endswith(("product_name", "hostname", "osrelease", "hca_type"))]
    for path in hostile:
        held[path] = held[path]._replace(content=HOSTILE.encode())
    documents = seeds.HWLOC.replace("gpu-node-17", "X[/bold]&#155;2J\u202e").replace(
        "H100 80GB", "X[/bold]\u202e&#155;"
    )
    source = {
        "a device": given(tmp_path / "x.tar", seeds.tar(list(held.values()))),
        "a document": given(tmp_path / "x.xml", documents),
        "the node": str(MATRIX),
        "an error": str(tmp_path / "X[/bold]\x1b[31m\u202e"),
    }[where]
    named = ("--as-node", HOSTILE.replace("\0", "")) if where == "the node" else ()
    for command in (("topo",), ("topo", "--expand"), ("topo", "--view", "matrix"), ("discover", "--nics"),
                    ("topo", "--format", "json"), ("snapshot", "show")):  # fmt: skip
        arguments = (*command, source) if command[0] == "snapshot" else (*command, "--from", source, *named)
        code, stdout, stderr = told(*arguments)
        assert code == (4 if where == "an error" else 0)
        assert all(character.isprintable() or character == "\n" for character in stdout + stderr)
        if command in (("topo", "--expand"), ("topo", "--format", "json")):
            assert "X[/bold]" in stdout + stderr


@pytest.mark.parametrize(
    "arguments",
    [("bogus",), ("topo", "--bogus"), ("topo", "--view", "x"), ("topo", "--timeout", "no"),
     ("topo", "--timeout", "nan"),
     ("topo", "--timeout", "inf"), ("topo", "--timeout", "0"), ("topo", "--timeout", "-1"), ("topo", "--timeout"),
     ("topo", "--from"), ("topo", "--format", "yaml"), ("schema", "x"), ("schema",), ("snapshot", "bogus"),
     ("snapshot", "show"), ("discover", "--expect", "H100", "--from", str(MATRIX)), ("discover", "--expect", "-1xH100"),
     ("discover", "--expect", "9" * 30 + "xH100", "--from", str(MATRIX)), ("topo", "extra"), ("topo", "\x1b[31m\n")],
    ids=lambda arguments: ascii(" ".join(arguments))[:40],
)  # fmt: skip
def test_a_wrong_command_line_is_one_line_and_two(arguments: tuple[str, ...]) -> None:
    refused(2, *arguments)


def test_expectations_are_met_or_told(tmp_path: Path) -> None:
    log = given(tmp_path / "log.xml", seeds.log_xml([seeds.gpu_xml(n) for n in range(8)]))
    for right in ("8xH100", "8xH100 80GB", "8xh100"):
        assert told("discover", "--from", log, "--expect", right)[0] == 0
    for wrong in ("7xH100", "9xH100", "8xH200", "8x100", "0xH100"):
        code, _, stderr = told("discover", "--from", log, "--expect", wrong)
        assert code == 1
        assert "expected" in stderr


def test_output_is_written_whole_and_private(tmp_path: Path) -> None:
    code, stdout, _ = told("topo", "--from", str(MATRIX), "--output", str(tmp_path / "o"))
    assert (code, stdout) == (0, "")
    assert (tmp_path / "o").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "o").read_text() == told("topo", "--from", str(MATRIX))[1]


@pytest.mark.parametrize("option", ["--output", "--record"])
def test_output_that_cannot_be_written_is_one_line(option: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "folder").mkdir()
    places = [
        "/nowhere/at/all",
        str(tmp_path / "link"),
        str(tmp_path / "folder"),
        ".",
        "/dev/full",
        str(tmp_path / ("x" * 300)),
        str(MATRIX / "x"),
    ]
    for place in places:
        code, _, stderr = told("topo", "--from", str(MATRIX), option, place)
        assert code == 4, place
        assert stderr.count("\n") == 1
        assert "cannot be written" in stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "link"]


def test_a_snapshot_s_own_name_stays_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("../../x", "/etc/x", "..", "", "a b\nc", "\x1b[31m"):
        assert told("snapshot", "--from", str(MATRIX), "--as-node", name)[0] == 0
    assert all(one.name.startswith("raxl-") for one in (tmp_path / "here").iterdir())
    assert [one.name for one in tmp_path.iterdir()] == ["here"]
    refused(4, "snapshot", "--from", str(MATRIX), "--as-node", "x" * 300)


COMMANDS = {
    "topo": ("topo", "--from", str(MATRIX)),
    "json": ("topo", "--from", str(MATRIX), "--format", "json"),
    "discover": ("discover", "--from", str(MATRIX)),
    "snapshot": ("snapshot", "--from", str(MATRIX), "--output", "-"),
    "show": ("snapshot", "show", str(MATRIX)),
    "collector": ("snapshot", "collector"),
    "schema": ("schema", "inventory"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("stream", ["a reader that has gone", "closed", "full", "closed for errors"])
def test_standard_output_may_be_anything(command: str, stream: str) -> None:
    """A reader that has gone (`raxl topo | head`) and a closed stream are no errors; a full disk is one line."""
    redirected = {
        "a reader that has gone": "| true",
        "closed": ">&-",
        "full": ">/dev/full",
        "closed for errors": ">/dev/null 2>&-",
    }
    words = " ".join([*RAXL, *COMMANDS[command]])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} {redirected[stream]}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if stream == "full":
        assert (done.returncode, done.stderr) == (4, "raxl: error: standard output failed (No space left on device)\n")
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_standard_input_is_an_empty_file() -> None:
    command = " ".join([*RAXL, "topo", "--from", "-", "<&-"])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_plain_locale_gets_ascii(locale: str, tmp_path: Path) -> None:
    log = given(tmp_path / "log", seeds.log_xml([seeds.gpu_xml(n) for n in range(2)]))
    for view in ("tree", "matrix"):
        assert raxl("topo", "--view", view, "--from", log, LC_ALL=locale).stdout.isascii()
    assert not raxl("topo", "--from", log).stdout.isascii()


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_line_is_wider_than_asked(columns: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tree = given(tmp_path / "x.tar", seeds.tar(seeds.entries()))
    monkeypatch.setenv("COLUMNS", str(columns))
    for source in (str(MATRIX), tree):
        for command in (("topo",), ("topo", "--view", "matrix"), ("discover", "--nics")):
            _, stdout, _ = told(*command, "--from", source)
            assert max(map(len, stdout.splitlines())) <= columns


@pytest.mark.parametrize("columns", ["0", "-5", "x", "9" * 30, "", "²"])
def test_a_width_that_is_none_is_as_if_it_were_not_said(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    usual = told("topo", "--from", str(MATRIX))
    monkeypatch.setenv("COLUMNS", columns)
    assert told("topo", "--from", str(MATRIX))[0] == 0
    assert told("topo", "--from", str(MATRIX)) == usual or columns == "9" * 30


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_a_terminal_that_wants_it(environment: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    child = subprocess.Popen(
        [*RAXL, "topo", "--from", str(MATRIX)],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**variables, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when its last user is
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert (child.communicate(timeout=60)[1], child.returncode) == (b"", 0)
    assert (b"\x1b[" in shown) is coloured
    assert b"GPU" in shown


@pytest.fixture
def root(tmp_path: Path) -> Callable[..., Path]:
    """The file system of a host with kernel files that block."""

    def build(*blocked: str) -> Path:
        seeds.write(tmp_path, *seeds.machine())
        for path in blocked:
            (tmp_path / path).unlink()
            os.mkfifo(tmp_path / path)
        return tmp_path

    return build


def test_a_kernel_file_that_blocks_costs_its_deadline_and_itself(root: Callable[..., Path]) -> None:
    begun = time.monotonic()
    done = raxl("topo", "--format", "json", RAXL_HOST_ROOT=str(root("proc/cpuinfo")))
    assert 2 <= time.monotonic() - begun < 6
    (node,) = json.loads(done.stdout)["nodes"]
    assert node["os"]["kernel"] == "6.8.0-60-generic"
    assert node["cpu"]["model"] is None
    assert node["cpu"]["threads"] == 4
    assert len(node["accelerators"]) == 3
    told_ = {one["subject"]: one for one in node["problems"]}
    assert told_["cpu.model"]["reason"] == "timed-out"
    assert not [one for one in told_ if one.startswith("amd")]


def test_what_blocks_of_a_device_leaves_the_others_and_is_incomplete(root: Callable[..., Path]) -> None:
    gpu = "sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0/mem_info_vram_total"
    kfd = "sys/class/kfd/kfd/topology/nodes/1/properties"
    done = raxl("topo", "--format", "json", RAXL_HOST_ROOT=str(root(gpu, kfd)))
    assert done.returncode == 3
    (node,) = json.loads(done.stdout)["nodes"]
    memory = {one["pci"]["address"]: one["memory_bytes"] for one in node["accelerators"] if one["vendor"] == "amd"}
    assert memory == {"0000:41:00.0": None, "0000:42:00.0": 206141652992}
    assert any(one["reason"] == "timed-out" for one in node["problems"])


def test_the_node_s_budget_ends_it_and_the_rest_is_shown(root: Callable[..., Path]) -> None:
    begun = time.monotonic()
    done = raxl("topo", "--format", "json", "--timeout", "0.8", RAXL_HOST_ROOT=str(root("proc/cpuinfo")))
    assert time.monotonic() - begun < 3
    (node,) = json.loads(done.stdout)["nodes"]
    assert (node["cpu"]["threads"], node["cpu"]["model"], node["os"]["kernel"]) == (4, None, None)
    reasons = {one["subject"]: one["reason"] for one in node["problems"]}
    assert (reasons["cpu.model"], reasons["os.kernel"], reasons["boot_id"]) == ("timed-out",) * 3


def test_devices_that_could_not_be_asked_are_not_absent(root: Callable[..., Path]) -> None:
    """Where time was over among the PCI functions, nothing is known of the rest: no accelerator is no answer."""
    place = str(root("sys/devices/pci0000:15/0000:15:01.0/vendor"))
    for command in (("topo",), ("discover", "--nics"), ("topo", "--format", "json")):
        done = raxl(*command, "--timeout", "0.8", RAXL_HOST_ROOT=place)
        assert done.returncode == 3
        assert "all of it could be read" not in done.stdout
    (node,) = json.loads(done.stdout)["nodes"]
    reasons = {one["subject"]: one["reason"] for one in node["problems"]}
    assert node["accelerators"] == []
    assert reasons["pci_tree"] == reasons["nics"] == reasons["numa_nodes"] == "timed-out"


def test_a_root_that_is_none_is_no_machine_without_accelerators() -> None:
    for place in ("/nowhere", str(MATRIX)):
        done = raxl("topo", RAXL_HOST_ROOT=place)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)


def test_few_open_files_are_enough(tmp_path: Path) -> None:
    """A machine is read file by file."""
    done = subprocess.run(
        [*RAXL, "topo", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32)),
    )
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["nodes"][0]["os"]["kernel"]
