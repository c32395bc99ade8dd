"""Pasted texts of `nvidia-smi`: what each says, what it leaves out, and what is another tool's beside it."""

from __future__ import annotations

import pytest

from nvidia_smi_texts import (
    ADDRESSES,
    C2C,
    CSV,
    HEAD,
    LIST,
    MIG,
    MIG_LIST,
    MIG_UUIDS,
    NAME,
    NVLINK,
    P2P,
    QUERY,
    TABLE,
    TEXTS,
    UUIDS,
    query_block,
)
from raxl.cli import outcome
from raxl.collect import assemble, inputs, machines
from raxl.host.record import Recording
from raxl.intake import forms
from raxl.model.accelerator import Accelerator, Fabric, Partition
from raxl.model.component import PciLink
from raxl.model.inventory import Inventory
from raxl.model.node import Node

MIB = 1 << 20


def recordings(*texts: str) -> list[Recording]:
    return [one for place, text in enumerate(texts) for one in inputs._from_bytes(text.encode(), f"text-{place}")]


def read(*texts: str) -> Node:
    """The texts as one machine's."""
    (node,) = assemble.inventory(machines.together(recordings(*texts), "machine")).nodes
    return node


def told(node: Node, subject: str) -> list[tuple[str, str]]:
    return [(problem.reason, problem.message) for problem in node.problems if problem.subject == subject]


def code(node: Node) -> int:
    return outcome.of_inventory(Inventory("", "", "", (node,)))


def held(text: str) -> list[str]:
    return [question.subject for question, _ in forms.recognise(text)]


def links(node: Node) -> list[tuple[str | None, str | None]]:
    return [(link.link_class, link.kind) for link in node.links]


@pytest.mark.parametrize(("other", "is_told"), [("40000 MiB", True), ("81920 MiB", False)])
def test_two_sizes_of_one_memory_are_told_unless_one_counts_what_is_reserved(other: str, is_told: bool) -> None:
    node = read(CSV, TABLE.replace("81559MiB", other.replace(" ", "")))
    assert node.accelerators[0].memory_bytes == 81559 * MIB
    first, second = f"nvidia-smi --query-gpu says {81559 * MIB}", f"nvidia-smi says {int(other[:5]) * MIB}"
    assert told(node, "nvidia:0.memory_bytes") == ([("disagreement", f"{first}, {second}")] if is_told else [])


