"""What `raxl diagnose` says of real captures: of each whose faults are known, exactly that; of healthy ones nothing.

`pytest tests/test_captures_diagnose.py --accept` writes the table of now; the diff is then judged by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import captures
from diagnosing import findings
from raxl.collect import inputs
from raxl.model.finding import FAIL, UNKNOWN, WARN
from raxl.model.problem import NOT_ASKED

TABLE = Path(__file__).parent / "data/captures-diagnosed.json"
"""By capture: check, subject, status and class of remedy of all that warns, fails, or could not be read."""

Row = list[str]


def assessed(*, faulty: bool) -> list[Any]:
    """The captures whose faults the manifest states; one test that is visibly skipped where there is no corpus."""
    if captures.CORPUS is None:
        return [captures.NONE]
    held = yaml.safe_load((captures.CORPUS / "MANIFEST.yaml").read_text())["entries"]
    chosen = [entry for entry in held if "faults" in entry and bool(entry["faults"]) == faulty]
    return [pytest.param(entry, id=entry["path"]) for entry in chosen]


def path_of(entry: dict[str, Any]) -> Path:
    assert captures.CORPUS is not None
    return Path(captures.CORPUS / entry["path"])


def rows(path: Path) -> list[Row]:
    found = findings(inputs.opened([str(path)])).findings
    told = [one for one in found if one.status in (FAIL, WARN) or (one.status == UNKNOWN and one.reason != NOT_ASKED)]
    return sorted([one.check, one.subject, one.status, one.remedy_class] for one in told)


@pytest.mark.parametrize("entry", assessed(faulty=True))
def test_a_faulty_capture_is_told_as_it_is(entry: dict[str, Any], accept: bool) -> None:
    table: dict[str, list[Row]] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    found = rows(path_of(entry))
    if accept:
        table[entry["path"]] = found
        TABLE.write_text(written(table))
    assert found == table.get(entry["path"], "it is not in the table")


def written(table: dict[str, list[Row]]) -> str:
    """A line a finding."""
    lines = []
    for path, told in sorted(table.items()):
        own = ",\n".join(f"  {json.dumps(row)}" for row in told)
        lines.append(f" {json.dumps(path)}: [\n{own}\n ]" if told else f" {json.dumps(path)}: []")
    return "{\n" + ",\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("entry", assessed(faulty=False))
def test_a_healthy_capture_raises_nothing(entry: dict[str, Any]) -> None:
    assert [row for row in rows(path_of(entry)) if row[2] in (FAIL, WARN)] == []
