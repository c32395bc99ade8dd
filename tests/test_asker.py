"""The asker: a question that hangs, a task that crashes or leaves, cost their own answers and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from raxl.host import Question
from raxl.host.asker import Asker
from raxl.host.record import Recording

TESTS = str(Path(__file__).parent)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("first", "second", "after", "last"):
        (tmp_path / name).write_text(f"the {name}\n")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def ask(root: Path, *tasks: str, seconds: float = 20.0) -> Recording:
    names = [f"asking.misbehaving:{task}" for task in tasks]
    return Asker(names, root=str(root), budget_seconds=seconds, path=[TESTS]).record()


def text(recording: Recording, path: str) -> tuple[object, str | None]:
    answer = recording.answer(Question("text", path))
    return answer.value, answer.reason


def test_a_file_that_blocks_costs_one_answer_and_its_two_seconds(root: Path) -> None:
    begun = time.monotonic()
    recording = ask(root, "good", "reads_a_pipe", "last")
    assert 2 <= time.monotonic() - begun < 4
    assert text(recording, "/pipe") == (None, "timed-out")
    assert text(recording, "/first") == ("the first\n", None)
    assert text(recording, "/after") == ("the after\n", None)
    assert text(recording, "/last") == ("the last\n", None)


def test_a_task_that_hangs_and_ignores_signals_is_left_out(root: Path) -> None:
    recording = ask(root, "good", "hangs_without_a_question", "last")
    assert text(recording, "/last") == ("the last\n", None)
    assert [(subject, reason) for subject, reason, _ in recording.notes] == [
        ("asking.misbehaving:hangs_without_a_question", "timed-out")
    ]


def test_a_task_that_leaves_the_process_is_told_and_the_rest_goes_on(root: Path) -> None:
    recording = ask(root, "leaves", "last")
    assert text(recording, "/last") == ("the last\n", None)
    assert recording.notes == (("asking.misbehaving:leaves", "failed", "it ended the asking process"),)


def test_a_task_that_raises_is_one_note(root: Path) -> None:
    recording = ask(root, "raises", "last")
    assert text(recording, "/last") == ("the last\n", None)
    assert recording.notes == (("asking.misbehaving:raises", "failed", "KeyError: 'libsomething.so'"),)


def test_what_a_library_prints_and_does_to_the_environment_changes_nothing(root: Path) -> None:
    recording = ask(root, "prints_and_edits", "last")
    assert recording.notes == ()
    assert text(recording, "/second") == ("the second\n", None)
    assert text(recording, "/last") == ("the last\n", None)


def test_the_budget_wins_over_everything(root: Path) -> None:
    begun = time.monotonic()
    recording = ask(root, "good", "hangs_without_a_question", "last", seconds=0.7)
    assert time.monotonic() - begun < 1.7
    assert text(recording, "/first") == ("the first\n", None)
    assert text(recording, "/last") == (None, "timed-out")


def test_after_three_processes_the_rest_is_failed_not_absent(root: Path) -> None:
    tasks = ["leaves", "raises", "leaves", "leaves", "last"]
    modules = [f"asking.misbehaving:{task}" for task in tasks]
    recording = Asker(modules, root=str(root), path=[TESTS]).record()
    assert text(recording, "/last") == (None, "failed")


def test_no_child_is_left_behind(root: Path) -> None:
    ask(root, "good", "hangs_without_a_question", "last", seconds=0.5)
    mine = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True, check=False
    )
    assert "raxl.host.child" not in mine.stdout


def test_ctrl_c_leaves_no_child_and_no_file(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A raxl that is interrupted while a kernel file blocks ends with 130, and its asker with it."""
    here = tmp_path_factory.mktemp("interrupted")
    (root / "proc").mkdir()
    (root / "sys/bus/pci").mkdir(parents=True)
    os.mkfifo(root / "proc/cpuinfo")
    environment = {**os.environ, "RAXL_HOST_ROOT": str(root), "TMPDIR": str(here)}
    command = [sys.executable, "-m", "raxl", "topo", "--record", str(here / "kept.tar.gz")]
    raxl = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    asker = _child_of(raxl.pid)
    raxl.send_signal(signal.SIGINT)
    stdout, stderr = raxl.communicate(timeout=10)
    assert raxl.returncode == 130, stderr
    assert stdout == b""
    assert b"Traceback" not in stderr
    assert not Path(f"/proc/{asker}").exists() or "Z" in Path(f"/proc/{asker}/stat").read_text().split()[2]
    assert list(here.iterdir()) == []


def _child_of(parent: int) -> int:
    for _ in range(500):
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if children:
            time.sleep(0.3)
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("the asker did not start")


def test_a_library_may_be_slow_at_first_and_is_given_up_when_it_hangs_twice(root: Path) -> None:
    """After the hang it is waited for no longer than for any answer, which its loading exceeds: it is given up."""
    libraries = {"slow": "asking.misbehaving:Slow", "broken": "asking.misbehaving:Broken"}
    waited: list[str] = []
    tasks = ["asking.misbehaving:asks_a_library"]
    asker = Asker(tasks, root=str(root), path=[TESTS], libraries=libraries)
    recording = asker.record(lambda question: waited.append(question.subject))
    told = {
        question.subject: (answer.value, answer.reason)
        for question, answer in recording.answers.items()
        if question.kind == "library"
    }
    assert told == {
        "unknown start": (None, "not-asked"),
        "broken start": (None, "failed"),
        "slow start": (2, None),
        "slow name 0": ("device 0", None),
        "slow name 1": (None, "timed-out"),
        "slow serial 0": (None, "timed-out"),
        "slow serial 1": (None, "timed-out"),
    }
    assert waited == ["slow start"]
    assert text(recording, "/after") == ("the after\n", None)
    assert recording.answer(Question("library", "broken start")).message == "KeyError: 'libsomething.so'"


def test_a_library_that_writes_into_the_stream_costs_its_own_answers(root: Path) -> None:
    recording = ask(root, "good", "writes_everywhere", "last")
    assert text(recording, "/first") == ("the first\n", None)
    assert text(recording, "/last") == ("the last\n", None)
    assert [reason for _, reason, _ in recording.notes] in ([], ["failed"])


def test_forged_lines_end_the_process_that_sends_them(root: Path) -> None:
    recording = ask(root, "good", "forges_lines", "last")
    assert text(recording, "/first") == ("the first\n", None)
    assert text(recording, "/last") == ("the last\n", None)
    assert [(subject, reason) for subject, reason, _ in recording.notes] == [
        ("asking.misbehaving:forges_lines", "failed")
    ]


def test_a_process_that_is_left_behind_keeps_nobody_waiting(root: Path) -> None:
    begun = time.monotonic()
    recording = ask(root, "forks_and_dies", "last")
    assert time.monotonic() - begun < 2
    assert text(recording, "/last") == ("the last\n", None)
    assert recording.notes == (("asking.misbehaving:forks_and_dies", "failed", "it ended the asking process"),)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_child_outlives_raxl(root: Path, number: int) -> None:
    program = (
        "import sys; sys.path[:0] = [sys.argv[1]]; from raxl.host.asker import Asker;"
        "asker = Asker(['asking.misbehaving:hangs_without_a_question'], root=sys.argv[2], path=[sys.argv[1]]);"
        "asker.start(); print(asker._child.pid, flush=True); asker.record()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, TESTS, str(root)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.send_signal(number)
    parent.communicate(timeout=5)
    until = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists() or "State:\tZ" in Path(f"/proc/{child}/status").read_text()
