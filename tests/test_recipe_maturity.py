"""Maturity is earned: by real recordings that the ledger names, by reports that are attached and fit."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import captures
from raxl.cli import generated, recipe_ledger
from raxl.model import codec
from raxl.model.recipe import Recipe
from raxl.recipe import load, maturity
from raxl.recipe.maturity import LEDGER

TODAY = date(2026, 11, 30)
ROOT = Path(__file__).parents[1]


def faults(folder: Path, **parts: Any) -> list[str]:
    """All that is wrong with the recipe `trial` in the folder."""
    whole = {"schema": "raxl.recipe/v1", "name": "trial", "title": "A trial", "match": {"by_name": True}, **parts}
    path = folder / "trial.yaml"
    path.write_text(json.dumps(whole, indent=1))
    return [str(one).removeprefix(f"{path}:") for one in load.examined(path, TODAY).faults]


def sha256() -> str:
    text = json.dumps({"schema": "raxl.recipe/v1", "name": "trial", "title": "A trial", "match": {"by_name": True}})
    return load.read_text(text, "trial").sha256


def attached(folder: Path, report: Any, file: str = "report.json", **entry: Any) -> dict[str, Any]:
    """The report beside the recipe, and the entry that names it."""
    data = report if isinstance(report, bytes) else json.dumps(report).encode()
    (folder / file).write_bytes(data)
    sum_ = hashlib.sha256(data).hexdigest()
    return {"file": file, "sha256": sum_, "device": "8 x H100", "date": "2026-07-13", **entry}


def figure(status: str = "ok", **parts: Any) -> dict[str, Any]:
    """One of the report's, measured."""
    told = {"id": "lo", "collective": "p2p", "nodes": 1, "ranks": 2, "size_bytes": 8, "algorithm": None}
    held = {"transport": "tcp", "metric": "bandwidth_bytes_per_second", "kind": "own-baseline", "expected": 4e9}
    bounds = {"warn_below": 0.9, "fail_below": 0.75, "expected_path": ["lo"], "message": "as much", "measured": 4e9}
    return {**told, **held, **bounds, "status": status, **parts}


def in_force(**parts: Any) -> dict[str, Any]:
    told = {"root": "/r", "generation": "0" * 16, "applied": "2026-07-13T09:00:00Z", "recipe": "trial"}
    return {**told, "recipe_sha256": sha256(), **parts}


def node(source: str) -> dict[str, Any]:
    return {"name": "n1", "source": source, "hardware": "8 × H100"}


def report(**parts: Any) -> dict[str, Any]:
    """One that shows that the recipe `trial` does what it says."""
    whole = {
        "schema": "raxl.report/v1",
        "raxl_version": "0.1.0",
        "created": "2026-07-13T10:00:00Z",
        "status": "ok",
        "recipe": about(),
        "in_force": in_force(),
        "nodes": [node("local"), node("ray:4f1c")],
        "summary": {},
        "figures": [figure("skip", measured=None), figure("baseline"), figure()],
    }
    return {**whole, **parts}


def about(**parts: Any) -> dict[str, Any]:
    told = {"name": "trial", "title": "A trial", "maturity": "documented", "origin": "trial.yaml"}
    return {**told, "recipe_sha256": sha256(), **parts}


def test_documented_is_what_every_recipe_is(tmp_path: Path) -> None:
    assert faults(tmp_path) == []
    assert faults(tmp_path, maturity="documented") == []


def test_observed_needs_a_recording_in_the_ledger_beside_it(tmp_path: Path) -> None:
    named = {"maturity": "observed"}
    refused = ["8 maturity: observed is not earned: observed.json knows no real recording that it matched"]
    assert faults(tmp_path, **named) == refused
    (tmp_path / LEDGER).write_text(json.dumps({"other": [{"recording": "a"}], "trial": []}))
    assert len(faults(tmp_path, **named)) == 1
    (tmp_path / LEDGER).write_text("[" * 100_000)
    assert len(faults(tmp_path, **named)) == 1
    (tmp_path / LEDGER).write_text(json.dumps({"trial": [{"recording": "a"}]}))
    assert faults(tmp_path, **named) == []


