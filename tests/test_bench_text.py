"""What `raxl bench-transport` measured, as text, CSV and for Prometheus: whole screens, and what holds of all."""

from __future__ import annotations

import bisect
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as families

import bench_documents as documents
from raxl.model import codec
from raxl.model import measurement as m
from raxl.model.measurement import Bench
from raxl.model.printable import clean
from raxl.render import bench_csv, bench_pairs, bench_units
from raxl.render.bench_prometheus import exposition
from raxl.render.text import display_width, to_text
from raxl.render.text_bench import bench

FOLDER = Path(__file__).parent / "data" / "bench"
WIDTHS = (80, 120, 200)
EVERY = {**documents.DOCUMENTS, "hostile": documents.hostile}


def text(document: Bench, width: int = 100, *, expand: bool = False, unicode: bool = True) -> str:
    return to_text(bench(document, width, expand=expand, unicode=unicode))


def kept(name: str, printed: str, accept: bool) -> None:
    path = FOLDER / name
    if accept:
        path.parent.mkdir(exist_ok=True)
        path.write_text(printed)
    assert printed == path.read_text()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", documents.DOCUMENTS)
def test_a_screen_is_as_expected(name: str, width: int, accept: bool) -> None:
    kept(f"{name}-{width}.txt", text(documents.DOCUMENTS[name](), width), accept)


@pytest.mark.parametrize("name", ["one-pair", "fleet"])
def test_a_screen_in_ascii_is_as_expected(name: str, accept: bool) -> None:
    kept(f"{name}-ascii.txt", text(documents.DOCUMENTS[name](), unicode=False), accept)


def test_a_screen_with_every_run_is_as_expected(accept: bool) -> None:
    kept("both-ways-expand.txt", text(documents.both_ways(), 200, expand=True), accept)


@pytest.mark.parametrize("name", ["one-pair", "troubles", "after"])
def test_the_other_formats_are_as_expected(name: str, accept: bool) -> None:
    kept(f"{name}.csv", bench_csv.comma_separated(documents.DOCUMENTS[name]()), accept)
    kept(f"{name}.prom", exposition(documents.DOCUMENTS[name]()), accept)


def test_nothing_is_kept_that_no_test_looks_at() -> None:
    wanted = {f"{name}-{width}.txt" for name in documents.DOCUMENTS for width in WIDTHS}
    wanted |= {"one-pair-ascii.txt", "fleet-ascii.txt", "both-ways-expand.txt"}
    wanted |= {f"{name}.{end}" for name in ("one-pair", "troubles", "after") for end in ("csv", "prom")}
    assert {path.name for path in FOLDER.iterdir()} == wanted


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [30, 60, 80, 120, 200])
@pytest.mark.parametrize("name", EVERY)
def test_a_screen_fits_ends_in_a_sentence_and_never_acts(name: str, width: int, unicode: bool, expand: bool) -> None:
    printed = text(EVERY[name](), width, unicode=unicode, expand=expand)
    assert all(display_width(line) <= width for line in printed.splitlines())
    assert name == "hostile" or printed.endswith(".\n")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", printed)
    assert unicode or printed.isascii()
    assert "\n\n\n" not in printed


