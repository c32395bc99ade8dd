"""What the tools of InfiniBand and RoCE print: small texts with the right values, and each way in which they break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus_texts import CARDS, DEVINFO, FABRIC, IBSTAT, IBSTATUS, NETDEV, NETDEV_V, RDMA
from raxl.collect import assemble, inputs, machines, merge_nics, nic_contradictions
from raxl.host.redact import Redactor
from raxl.intake import documents, forms, ibdev2netdev, ibnetdiscover, ibstat, ibstatus, ibv_devinfo, nicctl, rdma_link
from raxl.intake.foreign import Foreign
from raxl.model.component import PciIdentity
from raxl.model.nic import Nic, Port
from raxl.model.node import Node
from raxl.sources import infiniband

G = 10**9
MODULES = {
    "ibstat": (ibstat, IBSTAT),
    "ibstatus": (ibstatus, IBSTATUS),
    "ibv_devinfo": (ibv_devinfo, DEVINFO),
    "ibdev2netdev": (ibdev2netdev, NETDEV + NETDEV_V),
    "rdma-link": (rdma_link, RDMA),
    "ibnetdiscover": (ibnetdiscover, FABRIC),
    "nicctl": (nicctl, CARDS),
}


def nics(form: str, text: str) -> dict[str, Nic]:
    return {nic.id: nic for nic in parse(form, text).nics}


def parse(form: str, text: str) -> Foreign:
    return MODULES[form][0].parse(text)[0]  # type: ignore[attr-defined, no-any-return]


def problems(form: str, text: str) -> set[tuple[str, str]]:
    return {(one.subject, one.reason) for one in MODULES[form][0].parse(text)[1]}  # type: ignore[attr-defined]


def nodes(*texts: str, name: str | None = None) -> tuple[Node, ...]:
    recordings = [
        recording
        for number, text in enumerate(texts)
        for recording in inputs._from_bytes(text.encode(), f"file{number}")
    ]
    return assemble.inventory(machines.together(recordings, name)).nodes


def test_a_line_without_a_network_device_names_none() -> None:
    found = nics("ibdev2netdev", "mlx5_5 port 1 ==>  (Up)\nmlx5_6 port 1 ==> eth0 (Up)\n")
    assert (found["mlx5_5"].netdev, found["mlx5_5"].kind, found["mlx5_5"].state) == (None, "rdma", "unknown")
    assert (found["mlx5_6"].netdev, found["mlx5_6"].kind, found["mlx5_6"].state) == ("eth0", "roce", "ok")


def test_iwarp_is_no_roce() -> None:
    text = "hca_id:\tirdma0\n\ttransport:\t\t\tiWARP (1)\n\t\tport:\t1\n\t\t\tlink_layer:\t\tEthernet\n"
    assert nics("ibv_devinfo", text)["irdma0"].kind == "iwarp"
    assert nics("ibv_devinfo", text.replace("iWARP (1)", "InfiniBand (0)"))["irdma0"].kind == "roce"
    assert nics("rdma-link", "link siw0/1 state ACTIVE physical_state LINK_UP netdev eth0\n")["siw0"].kind == "iwarp"


FLAGS = """\
\tdevice_cap_flags:\t\t0x21721c36
\t\t\t\t\tBAD_PKEY_CNTR
\t\t\t\t\tUnknown flags: 0x21400000
\tuc_odp_caps:
\t\t\t\t\tNO SUPPORT
\traw packet caps:
\t\t\t\t\tC-VLAN stripping offload
\ttag matching not supported

