"""What lspci prints: small texts with the right values for each form of it, and for each way in which it is damaged."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus_texts import DRAWN, SWITCHED
from raxl.collect import assemble, inputs, machines, paths
from raxl.intake import forms, lspci_list, lspci_tree
from raxl.model.component import PciFunction, PciLink
from raxl.model.node import Node
from raxl.topology import pcie


def read(text: str) -> dict[str, PciFunction]:
    return {function.address: function for function in lspci_list.parse(text)[0].functions}


def one(line: str, *details: str) -> PciFunction:
    (function,) = read("\n".join([line, *(f"\t{detail}" for detail in details)])).values()
    return function


def node(*texts: str) -> Node:
    recordings = [recording for text in texts for recording in inputs._from_bytes(text.encode(), "given")]
    (found,) = assemble.inventory(machines.together(recordings, "one")).nodes
    return found


def reasons(text: str) -> set[tuple[str, str]]:
    return {(problem.subject, problem.reason) for problem in lspci_list.parse(text)[1]}


@pytest.mark.parametrize(
    "line",
    [
        "3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
        "0000:3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
        "3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)",
        "3b:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:20b2] (rev a1) (prog-if 00)",
        "3b:00.0 3D controller: NVIDIA Corporation Device 20b2 (rev a1)",
        "3b:00.0 3D controller: nVidia Corporation Device 20b2 (rev a1)",
        "3b:00.0 0302: 10de:20b2 (rev a1)",
        "3b:00.0 Class 0302: 10de:20b2 (rev a1)",
        "3b:00.0 Class 0302: Device 10de:20b2 (rev a1)",
        "3b:00.0 Class [0302]: Device [10de:20b2] (rev a1)",
        '3b:00.0 "3D controller" "NVIDIA Corporation" "GA100 [A100 SXM4 80GB]" -ra1 "NVIDIA Corporation" "Device 1463"',
        '3b:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "Device [20b2]" -ra1 -p00 "" ""',
        "    3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)",
        "> 3b:00.0 3D controller: NVIDIA Corporation Device 20b2 (rev a1)",
        "\x1b[1m3b:00.0 3D controller: NVIDIA Corporation Device 20b2 (rev a1)\x1b[0m\r",
    ],
)
def test_a_device_in_every_form_of_the_first_line(line: str) -> None:
    """Names, names with ids, ids alone, quoted; a name that the list of ids gives to one device tells its id."""
    function = one(line)
    assert function.address == "0000:3b:00.0"
    assert function.class_id == "030200"
    assert (function.vendor_id, function.device_id) == ("10de", "20b2")
    (device,) = node(line).accelerators
    assert device.model == "A100 SXM4 80GB"
    assert device.id == "nvidia@0000:3b:00.0"


def test_interface_model_and_domain() -> None:
    vga = one(
        "10000:01:00.0 VGA compatible controller: NVIDIA Corporation AD102GL [RTX 6000 Ada Generation]"
        " (rev a1) (prog-if 00 [VGA controller])"
    )
    assert (vga.address, vga.class_id, vga.name) == ("10000:01:00.0", "030000", "RTX 6000 Ada Generation")
    nvme = one("01:00.0 Non-Volatile memory controller: Vendor of No Note EPMockUp (rev 03) (prog-if 02 [NVM Express])")
    assert (nvme.class_id, nvme.vendor_id, nvme.device_id) == ("010802", None, None)
    assert one("6b:00.0 Unassigned class [ff00]: Intel Corporation Device 0d93").class_id == "ff0000"


def test_amd_is_told_by_its_name() -> None:
    """An Instinct card by the name in brackets, a processor's graphics by its code name: that is no accelerator."""
    maker = "Advanced Micro Devices, Inc. [AMD/ATI]"
    line = f"c1:00.0 Display controller: {maker} Aldebaran/MI200 [Instinct MI210] (rev 02)"
    (device,) = node(line).accelerators
    assert (device.vendor, device.model, device.ray.type) == ("amd", "Instinct MI210", "AMD-Instinct-MI210")
    own = f"05:00.0 VGA compatible controller: {maker} Raphael (rev c1)"
    assert node(own).accelerators == ()


