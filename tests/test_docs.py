"""What is written about raxl is true: the README's commands and outputs, the completions, the tables of plug-ins."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import tomllib
import typer

import planning
import recordings
from raxl.cli import completions, outcome
from raxl.cli.app import app
from raxl.collect import keeping
from raxl.model import codec
from raxl.plugins import registry

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shell", completions.FILES)
def test_completions_are_those_that_the_command_writes(shell: str) -> None:
    assert (ROOT / "completions" / completions.FILES[shell]).read_text() == completions.script(shell)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_read_by_their_shell(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(ROOT / "completions" / completions.FILES[shell])], check=True)


def test_bash_completes_a_command(tmp_path: Path) -> None:
    script = ROOT / "completions" / completions.FILES["bash"]
    program = (
        f"source {script}; PATH={Path(sys.executable).parent}:$PATH; COMP_WORDS=(raxl disc); COMP_CWORD=1; "
        '_raxl_completion raxl; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["discover"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme_and_has_help(command: str) -> None:
    assert f"raxl {command}" in README
    done = subprocess.run([sys.executable, "-m", "raxl", command, "--help"], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) > 5


def test_every_command_of_the_readme_exists() -> None:
    for block in re.findall(r"^```(?:sh|console)\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for command in re.findall(r"(?<!before )(?<!since )\braxl ([a-z][a-z-]+)", block):
            assert command in COMMANDS, command


def test_the_readme_shows_what_the_code_prints() -> None:
    """The tree of the README is the expected output of a recording, which another test holds the code to."""
    shown = re.search(r"^```console\n\$ raxl topo [^\n]*\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1] == (ROOT / "tests/expected/nvidia-hgx-h100/topo.txt").read_text()


def test_the_readme_shows_what_a_diagnosis_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.search(r"^```console\n\$ raxl (diagnose [^\n]*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    (tmp_path / "gpu-13.tar.gz").write_bytes(recordings.snapshot("nvidia-hgx-h100-sick"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert outcome.run(app, shlex.split(shown[1])) == 1
    assert capsys.readouterr().out == shown[2]


def test_the_readme_shows_what_a_recipe_does(tmp_path: Path) -> None:
    """Its commands one after the other, on a recorded machine. What starts Ray and measures there is held by
    `test_recipe_end_to_end`."""
    shown = re.search(r"^```console\n(\$ raxl recipe plan .*?)^```", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    (tmp_path / "node.tar.gz").write_bytes(keeping.packed([planning.bare()]))
    # As long as the README's, so that its lines are folded alike.
    home = tempfile.mkdtemp(prefix="", dir="/tmp")
    own = {"HOME": home, "COLUMNS": "100", "LC_ALL": "C.UTF-8", "RAXL_HOST_RECORDING": str(tmp_path / "node.tar.gz")}
    own["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CONFIG_HOME"}
    try:
        for step in re.split(r"^\$ ", shown[1], flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            if "ray start" in command or "verify" in command:
                continue
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env={**environment, **own})
            printed = (done.stdout + done.stderr).replace(home, "/home/ann-lee")
            assert _without_times(printed) == _without_times(output), command
        assert os.listdir(home) == []
    finally:
        shutil.rmtree(home)


def _without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)


def test_built_in_plug_ins_are_the_entry_points_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["raxl.accelerators"] == registry.BUILT_IN


def test_the_flag_of_every_reading_command_is_in_the_readme() -> None:
    for flag in ("--from", "--as-node", "--cluster", "--address", "--record", "--timeout", "--plugins"):
        assert f"| `{flag}" in README


def test_each_schema_is_printed_and_is_one() -> None:
    import jsonschema

    for kind in codec.KINDS:
        done = subprocess.run(
            [sys.executable, "-m", "raxl", "schema", kind], capture_output=True, text=True, check=True
        )
        jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))


def test_the_wheel_carries_what_is_no_module(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    names = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", wheel], capture_output=True, text=True, check=True
    ).stdout
    for name in completions.FILES.values():
        assert f"raxl/completions/{name}" in names
    assert "raxl/model/node.py" in names
    for path in (ROOT / "recipes").rglob("*.*"):
        assert f"raxl/{path.relative_to(ROOT)}" in names
    assert "raxl/recipe/shipped.json" in names
    assert "raxl/accelerators/catalog/catalog.json" in names
    assert "raxl/recipe/shipped.json" in names
    assert "raxl/recipes/cpu-loopback.yaml" in names
    assert "raxl/plugins/tiers.json" in names
    assert "raxl/plugins/captures.json" in names
    assert "raxl/plugins/skeleton/plugin.py.txt" in names


@pytest.mark.parametrize("command", ["recipe", "plugins"])
def test_a_group_without_a_command_prints_its_help(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "raxl", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: raxl {command} [OPTIONS] COMMAND")
