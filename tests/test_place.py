"""`raxl place`: what fits, in which order and why, what Ray is told, and what is said where nothing fits."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clusters
import kept
import recordings
from raxl.cli import outcome, place
from raxl.cli.app import app
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import assemble, keeping
from raxl.model import codec, printable
from raxl.model.accelerator import Accelerator, Fabric
from raxl.model.cluster import Cluster, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.place import Candidate, MissingLabel, PlaceDocument, Wanted
from raxl.model.placement import Placement
from raxl.render import ray_python, text_place
from raxl.render.text import display_width, to_text
from raxl.topology import place_inside, placing
from raxl.topology.place_stands import stands

EXPECTED = kept.FOLDER.parent / "expected_places"
SCHEMA = jsonschema.Draft202012Validator(json.loads(codec.schema("place")))
UUID = "7e2c0000-0000-4000-8000-0000000000f1"


@cache
def assembled(recording: str) -> Inventory:
    return assemble.inventory([recordings.recording(recording)])


def node(recording: str, name: str, **place: str | None) -> Node:
    """A recording's machine under another name and at another place."""
    found = assembled(recording).nodes[0]
    return replace(found, name=name, placement=replace(found.placement, **place))


def changed(one: Node, **values: object) -> Node:
    """The same with these values of all its accelerators."""
    return replace(one, accelerators=tuple(replace(device, **values) for device in one.accelerators))


def tray(name: str, clique: str | None = "3", **place: str | None) -> Node:
    return changed(node("nvidia-gb200-tray", name, **place), fabric=Fabric(UUID, clique, "completed"))


def inventory(nodes: Sequence[Node], cluster: Cluster | None = None) -> Inventory:
    return replace(assembled("nvidia-gb200-tray"), nodes=tuple(nodes), cluster=cluster)


def mixed() -> Inventory:
    """Two fabric domains, three HGX in two racks, one of which has lost a GPU, two slices' hosts, and single nodes."""
    return inventory(
        [
            *(tray(f"tray-{number:02}", "3", rack="r1", zone="z1") for number in range(4)),
            *(tray(f"tray-{number:02}", "4", rack="r2", zone="z1") for number in range(4, 6)),
            *(node("nvidia-hgx-h100", f"gpu-{number:02}", rack="r7", zone="z1") for number in range(2)),
            node("nvidia-hgx-h100", "gpu-02", rack="r8", zone="z1"),
            node("nvidia-hgx-h100-gpu-lost", "gpu-03", rack="r8", zone="z1"),
            *(node("tpu-v6e-8", f"tpu-{number}", slice="slice-c", fabric_domain="slice-c") for number in range(2)),
            *(node("amd-mi300x-spx", f"mi300-{number}") for number in range(2)),
            node("amd-mi300x-cpx", "mi300-2"),
            node("nvidia-l40s", "l40s-0"),
            node("nvidia-a100-pcie-bridged", "a100-0"),
            node("nvidia-h100-mig", "mig-0"),
            node("none-cpu-server", "head"),
        ]
    )


def asked(wanted: Wanted, held: Inventory | None = None) -> PlaceDocument:
    document = placing.document(held or mixed(), wanted)
    SCHEMA.validate(json.loads(codec.encode(document)))
    assert codec.decode(codec.encode(document), PlaceDocument) == document
    return document


def names(found: Candidate) -> list[str]:
    return [seat.node for seat in found.seats]


CASES = {
    "any-8": Wanted(8),
    "gb200-10-fabric": Wanted(10, "GB200", "fabric"),
    "gb200-72-fabric": Wanted(72, "GB200", "fabric"),
    "h100-16": Wanted(16, "h100"),
    "h100-16-rack": Wanted(16, "H100", "rack"),
    "h100-16-node": Wanted(16, "H100", "node"),
    "h100-64": Wanted(64, "H100"),
    "mi300x-16": Wanted(16, "AMD-Instinct-MI300X-OAM"),
    "mi300x-16-fabric": Wanted(16, "mi300x", "fabric"),
    "tpu-16-slice": Wanted(16, "TPU-V6E", "slice"),
    "a100-2": Wanted(2, "A100"),
    "unknown-type": Wanted(1, "H1000"),
}
PROGRAMS = ("gb200-10-fabric", "h100-16-rack", "tpu-16-slice", "mi300x-16")
IN_JSON = ("gb200-10-fabric", "gb200-72-fabric")


