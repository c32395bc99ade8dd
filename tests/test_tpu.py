"""TPUs: what the environment says of a slice, and what only looks like a TPU."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

import recordings
from raxl.collect import assemble, inputs
from raxl.host import Answer, Question, allowed
from raxl.host.record import Recording
from raxl.model.node import Node
from raxl.model.problem import DISAGREEMENT, NOT_ASKED
from raxl.sources import pci, tpu_chips, tpu_slice


def of_text(text: str, folder: Path) -> Node:
    (folder / "tpu.env").write_text(text)
    (node,) = assemble.inventory(inputs.opened([str(folder / "tpu.env")])).nodes
    return node


def classes(node: Node, kind: str = "ici") -> set[tuple[str, str]]:
    return {(link.a, link.b) for link in node.links if link.kind == kind}


def machine(files: dict[str, str], folders: dict[str, list[str]], links: dict[str, str]) -> Node:
    """A live machine that has these files, folders and links, and nothing else."""
    answers = {Question("text", path): Answer(text + "\n") for path, text in files.items()}
    answers |= {Question("names", path): Answer(sorted(names)) for path, names in folders.items()}
    answers |= {Question("link", path): Answer(target) for path, target in links.items()}
    unasked = Answer(None, "not-present", "")
    return assemble.node(Recording(answers, name="node", recorded_by="0", unasked=unasked))


def function(
    address: str, vendor: str, device: str, class_id: str, driver: str
) -> tuple[dict[str, str], dict[str, str]]:
    folder = f"{pci.FOLDER}/{address}"
    files = {f"{folder}/vendor": vendor, f"{folder}/device": device, f"{folder}/class": class_id}
    links = {folder: f"/sys/devices/pci0000:00/{address}", f"{folder}/driver": f"/sys/bus/pci/drivers/{driver}"}
    return files, links


def test_a_slice_of_several_hosts(tmp_path: Path) -> None:
    text = "export TPU_ACCELERATOR_TYPE=v5p-16\nTPU_CHIPS_PER_HOST_BOUNDS=2,2,1\r\nTPU_HOST_BOUNDS=1,1,2\nTPU_NAME=s1\n"
    node = of_text(text + "TPU_WORKER_ID=1\nHOME=/root\n", tmp_path)
    assert [device.id for device in node.accelerators] == ["tpu:0", "tpu:1", "tpu:2", "tpu:3"]
    assert {(device.model, device.ray.type, device.memory_bytes) for device in node.accelerators} == {
        ("TPU v5p", "TPU-V5P", None)
    }
    place = node.placement
    assert (place.slice, place.slice_topology, place.worker_index) == ("s1", "2x2x2", 1)
    assert place.fabric_domain == "s1"
    assert node.accelerators[0].attributes["slice_chips"] == 8
    assert classes(node) == {("tpu:0", "tpu:1"), ("tpu:0", "tpu:2"), ("tpu:1", "tpu:3"), ("tpu:2", "tpu:3")}
    assert {(link.link_class, link.count) for link in node.links if link.kind == "ici"} == {("ICI", None)}


def test_a_slice_of_one_host_joins_no_other(tmp_path: Path) -> None:
    node = of_text(
        "TPU_ACCELERATOR_TYPE: 'v6e-4'\nTOPOLOGY: '2x2'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\nNODE_ID: 'a'\n", tmp_path
    )
    assert (node.placement.slice, node.placement.fabric_domain) == ("a", None)


def test_v5e_counts_chips_and_v4_counts_cores() -> None:
    assert tpu_slice.parse({"TPU_ACCELERATOR_TYPE": "v5litepod-16"}).chips == 16
    assert tpu_slice.parse({"TPU_ACCELERATOR_TYPE": "v4-16"}).chips == 8
    assert tpu_slice.parse({"TPU_ACCELERATOR_TYPE": "tpu7x-16"}).chips == 8


def test_a_dimension_that_the_host_spans_leads_round_where_it_is_said() -> None:
    told = {"TPU_TOPOLOGY": "4x1", "TPU_CHIPS_PER_HOST_BOUNDS": "4,1,1"}
    assert tpu_slice.neighbours(tpu_slice.parse(told)) == [(0, 1), (1, 2), (2, 3)]
    told["TPU_TOPOLOGY_WRAP"] = "true,false"
    assert tpu_slice.neighbours(tpu_slice.parse(told)) == [(0, 1), (0, 3), (1, 2), (2, 3)]


def test_a_type_that_contradicts_the_topology_is_told() -> None:
    (problem,) = tpu_slice.parse({"TPU_ACCELERATOR_TYPE": "v6e-16", "TPU_TOPOLOGY": "2x4"}).problems
    assert (problem.reason, problem.message) == (DISAGREEMENT, "v6e-16 has 16 chips, the topology 2x4 8")


@pytest.mark.parametrize(
    "words", ["", "2,2", "2;2;1", "0,2,1", "-1,2,1", "9" * 30 + ",1,1", "65536,65536,2", "2,2,1,1"]
)
def test_bounds_that_are_none(words: str) -> None:
    expected = (2, 2) if words == "2,2" else None
    assert tpu_slice.parse({"TPU_CHIPS_PER_HOST_BOUNDS": words}).chips_of_host == expected


def test_chips_are_numbered_by_their_groups_and_both_functions_are_one_chip() -> None:
    node = assemble.node(recordings.recording("tpu-v6e-8"))
    assert [device.pci.address for device in node.accelerators if device.pci][:2] == ["0000:00:07.0", "0000:00:06.0"]
    node = assemble.node(recordings.recording("tpu-v7x-chip-missing"))
    assert [device.attributes["pci_functions"] for device in node.accelerators] == [
        "0000:00:05.0, 0000:00:05.1",
        "0000:00:06.0, 0000:00:06.1",
        "0000:80:05.0, 0000:80:05.1",
    ]
    assert node.accelerators[0].attributes["nominal_memory_bytes"] == 192 << 30
    assert {link.link_class for link in node.links} == {None}


def test_google_s_network_adapter_and_disk_are_no_tpus() -> None:
    node = assemble.node(recordings.recording("tpu-v6e-8"))
    places = {device.pci.address for device in node.accelerators if device.pci}
    assert not places & {"0000:00:03.0", "0000:00:08.0", "0000:00:09.0"}
    assert len(places) == 8


def test_the_accel_files_of_others_are_no_tpus() -> None:
    """`/dev/accel` of NVIDIA's driver is a folder; `/dev/accel0` here is a Gaudi's."""
    files, links = function("0000:00:05.0", "0x1da3", "0x1020", "0x120000", "habanalabs")
    files["/sys/class/accel/accel0/device/vendor"] = "0x1da3"
    links["/sys/class/accel/accel0/device"] = "/sys/devices/pci0000:00/0000:00:05.0"
    folders = {"/dev": ["accel", "accel0"], pci.FOLDER: ["0000:00:05.0"]}
    assert [device for device in machine(files, folders, links).accelerators if device.vendor == "tpu"] == []


def test_a_vfio_group_of_another_s_device_is_no_tpu() -> None:
    files, links = function("0000:00:05.0", "0x15b3", "0xa2dc", "0x020000", "vfio-pci")
    folders = {"/dev": ["vfio"], "/dev/vfio": ["7", "vfio"], pci.FOLDER: ["0000:00:05.0"]}
    folders["/sys/kernel/iommu_groups/7/devices"] = ["0000:00:05.0"]
    assert machine(files, folders, links).accelerators == ()


def test_a_v4_host_by_its_accel_files() -> None:
    files, links, names = {}, {}, []
    for number, address in enumerate(("0000:00:06.0", "0000:00:05.0")):
        more, ways = function(address, "0x1ae0", "0x005e", "0xff0000", "accel")
        files |= {**more, f"/sys/class/accel/accel{number}/device/vendor": "0x1ae0"}
        links |= {**ways, f"/sys/class/accel/accel{number}/device": f"/sys/devices/pci0000:00/{address}"}
        names.append(address)
    node = machine(files, {"/dev": ["accel0", "accel1"], pci.FOLDER: names}, links)
    assert [(device.id, device.model, device.state) for device in node.accelerators] == [
        ("tpu:0", "TPU v4", "ok"),
        ("tpu:1", "TPU v4", "ok"),
    ]
    assert [device.pci.address for device in node.accelerators if device.pci] == names
    assert [link.link_class for link in node.links] == [None]
    assert {one.reason for one in node.problems if one.subject == "links"} == {NOT_ASKED}


def test_every_pair_of_a_host_is_told_once() -> None:
    node = assemble.node(recordings.recording("tpu-v6e-8"))
    assert len(node.links) == len(list(combinations(range(8), 2))) + 8 * len(node.nics)
    assert len(classes(node)) == 10


def test_the_names_of_the_other_hosts_are_not_kept() -> None:
    told = {"TPU_WORKER_HOSTNAMES": "host-a,host-b", "TPU_WORKER_ID": "1"}
    assert allowed.environment(told) == {"TPU_WORKER_ID": "1"}


def test_an_environment_without_the_hosts_bounds_leaves_its_chips_unknown(tmp_path: Path) -> None:
    (tmp_path / "tpu.env").write_text("TPU_ACCELERATOR_TYPE=v5p-16\nTPU_TOPOLOGY=2x2x2\nTPU_WORKER_ID=0\n")
    (node,) = assemble.inventory(inputs.opened([str(tmp_path / "tpu.env")])).nodes
    told = {one.subject: (one.reason, one.message) for one in node.problems}
    words = "the environment names a TPU slice, and not how many chips this host has (TPU_CHIPS_PER_HOST_BOUNDS)"
    assert told["accelerators"] == ("not-asked", words)


def test_a_type_that_is_none_is_named() -> None:
    own = tpu_slice.parse({"TPU_ACCELERATOR_TYPE": "banana"})
    silence = tpu_chips.silences(own)["ray.type"]
    assert (silence.reason, silence.message) == (
        "failed",
        "TPU_ACCELERATOR_TYPE is 'banana', and Ray takes `v6e-8` and the like",
    )
