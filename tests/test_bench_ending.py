"""Which rows make a run end with 1, and which with 3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from measured_rows import MIB, N1, N2, bench, row
from raxl.bench import faults, plugged, run, screen
from raxl.bench.compare import regressions
from raxl.bench.ending import ending
from raxl.bench.request import Request
from raxl.model.measurement import Bandwidth, Bench, Fault, Left, Run, Slow, SlowEvidence
from raxl.render import text_bench
from raxl.render.bench_pairs import groups
from raxl.render.bench_sentence import sentences
from raxl.render.text import to_text

SLOW = Slow("node", "n3", "both", SlowEvidence(1.0, 2.0, ()), "")
FAULT = Fault("gloo", N1, N2, "kill-source", MIB, None, "hangs", "alive", Left(), "failed: refused")


@pytest.mark.parametrize("status", ["ok", "mapped", "noisy", "unstable", "quantised"])
def test_a_row_that_was_measured_ends_well(status: str) -> None:
    assert ending(bench(row(status=status)), ["gloo"]) == (0, ())


@pytest.mark.parametrize("status", ["suspect", "mismatch", "corrupt"])
def test_a_row_that_is_wrong_is_1_whatever_else_is_missing(status: str) -> None:
    found = ending(bench(row(status=status), row("nixl", status="failed")), ["nccl"])
    assert found == (1, (f"gloo n1 → n2, {MIB} bytes: {status}",))


def test_what_failed_is_3_and_what_is_unavailable_only_where_it_was_named() -> None:
    missing = row("nccl", seconds=0, status="unavailable")
    assert ending(bench(row(), missing)).code == 0
    assert ending(bench(row(), missing), ["gloo", "nccl"]) == (3, ("nccl n1 → n2: unavailable",))
    assert ending(bench(row(), missing), ["gloo"]).code == 0
    assert ending(bench(row(), row("nixl", status="failed"))) == (3, ("nixl n1 → n2: failed",))
    assert ending(bench(row()), ["gloo", "nccl"]) == (3, ("nccl: not measured",))


def test_a_run_that_measured_nothing_is_3() -> None:
    assert ending(bench(row(status="unavailable"))) == (3, ("nothing could be measured",))
    assert ending(bench()).code == 3


def test_a_node_that_was_lost_from_a_screening_is_3() -> None:
    screened = replace(bench(row()), environment={"screen": {"transport": "tcp", "lost": {"n3": "it died"}}})
    assert ending(screened).code == 3
    assert ending(replace(screened, environment={"screen": {"transport": "tcp", "lost": {}}})).code == 0


def test_a_slow_node_is_1_and_a_fault_that_was_asked_for_is_0() -> None:
    assert ending(replace(bench(row()), slow=[SLOW])) == (1, ("node n3 is slow",))
    assert ending(replace(bench(), faults=[FAULT]), ["gloo"]).code == 0
    assert ending(replace(bench(), faults=[FAULT]), ["nccl"]).code == 3


def test_a_regression_is_1_and_what_cannot_be_compared_3_but_not_what_is_new_or_was_not_asked_for() -> None:
    def ended(before: list[Run], after: list[Run]) -> int:
        found = regressions(bench(*before), bench(*after))
        return ending(bench(*after, regressions=found), has_baseline=True).code

    assert ended([row(seconds=0.01)], [row(seconds=0.02)]) == 1
    assert ended([row(seconds=0.01)], [row(seconds=0.01)]) == ended([row(seconds=0.02)], [row(seconds=0.01)]) == 0
    assert ended([row(path=None)], [row()]) == 3
    assert ended([row(), row("nixl")], [row(), row("nixl", seconds=0, status="unavailable")]) == 3
    assert ended([row()], [row(), row("nixl")]) == 0
    assert ended([row(), row(size=8)], [row()]) == 0


WORTHLESS = Bandwidth(-1, -1, -1)


@pytest.mark.parametrize(
    "before",
    [
        [],
        [row(bandwidth_bytes_per_second=WORTHLESS)],
        [row(seconds=0)],
        [row(status="corrupt")],
        [row(status="unavailable")],
        [row(size=8)],
        [row("nixl")],
    ],
    ids=["no rows", "negative", "no figures", "corrupt", "unavailable", "other sizes", "other transports"],
)
def test_a_baseline_of_which_no_figure_could_be_compared_has_not_been_passed(before: list[Run]) -> None:
    after = bench(row(), regressions=regressions(bench(*before), bench(row())))
    assert ending(after, has_baseline=True).code == 3
    (line,) = sentences(after, groups(after.runs))
    assert "Nothing worse" not in line
    assert "No figure could be compared with the baseline" in line


def test_a_row_that_stands_in_the_baseline_without_a_figure_is_3_beside_others_that_have_one() -> None:
    def ended(before: Run) -> int:
        found = regressions(bench(row(), before), bench(row(), row("nixl")))
        return ending(bench(row(), row("nixl"), regressions=found), has_baseline=True).code

    assert ended(row("nixl", status="corrupt")) == ended(row("nixl", seconds=0)) == 3
    assert ended(row("nixl", status="unavailable")) == ended(row("nixl", size=8)) == 0


def test_a_fault_that_could_not_be_tried_is_3_and_is_not_told_as_tried() -> None:
    def hurt(*faults: Fault) -> Bench:
        return replace(bench(), faults=faults)

    absent = replace(FAULT, transport="nccl", error="it needs 2 GPUs", next_transfer="not tried", status="unavailable")
    assert ending(hurt(absent), ["nccl"]).code == ending(hurt(absent)).code == 3
    assert ending(hurt(FAULT, absent)).code == 0
    assert ending(hurt(FAULT, absent), ["gloo", "nccl"]).code == 3
    assert ending(hurt(FAULT, replace(absent, status="failed"))).code == 3
    printed = to_text(text_bench.bench(hurt(absent), 100))
    assert printed == "?  not tried  nccl: it needs 2 GPUs\n\nNo fault could be tried.\n"
    assert "1 fault tried" in to_text(text_bench.bench(hurt(FAULT, absent), 100))


def test_a_transport_of_one_end_is_not_hurt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "fault", lambda conducting, request, name, nodes: replace(FAULT, transport=name))
    node = {"id": "1", "name": "n1", "address": "10.0.0.1"}
    plugins = plugged.loaded(plugged.entries(Request(transports=("memcpy", "tcp"))))
    asked = Request(fault="kill-source")
    told = list(run._hurt(None, asked, plugins, [run.Pair(node, node)], {}))  # type: ignore[arg-type]
    assert [(one.transport, one.status) for one in told] == [("memcpy", "unavailable"), ("tcp", "ok")]
    assert told[0].error.startswith("one end alone does the transfer")
    little = {"1": {"memory_available_bytes": 20 << 20}}
    told = list(run._hurt(None, asked, plugins, [run.Pair(node, node)], little))  # type: ignore[arg-type]
    assert [one.status for one in told] == ["unavailable", "failed"]
    assert told[1].error.startswith("needs 35.2 MiB of memory, and n1 has 20 MiB")


class Nodes:
    """A cluster of two nodes that answers nothing else."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def nodes(self) -> list[dict[str, str]]:
        return [{"id": name, "name": name, "address": name} for name in ("n1", "n2")]


def test_a_screening_is_held_against_its_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Conducting", Nodes)
    monkeypatch.setattr(run, "_looked", lambda conducting, nodes: {})
    monkeypatch.setattr(screen, "screen", lambda *_: screen.Screened([row("tcp", seconds=0.02)], (), {}))
    told = run.bench(Request("a:1", pairs="screen", baseline=bench(row("tcp", seconds=0.01))))
    assert [one.status for one in told.regressions] == ["regressed"]
    assert ending(told, has_baseline=True).code == 1