"""


def test_flags_without_a_colon_do_not_end_a_device() -> None:
    """`ibv_devinfo -v`: the ports stand beneath all of the capabilities."""
    text = DEVINFO.replace("\t\tport:", FLAGS + "\t\tport:")
    assert text.count("NO SUPPORT") == 2
    for one in (text, ibv_devinfo.own(text)):
        assert nics("ibv_devinfo", one) == nics("ibv_devinfo", DEVINFO)
        assert problems("ibv_devinfo", one) == problems("ibv_devinfo", DEVINFO)
    flat = "".join(line.lstrip() for line in text.replace("C-VLAN stripping offload\n", "").splitlines(keepends=True))
    flat = flat.replace("tag matching not supported\n", "")
    assert nics("ibv_devinfo", flat) == nics("ibv_devinfo", DEVINFO)


def test_a_prompt_ends_a_device_in_an_indented_text_too() -> None:
    text = "".join(f"    {line}\n" for line in [*DEVINFO.splitlines(), "$ cat notes", "state: PORT_DOWN (1)"])
    assert nics("ibv_devinfo", text) == nics("ibv_devinfo", DEVINFO)


@pytest.mark.parametrize("form", ["ibstat", "ibstatus"])
def test_ibstat_and_ibstatus_say_the_same(form: str) -> None:
    """An active port is ok, one that waits for its subnet manager is degraded; an adapter does as its best port."""
    found = nics(form, MODULES[form][1])
    first, second = found["mlx5_0"], found["mlx5_1"]
    assert (first.kind, first.state, first.speed_bits_per_second) == ("infiniband", "ok", 400 * G)
    assert second.ports == (Port(1, None, "degraded", 100 * G), Port(2, None, "down", 40 * G))
    assert (second.kind, second.state, second.speed_bits_per_second) == ("roce", "degraded", 100 * G)
    assert (first.evidence, first.pci, first.netdev) == ((form,), None, None)
    assert problems(form, MODULES[form][1]) == set()


def test_ibstat_names_the_model_and_masked_values_are_not_known() -> None:
    assert nics("ibstat", IBSTAT)["mlx5_0"].model == "MT4129"
    masked = nics("ibstat", IBSTAT.replace("MT4129", "...").replace("Rate: 400", "Rate: ..."))["mlx5_0"]
    assert (masked.model, masked.speed_bits_per_second, masked.state) == (None, None, "ok")


def test_a_cut_ibstat_keeps_what_it_says() -> None:
    cut = IBSTAT[: IBSTAT.index("\t\tRate: 100")]
    second = nics("ibstat", cut)["mlx5_1"]
    assert (second.state, second.speed_bits_per_second, second.kind) == ("degraded", None, "rdma")
    assert problems("ibstat", cut) == {("mlx5_1.ports", "failed")}
    swapped = IBSTAT.replace("Number of ports: 1", "Number of ports: 2")
    assert problems("ibstat", swapped) == {("mlx5_0.ports", "disagreement")}


def test_a_device_on_which_ibstat_died_is_there() -> None:
    text = IBSTAT + "ibpanic: [4711] main: stat of IB device 'mlx5_2' failed: No such file or directory\n"
    assert nics("ibstat", text)["mlx5_2"].state == "unknown"
    assert ("mlx5_2.state", "failed") in problems("ibstat", text)
    assert nics("ibstat", ibstat.own(text)) == nics("ibstat", text)


def test_ibv_devinfo_has_a_speed_with_v_alone() -> None:
    found = nics("ibv_devinfo", DEVINFO)
    first, efa = found["mlx5_0"], found["efa_0"]
    assert (first.kind, first.state, first.speed_bits_per_second, first.model) == (
        "infiniband",
        "ok",
        400 * G,
        "MT4129",
    )
    assert (efa.kind, efa.state, efa.speed_bits_per_second, efa.model) == ("efa", "ok", None, None)
    invalid = DEVINFO.replace("4X (2)", "invalid width (0)")
    assert nics("ibv_devinfo", invalid)["mlx5_0"].speed_bits_per_second is None


def test_ibdev2netdev_names_network_devices() -> None:
    """`Down` of an IP-over-InfiniBand device says nothing of the port beneath it."""
    found = nics("ibdev2netdev", NETDEV)
    assert {name: (nic.netdev, nic.kind, nic.state) for name, nic in found.items()} == {
        "mlx5_0": ("ib0", "infiniband", "unknown"),
        "mlx5_1": ("ens1f0np0", "roce", "ok"),
        "mlx5_2": ("ens1f1np1", "roce", "down"),
    }


def test_ibdev2netdev_v_has_addresses_and_the_ports_own_state() -> None:
    found = nics("ibdev2netdev", NETDEV_V)
    assert [(nic.pci.address, nic.state, nic.model) for nic in found.values() if nic.pci] == [
        ("0000:19:00.0", "ok", "MT4129"),
        ("0000:3b:00.0", "down", "MT4125"),
        ("0000:3b:00.1", "degraded", "MT4125"),
    ]


def test_rdma_link() -> None:
    found = nics("rdma-link", RDMA)
    assert {name: (nic.netdev, nic.kind, nic.state) for name, nic in found.items()} == {
        "mlx5_0": ("ens1f0np0", "roce", "ok"),
        "mlx5_1": (None, "infiniband", "down"),
        "rxe0": ("eth0", "roce", "degraded"),
    }


def test_nicctl_cards() -> None:
    found = nics("nicctl", CARDS)
    assert {address: nic.model for address, nic in found.items()} == {
        "0000:44:00.0": "POLLARA 1x400G",
        "0000:84:00.0": None,
    }
    assert set(nics("nicctl", CARDS[: CARDS.index('"eth_bdf": "0000:84')])) == {"0000:44:00.0"}
    assert problems("nicctl", CARDS[: CARDS.index('"eth_bdf": "0000:84')]) == {("nics", "failed")}


@pytest.mark.parametrize(
    ("word", "physical", "state"),
    [
        ("ACTIVE", "5: LinkUp", "ok"),
        ("Active", "LinkUp", "ok"),
        ("PORT_ACTIVE (4)", None, "ok"),
        ("PORT_ACTIVE_DEFER (5)", None, "degraded"),
        ("ACTIVE", "LINK_ERROR_RECOVERY", "degraded"),
        ("ACTIVE", "6: LinkErrorRecovery", "degraded"),
        ("Initializing", "LinkUp", "degraded"),
        ("PORT_INIT (2)", None, "degraded"),
        ("Armed", None, "degraded"),
        ("DOWN", "2: Polling", "down"),
        ("...", None, "unknown"),
        ("", None, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_words_for_the_state_of_a_port(word: str | None, physical: str | None, state: str) -> None:
    assert infiniband.state_of(word, physical) == state


def test_a_fabric_is_a_node_a_host() -> None:
    """Each host has its own adapters, in the order of their numbers; those of no named host stand together. The
    engines inside the switches are none. The state of a port is not told."""
    found = {node.name: node for node in nodes(FABRIC)}
    assert list(found) == ["node-a", "node-b", "file0"]
    assert [(nic.id, nic.speed_bits_per_second) for nic in found["node-b"].nics] == [
        ("HCA-9", None),
        ("HCA-10", 200 * G),
    ]
    (own,) = found["node-a"].nics
    assert (own.kind, own.model, own.state, own.speed_bits_per_second) == ("infiniband", "MT4129", "unknown", 400 * G)
    assert [nic.id for nic in found["file0"].nics] == ["0x0200000000000004"]


def test_of_a_fabric_one_host_can_be_named() -> None:
    (node,) = nodes(FABRIC, IBSTATUS.replace("mlx5_1", "mlx5_7"), name="node-a")
    assert {nic.id: nic.state for nic in node.nics} == {"mlx5_0": "ok", "mlx5_7": "degraded"}
    assert dict.fromkeys(node.nics[0].evidence) == dict.fromkeys(("ibstatus", "ibnetdiscover"))


def test_the_fabric_itself() -> None:
    fabric = ibnetdiscover.fabric(FABRIC)
    (leaf,) = fabric.switches
    assert leaf.description == "MF0;leaf-1:MQM9701/U1"
    assert leaf.ports == {1: 400 * G, 2: 200 * G, 65: 400 * G}
    assert {one.guid: one.peers for one in fabric.adapters}["H-0200000000000001"] == {1: "S-0200000000000100"}


def test_texts_of_one_machine_become_one_adapter_each() -> None:
    """lspci knows the place, ibdev2netdev which device is where, ibstat how it does."""
    listed = """\
19:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
\tNUMA node: 1
3b:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d]
5e:00.0 Ethernet controller [0200]: Intel Corporation Device [8086:1592]
"""
    (node,) = nodes(listed, NETDEV_V, IBSTAT, name="one")
    assert [nic.id for nic in node.nics] == ["mlx5_0", "mlx5_1", "mlx5_2", "0000:5e:00.0"]
    first = node.nics[0]
    assert (first.kind, first.state, first.speed_bits_per_second, first.netdev) == ("infiniband", "ok", 400 * G, "ib0")
    assert first.pci == PciIdentity("0000:19:00.0", "15b3", "1021")
    assert first.numa_node == 1
    assert set(first.evidence) == {"lspci", "ibdev2netdev", "ibstat"}


def test_a_network_device_and_its_rdma_device_are_one_adapter() -> None:
    """By the network device's name; else as the only two at one address, from two sources."""
    here = PciIdentity("0000:19:00.0")
    eth = Nic("eth0", "eth0", "ethernet", pci=here, state="ok", evidence=("a",))
    named = Nic("mlx5_0", "eth0", "roce", evidence=("b",))
    (nic,) = merge_nics.merged([eth, named])
    assert (nic.id, nic.netdev, nic.kind, nic.pci, nic.state) == ("mlx5_0", "eth0", "roce", here, "ok")
    placed = Nic("mlx5_0", None, "roce", pci=here, evidence=("b",))
    assert [(nic.id, nic.netdev) for nic in merge_nics.merged([eth, placed])] == [("mlx5_0", "eth0")]
    second = Nic("eth1", "eth1", "ethernet", pci=here, evidence=("a",))
    assert [nic.id for nic in merge_nics.merged([eth, second, placed])] == ["eth0", "eth1", "mlx5_0"]
    nameless = Nic("0000:19:00.0", model="ConnectX-7", pci=here, evidence=("c",))
    assert [(nic.id, nic.model) for nic in merge_nics.merged([nameless, eth])] == [("eth0", "ConnectX-7")]


