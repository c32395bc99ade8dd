"""NCCL topology XML: real captures against a second reader of the same file, and small documents for each trap."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raxl.intake import nccl_xml
from raxl.intake.foreign import Foreign
from raxl.topology import pcie, switches, trust

CORPUS = Path(os.environ["RAXL_CORPUS"]) if "RAXL_CORPUS" in os.environ else None
CAPTURES = sorted((CORPUS / "nccl-topo-xml").glob("*.xml")) if CORPUS else []
real = pytest.mark.skipif(CORPUS is None, reason="RAXL_CORPUS names no corpus")
each = pytest.mark.parametrize("path", CAPTURES, ids=[path.name for path in CAPTURES])
PREFIXES = {"nvlink": "NV", "xgmi": "XGMI"}


class Truth:
    """What accept.py compares: read anew, element by element."""

    def __init__(self, text: str) -> None:
        root = ElementTree.fromstring(text)
        found = root if root.tag == "system" else root.find(".//system")
        assert found is not None
        self.system = found
        self.parents = {child: parent for parent in found.iter() for child in parent}
        self.functions = {str(pci.get("busid")).lower(): pci for pci in found.iter("pci")}
        self.gpus = {str(self.parents[gpu].get("busid")).lower(): gpu for gpu in found.iter("gpu")}

    def of_class(self, *prefixes: str) -> set[str]:
        return {address for address, pci in self.functions.items() if (pci.get("class") or "").startswith(prefixes)}

    @property
    def accelerators(self) -> set[str]:
        return {*self.gpus, *self.of_class("0x0302", "0x0380", "0x1200")}

    def numa_node(self, address: str) -> int | None:
        above = self.functions[address]
        while above.tag != "cpu":
            above = self.parents[above]
        number = above.get("numaid") or ""
        return int(number) if number.isdigit() else None


@real
@each
def test_accelerators(path):
    foreign, truth = nccl_xml.parse(path.read_text())[0], Truth(path.read_text())
    claims = {claim.address: claim for claim in foreign.report.claims}
    assert len(claims) == len(foreign.report.claims)
    assert set(claims) == truth.accelerators
    for address, claim in claims.items():
        assert claim.numa_node == truth.numa_node(address)
        assert claim.vendor == ("amd" if path.name.startswith("rccl") else "nvidia")
    for address, gpu in truth.gpus.items():
        assert claims[address].index == int(gpu.get("dev") or "")


@real
@each
def test_links(path):
    foreign, truth = nccl_xml.parse(path.read_text())[0], Truth(path.read_text())
    classes = {frozenset((link.a, link.b)): link.link_class for link in foreign.report.links}
    switched: dict[str, int] = {}
    looped: set[str] = set()
    wanted: dict[frozenset[str], str | None] = {}
    for address, gpu in truth.gpus.items():
        for kind, prefix in PREFIXES.items():
            for link in gpu.findall(kind):
                target, count = (link.get("target") or "").lower(), int(link.get("count") or "")
                if target in truth.accelerators and target != address:
                    wanted[frozenset((address, target))] = f"{prefix}{count}"
                elif (link.get("tclass") or "").startswith("0x0680"):
                    switched[address] = switched.get(address, 0) + count
                elif target == address:
                    looped.add(address)
    wanted.update({frozenset((a, b)): None for a in looped for b in looped if a != b})
    for a in switched:
        wanted.update({frozenset((a, b)): f"NV{min(switched[a], switched[b])}" for b in switched if a != b})
    assert classes == wanted


@real
@each
def test_nics(path):
    foreign, truth = nccl_xml.parse(path.read_text())[0], Truth(path.read_text())
    nets = {net.get("name") for net in truth.system.iter("net")}
    unnamed = {address for address in truth.of_class("0x02") if truth.functions[address].find(".//net") is None}
    assert {nic.id for nic in foreign.nics} == nets | unnamed
    assert unnamed <= {nic.pci.address for nic in foreign.nics if nic.pci is not None}


@real
@each
def test_numa_nodes(path):
    truth = Truth(path.read_text())
    numbers = sorted({int(cpu.get("numaid") or "") for cpu in truth.system.iter("cpu")})
    assert [node.id for node in nccl_xml.parse(path.read_text())[0].numa_nodes] == numbers


def document(*cpus: str) -> str:
    return f'<!-- made by hand --><system version="1">{"".join(cpus)}</system>'


def cpu(inside: str, numa: str = "0", **attributes: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<cpu numaid="{numa}"{more}>{inside}</cpu>'


def pci(address: str, inside: str = "", kind: str | None = None, **attributes: str) -> str:
    """A function; one with nothing beneath is a disk where no class is given."""
    kind = kind or (None if inside else "0x010802")
    named = {"busid": address, **({"class": kind} if kind else {}), **attributes}
    text = "".join(f' {name}="{value}"' for name, value in named.items())
    return f"<pci{text}>{inside}</pci>"


def gpu(dev: int | str, links: str = "", **attributes: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<gpu dev="{dev}" sm="80" rank="{dev}" gdr="1"{more}>{links}</gpu>'


def link(target: str, count: str, tclass: str = "0x030200", kind: str = "nvlink") -> str:
    return f'<{kind} target="{target}" count="{count}" tclass="{tclass}"/>'


def net(name: str, speed: str = "200000") -> str:
    return f'<nic><net name="{name}" dev="0" speed="{speed}" port="1" guid="0x1" gdr="1"/></nic>'


def parsed(*cpus: str) -> Foreign:
    foreign, problems = nccl_xml.parse(document(*cpus))
    assert problems == ()
    return foreign


def path_class(foreign: Foreign, a: str, b: str) -> str | None:
    at = {function.address: function for function in foreign.functions}
    return pcie.path_class(at[a], at[b], len(foreign.numa_nodes))


def test_path_classes_are_those_of_nccl():
    """One `pci` element is one whole switch: siblings are PIX, deeper is PXB, through the processor is PHB."""
    lower = pci("0000:02:00.0", pci("0000:03:00.0") + pci("0000:04:00.0"))
    first = cpu(pci("0000:01:00.0", lower + pci("0000:05:00.0")) + pci("0000:06:00.0") + pci("0000:07:00.0"))
    foreign = parsed(first, cpu(pci("0000:08:00.0")), cpu(pci("0000:09:00.0"), "1"), cpu(pci("0000:0a:00.0"), "-1"))
    gpu_address = "0000:03:00.0"
    others = {"04": "PIX", "05": "PXB", "06": "PHB", "08": "NODE", "09": "SYS", "0a": None}
    for bus, wanted in others.items():
        assert path_class(foreign, gpu_address, f"0000:{bus}:00.0") == wanted
    assert path_class(foreign, "0000:06:00.0", "0000:07:00.0") == "PHB"
    assert [node.id for node in foreign.numa_nodes] == [0, 1]


def test_switches_follow_from_the_chains():
    tree = pci("0000:01:00.0", pci("0000:02:00.0", pci("0000:03:00.0")) + pci("0000:05:00.0"))
    functions = {function.address: function for function in parsed(cpu(tree)).functions}
    found = switches.pcie_switches([("a", functions["0000:03:00.0"]), ("b", functions["0000:05:00.0"])], functions)
    assert [(switch.id, switch.parent, switch.members) for switch in found] == [
        ("0000:01:00.0", None, ("b",)),
        ("0000:02:00.0", "0000:01:00.0", ("a",)),
    ]


def test_functions_of_one_card_are_pix():
    tree = pci("0000:01:00.0", pci("0000:02:00.0") + pci("0000:02:00.1"))
    assert path_class(
        parsed(cpu(tree + pci("0000:03:00.0") + pci("0000:03:00.1"))), "0000:02:00.0", "0000:02:00.1"
    ) == ("PIX")


def test_the_shape_that_hyper_v_makes_is_kept():
    places = [cpu(pci(f"000{number}:00:00.0", gpu(number)), str(number)) for number in (1, 2)]
    assert trust.is_made_up(parsed(*places).functions)


def test_a_system_below_another_root():
    text = f"<dump>{document(cpu(pci('0000:01:00.0', gpu(0))))}</dump>".replace("<!-- made by hand -->", "")
    assert len(nccl_xml.parse(text)[0].report.claims) == 1


def test_bus_ids_are_normalised():
    target = link("00000000:3B:00.0", "4")
    foreign = parsed(cpu(pci("0000:3B:00.0", gpu(0)) + pci("00000000:3c:00.0", gpu(1, target))))
    assert [claim.address for claim in foreign.report.claims] == ["0000:3b:00.0", "0000:3c:00.0"]
    assert [(found.link_class, found.count) for found in foreign.report.links] == [("NV4", 4)]


def test_a_function_in_full():
    ids = {"vendor": "0x10de", "device": "0x2330", "subsystem_vendor": "0x10de", "subsystem_device": "0x16c1"}
    speed = {"link_speed": "32.0 GT/s PCIe", "link_width": "16"}
    foreign = parsed(
        cpu(pci("0000:0f:00.0", gpu(5), "0x030200", **ids, **speed), arch="arm64", affinity="00ff,f0003fff")
    )
    (claim,) = foreign.report.claims
    assert (claim.vendor, claim.index, claim.device_id, claim.subsystem_id) == ("nvidia", 5, "2330", "10de:16c1")
    assert claim.link is not None
    assert (claim.link.max_speed_gts, claim.link.max_width, claim.link.speed_gts) == (32.0, 16, None)
    assert foreign.functions[0].class_id == "030200"
    assert foreign.os.architecture == "aarch64"
    assert foreign.numa_nodes[0].cpus == "0-13,28-39"


def test_an_empty_link_is_not_known():
    (function,) = parsed(cpu(pci("0001:00:00.0", gpu(0), link_speed="", link_width="0"))).functions
    assert function.link is None


@pytest.mark.parametrize(
    ("inside", "attributes", "vendor"),
    [
        ("", {"kind": "0x030200"}, "nvidia"),
        ("", {"kind": "0x038000"}, "amd"),
        ("", {"kind": "0x120000"}, "amd"),
        ("", {"kind": "0x030200", "vendor": "0x1002"}, "amd"),
        (gpu(0), {}, "nvidia"),
        (gpu(0, gcn="908"), {}, "amd"),
        (gpu(0, link("0000:02:00.0", "1", kind="xgmi")), {"kind": "0x030200"}, "amd"),
        (gpu(0, link("0000:02:00.0", "1")), {"kind": "0x038000"}, "nvidia"),
        (gpu(0), {"vendor": "0x8086"}, "unknown"),
    ],
)
def test_vendors(inside, attributes, vendor):
    (claim,) = parsed(cpu(pci("0000:01:00.0", inside, **attributes))).report.claims
    assert claim.vendor == vendor


def test_nothing_names_an_accelerator():
    foreign = parsed(cpu(pci("0000:00:16.0") + pci("0000:00:17.0")))
    assert len(foreign.functions) == 2
    assert foreign.report.claims == ()


def test_a_link_to_itself_is_ignored():
    foreign = parsed(cpu(pci("0001:00:00.0", gpu(0, link("0001:00:00.0", "12"))) + pci("0002:00:00.0", gpu(1))))
    assert foreign.report.links == ()


def test_links_to_themselves_leave_the_pair_unknown():
    """A virtual machine's file gives each GPU as the other end of its own NVLinks: which two they join is not told."""
    looped = [pci(f"000{number}:00:00.0", gpu(number, link(f"000{number}:00:00.0", "12"))) for number in (1, 2)]
    foreign, (problem,) = nccl_xml.parse(document(cpu("".join(looped))))
    assert [(found.link_class, found.kind, found.count) for found in foreign.report.links] == [(None, None, None)]
    assert (problem.subject, problem.reason) == ("links", "not-asked")