@pytest.mark.parametrize("name", EVERY)
def test_colour_says_nothing_that_a_word_does_not(name: str) -> None:
    lines = bench(EVERY[name](), 100)
    assert [line.rstrip() for line in re.sub("\x1b\\[[0-9]*m", "", to_text(lines, colour=True)).splitlines()] == [
        line.rstrip() for line in to_text(lines).splitlines()
    ]


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from numbers(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


UNITS = {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "GiB": 2.0**30}
UNITS |= {"MiB": 2.0**20, "KiB": 2.0**10, "B": 1.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "%": 0.01}
FIGURE = re.compile(r"(?<![0-9.])(-?[0-9]+(?:\.([0-9]+))?) (" + "|".join(UNITS) + r")(?![a-z/A-Z])")


def figures(printed: str) -> Iterator[tuple[str, float, float]]:
    """What is told as a number with a unit: the words, the value, and how far off it may be by rounding."""
    for found in FIGURE.finditer(printed):
        last = 10.0 ** -len(found[2] or "")
        yield found[0], float(found[1]) * UNITS[found[3]], (1.0 if found[3] == "%" else 0.501) * last * UNITS[found[3]]


def unfound(printed: str, known: Iterable[float], written: str) -> list[str]:
    """The figures that are neither among the known numbers nor in a text of the document."""
    ranked = sorted(known)

    def is_known(value: float, error: float) -> bool:
        place = bisect.bisect_left(ranked, value - error)
        return place < len(ranked) and ranked[place] <= value + error

    return [words for words, *told in set(figures(printed)) if not is_known(*told) and words not in written]


@pytest.mark.parametrize("name", documents.DOCUMENTS)
def test_a_figure_in_the_text_is_in_the_json_and_for_prometheus(name: str) -> None:
    document = documents.DOCUMENTS[name]()
    written = codec.encode(document)
    shares = [
        one.evidence.best_bytes_per_second / one.evidence.peers_bytes_per_second
        for one in document.slow
        if one.evidence.peers_bytes_per_second
    ]
    series = [sample for family in families(exposition(document)) for sample in family.samples]
    exposed = [float(sample.value) for sample in series]
    exposed += [float(sample.labels["size_bytes"]) for sample in series if sample.labels.get("size_bytes")]
    for expand in (False, True):
        printed = " ".join(text(document, 200, expand=expand).split())
        if name not in ("nothing", "all-absent"):
            assert list(figures(printed))
        assert not unfound(printed, [*numbers(json.loads(written)), *shares], written)
        assert not unfound(printed, [*exposed, *shares], written)


@pytest.mark.parametrize("name", ["one-pair", "both-ways", "collectives", "troubles"])
def test_a_figure_in_the_text_is_in_the_csv(name: str) -> None:
    document = replace(documents.DOCUMENTS[name](), recommendations=())
    written = bench_csv.comma_separated(document)
    known = [float(number) for number in re.findall(r"[0-9.]+(?:e-?[0-9]+)?", written) if number.strip(".")]
    for expand in (False, True):
        printed = " ".join(text(document, 200, expand=expand).split()).replace("BENDS AT", "")
        assert not unfound(printed, [*known, 64 * 1024], written)


def test_a_figure_that_is_nowhere_is_noticed() -> None:
    assert unfound("tcp 118.4 MB/s, 0.11 ms, 64 MiB, 99 %", [118.3e6, 1.2e-4, 65e6, 0.95], "") != []
    assert sorted(unfound("118.4 MB/s and 64 MiB", [118.44e6], "")) == ["64 MiB"]


def test_what_only_maps_memory_has_no_bandwidth() -> None:
    document = documents.troubles()
    only = replace(document, runs=[run for run in document.runs if run.status == m.MAPPED])
    for expand in (False, True):
        assert "B/s" not in text(only, 200, expand=expand)


def test_pairs_that_are_alike_are_told_once_and_the_exception_first() -> None:
    printed = text(documents.fleet(), 80)
    assert printed.index("\ngpu-03 → gpu-04 ") < printed.index("\n31 pairs of 62 nodes (gpu-01,02,05–64) ")
    assert len(printed.splitlines()) < 50
    assert text(documents.fleet(), 80, expand=True).count("\nTRANSPORT ") == 32


@pytest.mark.parametrize("make", EVERY.values())
def test_every_run_that_was_tried_is_in_one_group(make: Callable[[], Bench]) -> None:
    document = make()
    for fold in (True, False):
        told = [id(run) for group in bench_pairs.groups(document.runs, fold=fold) for run in group.runs]
        assert sorted(told) == sorted(id(run) for run in document.runs if run.status != m.UNAVAILABLE)


def test_a_pair_whose_latency_alone_is_high_is_an_exception() -> None:
    runs = [run for number in range(6) for run in documents.four(documents.end(f"a{number}"), documents.end("b"))]
    far = documents.four(documents.end("far"), documents.end("b"))
    slow = replace(far[0].latency_seconds, p50=far[0].latency_seconds.p50 * 3)
    found = bench_pairs.groups([*runs, replace(far[0], latency_seconds=slow), *far[1:]])
    assert [len(group.pairs) for group in found] == [1, 6]
    assert found[0].pairs[0].way.source.node == "far"


def test_what_load_makes_of_a_pair_keeps_it_among_those_alike() -> None:
    runs = [run for number in range(6) for run in documents.four(documents.end(f"a{number}"), documents.end("b"))]
    runs[5] = replace(runs[5], status=m.NOISY)
    (group,) = bench_pairs.groups(runs)
    assert len(group.pairs) == 6
    assert "noisy in 1 of 6" in text(documents.bench(*runs), 120)


def test_directions_windows_streams_and_destinations_have_lines_of_their_own() -> None:
    runs = [
        documents.run("tcp", documents.MIB, 1e-4, 1e8),
        documents.run("tcp", documents.MIB, 1e-4, 2e8, mode=m.WINDOW, window=8),
        documents.run("tcp", documents.MIB, 1e-4, 3e8, mode=m.STREAM, window=4),
        documents.run("tcp", documents.MIB, 1e-4, 4e8, destination=m.REUSED),
    ]
    printed = text(documents.bench(*runs))
    names = [line.split("  ")[0] for line in printed.splitlines() if line.startswith("tcp")]
    assert names == ["tcp reused", "tcp 4 streams", "tcp window 8", "tcp"]
    assert "fresh destination unless named" in printed


def test_a_busy_machine_is_told_once_and_the_notes_are_few() -> None:
    printed = text(documents.crowded())
    assert printed.count("processes wanted to run") == 1
    assert "!  noisy: 4.1 processes wanted to run on 2 cores before raxl began\n" in printed
    assert "by a factor of up to 6 !" in " ".join(printed.split())
    assert sum(line.startswith("!") for line in printed.splitlines()) <= 6
    many = replace(documents.screening(), slow=(), environment={"nodes": {}})
    assert text(many).count("processes wanted to run") == 1


def test_a_screening_says_by_what_it_went_who_was_lost_and_how_to_measure_more() -> None:
    printed = " ".join(text(documents.screening()).split())
    assert "Screened 4 nodes with tcp alone, on 6 pairs" in printed
    assert "All transports of one pair: raxl bench-transport --cluster --pairs gpu-01:gpu-02." in printed
    assert "node gpu-05 took no part to the end: its actor died" in printed
    assert text(documents.screening()).count("TRANSPORT  TIME") == 1


def test_what_nobody_sends_by_is_no_fastest_transport() -> None:
    printed = " ".join(text(documents.crowded()).split())
    assert "tcp is the fastest of those that move bytes: 3 GB/s at 64 MiB" in printed


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (bench_units.duration(0.21), "210 ms"),
        (bench_units.duration(2.5e-3), "2.5 ms"),
        (bench_units.duration(1.1e-4), "110 µs"),
        (bench_units.duration(2e-7), "0.2 µs"),
        (bench_units.duration(31.4), "31.4 s"),
        (bench_units.duration(0.99999), "1 s"),
        (bench_units.duration(0), "0 µs"),
        (bench_units.rate(119.6e6), "119.6 MB/s"),
        (bench_units.rate(450e9), "450 GB/s"),
        (bench_units.rate(1.284e9), "1.28 GB/s"),
        (bench_units.rate(999.99e6), "1 GB/s"),
        (bench_units.size(8), "8 B"),
        (bench_units.size(64 << 20), "64 MiB"),
        (bench_units.size(1 << 30), "1 GiB"),
        (bench_units.amount(311e6), "311 MB"),
        (bench_units.percent(0.996), "99 %"),
        (bench_units.percent(0.29), "29 %"),
        (bench_units.percent(1.0), "100 %"),
        (bench_units.percent(6.2), "620 %"),
        (bench_units.percent(0.004), "<1 %"),
        (bench_units.percent(0.0), "0 %"),
        (bench_units.time_unit([1.1e-4, 6.4e-3]).told(2.5e-3), "2.50 ms"),
        (bench_units.time_unit([2e-7, 6e-3]).told(6e-3), "6000.0 µs"),
        (bench_units.time_unit([4e-6, 30]).told(30), "30000.000 ms"),
        (bench_units.time_unit([]).told(1), "1.0 s"),
        (bench_units.rate_unit([12.5e9, 50e6]).told(50e6), "0.050 GB/s"),
        (bench_units.rate_unit([119e6, 741e6]).told(119e6), "119.0 MB/s"),
        (bench_units.rate_unit([]).told(1e6), "1.00 MB/s"),
    ],
)
def test_a_quantity_is_told_as_operators_expect(told: str, expected: str) -> None:
    assert told == expected


