"""Gaudi, Ascend and Intel GPUs on a machine: what counts as one, what only looks like one, and what Ray calls them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import recordings
from raxl.accelerators.intel import behind_switch
from raxl.collect import assemble
from raxl.host import Answer
from raxl.model.component import PciFunction, PciLink
from raxl.model.node import Node
from raxl.sources import ascend, families, gaudi, hl_smi_csv, intel_names, npu_smi
from raxl.sources.families import Family


def node_of(name: str) -> Node:
    return assemble.node(recordings.recording(name))


def function(vendor: str, device: str, pci_class: str, address: str = "0000:19:00.0") -> PciFunction:
    return PciFunction(address, pci_class, "pci0000:18", vendor_id=vendor, device_id=device)


@pytest.mark.parametrize(
    ("family", "device", "pci_class", "counts"),
    [
        (gaudi.GAUDI, "1020", "120000", True),
        (gaudi.GAUDI, "1099", "120000", True),
        (gaudi.GAUDI, "1099", "020000", False),
        (ascend.ASCEND, "d802", "120000", True),
        (ascend.ASCEND, "d8ff", "120000", True),
        (ascend.ASCEND, "0222", "020000", False),
        (ascend.ASCEND, "a230", "010700", False),
        (ascend.ASCEND, "1711", "030000", False),
        (intel_names.INTEL, "0bd5", "038000", True),
        (intel_names.INTEL, "e211", "030000", True),
        (intel_names.INTEL, "7d55", "030000", False),
        (intel_names.INTEL, "7d1d", "120000", False),
        (intel_names.INTEL, "4940", "0b4000", False),
    ],
)
def test_what_counts_on_the_bus(family: Family, device: str, pci_class: str, counts: bool) -> None:
    """Adapters, a board controller's graphics (19e5:1711), a processor's own graphics and its NPU are none."""
    assert bool(families.on_bus(family, [function(family.vendor_id, device, pci_class)])) is counts


def test_an_accel_device_of_another_vendor_is_no_gaudi() -> None:
    """`/dev/accel` is the kernel's name for any of them: here a processor's NPU is listed beside eight Gaudi2."""
    node = node_of("gaudi-hls2")
    assert [device.id for device in node.accelerators] == [f"gaudi:{number}" for number in range(8)]
    assert {device.pci.vendor_id for device in node.accelerators if device.pci} == {"1da3"}


def test_gaudi_numbers_are_neither_the_buss_nor_the_boards() -> None:
    devices = node_of("gaudi-hls2").accelerators
    assert [device.pci.address for device in devices if device.pci][:3] == [
        "0000:33:00.0",
        "0000:9a:00.0",
        "0000:34:00.0",
    ]
    assert [device.attributes["module_id"] for device in devices] == [3, 7, 2, 6, 1, 5, 0, 4]
    assert {device.attributes["visible_env_ids"] for device in devices} == {"module_id"}
    assert {device.attributes["nominal_memory_gb"] for device in devices} == {96}
    assert {device.memory_bytes for device in devices} == {98304 << 20}
    assert [device.numa_node for device in devices] == [0, 1] * 4


def test_roce_between_gaudi2_of_a_board() -> None:
    links = node_of("gaudi-hls2").links
    told = {(link.link_class, link.count, link.bandwidth_bytes_per_second, link.bandwidth_source) for link in links}
    assert told == {("ROCE3", 3, 37_500_000_000, "nominal")}


def test_a_gaudi_that_resets() -> None:
    node = node_of("gaudi-in-reset")
    states = {device.pci.address: device.state for device in node.accelerators if device.pci}
    assert (states["0000:33:00.0"], states["0000:34:00.0"], states["0000:b4:00.0"]) == (
        "unknown",
        "degraded",
        "unknown",
    )
    assert {device.memory_bytes for device in node.accelerators} == {None}


def test_ascend_of_a_whole_machine() -> None:
    node = node_of("ascend-910b")
    assert [(one.id, one.pci.address if one.pci else None, one.numa_node) for one in node.accelerators][:3] == [
        ("ascend:0", "0000:c1:00.0", 6),
        ("ascend:1", "0000:c2:00.0", 6),
        ("ascend:2", "0000:81:00.0", 4),
    ]
    between = [link for link in node.links if link.b.startswith("ascend")]
    assert {(link.link_class, link.kind, link.count) for link in between} == {("HCCS", "hccs", None)}
    assert len(between) == 28
    assert {nic.id for nic in node.nics} == {"enp34s0"}


def test_ascend_in_a_container_that_was_given_three() -> None:
    node = node_of("ascend-container")
    assert len(node.accelerators) == 8
    (problem,) = [one for one in node.problems if one.reason == "disagreement"]
    assert problem.message.startswith("8 NPUs are on the bus, /dev holds 3")
    assert {link.link_class for link in node.links if link.b.startswith("ascend")} == {None}


def test_ascend_device_files_without_a_bus() -> None:
    """A container whose `/sys` is masked still has the files, and Ray counts those."""
    from raxl.accelerators.ascend import Answers, Ascend

    nothing = Answer(None, "not-installed", "npu-smi is in none of the trusted folders")
    names = Answer(["davinci0", "davinci11", "davinci_manager", "vdavinci100"])
    report = Ascend().parse(Answers(names, nothing, nothing), ())
    assert [(claim.index, claim.attributes["physical_id"]) for claim in report.claims] == [(None, 0), (None, 11)]
    assert {claim.silent["memory_bytes"].reason for claim in report.claims} == {"not-installed"}


def port(address: str, chain: Sequence[str], vendor: str, link: PciLink | None) -> PciFunction:
    return PciFunction(address, "060400", "pci0000:15", tuple(chain), vendor_id=vendor, link=link)


@pytest.mark.parametrize(("upstream", "width"), [("8086", 8), ("1000", 1)])
def test_the_link_of_a_card_with_a_switch_of_its_own(upstream: str, width: int) -> None:
    """The slot's link stands at the card's upstream port; behind another maker's switch the function's own counts."""
    root = port("0000:15:01.0", (), "8086", PciLink(None, None, 16.0, 16))
    up = port("0000:16:00.0", (root.address,), upstream, PciLink(16.0, 8, 32.0, 8))
    down = port("0000:17:01.0", (root.address, up.address), upstream, PciLink(2.5, 1, 2.5, 1))
    chain = (root.address, up.address, down.address)
    slow = PciLink(2.5, 1, 2.5, 1)
    gpu = PciFunction("0000:18:00.0", "030000", "pci0000:15", chain, vendor_id="8086", device_id="e211", link=slow)
    found = behind_switch(gpu, {one.address: one for one in (root, up, down, gpu)})
    assert found == (PciLink(16.0, 8, 16.0, 8) if width == 8 else slow)


def test_intel_of_a_whole_machine() -> None:
    node = node_of("intel-b60")
    assert [device.id for device in node.accelerators] == [f"intel:{number}" for number in range(8)]
    links = {device.pci.link for device in node.accelerators if device.pci}
    assert links == {PciLink(16.0, 8, 32.0, 8)}
    assert {device.memory_bytes for device in node.accelerators} == {0x5FB000000}
    assert {(link.link_class, link.kind) for link in node.links} == {("NODE", "pcie"), ("SYS", "pcie")}


def test_tiles_of_max_1550() -> None:
    first, second = node_of("intel-max-1550").accelerators
    assert [part.id for part in first.partitions] == ["tile:0", "tile:1"]
    assert (first.memory_bytes, second.memory_bytes) == (128 << 30, None)
    assert "FLAT" in str(second.attributes["visible_env_ids"])


def test_names_of_resources_and_variables_are_rays() -> None:
    from ray._private.accelerators.hpu import HPUAcceleratorManager
    from ray._private.accelerators.intel_gpu import IntelGPUAcceleratorManager
    from ray._private.accelerators.npu import NPUAcceleratorManager

    managers = (
        (gaudi.GAUDI, HPUAcceleratorManager),
        (ascend.ASCEND, NPUAcceleratorManager),
        (intel_names.INTEL, IntelGPUAcceleratorManager),
    )
    for family, manager in managers:
        assert family.resource == manager.get_resource_name()
        assert family.visible_env == manager.get_visible_accelerator_ids_env_var()


def test_types_are_rays_constants() -> None:
    from ray.util.accelerators import accelerators as constants

    assert intel_names.ray_type("Intel(R) Data Center GPU Max 1550") == constants.INTEL_MAX_1550
    assert intel_names.INTEL.ray_types["0bda"] == constants.INTEL_MAX_1100
    assert ascend.ray_type("910B4") == constants.HUAWEI_NPU_910B4
    assert ascend.ray_type("910B") == constants.HUAWEI_NPU_910B
    assert [ascend.ray_type(name) for name in ("Ascend910", "310P3", "", None, "910B4-1")] == [
        None,
        "Ascend310P3",
        None,
        None,
        None,
    ]


def test_a_tool_that_prints_something_else_is_told_in_its_words() -> None:
    assert not hl_smi_csv.recognises("Failed to initialize hlml")
    assert not npu_smi.recognises("dcmi model initialized failed, because the device is used. ret is -8020")
