"""amd-smi and rocm-smi: what each output says of GPUs, links and software, in small texts made by hand."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

import seeds
from raxl.collect import assemble, inputs
from raxl.intake import amd_smi_json, amd_smi_text, documents, rocm_smi_json, rocm_smi_text
from raxl.intake.foreign import Foreign
from raxl.model.node import Node
from raxl.model.problem import Problem
from raxl.model.report import Claim, LinkClaim
from test_bad_input import given, nodes

FORMS = {
    "amd-smi-json": amd_smi_json,
    "amd-smi-text": amd_smi_text,
    "rocm-smi-json": rocm_smi_json,
    "rocm-smi-text": rocm_smi_text,
}
GIB = 1 << 30


def read(module: object, text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    assert module.recognises(text)
    return module.parse(module.own(text))


def claims(module: object, text: str) -> list[Claim]:
    return list(read(module, text)[0].report.claims)


def links(module: object, text: str) -> list[LinkClaim]:
    return list(read(module, text)[0].report.links)


def problems(module: object, text: str) -> list[tuple[str, str]]:
    return [(one.reason, one.message) for one in read(module, text)[1]]


def node_of(text: str) -> Node:
    (node,) = assemble.inventory(inputs._from_bytes(text.encode(), "given")).nodes
    return node


@pytest.mark.parametrize("form", FORMS)
def test_two_mi300x(form: str) -> None:
    """Addresses, unique ids, models, memory and NUMA nodes are the same in all four."""
    foreign, problem = read(FORMS[form], seeds.TEXTS[form])
    first, second = foreign.report.claims
    assert (first.index, second.index) == (0, 1)
    assert (first.address, second.address) == ("0000:05:00.0", "0000:26:00.0")
    assert (first.unit, second.unit) == ("abd13c23a9580558", "77091c467da33120")
    assert first.uuid == "GPU-abd13c23a9580558"
    assert first.model in ("AMD Instinct MI300X", "AMD Instinct MI300X OAM")
    assert (first.device_id, first.vendor_id) == ("74a1", "1002")
    assert first.memory_bytes == 196592 << 20
    assert (first.numa_node, second.numa_node) == (0, 1)
    assert first.ray is not None
    assert (first.ray.resource, first.ray.type) == ("GPU", "AMD-Instinct-MI300X-OAM")
    assert (first.state, first.visible_env) == ("ok", "HIP_VISIBLE_DEVICES")
    assert [(one.name, one.version) for one in foreign.report.software] == [("amdgpu", "6.12.12")]
    assert problem == ()


@pytest.mark.parametrize("form", FORMS)
def test_their_link(form: str) -> None:
    """amd-smi gives the bandwidth of one link and of all: two links. rocm-smi's weight and hops count none."""
    (link,) = links(FORMS[form], seeds.TEXTS[form])
    assert {link.a, link.b} == {"0000:05:00.0", "0000:26:00.0"}
    assert link.kind == "xgmi"
    if form.startswith("amd"):
        assert (link.link_class, link.count) == ("XGMI2", 2)
        assert (link.bandwidth_bytes_per_second, link.bandwidth_source) == (100 * 10**9, "reported")
    else:
        assert (link.link_class, link.count, link.bandwidth_bytes_per_second) == (None, None, None)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_recognised_as_itself_alone(form: str) -> None:
    text = seeds.TEXTS[form]
    assert [name for name, module in documents.TEXTS.items() if import_module(module).recognises(text)] == [
        FORMS[form].FORM
    ]
    for other in ("nvidia-smi-xml", "nvidia-smi-topo", "hwloc-xml", "nccl-xml"):
        assert not FORMS[form].recognises(seeds.TEXTS[other])
    for other in ("", "{}", "[]", '[{"gpu": 0}]', '{"gpu": 0, "temperature": 3}', "GPU 0: NVIDIA H100 (UUID: GPU-1)"):
        assert not FORMS[form].recognises(other)


@pytest.mark.parametrize("form", FORMS)
def test_colours_line_ends_and_a_prompt_make_no_difference(form: str) -> None:
    text = seeds.TEXTS[form]
    pasted = "user@host:~$ tool\r\n\x1b[1m" + text.replace("\n", "\x1b[0m\r\n") + "user@host:~$ \n"
    assert read(FORMS[form], pasted) == read(FORMS[form], text)
    assert "user@host" not in FORMS[form].own(pasted)


def test_all_forms_of_one_machine_are_one_node(tmp_path: Path) -> None:
    sources = [word for form in FORMS for word in ("--from", given(tmp_path / form, seeds.TEXTS[form]))]
    (node,) = nodes(*sources, "--as-node", "gpu-07")
    assert [one["id"] for one in node["accelerators"]] == ["amd:0", "amd:1"]
    assert node["accelerators"][0]["evidence"] == ["amd-smi --json", "rocm-smi --json", "amd-smi", "rocm-smi"]
    (link,) = node["links"]
    assert link["link_class"] == "XGMI2"
    assert not [one for one in node["problems"] if one["reason"] == "disagreement"]


