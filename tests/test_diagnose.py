"""`raxl diagnose` as a command: what is chosen, what a policy does, how it ends."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kept
import recordings
from diagnosing import variant
from raxl.cli import diagnose
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import keeping
from raxl.errors import UnreadableInput, UsageError
from raxl.host.record import Recording

LIMITED = ("process limits", {"memlock": [65536, 65536], "nofile": [1048576, 1048576], "stack": [8388608, -1]})


@pytest.fixture
def sick(tmp_path: Path) -> str:
    """An HGX H100 whose processes may lock 64 KiB."""
    return written(tmp_path, variant("nvidia-hgx-h100", LIMITED))


def written(folder: Path, recording: Recording) -> str:
    path = folder / f"{recording.name}.tar.gz"
    path.write_bytes(keeping.packed([recording]))
    return str(path)


def run(path: str, **options: Any) -> tuple[int, str, str]:
    """Exit code and both outputs."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    told = io.StringIO()
    code = diagnose.run(diagnose.Options(Source((path,)), **options), Streams(output, told))
    output.seek(0)
    return code, output.read(), told.getvalue()


def document(path: str, **options: Any) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(path, format=diagnose.Format.json, **options)
    return code, json.loads(out)


def only(glob: str) -> dict[str, Any]:
    return {"only": (glob,)}


def test_a_fault_is_exit_1_and_its_absence_0(sick: str, tmp_path: Path) -> None:
    code, found = document(sick, **only("host.memlock"))
    assert code == 1
    assert [(one["check"], one["status"]) for one in found["findings"]] == [("host.memlock", "fail")]
    assert found["summary"] == {"ok": 0, "warn": 0, "fail": 1, "unknown": 0, "skip": 0}
    well = written(tmp_path, variant("nvidia-hgx-h100"))
    assert document(well, **only("host.memlock"))[0] == 0


def test_an_answer_that_is_missing_is_exit_3(tmp_path: Path) -> None:
    path = written(tmp_path, variant("nvidia-hgx-h100", "process limits !denied"))
    code, found = document(path, **only("host.memlock"))
    assert (code, found["coverage"][0]["complete"]) == (3, False)


def test_warnings_count_when_they_are_asked_to(tmp_path: Path) -> None:
    limits = {"memlock": [1 << 34, -1], "nofile": [1048576, 1048576]}
    path = written(tmp_path, variant("nvidia-hgx-h100", ("process limits", limits)))
    assert document(path, **only("host.memlock"))[0] == 0
    assert document(path, fail_on=diagnose.FailOn.warn, **only("host.memlock"))[0] == 1


def test_checks_are_chosen_by_globs(sick: str) -> None:
    assert document(sick, only=("host.*",), skip=("host.memlock",))[1]["summary"]["fail"] == 0
    for flag in ("only", "skip", "require"):
        with pytest.raises(UsageError, match="matches no check"):
            document(sick, **{flag: ("no.such*",)})


def test_what_a_container_hides_is_skipped_and_may_be_required(tmp_path: Path) -> None:
    path = written(tmp_path, variant("nvidia-container", "process kernel_log !denied"))
    code, found = document(path, **only("host.kernel-log"))
    (one,) = found["findings"]
    assert (one["status"], one["is_ruled_out"], code) == ("skip", True, 0)
    assert found["coverage"][0]["not_possible_here"] == ["host.kernel-log"]
    assert not found["coverage"][0]["complete"]
    code, found = document(path, require=("p0",), **only("host.kernel-log"))
    assert (found["findings"][0]["status"], code) == ("unknown", 3)


def test_what_is_required_by_name_may_not_go_unasked(tmp_path: Path) -> None:
    path = written(tmp_path, variant("nvidia-hgx-h100"))
    assert document(path, **only("ray.node-dead"))[0] == 0
    assert document(path, require=("p0",), **only("ray.node-dead"))[0] == 0, "p0 asks for what the vantage hides"
    code, found = document(path, require=("ray.*",), **only("ray.*"))
    assert code == 3
    assert "ray.node-dead" in {one["check"] for one in found["findings"] if one["status"] == "unknown"}
    for left_out in ({"only": ("host.shm",)}, {"skip": ("nvidia.xid",)}, {"level": diagnose.Level.quick}):
        wanted = "nvidia.hang" if "level" in left_out else "nvidia.xid"
        with pytest.raises(UsageError, match="leaves it out"):
            document(path, require=(wanted,), **left_out)
    with pytest.raises(UsageError, match="leave no check"):
        document(path, only=("host.*",), skip=("*",))