def test_functions_that_only_have_an_address_are_told():
    bare = '<pci busid="0000:00:1e.0"/><pci busid="0000:00:1f.0"/>'
    _, (problem,) = nccl_xml.parse(document(cpu(pci("0000:00:16.0") + bare)))
    assert (problem.subject, problem.reason) == ("pci_tree", "not-asked")
    assert problem.message.startswith("2 PCI functions have neither class nor vendor")


def test_counts_of_one_target_add_up():
    twice = link("0000:02:00.0", "2") + link("0000:02:00.0", "1")
    back = link("0000:01:00.0", "3")
    foreign = parsed(cpu(pci("0000:01:00.0", gpu(0, twice)) + pci("0000:02:00.0", gpu(1, back))))
    assert [found.link_class for found in foreign.report.links] == ["NV3"]


def test_both_ends_differ():
    pair = pci("0000:01:00.0", gpu(0, link("0000:02:00.0", "2"))) + pci(
        "0000:02:00.0", gpu(1, link("0000:01:00.0", "4"))
    )
    foreign, problems = nccl_xml.parse(document(cpu(pair)))
    assert [(found.link_class, found.kind, found.count) for found in foreign.report.links] == [(None, "nvlink", None)]
    assert [problem.reason for problem in problems] == ["disagreement"]
    assert "2 links" in problems[0].message
    assert "4 links" in problems[0].message