def test_several_outputs_of_one_tool_in_several_files_are_all_read(tmp_path: Path) -> None:
    """`amd-smi static` in one file and `amd-smi topology` in another."""
    static, topology = seeds.AMD_SMI_JSON.split("]}\n[{")
    files = [given(tmp_path / "a.json", static + "]}"), given(tmp_path / "b.json", "[{" + topology)]
    for order in (files, files[::-1]):
        (node,) = nodes(*[word for path in order for word in ("--from", path)], "--as-node", "x")
        assert [one["model"] for one in node["accelerators"]] == ["AMD Instinct MI300X"] * 2
        assert [one["link_class"] for one in node["links"]] == ["XGMI2"]


def static(**more: object) -> str:
    return json.dumps([{"gpu": 0, "bus": {"bdf": "0000:05:00.0"}, **more}])


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ({"value": 196592, "unit": "MB"}, 196592 << 20),
        ({"value": 196592}, 196592 << 20),
        (196592, 196592 << 20),
        ("196592 MB", 196592 << 20),
        ({"value": 192, "unit": "GB"}, 192 * GIB),
        ("N/A", None),
        ({"value": "N/A", "unit": "MB"}, None),
        (0, None),
        (-1, None),
        ({"value": 10**30, "unit": "MB"}, None),
        ([], None),
        (None, None),
        (True, None),
    ],
)
def test_memory_and_its_unit(size: object, expected: int | None) -> None:
    (claim,) = claims(amd_smi_json, static(vram={"size": size}))
    assert claim.memory_bytes == expected
    assert claim.state == ("ok" if expected else None)


def test_all_that_static_tells() -> None:
    first = claims(amd_smi_json, seeds.AMD_SMI_JSON)[0]
    assert (first.serial, first.architecture, first.subsystem_id) == ("692251001124", "gfx942", "1002:74a1")
    assert first.link is not None
    assert (first.link.max_speed_gts, first.link.max_width, first.link.width) == (32.0, 16, None)
    assert first.attributes == {"compute_partition": "SPX", "memory_partition": "NPS1", "oam_id": 2}


def test_none_failed_and_left_out_are_told_apart() -> None:
    text = static(asic={"market_name": "N/A"}, board={"product_serial": "AMDSMI_STATUS_NO_PERM"}, vram={"size": "ERR!"})
    (claim,) = claims(amd_smi_json, text)
    assert (claim.model, claim.serial, claim.memory_bytes) == (None, None, None)
    reasons = {field: claim.silent[field].reason for field in ("model", "serial", "memory_bytes", "architecture")}
    assert reasons == {
        "model": "not-supported",
        "serial": "not-permitted",
        "memory_bytes": "failed",
        "architecture": "not-asked",
    }


def test_counters_of_errors_and_what_is_not_counted() -> None:
    ecc = {"total_correctable_count": 5, "total_uncorrectable_count": 0, "total_deferred_count": "N/A"}
    (claim,) = claims(amd_smi_json, static(ecc=ecc, pcie={"replay_count": "AMDSMI_STATUS_API_FAILED"}))
    assert claim.attributes == {"ecc_correctable": 5, "ecc_uncorrectable": 0}
    unread = {name: why.reason for name, why in claim.silent.items() if name.startswith("attributes.")}
    assert unread == {"attributes.pcie_replays": "failed"}
    (card,) = claims(rocm_smi_json, '{"card0": {"GPU ID": "0x74a1", "PCIe Replay Count": "12"}}')
    assert card.attributes == {"pcie_replays": 12}


def test_a_driver_that_is_not_there_is_told() -> None:
    text = static(driver={"name": "N/A", "version": "N/A"}, vram={"size": 64})
    assert claims(amd_smi_json, text)[0].state is None
    assert problems(amd_smi_json, text) == [("not-supported", "the driver has no version: amd-smi says N/A")]


def test_the_kernels_own_driver_has_no_version() -> None:
    """amd-smi gives the whole of /proc/version without blanks."""
    text = static(driver={"version": "Linuxversion6.8.0-79-generic(buildd@lcy02-amd64-049)"})
    assert read(amd_smi_json, text)[0].report.software == ()
    assert [reason for reason, _ in problems(amd_smi_json, text)] == ["not-supported"]


def test_amd_smis_own_uuid_holds_the_unique_id() -> None:
    """`list` alone: the name that ROCr takes, and amd-smi's own beside it."""
    uuid = "9fff74b9-0000-1000-8044-4a2fb30adeb0"
    (claim,) = claims(amd_smi_json, json.dumps([{"gpu": 0, "bdf": "0000:83:00.0", "uuid": uuid}]))
    assert (claim.unit, claim.uuid) == ("9f444a2fb30adeb0", "GPU-9f444a2fb30adeb0")
    assert claim.attributes["smi_uuid"] == uuid
    (other,) = claims(amd_smi_json, json.dumps([{"gpu": 0, "uuid": "00000000-1111-2222-3333-444444444444"}]))
    assert (other.unit, other.uuid) == (None, "00000000-1111-2222-3333-444444444444")