def test_validated_needs_a_report_that_is_about_it_and_says_that_all_was_well(tmp_path: Path) -> None:
    assert "validated is not earned: no report is attached" in faults(tmp_path, maturity="validated")[0]
    assert faults(tmp_path, maturity="validated", reports=[attached(tmp_path, report())]) == []


@pytest.mark.parametrize(
    ("content", "entry", "words"),
    [
        (report(), {"file": "other.json"}, "other.json: no such file"),
        (report(), {"sha256": "0" * 64}, "not the one that is told"),
        (b"no json", {}, "is no raxl.report/v1"),
        (b"\xff{}", {}, "is no raxl.report/v1"),
        (b"[" * 100_000, {}, "is no raxl.report/v1"),
        ([], {}, "is no raxl.report/v1"),
        (report(schema="raxl.bench/v1"), {}, "is no raxl.report/v1"),
        (
            report(recipe=about(recipe_sha256="0" * 64)),
            {},
            "is about another recipe, or about this one before it was changed",
        ),
        (report(recipe=None), {}, "is no raxl.report/v1"),
        (report(status="failed"), {}, "says that not all was well: 'failed'"),
        (report(status="incomplete"), {}, "says that not all was well"),
        (report(in_force=None), {}, "where the recipe was not in force"),
        (report(in_force=in_force(recipe_sha256="0" * 64)), {}, "where the recipe was not in force"),
        (report(in_force=in_force(edited=["trial.env"])), {}, "somebody had changed what was applied"),
        (report(wrong=["host.memlock: 64 KiB"]), {}, "says that not all was well"),
        (report(nodes=[]), {}, "is of no node"),
        (report(nodes=[node("local"), node("node-3.tar.gz")]), {}, "is of node-3.tar.gz, not of a machine"),
        (report(nodes=[node("raylet.txt")]), {}, "is of raylet.txt, not of a machine"),
        (report(figures=[]), {}, "holds no figure"),
        (report(figures=[figure("skip", measured=None)]), {}, "holds no figure"),
        (report(figures=[figure("baseline"), figure("warn")]), {}, "holds no figure"),
        (report(), {"file": "../report.json"}, "is to lie below the folder of the recipe"),
        (report(), {"file": "/etc/passwd"}, "is to lie below the folder of the recipe"),
        (report(), {"sha256": "abc"}, "is to be the SHA-256 of the file"),
        (report(), {"date": "lately"}, "is to be a day"),
    ],
)
def test_a_report_that_shows_nothing_is_refused(
    tmp_path: Path, content: Any, entry: dict[str, Any], words: str
) -> None:
    (told, *more) = faults(tmp_path, maturity="validated", reports=[{**attached(tmp_path, content), **entry}])
    assert words in told
    assert " reports[0]." in told
    assert not more


def test_a_report_that_measured_nothing_shows_nothing(tmp_path: Path) -> None:
    """As one of recorded facts is, or of `verify --no-bench`."""
    figure = {
        "id": "tcp-lo",
        "collective": "p2p",
        "nodes": 1,
        "ranks": 2,
        "size_bytes": 67108864,
        "metric": "bandwidth_bytes_per_second",
        "kind": "own-baseline",
        "transport": "tcp",
        "path": ["lo"],
        "warn_below": 0.85,
        "fail_below": 0.7,
        "unverified": "this machine's own",
    }
    plain = {"schema": "raxl.recipe/v1", "name": "trial", "title": "A trial", "match": {"by_name": True}}
    own = load.read_text(json.dumps({**plain, "expect": [figure]}), "trial").sha256
    row = {key: value for key, value in figure.items() if key not in ("path", "unverified")}
    row = {**row, "algorithm": None, "expected": None, "expected_path": ["lo"], "message": ""}
    about = {"recipe": {**report()["recipe"], "recipe_sha256": own}, "in_force": in_force(recipe_sha256=own)}

    def told(**measured: Any) -> list[str]:
        made = report(**about, figures=[{**row, **measured}])
        return faults(tmp_path, maturity="validated", expect=[figure], reports=[attached(tmp_path, made)])

    assert told(status="ok", measured=1e9) == []
    for measured in ({"status": "skip"}, {"status": "ok", "measured": None}, {"status": "fail", "measured": 1e9}):
        (words,) = told(**measured)
        assert "holds no figure that was measured and held" in words
    (words,) = told(id="of-another-recipe", status="ok", measured=1e9)
    assert "holds no figure that was measured and held" in words