@pytest.mark.parametrize("name", EVERY)
def test_prometheus_reads_what_is_exposed(name: str) -> None:
    document = EVERY[name]()
    exposed = exposition(document)
    samples = [sample for family in families(exposed) for sample in family.samples]
    assert {family.name for family in open_metrics(f"{exposed}# EOF\n")} == {sample.name for sample in samples}
    assert all(family.documentation and family.type == "gauge" for family in families(exposed))
    series = [(sample.name, *sorted(sample.labels.items())) for sample in samples]
    assert len(series) == len(set(series))
    told = {sample.labels["transport"] for sample in samples if "transport" in sample.labels}
    assert told >= {clean(run.transport) for run in document.runs}


def test_prometheus_has_no_series_for_what_was_not_measured() -> None:
    exposed = exposition(documents.all_absent())
    assert "seconds" not in exposed
    assert 'status="unavailable"' in exposed


def test_csv_has_a_line_for_each_run_and_nothing_for_what_is_unknown() -> None:
    document = documents.troubles()
    heading, *rows = csv.reader(io.StringIO(bench_csv.comma_separated(document)))
    assert tuple(heading) == bench_csv.COLUMNS
    assert len(rows) == len(document.runs)
    absent = dict(zip(heading, rows[-1], strict=True))
    assert absent["status"] == "unavailable"
    assert absent["bandwidth_bytes_per_second"] == absent["latency_p50_seconds"] == absent["path"] == ""
    assert absent["verified"] == "false"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(119e6, 121e6, "120.0 MB/s ±1.0 "), (60e6, 121e6, "120.0 MB/s ±60.0 "), (50e6, 300e6, "120.0 MB/s 50.0–300.0 ")],
)
def test_an_interval_that_reaches_far_is_told_by_its_ends(low: float, high: float, said: str) -> None:
    one = documents.run("tcp", 64 << 20, 0, 120e6, bandwidth_bytes_per_second=m.Bandwidth(120e6, low, high))
    assert said in text(documents.bench(one))


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (8, "8 B"),
        (64 << 10, "64 KiB"),
        (65537, "65537 B"),
        (100 << 10, "100 KiB"),
        (3 << 19, "1.5 MiB"),
        ((1 << 30) + (1 << 10), "1048577 KiB"),
        (1 << 40, "1 TiB"),
        (0, "0 B"),
    ],
)
def test_a_size_is_called_exactly(size: int, said: str) -> None:
    assert bench_units.size(size) == said