def contradictions(*texts: str) -> list[tuple[str, str]]:
    (node,) = nodes(*texts, name="one")
    return [(one.subject, one.message) for one in node.problems if one.reason == "disagreement"]


def test_what_two_tools_say_differently_of_an_adapter_is_told() -> None:
    ports = "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 1: DOWN\n\trate:\t\t 100 Gb/sec (4X EDR)\n"
    ports += "\tlink_layer:\t Ethernet\n"
    adapters = (
        "CA 'mlx5_0'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n"
    )
    assert contradictions(adapters, ports) == [
        ("mlx5_0.kind", "ibstat says infiniband, ibstatus says roce"),
        ("mlx5_0.state", "ibstat says ok, ibstatus says down"),
        ("mlx5_0.speed_bits_per_second", "ibstat says 400 Gb/s, ibstatus says 100 Gb/s"),
    ]
    named = "0000:18:00.0 mlx5_0 (MT4129 - NA) fw 28.39.1002 port 1 (DOWN  ) ==> ibp24s0 (Down)\n"
    assert contradictions(adapters, named) == [("mlx5_0.state", "ibstat says ok, ibdev2netdev says down")]
    linked = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ibp25s0\n"
    assert contradictions(linked, named) == [
        ("mlx5_0.netdev", "ibdev2netdev says ibp24s0, rdma-link says ibp25s0"),
        ("mlx5_0.state", "ibdev2netdev says down, rdma-link says ok"),
    ]


def test_tools_that_round_a_speed_and_know_no_rdma_do_not_contradict() -> None:
    here = PciIdentity("0000:19:00.0")
    one = Nic("mlx5_0", "eth0", "roce", pci=here, state="ok", speed_bits_per_second=56 * G, evidence=("sysfs",))
    other = Nic("mlx5_0", None, "ethernet", speed_bits_per_second=round(54.5 * G), evidence=("ibstat",))
    assert list(nic_contradictions.problems([[one, other]])) == []
    there = Nic("mlx5_0", pci=PciIdentity("0000:1a:00.0"), evidence=("nccl-xml",))
    (problem,) = nic_contradictions.problems([[one, other, there]])
    assert problem.subject == "mlx5_0.pci"
    assert problem.message == "sysfs says 0000:19:00.0, nccl-xml says 0000:1a:00.0"


