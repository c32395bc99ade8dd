"""The tools of Rebellions, FuriosaAI, Tenstorrent and MetaX: what each output says, and what it does not."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import npu_texts
import seeds
from raxl.intake import documents, forms, yaml_events
from raxl.model.report import Claim, LinkClaim
from raxl.sources import furiosa_smi, nvidia_smi_topo, tool_words
from test_bad_input import given, nodes

GIB = 1 << 30
ALL = {**npu_texts.TEXTS, **npu_texts.MORE}
FORM_OF = {name: name.split(" ")[0].rstrip(",") for name in ALL}


def parsed(text: str) -> Any:
    """What the one form that is recognised says, and what is wrong with it."""
    ((question, own),) = forms.recognise(text)
    foreign, damage = import_module(documents.TEXTS[question.subject]).parse(own)
    return foreign, [*damage, *foreign.report.problems]


def claims(text: str) -> tuple[Claim, ...]:
    return parsed(text)[0].report.claims  # type: ignore[no-any-return]


def links(text: str) -> dict[tuple[str, str], LinkClaim]:
    return {(one.a, one.b): one for one in parsed(text)[0].report.links}


def problems(text: str) -> list[tuple[str, str]]:
    return [(one.reason, one.message) for one in parsed(text)[1]]


@pytest.mark.parametrize("name", ALL)
def test_each_is_recognised_as_itself_alone(name: str) -> None:
    ((question, _),) = forms.recognise(ALL[name])
    assert question.subject == FORM_OF[name]


@pytest.mark.parametrize("form", ["rbln-smi", "furiosa-smi", "tt-smi", "tt-umd", "mx-smi"])
def test_no_other_tool_is_taken_for_one(form: str) -> None:
    module = import_module(documents.TEXTS[form])
    others = {name: text for name, text in seeds.TEXTS.items() if name != form}
    assert not [name for name, text in others.items() if module.recognises(text)]
    for text in ("", "{}", "[]", '{"devices": [{"npu": 0}]}', '[{"arch": "x86_64"}]', "arch: x86\nchips:\n  - 1\n"):
        assert not module.recognises(text)


@pytest.mark.parametrize("name", ALL)
def test_colours_line_ends_and_a_prompt_make_no_difference(name: str) -> None:
    plain = ALL[name]
    pasted = "user@host:~$ tool\r\n" + plain.replace("\n", "\r\n") + "\r\nuser@host:~$ \n"
    assert parsed(pasted) == parsed(plain)
    coloured = "\n".join(f"\x1b[1m{line}\x1b[0m" for line in plain.splitlines())
    if name.startswith("tt-umd"):
        return
    assert parsed(coloured) == parsed(plain)


@pytest.mark.parametrize("name", ALL)
def test_processes_are_not_kept(name: str) -> None:
    assert "hunter2" not in "".join(own for _, own in forms.recognise(ALL[name]))


@pytest.mark.parametrize("name", ALL)
def test_every_beginning_is_read_without_an_error(name: str) -> None:
    form = FORM_OF[name]
    module = import_module(documents.TEXTS[form])
    whole = ALL[name]
    for end in range(0, len(whole), 37):
        module.parse(module.own(whole[:end]))


def test_rbln_json() -> None:
    first, second = claims(npu_texts.RBLN_JSON)
    assert (first.index, second.index) == (0, 1)
    assert (first.address, first.model, first.memory_bytes) == ("0000:24:00.0", "RBLN-CA22", 16877879296)
    assert (second.numa_node, second.uuid) == (1, "00000000-0000-4000-8000-000000090001")
    assert first.link is not None
    assert (first.link.speed_gts, first.link.width) == (32.0, 16)
    assert first.state == "ok"
    assert (first.ray.resource, first.visible_env) == ("RBLN", "RBLN_DEVICES")  # type: ignore[union-attr]
    assert [(one.name, one.version) for one in parsed(npu_texts.RBLN_JSON)[0].report.software] == [
        ("rebellions", "3.0.0")
    ]


def test_a_card_of_several_devices_is_named_in_its_first_row() -> None:
    first, second = claims(npu_texts.RBLN_TABLE)
    assert (first.model, second.model) == ("RBLN-CA25", "RBLN-CA25")
    assert (second.index, second.address) == (1, "0000:06:00.0")


def test_mixed_units_of_one_column_are_each_their_own() -> None:
    """`0.0B / 15.7GiB`: the total is 15.7 × 2³⁰, rounded by the tool."""
    assert [one.memory_bytes for one in claims(npu_texts.RBLN_TABLE)] == [int(15.7 * GIB)] * 2
    assert tool_words.size("15.7GB") == 15_700_000_000
    assert tool_words.size("0.0B") is None


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("N/A", "not-supported"),
        ("-", "not-applicable"),
        ("", "not-applicable"),
        ("ERR!", "failed"),
        ("0", "not-supported"),
    ],
)
def test_words_for_nothing_and_for_failure_stay_apart(word: str, reason: str) -> None:
    document = json.loads(npu_texts.RBLN_JSON)
    document["devices"][0]["memory"]["total"] = word
    first, second = claims(json.dumps(document))
    assert (first.memory_bytes, first.silent["memory_bytes"].reason) == (None, reason)
    assert second.memory_bytes == 16877879296
    del document["devices"][0]["memory"]
    assert claims(json.dumps(document))[0].silent["memory_bytes"].reason == "not-asked"


def test_the_jsons_status_is_the_state_and_the_table_has_none() -> None:
    document = json.loads(npu_texts.RBLN_JSON)
    document["devices"][0]["status"] = "abnormal"
    assert [one.state for one in claims(json.dumps(document))] == ["degraded", "ok"]
    del document["devices"][1]["status"]
    (_, second), first = claims(json.dumps(document)), claims(npu_texts.RBLN_TABLE)[0]
    assert [(one.state, one.silent["state"].reason) for one in (second, first)] == [(None, "not-asked")] * 2


def test_an_unknown_driver_version_is_none() -> None:
    table = npu_texts.RBLN_TABLE.replace("3.2.2", "N/A")
    assert parsed(table)[0].report.software == ()


def test_furiosa_info() -> None:
    first, second = claims(npu_texts.FURIOSA_INFO)
    assert (second.index, second.address, second.serial) == (3, "0000:a3:00.0", "RNGX0000000003")
    assert (first.model, first.architecture) == ("RNGD", "rngd")
    assert first.ray is not None
    assert (first.ray.resource, first.ray.type) == ("FURIOSA", "FURIOSA_RNGD")
    assert second.attributes["visible_name"] == "npu:3"
    assert first.silent["memory_bytes"].reason == "not-asked"


def test_furiosa_info_and_status_are_one_machine(tmp_path: Path) -> None:
    text = npu_texts.FURIOSA_INFO + npu_texts.FURIOSA_STATUS
    (node,) = nodes("--from", given(tmp_path / "x", text))
    assert [one["id"] for one in node["accelerators"]] == ["furiosa:0", "furiosa:3"]
    assert [one["state"] for one in node["accelerators"]] == ["ok", "degraded"]
    assert {one["memory_bytes"] for one in node["accelerators"]} == {51002736640}


def test_furiosa_words_of_a_pair_are_converted() -> None:
    """`Interconnect` is SYS; `Bridge` may be PIX or PXB: PCIe, and its class is not known."""
    pairs = links(npu_texts.FURIOSA_TOPO)
    assert {ends: (one.link_class, one.kind) for ends, one in pairs.items()} == {
        ("furiosa#0", "furiosa#1"): ("SYS", "pcie"),
        ("furiosa#0", "furiosa#2"): ("SYS", "pcie"),
        ("furiosa#1", "furiosa#2"): (None, "pcie"),
    }
    assert [one.numa_node for one in claims(npu_texts.FURIOSA_TOPO)] == [0, 1, 1]


def test_furiosa_rows_that_differ_or_are_missing_are_told() -> None:
    other = npu_texts.FURIOSA_TOPO.replace("| npu2   | Interconnect | Bridge ", "| npu2   | Interconnect | Cpu    ")
    assert [reason for reason, _ in problems(other)] == ["disagreement"]
    cut = npu_texts.FURIOSA_TOPO[: npu_texts.FURIOSA_TOPO.index("| npu2   |")]
    assert problems(cut) == [
        ("failed", "the matrix of furiosa-smi topo is incomplete: the rows of npu2 are missing or cut off")
    ]


@pytest.mark.parametrize("arch", ["rngd", "Rngd", "Arch.RngdS", "rngd+", "RngdMax", "warboy-b0"])
def test_furiosa_types_are_rays(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private.accelerators import furiosa

    class Device:
        def device_info(self) -> Device:
            return self

        def arch(self) -> str:
            return arch

    monkeypatch.setattr(furiosa, "_get_furiosa_list_devices", lambda: lambda: [Device()])
    assert furiosa_smi.ray_type(arch) == furiosa.FuriosaAcceleratorManager.get_current_node_accelerator_type()


def test_tt_smi() -> None:
    first, _, third, _ = claims(npu_texts.TT_SMI)
    assert (first.address, first.model, first.architecture) == ("0000:c1:00.0", "n300 L", "Wormhole")
    assert (third.address, third.model, third.index) == (None, "n300 R", 2)
    assert third.silent["pci"].reason == "not-applicable"
    assert (first.state, first.memory_bytes, first.silent["memory_bytes"].reason) == ("ok", None, "not-supported")
    assert first.attributes["nominal_card_memory_gb"] == 24
    assert first.link is not None
    assert (first.link.speed_gts, first.link.width) == (16.0, 16)
    foreign = parsed(npu_texts.TT_SMI)[0]
    assert (foreign.hostname, foreign.os.kernel) == ("tt-1", "5.15.0-141-generic")
    assert [(one.name, one.version) for one in foreign.report.software] == [
        ("tenstorrent", "1.34"),
        ("tt-smi", "3.0.20"),
    ]


def test_the_chips_of_one_card_are_joined_and_of_other_pairs_nobody_says(tmp_path: Path) -> None:
    (node,) = nodes("--from", given(tmp_path / "x", npu_texts.TT_SMI))
    kinds = {(one["a"], one["b"]): (one["kind"], one["link_class"]) for one in node["links"]}
    ids = [f"tenstorrent:{n}" for n in range(4)]
    assert kinds[ids[0], ids[2]] == kinds[ids[1], ids[3]] == ("tt-eth", None)
    assert kinds[ids[0], ids[1]] == (None, None)


def test_chips_of_one_board_have_no_serial_number_of_their_own() -> None:
    assert [one.serial for one in claims(npu_texts.TT_SMI)] == [None] * 4
    single = json.loads(npu_texts.TT_SMI)
    single["device_info"] = [{"board_info": {"bus_id": "0000:01:00.0", "board_type": "p150b", "board_id": "00000412"}}]
    (claim,) = claims(json.dumps(single))
    assert (claim.serial, claim.architecture, claim.state) == ("00000412", "Blackhole", None)


@pytest.mark.parametrize(
    "text",
    [
        '{"device_info": [{"board_info": {"board_type": "n150"}} ',
        '{"device_info": "board_info"}',
        '{"device_info": [{"board_info',
    ],
)
def test_a_damaged_snapshot_is_a_problem(text: str) -> None:
    assert [reason for reason, _ in problems(text)] == ["failed"]


def test_untrained_memory_is_a_degraded_chip() -> None:
    text = npu_texts.TT_SMI.replace("true", "false", 1)
    assert [one.state for one in claims(text)] == ["degraded", "ok", "ok", "ok"]


def test_cluster_descriptor() -> None:
    first, second = claims(npu_texts.TT_UMD)
    assert (first.index, first.address, first.uuid, first.model) == (0, "0000:41:00.0", "9956278468", "n300")
    assert (second.address, second.silent["pci"].reason) == (None, "not-applicable")
    assert first.attributes["device_node"] == "/dev/tenstorrent/3"
    assert first.attributes["board_id"] == "100010000000000"
    assert (first.unit, second.unit) == ("100010000000000 L", "100010000000000 R")
    assert second.attributes["links_to_other_machines"] == 1
    (link,) = links(npu_texts.TT_UMD).values()
    assert (link.link_class, link.kind, link.count) == ("ETH2", "tt-eth", 2)


def test_the_older_descriptor_in_flow_style() -> None:
    """A link that stands there from both its ends is one."""
    first, second = claims(npu_texts.TT_UMD_OLD)
    assert (first.model, first.architecture, second.silent["pci"].reason) == ("n300", "Wormhole", "not-applicable")
    assert [one.count for one in links(npu_texts.TT_UMD_OLD).values()] == [1]


def test_a_descriptor_that_is_cut_off_gives_what_is_there() -> None:
    cut = npu_texts.TT_UMD_OLD[: npu_texts.TT_UMD_OLD.index("boardtype") - 6]
    assert len(claims(cut)) == 2
    assert [reason for reason, _ in problems(cut)] == ["failed"]


def test_links_to_chips_that_are_not_listed_are_told() -> None:
    text = npu_texts.TT_UMD.replace("    - chip: 1\n      chan: 1", "    - chip: 9\n      chan: 1")
    assert problems(text) == [("disagreement", "links lead to 1 chips that the descriptor does not list: 9")]
    assert [one.index for one in claims(text)] == [0, 1, 9]


def test_aliases_and_tags_make_nothing() -> None:
    bomb = (
        "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(20)) + "c: !!python/object:os.system ls\n"
    )
    tree = yaml_events.read(bomb)
    assert tree.value["b0"] == [None, None]
    assert tree.value["c"] == "ls"
    assert yaml_events.read("a: [1, 2").value == {"a": ["1", "2"]}


def test_snapshot_and_descriptor_of_one_machine_are_one_node(tmp_path: Path) -> None:
    snapshot = json.loads(npu_texts.TT_SMI)
    snapshot["device_info"] = [snapshot["device_info"][0], snapshot["device_info"][2]]
    snapshot["device_info"][0]["board_info"]["bus_id"] = "0000:41:00.0"
    files = [given(tmp_path / "a", json.dumps(snapshot)), given(tmp_path / "b", npu_texts.TT_UMD)]
    (node,) = nodes(*[word for path in files for word in ("--from", path)], "--as-node", "tt-1")
    assert [one["id"] for one in node["accelerators"]] == ["tenstorrent:0", "tenstorrent:1"]
    assert [one["link_class"] for one in node["links"]] == ["ETH2"]


def test_mx_smi() -> None:
    first, second = claims(npu_texts.MX_TABLE)
    assert (first.index, second.index) == (0, 1)  # of the GPU, not of its board
    assert (second.address, second.model, second.memory_bytes) == ("0000:0f:00.0", "MetaX C500", 65536 << 20)
    assert second.state == "ok"
    assert second.ray is not None
    assert (second.ray.resource, second.ray.type) == ("GPU", None)
    software = {one.name: one.version for one in parsed(npu_texts.MX_TABLE)[0].report.software}
    assert software == {"metax": "3.4.4", "maca": "3.3.0.15"}


def test_the_name_that_ray_takes() -> None:
    (first, _) = claims(npu_texts.MX_TABLE.replace("MetaX C500", "MXC550    "))
    assert first.ray is not None
    assert first.ray.type == "MXC550"


def test_mx_count_and_state() -> None:
    text = npu_texts.MX_TABLE.replace(": 2\n", ": 8\n", 1).replace("Available", "Not Available", 1)
    assert problems(text) == [
        ("disagreement", "mx-smi states 8 attached GPUs and lists 2"),
        ("failed", "model, memory and state of 6 attached GPUs are not in mx-smi's output"),
    ]
    assert [one.state for one in claims(text)] == [None, "ok"]
    assert claims(text)[0].silent["state"].message == "mx-smi says Not Available"
    assert problems(text.replace(": 8\n", ": 1\n", 1)) == [
        ("disagreement", "mx-smi states 1 attached GPUs and lists 2")
    ]


def test_the_older_table_has_no_column_of_a_state() -> None:
    text = npu_texts.MX_TABLE.replace("| Available            |", "|                      |")
    assert [(one.memory_bytes, one.state) for one in claims(text)] == [(64 * GIB, None)] * 2
    assert {one.silent["state"].reason for one in claims(text)} == {"not-asked"}


def test_a_row_in_which_the_table_ends_has_failed() -> None:
    cut = npu_texts.MX_TABLE[: npu_texts.MX_TABLE.index("| 58W")]
    assert claims(cut)[1].silent["memory_bytes"].reason == "failed"


def test_mx_matrix() -> None:
    pairs = {ends: (one.kind, one.link_class) for ends, one in links(npu_texts.MX_TOPO).items()}
    assert pairs == {
        ("metax#0", "metax#1"): ("metaxlink", None),
        ("metax#0", "metax#2"): ("pcie", "NODE"),
        ("metax#1", "metax#2"): ("pcie", "SYS"),
    }
    assert [(one.numa_node, one.local_numa_nodes) for one in claims(npu_texts.MX_TOPO)] == [
        (0, (0,)),
        (0, (0,)),
        (None, (0, 1)),
    ]
    assert not nvidia_smi_topo.recognises(npu_texts.MX_TOPO)


def test_another_makers_mx_smi_is_not_read() -> None:
    text = "+-----+\n| Antoum SMI 3.1 |\n| 0  S30 | 0000:23:00.0 | 0 / 61440 MiB |\n+-----+\n"
    assert not import_module(documents.TEXTS["mx-smi"]).recognises(text)
