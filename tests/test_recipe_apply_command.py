"""`raxl recipe apply` and `raxl recipe rollback` as they are typed: what they print, ask and return."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from raxl.model import codec
from raxl.model.receipt import Receipt
from raxl.recipe import generations, load
from raxl.render import text_recipe_apply
from raxl.render.text import display_width, to_text
from recipe_roots import FIRST, SECOND, applied, listing

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "GLOO_", "UCX_"))},
    "PYTHONPATH": str(ROOT / "src"),
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "100",
}


def recipe(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "raxl", "recipe", *map(str, arguments)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        env={**ENVIRONMENT, **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = done.stderr.splitlines()
    return line.removeprefix("raxl: error: ")


def last(done: subprocess.CompletedProcess[str]) -> str:
    """The last block, on one line."""
    return " ".join(done.stdout.rstrip().split("\n\n")[-1].split())


def test_the_whole_story(tmp_path: Path) -> None:
    root = tmp_path / "config" / "raxl" / "recipe"
    configured = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    before = listing(tmp_path)

    planned = recipe("plan", "cpu-loopback", **configured)
    assert planned.returncode == 0
    assert listing(tmp_path) == before

    done = recipe("apply", "cpu-loopback", "--yes", **configured)
    assert (done.returncode, done.stderr) == (0, "")
    # Every byte of each file was shown before it was written.
    for path, content in generations.state(root).contents.items():
        assert f"+++ {path}" in done.stdout
        for line in content.splitlines():
            assert f"\n+{line}\n" in done.stdout
    assert "cpu-loopback is in force below" in last(done)
    assert f"raxl recipe rollback --root {root} takes it back" in last(done)
    assert done.stdout.count(f". {root}/current/cpu-loopback.env") == 1
    assert "raxl recipe apply" not in done.stdout.replace("Written by raxl recipe apply", "")
    after = listing(tmp_path)

    again = recipe("apply", "cpu-loopback", "--yes", **configured)
    assert (again.returncode, again.stderr) == (0, "")
    assert " ".join(again.stdout.split()).startswith("Nothing to change: cpu-loopback is in force below")
    assert listing(tmp_path) == after

    file = root / "current" / "cpu-loopback.env"
    file.write_text(file.read_text().replace("UCX_TLS=tcp,self", "UCX_TLS=sm"))
    edited = listing(tmp_path)
    refused = recipe("apply", "cpu-loopback", "--yes", **configured)
    assert refused.returncode == 1
    assert error_of(refused).startswith("cpu-loopback.env was changed by hand")
    assert "--force" in error_of(refused)
    # As applied, as it is now, as planned.
    assert refused.stdout.count("\n-export UCX_TLS=tcp,self\n+export UCX_TLS=sm\n") == 1
    assert refused.stdout.count("\n-export UCX_TLS=sm\n+export UCX_TLS=tcp,self\n") == 1
    kept = recipe("rollback", "--yes", **configured)
    assert kept.returncode == 1
    assert error_of(kept).startswith("cpu-loopback.env was changed by hand")
    assert "\n-export UCX_TLS=tcp,self\n+export UCX_TLS=sm\n" in kept.stdout
    assert listing(tmp_path) == edited

    forced = recipe("apply", "cpu-loopback", "--yes", "--force", **configured)
    assert forced.returncode == 0
    assert "UCX_TLS=tcp,self" in file.read_text()
    assert recipe("rollback", "--yes", **configured).returncode == 0
    assert listing(tmp_path) == edited
    back = recipe("rollback", "--yes", "--force", **configured)
    assert back.returncode == 0
    assert "is taken back: nothing is in force any more" in last(back)
    assert listing(tmp_path) == before

    nothing = recipe("rollback", "--yes", **configured)
    assert nothing.returncode == 0
    assert "there is nothing to take back" in last(nothing)
    assert listing(tmp_path) == before


def test_json_is_the_receipt(tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = recipe("apply", "cpu-loopback", "--root", root, "--yes", "--format", "json")
    receipt = codec.decode(done.stdout, Receipt)
    assert receipt == generations.state(root).receipt
    assert {one.path for one in receipt.files} >= {"cpu-loopback.env", "ray-start.args"}
    assert receipt.recipe_sha256 == load.named("cpu-loopback").sha256
    again = recipe("apply", "cpu-loopback", "--root", root, "--yes", "--format", "json")
    assert again.stdout == done.stdout
    (root / "current" / "cpu-loopback.env").write_text("")
    refused = recipe("apply", "cpu-loopback", "--root", root, "--yes", "--format", "json")
    assert refused.returncode == 1
    told = json.loads(refused.stdout)
    assert (told["schema"], told["plans"][0]["status"]) == ("raxl.plan/v1", "edited")
    assert recipe("rollback", "--root", root, "--yes", "--format", "json").returncode == 1
    back = recipe("rollback", "--root", root, "--yes", "--force", "--format", "json")
    assert codec.decode(back.stdout, Receipt) == receipt
    assert json.loads(recipe("rollback", "--root", root, "--yes", "--format", "json").stdout) is None


def test_a_dry_run_is_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    dry = recipe("apply", "cpu-loopback", "--root", root, "--dry-run", "--format", "json")
    planned = recipe("plan", "cpu-loopback", "--root", root, "--format", "json")
    told, wanted = json.loads(dry.stdout), json.loads(planned.stdout)
    assert (told["schema"], dry.returncode) == ("raxl.plan/v1", 0)
    assert told["plans"][0]["files"] == wanted["plans"][0]["files"]
    text = recipe("apply", "cpu-loopback", "--root", root, "--dry-run").stdout
    for one in told["plans"][0]["files"]:
        assert one["diff"].rstrip() in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["apply", "cpu-loopback"], ["rollback"]])
def test_without_a_terminal_yes_has_to_be_said(tmp_path: Path, command: Sequence[str]) -> None:
    done = recipe(*command, "--root", tmp_path / "root")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Say --yes" in error_of(done)
    assert list(tmp_path.iterdir()) == []


def on_a_terminal(answer: str, *arguments: str | Path) -> tuple[int, str]:
    """The exit code, and everything that the terminal showed."""
    here, there = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "raxl", "recipe", *map(str, arguments)],
        stdin=there,
        stdout=there,
        stderr=there,
        env={**ENVIRONMENT, "TERM": "xterm"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # else Ctrl-C is a character like any other
    )
    os.close(there)
    shown = b""
    asked = False
    while True:
        ready, _, _ = select.select([here], [], [], 60)
        assert ready, shown
        try:
            read = os.read(here, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        shown += read
        if not asked and b"[y/N]" in shown:
            asked = True
            os.write(here, answer.encode())
    os.close(here)
    return child.wait(timeout=60), shown.decode()


def test_on_a_terminal_it_asks_after_it_has_shown_everything(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for answer, code in (("n\n", 1), ("\n", 1), ("\x03", 130), ("\x04", 130)):
        found, shown = on_a_terminal(answer, "apply", "cpu-loopback", "--root", root)
        assert found == code
        assert "+export UCX_TLS=tcp,self" in shown[: shown.index("[y/N]")]
        assert list(tmp_path.iterdir()) == []
    found, _ = on_a_terminal("y\n", "apply", "cpu-loopback", "--root", root)
    assert found == 0
    before = listing(tmp_path)
    found, shown = on_a_terminal("n\n", "rollback", "--root", root)
    assert found == 1
    assert "to be removed: cpu-loopback.env, " in shown[: shown.index("[y/N]")]
    assert listing(tmp_path) == before
    assert on_a_terminal("y\n", "rollback", "--root", root)[0] == 0
    assert list(tmp_path.iterdir()) == []


def written(path: Path, **changed: object) -> Path:
    """A recipe's file: cpu-loopback's, some of it otherwise."""
    told = yaml.safe_load((load.SHIPPED / "cpu-loopback.yaml").read_text())
    path.write_text(yaml.safe_dump({**told, "name": path.stem, **changed}))
    return path


def test_a_saved_plan_is_applied_while_nothing_has_changed(tmp_path: Path) -> None:
    root, plan = tmp_path / "root", tmp_path / "plan.json"
    assert recipe("plan", "cpu-loopback", "--root", root, "--format", "json", "--output", plan).returncode == 0
    told = json.loads(plan.read_text())

    plan.write_text(plan.read_text().replace("tcp,self", "sm,self"))
    changed = recipe("apply", plan, "--root", root, "--yes")
    assert changed.returncode == 1
    assert not root.exists()

    told["plans"][0]["facts"]["accelerators.count"] = 8
    plan.write_text(json.dumps(told))
    stale = recipe("apply", plan, "--root", root, "--yes")
    assert stale.returncode == 1
    assert "stale plan: accelerators.count was 8, is 0" in error_of(stale)
    assert not root.exists()

    told["plans"][0]["facts"]["accelerators.count"] = 0
    plan.write_text(json.dumps(told))
    assert recipe("apply", plan, "--root", root, "--yes").returncode == 0
    planned = {one["path"]: one["content"] for one in told["plans"][0]["files"]}
    assert generations.state(root).contents == planned
    again = recipe("apply", plan, "--root", root, "--yes")
    assert again.returncode == 0
    assert "Nothing to change" in last(again)
    other = recipe("apply", plan, "--root", tmp_path / "other", "--yes")
    assert other.returncode == 1
    assert not (tmp_path / "other").exists()


def test_a_requirement_that_blocks_and_one_that_is_not_known_stop_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    needs = {"id": "shm", "op": ">=", "level": "block", "remedy": "more", "unverified": "a test"}
    too_much = written(
        tmp_path / "much.yaml",
        requires=[{**needs, "fact": "shm.size_bytes", "value": 1 << 60}],
    )
    done = recipe("apply", too_much, "--root", root, "--yes")
    assert done.returncode == 1
    assert "requirement that blocks is not met" in error_of(done)
    unread = written(
        tmp_path / "unread.yaml",
        requires=[{**needs, "fact": "software.no-such-thing", "value": "1"}],
    )
    done = recipe("apply", unread, "--root", root, "--yes")
    assert done.returncode == 3
    assert "could not be read" in error_of(done)
    assert not root.exists()


def test_what_loads_code_needs_to_be_allowed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    variables = [{"name": "LD_PRELOAD", "value": "/tmp/x.so", "why": "a test", "unverified": "a test"}]
    path = written(tmp_path / "code.yaml", env={"set": variables})
    done = recipe("apply", path, "--root", root, "--yes")
    assert done.returncode == 1
    assert "LD_PRELOAD" in error_of(done)
    assert "--allow-code" in error_of(done)
    assert not root.exists()
    assert recipe("apply", path, "--root", root, "--yes", "--allow-code").returncode == 0
    assert "LD_PRELOAD=/tmp/x.so" in (root / "current" / "code.env").read_text()


def test_another_recipe_in_force_says_what_to_type(tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert recipe("apply", "cpu-loopback", "--root", root, "--yes").returncode == 0
    before = listing(tmp_path)
    done = recipe("apply", written(tmp_path / "other.yaml"), "--root", root, "--yes")
    assert done.returncode == 1
    assert "raxl recipe rollback" in error_of(done)
    assert {**listing(tmp_path), "other.yaml": None} == {**before, "other.yaml": None}


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_text_fits_and_ends_in_a_sentence(tmp_path: Path, width: int, unicode: bool) -> None:
    first = applied(tmp_path, FIRST)
    (tmp_path / "notes\x1b[31m.txt").write_text("")
    receipt = applied(tmp_path, {**SECOND, "long-name-of-a-file.yaml": "a: 1\n"})
    assert first is not None
    assert receipt is not None
    foreign = generations.state(tmp_path).foreign
    steps = ("xargs -a " + "x" * 150,)
    written_ = text_recipe_apply.applied(receipt, steps, width, unicode=unicode)
    back = text_recipe_apply.taken_back(receipt, str(tmp_path), foreign, width, unicode=unicode)
    same = text_recipe_apply.unchanged(receipt, str(tmp_path), width, unicode=unicode)
    none = text_recipe_apply.taken_back(None, str(tmp_path), (), width, unicode=unicode)
    for lines in (written_, back, same, none):
        text = to_text(lines)
        assert text.rstrip().endswith(".")
        assert "\x1b" not in text
        for line in text.splitlines():
            assert display_width(line) <= width or "x" * 150 in line
            assert unicode or line.isascii()
    assert "(files: 1 changed, 1 removed, 2 new)" in " ".join(to_text(written_).split())
    assert "x" * 150 in to_text(written_)


def test_json_is_one_document_whatever_the_exit_code(tmp_path: Path) -> None:
    """Where there is neither a receipt nor a plan it is null, and standard error says why."""
    root = tmp_path / "root"
    planned = recipe("apply", "aws-p5-efa", "--yes", "--root", root, "--format", "json")
    assert planned.returncode == 1
    assert "is for other hardware" in json.loads(planned.stdout)["refused"][0]["message"]
    for arguments in (
        ("apply", "no-such", "--yes"),
        ("plan", "no-such"),
        ("show", "no-such"),
        ("verify", "no-such"),
        ("report",),
    ):
        done = recipe(*arguments, "--root", root, "--format", "json")
        assert (done.returncode, json.loads(done.stdout)) == (1, None), arguments
        assert error_of(done)
    assert recipe("apply", "cpu-loopback", "--yes", "--root", root).returncode == 0
    (root / "current" / "cpu-loopback.env").write_text("")
    done = recipe("rollback", "--yes", "--root", root, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (1, None)


def test_json_asks_nothing_because_it_has_shown_nothing(tmp_path: Path) -> None:
    for command in ("apply", "rollback"):
        done = recipe(command, "--root", tmp_path, "--format", "json")
        assert done.returncode == 2
        assert "JSON is its result alone" in error_of(done)


def test_a_root_of_an_empty_name_is_not_the_folder_that_one_is_in(tmp_path: Path) -> None:
    done = recipe("apply", "cpu-loopback", "--yes", "--root", "")
    assert done.returncode == 2
    assert "--root" in error_of(done)
    assert "it is empty" in error_of(done)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be somebody whom nobody knows")
def test_a_user_without_a_home_is_told_to_name_a_folder() -> None:
    """As in a container that runs under any number."""
    program = """
import os, sys
from raxl.cli import recipe_flags
from raxl.errors import CannotStart
os.environ.pop("HOME", None); os.environ.pop("XDG_CONFIG_HOME", None)
os.setuid(4242424)
try: recipe_flags.default_root()
except CannotStart as error: print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True, timeout=60
    )
    assert done.stdout.startswith("this user has no home")
    assert done.stdout.endswith("Name a folder: --root DIR\n")