@pytest.mark.parametrize("case", CASES)
def test_text_is_as_expected(case: str, accept: bool) -> None:
    printed = to_text(text_place.place(asked(CASES[case]), 100))
    kept.check(case, "place.txt", printed, accept, EXPECTED)


def test_the_readme_shows_what_the_code_prints() -> None:
    shown = (Path(__file__).parents[1] / "README.md").read_text().partition("$ raxl place ")[2].partition("\n")[2]
    assert shown.partition("```")[0] == (EXPECTED / "gb200-10-fabric" / "place.txt").read_text()


@pytest.mark.parametrize("case", IN_JSON)
def test_json_is_as_expected(case: str, accept: bool) -> None:
    kept.check(case, "place.json", codec.encode(asked(CASES[case])), accept, EXPECTED)


@pytest.mark.parametrize("case", PROGRAMS)
def test_program_is_as_expected_and_compiles(case: str, accept: bool) -> None:
    best = asked(CASES[case]).candidates[0]
    assert best.request is not None
    program = ray_python.program(best, best.request)
    compile(program, case, "exec")
    kept.check(case, "place.py.txt", program, accept, EXPECTED)


def test_nothing_is_expected_of_cases_that_are_gone() -> None:
    wanted = {(case, "place.txt") for case in CASES} | {(case, "place.json") for case in IN_JSON}
    wanted |= {(case, "place.py.txt") for case in PROGRAMS}
    assert {path.relative_to(EXPECTED).parts for path in EXPECTED.glob("*/*")} == wanted


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_page_and_ascii_is_ascii(case: str, width: int) -> None:
    document = asked(CASES[case])
    for unicode in (True, False):
        text = to_text(text_place.place(document, width, unicode=unicode))
        assert all(display_width(line) <= width for line in text.splitlines())
        assert unicode or text.isascii()


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_program_asks_for_what_ray_takes(case: str) -> None:
    best = asked(CASES[case]).candidates[0]
    assert best.request is not None
    accepted(ray_python.program(best, best.request))


def accepted(program: str) -> ModuleType:
    """The program's module, whose placement group Ray's own validation has accepted."""
    validate = pytest.importorskip("ray.util.placement_group").validate_placement_group
    module = ModuleType("job")
    exec(compile(program, "job", "exec"), module.__dict__)
    validate(bundles=module.BUNDLES, bundle_label_selector=module.LABELS, topology_strategy=module.TOPOLOGY)
    return module


def test_a_program_knows_the_cpus_near_each_accelerator() -> None:
    best = asked(Wanted(8, "H100")).candidates[0]
    assert best.request is not None
    module = accepted(ray_python.program(best, best.request))
    assert set(module.CPUS) == {str(number) for number in range(8)}
    assert module.cpus(module.CPUS["5"]) == {*range(56, 112), *range(168, 224)}


def test_sets_are_ranked_by_the_narrowest_link_inside() -> None:
    found = asked(Wanted(4)).candidates
    assert [(one.type, one.scope, one.link_class) for one in found] == [
        ("GB200", "node", "NV18"),
        ("H100", "node", "NV18"),
        ("AMD-Instinct-MI300X-OAM", "node", "XGMI1"),
        ("AMD-Instinct-MI300X-OAM", "node", None),
        ("TPU-V6E", "node", "ICI"),
        ("A100", "node", "PXB"),
        ("L40S", "node", "SYS"),
        ("H100", "node", None),
    ]


def test_a_fabric_over_nodes_comes_before_pcie_in_one_and_before_a_network() -> None:
    held = inventory([tray("a"), tray("b"), changed(node("nvidia-l40s", "l"), model="X"), node("nvidia-l40s", "m")])
    scopes = [(one.scope, names(one)) for one in asked(Wanted(8), held).candidates]
    assert scopes == [("fabric", ["a", "b"])]
    eight = [node("nvidia-rtx-pro-6000-cx8", "pcie"), tray("a"), tray("b")]
    ranked = asked(Wanted(len(eight[0].accelerators)), inventory(eight)).candidates
    assert [one.scope for one in ranked] == ["fabric", "node"] or len(eight[0].accelerators) <= 4