def test_numbers_that_are_not_hips_are_told() -> None:
    text = json.dumps([{"gpu": n, "bdf": f"0000:0{n}:00.0", "hip_id": 1 - n} for n in range(2)])
    assert problems(amd_smi_json, text) == [
        ("disagreement", "amd-smi numbers the GPUs otherwise than HIP does: 0 is HIP's 1, 1 is HIP's 0")
    ]


CPX = [
    {"gpu": 0, "bdf": "0000:05:00.0", "partition_id": 0, "vram": {"size": "196592 MB"}, "asic": {"market_name": "M"}},
    {"gpu": 1, "bdf": "0000:05:00.1", "partition_id": 1, "vram": {"size": "N/A"}, "asic": {"market_name": "N/A"}},
    {"gpu": 2, "bdf": "0000:26:00.0", "partition_id": 0, "vram": {"size": "196592 MB"}, "asic": {"market_name": "M"}},
    {"gpu": 3, "bdf": "0000:26:00.1", "partition_id": 1, "vram": {"size": "N/A"}, "asic": {"market_name": "N/A"}},
]


def test_partitions_of_one_package_are_one_accelerator() -> None:
    """Two packages in DPX: the function bits number the partitions, and the first alone tells the package's values."""
    mode = [{"gpu": n, "partition": {"accelerator_partition": "DPX" if n % 2 == 0 else "N/A"}} for n in range(4)]
    found = claims(amd_smi_json, json.dumps(CPX) + json.dumps(mode))
    assert [(one.address, one.index, one.model, one.memory_bytes) for one in found] == [
        ("0000:05:00.0", 0, "M", 196592 << 20),
        ("0000:26:00.0", 1, "M", 196592 << 20),
    ]
    assert [[(part.id, part.profile, part.memory_bytes) for part in one.partitions] for one in found] == [
        [("amd-smi:0", "DPX", None), ("amd-smi:1", "DPX", None)],
        [("amd-smi:2", "DPX", None), ("amd-smi:3", "DPX", None)],
    ]


def test_sizes_of_partitions_do_not_add_up_to_a_guess() -> None:
    both = [{**one, "vram": {"size": "98296 MB"}} for one in CPX[:2]]
    (claim,) = claims(amd_smi_json, json.dumps(both))
    assert claim.memory_bytes is None
    assert [part.memory_bytes for part in claim.partitions] == [98296 << 20] * 2


def test_units_tell_devices_of_one_address_apart() -> None:
    two = [{"gpu": n, "bdf": "0000:05:00.0", "asic": {"asic_serial": f"0xABCDEF{n}1"}} for n in range(2)]
    assert [one.unit for one in claims(amd_smi_json, json.dumps(two))] == ["abcdef01", "abcdef11"]


def topology(kind: str, bandwidth: str = "N/A", **more: object) -> str:
    peer = {"gpu": 1, "bdf": "0000:26:00.0", "link_type": kind, "bandwidth": bandwidth, **more}
    return json.dumps([{"gpu": 0, "bdf": "0000:05:00.0", "links": [{"gpu": 0, "link_type": "SELF"}, peer]}])


@pytest.mark.parametrize(
    ("kind", "bandwidth", "expected"),
    [
        ("XGMI", "50000-50000", ("XGMI1", "xgmi", 1, 50 * 10**9)),
        ("XGMI", "50000-200000", ("XGMI4", "xgmi", 4, 200 * 10**9)),
        ("XGMI", "0-0", (None, "xgmi", None, None)),
        ("XGMI", "N/A", (None, "xgmi", None, None)),
        ("XGMI", "50000-120000", (None, "xgmi", None, 120 * 10**9)),
        ("XGMI", "50000-1", (None, "xgmi", None, None)),
        ("XGMI", "1-99999999", (None, "xgmi", None, 99999999 * 10**6)),
        ("PCIE", "N/A", (None, "pcie", None, None)),
        ("PCIE", "1000-2000", (None, "pcie", None, None)),
        ("N/A", "N/A", (None, None, None, None)),
        ("UNKNOWN", "50000-50000", (None, None, None, None)),
    ],
)
def test_a_pair(kind: str, bandwidth: str, expected: tuple[object, ...]) -> None:
    (link,) = links(amd_smi_json, topology(kind, bandwidth, num_hops=3, weight=15))
    assert (link.link_class, link.kind, link.count, link.bandwidth_bytes_per_second) == expected


def test_a_peer_that_is_named_is_there() -> None:
    assert [one.address for one in claims(amd_smi_json, topology("XGMI"))] == ["0000:05:00.0", "0000:26:00.0"]


def test_two_ends_that_say_otherwise_are_told() -> None:
    back = (
        topology("PCIE").replace('"gpu": 1', '"gpu": 2').replace('"gpu": 0', '"gpu": 1').replace('"gpu": 2', '"gpu": 0')
    )
    text = topology("XGMI") + back.replace("05:00.0", "xx").replace("26:00.0", "05:00.0").replace("xx", "26:00.0")
    assert problems(amd_smi_json, text) == [
        ("disagreement", "0000:05:00.0–0000:26:00.0: amd-smi says both XGMI and PCIe")
    ]
    assert links(amd_smi_json, text)[0].kind is None


