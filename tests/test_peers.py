"""What is read of the ways between devices: ACS, IOMMU, BARs, and the configuration space that some of it stands in."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raxl.collect import inputs, keeping
from raxl.host import Answer, Question, config_space
from raxl.host.archive import Entry
from raxl.host.live import LiveHost
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.host.replay import ReplayHost
from raxl.intake.tree import ArchiveTree, TreeRecording
from raxl.model.facts import Reading
from raxl.model.peering import UNREAD, Peering
from raxl.sources import peers

BRIDGE, GPU = "0000:17:00.0", "0000:19:00.0"
FOLDER = "/sys/bus/pci/devices"


def space(size: int = 4096, **parts: str) -> bytes:
    """A configuration space: zeros but for the parts, given as `at_100="0d0001…"`."""
    content = bytearray(size)
    for place, digits in parts.items():
        given_bytes = bytes.fromhex(digits)
        start = int(place.removeprefix("at_"), 16)
        content[start : start + len(given_bytes)] = given_bytes
    return bytes(content)


SERIAL = "030001151122334455667788"
"""Device Serial Number, followed by the capability at 0x150."""
REDIRECTING = space(at_100=SERIAL, at_150="0d0001000000" + "1d00")


def read(bridge: Answer, **others: Answer) -> Peering:
    """What is read of one GPU below one bridge."""
    answers = {
        Question("names", FOLDER): Answer([BRIDGE, GPU]),
        Question("text", f"{FOLDER}/{BRIDGE}/class"): Answer("0x060400\n"),
        Question("text", f"{FOLDER}/{GPU}/class"): Answer("0x030200\n"),
        Question("text", f"{FOLDER}/{GPU}/vendor"): Answer("0x10de\n"),
        Question("link", f"{FOLDER}/{GPU}"): Answer(f"/sys/devices/pci0000:16/{BRIDGE}/{GPU}"),
        Question("data", f"{FOLDER}/{BRIDGE}/config"): bridge,
        Question("link", f"{FOLDER}/{GPU}/iommu_group"): others.get("group", Answer(None, "not-present")),
        Question("text", "/sys/kernel/iommu_groups/7/type"): others.get("type", Answer(None, "not-present")),
        Question("text", f"{FOLDER}/{GPU}/resource"): others.get("resource", Answer(None, "not-present")),
        Question("names", "/sys/class/iommu"): others.get("iommus", Answer(None, "not-present")),
        Question("text", "/proc/driver/nvidia/version"): others.get("driver", Answer(None, "not-present")),
        Question("names", "/sys/kernel/mm/memory_peers"): others.get("clients", Answer(None, "not-present")),
        Question("names", "/sys/kernel/memory_peers"): Answer(None, "not-present"),
        Question("names", "/sys/memory_peers"): Answer(None, "not-present"),
    }
    return peers.parse(peers.ask(ReplayHost(Recording(answers))), UNREAD, UNREAD)


@pytest.mark.parametrize(
    ("content", "controls"),
    [
        (REDIRECTING, ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")),
        (space(at_100="0d0001000000" + "0000"), ()),
        (space(at_100="0d0001000000" + "4100"), ("SrcValid", "DirectTrans")),
        (space(at_100="010001000000"), ()),  # AER alone: no ACS
        (space(), ()),  # no extended capability at all
        (space(at_100="010001100000"), ()),  # a list that runs in a circle
    ],
)
def test_acs_controls_are_those_of_the_control_register(content: bytes, controls: tuple[str, ...]) -> None:
    assert read(Answer(content.hex())).ports[BRIDGE].value == controls


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(REDIRECTING[:64].hex()), "not-permitted"),  # what everybody may read
        (Answer(REDIRECTING[:256].hex()), "not-supported"),  # conventional PCI
        (Answer(REDIRECTING[:0x154].hex()), "failed"),  # cut off before the control register
        (Answer(""), "failed"),
        (Answer("no hex"), "failed"),
        (Answer(b"\xff".hex() * 4096), "failed"),  # a device that fell off the bus
        (Answer(None, "not-permitted", "Permission denied"), "not-permitted"),
        (Answer(None, "not-present"), "not-present"),
    ],
)
def test_acs_that_cannot_be_read_has_its_reason(answer: Answer, reason: str) -> None:
    reading = read(answer).ports[BRIDGE]
    assert (reading.value, reading.reason) == (None, reason)


def test_iommu_is_read_from_the_devices_group() -> None:
    found = read(
        Answer(""), group=Answer("/sys/kernel/iommu_groups/7"), type=Answer("DMA-FQ\n"), iommus=Answer(["dmar0"])
    )
    assert found.iommu_types[GPU] == Reading("DMA-FQ", "/sys/kernel/iommu_groups")
    assert found.iommus.value == ("dmar0",)
    without = read(Answer(""))
    assert (without.iommu_types[GPU].value, without.iommu_types[GPU].reason) == (None, "not-present")
    assert without.iommus.value == ()


RESOURCES = """0x00000000d0000000 0x00000000d0ffffff 0x0000000000040200
0x0000201000000000 0x0000202fffffffff 0x000000000014220c
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x000000000000e000 0x000000000000e07f 0x0000000000040101
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x0000000000000000 0x0000000000000000 0x0000000000000000
0x00000000d1000000 0x00000fffffffffff 0x0000000000046200
"""


def test_the_largest_bar_is_a_memory_bar_of_the_function_itself() -> None:
    """Ports, the ROM and what virtual functions have do not count."""
    assert read(Answer(""), resource=Answer(RESOURCES)).bars[GPU].value == 128 << 30


@pytest.mark.parametrize("text", ["", "0x1 0x2\n", "0x0 0xffffffffffffffff 0x200\n", "0xd0ff 0xd000 0x200\n"])
def test_a_resource_file_without_a_memory_bar_says_so(text: str) -> None:
    reading = read(Answer(""), resource=Answer(text)).bars[GPU]
    assert (reading.value, reading.reason) == (None, "not-supported")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (builder@host)", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Thu Jan 15 08:00:00 UTC 2026", "closed"),
        ("something else", None),
    ],
)
def test_the_kind_of_nvidias_module_is_in_its_first_line(line: str, kind: str | None) -> None:
    assert read(Answer(""), driver=Answer(f"{line}\nGCC version: 12\n")).nvidia_module.value == kind


@given(st.binary(max_size=600))
def test_any_configuration_space_is_read_and_blanked(content: bytes) -> None:
    read(Answer(content.hex()))
    assert len(config_space.without_serials(content.hex())) == 2 * len(content)


def test_a_configuration_space_alone_is_given_as_bytes(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER.strip("/") / BRIDGE
    folder.mkdir(parents=True)
    (folder / "config").write_bytes(REDIRECTING + b"more")
    (folder / "rom").write_bytes(b"secret")
    entries = [Entry(f"{FOLDER.strip('/')}/{BRIDGE}/config", "file", REDIRECTING + b"more")]
    tree = TreeRecording(ArchiveTree(entries, ""), name="", source="", created="")
    for host in (LiveHost(str(tmp_path)), ReplayHost(tree)):
        assert host.data(f"{FOLDER}/{BRIDGE}/config").value == REDIRECTING.hex()
        assert host.data(f"{FOLDER}/{BRIDGE}/rom").reason == "not-supported"
        assert host.data("/proc/cmdline").reason == "not-supported"
        assert host.data(f"{FOLDER}/../../../../proc/self/environ/config").reason == "not-supported"
    assert LiveHost(str(tmp_path)).data(f"{FOLDER}/{GPU}/config").reason == "not-present"


def recording() -> Recording:
    asked = Question("data", f"{FOLDER}/{BRIDGE}/config")
    refused = Question("data", f"{FOLDER}/{GPU}/config")
    return Recording(
        {asked: Answer(REDIRECTING.hex()), refused: Answer(None, "not-permitted", "Permission denied")}, name="node"
    )


def test_bytes_are_kept_in_a_snapshot_and_come_back(tmp_path: Path) -> None:
    kept = tmp_path / "kept.tar.gz"
    kept.write_bytes(keeping.packed([recording()]))
    (again,) = inputs.opened([str(kept)])
    assert again.answers == recording().answers
    members = dict(_members(kept.read_bytes()))
    assert members[f"raxl-snapshot/nodes/node/root{FOLDER}/{BRIDGE}/config"] == REDIRECTING


def _members(content: bytes) -> list[tuple[str, bytes]]:
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return [(member.name, file.read()) for member in archive if (file := archive.extractfile(member))]


def test_a_redacted_configuration_space_names_no_device_and_still_tells_acs() -> None:
    redacted = Redactor(b"k" * 32).recording(recording())
    (text,) = [answer.value for answer in redacted.answers.values() if answer.known]
    assert bytes.fromhex(SERIAL)[4:] not in bytes.fromhex(text)
    assert read(Answer(text)).ports[BRIDGE] == read(Answer(REDIRECTING.hex())).ports[BRIDGE]


def test_vital_product_data_and_makers_own_capabilities_are_blanked() -> None:
    held = space(
        at_06="1000", at_34="40", at_40="0350" + "0080" + "53455249", at_50="09000cabcdefabcdefabcdef",
        at_100="0b000100" + "01000101" + "6162636465666768",
    )  # fmt: skip
    blanked = bytes.fromhex(config_space.without_serials(held.hex()))
    for part in (b"SERI", bytes.fromhex("abcdef"), b"abcd"):
        assert part in held
        assert part not in blanked