@pytest.mark.parametrize(
    "text",
    [
        "nvidia 0000:3b:00.0: enabling device (0140 -> 0142)",
        "0000:19:00.0 mlx5_0 (MT4129 - MT2346X00001) ConnectX-7 port 1 (ACTIVE) ==> ibp25s0 (Up)",
        "00: 86 80 d8 27 06 00 10 00 02 00 03 04 00 00 00 00",
        "3b:00.0 a line with an address: and a colon",
        "[    1.0] pci 0000:00:1f.0: PCI bridge to [bus 01]",
        "",
    ],
)
def test_other_lines_with_addresses_are_not_lspci(text: str) -> None:
    assert not lspci_list.recognises(text)
    assert not lspci_tree.recognises(text)


GPU = "3b:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)"


@pytest.mark.parametrize(
    ("now", "most", "link"),
    [
        (
            "LnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)",
            "LnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1",
            PciLink(2.5, 8, 32, 16),
        ),
        (
            "LnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)",
            "LnkCap:\tPort #0, Speed 16GT/s, Width x16",
            PciLink(16, 16, 16, 16),
        ),
        (
            "LnkSta: Speed 8GT/s, Width x4, TrErr- Train- SlotClk-",
            "LnkCap: Port #1, Speed 8GT/s, Width x4",
            PciLink(8, 4, 8, 4),
        ),
        (
            "LnkSta: Speed unknown (downgraded), Width x0 (downgraded)",
            "LnkCap: Port #0, Speed 16GT/s, Width x16",
            PciLink(None, None, 16, 16),
        ),
        ("LnkSta: Speed unknown, Width x0, TrErr-", "LnkCap: Port #0, Speed unknown, Width x0, ASPM unknown", None),
        (
            "Link: Speed 2.5Gb/s, Width x16",
            "Link: Supported Speed 2.5Gb/s, Width x16, ASPM L0s L1, Port 2",
            PciLink(2.5, 16, 2.5, 16),
        ),
        ("LnkSta: Speed 64GT/s, Width x63", "LnkCap2: Supported Link Speeds: 2.5-64GT/s", PciLink(64, None)),
    ],
)
def test_links(now: str, most: str, link: PciLink | None) -> None:
    """`unknown` and x0 are not known, whatever `(downgraded)` stands beside them."""
    assert one(GPU, most, now).link == link


def test_details_of_a_function() -> None:
    gpu = read(SWITCHED)["0000:18:00.0"]
    assert (gpu.driver, gpu.slot, gpu.subsystem_id, gpu.numa_node) == ("nvidia", "4", "10de:16c1", 0)
    assert gpu.link == PciLink(2.5, 16, 16, 16)  # its port can do no more than 16 GT/s
    (device,) = node(SWITCHED).accelerators
    assert device.attributes == {"driver": "nvidia", "physical_slot": "4"}
    assert one(GPU, "Subsystem: NVIDIA Corporation Device [10de:16c1]").subsystem_id == "10de:16c1"
    assert one(GPU, "NUMA node: -1").numa_node is None


def test_capabilities_that_may_not_be_read_are_told() -> None:
    assert reasons(f"{GPU}\n\tCapabilities: <access denied>\n") == {("pci_links", "not-permitted")}


@pytest.mark.parametrize("sign", ["(rev ff)\n", "(rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"])
def test_a_device_that_does_not_answer_is_lost(sign: str) -> None:
    text = f"3b:00.0 3D controller: NVIDIA Corporation Device 2330 {sign}\n5d:00.0 {GPU[8:]}\n"
    assert reasons(text) == {("pci_tree", "failed")}
    assert [device.state for device in node(text).accelerators] == ["lost", "unknown"]


def test_virtual_functions_belong_to_their_owner_where_it_is_listed() -> None:
    """On a host they are no adapters of their own; in a virtual machine they are all that there is."""
    owner = "0000:19:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]"
    virtual = "0000:19:00.1 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]"
    alone = virtual.replace("0000:19:00.1", "0101:00:00.0")
    assert [nic.id for nic in node(f"{owner}\n{virtual}\n").nics] == ["0000:19:00.0"]
    (nic,) = node(f"{alone}\n{GPU}\n").nics
    assert (nic.id, nic.kind, nic.model) == ("0101:00:00.0", "infiniband", "ConnectX-6 Virtual Function")


