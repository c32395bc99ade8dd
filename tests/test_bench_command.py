"""What the command line of `raxl bench-transport` asks for; nothing is measured."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from raxl.bench import run
from raxl.bench.request import Request
from raxl.cli import bench_transport, outcome
from raxl.cli.app import app
from raxl.errors import UsageError
from raxl.plugins import discovery
from raxl.plugins.discovery import Installed
from raxl.transports.tcp import Tcp

OTHER = Installed(discovery.TRANSPORTS, "parrot", "parrots", "1.0", "parrots:Parrot")


class Parrot(Tcp):
    """Sockets of another package."""

    transport = "parrot"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that reach the benchmark."""
    found: list[Request] = []
    monkeypatch.setattr(bench_transport, "run", lambda options, streams: found.append(options.request) or 0)
    monkeypatch.setattr(discovery, "foreign", lambda: [OTHER])
    monkeypatch.setitem(sys.modules, "parrots", SimpleNamespace(Parrot=Parrot))
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


CLUSTER = ["--cluster", "--address", "a:6379"]
HERE = socket.gethostname()
ONE_END = "one end alone does the transfer: there is no other that could miss it"
SPEED = "it measures no speed"
OTHER_PAIRS = "Name pairs: --pairs all, or A:B"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--fault partition --transport tcp", "--fault partition needs two nodes (without --cluster there is one)"),
        ("--fault kill-source --transport memcpy", f"--fault does not apply to memcpy ({ONE_END})"),
        ("--fault pause --recommend", f"--fault goes without --recommend ({SPEED})"),
        ("--fault pause --min-time 1s --bidirectional", f"--fault goes without --bidirectional, --min-time ({SPEED})"),
        ("--fault pause --pattern all-reduce", "--fault is of --pattern p2p (--pattern all-reduce is given)"),
        (
            "--fault pause --sizes 1MiB,2MiB",
            "--fault hurts a transfer of one size (--sizes names 2). Name one size",
        ),
        ("--streams 4 --transport object-store", "--streams does nothing to object-store (tcp takes it)"),
        ("--bidirectional --transport nixl,memcpy", "--bidirectional does nothing to nixl, memcpy (tcp takes it)"),
        ("--streams 4 --pattern all-reduce", "--streams does nothing to --pattern all-reduce (tcp takes it)"),
        ("--pattern all-reduce --transport tcp", "tcp does no all-reduce (it does p2p, weight-sync)"),
        ("--pattern weight-sync --transport tcp,memcpy", "memcpy does no weight-sync (it does p2p)"),
        ("--recommend --pattern all-reduce", "--recommend is of --pattern p2p (--pattern all-reduce is given)"),
        (
            "--recommend --format csv",
            "--recommend has no place in csv (its lines are what was measured). --format json has both",
        ),
        ("--tolerance 20%", "--tolerance is of a comparison (--baseline is not given)"),
        ("--budget 0s", "--budget 0s is no time to measure in (more than 0: 30, 30s, 2m, 500ms)"),
        ("--pairs a:b", f"--pairs a:b (without --cluster there is one node, {HERE})"),
        ("--pairs a", "--pairs a (a pair is A:B, of two nodes' names)"),
        ("--pairs screen", "--pairs screen needs the nodes of a cluster (--cluster is not given)"),
    ],
)
def test_what_does_nothing_is_refused_at_once(
    asked: list[Request], capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert outcome.run(app, ["bench-transport", *arguments.split()]) == 2
    assert capsys.readouterr().err == f"raxl: error: {said}\n"
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "--sizes 1MiB --recommend",
            "the screening of a cluster goes without --sizes, --recommend (it finds slow nodes in rounds of its own)",
        ),
        (
            "--transport object-store",
            "the screening of a cluster is by tcp alone (--transport object-store)",
        ),
        ("--pairs screen --pattern all-reduce", "--pairs screen is of --pattern p2p (--pattern all-reduce is given)"),
    ],
)
def test_what_does_nothing_to_a_screening_is_refused(
    asked: list[Request], capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert outcome.run(app, ["bench-transport", *CLUSTER, *arguments.split()]) == 2
    assert capsys.readouterr().err == f"raxl: error: {said}. {OTHER_PAIRS}\n"
    assert asked == []


def test_what_applies_is_taken(asked: list[Request]) -> None:
    for arguments in (
        "--streams 4 --transport tcp,object-store",
        "--bidirectional",
        f"--pairs {HERE}:{HERE}",
        "--pairs 127.0.0.1:127.0.0.1",
        "--fault pause --sizes 1MiB",
        "--fault pause --streams 2",
        "--min-time 0",
    ):
        assert outcome.run(app, ["bench-transport", *arguments.split()]) == 0
    assert outcome.run(app, ["bench-transport", *CLUSTER, "--fault", "partition"]) == 0
    assert outcome.run(app, ["bench-transport", *CLUSTER, "--pattern", "all-reduce"]) == 0
    assert asked[-1].pairs == "all"


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    asked: list[Request], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name, why in (
        ("none/out.json", "No such file or directory"),
        ("", "Is a directory"),
        ("link", "Too many levels of symbolic links"),
    ):
        path = tmp_path / name
        assert outcome.run(app, ["bench-transport", "--output", str(path)]) == 4
        assert capsys.readouterr().err == f"raxl: error: {path} cannot be written ({why})\n"
    assert asked == []
    (tmp_path / "kept").write_text("before")
    for name in ("new", "kept"):
        assert outcome.run(app, ["bench-transport", "--output", str(tmp_path / name)]) == 0
    assert sorted(os.listdir(tmp_path)) == ["kept", "link"]
    assert (tmp_path / "kept").read_text() == "before"


def test_a_partition_of_a_pair_within_a_node_is_refused() -> None:
    node = {"id": "1", "name": "n1", "address": "10.0.0.1"}
    with pytest.raises(UsageError, match=r"--fault partition needs two nodes \(both ends are on n1\)"):
        run._refuse_within(run._pairs([node], "all", "p2p"))


@pytest.mark.parametrize("name", ["pipe", "folder", "of-a-pipe.json"])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    asked: list[Request], capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "of-a-pipe.json").write_text('{"weight_map": {"a": "pipe"}}')
    path = tmp_path / name
    tensors = ["--pattern", "weight-sync", "--tensors", str(path)]
    for arguments in (tensors, ["--baseline", str(path)]):
        assert outcome.run(app, ["bench-transport", *arguments]) == 4
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "is no regular file" in said or (name == "of-a-pipe.json" and "--baseline" in arguments)
    assert asked == []