def test_devices_that_are_joined_best_come_first_and_ray_may_choose_others() -> None:
    (best,) = asked(Wanted(2, "A100")).candidates
    assert best.link_class == "NV12"
    assert [device.index for device in best.seats[0].devices] == [0, 1, 2, 3]
    assert any("Ray chooses which 2 of the 4" in text for text in best.caveats)


def test_equal_shares_where_they_go_and_the_fewest_nodes() -> None:
    shares = {
        8: [4, 4],
        9: [3, 3, 3],
        10: [4, 4, 2],
        13: [4, 4, 4, 1],
    }
    for number, share in shares.items():
        found = asked(Wanted(number, "GB200", "fabric")).candidates[0]
        assert [seat.accelerators for seat in found.seats] == share


def test_a_lost_device_never_counts_nor_one_of_unknown_state() -> None:
    found = asked(Wanted(8, "H100"))
    everyone = {name for one in found.candidates for name in (*names(one), *(n for a in one.alike for n in a.nodes))}
    assert everyone == {"gpu-00", "gpu-01", "gpu-02"}
    assert (found.left_out[0].node, found.left_out[0].accelerators, found.left_out[0].reason) == ("gpu-03", 1, "lost")
    unknown = inventory([changed(node("nvidia-hgx-h100", "a"), state="unknown")])
    nothing = asked(Wanted(8, "H100"), unknown)
    assert nothing.message == "none that can be had is here; 8 wanted; 8 on a are not counted (state not known)"
    assert asked(Wanted(8), inventory([changed(node("nvidia-hgx-h100", "a"), state="degraded")])).candidates[0].caveats


def test_a_degraded_node_comes_after_a_sound_one() -> None:
    ill = changed(node("nvidia-hgx-h100", "a"), state="degraded")
    found = asked(Wanted(8), inventory([ill, node("nvidia-hgx-h100", "b")])).candidates
    assert [names(one) for one in found] == [["b"], ["a"]]


def test_a_board_in_mig_mode_is_no_whole_accelerator() -> None:
    found = asked(Wanted(1, "H100"), inventory([node("nvidia-h100-mig", "a")]))
    assert not found.candidates
    assert "MIG mode" in found.message


def test_an_xgmi_hive_ends_at_its_node() -> None:
    found = asked(Wanted(16, "mi300x", "fabric"))
    assert not found.candidates
    assert found.nearest is not None
    assert (found.nearest.scope, found.nearest.accelerators) == ("node", 8)
    assert len(asked(Wanted(8, "mi300x", "fabric")).candidates) == 2


@pytest.mark.parametrize(
    "fabric",
    [
        None,
        Fabric(),
        Fabric(UUID, None, "completed"),
        Fabric(UUID, "3", "in progress"),
        Fabric("00000000-0000-0000-0000-000000000000", "0", "completed"),
    ],
)
def test_a_node_without_a_known_domain_belongs_to_none(fabric: Fabric | None) -> None:
    nodes = [replace(changed(tray(name), fabric=fabric), placement=Placement()) for name in ("a", "b")]
    assert not asked(Wanted(8, None, "fabric"), inventory(nodes)).candidates
    assert [names(one) for one in asked(Wanted(4, None, "fabric"), inventory(nodes)).candidates] == [["a"]]
    (anywhere,) = asked(Wanted(8), inventory(nodes)).candidates
    assert anywhere.scope == "cluster"
    assert anywhere.request is not None
    assert anywhere.request.topology_strategy == {"ray.io/node-id": "STRICT_SPREAD"}


def test_a_platform_may_tell_the_domain_where_no_device_does() -> None:
    silent = [changed(tray(name, fabric_domain="d1"), fabric=None) for name in ("a", "b")]
    (best,) = asked(Wanted(8, None, "fabric"), inventory(silent)).candidates
    assert (best.domain, names(best)) == ("d1", ["a", "b"])
    assert best.request is None, "a label names only what NVIDIA's driver tells"
    assert "no label of raxl's names its domain" in best.caveats[0]
    denying = [changed(one, fabric=Fabric(state="in progress")) for one in silent]
    assert not asked(Wanted(8, None, "fabric"), inventory(denying)).candidates


def test_one_node_over_pcie_is_within_no_fabric() -> None:
    held = inventory([node("nvidia-l40s", "a")])
    assert not asked(Wanted(4, None, "fabric"), held).candidates
    assert "no scale-up fabric is known" in asked(Wanted(4, None, "fabric"), held).message
    assert asked(Wanted(4, None, "node"), held).candidates[0].link_class == "SYS"