def test_the_topology_of_rocm_6_0() -> None:
    ends = [{"gpu_0": "SELF", "gpu_1": "XGMI"}, {"gpu_0": "XGMI", "gpu_1": "SELF"}]
    rates = [{"gpu_0": "N/A", "gpu_1": "50000-50000"}, {"gpu_0": "50000-50000", "gpu_1": "N/A"}]
    text = json.dumps([{"gpu": n, "link_type": ends[n], "numa_bandwidth": rates[n], "hops": {}} for n in range(2)])
    assert [(one.a, one.b, one.link_class) for one in links(amd_smi_json, text)] == [("amd#0", "amd#1", "XGMI1")]


def test_xgmi_counters_say_that_a_link_is_there() -> None:
    peers = [{"gpu": 0, "read": "N/A"}, {"gpu": 1, "bdf": "0000:26:00.0", "read": {"value": 7, "unit": "KB"}}]
    metrics = {"bit_rate": {"value": 32, "unit": "Gb/s"}, "link_type": "XGMI", "links": peers}
    text = json.dumps({"xgmi_metric": [{"gpu": 0, "bdf": "0000:05:00.0", "link_metrics": metrics}]})
    assert [(one.kind, one.count) for one in links(amd_smi_json, text)] == [("xgmi", None)]


def test_a_hive_is_a_domain_and_zero_is_none() -> None:
    for hive, domain in (("0xABCDEF12", "abcdef12"), ("0x0", None), ("N/A", None)):
        (claim,) = claims(amd_smi_json, static(xgmi_info={"xgmi_hive_id": hive}))
        assert (claim.fabric.domain if claim.fabric else None) == domain


def test_partition_json_tells_the_current_mode_and_not_the_possible_ones() -> None:
    current = {"gpu_id": 0, "memory": "NPS1", "accelerator_type": "SPX", "partition_id": "0"}
    profile = {"gpu_id": 0, "profile_index": 3, "accelerator_type": "CPX", "num_partitions": 8}
    text = json.dumps({"current_partition": [current], "partition_profiles": [profile]})
    (claim,) = claims(amd_smi_json, text)
    assert claim.attributes == {"compute_partition": "SPX", "memory_partition": "NPS1"}
    assert claim.partitions == ()


def test_processes_and_their_arguments_stay_out() -> None:
    process = {"process_info": {"name": "python3 train.py --token hunter2", "pid": 5, "x": [{"}": "]"}]}}
    text = static(process_list=[process], vram={"size": "64 MB"})
    assert "hunter2" not in amd_smi_json.own(text)
    assert claims(amd_smi_json, text)[0].memory_bytes == 64 << 20
    assert "hunter2" not in amd_smi_json.own(text[: text.index("hunter2") + 9])


BOX = """+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+eaa54ecc      amdgpu version: 6.12.12  ROCm version: 7.0.0    |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:0c:00.0    AMD Instinct MI300X | 13 %     60 °C   0           734/750 W |
|   0       0       2        SPX/NPS1 | 98 %       N/A          4976/196592 MB |
|-------------------------------------+----------------------------------------|
| 0000:22:00.0    AMD Instinct MI300X | 10 %     60 °C   0           652/750 W |
|   1       1       1             N/A | 83 %       N/A                     N/A |
+-------------------------------------+----------------------------------------+
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|    0    2427396  rvs --token hunter2    2.0 MB    2.0 GB     2.5 GB    0.0 % |
+------------------------------------------------------------------------------+
"""


def test_the_table_of_amd_smi_alone() -> None:
    foreign, _ = read(amd_smi_text, BOX)
    first, second = foreign.report.claims
    assert (first.address, first.model, first.memory_bytes) == ("0000:0c:00.0", "AMD Instinct MI300X", 196592 << 20)
    assert (first.attributes["compute_partition"], first.attributes["memory_partition"]) == ("SPX", "NPS1")
    assert (second.index, second.memory_bytes, second.state) == (1, None, None)
    assert "compute_partition" not in second.attributes
    assert {(one.name, one.version) for one in foreign.report.software} == {("amdgpu", "6.12.12"), ("ROCm", "7.0.0")}
    assert "hunter2" not in amd_smi_text.own(BOX)


def test_the_table_of_amd_smi_counts_uncorrected_errors() -> None:
    text = BOX.replace("60 °C   0           652/750 W", "60 °C   3                 N/A")
    assert [one.attributes["ecc_uncorrectable"] for one in claims(amd_smi_text, text)] == [0, 3]
    (first, _) = claims(amd_smi_text, BOX.replace("60 °C   0           734", "60 °C   N/A         734"))
    assert "ecc_uncorrectable" not in first.attributes


