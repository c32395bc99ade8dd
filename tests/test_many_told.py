"""What is told of many nodes: nothing that is not known passes for sound, and no exception is folded away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import clusters
from clusters import H100, Member
from raxl.cli import outcome
from raxl.cli.app import app

SOUND = "nvidia-hgx-h100"
LOST = "nvidia-hgx-h100-gpu-lost"
HANGS = "nvidia-driver-hangs"
"""Eight H100 that are there, of which the driver tells nothing."""
GONE = ("timed-out", "no answer in 20 s")
Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a command prints of a cluster, 120 columns wide."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def run(members: Sequence[Member], *command: str, columns: int = 120) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        path = tmp_path / "cluster.tar.gz"
        path.write_bytes(clusters.packed(members))
        outcome.run(app, [*command, "--from", str(path)])
        return capsys.readouterr().out

    return run


def test_a_state_that_is_not_known_is_none_that_works(shown: Shown) -> None:
    told = shown([Member(SOUND, "gpu-01", H100), Member(HANGS, "gpu-02", H100)], "topo")
    assert "16 GPU registered, 8 work, 8 not known: gpu-02 registered 8, has 0, 8 not known\n" in told
    assert "gpu-02   8 × H100   8 of unknown state\n" in told


def test_unknown_state_among_many_sound_nodes_differs_from_its_peers(shown: Shown) -> None:
    many = [Member(SOUND, f"gpu-{number:02}", H100) for number in range(1, 8)]
    told = shown([*many, Member(HANGS, "gpu-08", H100)], "topo")
    assert "64 GPU registered, 56 work, 8 not known: gpu-08 registered 8, has 0, 8 not known\n" in told
    assert "gpu-08    8 × H100   8 accelerators of unknown state" in told


def test_a_number_that_unknown_devices_cannot_make_up_is_told_first(shown: Shown) -> None:
    few = [Member(HANGS, "gpu-01", H100), Member(SOUND, "gpu-02", {"GPU": 4.0})]
    told = shown(few, "topo")
    assert "12 GPU registered, 8 work, 8 not known: gpu-02 registered 4, has 8; gpu-01 registered 8, has 0" in told


def test_of_a_node_that_was_not_read_no_domain_is_wrong_or_lacking(shown: Shown) -> None:
    label = {"ray.io/gpu-domain": clusters.DOMAIN}
    trays = [Member("nvidia-gb200-tray", f"tray-{number}", clusters.TRAY, label) for number in (1, 2)]
    told = shown([*trays, Member("nvidia-gb200-tray", "tray-3", clusters.TRAY, label, lost=GONE)], "topo")
    assert "8 GPU registered, 8 work\n" in told
    assert "tray-3: no answer in 20 s" in told
    assert "ray.io/gpu-domain" not in told