def test_kinds_of_adapters() -> None:
    """An Ethernet controller of a maker of RDMA adapters may be either, and none is guessed."""
    text = """\
00:05.0 Ethernet controller: Amazon.com, Inc. Elastic Network Adapter (ENA)
00:06.0 Ethernet controller [0200]: Amazon.com, Inc. Elastic Fabric Adapter (EFA) [1d0f:efa2]
00:07.0 Ethernet controller: Red Hat, Inc. Virtio network device
00:08.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
00:09.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
00:0a.0 Infiniband controller [0207]: Mellanox Technologies CX8 Family [ConnectX-8 Data Direct] [15b3:2100]
"""
    assert [nic.kind for nic in node(text).nics] == ["ethernet", "efa", "ethernet", None, "infiniband"]


ACS = "Capabilities: [148 v1] Access Control Services"
OFF = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
ON = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"


@pytest.mark.parametrize(
    ("details", "value", "reason"),
    [
        ((ACS, ON), ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"), None),
        ((ACS, OFF), ("SrcValid",), None),
        (("Capabilities: [100 v2] Advanced Error Reporting",), (), None),
        ((ACS,), None, "not-asked"),
        (("Capabilities: [40] Power Management version 3",), None, "not-asked"),
        ((), None, "not-asked"),
        (("Capabilities: <access denied>",), None, "not-permitted"),
    ],
)
def test_what_of_acs_is_on(details: tuple[str, ...], value: object, reason: str | None) -> None:
    """A function whose extended capabilities were read and hold no ACS has none on."""
    text = "\n".join(["17:00.0 PCI bridge: Broadcom / LSI PEX890xx", *(f"\t{detail}" for detail in details)])
    reading = lspci_list.parse(text)[0].ports["0000:17:00.0"]
    assert (reading.value, reading.reason) == (value, reason)


@pytest.mark.parametrize(
    ("controls", "status", "words"),
    [
        (ON, "slows", "ACS is on at 0000:17:00.0 (ReqRedir and CmpltRedir)"),
        (OFF, "clear", "ACS redirects nothing at 0000:17:00.0 and 0000:17:01.0"),
        ("", "unknown", "lspci -vv"),
    ],
)
def test_a_path_through_listed_ports_tells_what_their_acs_does(controls: str, status: str, words: str) -> None:
    text = SWITCHED
    for port, control in (("17:00.0", controls), ("17:01.0", OFF)):
        head = next(line for line in SWITCHED.splitlines() if line.startswith(port))
        text = text.replace(head, f"{head}\n\t{ACS}\n\t\t{control}" if control else head)
    (recording,) = inputs._from_bytes(text.encode(), "given")
    document, _ = paths.document([recording], assemble.inventory([recording]), ("0000:18:00.0", "0000:19:00.0"))
    (condition,) = [one for one in document.path.obstacles if one.kind == "acs"]
    assert condition.status == status
    assert words in f"{condition.message} {condition.why}"


def test_bridges_give_the_chain_and_the_class_of_a_path() -> None:
    functions = read(SWITCHED)
    gpu, nic = functions["0000:18:00.0"], functions["0000:19:00.0"]
    assert gpu.host_bridge == "pci0000:15"
    assert gpu.chain == ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0")
    assert pcie.path_class(gpu, nic, 0) == "PIX"
    found = node(SWITCHED)
    assert [(switch.id, switch.members) for switch in found.switches] == [
        ("0000:16:00.0", ("nvidia@0000:18:00.0", "0000:19:00.0"))
    ]
    (link,) = found.links
    assert link.link_class == "PIX"


def test_a_part_of_a_list_does_not_tell_the_host_bridge() -> None:
    """`lspci -vvv -d 10de:` shows no bridges: what is above bus 3b is not known. Bus 00 is below none."""
    assert one(GPU).host_bridge is None
    assert one("0001:00:00.0 3D controller: NVIDIA Corporation Device 20b0").host_bridge == "pci0001:00"
    above = "2f:01.0 PCI bridge: Intel Corporation Device 352a\n\tBus: primary=2f, secondary=3b, subordinate=3b\n"
    gpu = read(above + GPU)["0000:3b:00.0"]
    assert (gpu.host_bridge, gpu.chain) == (None, ("0000:2f:01.0",))
    rooted = above + "\tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00\n"
    assert read(rooted + GPU)["0000:3b:00.0"].host_bridge == "pci0000:2f"


def test_devices_of_two_numa_nodes_are_far_apart_without_a_tree() -> None:
    """A part of a list tells the NUMA nodes: two of them share no host bridge, two devices of one may."""
    words = "Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT]"
    amd = "{}:00.0 " + words + "\n\tNUMA node: {}\n"
    found = node(amd.format("03", 0) + amd.format("43", 0) + amd.format("83", 1))
    assert [link.link_class for link in found.links] == [None, "SYS", "SYS"]


def test_what_a_hypervisor_emulates_makes_the_tree_virtual() -> None:
    bridge = "00:00.0 Host bridge: Intel Corporation 440FX - 82441FX PMC [Natoma] (rev 02)\n"
    port = "00:02.0 PCI bridge: Red Hat, Inc. QEMU PCIe Root port\n"
    assert [node(text + GPU).path_trust for text in (bridge, port, "")] == ["virtual", "virtual", None]


def test_bridges_that_name_each_other_end() -> None:
    loop = """\
01:00.0 PCI bridge: Intel Corporation Device 0001
\tBus: primary=01, secondary=02
02:00.0 PCI bridge: Intel Corporation Device 0001
\tBus: primary=02, secondary=01
"""
    assert read(loop)["0000:02:00.0"].chain == ("0000:01:00.0",)
    assert read(loop)["0000:01:00.0"].chain == ()


def test_two_lists_of_one_machine_fill_each_other() -> None:
    names = f"{GPU}\n\tNUMA node: 1\n"
    ids = "3b:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330]\n\tSubsystem: Device [10de:16c1]\n"
    for found in (node(names, ids), node(names + ids)):
        (device,) = found.accelerators
        assert device.pci is not None
        assert (device.numa_node, device.pci.subsystem_id) == (1, "10de:16c1")


def test_one_address_of_two_devices_is_a_problem() -> None:
    other = "3b:00.0 Ethernet controller: Intel Corporation Device 1592\n"
    assert reasons(f"{GPU}\n{other}") == {("pci_tree", "disagreement")}
    assert read(f"{GPU}\n{other}")["0000:3b:00.0"].vendor_id == "10de"


def test_own_leaves_out_what_stands_around_it() -> None:
    text = f"$ lspci | grep -i nvidia\r\n{GPU}\r\n\tNUMA node: 1\r\n\r\nuser@host:~$ exit\r\n"
    assert lspci_list.own(text) == f"{GPU}\n\tNUMA node: 1\n\n"
    assert lspci_list.parse(lspci_list.own(text)) == lspci_list.parse(text)


def drawn(text: str) -> dict[str, PciFunction]:
    return {function.address: function for function in lspci_tree.parse(text)[0].functions}


def test_the_drawn_tree_gives_every_way_up() -> None:
    functions = drawn(DRAWN)
    gpu, nic = functions["0000:83:00.0"], functions["0000:84:00.0"]
    assert gpu.host_bridge == "pci0000:80"
    assert gpu.chain == ("0000:80:01.0", "0000:81:00.0", "0000:82:00.0")
    assert (gpu.vendor_id, gpu.name) == ("10de", "H100 SXM5 80GB")
    assert pcie.path_class(gpu, nic, 0) == "PIX"
    assert functions["0000:82:02.0"].is_bridge
    assert functions["0000:00:1f.6"].chain == ()
    assert functions["0000:00:1f.6"].host_bridge == "pci0000:00"
    assert pcie.path_class(functions["0000:01:00.0"], functions["0000:02:00.0"], 0) == "PHB"


def test_the_names_of_the_drawn_tree_tell_what_a_device_is() -> None:
    """The drawing has no classes: a chip's name is a GPU, its audio function is none, a NIC's family is an adapter."""
    found = node(DRAWN)
    assert [device.id for device in found.accelerators] == ["nvidia@0000:02:00.0", "nvidia@0000:83:00.0"]
    assert [device.model for device in found.accelerators] == ["A100 SXM4 80GB", "H100 SXM5 80GB"]
    assert {nic.id for nic in found.nics} == {"0000:84:00.0", "0000:84:00.1", "0000:00:1f.6"}
    assert [switch.id for switch in found.switches if switch.kind == "nvswitch"] == ["nvswitch@0000:01:00.0"]


def test_a_drawing_without_names_gives_the_way_up_to_a_list() -> None:
    """`lspci -t` beside `lspci -nn`: one has the way, the other says what the devices are."""
    bare = (
        "-[0000:00]-+-00.0\n           +-01.0-[01]----00.0\n           \\-02.0-[02-04]----00.0-[03-04]----00.0-[04]--\n"
    )
    listed = "01:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"
    (device,) = node(bare, listed).accelerators
    assert (device.pcie_root, device.model) == ("pci0000:00", "H100 SXM5 80GB")
    assert drawn(bare)["0000:03:00.0"].chain == ("0000:00:02.0", "0000:02:00.0")


def test_a_slipped_drawing_is_read_and_a_lost_one_is_told() -> None:
    """A first line that lost its blank moves what is above by one column. Lines without their blanks hang nowhere."""
    slipped = DRAWN.strip()
    assert drawn(slipped) == drawn(DRAWN)
    indented = "\n".join(f"    {line}" for line in DRAWN.splitlines())
    assert drawn(indented) == drawn(DRAWN)
    lost = "\n".join(line.strip() for line in DRAWN.splitlines())
    subjects = [(problem.subject, problem.reason) for problem in lspci_tree.parse(lost)[1]]
    assert subjects == [("pci_tree", "failed")]


def test_a_cut_drawing_keeps_what_stands_before_the_cut() -> None:
    cut = DRAWN[: DRAWN.index("[H100")]
    assert set(drawn(cut)) == {"0000:80:00.0", "0000:80:01.0", "0000:81:00.0", "0000:82:00.0", "0000:83:00.0"}


PIECES = [*SWITCHED.splitlines(), *DRAWN.splitlines(), "", "\t", "3b:00.0", "[", "-[0000:00]-+-", "Bus: primary=00"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=12).map("\n".join))
def test_any_lines_are_read_or_passed_over(text: str) -> None:
    for module in (lspci_list, lspci_tree):
        foreign, problems = module.parse(text)
        again = module.parse(module.own(text))[0]
        assert {one.address for one in again.functions} == {one.address for one in foreign.functions}
        assert all(problem.message for problem in problems)


