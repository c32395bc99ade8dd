"""hwloc XML: real captures against the manifest's ground truth, and small documents for each trap."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from raxl.intake import hwloc_xml
from raxl.intake.foreign import Foreign
from raxl.model.component import PciFunction
from raxl.topology import pcie

CORPUS = Path(os.environ["RAXL_CORPUS"]) if "RAXL_CORPUS" in os.environ else None
MODELLED = ("NVML", "RSMI", "CUDA", "OpenCL")


def captures() -> list[dict[str, object]]:
    if CORPUS is None:
        return []
    entries = yaml.safe_load((CORPUS / "MANIFEST.yaml").read_text())["entries"]
    return [entry for entry in entries if entry["kind"] == "hwloc-xml" and (CORPUS / entry["path"]).exists()]


CAPTURES = captures()
real = pytest.mark.skipif(CORPUS is None, reason="RAXL_CORPUS names no corpus")
each = pytest.mark.parametrize("entry", CAPTURES, ids=[str(entry["path"]) for entry in CAPTURES])


def read(entry: dict[str, object]) -> Foreign:
    assert CORPUS is not None
    return hwloc_xml.parse((CORPUS / str(entry["path"])).read_text())[0]


def is_accelerator(function: PciFunction) -> bool:
    classes = {"10de": ("03",), "1002": ("03", "12")}.get(function.vendor_id or "", ())
    return bool(classes) and (function.class_id or "").startswith(classes)


@real
@each
def test_counts(entry):
    foreign, counts = read(entry), entry["ground_truth"].get("object_counts", {})
    assert len(foreign.numa_nodes) == counts.get("NUMANode", 0)
    assert foreign.cpu.packages == counts.get("Package")
    assert foreign.cpu.cores == counts.get("Core")
    assert foreign.cpu.threads == counts.get("PU")


@real
@each
def test_accelerators(entry):
    foreign, truth = read(entry), entry["ground_truth"]
    stated = {str(address): text.split() for address, text in truth["gpu_ib_pci"].items()}
    wanted = {
        address
        for address, (_, kind, _, ids, *_) in stated.items()
        if kind.startswith(("03", "12")) and ids.startswith(("10de", "1002"))
    }
    found = {function.address: function for function in foreign.functions if is_accelerator(function)}
    assert set(found) == wanted
    assert {claim.address for claim in foreign.report.claims} <= wanted
    for address in wanted:
        assert f"{found[address].vendor_id}:{found[address].device_id}" == stated[address][3]
        mask = int(stated[address][5], 16)
        nodes = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
        assert found[address].numa_node == (nodes[0] if len(nodes) == 1 else None)


@real
@each
def test_models(entry):
    foreign, truth = read(entry), entry["ground_truth"]
    claims = {claim.address: claim for claim in foreign.report.claims}
    accelerators = {function.address for function in foreign.functions if is_accelerator(function)}
    models: dict[str, dict[str, str]] = {}
    for osdev in truth["accelerator_osdevs"]:
        if osdev["pci"] in accelerators and osdev["model"]:
            backend = next(name for name in MODELLED if osdev["name"].startswith(name.lower()))
            models.setdefault(osdev["pci"], {})[backend] = osdev["model"]
    for address, said in models.items():
        assert claims[address].model == next(said[name] for name in MODELLED if name in said)


@real
@each
def test_nics(entry):
    foreign, wanted = read(entry), {}
    for osdev in entry["ground_truth"]["network_osdevs"]:
        if isinstance(osdev, str):
            name, _, place = osdev.partition("@")
            wanted.setdefault(place.split()[0], set()).add(name)
        else:
            wanted.setdefault(str(osdev["pci"]), set()).add(osdev["name"])
    known: dict[str, set[str | None]] = {}
    for nic in foreign.nics:
        if nic.pci is not None:
            names = {nic.id, nic.netdev, *(port.netdev for port in nic.ports)}
            known.setdefault(nic.pci.address, set()).update(names)
    for address, names in wanted.items():
        assert names <= known[address]


@real
def test_the_largest_capture_is_quick():
    text = max(((CORPUS / entry["path"]).read_text() for entry in CAPTURES), key=len)
    took = []
    for _ in range(3):
        start = time.perf_counter()
        hwloc_xml.parse(text)
        took.append(time.perf_counter() - start)
    assert min(took) <= 0.060


def document(inside: str, after: str = "", version: str = 'version="2.0"') -> str:
    machine = f'<object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000003">{inside}</object>'
    return (
        f'<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology {version}>{machine}{after}</topology>'
    )


def parsed(*arguments: str, **named: str) -> Foreign:
    foreign, problems = hwloc_xml.parse(document(*arguments, **named))
    assert problems == ()
    return foreign


def infos(**pairs: str) -> str:
    return "".join(f'<info name="{name}" value="{value}"/>' for name, value in pairs.items())


def osdev(name: str, kind: str, gp: int = 0, **pairs: str) -> str:
    return f'<object type="OSDev" name="{name}" osdev_type="{kind}" gp_index="{gp}">{infos(**pairs)}</object>'


def pcidev(address: str, kind: str, inside: str = "", extra: str = "") -> str:
    return f'<object type="PCIDev" pci_busid="{address}" pci_type="{kind}" {extra}>{inside}</object>'


def host(inside: str, buses: str = "0000:[16-1f]") -> str:
    return f'<object type="Bridge" bridge_type="0-1" bridge_pci="{buses}">{inside}</object>'


def bridge(address: str, inside: str) -> str:
    kind = "0604 [8086:2030] [8086:0000] 04"
    return f'<object type="Bridge" bridge_type="1-1" pci_busid="{address}" pci_type="{kind}">{inside}</object>'


V100 = "0302 [10de:1db8] [10de:131d] a1"


def test_function_of_v3():
    inside = host(bridge("0000:16:00.0", bridge("0000:17:00.0", pcidev("0000:18:00.0", V100 + " 00"))))
    (_, _, function) = parsed(inside, version='version="3.0"').functions
    assert function.class_id == "030200"
    assert (function.vendor_id, function.device_id, function.subsystem_id) == ("10de", "1db8", "10de:131d")
    assert function.host_bridge == "pci0000:16"
    assert function.chain == ("0000:16:00.0", "0000:17:00.0")
    assert (function.numa_node, function.local_numa_nodes) == (None, (0, 1))
    assert function.evidence == "hwloc-xml"


def test_bridges_are_functions():
    first = parsed(host(bridge("0000:16:00.0", ""))).functions[0]
    assert first.is_bridge
    assert first.host_bridge == "pci0000:16"


def test_function_without_any_bridge():
    """lstopo can leave bridges out: the place is then not known."""
    (function,) = parsed(pcidev("0000:18:00.0", V100)).functions
    assert (function.host_bridge, function.chain) == (None, ())


def test_path_class_follows_from_the_chains():
    pair = bridge("0000:18:00.0", pcidev("0000:19:00.0", V100)) + bridge("0000:18:01.0", pcidev("0000:1a:00.0", V100))
    other = host(bridge("0000:20:00.0", pcidev("0000:21:00.0", V100)), "0000:[20-2f]")
    foreign = parsed(host(bridge("0000:16:00.0", bridge("0000:17:00.0", pair))) + other)
    at = {function.address: function for function in foreign.functions}
    assert pcie.path_class(at["0000:19:00.0"], at["0000:1a:00.0"], 2) == "PIX"
    assert pcie.path_class(at["0000:19:00.0"], at["0000:21:00.0"], 1) == "NODE"


def test_unreadable_configuration_space():
    (function,) = parsed(host(pcidev("0000:18:00.0", "0000 [0000:0000] [0000:0000] 00"))).functions
    assert (function.class_id, function.vendor_id, function.subsystem_id) == (None, None, None)


def test_two_functions_with_one_address():
    """A storage controller and a network adapter at one address: the adapter's own function counts."""
    card = pcidev("0000:04:00.0", "0207 [15b3:1013] [15b3:0010] 00", osdev("mlx5_0", "3"))
    text = document(host(pcidev("0000:04:00.0", "0107 [8086:1d6b] [15d9:062b] 06") + card))
    foreign, problems = hwloc_xml.parse(text)
    assert [problem.reason for problem in problems] == ["disagreement"]
    assert foreign.functions[0].vendor_id == "15b3"
    assert foreign.nics[0].pci is not None
    assert foreign.nics[0].pci.vendor_id == "15b3"