def test_racks_of_one_name_in_two_zones_are_two() -> None:
    nodes = [node("nvidia-hgx-h100", name, rack="r1", zone=zone) for name, zone in (("a", "z1"), ("b", "z2"))]
    assert not asked(Wanted(16, None, "rack"), inventory(nodes)).candidates
    nodes.append(node("nvidia-hgx-h100", "c", rack="r1", zone="z2"))
    best = asked(Wanted(16, None, "rack"), inventory(nodes)).candidates[0]
    assert names(best) == ["b", "c"]
    assert best.request is not None
    assert best.request.bundle_label_selector[0] == {
        "ray.io/accelerator-type": "H100",
        "ray.io/availability-zone": "z2",
        "raxl/rack": "r1",
    }


def test_a_fabric_within_a_rack_is_asked_for_in_that_rack() -> None:
    nodes = [tray(name, rack=rack) for name, rack in (("a", "r1"), ("b", "r2"), ("c", "r1"))]
    best = asked(Wanted(8, None, "rack"), inventory(nodes)).candidates[0]
    assert (best.scope, names(best)) == ("fabric", ["a", "c"])
    assert best.request is not None
    assert best.request.bundle_label_selector[0]["raxl/rack"] == "r1"
    assert best.request.topology_strategy == {"ray.io/gpu-domain": "STRICT_PACK", "ray.io/node-id": "STRICT_SPREAD"}
    assert not asked(Wanted(12, None, "rack"), inventory(nodes)).candidates


def test_models_that_ray_calls_alike_are_not_mixed_and_told_apart() -> None:
    other = changed(node("nvidia-hgx-h100", "b"), model="NVIDIA H100 PCIe")
    held = inventory([node("nvidia-hgx-h100", "a"), other])
    assert not asked(Wanted(16), held).candidates
    requests = [one.request for one in asked(Wanted(8), held).candidates]
    assert [one.bundle_label_selector[0]["raxl/model"] for one in requests if one] == ["H100-80GB-HBM3", "H100-PCIe"]


def test_a_node_of_two_types_under_one_resource_is_left_out() -> None:
    one = node("nvidia-hgx-h100", "a")
    first = replace(one.accelerators[0], model="NVIDIA L40S", ray=replace(one.accelerators[0].ray, type="L40S"))
    found = asked(Wanted(4, "H100"), inventory([replace(one, accelerators=(first, *one.accelerators[1:]))]))
    assert not found.candidates
    assert "Ray cannot tell apart" in found.left_out[0].reason


def test_a_type_may_be_rays_word_or_the_models_in_any_case() -> None:
    for spelling in ("H100", "h100", "NVIDIA H100 80GB HBM3", "H100 80GB"):
        assert asked(Wanted(8, spelling)).candidates
    for spelling in ("AMD-Instinct-MI300X-OAM", "mi300x", "AMD Instinct MI300X"):
        assert asked(Wanted(8, spelling)).candidates
    assert asked(Wanted(8, "H10")).message.startswith("no accelerator here is called H10; there are A100 (4), ")


def test_what_is_asked_of_ray_counts_in_its_resource() -> None:
    (found,) = asked(Wanted(16), inventory([node("neuron-trn2-ultraserver", "a")])).candidates
    assert found.request is not None
    assert (found.request.each, found.request.bundles) == (4, ({"neuron_cores": 64},))
    (found,) = asked(Wanted(8), inventory([node("amd-mi300x-cpx", "a")])).candidates
    assert found.request is not None
    assert found.request.bundles == ({"GPU": 64},)


def test_where_ray_has_no_resource_nothing_is_asked() -> None:
    (found,) = asked(Wanted(1), inventory([changed(node("groq-card", "a"), state="ok")])).candidates
    assert found.request is None
    assert "Ray has no resource" in found.caveats[0]


def ray_node(name: str, state: str = "alive", gpus: float = 4, **labels: str) -> RayNode:
    return RayNode(f"id-{name}", state, name, resources={"GPU": gpus}, labels=labels)


def with_ray(nodes: Sequence[Node], *known: RayNode) -> Inventory:
    return inventory([replace(one, ray_node_id=f"id-{one.name}") for one in nodes], Cluster(nodes=known))