def test_nvswitches_take_the_smaller_total():
    """One of them is hidden from a virtual machine; an IBM bridge (068001) is none."""
    many = link("0000:1c:00.0", "5", "0x068000") + link("fffffff:ffff:ff", "4", "0x068000")
    few = link("0000:1c:00.0", "5", "0x068000") + link("0000:1d:00.0", "3", "0x068001")
    foreign = parsed(cpu(pci("0000:01:00.0", gpu(0, many)) + pci("0000:02:00.0", gpu(1, few))))
    assert [(found.link_class, found.kind) for found in foreign.report.links] == [("NV5", "nvlink")]
    assert [(switch.id, switch.kind) for switch in foreign.report.switches] == [("nvswitch@0000:1c:00.0", "nvswitch")]


@pytest.mark.parametrize("count", ["", "-3", "many", "9" * 20])
def test_a_count_that_is_none(count):
    foreign = parsed(cpu(pci("0000:01:00.0", gpu(0, link("0000:02:00.0", count))) + pci("0000:02:00.0", gpu(1))))
    assert [(found.link_class, found.kind, found.count) for found in foreign.report.links] == [(None, "nvlink", None)]


@pytest.mark.parametrize(
    ("name", "kind", "netdev", "wanted"),
    [
        ("mlx5_0", "0x020000", None, "rdma"),
        ("mlx5_0", "0x020700", None, "infiniband"),
        ("eth0", "0x020000", "eth0", "ethernet"),
        ("enp1s0", "0x020000", "enp1s0", "ethernet"),
        ("ib0", "0x028000", "ib0", "infiniband"),
        ("cxi0", "0x020000", None, "rdma"),
    ],
)
def test_kinds_of_networks(name, kind, netdev, wanted):
    (nic,) = parsed(cpu(pci("0000:01:00.0", net(name), kind), "1")).nics
    assert (nic.id, nic.netdev, nic.kind, nic.numa_node) == (name, netdev, wanted, 1)
    assert nic.speed_bits_per_second == 200 * 10**9