def test_the_headline_is_green_with_exit_0_alone(tmp_path: Path) -> None:
    """A check of a lower priority that was not answered is not all that was asked, either."""
    path = written(tmp_path, variant("nvidia-hgx-h100", "process environment !denied"))
    code, out, _ = run(path, **only("lib.bad-env"))
    assert code == 3
    assert "Nothing wrong" not in out
    assert not document(path, **only("lib.bad-env"))[1]["coverage"][0]["complete"]


def policy(folder: Path, text: str) -> Path:
    (folder / "policy.yaml").write_text(text)
    return folder / "policy.yaml"


def test_a_policy_sets_thresholds_and_suppresses_until_a_day(sick: str, tmp_path: Path) -> None:
    chosen = only("host.memlock")
    low = policy(tmp_path, "thresholds: {host.memlock: {fail_bytes: 1024}}")
    assert document(sick, policy=low, **chosen)[1]["findings"][0]["status"] == "warn"
    known = "suppressions: [{check: host.*, reason: ticket 7, until: 2030-01-01}]"
    code, found = document(sick, policy=policy(tmp_path, known), **chosen)
    assert (code, found["summary"]["fail"]) == (0, 0)
    assert found["findings"][0]["suppressed"] == {"reason": "ticket 7", "until": "2030-01-01"}
    over = "suppressions: [{check: host.memlock, reason: ticket 7, until: 2020-01-01}]"
    code, _, told = run(sick, policy=policy(tmp_path, over), **chosen)
    assert code == 1
    assert "has expired on 2020-01-01: it counts again" in told


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("thresholds: {no.such: {a: 1}}", UsageError, "no.such, which is no check"),
        ("thresholds: {host.memlock: {a: 1}}", UsageError, "sets a of host.memlock, which has fail_bytes"),
        ("suppressions: [{check: no.such, reason: r, until: 2030-01-01}]", UsageError, "matches no check"),
        ("suppressions: [{check: host.shm, reason: '', until: 2030-01-01}]", UnreadableInput, "gives no reason"),
        ("suppressions: [{check: host.shm, reason: r, until: soon}]", UnreadableInput, "until is to be a day"),
        ("suppressions: [{check: host.shm}]", UnreadableInput, "missing required field"),
        ("colour: red", UnreadableInput, "'colour'"),
        ("[1, 2]", UnreadableInput, "is no policy"),
        ("a: [", UnreadableInput, "is no YAML"),
        ("&a [*a]", UnreadableInput, "is no policy"),
    ],
)
def test_a_policy_that_is_wrong_is_one_line(
    sick: str, tmp_path: Path, text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        run(sick, policy=policy(tmp_path, text))


def test_a_replay_gives_the_same_bytes(sick: str, tmp_path: Path) -> None:
    first = run(sick, format=diagnose.Format.json)
    again = tmp_path / "again.tar.gz"
    source = Source((sick,), record=again)
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    diagnose.run(diagnose.Options(source, format=diagnose.Format.json), Streams(output, io.StringIO()))
    assert run(str(again), format=diagnose.Format.json) == first


@pytest.mark.parametrize("level", list(diagnose.Level))
def test_this_machine_is_checked(level: diagnose.Level) -> None:
    command = [sys.executable, "-m", "raxl", "diagnose", "--format", "json", "--level", level.value]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    assert done.returncode in (0, 1, 3), done.stderr
    assert "the check itself failed" not in done.stdout
    assert found["coverage"][0]["levels"][-1] == level.value
    if level is diagnose.Level.quick:
        assert {one["check"] for one in found["findings"]} <= set(ids("quick"))


def ids(level: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "raxl", "diagnose", "--list", "--format", "json"], capture_output=True, check=True
    )
    return [one["id"] for one in json.loads(done.stdout)["checks"] if one["level"] == level]


def test_a_check_is_explained() -> None:
    command = [sys.executable, "-m", "raxl", "diagnose", "--explain", "host.memlock"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("host.memlock  Processes may lock the memory that RDMA registers\n")
    assert "fail_bytes = 8388608" in done.stdout


@pytest.mark.parametrize("name", recordings.NAMES)
def test_text_is_as_expected(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accept: bool) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    path = tmp_path / f"{name}.tar.gz"
    path.write_bytes(recordings.snapshot(name))
    code, out, _ = run(str(path))
    kept.check(name, "diagnose.txt", f"{out}\nexit {code}\n", accept)