def test_ports_of_two_sources_are_one_by_their_number() -> None:
    rates = Nic("mlx4_0", kind="roce", ports=(Port(1, None, "ok", 40 * G), Port(2, None, "unknown")), evidence=("a",))
    names = Nic("mlx4_0", "eth2", "roce", ports=(Port(2, "eth3", "down"), Port(1, "eth2", "ok")), evidence=("b",))
    (nic,) = merge_nics.merged([rates, names])
    assert nic.ports == (Port(1, "eth2", "ok", 40 * G), Port(2, "eth3", "down"))


def test_identities_are_redacted_and_the_adapters_stay() -> None:
    """GUIDs, serials, hosts and switches are gone; what is said of the adapters is the same."""
    text = IBSTAT.replace("0x0200000000000001", "0x0200aa0000c0ffe1")
    fabric = FABRIC.replace("node-a", "gpu-r1-n7").replace("02000000000000", "0200aa0000c0ff")
    for shown, gone in (
        (text, ["c0ffe1"]),
        (fabric, ["gpu-r1-n7", "leaf-1", "c0ff"]),
        (NETDEV_V, ["MCX750500B"]),
        (CARDS.replace('"id": "a"', '"id": "a", "serial_number": "FPL12345678"'), ["FPL12345678"]),
    ):
        recordings = machines.together(inputs._from_bytes(shown.encode(), "file0"))
        kept = [Redactor(b"k" * 32).recording(recording) for recording in recordings]
        told = "".join(str(answer.value) for recording in kept for answer in recording.answers.values())
        assert told
        assert not [word for word in gone if word in told]
        before, after = (
            sorted((nic.kind, nic.state, nic.speed_bits_per_second or 0) for one in found.nodes for nic in one.nics)
            for found in (assemble.inventory(recordings), assemble.inventory(kept))
        )
        assert before == after


@pytest.mark.parametrize("form", MODULES)
def test_each_form_is_recognised_and_its_own_lines_say_the_same(form: str) -> None:
    module, text = MODULES[form]
    pasted = f"user@host:~$ a command\r\n{text}\r\nuser@host:~$ \x1b[0m\r\n".replace("\n", "\r\n")
    assert [question.subject for question, _ in forms.recognise(pasted)] == [form]
    assert documents.TEXTS[form].rsplit(".", 1)[1] == module.__name__.rsplit(".", 1)[1]  # type: ignore[attr-defined]
    assert module.parse(module.own(pasted)) == module.parse(text)  # type: ignore[attr-defined]


def test_tools_one_below_the_other_do_not_mix() -> None:
    """A cut block of one tool is not filled with the fields of the next."""
    cut = IBSTAT[: IBSTAT.index("\t\tState: Initializing")]
    subjects = [question.subject for question, _ in forms.recognise(cut + DEVINFO + IBSTATUS)]
    assert subjects == ["ibstat", "ibstatus", "ibv_devinfo"]
    assert nics("ibstat", cut + DEVINFO + IBSTATUS) == nics("ibstat", cut)


def test_lines_that_lost_their_blanks_are_read() -> None:
    for form in ("ibstat", "ibstatus", "ibv_devinfo"):
        flat = "\n".join(" ".join(line.split()) for line in MODULES[form][1].splitlines())
        assert nics(form, flat) == nics(form, MODULES[form][1])


PIECES = [line for _, text in MODULES.values() for line in text.splitlines()]


@pytest.mark.parametrize("form", MODULES)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=40), max_size=14).map("\n".join))
def test_any_lines_are_read_or_passed_over(form: str, text: str) -> None:
    foreign = parse(form, text)
    assert parse(form, MODULES[form][0].own(text)).nics == foreign.nics  # type: ignore[attr-defined]
    assert all(nic.speed_bits_per_second != 0 and nic.evidence == (form,) for nic in foreign.nics)