def test_a_network_on_the_processor():
    (nic,) = parsed(cpu(net("eth0", "100000"))).nics
    assert (nic.id, nic.pci, nic.speed_bits_per_second) == ("eth0", None, 100 * 10**9)


def test_two_networks_of_one_card():
    (first, second) = parsed(cpu(pci("0000:0c:00.0", net("mlx5_0") + net("mlx5_1"), "0x020000"))).nics
    assert (first.id, second.id) == ("mlx5_0", "mlx5_1")
    assert first.pci == second.pci


def test_a_network_function_without_a_name():
    efa = pci("0000:10:1b.0", kind="0x020000", vendor="0x1d0f", device="0xefa0")
    (first, second) = parsed(cpu(efa + pci("0103:00:00.0", kind="0x020700"))).nics
    assert (first.id, first.kind, second.id, second.kind) == ("0000:10:1b.0", "efa", "0103:00:00.0", "infiniband")


def test_a_speed_that_no_port_carries():
    foreign, problems = nccl_xml.parse(document(cpu(pci("0000:01:00.0", net("cxi0", "200000000"), "0x020000"))))
    assert foreign.nics[0].speed_bits_per_second is None
    assert [problem.subject for problem in problems] == ["cxi0.speed_bits_per_second"]


def test_one_address_twice():
    """The same switch twice is one switch, as for NCCL; two different devices contradict each other."""
    twice = pci("0000:01:00.0", pci("0000:02:00.0", gpu(0))) + pci("0000:01:00.0", pci("0000:03:00.0", gpu(1)))
    assert path_class(parsed(cpu(twice)), "0000:02:00.0", "0000:03:00.0") == "PIX"
    other = pci("0000:01:00.0", gpu(0)) + pci("0000:01:00.0", kind="0x020000")
    foreign, problems = nccl_xml.parse(document(cpu(other)))
    assert [function.class_id for function in foreign.functions] == [None]
    assert [problem.reason for problem in problems] == ["disagreement"]