def test_a_list_of_many_functions_takes_no_longer_than_it_is_worth() -> None:
    """Ten thousand virtual functions, all of one owner."""
    owner = "00:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]\n"
    line = (
        "{:02x}:{:02x}.{} Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]\n"
    )
    places = [(bus, device, function) for bus in range(1, 41) for device in range(32) for function in range(8)]
    start = time.process_time()
    functions = read(owner + "".join(line.format(*place) for place in places))
    assert time.process_time() - start < 10
    assert len(functions) == 1 + len(places)
    assert {function.physical_function for function in functions.values()} == {None, "0000:00:00.0"}


def test_both_forms_are_recognised_in_one_text() -> None:
    subjects = [question.subject for question, _ in forms.recognise(f"$ lspci -tv\n{DRAWN}\n$ lspci -vvv\n{SWITCHED}")]
    assert subjects == ["lspci", "lspci-tree"]


def test_a_list_with_ids_that_ends_inside_a_function_invents_no_model() -> None:
    line = "0000:{}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)\n"
    cut = (line.format("17") + line.format("99"))[:-40]
    (foreign, problems) = lspci_list.parse(lspci_list.own(cut))
    assert [
        (one.address, one.class_id, one.vendor_id, one.name and "H100" in one.name) for one in foreign.functions
    ] == [
        ("0000:17:00.0", "030200", "10de", True),
        ("0000:99:00.0", "030200", None, None),
    ]
    assert [(one.subject, one.reason, one.message) for one in problems] == [
        ("pci_tree", "failed", "lspci's output ends inside 0000:99:00.0")
    ]


ROOT = "00:00.0 Host bridge: Intel Corporation Device 2020 (rev 07)\n"
ADAPTER = "17:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n"


def test_a_part_of_a_list_does_not_tell_that_there_is_no_accelerator() -> None:
    assert reasons(ADAPTER) == {("pci_tree", "not-asked")}
    assert reasons(ROOT + ADAPTER) == set()
    assert reasons(f"{ADAPTER}{GPU}\n") == set(), "lspci | grep"