def test_a_node_that_ray_does_not_use_is_left_out() -> None:
    nodes = [tray(name) for name in ("a", "b", "c", "d", "e")]
    told = with_ray(nodes, ray_node("a"), ray_node("b", "dead"), ray_node("c", "draining"), ray_node("d", gpus=0))
    found = asked(Wanted(4), told)
    assert [names(one) for one in found.candidates] == [["a"]]
    assert [(one.node, one.reason) for one in found.left_out] == [
        ("b", "Ray says dead"),
        ("c", "Ray says draining"),
        ("d", "Ray registered no GPU there"),
        ("e", "no raylet of the cluster runs there"),
    ]


def test_no_more_is_offered_than_ray_registered() -> None:
    told = with_ray([tray("a"), tray("b")], ray_node("a", gpus=2), ray_node("b", gpus=4))
    assert [names(one) for one in asked(Wanted(4), told).candidates] == [["b"]]
    assert [seat.accelerators for seat in asked(Wanted(6), told).candidates[0].seats] == [4, 2]
    assert asked(Wanted(7), told).message.startswith("all 2 nodes together have 6 GB200 that work; 7 wanted")


def test_labels_that_the_raylets_lack_are_named() -> None:
    labels = {"ray.io/accelerator-type": "GB200", "ray.io/gpu-domain": f"{UUID}.3"}
    told = with_ray(
        [tray("a"), tray("b")], ray_node("a", **labels), ray_node("b", **{**labels, "ray.io/gpu-domain": "x"})
    )
    document = asked(Wanted(8), told)
    assert document.candidates[0].request is not None
    assert document.candidates[0].request.missing_labels == (MissingLabel("b", "ray.io/gpu-domain", f"{UUID}.3", "x"),)
    text = to_text(text_place.place(document, 200))
    lacking = f"the raylets of b do not carry ray.io/gpu-domain={UUID}.3"
    line = f"{lacking}: raxl labels, then restart them; until then Ray waits"
    assert line in text
    program = ray_python.program(document.candidates[0], document.candidates[0].request)
    assert line in " ".join(program.replace("\n# ", " ").split())


def test_a_type_that_raylets_lack_is_given_by_hand_or_the_model_is_asked_for() -> None:
    """Ray gives the type by its own detection, so that `raxl labels` prints none."""
    nodes = [node("nvidia-hgx-h100", name) for name in "ab"]
    document = asked(Wanted(16), with_ray(nodes, ray_node("a", gpus=8), ray_node("b", gpus=8)))
    (found,) = document.candidates
    assert found.request is not None
    assert found.request.missing_labels == tuple(
        MissingLabel(name, "ray.io/accelerator-type", "H100", None, False) for name in "ab"
    )
    line = (
        "the raylets of a, b do not carry ray.io/accelerator-type=H100: start them again with "
        "ray start --labels=ray.io/accelerator-type=H100; until then Ray waits"
    )
    assert line in to_text(text_place.place(document, 200))
    assert line in " ".join(ray_python.program(found, found.request).replace("\n# ", " ").split())
    model = {"raxl/model": "H100-80GB-HBM3"}
    (found,) = asked(
        Wanted(16), with_ray(nodes, ray_node("a", gpus=8, **model), ray_node("b", gpus=8, **model))
    ).candidates
    assert found.request is not None
    assert (found.request.bundle_label_selector, found.request.missing_labels) == ((model, model), ())


def test_many_equal_bundles_and_nodes_are_written_once() -> None:
    held = inventory([node("nvidia-hgx-h100", f"node-{number:03}", rack="r1") for number in range(38)])
    text = to_text(text_place.place(asked(Wanted(300), held), 200)).replace("\xa0", " ")
    assert 'bundles   [{"GPU": 8}] × 37, {"GPU": 4}\n' in text
    assert "node-000–037" in text
    plain = inventory([node("nvidia-hgx-h100", f"n{number}", rack="r1") for number in (10, 9, 8, 11)])
    text = to_text(text_place.place(asked(Wanted(32), plain), 200)).replace("\xa0", " ")
    assert '[{"GPU": 8}] × 4\n' in text
    assert "n8–11" in text
    (alone,) = [line for line in to_text(text_place.place(asked(Wanted(8)), 200)).splitlines() if "bundles" in line]
    assert alone.replace("\xa0", " ").endswith('[{"GPU": 8}]')