def test_a_recipe_that_was_changed_since_its_report_is_validated_no_more(tmp_path: Path) -> None:
    reports = [attached(tmp_path, report())]
    assert faults(tmp_path, maturity="validated", reports=reports) == []
    (told,) = faults(tmp_path, maturity="validated", reports=reports, notes=["a new one"])
    assert "before it was changed" in told


def test_other_commands_say_the_maturity_that_is_earned(tmp_path: Path) -> None:
    def said() -> str:
        return load.read(tmp_path / "trial.yaml").recipe.maturity

    faults(tmp_path, maturity="observed")
    assert said() == "documented"
    (tmp_path / LEDGER).write_text(json.dumps({"trial": [{"recording": "a"}]}))
    assert said() == "observed"
    faults(tmp_path, maturity="validated")
    assert said() == "observed"
    faults(tmp_path, maturity="validated", reports=[attached(tmp_path, report(status="failed"))])
    assert said() == "observed"
    faults(tmp_path, maturity="validated", reports=[attached(tmp_path, report())])
    assert said() == "validated"
    (tmp_path / "report.json").unlink()
    (tmp_path / LEDGER).unlink()
    assert said() == "documented"
    faults(tmp_path)
    assert said() == "documented"


def test_a_recipe_from_no_folder_has_earned_nothing() -> None:
    text = json.dumps(
        {"schema": "raxl.recipe/v1", "name": "trial", "title": "A", "match": {"by_name": True}, "maturity": "observed"}
    )
    assert load.read_text(text, "fetched").recipe.maturity == "documented"
    claimed = codec.converted(json.loads(text), Recipe)
    (told,) = maturity.wrong(load.shelved(claimed, "fetched"), None)
    assert told.keys == ("maturity",)


# The ledger of raxl's own recipes

entries = yaml.safe_load((captures.CORPUS / "MANIFEST.yaml").read_text())["entries"] if captures.CORPUS else []
needs_corpus = pytest.mark.skipif(captures.CORPUS is None, reason="RAXL_CORPUS names no folder of real captures")


def test_every_shipped_recipe_has_earned_the_maturity_that_it_claims() -> None:
    for one in load.shipped():
        examined = load.examined(load.SHIPPED / f"{one.recipe.name}.yaml", TODAY)
        assert examined.faults == []
        assert examined.shelved is not None
        assert examined.shelved.recipe == one.recipe


@needs_corpus
def test_the_ledger_is_what_the_corpus_shows() -> None:
    assert captures.CORPUS is not None
    held = json.loads((ROOT / "recipes" / LEDGER).read_text())
    assert held == generated.observed(ROOT, captures.CORPUS)
    assert held == generated.observed(ROOT, None)


@needs_corpus
def test_only_a_real_capture_counts() -> None:
    assert captures.CORPUS is not None
    named = {row["recording"] for rows in json.loads((ROOT / "recipes" / LEDGER).read_text()).values() for row in rows}
    assert named <= {entry["path"] for entry in entries if entry["nature"] == "capture"}
    invented = [{**entry, "nature": "synthetic"} for entry in entries if entry["path"] in named]
    assert recipe_ledger.observed(captures.CORPUS, invented, load.shipped()) == {}