def test_numa_nodes_of_v1_contain_the_cores():
    inside = (
        '<distances nbobjs="2" relative_depth="1" latency_base="10.000000"><latency value="1.000000"/>'
        '<latency value="2.100000"/><latency value="2.100000"/><latency value="1.000000"/></distances>'
        '<object type="NUMANode" os_index="0" cpuset="0xffff0000,,0x000ffff0,0x0" nodeset="0x1" local_memory="4096">'
        '<object type="Socket"><object type="Core"><object type="PU"/></object></object></object>'
        '<object type="NUMANode" os_index="252" cpuset="0x0" nodeset="0x10000000,,,,,,,0x0"/>'
    )
    foreign = parsed(inside, version="")
    first, second = foreign.numa_nodes
    assert (first.id, first.cpus, first.memory_bytes, first.distances) == (0, "36-51,112-127", 4096, (10, 21))
    assert (second.id, second.cpus, second.memory_bytes, second.distances) == (252, "", None, (21, 10))
    assert (foreign.cpu.packages, foreign.cpu.cores, foreign.cpu.threads) == (1, 1, 1)


def test_locality_of_a_node_in_v1():
    inside = f'<object type="NUMANode" os_index="8" nodeset="0x00000100">{host(pcidev("0000:18:00.0", V100))}</object>'
    assert parsed(inside, version="").functions[0].numa_node == 8