@pytest.mark.parametrize("end", ["|-------------------------------------+-", "| 0000:22:00.0", "|   1       1", "+---"])
def test_the_table_of_amd_smi_that_nothing_closes(end: str) -> None:
    rows = BOX[: BOX.index("| Processes")].removesuffix("+" + "-" * 78 + "+\n")
    cut = rows[: rows.rindex(end)]
    told = [one.message for one in read(amd_smi_text, cut)[1]]
    assert told == ["amd-smi's table ends early: nothing closes it, and devices may be missing"]
    assert read(amd_smi_text, rows)[1] == ()


XGMI = """LINK METRIC TABLE:
       bdf           bit_rate  max_bandwidth  link_type  GPU0      GPU1
GPU0   0000:0c:00.0  38 Gb/s   608 Gb/s       XGMI
 Read                                                    N/A       39.61 TB
 Write                                                   N/A       41.96 TB
GPU1   0000:22:00.0  38 Gb/s   608 Gb/s       XGMI
 Read                                                    41.69 TB  N/A
 Write                                                   39.38 TB  N/A

GPU LINK PORT STATUS:
       bdf           port_num
GPU0   0000:0c:00.0  U  U  U  U  U  U  U  X
GPU1   0000:22:00.0  U  U  U  U  U  U  U  X

XGMI LINK STATUS:
        bdf            GPU0          GPU1
GPU0\t0000:0c:00.0   SELF          U
GPU1\t0000:22:00.0   U             SELF
"""


def test_xgmi_text() -> None:
    """Seven ports are up, and this does not say how many of them lead to the other GPU."""
    (link,) = links(amd_smi_text, XGMI)
    assert (link.a, link.b) == ("0000:0c:00.0", "0000:22:00.0")
    assert (link.kind, link.count, link.state) == ("xgmi", None, "ok")
    (down,) = links(amd_smi_text, XGMI.replace("SELF          U", "SELF          D"))
    assert down.state == "down"


def test_cards_without_xgmi_have_no_links() -> None:
    text = XGMI.replace("38 Gb/s   608 Gb/s       XGMI", "65535 Gb/s4294967295 Gb/sN/A")
    text = text.replace("39.61 TB", "N/A").replace("41.96 TB", "N/A").replace("41.69 TB", "N/A")
    text = text.replace("39.38 TB", "N/A").replace(" U", " N/A")
    assert [one.address for one in claims(amd_smi_text, text)] == ["0000:0c:00.0", "0000:22:00.0"]
    assert [one.kind for one in links(amd_smi_text, text)] == [None]


PARTITIONS = """CURRENT_PARTITION:
GPU_ID  MEMORY  ACCELERATOR_TYPE  ACCELERATOR_PROFILE_INDEX  PARTITION_ID
0       NPS1    DPX               1                          {0}
1       {1}
2       NPS1    DPX               1                          {0}
3       {1}

MEMORY_PARTITION:
GPU_ID  MEMORY_PARTITION_CAPS  CURRENT_MEMORY_PARTITION
0                              NPS1
1                              N/A

ACCELERATOR_PARTITION_PROFILES:
GPU_ID  PROFILE_INDEX  MEMORY_PARTITION_CAPS  ACCELERATOR_TYPE  PARTITION_ID     NUM_PARTITIONS
0       0              NPS1                   SPX               N/A              1
        3              NPS1,NPS4              CPX               N/A              8
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0", "N/A     N/A               N/A                        1"),
        ("0", "NPS1    DPX               1                          1"),
        ("0,1", "NPS1    DPX               1                          N/A"),
    ],
    ids=["ROCm 7", "ROCm 6.4", "ROCm 6.3"],
)
def test_the_partition_table_without_addresses(first: str, second: str) -> None:
    found = claims(amd_smi_text, PARTITIONS.format(first, second))
    assert [(one.index, len(one.partitions)) for one in found] == [(0, 2), (1, 2)]
    assert [one.attributes for one in found] == [{"compute_partition": "DPX", "memory_partition": "NPS1"}] * 2


def test_a_host_lists_partitions_in_one_row() -> None:
    header = "CURRENT_PARTITION:\nGPU_ID MEMORY ACCELERATOR_TYPE ACCELERATOR_PROFILE_INDEX PARTITION_ID"
    text = f"{header}\n0 NPS1 QPX 2 0,1,2,3\n"
    (claim,) = claims(amd_smi_text, text)
    assert [(one.id, one.profile) for one in claim.partitions] == [(f"amd-smi:0.{n}", "QPX") for n in range(4)]


def test_text_whose_blanks_are_lost() -> None:
    text = "\n".join(line.strip() for line in seeds.AMD_SMI_TEXT.splitlines())
    first = claims(amd_smi_text, text)[0]
    assert (first.address, first.model, first.memory_bytes) == ("0000:05:00.0", "AMD Instinct MI300X", 196592 << 20)
    assert links(amd_smi_text, text)[0].link_class == "XGMI2"


def test_the_names_of_processes_are_left_out_of_the_text_and_the_driver_s_is_not() -> None:
    process = "GPU: 0\n    PROCESS_INFO:\n        NAME: python3 --token hunter2\n        PID: 5\n"
    kept = amd_smi_text.own(seeds.AMD_SMI_TEXT + process)
    assert "hunter2" not in kept
    assert "NAME: amdgpu" in kept
    assert "MARKET_NAME: AMD Instinct MI300X" in kept


CONCISE = """============================ ROCm System Management Interface ============================
====================================== Concise Info ======================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK    Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================
0       1     0x74a1,   28851  38.0°C      132.0W    NPS1, DPX, 0        132Mhz  900Mhz  0%   auto  750.0W  0%     0%
1       2     0x74a1,   51499  38.0°C      132.0W    NPS1, DPX, 1        132Mhz  900Mhz  0%   auto  750.0W  0%     0%
2       3     0x74a1,   57603  38.0°C      132.0W    N/A, N/A, 0         132Mhz  900Mhz  0%   auto  750.0W  0%     0%
==========================================================================================
================================== End of ROCm SMI Log ===================================
"""


def test_the_concise_table_numbers_partitions() -> None:
    found = claims(rocm_smi_text, CONCISE)
    assert [(one.index, one.device_id, len(one.partitions)) for one in found] == [(0, "74a1", 2), (1, "74a1", 0)]
    assert found[0].attributes == {"compute_partition": "DPX", "memory_partition": "NPS1"}
    assert found[0].model_by_id == "Instinct MI300X"


def test_the_concise_table_of_rocm_5() -> None:
    text = """================================= Concise Info =================================
