"""What the command line of `raxl bench-transport` asks for; nothing is measured."""

from __future__ import annotations

import pytest

from raxl.bench.request import Request
from raxl.cli import bench_transport, outcome
from raxl.cli.app import app
from raxl.plugins import discovery
from raxl.plugins.discovery import Installed

OTHER = Installed(discovery.TRANSPORTS, "parrot", "parrots", "1.0", "parrots:Parrot")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that reach the benchmark."""
    found: list[Request] = []
    monkeypatch.setattr(bench_transport, "run", lambda options, streams: found.append(options.request) or 0)
    monkeypatch.setattr(discovery, "foreign", lambda: [OTHER])
    return found


def test_a_transport_of_another_package_is_measured_where_it_is_named(asked: list[Request]) -> None:
    assert outcome.run(app, ["bench-transport", "--plugins", "parrots", "--transport", "parrot,tcp"]) == 0
    assert (asked[0].plugins, asked[0].transports) == (("parrots",), ("parrot", "tcp"))


def test_without_its_plug_in_it_is_none(asked: list[Request], capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome.run(app, ["bench-transport", "--transport", "parrot"]) == 2
    assert "no transport is called 'parrot'" in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "0"], "no size: 0 (bytes, KiB, MiB or GiB: 8, 64KiB, 1GiB; at most 1024 GiB)"),
        (["--sizes", "1MiB:1KiB"], "--sizes 1MiB:1KiB (the first size is the larger one)"),
        (["--budget", "soon"], "no time: soon (seconds: 30, 30s, 2m, 500ms)"),
        (["--tolerance", "10"], "--tolerance '10' is no share (from 0% to below 100%). Write 10% or 0.1"),
        (["--address", "a:1"], "--address names a cluster, and --cluster is not given"),
        (
            ["--cluster", "--address", "http://a:8265"],
            "--address http://a:8265 (Ray's job API carries no actors, and they are what measures). "
            "On a node of the cluster: --address host:6379",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(
    asked: list[Request], capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert outcome.run(app, ["bench-transport", *arguments]) == 2
    assert capsys.readouterr().err == f"raxl: error: {said}\n"
    assert asked == []


def test_sizes_go_in_steps_of_four_up_to_the_last(asked: list[Request]) -> None:
    assert outcome.run(app, ["bench-transport", "--sizes", "1KiB:100KiB", "--min-time", "500ms"]) == 0
    assert asked[0].sizes == (1024, 4096, 16384, 65536, 102400)
    assert asked[0].least_seconds == 0.5


def test_over_a_cluster_it_screens_unless_pairs_or_a_fault_are_named(asked: list[Request]) -> None:
    for arguments, pairs in (([], "screen"), (["--pairs", "a:b"], "a:b"), (["--fault", "pause"], "all")):
        assert outcome.run(app, ["bench-transport", "--cluster", "--address", "a:6379", *arguments]) == 0
        assert (asked[-1].address, asked[-1].pairs) == ("a:6379", pairs)
