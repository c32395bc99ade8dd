"""RAXL_HOST_RECORDING: a snapshot file answers instead of the machine, and whoever reads the result is told so."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recordings
from raxl.cli import discover, topo
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import inputs, keeping, live
from raxl.errors import CannotStart
from raxl.host import Answer, Question, pack
from raxl.host.record import Recording
from raxl.plugins import registry

VARIABLE = "RAXL_HOST_RECORDING"


def printed(command: str, source: Source) -> tuple[int, str]:
    """A command's exit code and output. What only a terminal or a run decides is left out: when, and from where."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    streams = Streams(output, io.StringIO())
    if command == "discover":
        code = discover.run(discover.Options(source, nics=True), streams)
    else:
        code = topo.run(topo.Options(source, format=topo.Format.json), streams)
    output.seek(0)
    return code, re.sub(r'("created"|"source"): "[^"]*"', r"\1: …", output.read())


@pytest.mark.parametrize("name", recordings.NAMES)
def test_a_served_recording_prints_what_it_prints_with_from(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "node.tar.gz"
    file.write_bytes(recordings.snapshot(name))
    wanted = [printed(command, Source((str(file),))) for command in ("discover", "topo")]
    monkeypatch.setenv(VARIABLE, str(file))
    assert [printed(command, Source()) for command in ("discover", "topo")] == wanted


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a recording that holds what no machine is asked, and that went wrong in part."""
    recording = recordings.recording("nvidia-hgx-h100")
    recording.answers[Question("document", "a-tool's-text")] = Answer("what another tool said")
    recording.notes = (("guest", "failed", "it ended the asking process"),)
    recording.unasked = Answer(None, "timed-out", "the node's 3 s were over before this was asked")
    recording.recorded_by = "0.0.1"
    file = tmp_path / "served.tar.gz"
    file.write_bytes(keeping.packed([recording]))
    monkeypatch.setenv(VARIABLE, str(file))
    return file


def recorded() -> Recording:
    with live.asker(20.0) as begun:
        return live.recorded(begun)


def test_all_that_it_holds_comes_out_and_the_source_names_it(served: Path) -> None:
    read, (held,) = recorded(), inputs.opened([str(served)])
    assert read.source == f"recording:{served}"
    assert (read.name, read.nature, read.recorded_by) == ("gpu-07", held.nature, "0.0.1")
    assert read.created != held.created
    assert read.notes == held.notes
    assert read.answer(Question("text", "/never/asked")) == held.unasked
    assert {question: read.answers[question] for question in held.answers} == held.answers


def test_what_a_child_could_not_finish_is_told_as_of_a_machine(served: Path) -> None:
    with live.asker(0.001) as begun:
        read = live.recorded(begun)
    assert read.answer(Question("text", "/proc/cpuinfo")).reason == "timed-out"
    assert read.source == f"recording:{served}"


def test_the_collector_serves_it_too(served: Path, tmp_path: Path) -> None:
    program = pack.collector("0", registry.ask_tasks(), registry.LIBRARIES).encode()
    done = subprocess.run([sys.executable, "-I", "-S", "-"], input=program, capture_output=True, check=True)
    (tmp_path / "collected.tar.gz").write_bytes(done.stdout)
    (collected,), (held,) = inputs.opened([str(tmp_path / "collected.tar.gz")]), inputs.opened([str(served)])
    assert collected.source == f"recording:{served}"
    assert (collected.name, collected.recorded_by, collected.notes) == (held.name, held.recorded_by, held.notes)
    assert {question: collected.answers[question] for question in held.answers} == held.answers


def bad_files(folder: Path) -> dict[str, str]:
    """By what is wrong with it, a file that cannot be served."""
    whole = recordings.snapshot("tpu-v6e-8")
    (folder / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "two.tar.gz").write_bytes(
        keeping.packed([recordings.recording("tpu-v6e-8"), recordings.recording("amd-mi210")])
    )
    (folder / "text").write_text("no archive\n")
    (folder / "empty").touch()
    return {
        "is damaged or cut off": "cut.tar.gz",
        "holds 2 machines": "two.tar.gz",
        "is no snapshot": "text",
        "/empty is no snapshot": "empty",
        "No such file": "none",
        "Is a directory": ".",
    }


def test_a_file_that_cannot_be_served_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, file in bad_files(tmp_path).items():
        monkeypatch.setenv(VARIABLE, str(tmp_path / file))
        with pytest.raises(CannotStart, match=re.escape(words)) as raised:
            live.asker(20.0)
        assert str(raised.value).startswith(f"{VARIABLE}: {tmp_path}")
        assert raised.value.exit_code == 4


@pytest.mark.parametrize("command", ["discover", "collector"])
def test_the_line_of_raxl_and_of_the_collector(command: str, tmp_path: Path) -> None:
    program = pack.collector("0", registry.ask_tasks(), registry.LIBRARIES).encode()
    arguments = ["-m", "raxl", "discover"] if command == "discover" else ["-I", "-"]
    done = subprocess.run(
        [sys.executable, *arguments],
        input=program,
        capture_output=True,
        env={**os.environ, VARIABLE: str(tmp_path / "none")},
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout == b""
    line = f"raxl: error: {VARIABLE}: {tmp_path}/none cannot be read (No such file or directory)\n"
    assert done.stderr.decode() == line


def test_a_record_of_it_keeps_its_source(served: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.tar.gz"
    command = [sys.executable, "-m", "raxl", "discover", "--format", "json"]
    first = subprocess.run([*command, "--record", str(kept)], capture_output=True, check=False)
    second = subprocess.run([*command, "--from", str(kept)], capture_output=True, check=False)
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["nodes"][0]["source"] == f"recording:{served}"