def test_numa_distances_of_v2():
    nodes = '<object type="NUMANode" os_index="0" cpuset="0x1"/><object type="NUMANode" os_index="8" cpuset="0x2"/>'
    matrix = (
        '<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">'
        "<indexes>8 0 </indexes><u64values>10 40 </u64values><u64values>20 11 </u64values></distances2>"
    )
    assert [node.distances for node in parsed(nodes, matrix).numa_nodes] == [(11, 20), (40, 10)]


def test_a_matrix_that_does_not_fit():
    nodes = '<object type="NUMANode" os_index="0" cpuset="0x1"/>'
    matrix = '<distances2 type="NUMANode" nbobjs="2" kind="5" indexing="os"><indexes>0</indexes></distances2>'
    foreign, problems = hwloc_xml.parse(document(nodes, matrix))
    assert foreign.numa_nodes[0].distances == ()
    assert [problem.subject for problem in problems] == ["numa_nodes.distances"]


def test_machine_infos_stand_on_the_topology_since_v3():
    said = infos(OSRelease="6.1.0", Architecture="x86_64", HostName="node7.example.org")
    for foreign in (parsed("", said, version='version="3.0"'), parsed(said)):
        assert (foreign.os.kernel, foreign.os.architecture, foreign.hostname) == ("6.1.0", "x86_64", "node7")
    assert parsed(infos(HostName="localhost")).hostname is None


def test_counts_that_were_filtered_out_are_not_known():
    foreign = parsed('<object type="Package"><info name="CPUModel" value="EPYC"/></object>')
    assert (foreign.cpu.model, foreign.cpu.packages, foreign.cpu.cores, foreign.cpu.threads) == ("EPYC", 1, None, None)


def test_osdevs_of_one_address_are_one_claim():
    inside = (
        osdev("opencl0d0", "5", GPUVendor="NVIDIA Corporation", GPUModel="ocl", OpenCLGlobalMemorySize="1024")
        + osdev("cuda1", "5", GPUVendor="NVIDIA Corporation", GPUModel="cuda", CUDAGlobalMemorySize="2048")
        + osdev("nvml3", "1", GPUVendor="NVIDIA Corporation", GPUModel="nvml", NVIDIAUUID="GPU-1", NVIDIASerial="7")
    )
    (claim,) = parsed(host(pcidev("0000:18:00.0", V100, inside))).report.claims
    assert (claim.vendor, claim.kind, claim.address, claim.index) == ("nvidia", "gpu", "0000:18:00.0", 3)
    assert (claim.model, claim.uuid, claim.serial, claim.memory_bytes) == ("nvml", "GPU-1", "7", 2 << 20)


