"""Many nodes in one picture: whole screens, and what holds of them at every size."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import node_sets
from raxl.model.cluster import Cluster
from raxl.model.inventory import Inventory
from raxl.render import text_cluster, text_fabric, text_nodes
from raxl.render.node_names import node_ranges, short
from raxl.render.text import Line, display_width, to_text
from raxl.topology import domains, groups, overview, rails

FOLDER = Path(__file__).parent / "data" / "clusters"
WIDTHS = (80, 120, 200)


def topo(found: Inventory, width: int, *, unicode: bool = True) -> list[Line]:
    return text_cluster.cluster(overview.of(found), width, unicode=unicode)


def fabric(found: Inventory, width: int, *, unicode: bool = True) -> list[Line]:
    return text_fabric.fabric(overview.of(found), rails.rails(found.nodes), width, unicode=unicode)


def discover(found: Inventory, width: int, *, unicode: bool = True) -> list[Line]:
    return text_nodes.discover(overview.of(found), width, nics=True, unicode=unicode)


VIEWS: dict[str, Callable[..., list[Line]]] = {"topo": topo, "fabric": fabric, "discover": discover}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", node_sets.CLUSTERS)
def test_a_screen_is_as_expected(name: str, view: str, width: int, accept: bool) -> None:
    printed = to_text(VIEWS[view](node_sets.CLUSTERS[name](), width))
    path = FOLDER / f"{name}-{view}-{width}.txt"
    if accept:
        path.write_text(printed)
    assert printed == path.read_text()


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("view", VIEWS)
def test_a_screen_fits_ends_in_a_sentence_and_never_acts(view: str, width: int, unicode: bool) -> None:
    for make in (*node_sets.CLUSTERS.values(), node_sets.hostile):
        lines = VIEWS[view](make(), width, unicode=unicode)
        text = to_text(lines)
        assert all(display_width(line) <= width for line in text.splitlines())
        assert text.endswith(".\n")
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\x9b\u202e]", text)
        assert unicode or text.isascii()


def test_a_cluster_is_told_by_its_exceptions() -> None:
    text = to_text(topo(node_sets.fleet(), 120))
    assert text.startswith("ray 2.60.0 · 27 nodes, 25 answered · 2 did not (gpu-25: no answer in 20 s; gpu-26: dead, ")
    assert re.search(r"gpu-05 +7 × H100 +GPU 6 lost +← differs from its peers", text)
    assert re.search(r"23 nodes +8 × H100 +gpu-01–04,06–24", text)
    assert "192 GPU registered, 191 work: gpu-05 registered 8, has 7" in text
    assert "draining: gpu-03 (preempted by the platform)" in text
    assert text.index("gpu-05") < text.index("23 nodes")


def test_how_a_node_differs_is_said_in_words() -> None:
    text = to_text(topo(node_sets.mixed(), 120))
    assert re.search(r"gpu-03 +8 × H100 +mlx5_4 at 200 of 400 Gb/s +←", text)
    assert re.search(r"gpu-04 +8 × H100 +nvidia 550.1, not 570.133.20 +←", text)


def test_discover_says_what_its_columns_do_not_show() -> None:
    text = to_text(discover(node_sets.mixed(), 120))
    assert "!  gpu-03: mlx5_4 at 200 of 400 Gb/s, unlike its peers\n" in text
    assert re.search(r"\n +10  gpu-10–19 +8  H100 80GB HBM3 +79.6 GiB", text)


def test_trays_of_one_domain_stand_together_and_one_that_is_not_ready_apart() -> None:
    well, ill = node_sets.trays(), node_sets.trays({7: "in progress"})
    assert "NVLink domain 7e2c…00f1.3 · rack r12" in to_text(topo(well, 100))
    told = domains.domains(ill.nodes)
    assert [(one.name.kind, one.name.clique, len(one.members)) for one in told] == [("nvlink", "3", 18)]
    assert set(told[0].states) == {"completed", "in progress"}
    assert "in progress: tray-07" in to_text(fabric(ill, 100))


def test_a_missing_worker_of_a_slice_is_named() -> None:
    slice_b = next(one for one in domains.domains(node_sets.torus().nodes) if one.name.name == "slice-b")
    assert (slice_b.workers, slice_b.missing) == (2, (0,))
    assert "worker 0 missing" in to_text(topo(node_sets.torus(), 80))
    twice = node_sets.inventory(*(node_sets.node("tpu-v7x-chip-missing", f"tpu-{number}") for number in range(2)))
    assert domains.domains(twice.nodes)[0].twice == ((1, ("tpu-0", "tpu-1")),)


def test_the_domain_that_ray_is_told_is_held_against_the_fabric() -> None:
    found = node_sets.trays()
    right = "7e2c0000-0000-4000-8000-0000000000f1.3"
    labels = {"tray-01": {"ray.io/gpu-domain": right}, "tray-02": {"ray.io/gpu-domain": "other"}}
    known = tuple(node_sets.ray_node(one, labels=labels.get(one.name, {})) for one in found.nodes)
    text = to_text(topo(replace(found, cluster=Cluster("2.60.0", nodes=known)), 200))
    assert "tray-02: a ray.io/gpu-domain that is not theirs: raxl labels --cluster" in text
    assert "16 nodes (tray-03–18) lack ray.io/gpu-domain: raxl labels --cluster" in text
    bare = tuple(node_sets.ray_node(one) for one in found.nodes)
    text = to_text(topo(replace(found, cluster=Cluster("2.60.0", nodes=bare)), 200))
    assert "no node has ray.io/gpu-domain: raxl labels --cluster" in text


def test_names_are_told_in_runs() -> None:
    assert node_ranges([f"gpu-{number:02}" for number in (1, 2, 3, 9, 10, 11)]) == "gpu-01–03,09–11"
    assert node_ranges([f"n{number}" for number in range(8, 13)]) == "n8–12"
    assert node_ranges(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 more"
    assert node_ranges(["ip-10-0-0-1"]) == "ip-10-0-0-1"
    assert short("x" * 40) == "x" * 12 + "…" + "x" * 11


def test_a_shape_holds_no_identity() -> None:
    one = node_sets.node("nvidia-hgx-h100", "a")
    other = replace(one, name="b", boot_id="other", accelerators=tuple(replace(d, uuid="u") for d in one.accelerators))
    assert groups.shape(one) == groups.shape(other)
    assert groups.shape(one) != groups.shape(node_sets.of_recording("nvidia-hgx-h100-gpu-lost"))


def test_ten_thousand_nodes_stay_few_lines_and_quick() -> None:
    alike = [node_sets.node("nvidia-hgx-h100", f"gpu-{number:05}", rack=f"r{number // 8}") for number in range(9_000)]
    odd = []
    for number in range(1_000):
        one = node_sets.node("nvidia-gb200-tray", f"odd-{number}", slice=f"s{number}")
        own = tuple(replace(device, memory_bytes=number) for device in one.accelerators)
        odd.append(replace(one, accelerators=own))
    found = node_sets.inventory(*alike, *odd)
    for view in VIEWS.values():
        begun = time.process_time()
        assert len(view(found, 100)) < 100
        assert time.process_time() - begun < 20