def test_one_number_twice():
    foreign, problems = nccl_xml.parse(document(cpu(pci("0000:01:00.0", gpu(0)) + pci("0000:02:00.0", gpu(0)))))
    assert [claim.index for claim in foreign.report.claims] == [None, None]
    assert [problem.subject for problem in problems] == ["accelerators.index"]


def test_one_name_twice():
    pair = pci("0000:01:00.0", net("mlx5_0")) + pci("0000:02:00.0", net("mlx5_0"))
    foreign, problems = nccl_xml.parse(document(cpu(pair)))
    assert len(foreign.nics) == 1
    assert [problem.subject for problem in problems] == ["nics"]


def test_the_first_of_several_machines():
    machines = [cpu(pci("0000:01:00.0", gpu(0)), host_hash=number) for number in ("0x1", "0x2")]
    foreign, problems = nccl_xml.parse(document(*machines))
    assert len(foreign.report.claims) == 1
    assert [problem.reason for problem in problems] == ["not-asked"]


def test_a_file_that_was_cut_off():
    text = document(cpu(pci("0000:01:00.0", gpu(0)) + pci("0000:02:00.0", gpu(1))))
    foreign, problems = nccl_xml.parse(text[: text.index("0000:02")])
    assert [claim.address for claim in foreign.report.claims] == ["0000:01:00.0"]
    assert [problem.reason for problem in problems] == ["failed"]


@pytest.mark.parametrize("text", ["", "no XML", "<a/>", '<!DOCTYPE a [<!ENTITY b "c">]><system/>'])
def test_what_is_refused(text):
    foreign, problems = nccl_xml.parse(text)
    assert foreign == Foreign("nccl-xml")
    assert len(problems) == 1


WHOLE = document(
    cpu(
        pci(
            "0000:01:00.0",
            pci("0000:02:00.0", gpu(0, link("0000:03:00.0", "2") + link("0000:1c:00.0", "4", "0x068000")), "0x030200")
            + pci("0000:03:00.0", gpu(1, link("0000:02:00.0", "2")), "0x030200", link_speed="16 GT/s", link_width="16")
            + pci("0000:04:00.0", net("mlx5_0") + net("mlx5_1"), "0x020700", vendor="0x15b3", device="0x1021"),
            "0x060400",
        ),
        arch="x86_64",
        affinity="000000ff,ffff0000",
    ),
    cpu(pci("0000:05:00.0", gpu(2, link("0000:02:00.0", "1", kind="xgmi"), gcn="gfx942"), "0x120000"), "1"),
)


@given(st.data())
def test_never_raises(data):
    text = WHOLE
    for _ in range(data.draw(st.integers(1, 4))):
        first, last = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
        piece = data.draw(
            st.sampled_from(["", text[first:last] * 2, "-1", "9" * 30, "ffff:", ":", '"', "<", "\0", "é"])
        )
        text = text[:first] + piece + text[last if data.draw(st.booleans()) else first :]
    foreign, problems = nccl_xml.parse(text)
    assert foreign.form == "nccl-xml"
    assert all(problem.message for problem in problems)


VALUES = st.sampled_from(["", "-1", "0", "9" * 25, "1e9", "0x", "0000:00:00.0", "0x068000", "0x020000", "é", "²"])


@given(st.integers(0, WHOLE.count('="') - 1), VALUES)
def test_any_attribute_may_be_absurd(place, value):
    parts = WHOLE.split('="')
    parts[place + 1] = value + parts[place + 1][parts[place + 1].index('"') :]
    assert nccl_xml.parse('="'.join(parts))[0].form == "nccl-xml"