def test_rsmi_of_v3():
    said = {"GPUVendor": "AMD", "GPUModel": "deon Instinct MI50", "AMDUUID": "956a", "XGMIHiveID": "dc41"}
    inside = osdev("rsmi2", "12", RSMIVRAMSize="67092480KiB", **said)
    card = pcidev("0000:18:00.0", "0380 [1002:66a1] [1002:0834] 02 00", inside)
    (claim,) = parsed(host(card), version='version="3.0"').report.claims
    assert (claim.vendor, claim.index, claim.model, claim.uuid) == ("amd", 2, "deon Instinct MI50", "956a")
    assert claim.memory_bytes == 67092480 << 10
    assert claim.fabric is not None
    assert claim.fabric.domain == "dc41"


def test_a_hive_of_zero_is_none():
    card = pcidev("0000:18:00.0", "0380 [1002:66a1] [1002:0834] 02", osdev("rsmi0", "1", XGMIHiveID="0"))
    assert parsed(host(card)).report.claims[0].fabric is None


def test_partitions_of_one_package():
    inside = osdev("rsmi0", "1", RSMIVRAMSize="1024") + osdev("rsmi1", "1", RSMIVRAMSize="1024")
    (claim,) = parsed(host(pcidev("0000:18:00.0", "1200 [1002:74a1] [1002:74a1] 00", inside))).report.claims
    assert (claim.index, claim.memory_bytes) == (None, None)
    assert [(part.id, part.memory_bytes) for part in claim.partitions] == [("rsmi0", 1 << 20), ("rsmi1", 1 << 20)]


@pytest.mark.parametrize(
    "kind",
    ["0300 [1d0f:1111] [0000:0000] 00", "0200 [10de:1db8] [0000:0000] 00", "0380 [1002:66a1] [1002:0834] 02"],
    ids=["the console's VGA", "no display controller", "another vendor's"],
)
def test_an_osdev_below_another_device_is_no_accelerator(kind):
    stray = osdev("opencl0d2", "5", GPUVendor="NVIDIA Corporation", GPUModel="Tesla V100")
    inside = host(pcidev("0000:00:03.0", kind, stray) + pcidev("0000:00:16.0", V100) + stray)
    assert parsed(inside).report.claims == ()


def test_osdevs_are_all_there_is_without_pci():
    inside = osdev("nvml1", "1", GPUModel="H100", NVIDIAUUID="GPU-2") + osdev("opencl0d0", "5", GPUModel="H100")
    (claim,) = parsed(inside).report.claims
    assert (claim.vendor, claim.address, claim.index, claim.uuid) == ("nvidia", None, 1, "GPU-2")


def test_a_drm_device_says_nothing():
    assert parsed(host(pcidev("0000:18:00.0", V100, osdev("card0", "1")))).report.claims == ()


def matrix(name: str, indexes: str, values: str, count: int) -> str:
    head = f'<distances2hetero nbobjs="{count}" kind="25" name="{name}">'
    return f"{head}<indexes>{indexes}</indexes><u64values>{values}</u64values></distances2hetero>"


def two_gpus(kind: str = V100, runtime: str = "nvml", after: str = "") -> str:
    pair = (
        pcidev(f"0000:{18 + number}:00.0", kind, osdev(f"{runtime}{number}", "1", 100 + number)) for number in (0, 1)
    )
    return host("".join(pair) + after)


def test_nvlinks_between_two():
    link = parsed(two_gpus(), matrix("NVLinkBandwidth", "OSDev:100 OSDev:101", "1000000 50000 50000 1000000", 2))
    (link,) = link.report.links
    assert (link.a, link.b, link.link_class, link.kind) == ("0000:18:00.0", "0000:19:00.0", "NV2", "nvlink")
    assert (link.count, link.bandwidth_bytes_per_second, link.bandwidth_source) == (2, 50 * 10**9, "reported")