GPU  Temp (DieEdge)  AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
0    31.0c           39.0W   300Mhz  1200Mhz  0%   auto  290.0W    0%   0%
1    N/A             N/A     None    1200Mhz  0%   auto  290.0W    0%   0%
================================================================================
============================= End of ROCm SMI Log ==============================
"""
    assert [(one.index, one.device_id, one.model) for one in claims(rocm_smi_text, text)] == [
        (0, None, None),
        (1, None, None),
    ]


@pytest.mark.parametrize(
    ("name", "model", "by_id"),
    [("AMD Instinct MI300X", "AMD Instinct MI300X", "Instinct MI300X"), ("AMD Radeon PRO W7900", None, "Radeon")],
)
def test_a_name_that_fills_its_column_may_be_cut(name: str, model: str | None, by_id: str) -> None:
    table = """================================= Concise Info =================================
Device  [Model : Revision]    Temp        Power     Partitions      SCLK    MCLK
        Name (20 chars)       (Junction)  (Socket)  (Mem, Compute)
================================================================================
0       [{} : 0x00]       35.0°C      133.0W    NPS1, SPX       131Mhz  900Mhz
        {}
============================= End of ROCm SMI Log ==============================
"""
    (claim,) = claims(rocm_smi_text, table.format("0x74a1" if by_id == "Instinct MI300X" else "0x0c34", name))
    assert claim.model == model
    assert claim.model_by_id is not None
    assert by_id in claim.model_by_id


def test_the_hardware_table() -> None:
    text = """================================= Concise Hardware Info =================================