def test_csv_of_faults_has_a_line_for_each_fault() -> None:
    faults = documents.after().faults
    heading, *rows = csv.reader(io.StringIO(bench_csv.comma_separated(documents.bench(faults=faults))))
    told = [dict(zip(heading, row, strict=True)) for row in rows]
    assert [(row["transport"], row["fault"]) for row in told] == [(one.transport, one.kind) for one in faults]
    assert (told[0]["seconds_to_error"], told[0]["error"]) == ("0.21", "ConnectionResetError: by peer")
    assert (told[1]["left_sockets"], told[1]["left_shared_memory_bytes"]) == ("2", "")
    assert [row["next_transfer"] for row in told] == [one.next_transfer for one in faults]
    (hostile,) = csv.DictReader(
        io.StringIO(bench_csv.comma_separated(documents.bench(faults=documents.hostile().faults)))
    )
    assert hostile["error"] == clean(documents.EVIL)


def test_csv_gives_a_spreadsheet_no_formula_and_a_terminal_no_escape() -> None:
    document = documents.bench(documents.absent("=cmd|'/c calc'!A1", "@SUM(1)\n\x1b[31m+1"))
    printed = bench_csv.comma_separated(document)
    assert "\x1b" not in printed
    (row,) = csv.DictReader(io.StringIO(printed))
    assert row["transport"] == "'=cmd|'/c calc'!A1"
    assert row["error"] == "'@SUM(1) +1"
    assert len(printed.splitlines()) == 2
