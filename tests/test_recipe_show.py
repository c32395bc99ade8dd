"""`raxl recipe list`, `show` and `validate`, and that the page about recipes shows what they print."""

from __future__ import annotations

import io
import json
import re
import shlex
from datetime import date
from pathlib import Path

import pytest

from raxl import __version__
from raxl.cli import outcome, recipe_files
from raxl.cli.app import app
from raxl.cli.recipe_files import Options
from raxl.cli.streams import Streams
from raxl.model import codec
from raxl.model.recipe import Recipe, RecipesDocument
from raxl.recipe import load
from raxl.render import text_recipe, text_recipes
from raxl.render.text import display_width, to_text
from recipe_texts import WHOLE

PAGE = Path(__file__).parents[1] / "docs" / "recipes.md"
TODAY = date(2026, 11, 30)
MISTAKES = (
    ('op: ">=", value: 8}', "op: atleast, value: 8}"),
    ("name: NCCL_IB_HCA", "name: EDITOR"),
    ("start: {num-gpus:", "start: {num-gpu:"),
    ("value: 380e9", "value: 800e9"),
)
"""Of the page's recipe, what `draft.yaml` says instead."""


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = outcome.run(app, ["recipe", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_list_has_a_row_for_each_of_raxls_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = ran(capsys, "list", "--root", str(tmp_path))
    assert code == 0
    assert "cpu-loopback" in out
    assert "FROM" not in out
    code, out, _ = ran(capsys, "list", "--root", str(tmp_path), "--format", "json")
    document = codec.decode(out, RecipesDocument)
    assert (document.schema, document.raxl_version) == ("raxl.recipes/v1", __version__)
    assert [one.name for one in document.recipes] == [one.recipe.name for one in load.shipped()]
    assert {one.origin for one in document.recipes} == {"raxl"}


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_those_that_were_fetched_are_listed_and_a_broken_one_is_told_beside(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "trial.yaml").write_text(WHOLE)
    (tmp_path / "recipes" / "worse.yaml").write_text("a: [")
    code, out, err = ran(capsys, "list", "--root", str(tmp_path))
    assert code == 0
    assert re.search(r"^RECIPE +MATURITY +(NEWEST SOURCE +)?FROM +FOR$", out, re.MULTILINE)
    assert re.search(r"^trial +documented +(2026-07-13 +)?fetched +A trial$", out, re.MULTILINE)
    assert err == f"{tmp_path}/recipes/worse.yaml:1: is no YAML (did not find expected node content)\n"
    assert ran(capsys, "show", "trial", "--root", str(tmp_path))[1].startswith("trial  A trial\n")


def test_a_recipe_is_shown_as_json_and_as_one_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "trial.yaml").write_text(WHOLE)
    code, out, _ = ran(capsys, "show", str(tmp_path / "trial.yaml"), "--format", "json")
    assert code == 0
    assert codec.decode(out, Recipe) == load.read(tmp_path / "trial.yaml").recipe
    assert "maturity" in json.loads(out), "what is as it would be anyway stands there too"
    code, out, _ = ran(capsys, "show", str(tmp_path / "trial.yaml"), "--format", "yaml")
    assert load.read_text(out, "shown").recipe == load.read(tmp_path / "trial.yaml").recipe


def test_a_broken_recipe_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trial.yaml"
    path.write_text(WHOLE.replace("op: matches", "op: like").replace("level: block", "level: stop"))
    code, out, err = ran(capsys, "show", str(path))
    assert (code, out) == (1, "")
    assert err == (
        f"raxl: error: {path}:13 match.all[1].op: is to be one of == != >= <= > < in matches present absent, "
        f"not 'like' (and 1 more). raxl recipe validate {path} lists them\n"
    )
    assert ran(capsys, "show", "no-such")[0] == 1
    assert ran(capsys, "show", str(tmp_path / "none.yaml"))[0] == 4


def validated(*names: str, format_: str = "text") -> tuple[int, str]:
    stdout = io.StringIO()
    code = recipe_files.validated(Options(names, format_), TODAY, Streams(stdout, io.StringIO()))
    return code, stdout.getvalue()


def test_all_shipped_recipes_and_layers_are_valid() -> None:
    code, out = validated()
    assert code == 0, out
    assert "cpu-loopback" in out


def test_what_is_broken_comes_first_then_what_is_to_be_looked_at(tmp_path: Path) -> None:
    for name, text in (
        ("a-fine", WHOLE),
        ("b-old", WHOLE.replace("2026-07-13", "2025-07-13")),
        ("c-broken", WHOLE.replace("level: block", "level: stop").replace("nodes: 2", "nodes: 0")),
    ):
        (tmp_path / f"{name}.yaml").write_text(text.replace("name: trial", f"name: {name}"))
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    code, out = validated(*names)
    assert code == 1
    assert re.findall(r"^(?:broken|look|ok) +(\S+)", out, re.MULTILINE) == ["c-broken", "b-old", "a-fine"]
    assert out.endswith("c-broken cannot be used: 2 things are wrong.\n")
    code, out = validated(*names, format_="json")
    assert code == 1
    by_name = {one["name"]: one for one in json.loads(out)["recipes"]}
    assert [one["key"] for one in by_name["c-broken"]["faults"]] == ["requires[0].level", "expect[0].nodes"]
    assert by_name["c-broken"]["faults"][0]["line"] == WHOLE[: WHOLE.index("level: block")].count("\n") + 1
    assert by_name["c-broken"]["sha256"] is None
    assert [one["key"] for one in by_name["b-old"]["warnings"]] == ["source[1].read"]
    assert by_name["a-fine"]["sha256"] == load.read(Path(names[0])).sha256


def test_all_of_a_folder_with_its_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ours" / "layers").mkdir(parents=True)
    (tmp_path / "ours" / "layers" / "base.yaml").write_text(
        "schema: raxl.recipe/v1\nname: base\ntitle: Base\nlayer: true\nnotes: [the layer]\n"
    )
    extending = "schema: raxl.recipe/v1\nname: {}\ntitle: A\nextends: {}\nmatch: {{by_name: true}}\n"
    (tmp_path / "ours" / "mine.yaml").write_text(extending.format("mine", "base"))
    monkeypatch.chdir(tmp_path)
    for name in ("ours", "./ours/", str(tmp_path / "ours")):
        code, out = validated(name)
        assert code == 0
        assert re.findall(r"^ok +(\S+)", out, re.MULTILINE) == ["mine", "base"]
    (tmp_path / "ours" / "worse.yaml").write_text(extending.format("worse", "bass"))
    code, out = validated("ours")
    assert (code, out.splitlines()[0]) == (1, "broken  worse")
    assert "worse.yaml:4 extends: no recipe or layer is called bass" in out
    (tmp_path / "none").mkdir()
    assert ran(capsys, "validate", "none") == (
        4,
        "",
        "raxl: error: none holds no recipe (no file there ends in .yaml)\n",
    )


def test_a_folder_does_not_hide_a_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu-loopback").mkdir()
    monkeypatch.chdir(tmp_path)
    assert validated("cpu-loopback")[1].endswith("cpu-loopback is valid.\n")


def test_a_file_that_is_not_there_is_no_broken_recipe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = ran(capsys, "validate", str(tmp_path / "none.yaml"))
    assert (code, out) == (4, "")
    assert err == f"raxl: error: {tmp_path}/none.yaml: no such file\n"


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_nothing_is_wider_than_the_terminal(width: int, unicode: bool) -> None:
    for one in load.shipped():
        for line in to_text(text_recipe.shown(one.recipe, one.recipe.name, width, unicode=unicode)).splitlines():
            assert display_width(line) <= width or " " not in line.strip(), line
            assert unicode or line.isascii()
    document = RecipesDocument("raxl.recipes/v1", "1", tuple(recipe_files._record(one) for one in load.shipped()))
    for lines in (text_recipes.listed(document, width), text_recipes.validated(document, width)):
        assert all(display_width(line) <= width for line in to_text(lines).splitlines())


def test_colour_says_only_what_a_word_says_too(tmp_path: Path) -> None:
    one = load.named("cpu-loopback")
    lines = text_recipe.shown(one.recipe, "cpu-loopback", 80)
    assert re.sub(r"\x1b\[\d*m", "", to_text(lines, colour=True)) == to_text(lines)


# The page


def page_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], accept: bool
) -> None:
    text = page_blocks("yaml")[0]
    (tmp_path / "my-h100.yaml").write_text(text)
    for old, new in MISTAKES:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "draft.yaml").write_text(text.replace("name: my-h100 ", "name: draft "))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(recipe_files, "date", type("Day", (date,), {"today": classmethod(lambda _: TODAY)}))
    for block in page_blocks("console"):
        command, _, shown = block.partition("\n")
        code = outcome.run(app, shlex.split(command)[2:])
        printed = capsys.readouterr().out
        if accept:
            PAGE.write_text(PAGE.read_text().replace(f"{command}\n{shown}", f"{command}\n{printed}"))
        else:
            assert shown == printed
        assert code == (1 if "draft" in command else 0)


def test_a_maturity_that_was_not_earned_is_not_told_as_a_fact(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = {"schema": "raxl.recipe/v1", "name": "claims", "title": "A", "match": {"by_name": True}}
    path = tmp_path / "claims.yaml"
    path.write_text(json.dumps({**told, "maturity": "validated"}))
    code, out, _ = ran(capsys, "show", str(path))
    assert code == 0
    words = " ".join(out.split())
    assert "Documented: it says what public pages say" in words
    assert "validated" not in words.lower()