GPU  NODE  DID     GUID   GFX VER  GFX RAS  SDMA RAS  UMC RAS  VBIOS             BUS           PARTITION ID
0    2     0x74a1  28851  gfx942   ENABLED  ENABLED   ENABLED  113-M3000100-102  0000:05:00.0  0
1    3     0x74a1  51499  gfx942   ENABLED  ENABLED   ENABLED  113-M3000100-102  0000:05:00.1  1
=========================================================================================
================================== End of ROCm SMI Log ===================================
"""
    (claim,) = claims(rocm_smi_text, text)
    assert (claim.address, claim.device_id, claim.architecture) == ("0000:05:00.0", "74a1", "gfx942")
    assert len(claim.partitions) == 2


@pytest.mark.parametrize(
    ("node", "affinity", "expected"),
    [
        ("0", "0", 0),
        ("1", "1", 1),
        ("0", "-1", None),
        ("0", "4294967295", None),
        ("2", "-1", 2),
        ("1", None, 1),
        ("0", None, 0),
        ("N/A", "3", 3),
        (None, None, None),
    ],
)
def test_the_numa_node(node: str | None, affinity: str | None, expected: int | None) -> None:
    """0 beside an affinity of -1 is what the driver writes where it knows none."""
    card = {"PCI Bus": "0000:05:00.0", "(Topology) Numa Node": node, "(Topology) Numa Affinity": affinity}
    text = json.dumps({"card0": {key: words for key, words in card.items() if words is not None}})
    assert claims(rocm_smi_json, text)[0].numa_node == expected


@pytest.mark.parametrize(("words", "reason"), [("0", "not-supported"), ("000000000000", "not-supported")])
def test_a_serial_of_zeros_is_none(words: str, reason: str) -> None:
    (claim,) = claims(rocm_smi_json, json.dumps({"card0": {"Serial Number": words}}))
    assert (claim.serial, claim.silent["serial"].reason) == (None, reason)


def test_spellings_of_older_releases() -> None:
    old = {"GPU ID": "0x738c", "Card series": "0x1002", "Unique ID": "N/A", "VRAM Total Memory (B)": "34342961152"}
    (claim,) = claims(rocm_smi_json, json.dumps({"card3": old}))
    assert (claim.index, claim.device_id, claim.memory_bytes) == (3, "738c", 34342961152)
    assert (claim.model, claim.model_by_id) == (None, "Instinct MI100")


def test_links_to_cards_that_are_not_described_are_told() -> None:
    system = {f"(Topology) Link type between DRM devices 0 and {n}": "PCIE" for n in (1, 2)}
    text = json.dumps({"card0": {"Device ID": "0x740f"}, "system": system})
    assert len(claims(rocm_smi_json, text)) == 1
    assert problems(rocm_smi_json, text) == [
        ("disagreement", "links lead to 2 GPUs that this output does not describe: 1, 2")
    ]
    assert len(claims(rocm_smi_json, json.dumps({"system": system}))) == 3


def test_a_pcie_path_of_unknown_class_keeps_its_kind() -> None:
    text = seeds.ROCM_SMI_TEXT.replace("XGMI", "PCIE")
    (link,) = node_of(text).links
    assert (link.kind, link.link_class, link.evidence) == ("pcie", None, ("rocm-smi",))
    (problem,) = [one for one in node_of(text).problems if one.subject == "links.link_class"]
    assert problem.message == "1 PCIe pair: the path between them is not told"


def test_processes_of_rocm_smi_stay_out() -> None:
    table = "KFD process information:\nPID\tPROCESS NAME\tGPU(s)\n1188185\tpython3 --token hunter2\t0\n"
    assert "hunter2" not in rocm_smi_text.own(seeds.ROCM_SMI_TEXT + table)
    text = seeds.ROCM_SMI_JSON.replace("trainer, 1", "python3 --token hunter2, 1")
    assert "hunter2" not in rocm_smi_json.own(text)
    assert len(claims(rocm_smi_json, text)) == 2


@pytest.mark.parametrize("form", ["amd-smi-json", "rocm-smi-json"])
def test_json_that_ends_early_gives_what_is_whole(form: str) -> None:
    text = seeds.TEXTS[form]
    second = text.index('"gpu": 1') if form == "amd-smi-json" else text.index('"card1"')
    cut = text[: second + 120]
    foreign, problem = read(FORMS[form], cut)
    assert foreign.report.claims[0].memory_bytes == 196592 << 20
    assert [one.reason for one in problem] == ["failed"]
    assert "it ends early" in problem[0].message
    last = foreign.report.claims[1]
    assert last.memory_bytes is None
    assert last.silent["memory_bytes"].reason == "failed"


def test_json_that_is_damaged_in_the_middle_gives_what_stands_before_and_after() -> None:
    cards = [json.dumps({"gpu": n, "bdf": f"0000:0{n}:00.0", "vram": {"size": "64 MB"}}) for n in range(3)]
    text = "[" + ",\n".join([cards[0], cards[1].replace('"vram"', "vram"), cards[2]]) + "]"
    foreign, problem = read(amd_smi_json, text)
    assert [(one.address, one.memory_bytes) for one in foreign.report.claims] == [
        ("0000:00:00.0", 64 << 20),
        ("0000:01:00.0", None),
        ("0000:02:00.0", 64 << 20),
    ]
    assert [one.reason for one in problem] == ["failed"]


def test_a_text_that_ends_inside_a_gpu() -> None:
    cut = seeds.AMD_SMI_TEXT[: seeds.AMD_SMI_TEXT.index("DRIVER", seeds.AMD_SMI_TEXT.rindex("MARKET_NAME"))]
    foreign, problem = read(amd_smi_text, cut)
    assert [one.message for one in problem] == ["amd-smi's output ends inside GPU 1"]
    assert foreign.report.claims[1].memory_bytes is None
    assert foreign.report.claims[1].silent["memory_bytes"].reason == "failed"


@pytest.mark.parametrize("form", ["amd-smi-text", "rocm-smi-text"])
def test_a_header_names_its_devices_without_their_rows(form: str) -> None:
    lines = seeds.TEXTS[form].splitlines()
    (start,) = [place for place, line in enumerate(lines) if "LINK TYPE TABLE" in line or "Link Type between" in line]
    end = ["=== End of ROCm SMI Log ==="] if form == "rocm-smi-text" else []
    foreign, problem = read(FORMS[form], "\n".join([*lines[start : start + 3], *end]))
    assert len(foreign.report.claims) == 2
    assert [link.kind for link in foreign.report.links] == ["xgmi"]
    assert [one.reason for one in problem] == ["failed"]
    assert "the rows of" in problem[0].message


def test_a_row_that_is_cut_in_the_middle() -> None:
    text = seeds.ROCM_SMI_TEXT.replace("GPU1   XGMI         0", "GPU1")
    assert problems(rocm_smi_text, text) == [
        ("failed", "the table “Link Type between two GPUs” is incomplete: the rows of GPU1 are cut off")
    ]


def test_an_output_without_its_end() -> None:
    text = seeds.ROCM_SMI_TEXT.split("=============================== Link Type")[0]
    assert problems(rocm_smi_text, text) == [("failed", "rocm-smi's output ends early: its end line is missing")]


@pytest.mark.parametrize("form", FORMS)
def test_any_end_is_read(form: str) -> None:
    text = seeds.TEXTS[form]
    for end in range(0, len(text), 7):
        cut = FORMS[form].own(text[:end])
        FORMS[form].recognises(text[:end])
        foreign, _ = FORMS[form].parse(cut)
        assert len(foreign.report.claims) <= 2


@pytest.mark.parametrize(
    ("key", "is_known"), [("title", False), ("GPU use (%)", True), ("VRAM Total Memory (B)", True), ("GPU ID", True)]
)
def test_any_card_is_no_graphics_card(key: str, is_known: bool) -> None:
    assert rocm_smi_json.recognises(json.dumps({"card0": {key: "1"}})) == is_known


def test_a_value_in_the_midst_of_which_a_text_ends_is_none() -> None:
    block = "GPU: {0}\n    BUS:\n        BDF: 0000:{0}c:00.0\n    BOARD:\n        PRODUCT_SERIAL: 69231100012{0}\n"
    block += "    VRAM:\n        SIZE: 196592 MB\n"
    whole = block.format(0) + "\n" + block.format(1)
    cut = whole[: whole.rindex("1100012") + 2]
    assert [one.serial for one in node_of(whole).accelerators] == ["692311000120", "692311000121"]
    node = node_of(cut)
    assert [one.serial for one in node.accelerators] == ["692311000120", None]
    assert [one.reason for one in node.problems if one.subject == "amd:1.serial"] == ["failed"]


def test_a_row_in_which_a_csv_ends_has_failed() -> None:
    """Its last cell may be half a word: `AMD Instinct` is no model."""
    text = (
        "device,Card Series,Unique ID,PCI Bus,VRAM Total Memory (B)\n"
        "card0,AMD Instinct MI300X,0xabd13c23a9580558,0000:05:00.0,206141652992\n"
        "card1,AMD Instinct"
    )
    (node,) = assemble.inventory(inputs._from_bytes(text.encode(), "given")).nodes
    assert [(one.model, one.memory_bytes) for one in node.accelerators] == [
        ("AMD Instinct MI300X", 206141652992),
        (None, None),
    ]
    told = {one.subject: (one.reason, one.message) for one in node.problems}
    assert told["amd:1.memory_bytes"] == ("failed", "rocm-smi's output ends inside this device")


def test_a_row_of_amd_s_that_is_cut_off_is_nobody_else_s() -> None:
    text = (
        "gpu,gpu_bdf,gpu_uuid,market_name\n0,0000:05:00.0,29ff74a1-0000-1000-807b-1fd5fe6a2d7d,AMD\n1,0000:06:00.0,29ff"
    )
    (node,) = assemble.inventory(inputs._from_bytes(text.encode(), "given")).nodes
    assert [one.id for one in node.accelerators] == ["amd:0", "amd:1"]


def test_csv_of_amd_s_tools_is_amd_s() -> None:
    cards = node_of(
        "device,Device Name,Device ID,VRAM Total Memory (B),Unique ID,PCI Bus\n"
        "card0,AMD Instinct MI300X,0x74a1,206141652992,0x9f6cf8b1b5c9d7e1,0000:0C:00.0\n"
        "card1,AMD Instinct MI300X,0x74a1,N/A,0x9f6cf8b1b5c9d7e2,0000:22:00.0\n"
    )
    assert [(one.id, one.pci and one.pci.address, one.memory_bytes, one.state) for one in cards.accelerators] == [
        ("amd:0", "0000:0c:00.0", 206141652992, "ok"),
        ("amd:1", "0000:22:00.0", None, "unknown"),
    ]
    listed = node_of(
        "$ amd-smi list --csv\ngpu,gpu_bdf,gpu_uuid,kfd_id\n0,0000:0c:00.0,29ff74a1-0000-1000-807b-1fd5fe6a2d7d,28851\n"
    )
    (device,) = listed.accelerators
    assert (device.vendor, device.index, device.uuid) == ("amd", 0, "GPU-297b1fd5fe6a2d7d")
    assert device.attributes["smi_uuid"] == "29ff74a1-0000-1000-807b-1fd5fe6a2d7d"
    static = node_of(
        "gpu,asic_market_name,asic_vendor_id,asic_device_id,bdf,product_serial\n"
        '0,"AMD Instinct, MI300X",0x1002,0x74a1,0000:0c:00.0,123\n'
    )
    (device,) = static.accelerators
    assert (device.model, device.serial) == ("AMD Instinct, MI300X", "123")
    assert device.pci is not None
    assert device.pci.device_id == "74a1"
    assert device.evidence == ("amd-smi --csv",)
