"""Recipes by their names: every command finds those that were fetched, and takes a path for a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from planning import bare
from raxl.cli import outcome, recipe_named
from raxl.cli.app import app
from raxl.collect import keeping
from raxl.errors import RecipeError
from raxl.recipe import load

NODE = "node.tar.gz"
"""A machine without accelerators."""
OWN = (load.SHIPPED / "cpu-loopback.yaml").read_text()
MINE = (
    OWN.replace("name: cpu-loopback", "name: mine")
    .replace("title: Any", "title: My")
    .replace(": observed", ": documented")
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own root, with a recipe that was fetched; beside it a recorded machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / NODE).write_bytes(keeping.packed([bare()]))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    root = tmp_path / "raxl" / "recipe"
    (root / "recipes").mkdir(parents=True)
    (root / "recipes" / "mine.yaml").write_text(MINE)
    return root


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    outcome.run(app, arguments)
    told = capsys.readouterr()
    return told.out, told.err


@pytest.mark.parametrize(
    "command",
    [
        ["recipe", "show", "mine"],
        ["recipe", "plan", "mine", "--from", NODE],
        ["recipe", "verify", "mine", "--no-bench", "--from", NODE],
    ],
    ids=lambda command: command[1],
)
def test_a_recipe_that_was_fetched_is_found_by_its_name(
    root: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    out, err = ran(capsys, *command)
    assert "My machine" in out, err


def test_so_do_commands_that_do_not_say_its_title(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "recipe", "validate", "mine")[0].endswith("mine is valid.\n")
    assert "no recipe" not in "".join(ran(capsys, "diagnose", "--recipe", "mine", "--from", NODE))
    assert "My machine" in ran(capsys, "recipe", "apply", "mine", "--dry-run")[0]


@pytest.mark.parametrize("command", [["show"], ["validate"], ["plan", "--from", NODE], ["verify", "--from", NODE]])
def test_a_name_that_is_none_is_told_the_near_ones(
    root: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    out, err = ran(capsys, "recipe", command[0], "mime", *command[1:])
    assert (out, err) == ("", "raxl: error: no recipe is called mime. Did you mean mine? raxl recipe list names all\n")


def test_a_part_of_names_is_told_those_that_have_it() -> None:
    with pytest.raises(RecipeError, match=r"Did you mean [a-z0-9-]*h200[a-z0-9-]*, \S*h200\S* or \S*h200\S*\?"):
        load.named("h200")


def test_a_path_is_a_path_and_a_name_is_never_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE.replace("My machine", "Another machine"))
    (tmp_path / "cpu-loopback.yaml").write_text(OWN.replace("Any machine", "Another machine"))
    for name in ("mine", "cpu-loopback"):
        assert not recipe_named.named(name).recipe.title.startswith("Another")
        for path in (f"{name}.yaml", f"./{name}.yaml"):
            assert recipe_named.named(path).recipe.title.startswith("Another")
            assert recipe_named.named(path).origin == path.removeprefix("./")


def test_what_a_node_is_planned_and_verified_by_is_chosen_from_the_same(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = [one.recipe.name for one in recipe_named.every()]
    assert every == [*(one.recipe.name for one in load.shipped()), "mine"]
    for command in ("plan", "verify"):
        err = ran(capsys, "recipe", command, "--from", NODE)[1]
        assert "cpu-loopback and mine fit this node equally well" in err


def test_a_broken_one_may_be_the_one_that_fits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "recipes" / "mine.yaml").write_text(MINE.replace("level: block", "level: stop"))
    out, err = ran(capsys, "recipe", "plan", "--from", NODE)
    assert out == ""
    assert err.startswith(f"raxl: error: {root}/recipes/mine.yaml:")
    assert ran(capsys, "recipe", "plan", "cpu-loopback", "--from", NODE)[0]
