"""What is told of many nodes: nothing that is not known passes for sound, and no exception is folded away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import clusters
import node_sets
import recordings
from clusters import H100, Member
from raxl.cli import outcome
from raxl.cli.app import app
from raxl.collect import assemble
from raxl.render import text_cluster, text_nodes
from raxl.render.text import to_text
from raxl.topology import overview

SOUND = "nvidia-hgx-h100"
LOST = "nvidia-hgx-h100-gpu-lost"
HANGS = "nvidia-driver-hangs"
"""Eight H100 that are there, of which the driver tells nothing."""
UNSOUND = ("amd-driverless", "nvidia-driver-hangs", "nvidia-hgx-h100-gpu-missing", "gaudi-in-reset", "groq-card")
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


KINDS = [name for name in recordings.NAMES if "lost" not in name and name not in recordings.AT_FAULT]


def of_all_kinds(lost: str) -> list[Member]:
    return [*(Member(name, f"a-{place:02}", {}) for place, name in enumerate(KINDS)), Member(LOST, lost, H100)]


@pytest.mark.parametrize("command", [("topo",), ("discover",)])
def test_a_lost_gpu_is_never_folded_away_before_a_sound_node(shown: Shown, command: tuple[str, ...]) -> None:
    told = shown(of_all_kinds("z-last"), *command)
    assert re.search("… [0-9]+ more nodes \\(--expand shows each\\)", told)
    assert re.search(r"\n +1 +z-last +8 .* 1 lost, 7 ok|\n +z-last +7 × H100 +GPU 6 lost", told)
    exceptions = [f"a-{place:02}" for place, name in enumerate(KINDS) if name in UNSOUND]
    assert all(re.search(rf"\n(  )?( +1  )?{name} ", told) for name in exceptions), told
    assert told.index("z-last") < told.index("a-")


def test_the_picture_is_the_same_in_whatever_order_nodes_are_read() -> None:
    members = [replace(one, name=f"{one.name}-{number}") for one in of_all_kinds("lost")[-9:] for number in (9, 10)]
    found = assemble.inventory(clusters.recorded(members))
    there, back = (overview.of(replace(found, nodes=nodes)) for nodes in (found.nodes, found.nodes[::-1]))
    for view in (text_cluster.cluster, text_nodes.discover):
        assert to_text(view(there, 120)) == to_text(view(back, 120))
    assert [node.name for node in back.read[:2]] == [one.name for one in members[:2]]


def test_nodes_that_were_not_read_are_named_by_their_cause(shown: Shown) -> None:
    gone = [Member(SOUND, f"gpu-{number:02}", H100, lost=GONE) for number in range(2, 12)]
    told = shown([Member(SOUND, "gpu-01", H100), *gone], "discover")
    assert "11 nodes, 1 answered · 10 did not (gpu-02–11: no answer in 20 s)\n" in told


@pytest.mark.parametrize("command", [("topo", "--expand"), ("topo", "--view", "matrix"), ("discover", "--expand")])
def test_of_a_node_that_was_not_read_it_is_said_why_and_never_that_it_has_none(
    shown: Shown, command: tuple[str, ...]
) -> None:
    alone = shown([Member(SOUND, "gpu-01", H100, lost=GONE)], *command)
    assert "Not read: no answer in 20 s.\n" in alone
    assert alone.count("no answer in 20 s") == 1
    told = shown([Member(SOUND, "gpu-01", H100, lost=GONE), Member(SOUND, "gpu-02", H100)], *command)
    assert told.count("no answer in 20 s") == 1
    assert "ot read" in told
    for text in (alone, told):
        assert "No accelerators" not in text
        assert "Looked for" not in text
    if command[-1] == "--expand":
        assert told.endswith("\n8 × H100, all ok. 1 of 2 nodes could not be read.\n")


def test_beside_nodes_that_were_not_read_one_without_accelerators_is_told_of_itself(shown: Shown) -> None:
    told = shown([Member("none-cpu-server", "head"), Member(SOUND, "gpu-01", H100, lost=GONE)], "discover", "--expand")
    assert "?  gpu-01: not read: timed out (no answer in 20 s)\n" in told
    assert "No accelerators on 1 node. Looked for " in told
    assert told.endswith("could be read. 1 of 2 nodes could not be read.\n")


def test_where_nobody_looked_it_is_not_said_that_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wires = tmp_path / "fabric.txt"
    switch = 'Switch\t41 "S-0002"\t\t# "leaf" enhanced port 0 lid 1 lmc 0'
    wires.write_text(f'{switch}\n[1]\t"H-0001"[1](1) \t\t# "gpu-07 mlx5_0" lid 2 4xNDR\n')
    for command in (["topo"], ["topo", "--view", "matrix"], ["discover"]):
        outcome.run(app, [*command, "--from", str(wires)])
        told = capsys.readouterr().out
        assert "Not asked: nothing that was read tells whether there are accelerators.\n" in told
        assert "Looked for" not in told


def test_what_ray_has_registered_is_told_of_cores_and_of_partitions_too(shown: Shown) -> None:
    members = [
        Member("neuron-trn2-ultraserver", "trn-1", {"neuron_cores": 128.0}),
        Member("neuron-trn2-ultraserver", "trn-2", {"CPU": 192.0}),
        Member("rebellions-ca22", "rbln-1", {"RBLN": 2.0}),
        Member("nvidia-h100-mig", "mig-1", {"GPU": 3.0}),
    ]
    told = shown(members, "topo")
    assert "128 neuron_cores registered, 32 devices work: trn-2 registered 0, has 16 devices\n" in told
    assert "2 RBLN registered, 2 work\n" in told
    assert "3 GPU registered, 1 device works\n" in told


def test_discover_shows_what_ray_has_registered(shown: Shown) -> None:
    typed = {"ray.io/accelerator-type": "H100"}
    members = [
        Member("none-cpu-server", "head", {"GPU": 2.0}),
        Member(SOUND, "gpu-01", H100, typed),
        Member(SOUND, "gpu-02", H100, typed),
        Member(SOUND, "gpu-03", {"GPU": 4.0, "accelerator_type:H100": 1.0}),
        Member(SOUND, "gpu-04", {"CPU": 224.0}),
        Member("neuron-trn2-ultraserver", "trn-1", {"neuron_cores": 128.0}),
    ]
    told = shown(members, "discover")
    for which, ray in {
        "gpu-01,02": "8 GPU · H100",
        "gpu-03": "4 GPU · H100",
        "gpu-04": "0 GPU",
        "trn-1": "128 neuron_cores",
        "head": "2 GPU",
    }.items():
        assert re.search(rf"\n +[12]  {which} .*  {ray}\n", told)
    expanded = shown(members[3:4], "discover")
    assert expanded.count("4 GPU · H100\n") >= 1


def test_without_a_cluster_the_column_says_what_ray_would_register() -> None:
    nodes = tuple(node_sets.node(SOUND, f"gpu-{number}") for number in (1, 2))
    told = to_text(text_nodes.discover(overview.of(node_sets.inventory(*nodes)), 120))
    assert "  GPU · H100\n" in told


def test_distances_that_a_hypervisor_made_up_are_called_so(shown: Shown) -> None:
    told = shown([Member("nvidia-azure-nd-h100", "vm-1", H100), Member(SOUND, "gpu-1", H100)], "topo")
    assert re.search(r"GPU ↔ NIC +gpu-1: each GPU has its own NIC at PIX\n", told)
    assert re.search(r"\n +vm-1: no GPU has a NIC nearer than NODE \(virtual PCI tree\)\n", told)


def test_link_lines_name_their_nodes_where_several_groups_hold_the_same(shown: Shown) -> None:
    tidy = [Member(SOUND, f"gpu-{number:02}", H100) for number in range(1, 5)]
    told = shown([*tidy, Member("nvidia-azure-nd-h100", "gpu-05", H100)], "topo")
    assert re.search(r"GPU ↔ NIC +gpu-05: .*\n +others: each GPU has its own NIC at PIX\n", told)
    two = shown([*tidy[:1], Member("nvidia-azure-nd-h100", "gpu-05", H100)], "topo")
    assert re.search(r"GPU ↔ NIC +gpu-01: each GPU has its own NIC at PIX\n +gpu-05: ", two)


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_the_fabric_keeps_the_names_of_nodes_where_room_is_short(shown: Shown, columns: int) -> None:
    long = [Member("nvidia-gb200-tray", f"rack-12-tray-{number:02}", clusters.TRAY) for number in range(1, 5)]
    other = [Member("neuron-trn2-ultraserver", f"trn-pool-{number}") for number in (1, 3, 5)]
    told = shown([*long, *other], "topo", "--view", "fabric", columns=columns)
    assert re.search(r"NVLink domain .* rack-12-tray-0", told)
    assert re.search(r"UltraServer .* trn-pool-1", told)
    assert columns < 60 or re.search(r"\nNVLink domain 7e2c…00f1.3 .* rack-12-tray-01–04\n", told)
    assert columns < 80 or re.search(r"\nUltraServer 5b1f0a7739c2d4e8 +3 nodes .* trn-pool-1,3,5\n", told)


def test_what_ray_has_of_a_node_is_told_once_of_its_rows(shown: Shown) -> None:
    told = shown([Member("gaudi-in-reset", "hpu-1", {"HPU": 8.0}), Member(SOUND, "gpu-1", H100)], "discover")
    assert len(re.findall(r"  8 HPU\n", told)) == 1


@pytest.mark.parametrize("expand", [[], ["--expand"]])
def test_where_nobody_looked_for_accelerators_none_is_said_to_be_absent(
    expand: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("none-cpu-server", "none-pci-denied", SOUND):
        (tmp_path / f"{name}.tar.gz").write_bytes(recordings.snapshot(name))
    dump = {"NodeID": "0" * 56, "Alive": True, "NodeManagerHostname": "gpu-99", "Resources": {"GPU": 8.0}}
    (tmp_path / "nodes.json").write_text(json.dumps([dump]))
    outcome.run(app, ["discover", *expand, "--from", str(tmp_path)])
    told = capsys.readouterr().out
    for name, word in (("gpu-99", "not known"), ("sandbox", "not known"), ("store-2", "no accelerators")):
        (line,) = (one for one in told.splitlines() if name in one and "accelerators" in one)
        assert word in line
    outcome.run(app, ["topo", "--from", str(tmp_path)])
    told = capsys.readouterr().out
    assert (told.count("accelerators not known"), told.count("no accelerators")) == (2, 1)
