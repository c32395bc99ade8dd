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