def test_names_that_come_from_devices_never_act() -> None:
    hostile = '"""\nimport os\x1b[31m\\"}]; {x} \ud800'
    one = node("nvidia-hgx-h100", "a", rack=hostile)
    one = changed(one, model=hostile, ray=replace(one.accelerators[0].ray, type=hostile))
    held = inventory([replace(one, name=f"{hostile}{number}") for number in range(2)])
    document = printable.record(placing.document(held, Wanted(16, None, "rack")))
    (found,) = document.candidates
    assert found.request is not None
    program = ray_python.program(found, found.request)
    assert accepted(program).LABELS[0]["raxl/rack"] == "import-os-31m-x-3260e059"
    text = to_text(text_place.place(document, 100))
    assert "\x1b" not in program + text


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three trays of one domain and an HGX whose GPU 6 is lost."""
    text = (recordings.FOLDER / "nvidia-gb200-tray" / "machine.txt").read_text()
    held = [recordings.of_text(text.replace("name: tray-04", f"name: tray-0{number}")) for number in (1, 2, 3)]
    held.append(recordings.recording("nvidia-hgx-h100-gpu-lost"))
    path = tmp_path_factory.mktemp("cluster") / "cluster.tar.gz"
    path.write_bytes(keeping.packed(held))
    return str(path)


def run(snapshot: str, *options: object, **more: object) -> tuple[int, str, str]:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = io.StringIO()
    code = place.run(place.Options(Source((snapshot,)), *options, **more), Streams(output, errors))
    output.seek(0)
    return code, output.read(), errors.getvalue()


def test_the_command_ends_with_the_contracts_codes(snapshot: str) -> None:
    # 3: the lost GPU's memory could not be read.
    assert run(snapshot, 12, "GB200")[0] == outcome.INCOMPLETE
    code, text, errors = run(snapshot, 16, "GB200", place.Within.fabric)
    assert (code, errors) == (outcome.WRONG, "")
    assert " ".join(text.split()) == f"The largest fabric domain, {UUID}.3, has 12 GB200 that work; 16 wanted."
    code, text, errors = run(snapshot, 16, "GB200", format=place.Format.python)
    assert (code, text) == (outcome.WRONG, "")
    assert errors == "All 3 nodes together have 12 GB200 that work; 16 wanted.\n"
    code, text, _ = run(snapshot, 16, "GB200", format=place.Format.json)
    SCHEMA.validate(json.loads(text))
    assert (code, json.loads(text)["nearest"]["accelerators"]) == (outcome.WRONG, 12)
    assert run(snapshot, 1, "B200")[0] == outcome.WRONG


def test_all_is_fine_where_all_was_read(tmp_path: Path) -> None:
    path = tmp_path / "one.tar.gz"
    path.write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    assert run(str(path), 8)[0] == outcome.OK
    code, text, _ = run(str(path), 8, format=place.Format.python)
    assert code == outcome.OK
    accepted(text)


def test_a_replay_prints_the_same_bytes(snapshot: str, tmp_path: Path) -> None:
    kept_file = tmp_path / "kept.tar.gz"
    options = place.Options(Source((snapshot,), record=kept_file), 8, format=place.Format.json)
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    place.run(options, Streams(output, io.StringIO()))
    output.seek(0)
    assert run(str(kept_file), 8, format=place.Format.json)[1] == output.read()


@pytest.mark.parametrize("name", recordings.NAMES)
def test_every_recording_is_placed_or_told_why_not(name: str) -> None:
    held = assembled(name)
    for count in (1, 3, 8):
        document = asked(Wanted(count), held)
        text = to_text(text_place.place(document, 60))
        assert bool(document.candidates) != bool(document.message)
        assert text.splitlines()[-1].endswith(".")
        for found in document.candidates:
            if found.request is not None:
                accepted(ray_python.program(found, found.request))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--accelerators", "0"),
        ("--accelerators", "many"),
        ("--accelerators", "1000001"),
        ("--accelerators", "8", "--within", "zone"),
        ("--accelerators", "8", "--format", "yaml"),
        ("--accelerators", "8", "--type", ""),
        ("--accelerators", "8", "--type", " \x1b[31m"),
    ],
)
def test_a_wrong_command_line_is_code_2(
    arguments: Sequence[str], snapshot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome.run(app, ["place", "--from", snapshot, *arguments]) == outcome.USAGE
    assert capsys.readouterr().err.startswith("raxl: error: ")


RECORDED = (
    "nvidia-gb200-tray",
    "nvidia-hgx-h100",
    "nvidia-hgx-h100-gpu-lost",
    "nvidia-l40s",
    "nvidia-a100-pcie-bridged",
    "amd-mi300x-spx",
    "tpu-v6e-8",
    "tpu-v7x-chip-missing",
    "neuron-trn2-ultraserver",
    "nvidia-driverless",
    "gaudi-hls2",
)
NAME = st.sampled_from([None, "1", "2", "///"])
PLACES = st.builds(Placement, zone=NAME, rack=NAME, block=NAME, slice=NAME, fabric_domain=NAME)
STATES = st.sampled_from(["ok", "ok", "ok", "degraded", "lost", "unknown"])
FABRICS = st.sampled_from(
    [None, Fabric(UUID, "1", "completed"), Fabric(UUID, "2", "completed"), Fabric(UUID, "1", "failure")]
)


MACHINES = st.lists(
    st.tuples(st.sampled_from(RECORDED), PLACES, FABRICS, st.lists(STATES, min_size=16, max_size=16)), max_size=7
)


def cluster(machines: Sequence[tuple[str, Placement, Fabric | None, Sequence[str]]]) -> Inventory:
    """A cluster of such machines, called n0, n1 …"""
    nodes = []
    for number, (recording, where, fabric, states) in enumerate(machines):
        one = node(recording, f"n{number}")
        devices = [replace(device, state=state, fabric=fabric) for device, state in zip(one.accelerators, states)]
        nodes.append(replace(one, placement=where, accelerators=tuple(devices)))
    return inventory(nodes)


WANTED = st.builds(
    Wanted,
    st.integers(1, 40),
    st.sampled_from([None, "H100", "GB200", "TPU-V6E", "MI300X"]),
    st.sampled_from([None, "node", "fabric", "rack", "slice"]),
)


def working(one: Node, found: Candidate) -> list[Accelerator]:
    return [
        device
        for device in one.accelerators
        if device.state in ("ok", "degraded") and (device.ray.type, device.model) == (found.type, found.model)
    ]


def lies_in(one: Node, scope: str, devices: Sequence[Accelerator]) -> object:
    """What must be one and the same of all nodes of a set, and known."""
    place = one.placement
    if scope == "fabric":
        if devices[0].vendor != "nvidia" or all(device.fabric is None for device in devices):
            return place.fabric_domain and (place.zone, place.fabric_domain)
        told = {
            (x.fabric.domain, x.fabric.clique) if x.fabric and x.fabric.state == "completed" else None for x in devices
        }
        return told.pop() if len(told) == 1 else None
    if scope in ("node", "cluster"):
        return one.name if scope == "node" else "all"
    name = getattr(place, scope)
    return name and (place.zone, name)


@settings(max_examples=150)
@given(MACHINES, WANTED, st.permutations(range(7)))
def test_every_set_holds_what_was_asked_for_and_crosses_nothing(
    machines: Sequence[tuple[str, Placement, Fabric | None, Sequence[str]]], wanted: Wanted, order: Sequence[int]
) -> None:
    held = cluster(machines)
    document = printable.record(placing.document(held, wanted))
    by_name = {one.name: one for one in held.nodes}
    assert [one.rank for one in document.candidates] == list(range(1, len(document.candidates) + 1))
    for found in document.candidates:
        shares = [seat.accelerators for seat in found.seats]
        assert sum(shares) == found.accelerators == wanted.accelerators
        for own in (names(found), *(one.nodes for one in found.alike)):
            members = [by_name[name] for name in own]
            assert len(set(own)) == len(shares)
            assert all(len(working(one, found)) >= share for one, share in zip(members, shares, strict=True))
            for scope in {found.scope, wanted.within} - {None}:
                if len(own) > 1:
                    told = {lies_in(one, str(scope), working(one, found)) for one in members}
                    assert len(told) == 1
                    assert None not in told
        assert len(found.seats) == 1 or wanted.within != "node"
        for name in found.spare:
            assert len(working(by_name[name], found)) >= min(shares)
        if found.request is not None:
            assert sum(bundle[found.request.resource] for bundle in found.request.bundles) == (
                wanted.accelerators * found.request.each
            )
            compile(ray_python.program(found, found.request), "job", "exec")
    text_place.place(document, 80)
    shuffled = tuple(held.nodes[place] for place in order if place < len(held.nodes))
    assert printable.record(placing.document(replace(held, nodes=shuffled), wanted)) == document


@settings(max_examples=150)
@given(MACHINES, WANTED)
def test_nothing_fits_only_where_nothing_does(
    machines: Sequence[tuple[str, Placement, Fabric | None, Sequence[str]]], wanted: Wanted
) -> None:
    held = cluster(machines)
    document = placing.document(held, wanted)
    if document.candidates:
        return
    assert document.message
    sums: dict[object, int] = {}
    for one in stands(held, wanted.type).found:
        narrowest = one.shape.choice(min(wanted.accelerators, one.capacity)).narrowest
        if one.capacity >= wanted.accelerators:
            assert wanted.within == "fabric"
            assert narrowest is not None
            assert not narrowest.is_scale_up
            assert lies_in(one.node, "fabric", one.devices) is None
        told = lies_in(one.node, wanted.within or "cluster", one.devices)
        if told is not None and wanted.within != "node":
            block = one.node.placement.block if wanted.within == "rack" else None
            key = (one.kind, told, block)
            sums[key] = sums.get(key, 0) + one.capacity
    assert all(count < wanted.accelerators for count in sums.values())


def test_ten_thousand_nodes_share_few_shapes() -> None:
    one = node("nvidia-hgx-h100", "gpu")
    held = inventory([replace(one, name=f"gpu-{number:05}") for number in range(10_000)])
    found = stands(held, None).found
    assert len({stand.number for stand in found}) == 1
    assert len({id(stand.shape) for stand in found}) == 1
    assert isinstance(found[0].shape, place_inside.Shape)
    document = placing.document(held, Wanted(8))
    assert len(document.candidates) == 1
    assert len(document.candidates[0].alike) == 9_999


TRAYS = (
    clusters.Member("none-cpu-server", "head-1", {"CPU": 32.0}),
    clusters.Member("nvidia-gb200-tray", "tray-01", clusters.TRAY),
    clusters.Member("nvidia-gb200-tray", "tray-02", clusters.TRAY, lost=("timed-out", "no answer within 20 s")),
)


@pytest.mark.parametrize(
    ("wanted", "code"), [(4, outcome.INCOMPLETE), (8, outcome.INCOMPLETE), (12, outcome.WRONG)], ids=str
)
def test_a_node_that_was_not_read_is_named_and_may_change_the_answer(wanted: int, code: int, tmp_path: Path) -> None:
    """What fits is told; where nothing does, it is wrong only if no more could come from those not read."""
    held = tmp_path / "cluster.tar.gz"
    held.write_bytes(clusters.packed(TRAYS))
    for format in place.Format:
        ended, printed, noted = run(str(held), accelerators=wanted, format=format)
        assert ended == code
        if format is not place.Format.json:
            assert "tray-02 was not read: no answer within 20 s" in " ".join((printed + noted).split())
    document = json.loads(run(str(held), accelerators=wanted, format=place.Format.json)[1])
    assert [(one["node"], one["reason"], one["most"]) for one in document["unread"]] == [("tray-02", "timed-out", 4)]
    assert document["is_open"] is (wanted == 8)


def test_a_dead_node_gives_nothing_and_where_nothing_was_read_that_is_told(tmp_path: Path) -> None:
    dead = replace(TRAYS[2], state="dead", lost=("failed", "dead: health check failed"))
    held = tmp_path / "cluster.tar.gz"
    held.write_bytes(clusters.packed([*TRAYS[:2], dead]))
    code, printed, _ = run(str(held), accelerators=8)
    assert (code, "tray-02 was not read" in " ".join(printed.split())) == (outcome.WRONG, True)
    held.write_bytes(clusters.packed([replace(one, lost=TRAYS[2].lost, resources={}) for one in TRAYS]))
    code, printed, _ = run(str(held), accelerators=8)
    assert code == outcome.INCOMPLETE
    assert " ".join(printed.split()).startswith(
        "No node could be read; head-1, tray-01 and tray-02 were not read: no answer within"
    )
