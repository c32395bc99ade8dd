"""`raxl topo --path A B`: which device a name means, the hops and their speeds, what is told and what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path as FilePath

import jsonschema
import pytest

import clusters
import recordings
import samples
from measured_rows import bench, row
from raxl import __version__
from raxl.cli import outcome
from raxl.cli.app import app
from raxl.collect import assemble, inputs, paths
from raxl.host.record import Recording
from raxl.model import codec, nominal, schemas
from raxl.model.accelerator import Accelerator
from raxl.model.component import PciFunction, PciIdentity, PciLink
from raxl.model.facts import Reading
from raxl.model.link import Link
from raxl.model.measurement import Endpoint
from raxl.model.nic import Nic
from raxl.model.node import Cpu, Node
from raxl.model.path import Path, PathDocument
from raxl.model.peering import Peering
from raxl.model.problem import REASONS
from raxl.render import text_path
from raxl.render.text import to_text
from raxl.topology import ends
from raxl.topology.paths import Machine, between

SCHEMA = jsonschema.Draft202012Validator(json.loads(codec.schema("path")))
FULL = PciLink(32.0, 16, 32.0, 16)


@pytest.mark.parametrize(
    ("speed", "width", "rate"),
    [
        (2.5, 16, 4_000_000_000),
        (5.0, 8, 4_000_000_000),
        (8.0, 16, 15_753_846_154),
        (16.0, 8, 15_753_846_154),
        (32.0, 16, 63_015_384_615),
        (64.0, 16, 121_000_000_000),
        (128.0, 16, 242_000_000_000),
        (12.0, 16, None),
        (None, 16, None),
        (32.0, None, None),
    ],
)
def test_a_pcie_link_carries_its_rate_less_its_coding(speed: float | None, width: int | None, rate: int | None) -> None:
    assert nominal.pcie_bytes_per_second(speed, width) == rate


NAMES = {
    "0": ["nvidia:0"],
    "nvidia:0": ["nvidia:0"],
    "GPU0": ["nvidia:0"],
    "gpu 0": ["nvidia:0"],
    "0000:19:00.0": ["nvidia:0"],
    "19:00.0": ["nvidia:0"],
    "00000000:3B:00.0": ["nvidia:1"],
    "GPU-00000000-0000-4000-8000-000000000003": ["nvidia:3"],
    "gpu-00000000-0000-4000-8000-000000000003": ["nvidia:3"],
    "00000000-0000-4000-8000-000000000003": ["nvidia:3"],
    "GPU-0000": [f"nvidia:{n}" for n in range(8)],
    "GPU-": [],
    "mlx5_6": ["mlx5_6"],
    "ibs6": ["mlx5_6"],
    "18:00.0": ["mlx5_0"],
    "8": [],
    "TPU0": [],
    "": [],
    "99999999999999999999": [],
}


@pytest.mark.parametrize(("name", "ids"), NAMES.items())
def test_a_device_has_many_names(name: str, ids: list[str]) -> None:
    assert ends.named(assemble.node(recordings.recording("nvidia-hgx-h100")), name) == ids


def test_the_beginning_of_a_uuid_is_enough_where_it_is_one() -> None:
    uuids = ("GPU-abcdef01-0000-4000-8000-000000000000", "GPU-abcd0000-0000-4000-8000-000000000000")
    node = Node(
        "a", "b", accelerators=tuple(Accelerator(f"nvidia:{n}", "nvidia", "gpu", uuid=u) for n, u in enumerate(uuids))
    )
    assert ends.named(node, "abcde") == ["nvidia:0"]
    assert ends.named(node, "GPU-ABCD0") == ["nvidia:1"]
    assert ends.named(node, "abcd") == ["nvidia:0", "nvidia:1"]
    assert ends.named(node, "abc") == []


WRONG = {
    ("0", "0"): "raxl: error: 0 and 0 are the same device (nvidia:0). give two devices",
    ("0", "4"): "raxl: error: no device is called 4 (there are nvidia:0, nvidia:1, nvidia:2, nvidia:3, mlx5_0)",
    ("GPU-0000", "1"): "raxl: error: GPU-0000 is not one device (it may be nvidia:0, nvidia:1, nvidia:2, nvidia:3). "
    "give an id",
}


@pytest.mark.parametrize(("a", "b"), WRONG)
def test_names_that_fit_none_or_several_are_refused_in_one_line(
    a: str, b: str, tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "one.tar.gz"
    kept.write_bytes(recordings.snapshot("nvidia-a100-pcie-bridged"))
    assert outcome.run(app, ["topo", "--path", a, b, "--from", str(kept)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"{WRONG[a, b]}\n"


def test_both_ends_are_sought_in_one_node_first(tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = []
    for name in ("nvidia-hgx-h100", "nvidia-a100-pcie-bridged"):
        (tmp_path / f"{name}.tar.gz").write_bytes(recordings.snapshot(name))
        arguments += ["--from", str(tmp_path / f"{name}.tar.gz")]
    first, second = "GPU-00000000-0000-4000-8000-000000000000", "GPU-00000000-0000-4000-8000-0000000e0000"
    assert outcome.run(app, ["topo", "--path", first, second, *arguments]) == 0
    assert capsys.readouterr().out.startswith("gpu-07 GPU 0 → a100-5 GPU 0   network, ")
    assert outcome.run(app, ["topo", "--path", "0", "1", *arguments]) == 2
    where = "in several nodes (gpu-07, a100-5). name the node too: gpu-07:0"
    assert capsys.readouterr().err == f"raxl: error: 0 and 1 are {where}\n"
    assert outcome.run(app, ["topo", "--path", first, "mlx5_0", *arguments]) == 0
    assert capsys.readouterr().out.startswith("GPU 0 → mlx5_0")
    assert outcome.run(app, ["topo", "--path", "gpu-07:7", "a100-5:0000:19:00.0", *arguments]) == 2
    assert capsys.readouterr().err.startswith("raxl: error: no device is called a100-5:0000:19:00.0 (there are ")
    assert outcome.run(app, ["topo", "--path", "0", "7", *arguments]) == 0
    assert capsys.readouterr().out.startswith("GPU 0 → GPU 7")


def test_what_a_node_that_is_named_lacks_is_told_by_what_it_has(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.tar.gz"
    path.write_bytes(clusters.packed(clusters.OF_DOCUMENTATION))
    assert outcome.run(app, ["topo", "--path", "tray-04:9", "gpu-07:0", "--from", str(path)]) == 2
    has = "nvidia:0, nvidia:1, nvidia:2, nvidia:3, mlx5_0, mlx5_1, mlx5_2, mlx5_3"
    assert capsys.readouterr().err == f"raxl: error: no device is called tray-04:9 (there are {has})\n"


def between_nodes(tmp_path: FilePath, a: str, b: str) -> tuple[Path, str]:
    """The path between two devices of the cluster of the documentation, and its text."""
    (tmp_path / "cluster.tar.gz").write_bytes(clusters.packed(clusters.OF_DOCUMENTATION))
    recorded = inputs.opened([str(tmp_path / "cluster.tar.gz")])
    document, nodes = paths.document(recorded, assemble.inventory(recorded), (a, b))
    SCHEMA.validate(json.loads(codec.encode(document)))
    assert (document.node, document.other_node) == tuple(node.name for node in nodes)
    return document.path, to_text(text_path.path(document.path, nodes, 200))


def test_from_node_to_node_it_goes_by_the_nearest_nics(tmp_path: FilePath) -> None:
    found, text = between_nodes(tmp_path, "gpu-07:0", "gpu-08:3")
    assert shape(found) == [
        "gpu-07:nvidia:0",
        "gpu-07:0000:16:00.0",
        "gpu-07:mlx5_0",
        "network",
        "gpu-08:mlx5_3",
        "gpu-08:0000:5a:00.0",
        "gpu-08:nvidia:3",
    ]
    assert [(hop.a, hop.b) for hop in found.hops] == list(pairwise(shape(found)))
    assert (found.bandwidth_bytes_per_second, found.narrowest, found.is_bound) == (50_000_000_000, 2, True)
    assert [(one.subject, one.reason) for one in found.problems] == [("network", "not-supported")]
    assert [(use.way, use.caveat) for use in found.uses] == [("gpudirect-rdma", None)]
    assert "gpu-08 mlx5_3 ─ gen5 ×16, 63 GB/s ─ switch gpu-08:0000:5a:00.0" in " ".join(text.split())
    assert "gpu-07: the IOMMU lets DMA pass" in text
    assert (
        "through the network, if it joins their nodes, at most 50 GB/s each way; GPUDirect RDMA goes this way" in text
    )


def test_within_a_domain_it_goes_over_its_fabric(tmp_path: FilePath) -> None:
    found, text = between_nodes(tmp_path, "tray-04:0", "tray-05:1")
    assert shape(found) == ["tray-04:nvidia:0", "nvswitch", "tray-05:nvidia:1"]
    assert (found.kind, found.link_class, found.bandwidth_bytes_per_second) == ("nvlink", "NV18", 900_000_000_000)
    assert text.endswith("tray-04 GPU 0 reaches tray-05 GPU 1 over NVLink, 900 GB/s each way.\n")
    assert between_nodes(tmp_path, "gpu-07:0", "tray-04:0")[0].kind == "network"
    assert between_nodes(tmp_path, "tray-04:mlx5_0", "tray-05:1")[0].kind == "network"


def test_a_gpu_that_is_lost_sends_nothing_to_another_node(tmp_path: FilePath) -> None:
    found, text = between_nodes(tmp_path, "gpu-06:6", "gpu-07:0")
    assert found.uses == ()
    assert text.endswith("Nothing goes from gpu-06 GPU 6 to gpu-07 GPU 0: gpu-06 GPU 6 is lost.\n")


def test_where_no_nic_is_known_that_is_told(tmp_path: FilePath) -> None:
    listed = "GPU 0: NVIDIA L4 (UUID: GPU-000000{}0-0000-0000-0000-000000000001)\n"
    for place in "12":
        (tmp_path / f"{place}.txt").write_text(listed.format(place))
    recorded = inputs.opened([str(tmp_path / "1.txt"), str(tmp_path / "2.txt")])
    found = paths.document(recorded, assemble.inventory(recorded), ("GPU-00000010", "GPU-00000020"))[0].path
    first, second = (node.name for node in assemble.inventory(recorded).nodes)
    assert shape(found) == [f"{first}:nvidia:0", "network", f"{second}:nvidia:0"]
    assert (found.bandwidth_bytes_per_second, found.uses) == (None, ())
    assert [one.subject for one in found.problems] == [
        "network",
        *(f"hops.{n}.bandwidth_bytes_per_second" for n in (0, 1)),
    ]


def gpu(number: int, bus: str, chain: tuple[str, ...], bridge: str = "pci0000:00", numa: int = 0) -> PciFunction:
    address = f"0000:{bus}:00.0"
    return PciFunction(address, "030200", bridge, chain, "10de", "26b9", numa_node=numa, link=FULL)


def port(bus: str, place: int = 0, link: PciLink = FULL) -> PciFunction:
    return PciFunction(f"0000:{bus}:{place:02x}.0", "060400", "pci0000:00", link=link)


def machine(*functions: PciFunction, peering: Peering | None = None, cpu: Cpu | None = None) -> Machine:
    devices = [one for one in functions if not one.is_bridge]
    accelerators = tuple(
        Accelerator(
            f"nvidia:{n}",
            "nvidia",
            "gpu",
            index=n,
            pci=PciIdentity(one.address),
            numa_node=one.numa_node,
            memory_bytes=48 << 30,
        )
        for n, one in enumerate(devices)
    )
    links = tuple(Link(a.id, b.id, "PIX", "pcie", evidence=("sysfs",)) for a, b in combinations(accelerators, 2))
    node = Node("node", "local", accelerators=accelerators, links=links, cpu=cpu or Cpu())
    return Machine(node, {one.address: one for one in functions}, {0: 0, 1: 0, 2: 1}, peering or Peering())


def shape(path: Path) -> list[str]:
    return [component.id for component in path.components]


RP, UP, DOWN_A, DOWN_B = "0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:02:01.0"


def test_two_ports_of_one_switch_are_two_hops() -> None:
    path = between(machine(gpu(0, "03", (RP, UP, DOWN_A)), gpu(1, "04", (RP, UP, DOWN_B))), "nvidia:0", "nvidia:1")
    assert shape(path) == ["nvidia:0", UP, "nvidia:1"]
    assert [hop.bandwidth_bytes_per_second for hop in path.hops] == [63_015_384_615] * 2
    assert path.is_bound is False


def test_a_hop_is_as_fast_as_its_slower_end_and_as_wide_as_it_is_now() -> None:
    """The device could do generation 5 with 16 lanes: the port above can do 4, and 8 lanes are up."""
    slot = port("02", link=PciLink(max_speed_gts=16.0, max_width=16))
    narrow = gpu(0, "03", (RP, UP, DOWN_A))
    narrow = PciFunction(**{**vars(narrow), "link": PciLink(2.5, 8, 32.0, 16)})
    path = between(machine(narrow, slot, gpu(1, "04", (RP, UP, DOWN_B))), "nvidia:0", "nvidia:1")
    assert path.hops[0].link == PciLink(2.5, 8, 16.0, 16)
    assert path.hops[0].bandwidth_bytes_per_second == path.bandwidth_bytes_per_second == 15_753_846_154
    assert path.narrowest == 0
    assert [one.message for one in path.obstacles if one.kind == "width"] == [
        f"the link of nvidia:0 and {UP} has 8 lanes of 16"
    ]


def test_stacked_switches_are_passed_one_by_one() -> None:
    lower = ("0000:03:00.0", "0000:04:00.0")
    path = between(
        machine(gpu(0, "05", (RP, UP, DOWN_A, *lower)), gpu(1, "06", (RP, UP, DOWN_B))), "nvidia:0", "nvidia:1"
    )
    assert shape(path) == ["nvidia:0", lower[0], UP, "nvidia:1"]


def test_different_root_ports_meet_at_the_processor() -> None:
    path = between(machine(gpu(0, "03", (RP,)), gpu(1, "04", ("0000:00:02.0",))), "nvidia:0", "nvidia:1")
    assert shape(path) == ["nvidia:0", "numa:0", "nvidia:1"]
    assert path.is_bound


@pytest.mark.parametrize(
    ("numa", "cpu", "kind", "name"),
    [
        (1, Cpu(), "cpu-internal", None),
        (2, Cpu("Intel(R) Xeon(R) Platinum 8480C", 2), "cpu-interconnect", "UPI"),
        (2, Cpu("AMD EPYC 9354 32-Core Processor", 2), "cpu-interconnect", "xGMI"),
        (2, Cpu("Intel(R) Xeon(R) CPU E5-2680 v4", 2), "cpu-interconnect", None),
        (3, Cpu(), "cpu-interconnect", None),
    ],
)
def test_numa_nodes_are_joined_inside_a_processor_or_between_two(
    numa: int, cpu: Cpu, kind: str, name: str | None
) -> None:
    other = gpu(1, "84", ("0000:80:01.0",), "pci0000:80", numa)
    path = between(machine(gpu(0, "03", (RP,)), other, cpu=cpu), "nvidia:0", "nvidia:1")
    assert shape(path) == ["nvidia:0", "numa:0", f"numa:{numa}", "nvidia:1"]
    assert (path.hops[1].kind, path.hops[1].name, path.hops[1].bandwidth_bytes_per_second) == (kind, name, None)
    assert [problem.subject for problem in path.problems] == ["hops.1.bandwidth_bytes_per_second"]


def test_functions_of_one_card_need_no_switch() -> None:
    first = gpu(0, "03", (RP,))
    second = PciFunction(**{**vars(first), "address": "0000:03:00.1"})
    path = between(machine(first, second), "nvidia:0", "nvidia:1")
    assert [hop.kind for hop in path.hops] == ["card"]


def told(path: Path, kind: str) -> list[str]:
    return [one.status for one in path.obstacles if one.kind == kind]


REDIRECT, PLAIN = Reading(("SrcValid", "ReqRedir"), "config"), Reading(("SrcValid", "UpstreamFwd"), "config")
SILENT = Reading(None, "config", "not-permitted", "it needs root")


@pytest.mark.parametrize(
    ("ports", "status"),
    [
        ({DOWN_A: PLAIN, DOWN_B: PLAIN}, "clear"),
        ({DOWN_A: PLAIN, DOWN_B: REDIRECT}, "slows"),
        ({DOWN_A: SILENT, DOWN_B: REDIRECT}, "slows"),
        ({DOWN_A: SILENT, DOWN_B: PLAIN}, "unknown"),
        ({DOWN_A: PLAIN}, "unknown"),
        ({RP: REDIRECT, DOWN_A: PLAIN, DOWN_B: PLAIN}, "clear"),  # the root port is not on the way
    ],
)
def test_acs_counts_at_the_ports_where_traffic_turns(ports: dict[str, Reading], status: str) -> None:
    switch = machine(gpu(0, "03", (RP, UP, DOWN_A)), gpu(1, "04", (RP, UP, DOWN_B)), peering=Peering(ports=ports))
    assert told(between(switch, "nvidia:0", "nvidia:1"), "acs") == [status]


NOT_THERE = Reading(None, "groups", "not-present")


@pytest.mark.parametrize(
    ("types", "iommus", "parameters", "status"),
    [
        (("identity", "identity"), ("dmar0",), "", "clear"),
        (("identity", "DMA-FQ"), ("dmar0",), "", "slows"),
        (("DMA", "DMA"), ("dmar0",), "iommu=pt", "slows"),
        (("blocked", "identity"), ("dmar0",), "", "blocks"),
        (("identity", "unmanaged"), ("dmar0",), "", "blocks"),
        ((None, None), (), "", "clear"),
        ((None, None), ("dmar0",), "", "clear"),
        ((SILENT, SILENT), ("dmar0",), "", "unknown"),
        ((SILENT, SILENT), ("dmar0",), "quiet iommu=pt", "clear"),
        ((SILENT, "identity"), ("dmar0",), "", "unknown"),
    ],
)
def test_iommu_counts_by_the_groups_of_both(
    types: tuple[object, object], iommus: tuple[str, ...], parameters: str, status: str
) -> None:
    addresses = ("0000:03:00.0", "0000:04:00.0")
    readings = {
        address: one if isinstance(one, Reading) else NOT_THERE if one is None else Reading(one, "groups")
        for address, one in zip(addresses, types, strict=True)
    }
    peering = Peering(
        iommu_types=readings, iommus=Reading(iommus, "iommu"), kernel_parameters=Reading(parameters, "/proc/cmdline")
    )
    found = machine(gpu(0, "03", (RP, UP, DOWN_A)), gpu(1, "04", (RP, UP, DOWN_B)), peering=peering)
    assert told(between(found, "nvidia:0", "nvidia:1"), "iommu") == [status]


@pytest.mark.parametrize(
    ("size", "status"), [(64 << 30, "clear"), (48 << 30, "clear"), (256 << 20, "slows"), (None, "unknown")]
)
def test_a_bar_is_compared_with_the_memory(size: int | None, status: str) -> None:
    reading = Reading(size, "resource", None if size else "not-permitted")
    peering = Peering(bars={"0000:03:00.0": reading, "0000:04:00.0": reading})
    found = machine(gpu(0, "03", (RP, UP, DOWN_A)), gpu(1, "04", (RP, UP, DOWN_B)), peering=peering)
    assert told(between(found, "nvidia:0", "nvidia:1"), "bar") == [status]


OPEN, CLOSED, NO_MODULE = Reading("open", "v"), Reading("closed", "v"), Reading(None, "v", "not-present")
NONE, PEERMEM = Reading(("nvidia",), "m"), Reading(("nvidia", "nvidia_peermem"), "m")


@pytest.mark.parametrize(
    ("module", "modules", "kernel", "kind", "status"),
    [
        (OPEN, NONE, "6.8.0-60-generic", "infiniband", "clear"),
        (OPEN, NONE, "5.12.0", "roce", "clear"),
        (OPEN, NONE, "5.4.0-216-generic", "infiniband", "blocks"),
        (CLOSED, NONE, "6.8.0", "infiniband", "blocks"),
        (CLOSED, PEERMEM, "5.4.0", "infiniband", "clear"),
        (CLOSED, SILENT, "6.8.0", "infiniband", "unknown"),
        (NO_MODULE, NONE, "6.8.0", "infiniband", "unknown"),
        (OPEN, NONE, None, "infiniband", "unknown"),
        (OPEN, PEERMEM, "6.8.0", "ethernet", "blocks"),
        (OPEN, PEERMEM, "6.8.0", None, "unknown"),
    ],
)
def test_gpudirect_rdma_needs_dma_buf_or_peermem_and_an_rdma_device(
    module: Reading, modules: Reading, kernel: str | None, kind: str | None, status: str
) -> None:
    from dataclasses import replace

    from raxl.model.node import OperatingSystem

    function = gpu(0, "03", (RP, UP, DOWN_A))
    adapter = PciFunction("0000:04:00.0", "020700", "pci0000:00", (RP, UP, DOWN_B), numa_node=0, link=FULL)
    found = machine(function, peering=Peering(nvidia_module=module, modules=modules))
    nic = Nic("mlx5_0", kind=kind, pci=PciIdentity(adapter.address), speed_bits_per_second=400_000_000_000)
    link = Link("nvidia:0", "mlx5_0", "PIX", "pcie", evidence=("sysfs",))
    node = replace(found.node, nics=(nic,), links=(link,), os=OperatingSystem(kernel=kernel))
    found = found._replace(node=node, functions={**found.functions, adapter.address: adapter})
    path = between(found, "nvidia:0", "mlx5_0")
    assert told(path, "gpudirect-rdma") == [status]
    ways = {"clear": ["gpudirect-rdma"], "blocks": ["host-memory"], "unknown": ["gpudirect-rdma", "host-memory"]}
    assert [use.way for use in path.uses] == ways[status]


MOST_PAIRS = 40


@pytest.mark.parametrize("sample", samples.ALL, ids=samples.name)
def test_every_path_holds_together(sample: str | FilePath, tmp_path: FilePath) -> None:
    for recording in samples.opened(sample, tmp_path):
        node = assemble.node(recording)
        found = paths.machine(recording, node)
        pairs = list(combinations([one.id for one in (*node.accelerators, *node.nics)], 2))
        for a, b in pairs[:: -(-len(pairs) // MOST_PAIRS) or 1]:
            check(between(found, a, b), node, a, b)


@pytest.mark.parametrize("name", ["nvidia-a100-pcie-bridged", "nvidia-l40s"])
def test_paths_hold_together_whatever_answer_is_missing(name: str) -> None:
    """One that is not there makes nothing clear: what it told is unknown, and said."""
    whole = recordings.recording(name)
    clear = _clear(whole)
    for missing in list(whole.answers)[:: len(whole.answers) // 60]:
        rest = Recording({one: answer for one, answer in whole.answers.items() if one != missing}, name=whole.name)
        for (pair, kind), status in _clear(rest).items():
            assert status != "clear" or clear.get((pair, kind), "clear") in ("clear", "unknown"), (missing, pair, kind)


def _clear(recording: Recording) -> dict[tuple[tuple[str, str], str], str]:
    node = assemble.node(recording)
    found = paths.machine(recording, node)
    told = {}
    for a, b in combinations([one.id for one in (*node.accelerators, *node.nics)], 2):
        path = between(found, a, b)
        check(path, node, a, b)
        told.update({((a, b), one.kind): one.status for one in path.obstacles})
    return told


def check(path: Path, node: Node, a: str, b: str) -> None:
    """A path leads from one end to the other, says what it does not know, and fits every page."""
    assert (path.components[0].id, path.components[-1].id) == (a, b)
    assert len(path.hops) == len(path.components) - 1
    ids = [component.id for component in path.components]
    assert len(set(ids)) == len(ids)
    assert [(hop.a, hop.b) for hop in path.hops] == list(pairwise(ids))
    rates = [hop.bandwidth_bytes_per_second for hop in path.hops]
    known = [rate for rate in rates if rate is not None]
    assert len(path.problems) == 0 if len(known) == len(rates) else path.problems
    known = known if path.kind is not None else []  # a fabric may carry more
    assert path.bandwidth_bytes_per_second == min(known, default=None)
    assert path.narrowest == (rates.index(min(known)) if known else None)
    for problem in path.problems:
        assert problem.reason in REASONS
        assert problem.message
    for one in path.obstacles:
        assert one.status in ("blocks", "slows", "clear", "unknown")
        assert (one.reason is not None) == (one.status == "unknown")
        assert one.reason is None or (one.reason in REASONS and one.why)
        assert one.message
    document = PathDocument(schemas.PATH, __version__, "", node.name, node.source, path)
    text = codec.encode(document)
    SCHEMA.validate(json.loads(text))
    assert codec.decode(text, PathDocument) == document
    for width in (80, 120, 200):
        lines = to_text(text_path.path(path, (node,), width)).splitlines()
        assert all(len(line) <= width for line in lines)
        assert lines[-1].endswith(".")
    assert to_text(text_path.path(path, (node,), 80, unicode=False)).isascii()


def test_a_pasted_answer_about_peer_access_counts_where_the_library_was_not_asked(tmp_path: FilePath) -> None:
    """`CNS` between two GPUs that a host bridge joins: the way between them is through host memory."""
    snapshot, text = tmp_path / "node.tar.gz", tmp_path / "p2p.txt"
    snapshot.write_bytes(recordings.snapshot("nvidia-l40s"))
    text.write_text("$ nvidia-smi topo -p2p rw\n \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n\nLegend:\n  X = Self\n")
    recorded = inputs.opened([str(snapshot), str(text)], "n")
    path = paths.document(recorded, assemble.inventory(recorded), ("0", "1"))[0].path
    (told,) = [one for one in path.obstacles if one.kind == "p2p"]
    assert (told.status, told.evidence) == ("blocks", ("nvidia-smi topo -p2p",))
    assert [use.way for use in path.uses] == ["host-memory"]


def test_a_benchmark_laid_over_the_way_says_what_was_fastest_there(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot, file = tmp_path / "gpu-07.tar.gz", tmp_path / "bench.json"
    snapshot.write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    gpus = {"source": Endpoint("gpu-07", "nvidia:0"), "target": Endpoint("gpu-07", "nvidia:5")}
    memory = {"source": Endpoint("gpu-07", "cpu"), "target": Endpoint("gpu-07", "cpu")}
    rows = [row("torch-nccl", seconds=0.001, **gpus), row("rdt-nixl", seconds=0.002, **gpus), row("tcp", **memory)]
    file.write_text(codec.encode(bench(*rows)))
    command = ["topo", "--from", str(snapshot), "--overlay", str(file), "--path"]
    assert outcome.run(app, [*command, "0", "5"]) == 0
    shown = capsys.readouterr().out
    assert "fastest, gpu-07: nvidia:0 → nvidia:5\n" in shown
    assert "torch-nccl" in shown
    assert "2 times as fast as rdt-nixl" in shown
    assert outcome.run(app, [*command, "0", "4", "--format", "json"]) == 0
    document = codec.decode(capsys.readouterr().out, PathDocument)
    assert [one.transport for one in document.measured] == ["tcp"], "between the node's memories, for want of better"
    file.write_text(codec.encode(bench(replace(rows[0], verified=False))))
    assert outcome.run(app, [*command, "0", "5"]) == 0
    assert "holds no verified row between these two" in capsys.readouterr().out
    assert outcome.run(app, command[:-1]) == outcome.USAGE
    assert outcome.run(app, ["topo", "--from", str(snapshot), "--path", "0", "5", "--overlay", str(snapshot)]) == 4