def test_two_devices_of_one_index_are_told() -> None:
    node = read(f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n", f"index, uuid, pci.bus_id\n0, {UUIDS[1]}, {ADDRESSES[1]}\n")
    assert [one.index for one in node.accelerators] == [0, 0]
    messages = {one.message for one in node.problems if one.subject.endswith(".index")}
    assert messages == {"nvidia:0 has the index 0 too"}


def test_two_drivers_of_one_machine_are_told() -> None:
    node = read(CSV, TABLE.replace("570.133.20", "535.104.05"))
    assert told(node, "software.nvidia") == [
        ("disagreement", "nvidia-smi --query-gpu says 570.133.20, nvidia-smi says 535.104.05")
    ]


def test_a_table_in_prose_is_not_nvidia_smi_s() -> None:
    assert held("| GPU | Name | Bus |\n|---|---|---|\n| 0 | NVIDIA A100 | 0000:07:00.0 |\n") == []


@pytest.mark.parametrize("text", [TABLE, "index, name, memory.total [MiB]\n0, NVIDIA L4, 23034 MiB\n"])
def test_an_output_that_never_shows_a_fabric_was_not_asked_for_it(text: str) -> None:
    node = read(text)
    subject = f"{'accelerators' if len(node.accelerators) > 1 else node.accelerators[0].id}.fabric"
    assert told(node, subject) == [("not-asked", "this output of nvidia-smi does not hold it")]


def test_a_whole_query_without_a_fabric_has_none() -> None:
    lines = QUERY.splitlines(keepends=True)
    start = [place for place, line in enumerate(lines) if line.strip() == "Fabric"]
    assert start
    for place in reversed(start):
        end = next(n for n in range(place + 1, len(lines)) if len(lines[n]) - len(lines[n].lstrip()) <= 4)
        del lines[place:end]
    assert {one[0] for one in told(read("".join(lines)), "accelerators.fabric")} == {"not-applicable"}


@pytest.mark.parametrize("text", [TABLE, CSV, LIST, QUERY])
def test_what_stands_before_every_line_is_taken_off(text: str) -> None:
    devices = read(text).accelerators
    for before in ("> ", "> > ", "gpu-07: "):
        assert read("".join(f"{before}{line}\n".rstrip(" ") for line in text.splitlines())).accelerators == devices
    assert read(text.replace(" ", "\u00a0")).accelerators == devices


def test_utf_16_needs_no_mark() -> None:
    (recording,) = inputs._from_bytes(CSV.encode("utf-16-le"), "text")
    assert [one.index for one in assemble.inventory([recording]).nodes[0].accelerators] == [0, 1]


def test_more_devices_than_a_machine_has_are_bounded_and_told() -> None:
    node = read("".join(f"GPU {n}: {NAME} (UUID: {UUIDS[0][:-4]}{n:04x})\n" for n in range(300)))
    assert len(node.accelerators) == 256
    assert told(node, "accelerators") == [("failed", "300 are named, more than a machine has: the first 256 are told")]


def matrix(word: str, option: str = "-m") -> str:
    return f"""$ nvidia-smi topo {option}
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \t{word}\tPIX\t0-31\t0\t\tN/A
GPU1\t{word}\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0

"""


def classes(node: Node) -> dict[tuple[str, str], str | None]:
    return {(link.a, link.b): link.link_class for link in node.links}


@pytest.mark.parametrize(
    "text",
    [
        matrix("NV18"),
        matrix("NV18") * 2,
        matrix("NV18") + matrix("SYS", "-mp"),
        matrix("SYS", "-mp") + matrix("NV18"),
        matrix("NV18") + "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n",
        "$ nvidia-smi topo -p2p n\n \tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n" + matrix("NV18"),
        matrix("NV18").partition("Legend")[0] + " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n",
    ],
)
def test_each_matrix_of_a_text_is_read_by_itself(text: str) -> None:
    node = read(text)
    nic = node.nics[0].id
    assert classes(node) == {("nvidia:0", "nvidia:1"): "NV18", ("nvidia:0", nic): "PIX", ("nvidia:1", nic): "SYS"}
    assert [one.numa_node for one in node.accelerators] == [0, 1]
    assert told(node, "links") == []


@pytest.mark.parametrize(("first", "second"), [("NV18", "NV12"), ("PIX", "SYS")])
def test_two_matrices_that_call_a_pair_differently_are_told(first: str, second: str) -> None:
    node = read(matrix(first) + matrix(second))
    assert classes(node)["nvidia:0", "nvidia:1"] == first
    assert told(node, "links") == [("disagreement", f"one matrix calls GPU0–GPU1 {first}, another {second}")]


def test_a_row_that_one_matrix_lacks_is_filled_by_the_other() -> None:
    short = "".join(line for line in matrix("NV18").splitlines(keepends=True) if not line.startswith("GPU1"))
    assert told(read(short), "links")
    assert told(read(short + matrix("NV18")), "links") == []


def test_a_query_gives_what_the_xml_gives() -> None:
    node = read(QUERY)
    first, second = node.accelerators
    assert first == Accelerator(
        id="nvidia:0",
        vendor="nvidia",
        kind="gpu",
        model=NAME,
        architecture="Hopper",
        index=0,
        uuid=UUIDS[0],
        serial="1653123000000",
        ray=first.ray,
        pci=first.pci,
        memory_bytes=81559 * MIB,
        state="ok",
        fabric=Fabric("5d3c9a10-7f21-4c55-9e0b-66a1f2d4c8e7", "3", "completed"),
        visible_env="CUDA_VISIBLE_DEVICES",
        evidence=("nvidia-smi -q",),
        attributes={
            "mig_mode": "Disabled",
            "virtualization_mode": "Pass-Through",
            "vbios": "96.00.74.00.01",
            "addressing_mode": "HMM",
            "minor": 1,
            "recovery_action": "None",
        },
    )
    assert (first.ray.resource, first.ray.type) == ("GPU", "H100")
    assert first.pci is not None
    assert (first.pci.address, first.pci.vendor_id, first.pci.device_id) == ("0000:18:00.0", "10de", "2330")
    assert (first.pci.subsystem_id, first.pci.link) == ("10de:16c1", PciLink(16.0, 8, 32.0, 16))
    assert (second.index, second.uuid, second.attributes["minor"]) == (1, UUIDS[1], 0)
    assert [(one.name, one.version) for one in node.software] == [("nvidia", "570.133.20"), ("cuda", "12.8")]
    assert code(node) == 0


def test_a_version_stands_before_what_is_said_of_it() -> None:
    text = QUERY.replace("570.133.20", "610.10.01 [Deprecated]\nKMD Version   : 610.10.02")
    assert [one.version for one in read(text).software] == ["610.10.02", "12.8"]


def test_mig_devices_of_a_query_are_partitions_and_their_memory_is_not_the_gpu_s() -> None:
    (device,) = read(HEAD.format(attached=1) + query_block(0, mig=MIG)).accelerators
    assert device.memory_bytes == 81559 * MIB
    assert device.partitions == (Partition("mig:0", None, 40448 * MIB), Partition("mig:1", None, 20096 * MIB))
    assert device.attributes["mig_mode"] == "Enabled"


@pytest.mark.parametrize(
    ("word", "reason", "state", "status"),
    [
        ("N/A", "not-supported", "ok", 0),
        ("[N/A]", "not-supported", "ok", 0),
        ("Not Supported", "not-supported", "ok", 0),
        ("", "not-supported", "ok", 0),
        ("ERR!", "failed", "unknown", 3),
        ("[Unknown Error]", "failed", "unknown", 3),
        ("[GPU is lost]", "failed", "lost", 3),
        ("Insufficient Permissions", "not-permitted", "unknown", 3),
    ],
)
@pytest.mark.parametrize("form", ["-q", "csv"])
def test_nothing_and_failure_stay_apart(word: str, reason: str, state: str, status: int, form: str) -> None:
    text = QUERY.replace("81559 MiB", word) if form == "-q" else CSV.replace("81559 MiB", word)
    node = read(text)
    assert {device.memory_bytes for device in node.accelerators} == {None}
    assert {device.state for device in node.accelerators} == {state}
    assert [one[0] for one in told(node, "accelerators.memory_bytes")] == [reason]
    assert code(node) == status


@pytest.mark.parametrize(
    ("action", "state"),
    [("None", "ok"), ("N/A", "ok"), ("Reset", "degraded"), ("Drain and Reset", "degraded"), ("Reboot", "degraded")],
)
def test_a_gpu_that_asks_to_be_recovered_is_degraded(action: str, state: str) -> None:
    row = f"index, memory.total [MiB], gpu_recovery_action\n0, 81559 MiB, {action}\n"
    assert read(row).accelerators[0].state == state
    assert "GPU Recovery Action                   : None" in QUERY
    text = QUERY.replace("GPU Recovery Action                   : None", f"GPU Recovery Action : {action}")
    assert {one.state for one in read(text).accelerators} == {state}


@pytest.mark.parametrize("text", [QUERY, CSV])
def test_a_gpu_whose_readings_wait_for_a_reset_is_degraded(text: str) -> None:
    node = read(text.replace("81559 MiB", "[GPU requires reset]"))
    assert {(one.state, one.memory_bytes) for one in node.accelerators} == {("degraded", None)}
    assert code(node) == 3


def test_memory_of_zero_is_no_unknown() -> None:
    assert read(QUERY.replace("81559 MiB", "0 MiB")).accelerators[0].memory_bytes == 0


def test_a_reading_that_is_published_nowhere_and_failed_is_told() -> None:
    node = read(HEAD.format(attached=1) + query_block(0, power="ERR!"))
    assert told(node, "nvidia:0.attributes.gpu_power_readings_power_draw") == [
        ("failed", "nvidia-smi says: ERR! (Power Draw)")
    ]
    assert (node.accelerators[0].state, code(node)) == ("ok", 0)


def test_the_sections_that_were_asked_for_leave_the_rest_unasked() -> None:
    rows = "".join(f"GPU {address}\n    Retired Pages\n        Single Bit ECC   : 0\n\n" for address in ADDRESSES)
    node = read(HEAD.format(attached=2) + rows)
    assert [device.id for device in node.accelerators] == ["nvidia:0", "nvidia:1"]
    assert told(node, "accelerators.memory_bytes") == [("not-asked", "this output of nvidia-smi does not hold it")]
    assert code(node) == 0


def test_a_query_that_ends_inside_a_gpu_has_failed_there() -> None:
    cut = QUERY[: QUERY.rindex("    FB Memory Usage")]
    node = read(cut)
    assert [device.memory_bytes for device in node.accelerators] == [81559 * MIB, None]
    assert told(node, "nvidia:1.memory_bytes") == [("failed", "nvidia-smi's output ends inside this device")]
    assert told(node, "accelerators")[0][0] == "failed"
    assert code(node) == 3


def test_one_gpu_of_several_has_no_number() -> None:
    """`-q -i 1` prints the GPU and how many are attached: which of them it is stands nowhere."""
    node = read(HEAD.format(attached=2) + query_block(1))
    assert [device.id for device in node.accelerators] == ["nvidia@0000:2a:00.0"]
    assert told(node, "nvidia@0000:2a:00.0.index")[0][0] == "not-asked"
    assert told(node, "accelerators") == [("disagreement", "nvidia-smi states 2 attached GPUs and lists 1")]


def test_a_query_without_its_indentation_says_the_same() -> None:
    flat = "\n".join(line.strip() for line in (HEAD.format(attached=1) + query_block(0, mig=MIG)).splitlines())
    (whole,) = read(HEAD.format(attached=1) + query_block(0, mig=MIG)).accelerators
    (device,) = read(flat).accelerators
    assert device == whole


def test_a_query_that_was_made_twice_is_of_the_same_gpus() -> None:
    assert read(QUERY + QUERY).accelerators == read(QUERY).accelerators
    assert told(read(QUERY + QUERY), "accelerators") == []


def test_sections_that_were_asked_for_one_after_the_other_are_joined() -> None:
    asked = ["    Product Name   : NVIDIA L4\n", "    FB Memory Usage\n        Total   : 23034 MiB\n"]
    logs = [HEAD.format(attached=1) + f"GPU {ADDRESSES[0]}\n{section}\n" for section in asked]
    (device,) = read("".join(logs)).accelerators
    assert (device.id, device.model, device.memory_bytes) == ("nvidia:0", "NVIDIA L4", 23034 * MIB)


@pytest.mark.parametrize("form", TEXTS)
def test_carriage_returns_colours_and_prompts_change_nothing(form: str) -> None:
    plain = read(TEXTS[form]).accelerators
    assert read(TEXTS[form].replace("\n", "\r\n")).accelerators == plain
    coloured = "\n".join(f"\x1b[1m{line}\x1b[0m" for line in TEXTS[form].splitlines())
    assert read(coloured).accelerators == plain
    assert (
        read(f"[root@gpu-07 ~]# nvidia-smi …\n{TEXTS[form]}\n[root@gpu-07 ~]# uptime\n 10:00 up 3 days\n").accelerators
        == plain
    )


@pytest.mark.parametrize("form", TEXTS)
def test_no_argument_of_a_process_is_kept(form: str) -> None:
    (recording,) = recordings(TEXTS[form])
    assert "hunter2" not in str(recording.answers)
    flat = "\n".join(line.strip() for line in TEXTS[form].splitlines())
    assert "hunter2" not in str([one.answers for one in recordings(flat)])


COUNTERS = """    ECC Errors
        Volatile
            SRAM Correctable              : 7
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Correctable              : 9
            DRAM Uncorrectable            : {dram}
        Aggregate
            SRAM Uncorrectable Parity     : 100
            DRAM Uncorrectable            : 100
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : 3
        Pending Page Blacklist            : No
    Remapped Rows
        Correctable Error                 : 5
        Uncorrectable Error               : 0
        Pending                           : Yes
        Remapping Failure Occurred        : No
"""
BEFORE_TURING = """    ECC Errors
        Volatile
            Single Bit
                Total                     : 11
            Double Bit
                Device Memory             : 1
                Total                     : 2
        Aggregate
            Double Bit
                Total                     : 100
"""


def with_counters(text: str) -> Node:
    return read(QUERY.replace("    FB Memory Usage\n", f"{text}    FB Memory Usage\n", 1))


def test_counters_of_errors_are_told_apart_and_what_is_not_counted_is_not_0() -> None:
    first, second = with_counters(COUNTERS.format(dram=4)).accelerators
    names = ("ecc_uncorrected", "remapped_rows_correctable", "remapped_rows_uncorrectable", "retired_pages_double_bit")
    assert [first.attributes.get(name) for name in names] == [7, 5, 0, 3]
    assert (first.attributes["remap_pending"], first.attributes["remap_failure"]) == (True, False)
    assert (first.attributes["retirement_pending"], first.attributes.get("retired_pages_single_bit")) == (False, None)
    assert set(second.attributes) == {
        *("mig_mode", "virtualization_mode", "vbios", "addressing_mode", "minor", "recovery_action")
    }


def test_uncorrected_errors_before_turing_are_the_total_of_two_bits() -> None:
    assert with_counters(BEFORE_TURING).accelerators[0].attributes["ecc_uncorrected"] == 2


@pytest.mark.parametrize(("word", "reasons"), [("N/A", []), ("ERR!", ["failed"]), ("18446744073709551615", [])])
def test_a_sum_is_not_told_without_one_of_its_parts(word: str, reasons: list[str]) -> None:
    node = with_counters(COUNTERS.format(dram=word))
    assert "ecc_uncorrected" not in node.accelerators[0].attributes
    assert [reason for reason, _ in told(node, "nvidia:0.attributes.ecc_uncorrected")] == reasons


def test_counters_of_the_xml_and_of_a_table_of_fields() -> None:
    log = """<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="00000000:18:00.0"><product_name>A</product_name>
<ecc_errors><volatile><sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable></volatile>
<aggregate><dram_uncorrectable>100</dram_uncorrectable></aggregate></ecc_errors>
<retired_pages><double_bit_retirement><retired_count>N/A</retired_count></double_bit_retirement></retired_pages>
<remapped_rows><remapped_row_corr>5</remapped_row_corr><remapped_row_unc>0</remapped_row_unc>
<remapped_row_pending>Yes</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
<pci><replay_counter>6</replay_counter></pci></gpu></nvidia_smi_log>"""
    expected = {
        "ecc_uncorrected": 3,
        "remapped_rows_correctable": 5,
        "remapped_rows_uncorrectable": 0,
        "remap_pending": True,
        "remap_failure": False,
    }
    assert read(log).accelerators[0].attributes == {**expected, "pcie_replays": 6}
    fields = "ecc.errors.uncorrected.volatile.total, remapped_rows.correctable, remapped_rows.uncorrectable"
    fields = f"{fields}, remapped_rows.pending, remapped_rows.failure, retired_pages.double_bit.count"
    assert read(f"index, {fields}\n0, 3, 5, 0, Yes, No, [N/A]\n").accelerators[0].attributes == expected


def test_a_counter_that_rose_between_two_rows_is_no_contradiction() -> None:
    node = read("index, remapped_rows.correctable, remapped_rows.pending\n0, 1, No\n0, 2, Yes\n")
    assert node.accelerators[0].attributes == {"remapped_rows_correctable": 2, "remap_pending": True}
    assert not [problem for problem in node.problems if problem.reason == "disagreement"]


def test_a_list_gives_numbers_names_uuids_and_mig_devices() -> None:
    node = read(MIG_LIST)
    (device,) = node.accelerators
    assert (device.index, device.model, device.uuid, device.ray.type) == (0, NAME, UUIDS[0], "H100")
    assert device.partitions == (Partition(MIG_UUIDS[0], "3g.40gb"), Partition(MIG_UUIDS[1], "2g.20gb"))
    assert (device.state, device.memory_bytes, code(node)) == ("unknown", None, 0)


def test_equal_uuids_of_a_redacted_list_are_several_gpus() -> None:
    assert len(read(LIST.replace(UUIDS[1], UUIDS[0])).accelerators) == 2


@pytest.mark.parametrize(
    ("cut", "model", "uuid"),
    [
        (f"GPU 1: {NAME} (UUID: G", NAME, None),
        ("GPU 1: NVIDIA H1", None, None),
        (f"GPU 1: {NAME} (UUID: {UUIDS[1]}", NAME, UUIDS[1]),
    ],
)
def test_a_list_that_ends_inside_a_gpu_invents_no_name_and_no_uuid(
    cut: str, model: str | None, uuid: str | None
) -> None:
    node = read(f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n{cut}")
    assert [(one.index, one.model, one.uuid) for one in node.accelerators] == [(0, NAME, UUIDS[0]), (1, model, uuid)]
    ended = [("failed", "nvidia-smi's output ends inside this device")]
    assert told(node, "nvidia:1.uuid") == ([] if uuid else ended)
    assert (told(node, "nvidia:1.model"), code(node)) == (([], 0) if model else (ended, 3))


def test_a_mig_uuid_in_which_the_list_ends_is_none() -> None:
    text = f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n  MIG 1g.10gb     Device  0: (UUID: MIG-12"
    assert read(text).accelerators[0].partitions == (Partition("mig:0", "1g.10gb"),)


def test_links_that_sleep_are_active_and_links_that_cannot_be_read_are_told() -> None:
    node = read(
        f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n"
        "\tNVML: Unable to retrieve NVLink information for link 0: Unknown Error\n"
        "\t Link 1: 26.562 GB/s\n\t Link 2: <sleep>\n\t Link 3: <inactive>\n\t Link 4: [Unknown Error]\n"
    )
    (device,) = node.accelerators
    assert (device.attributes["nvlink_active"], device.attributes["nvlink_inactive"]) == (2, 1)
    assert device.attributes["nvlink_bytes_per_second_each"] == 26_562_000_000
    message = "nvidia-smi says: NVML: Unable to retrieve NVLink information for link 0: Unknown Error"
    assert told(node, "nvidia:0.attributes.nvlink_0") == [("failed", message)]
    assert told(node, "nvidia:0.attributes.nvlink_4") == [("failed", "nvidia-smi says: [Unknown Error]")]


def test_active_nvlinks_are_counted_and_join_nobody() -> None:
    node = read(NVLINK)
    for device in node.accelerators:
        assert (device.attributes["nvlink_active"], device.attributes["nvlink_inactive"]) == (2, 1)
        assert device.attributes["nvlink_bytes_per_second_each"] == 26_562_000_000
    assert links(node) == [(None, None)]


@pytest.mark.parametrize(
    ("message", "active", "reason"),
    [
        ("NVML: Unable to retrieve Nvlink information as all links are inActive", 0, None),
        ("Device does not have or support Nvlink", 0, None),
        ("Nvlink queries are not supported for Devices in MIG mode", None, "not-supported"),
        ("NVML: Unable to retrieve NVLink information", None, "failed"),
    ],
)
def test_messages_about_nvlink(message: str, active: int | None, reason: str | None) -> None:
    node = read(f"GPU 0: {NAME} (UUID: {UUIDS[0]})\n{message}\n")
    (device,) = node.accelerators
    assert (device.attributes["nvlink"], device.attributes.get("nvlink_active")) == (message, active)
    assert [one[0] for one in told(node, "nvidia:0.attributes.nvlink_active")] == ([reason] if reason else [])


def test_links_without_the_line_of_their_gpu_are_the_only_gpu_s() -> None:
    bare = "\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n"
    assert [device.attributes["nvlink_active"] for device in read(bare).accelerators] == [2]
    (device,) = read(bare, MIG_LIST).accelerators
    assert (device.model, device.attributes["nvlink_active"]) == (NAME, 2)


def test_chip_to_chip_links() -> None:
    (device,) = read(C2C).accelerators
    assert device.attributes == {"c2c_active": 2, "c2c_inactive": 0, "c2c_bytes_per_second_each": 44_712_000_000}


def test_peer_to_peer_words_are_attributes_of_their_row() -> None:
    node = read(P2P)
    assert [dict(device.attributes) for device in node.accelerators] == [{"p2p_gpu1": "OK"}, {"p2p_gpu0": "CNS"}]
    assert links(node) == [(None, None)]
    asked = read(f"$ nvidia-smi topo -p2p r\n{P2P}\n$ nvidia-smi topo -p2p w\n{P2P.replace('OK', 'NS')}")
    assert dict(asked.accelerators[0].attributes) == {"p2p_read_gpu1": "OK", "p2p_write_gpu1": "NS"}


def test_a_gpu_that_a_header_names_exists_without_its_row() -> None:
    node = read(" \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tOK\n GPU1\tOK\n")
    assert len(node.accelerators) == 3
    assert "GPU1, GPU2 are missing or cut off" in told(node, "accelerators.p2p")[0][1]


def test_rows_with_their_header() -> None:
    node = read(CSV)
    first, second = node.accelerators
    assert (first.id, first.model, first.uuid, first.serial) == ("nvidia:0", NAME, UUIDS[0], "1653123000000")
    assert first.pci is not None
    assert (first.pci.address, second.memory_bytes, second.state) == ("0000:18:00.0", 81559 * MIB, "ok")
    assert [(one.name, one.version) for one in node.software] == [("nvidia", "570.133.20")]


def test_a_unit_stands_in_the_header_or_in_the_cell() -> None:
    assert read(CSV.replace(" MiB,", ",")).accelerators == read(CSV).accelerators


def test_columns_without_a_header_are_known_as_far_as_they_leave_no_doubt() -> None:
    node = read("".join(CSV.splitlines(keepends=True)[1:]))
    for place, device in enumerate(node.accelerators):
        assert (device.index, device.model, device.uuid) == (place, NAME, UUIDS[place])
        assert (device.memory_bytes, device.serial, device.state) == (None, None, "unknown")
    assert [one.version for one in node.software] == ["570.133.20"]


def test_a_number_that_may_be_anything_is_no_index() -> None:
    (device,) = read(f"0, {NAME}, 33\n").accelerators
    assert (device.model, device.index) == (NAME, None)


def test_names_alone_are_devices_and_join_those_of_another_text() -> None:
    names = f"{NAME}\n{NAME}\n"
    assert [device.id for device in read(names).accelerators] == ["nvidia@0", "nvidia@1"]
    joined = read(names, TABLE)
    assert [device.id for device in joined.accelerators] == ["nvidia:0", "nvidia:1"]


def test_rows_that_repeat_are_one_device_and_only_a_contradiction_is_told() -> None:
    again = read(CSV + "".join(CSV.splitlines(keepends=True)[1:]))
    assert len(again.accelerators) == 2
    assert told(again, "accelerators") == []
    row = f"2, {NAME}, {UUIDS[0]}, {ADDRESSES[0]}, 1653123000000, 570.133.20, 81559 MiB, 71.27 W\n"
    double = read(CSV + row)
    assert [device.id for device in double.accelerators] == ["nvidia:0", "nvidia:1"]
    assert told(double, "accelerators") == [
        ("disagreement", "of 3 rows some have one address: GPU 0 and GPU 2 at 0000:18:00.0")
    ]


def test_a_count_that_the_rows_contradict_is_told() -> None:
    node = read(f"count, name, index\n8, {NAME}, 0\n8, {NAME}, 1\n")
    assert told(node, "accelerators") == [("disagreement", "nvidia-smi counts 8 GPUs and lists 2")]


def test_rows_that_name_no_gpu_and_go_on_and_on_are_no_count() -> None:
    node = read("name, power.draw [W]\n" + f"{NAME}, 71.27 W\n" * 500)
    assert node.accelerators == ()
    assert told(node, "accelerators") == [
        ("not-asked", "500 rows name no GPU: they were asked time and again, and of how many is not told")
    ]


def test_rows_of_processes_are_no_gpus() -> None:
    assert (
        held(f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{UUIDS[0]}, 4711, python --token x, 5 MiB\n") == []
    )


def test_of_a_table_without_a_header_no_free_text_is_kept() -> None:
    (recording,) = recordings(f"{UUIDS[0]}, 4711, python --token hunter2, 5 MiB\n")
    assert "hunter2" not in str(recording.answers)
    assert "5 MiB" in str(recording.answers)


@pytest.mark.parametrize(
    "text",
    [
        "index,name,serial\n0,Rack 12,ABC123\n1,Rack 13,ABC124\n",
        "name, memory, price\nNVIDIA A100 40GB, 40 GB, 2.5\nNVIDIA H100, 80 GB, 4.5\n",
        "count,name\n3,apples\n",
        "gpu,uuid,index,serial\n0,29ff74a1-0000-1000-807b-1fd5fe6a2d7d,0,12\n",
    ],
)
def test_a_table_of_someone_else_is_no_table_of_gpus(text: str) -> None:
    assert held(text) == []


def test_a_field_that_nobody_knows_yet_hides_no_table() -> None:
    text = "index, name, memory.total [MiB], later.field, new_field\n0, NVIDIA L4, 23034 MiB, 7, x\n"
    assert held(text) == []  # two strangers of five
    node = read(text.replace(", new_field", ", uuid, serial").replace(", x", f", {UUIDS[0]}, 12"))
    assert [(one.model, one.uuid, one.serial) for one in node.accelerators] == [("NVIDIA L4", UUIDS[0], "12")]


def test_cells_in_quotes_are_the_cells_within() -> None:
    quoted = "".join(",".join(f'"{cell.strip()}"' for cell in line.split(",")) + "\n" for line in CSV.splitlines())
    assert read(quoted).accelerators == read(CSV).accelerators


def test_a_second_table_tells_of_the_same_gpus_and_of_one_more() -> None:
    text = f"""$ nvidia-smi --query-gpu=index,name --format=csv
index, name
0, {NAME}
1, {NAME}
$ nvidia-smi --query-gpu=index,memory.total,pci.bus_id --format=csv
index, memory.total [MiB], pci.bus_id
0, 81559 MiB, 00000000:18:00.0
1, [GPU is lost], 00000000:2A:00.0
2, 81559 MiB, 00000000:3A:00.0
"""
    node = read(text)
    assert [
        (one.index, one.model, one.memory_bytes, one.pci and one.pci.address, one.state) for one in node.accelerators
    ] == [
        (0, NAME, 81559 * MIB, "0000:18:00.0", "ok"),
        (1, NAME, None, "0000:2a:00.0", "lost"),
        (2, None, 81559 * MIB, "0000:3a:00.0", "ok"),
    ]
    assert code(node) == 3


def test_a_second_table_that_names_no_gpu_goes_by_its_places() -> None:
    node = read(f"index, name\n0, {NAME}\n1, {NAME}\nmemory.total [MiB]\n81559 MiB\n40000 MiB\n")
    assert [one.memory_bytes for one in node.accelerators] == [81559 * MIB, 40000 * MIB]


@pytest.mark.parametrize(
    ("last", "memory", "state", "status"), [("[GPU is lost]", None, "lost", 3), ("40000 MiB", 40000 * MIB, "ok", 0)]
)
def test_of_rows_asked_time_and_again_the_last_stands_and_what_changed_is_told(
    last: str, memory: int | None, state: str, status: int
) -> None:
    head = "timestamp, index, name, memory.total [MiB]\n"
    node = read(f"{head}10:00:00, 0, {NAME}, 81559 MiB\n10:00:05, 0, {NAME}, {last}\n")
    (device,) = node.accelerators
    assert (device.memory_bytes, device.state, code(node)) == (memory, state, status)
    assert told(node, "accelerators") == [
        ("disagreement", f"rows of GPU 0 tell its memory as 81559 MiB, then as {last}")
    ]


@pytest.mark.parametrize(
    ("column", "whole", "cut", "field"),
    [
        ("memory.total [MiB]", "81920 MiB", "819", "memory_bytes"),
        ("memory.total [MiB]", "81920 MiB", "81920 M", "memory_bytes"),
        ("memory.total [MiB]", "81920", "819", "memory_bytes"),
        ("memory.total [MiB]", "81920 MiB", "[Unkn", "memory_bytes"),
        ("uuid", UUIDS[0], "GPU-1a2", "uuid"),
        ("serial", "1653123000000", "16531", "serial"),
        ("name", NAME, NAME[:9], "model"),
        ("pci.bus_id", ADDRESSES[0], "00000000:1", "pci"),
    ],
)
def test_a_cell_in_which_the_output_ends_is_no_value(column: str, whole: str, cut: str, field: str) -> None:
    node = read(f"index, compute_cap, {column}\n0, 9.0, {whole}\n1, 9.0, {cut}")
    second = node.accelerators[1]
    assert (second.index, getattr(second, field)) == (1, None)
    assert told(node, f"nvidia:1.{field}") == [("failed", "nvidia-smi's output ends inside this device")]
    assert code(node) == (3 if field in ("memory_bytes", "model") else 0)
    complete = read(f"index, compute_cap, {column}\n1, 9.0, {whole}")
    assert getattr(complete.accelerators[0], field) is not None


def test_cells_that_the_last_row_lacks_were_cut_off() -> None:
    node = read(f"index, name, memory.total [MiB]\n0, {NAME}, 81559 MiB\n1, {NAME}\n")
    assert [one.memory_bytes for one in node.accelerators] == [81559 * MIB, None]
    assert [one[0] for one in told(node, "nvidia:1.memory_bytes")] == ["failed"]
    assert told(node, "accelerators.serial")[0][0] == "not-asked"
    assert code(node) == 3


def test_a_lone_uuid_that_is_cut_is_one_more_gpu() -> None:
    node = read(f"uuid\n{UUIDS[0]}\nGPU-12")
    assert {one.uuid for one in node.accelerators} == {UUIDS[0], None}


def test_the_table_gives_numbers_addresses_memory_and_mig_devices() -> None:
    node = read(TABLE)
    first, second = node.accelerators
    assert first.pci is not None
    assert (first.index, first.model, first.pci.address, first.memory_bytes) == (0, NAME, "0000:18:00.0", 81559 * MIB)
    assert (first.state, first.partitions, first.attributes) == (
        "ok",
        (),
        {"mig_mode": "Disabled", "ecc_uncorrected": 0},
    )
    assert second.partitions == (Partition("mig:0", None, 40448 * MIB), Partition("mig:1", None, 20096 * MIB))
    assert [(one.name, one.version) for one in node.software] == [("nvidia", "570.133.20"), ("cuda", "12.8")]


OLD = """+-----------------------------------------------------------------------------+
| NVIDIA-SMI 367.48                 Driver Version: 367.48                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name            TCC/WDDM | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla K80           Off  | 0000:83:00.0     Off |                    0 |
| N/A   37C    P8    26W / 149W |      2MiB / 11439MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  GeForce GTX 108...  Off  | 0000:84:00.0     Off |                  N/A |
|ERR!   ERR! ERR!    ERR! / ERR!|      2MiB / 11178MiB |    ERR!      Default |
+-------------------------------+----------------------+----------------------+
"""


def test_an_old_table_with_a_gpu_that_does_not_answer() -> None:
    node = read(OLD)
    first, second = node.accelerators
    assert (first.model, first.state, first.memory_bytes) == ("Tesla K80", "ok", 11439 * MIB)
    assert (second.model, second.state, second.memory_bytes) == ("GeForce GTX 108...", "unknown", 11178 * MIB)
    assert told(node, "nvidia:1.state") == [("failed", "nvidia-smi says: ERR!")]
    assert [one.version for one in node.software] == ["367.48"]
    assert code(node) == 3


def test_a_name_that_is_cut_gives_way_to_a_whole_one_and_names_no_type() -> None:
    cut = TABLE.replace(NAME, "NVIDIA H100 80GB H...")
    assert {(device.model, device.ray.type) for device in read(cut).accelerators} == {("NVIDIA H100 80GB H...", None)}
    assert told(read(cut), "accelerators.ray.type")[0][0] == "not-asked"
    assert {(device.model, device.ray.type) for device in read(cut, LIST).accelerators} == {(NAME, "H100")}


def test_one_row_without_the_head_and_blanks_that_a_paste_lost() -> None:
    row = "| 1 Tesla V100-SXM2-32GB Off | 00000002:00:00.0 Off | 0 |\n"
    row += "| N/A 40C P0 ERR! / 300W | 0MiB / 32510MiB | 0% Default |\n"
    node = read(row)
    (device,) = node.accelerators
    assert device.pci is not None
    assert (device.index, device.model, device.pci.address) == (1, "Tesla V100-SXM2-32GB", "0002:00:00.0")
    assert (device.memory_bytes, device.state) == (32510 * MIB, "ok")
    assert told(node, "nvidia:1.attributes.power_draw") == [("failed", "nvidia-smi says: ERR! (power draw)")]


def test_a_table_whose_memory_is_not_supported() -> None:
    node = read(TABLE.replace("      1MiB /  81559MiB", "         Not Supported"))
    assert {device.memory_bytes for device in node.accelerators} == {None}
    assert told(node, "accelerators.memory_bytes") == [("not-supported", "nvidia-smi does not say")]


def test_a_table_that_ends_in_a_row() -> None:
    node = read(TABLE[: TABLE.index("| N/A   30C    P0             82W")])
    assert told(node, "nvidia:1.memory_bytes") == [("failed", "nvidia-smi's output ends inside this device")]
    assert code(node) == 3


@pytest.mark.parametrize(
    ("line", "address", "index"),
    [
        ("Unable to determine the device handle for GPU 0000:2A:00.0: Unknown Error", "0000:2a:00.0", None),
        ("Unable to determine the device handle for GPU0000:2A:00.0: Unknown Error", "0000:2a:00.0", None),
        ("Unable to determine the device handle for GPU1: 0000:2A:00.0: Unknown Error", "0000:2a:00.0", 1),
        ("Unable to determine the device handle for GPU 0000:2A:00.0: GPU is lost.  Reboot", "0000:2a:00.0", None),
        ("Unable to determine the device handle for GPU1: Unknown Error", None, 1),
    ],
)
def test_a_gpu_without_a_handle_is_lost(line: str, address: str | None, index: int | None) -> None:
    node = read(line + "\n the system to recover this GPU\n")
    (device,) = node.accelerators
    assert (device.pci.address if device.pci else None, device.index, device.state) == (address, index, "lost")
    assert told(node, f"{device.id}.model") == [("failed", f"nvidia-smi says: {line}")]
    assert code(node) == 3


def test_a_gpu_that_is_lost_stands_beside_those_that_answer() -> None:
    rows = "".join(CSV.splitlines(keepends=True)[:2])
    node = read(f"Unable to determine the device handle for GPU1: 0000:2A:00.0: Unknown Error\n{rows}")
    assert [(device.id, device.state) for device in node.accelerators] == [("nvidia:0", "ok"), ("nvidia:1", "lost")]


def test_a_handle_that_is_refused_loses_nobody() -> None:
    node = read("Unable to determine the device handle for GPU 0000:2A:00.0: Insufficient Permissions\n")
    assert [device.state for device in node.accelerators] == ["unknown"]
    assert told(node, "nvidia@0000:2a:00.0.state")[0][0] == "not-permitted"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure it runs.", "failed"),
        ("Failed to initialize NVML: Driver/library version mismatch", "failed"),
        ("Failed to initialize NVML: Insufficient Permissions", "not-permitted"),
        ("No devices were found", "failed"),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "not-installed"),
        ("bash: nvidia-smi: command not found", "not-installed"),
        ("Unable to determine the device handle for GPU 000:BA:80.0: Unknown Error", "failed"),
    ],
)
def test_an_error_line_is_a_reading(line: str, reason: str) -> None:
    node = read(f"$ nvidia-smi\n{line}\n")
    assert node.accelerators == ()
    assert told(node, "accelerators") == [(reason, f"nvidia-smi says: {line}")]
    assert code(node) == 3


def test_a_warning_below_the_table_degrades_the_gpu_that_it_names() -> None:
    node = read(TABLE + "WARNING: infoROM is corrupted at gpu 0000:2A:00.0\n")
    assert [device.state for device in node.accelerators] == ["ok", "degraded"]
    assert told(node, "nvidia:1.attributes.inforom") == [
        ("failed", "nvidia-smi says: WARNING: infoROM is corrupted at gpu 0000:2A:00.0")
    ]


def test_several_outputs_in_one_text_are_each_read() -> None:
    ticket = (
        f"$ nvidia-smi\n{TABLE}$ nvidia-smi -L\n{LIST}$ nvidia-smi nvlink -s\n{NVLINK}$ nvidia-smi topo -p2p r\n{P2P}"
    )
    assert held(ticket) == ["nvidia-smi -L", "nvidia-smi", "nvidia-smi nvlink -s", "nvidia-smi topo -p2p"]
    first, second = read(ticket).accelerators
    assert (first.uuid, first.memory_bytes, first.attributes["nvlink_active"]) == (UUIDS[0], 81559 * MIB, 2)
    assert (second.uuid, second.attributes["p2p_read_gpu0"]) == (UUIDS[1], "CNS")


def test_texts_of_one_machine_are_one_node_whatever_their_order() -> None:
    texts = (QUERY, TABLE, LIST, NVLINK, P2P, CSV)
    forward, backward = read(*texts), read(*reversed(texts))
    assert len(forward.accelerators) == 2
    assert [device.id for device in backward.accelerators] == ["nvidia:0", "nvidia:1"]
    for a, b in zip(forward.accelerators, backward.accelerators, strict=True):
        assert (a.model, a.uuid, a.memory_bytes, a.serial, a.attributes) == (
            b.model,
            b.uuid,
            b.memory_bytes,
            b.serial,
            b.attributes,
        )


def test_a_query_and_a_list_tell_of_a_mig_device_what_each_knows() -> None:
    (device,) = read(HEAD.format(attached=1) + query_block(0, mig=MIG), MIG_LIST).accelerators
    assert device.partitions == (
        Partition(MIG_UUIDS[0], "3g.40gb", 40448 * MIB),
        Partition(MIG_UUIDS[1], "2g.20gb", 20096 * MIB),
    )
