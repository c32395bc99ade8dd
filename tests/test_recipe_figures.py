"""Expectations of a recipe beside rows of the benchmark: what passes, and what only looks as if it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from measured_rows import row
from raxl.model.measurement import Endpoint, Path, Run
from raxl.model.recipe import Expectation, Source
from raxl.model.verification import BASELINE, Baseline, Figure, OwnFigure
from raxl.recipe import figures, measurable
from raxl.recipe.figures import Beside
from raxl.recipe.measurable import Measured, Place, Wish

MIB = 1 << 20
SIZE = 64 * MIB
RATE = 1e9
"""What the recipe expects, in bytes a second."""
PATTERNS = {"tcp": ("p2p",), "nixl": ("p2p",), "torch-nccl": ("p2p", "all-reduce")}
TWO = Place(("n1", "n2"), True, PATTERNS, {})
ONE = Place(("n1",), False, PATTERNS, {})
SOURCES = {"log": Source("log", "https://example.org/log", "2026-02-21")}
ETH0 = Path("eth0", (), "proven")


def expectation(**changes: Any) -> Expectation:
    """1 GB/s over eth0, between two nodes."""
    one = Expectation(
        id="wire",
        collective="p2p",
        nodes=2,
        ranks=2,
        metric="bandwidth_bytes_per_second",
        kind="observed",
        value=RATE,
        size_bytes=SIZE,
        transport="tcp",
        path=("eth0",),
        source="log",
        date="2026-02",
    )
    return replace(one, **changes)


def measured_row(rate: float = RATE, **fields: Any) -> Run:
    """A row of `tcp` that took as long as this rate makes it."""
    fields.setdefault("transport", "tcp")
    fields.setdefault("path", ETH0)
    return row(size=fields.pop("size", SIZE), seconds=SIZE / rate, **fields)


def found(one: Expectation, *runs: Run, place: Place = TWO, beside: Beside | None = None) -> list[Figure]:
    """The figures of one expectation whose rows are these."""
    wishes, refused = measurable.wishes([one], place)
    had = [Measured(wish, runs) for wish in wishes]
    return list(figures.figures([one], had, refused, beside or Beside(SOURCES, has_accelerators=True)))


def only(one: Expectation, *runs: Run, **more: Any) -> Figure:
    (figure,) = found(one, *runs, **more)
    return figure


def test_a_figure_carries_its_row_and_where_the_expectation_comes_from() -> None:
    figure = only(expectation(), measured_row(0.98e9))
    assert (figure.status, figure.message) == ("ok", "98% of the published figure")
    assert figure.measured == pytest.approx(0.98e9, rel=1e-3)
    assert (figure.ci95_low or 0) < (figure.measured or 0) < (figure.ci95_high or 0)
    assert figure.ratio == pytest.approx(0.98, rel=1e-3)
    assert (figure.between, figure.path, figure.path_verdict) == ("n1 → n2", "eth0", "proven")
    assert (figure.source, figure.source_read, figure.date) == ("https://example.org/log", "2026-02-21", "2026-02")


@pytest.mark.parametrize(
    ("rate", "status"), [(1.2e9, "ok"), (0.91e9, "ok"), (0.89e9, "warn"), (0.76e9, "warn"), (0.74e9, "fail")]
)
def test_the_recipes_own_shares_decide(rate: float, status: str) -> None:
    assert only(expectation(), measured_row(rate)).status == status


def test_of_a_time_less_is_better() -> None:
    one = expectation(metric="latency_seconds", value=1e-3, size_bytes=8)
    quick, slow = (row("tcp", 8, seconds, path=ETH0) for seconds in (0.9e-3, 1.5e-3))
    assert only(one, quick).status == "ok"
    figure = only(one, slow)
    assert (figure.status, round(figure.ratio or 0, 2)) == ("fail", 0.67)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (Path("lo", (), "proven"), "it went by lo, and the figure is one of eth0: the number says nothing"),
        (
            Path("eth0", (), "unverified", "zero-copy cma/memory"),
            "it went by eth0 (zero-copy cma/memory), and the figure is one of eth0: the number says nothing",
        ),
    ],
)
def test_a_good_number_by_another_way_fails(path: Path, told: str) -> None:
    figure = only(expectation(), measured_row(2 * RATE, path=path))
    assert (figure.status, figure.message) == ("fail", told)


def test_what_the_counters_belie_fails_whatever_the_number() -> None:
    path = Path("eth0", (), "mismatch")
    figure = only(expectation(), measured_row(5 * RATE, status="mismatch", error="eth0 moved 0 bytes", path=path))
    assert (figure.status, figure.message) == ("fail", "it went another way: eth0 moved 0 bytes")
    assert figure.path == "shared memory, or a device that counts nothing"


def test_memory_that_was_mapped_moved_nothing() -> None:
    bare = measured_row(status="mapped", path=None, bandwidth_bytes_per_second=None)
    assert only(expectation(), bare).status == "fail"
    figure = only(expectation(path=("mapped",)), bare)
    assert (figure.status, figure.message) == ("unknown", "nothing was moved, so there is no rate")


def test_a_way_that_nothing_proves_is_no_pass() -> None:
    """The device that was to carry it is claimed; the counters saw more than it, so they prove nothing."""
    figure = only(expectation(path=("lo",)), measured_row(path=Path("lo", (), "unverified")))
    assert (figure.status, figure.message) == (
        "warn",
        "100% of the published figure, but no counter proves that it went by lo",
    )


def test_a_way_that_nothing_tells_is_not_known() -> None:
    silent = measured_row(path=None)
    assert only(expectation(), silent).status == "unknown"
    assert only(expectation(path=("mlx5_*",)), measured_row(path=Path("eth0", (), "unverified"))).status == "unknown"
    assert only(expectation(path=()), silent).status == "ok"


NCCL = "RING SIMPLE, 2 × NET/AWS Libfabric/0/GDRDMA"


@pytest.mark.parametrize(
    ("path", "globs", "status"),
    [
        (Path("rdmap0s6", (), "proven", NCCL), ("AWS Libfabric", "Libfabric", "OFI"), "ok"),
        (Path("eth0", (), "proven", "RING SIMPLE, 2 × NET/Socket/0"), ("AWS Libfabric",), "fail"),
        (Path("eth0", (), "unverified", "RING SIMPLE, 2 × NET/Socket/0"), ("AWS Libfabric",), "fail"),
        (Path("mlx5_0:1", (), "proven"), ("mlx5_0",), "ok"),
        (Path("mlx5_10:1", (), "proven"), ("mlx5_1",), "fail"),
        (Path("mlx5_0:1+mlx5_1:1", (), "proven"), ("mlx5_*",), "ok"),
        (Path("mlx5_0:1+eth0", (), "proven"), ("mlx5_*",), "fail"),
        (Path("mlx5_0:1", (), "proven", "zero-copy rc_mlx5/mlx5_0:1"), ("rc_*",), "ok"),
    ],
)
def test_a_library_s_log_names_the_way_too(path: Path, globs: tuple[str, ...], status: str) -> None:
    assert only(expectation(path=globs), measured_row(path=path)).status == status


def test_wrong_data_and_figures_that_cannot_be_fail() -> None:
    corrupt = measured_row(status="corrupt", error="byte 17 of 64 MiB", bandwidth_bytes_per_second=None, verified=False)
    assert only(expectation(), corrupt).message == "wrong data arrived: byte 17 of 64 MiB"
    suspect = measured_row(9 * RATE, status="suspect", error="faster than the line")
    assert [only(expectation(), one).status for one in (corrupt, suspect)] == ["fail", "fail"]


@pytest.mark.parametrize("status", ["noisy", "unstable", "quantised"])
def test_a_busy_machine_s_figure_is_neither_good_nor_bad(status: str) -> None:
    assert only(expectation(), measured_row(1.1e9, status=status)).status == "warn"
    low = only(expectation(), measured_row(0.3e9, status=status))
    assert low.status == "unknown"
    assert low.message.startswith("30% of the published figure, but ")


def test_bytes_that_nobody_compared_are_no_pass() -> None:
    assert only(expectation(), measured_row(verified=False)).status == "warn"


def test_a_figure_without_a_size_cannot_fail_anybody() -> None:
    figure = only(expectation(size_bytes=None), measured_row(0.5e9))
    assert figure.status == "warn"
    assert figure.message == "50% of the published figure, which was published without a size; measured with 64 MiB"


def test_other_versions_are_told_and_do_not_excuse() -> None:
    beside = Beside(SOURCES, has_accelerators=True, software={"nccl": "2.30.4"})
    one = expectation(software={"nccl": "2.20.5", "cuda": "12.4"})
    figure = only(one, measured_row(0.5e9), beside=beside)
    assert (figure.status, figure.message) == (
        "fail",
        "50% of the published figure, below 75%; it was measured with nccl 2.20.5, here 2.30.4",
    )


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        ({"kind": "illustrative"}, TWO, "it is illustrative: shown, and held by nothing"),
        ({"kind": "theoretical"}, TWO, "it is theoretical: shown, and held by nothing"),
        (
            {"value": None, "unverified": "no table was captured"},
            TWO,
            "nobody published a figure (no table was captured)",
        ),
        ({"transport": None}, TWO, "raxl has no transport that measures it"),
        ({"transport": "tcpxo"}, TWO, "raxl has no transport called tcpxo"),
        ({"collective": "all_reduce"}, TWO, "tcp does no all_reduce"),
        (
            {},
            ONE,
            "it needs 2 nodes, and this machine is one: raxl recipe verify --cluster measures between nodes",
        ),
        ({"nodes": 8, "ranks": 8}, TWO, "it needs 8 nodes, and the cluster has 2"),
        (
            {"collective": "all_reduce", "transport": "torch-nccl", "ranks": 16},
            TWO,
            "it is of 16 ranks, and raxl measures with 2, one on each node: the library's own tests measure it",
        ),
        ({"algorithm": "Ring"}, TWO, "it was forced to Ring, which is left to the library here"),
        (
            {"algorithm": "Ring"},
            TWO._replace(variables={"NCCL_ALGO": "Tree"}),
            "it was forced to Ring, which is forced to Tree here",
        ),
    ],
)
def test_what_cannot_be_measured_here_is_skipped_and_says_why(
    changes: Mapping[str, Any], place: Place, told: str
) -> None:
    figure = only(expectation(**changes), measured_row(), place=place)
    assert (figure.status, figure.message, figure.measured) == ("skip", told, None)


def test_an_algorithm_that_is_forced_here_too_is_measured() -> None:
    place = TWO._replace(variables={"NCCL_ALGO": "ring"})
    assert only(expectation(algorithm="Ring"), measured_row(), place=place).status == "ok"


def test_a_bus_bandwidth_has_its_interval_in_the_same_measure() -> None:
    one = expectation(collective="all_reduce", transport="torch-nccl", metric="bus_bandwidth_bytes_per_second", path=())
    run = measured_row(0.5e9, transport="torch-nccl", pattern="all-reduce", path=None)
    figure = only(one, replace(run, bus_bandwidth_bytes_per_second=1.0e9))
    assert figure.status == "ok"
    assert (figure.ci95_low or 0) < 1.0e9 < (figure.ci95_high or 0) < 1.01e9


def test_what_is_unavailable_is_missed_where_somebody_published_it() -> None:
    gone = Run(
        "tcp", Endpoint("n1", "cpu"), Endpoint("n2", "cpu"), "p2p", "single", "reused", 8, 0, 0, "unavailable",
        error="no CUDA device",
    )  # fmt: skip
    assert only(expectation(), gone).message == "tcp is not available: no CUDA device"
    assert only(expectation(), gone).status == "unknown"
    bare = Beside(SOURCES, has_accelerators=False)
    assert only(expectation(), gone, beside=bare).status == "skip"
    own = expectation(kind="own-baseline", value=None)
    assert only(own, gone).status == "skip"
    assert only(own, gone, beside=Beside(SOURCES, baseline(), "b.json")).status == "unknown"


def test_a_row_that_failed_and_one_that_never_came_are_not_known() -> None:
    failed = measured_row(status="failed", error="it hangs")
    assert only(expectation(), failed).message == "it could not be measured: it hangs"
    other = measured_row(size=8)
    assert (only(expectation(), other).status, only(expectation(), other).message) == ("unknown", "it was not measured")
    wish = Wish("p2p", 2, "all", ("tcp",), (SIZE,))
    (figure,) = figures.figures([expectation()], [Measured(wish, failed="no cluster")], {}, Beside(SOURCES))
    assert (figure.status, figure.message) == ("unknown", "it could not be measured: no cluster")


def baseline(value: float = RATE, **changes: Any) -> Baseline:
    """What was kept of an earlier run."""
    one = OwnFigure("wire", "n1 → n2", "bandwidth_bytes_per_second", value, SIZE, "tcp", "eth0", "ok", "2026-01-01")
    return Baseline(BASELINE, "0", "r", "f" * 64, (replace(one, **changes),))


OWN = expectation(kind="own-baseline", value=None, source=None, fail_below=0.7, warn_below=0.85)


def test_the_first_figure_is_the_baseline_and_later_ones_are_held_against_it() -> None:
    first = only(OWN, measured_row(), beside=Beside({}, None, "b.json"))
    assert (first.status, first.expected, first.source) == ("baseline", None, "b.json")
    kept = Baseline(BASELINE, "0", "r", "f" * 64, figures.kept([first], None, "2026-01-01"))
    assert [(one.id, one.between, one.path) for one in kept.figures] == [("wire", "n1 → n2", "eth0")]
    beside = Beside({}, kept, "b.json")
    assert [only(OWN, measured_row(rate), beside=beside).status for rate in (1e9, 0.8e9, 0.6e9)] == [
        "ok",
        "warn",
        "fail",
    ]
    later = only(OWN, measured_row(2e9), beside=beside)
    assert figures.kept([later], kept, "2026-02-02") == kept.figures


def test_without_a_place_there_is_no_baseline() -> None:
    figure = only(OWN, measured_row(), beside=Beside({}))
    assert (figure.status, figure.message) == (
        "skip",
        "nothing to compare with, and no place to keep it: the recipe is not applied",
    )
    assert figure.measured is not None


def test_a_baseline_is_of_its_own_ends_and_its_own_size() -> None:
    for changes in ({"between": "n3 → n4"}, {"size_bytes": MIB}, {"transport": "nixl"}):
        assert only(OWN, measured_row(), beside=Beside({}, baseline(**changes), "b.json")).status == "baseline"


def test_a_baseline_of_another_way_cannot_be_compared() -> None:
    beside = Beside({}, baseline(path="memory"), "b.json")
    figure = only(replace(OWN, path=()), measured_row(), beside=beside)
    assert (figure.status, figure.message) == ("unknown", "it went by eth0, and the baseline by memory")


@pytest.mark.parametrize(
    "bad",
    [
        measured_row(path=Path("lo", (), "proven")),
        measured_row(path=None),
        measured_row(verified=False),
        measured_row(status="corrupt", error="x"),
    ],
)
def test_a_bad_row_is_no_baseline(bad: Run) -> None:
    figure = only(OWN, bad, beside=Beside({}, None, "b.json"))
    assert figure.status in ("fail", "unknown")
    assert figures.kept([figure], None, "2026-01-01") == ()


def test_a_busy_machine_s_baseline_gives_way_to_a_quiet_one_s() -> None:
    first = only(OWN, measured_row(0.5e9, status="noisy"), beside=Beside({}, None, "b.json"))
    assert first.status == "baseline"
    assert "the machine was busy" in first.message
    kept = Baseline(BASELINE, "0", "r", "f" * 64, figures.kept([first], None, "2026-01-01"))
    quiet = only(OWN, measured_row(1e9), beside=Beside({}, kept, "b.json"))
    (renewed,) = figures.kept([quiet], kept, "2026-02-02")
    assert (quiet.status, renewed.status, round(renewed.value)) == ("ok", "ok", round(quiet.measured or 0))


def test_every_node_takes_part_and_the_runs_grow_with_their_number() -> None:
    place = TWO._replace(nodes=tuple(f"n{number}" for number in range(5)))
    wishes, refused = measurable.wishes([expectation(), expectation(id="b", nodes=1), expectation(id="c")], place)
    assert refused == {}
    assert [(one.pattern, one.nodes, one.pairs.split(",")) for one in wishes] == [
        ("p2p", 2, ["n0:n1", "n1:n2", "n2:n3", "n3:n4", "n4:n0"]),
        ("p2p", 1, ["n0:n0", "n1:n1", "n2:n2", "n3:n3", "n4:n4"]),
    ]


def test_each_pair_has_its_own_figure() -> None:
    slow = measured_row(0.3e9, source=Endpoint("n2", "cpu"), target=Endpoint("n1", "cpu"))
    assert [(one.between, one.status) for one in found(expectation(), measured_row(), slow)] == [
        ("n1 → n2", "ok"),
        ("n2 → n1", "fail"),
    ]