def test_the_first_generation_has_slower_links():
    text = matrix("NVLinkBandwidth", "OSDev:100 OSDev:101", "1000000 80000 80000 1000000", 2)
    (link,) = parsed(two_gpus("0302 [10de:15f9] [10de:116b] a1"), text).report.links
    assert link.count == 4


def test_a_count_that_does_not_come_out():
    text = matrix("NVLinkBandwidth", "OSDev:100 OSDev:101", "1000000 26562 26562 1000000", 2)
    (link,) = parsed(two_gpus(), text).report.links
    assert (link.link_class, link.count, link.bandwidth_bytes_per_second) == (None, None, 26562 * 10**6)


def test_xgmi_has_no_count():
    text = (
        '<distances2 type="OSDev" nbobjs="2" kind="9" name="XGMIBandwidth" indexing="gp"><indexes>100 101</indexes>'
        "<u64values>1000000 100000 100000 1000000</u64values></distances2>"
    )
    (link,) = parsed(two_gpus("0380 [1002:7408] [1002:0b0c] 00", "rsmi"), text).report.links
    assert (link.link_class, link.kind, link.count) == (None, "xgmi", None)
    assert link.bandwidth_bytes_per_second == 10**11


def test_nvswitches_are_taken_for_one():
    """As on a DGX-2: each board's GPUs see their own switch chips, and one chip's configuration space is unreadable."""
    chips = (
        '<object type="PCIDev" gp_index="200" pci_busid="0000:61:00.0" pci_type="0680 [10de:1ac2] [0000:0000] a1"/>'
        '<object type="PCIDev" gp_index="201" subtype="NVSwitch" pci_busid="0000:62:00.0"'
        ' pci_type="0000 [0000:0000] [0000:0000] 00"/>'
    )
    values = "0 0 150000 0  0 0 0 75000  150000 0 0 0  0 75000 0 0"
    text = matrix("NVLinkBandwidth", "OSDev:100 OSDev:101 PCIDev:200 PCIDev:201", values, 4)
    report = parsed(two_gpus(after=chips), text).report
    assert [(switch.id, switch.kind) for switch in report.switches] == [
        ("nvswitch@0000:61:00.0", "nvswitch"),
        ("nvswitch@0000:62:00.0", "nvswitch"),
    ]
    assert [(link.link_class, link.bandwidth_bytes_per_second) for link in report.links] == [("NV3", 75 * 10**9)]


def test_a_matrix_that_is_not_symmetric():
    text = matrix("NVLinkBandwidth", "OSDev:100 OSDev:101", "0 50000 25000 0", 2)
    foreign, problems = hwloc_xml.parse(document(two_gpus(), text))
    assert [(link.count, link.bandwidth_bytes_per_second) for link in foreign.report.links] == [(None, None)]
    assert [problem.reason for problem in problems] == ["disagreement"]
    assert "50000" in problems[0].message
    assert "25000" in problems[0].message


CONNECTX = "0207 [15b3:1017] [15b3:0007] 00"


def test_rdma_device_with_its_network_device():
    inside = osdev("ib0", "2", Port="1") + osdev("mlx5_0", "3", Port1State="4", Port1LID="0x18")
    (nic,) = parsed(host(pcidev("0000:18:00.0", CONNECTX, inside))).nics
    assert (nic.id, nic.netdev, nic.kind, nic.state) == ("mlx5_0", "ib0", "infiniband", "ok")
    assert [(port.port, port.netdev, port.state) for port in nic.ports] == [(1, "ib0", "ok")]


def test_two_ports_of_one_rdma_device():
    inside = (
        osdev("ib1", "2", Port="2") + osdev("ib0", "2", Port="1") + osdev("mlx4_0", "3", Port1State="4", Port2State="1")
    )
    (nic,) = parsed(host(pcidev("0000:18:00.0", CONNECTX, inside))).nics
    assert (nic.netdev, nic.state) == (None, "ok")
    assert [(port.port, port.netdev, port.state) for port in nic.ports] == [(1, "ib0", "ok"), (2, "ib1", "down")]


