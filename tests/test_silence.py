"""What a source does not say is told as not said: neither a reading, nor a fault, nor an "all could be read"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import captures
import seeds
from raxl.host import Answer
from raxl.sources import numa
from test_bad_input import given, nodes, told


def without(text: str, start: str, end: str) -> str:
    """The text with one element taken out."""
    first, last = text.index(start), text.index(end) + len(end)
    return text[:first] + text[last:]


def problems(node: dict, subject: str) -> list[tuple[str, str]]:
    return [(one["reason"], one["message"]) for one in node["problems"] if one["subject"] == subject]


def test_an_element_that_this_output_lacks_was_not_asked_for(tmp_path: Path) -> None:
    """`nvidia-smi -q -x -d PCIE` holds no memory element: no value, no state, and nothing that failed."""
    gpu = without(without(seeds.gpu_xml(0), "<fb_memory_usage>", "</fb_memory_usage>"), "<serial>", "</serial>")
    (node,) = nodes("--from", given(tmp_path / "log", seeds.log_xml([gpu])))
    (device,) = node["accelerators"]
    assert (device["memory_bytes"], device["serial"], device["state"]) == (None, None, "unknown")
    for field in ("memory_bytes", "serial"):
        assert problems(node, f"{device['id']}.{field}") == [
            ("not-asked", "this output of nvidia-smi does not hold it")
        ]


def test_a_device_in_which_the_output_ends_has_failed(tmp_path: Path) -> None:
    whole = seeds.log_xml([seeds.gpu_xml(0), seeds.gpu_xml(1)])
    cut = whole[: whole.rindex("<fb_memory_usage>")]
    (node,) = nodes("--from", given(tmp_path / "log", cut), code=3)
    first, second = node["accelerators"]
    assert (first["state"], second["state"], second["memory_bytes"]) == ("ok", "unknown", None)
    assert problems(node, f"{second['id']}.memory_bytes") == [("failed", "nvidia-smi's output ends inside this device")]


def test_what_was_not_asked_carries_no_evidence(tmp_path: Path) -> None:
    for form, text in seeds.TEXTS.items():
        (node,) = nodes("--from", given(tmp_path / form, text))
        fields = [one for one in node["problems"] if one["reason"] == "not-asked" and "." in one["subject"]]
        assert fields
        assert [one["evidence"] for one in fields] == [[]] * len(fields)


def test_a_cpu_list_ends_at_its_nul() -> None:
    """Some kernels hand out the page's rest with the list."""
    files = {"cpulist": Answer("0-3\n\0"), "cpumap": Answer("f\n"), "meminfo": Answer(""), "distance": Answer("")}
    (node,) = numa.parse(numa.Answers(Answer(("node0",)), {0: files}))
    assert node.cpus == "0-3"


def test_the_pci_tree_of_a_file_without_classes_is_not_called_read(tmp_path: Path) -> None:
    bare = "".join(f'<pci busid="0000:00:{place:02x}.0"/>' for place in (0x1E, 0x1F))
    path = given(tmp_path / "x.xml", f'<system version="1"><cpu numaid="0">{bare}</cpu></system>')
    _, stdout, _ = told("topo", "--from", path)
    assert "could be read" not in stdout
    assert "the PCI tree does not tell (2 PCI functions have neither class nor vendor" in " ".join(stdout.split())


def test_pairs_that_nvlink_may_join_are_not_left_at_their_pcie_path(tmp_path: Path) -> None:
    """Two H100 in a tree, and no library asked: PIX is the path, and whether NVLink joins them is open."""
    hwloc = without(seeds.HWLOC, "<distances2hetero", "</distances2hetero>")
    (node,) = nodes("--from", given(tmp_path / "x.xml", hwloc))
    (pair,) = [link for link in node["links"] if all(end.startswith("nvidia") for end in (link["a"], link["b"]))]
    assert pair["kind"] == "pcie"
    ((reason, message),) = problems(node, "links.scale_up")
    assert (reason, message.startswith("nobody was asked whether NVLink joins them")) == ("not-asked", True)
    (whole,) = nodes("--from", given(tmp_path / "y.xml", seeds.HWLOC))
    assert problems(whole, "links.scale_up") == []


REMEDY = "a topology file of the platform helps"


def test_a_topology_file_is_not_answered_with_the_hint_to_give_one(tmp_path: Path) -> None:
    """The shape that a hypervisor makes, once as the platform's NCCL file and once as what the guest sees."""
    places = "".join(
        f'<cpu numaid="{n}"><pci busid="000{n}:00:00.0" class="0x030200"><gpu dev="{n}" sm="90"/></pci></cpu>'
        for n in (1, 2)
    )
    code, stdout, _ = told("topo", "--from", given(tmp_path / "x.xml", f'<system version="1">{places}</system>'))
    assert (code, "virtual PCI tree" in stdout, REMEDY in stdout) == (0, True, False)
    recorded = str(Path(__file__).parent / "expected/nvidia-azure-nd-h100/topo.txt")
    assert REMEDY in Path(recorded).read_text()


def test_more_like_these_names_their_numa_nodes(tmp_path: Path) -> None:
    shown = (Path(__file__).parent / "expected/nvidia-l40s-nps4/discover.txt").read_text()
    (line,) = [line for line in shown.splitlines() if "more like these" in line]
    assert line.split() == ["…", "6", "more", "like", "these", "2–7", "ok"]


def test_devices_of_unknown_model_are_counted_apart(tmp_path: Path) -> None:
    devices = seeds.log_xml([seeds.gpu_xml(0), seeds.gpu_xml(1, product_name="N/A").replace("233010DE", "FFFF10DE")])
    log = given(tmp_path / "log", devices)
    code, _, stderr = told("discover", "--from", log, "--expect", "2xH100")
    assert (code, "expected 2 × H100, found 1, 1 more of unknown model" in stderr) == (1, True)
    code, _, stderr = told("discover", "--from", log, "--expect", "1xH100")
    assert (code, "1 more of unknown model" in stderr, "nobody expects" in stderr) == (1, True, False)


@pytest.mark.skipif(captures.CORPUS is None, reason="RAXL_CORPUS names no corpus")
def test_each_nvswitch_of_a_dgx2_is_counted_once() -> None:
    """hwloc names the twelve chips as PCI devices and as ends of links: twelve NVSwitches, not 24."""
    assert captures.CORPUS is not None
    held = [path for path in captures.CORPUS.rglob("*.xml") if b"1ac2" in path.read_bytes()]
    assert held
    for path in held:
        _, stdout, _ = told("topo", "--format", "json", "--from", str(path))
        (node,) = json.loads(stdout)["nodes"]
        switches = [one["id"] for one in node["switches"] if one["kind"] == "nvswitch"]
        addresses = [one["pci"]["address"] for one in node["switches"] if one["kind"] == "nvswitch"]
        assert len(set(addresses)) == len(switches) == 12


def test_a_file_that_was_not_read_has_no_accelerators_to_deny(tmp_path: Path) -> None:
    good, bad = given(tmp_path / "good", seeds.log_xml([seeds.gpu_xml(0)])), given(tmp_path / "bad", "hello\n")
    code, stdout, _ = told("discover", "--from", good, "--from", bad)
    assert (code, stdout.partition(" (bad:")[0]) == (3, "2 nodes, 1 read - 1 could not be")
    assert "no accelerators" not in stdout
    code, stdout, _ = told("discover", "--expand", "--from", good, "--from", bad)
    (line,) = [line for line in stdout.splitlines() if line.startswith("bad")]
    assert (code, line.split(None, 1)[1]) == (3, "not read")