def test_types_of_v3_are_masks():
    inside = osdev("eth4", "16") + osdev("usnic_0", "48", NodeGUID="0") + osdev("sda", "1")
    card = pcidev("0000:18:00.0", "0200 [1137:0043] [1137:0085] a2 00", inside)
    (nic,) = parsed(host(card), version='version="3.0"').nics
    assert (nic.id, nic.netdev, nic.kind) == ("usnic_0", "eth4", "rdma")


@pytest.mark.parametrize(
    ("kind", "names", "wanted"),
    [
        ("0200 [1d0f:efa1] [1d0f:efa1] 00", (("rdmap79s0", "3"),), ("rdmap79s0", None, "efa")),
        ("0208 [8086:24f0] [8086:24f0] 11", (("hsi0", "2"), ("hfi1_0", "3")), ("hfi1_0", "hsi0", "omni-path")),
        ("0200 [15b3:1021] [15b3:0038] 00", (("mlx5_0", "3"),), ("mlx5_0", None, "roce")),
        ("0200 [8086:1521] [8086:0001] 01", (("eno1", "2"),), ("eno1", "eno1", "ethernet")),
        ("0200 [8086:1521] [8086:0001] 01", (), ("0000:18:00.0", None, None)),
        ("0100 [1af4:1001] [1af4:0001] 00", (("eth0", "2"),), ("eth0", "eth0", "ethernet")),
    ],
    ids=["efa", "omni-path", "roce", "ethernet", "no OS device", "another class"],
)
def test_kinds(kind, names, wanted):
    inside = "".join(osdev(name, number) for name, number in names)
    (nic,) = parsed(host(pcidev("0000:18:00.0", kind, inside))).nics
    assert (nic.id, nic.netdev, nic.kind) == wanted


def test_network_devices_without_pci():
    names = [nic.id for nic in parsed(osdev("lo", "2") + osdev("docker0", "2") + osdev("eth0", "2")).nics]
    assert names == ["eth0"]


def test_a_document_that_was_cut_off():
    text = document(host(pcidev("0000:18:00.0", V100, osdev("nvml0", "1", GPUModel="V100"))) + "<object ")
    foreign, problems = hwloc_xml.parse(text[: text.rindex("<object ") + 5])
    assert [claim.model for claim in foreign.report.claims] == ["V100"]
    assert foreign.cpu.threads is None
    assert [problem.reason for problem in problems] == ["failed"]


@pytest.mark.parametrize("text", ["", "no XML", "<a/>", '<!DOCTYPE a [<!ENTITY b "c">]><topology/>'])
def test_what_is_refused(text):
    foreign, problems = hwloc_xml.parse(text)
    assert foreign == Foreign("hwloc-xml")
    assert len(problems) == 1


WHOLE = document(
    two_gpus(after=pcidev("0000:20:00.0", CONNECTX, osdev("mlx5_0", "3", Port1State="4") + osdev("ib0", "2", Port="1")))
    + '<object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x1" local_memory="4096"/>',
    matrix("NVLinkBandwidth", "OSDev:100 OSDev:101", "1000000 50000 50000 1000000", 2),
)


@given(st.data())
def test_never_raises(data):
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 4))):
        first, last = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
        piece = data.draw(
            st.sampled_from(["", text[first:last] * 2, "-1", "9" * 30, "0xf...f", ":", '"', "<", "\0", "é"])
        )
        text = text[:first] + piece + text[last if data.draw(st.booleans()) else first :]
    foreign, problems = hwloc_xml.parse(text)
    assert foreign.form == "hwloc-xml"
    assert all(problem.message for problem in problems)


VALUES = st.sampled_from(
    ["", "-1", "0", "9" * 25, "1e9", "0x", "0000:00:00.0", "OSDev", "PCIDev", "NUMANode", "é", "²"]
)


@given(st.integers(0, WHOLE.count('="') - 1), VALUES)
def test_any_attribute_may_be_absurd(place, value):
    parts = WHOLE.split('="')
    parts[place + 1] = value + parts[place + 1][parts[place + 1].index('"') :]
    assert hwloc_xml.parse('="'.join(parts))[0].form == "hwloc-xml"
