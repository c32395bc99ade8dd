"""Values that are computed on a node: the right ones were read by hand in the machine or the capture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import captures
from raxl.checks.variables import nccl_list
from raxl.model.cluster import Cluster, RayNode
from raxl.model.facts import Reading
from raxl.model.machine import Address, Interface
from raxl.model.plan import SAME, UNREAD, ComputedValue
from raxl.model.recipe import RECIPE, Parameter, Recipe
from raxl.recipe import computed, load
from raxl.recipe.node_facts import ABSENT, NodeFacts
from recipe_facts import facts_of, of_capture, of_recording
from recordings import of_text

HEALTHY = "nvidia-hgx-h100-healthy"
EIGHT = "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"
BROADCOM = "=bnxt_re0,bnxt_re1,bnxt_re2,bnxt_re3,bnxt_re4,bnxt_re5,bnxt_re6,bnxt_re7"
BM_GPU_H100 = (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17)
"""The numbers of the adapters for computing of BM.GPU.H100.8: 2 and 11 are the host's own network."""


def rule(name: str, facts: NodeFacts, **options: Any) -> Reading:
    return computed.RULES[name].run(facts, options)


def oracle() -> NodeFacts:
    """A machine with as many adapters, numbered so: RoCE, 200 Gb/s, and 100 Gb/s those of the host."""
    rows = "\n".join(f"    {n:02x}  {n} {100 if n in (2, 11) else 200} {n:02x}" for n in range(18))
    return of_recording(
        of_text(f"""nature: synthetic
source: recipes.md §7.8
name: oci-1
system: Ubuntu 22.04.5 LTS, 5.15.0-1074-oracle, x86_64
firmware: Oracle Corporation, BM.GPU.H100.8
processors: 2 × 56 × 2, Intel(R) Xeon(R) Platinum 8480C

/sys/devices/system/node/node0
    cpulist = 0-223  distance = 10  meminfo = Node 0 MemTotal:       1056437400 kB
for bus n rate hex
{rows}
do
    /sys/devices/pci00{{bus}}:00/00{{bus}}:00:01.0/00{{bus}}:01:00.0
        class = 0x020000  vendor = 0x15b3  device = 0x1021  numa_node = 0
        driver -> /sys/bus/pci/drivers/mlx5_core
        infiniband/mlx5_{{n}}
            fw_ver = 28.43.2026  hca_type = MT4129  board_id = MT_0000000838
            ports/1
                state = 4: ACTIVE  phys_state = 5: LinkUp  rate = {{rate}} Gb/sec (4X HDR)
                link_layer = Ethernet  gid_attrs/ndevs/0 = rdma{{n}}
                gids/0 = fe80:0000:0000:0000:0000:00ff:fe00:00{{hex}}  gid_attrs/types/0 = IB/RoCE v1
                gids/1 = fe80:0000:0000:0000:0000:00ff:fe00:00{{hex}}
                gid_attrs/types/1 = RoCE v2  gid_attrs/ndevs/1 = rdma{{n}}
                gids/2 = 0000:0000:0000:0000:0000:ffff:c000:02{{hex}}
                gid_attrs/types/2 = IB/RoCE v1  gid_attrs/ndevs/2 = rdma{{n}}
                gids/3 = 0000:0000:0000:0000:0000:ffff:c000:02{{hex}}
                gid_attrs/types/3 = RoCE v2  gid_attrs/ndevs/3 = rdma{{n}}
        net/rdma{{n}}
            speed = {{rate}}000  operstate = up  type = 1  dev_port = 0  dev_id = 0x0
""")
    )


def nics_as(facts: NodeFacts, **changes: dict[str, Any]) -> NodeFacts:
    """The node with other values of some adapters, by their ids."""
    nics = tuple(replace(one, **changes.get(one.id, {})) for one in facts.node.nics)
    return NodeFacts(replace(facts.node, nics=nics), facts.case.facts, facts.case.cluster)


@pytest.mark.parametrize(
    ("machine", "right", "without"),
    [
        (HEALTHY, EIGHT, ""),
        ("nvidia-azure-nd-h100", "=" + ",".join(f"mlx5_ib{n}" for n in range(8)), ""),
        ("nvidia-hgx-b200", EIGHT, "without mlx5_8 (200 Gb/s) and mlx5_9 (down)"),
        (
            "nvidia-hgx-h100-sick",
            "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7",
            "without mlx5_4 (200 Gb/s) and mlx5_5 (degraded)",
        ),
        ("amd-mi300x-spx", BROADCOM, ""),
        ("nvidia-rtx-pro-6000-cx8", "=rocep09s0,rocep49s0,rocep89s0,rocepc9s0", ""),
    ],
)
def test_the_adapters_for_computing(machine: str, right: str, without: str) -> None:
    facts = facts_of(machine)
    told = rule("hca-list", facts)
    assert (told.value, told.reason, told.message) == (right, None, without)
    names = right[1:].split(",")
    assert rule("hca-count", facts).value == len(names)
    assert rule("ucx-devices", facts).value == ",".join(f"{name}:1" for name in names)


def test_numbers_with_gaps_are_those_of_the_node_and_in_the_order_of_numbers() -> None:
    facts = oracle()
    told = rule("hca-list", facts)
    assert told.value == "=" + ",".join(f"mlx5_{n}" for n in BM_GPU_H100)
    assert told.message == "without mlx5_2 (100 Gb/s) and mlx5_11 (100 Gb/s)"
    wanted = nccl_list(str(told.value))
    assert [n for n in range(18) if wanted.takes(f"mlx5_{n}")] == list(BM_GPU_H100)
    assert nccl_list("mlx5_1").takes("mlx5_11")  # why the names are whole ones
    assert rule("gid-index", facts).value == 3


@pytest.mark.parametrize("machine", ["none-pci-denied", "nvidia-driver-hangs"])
def test_what_could_not_be_read_gives_no_value(machine: str) -> None:
    told = rule("device-count", facts_of(machine))
    assert told.value is None
    assert told.reason not in ABSENT
    assert told.message
    if machine == "none-pci-denied":
        assert rule("hca-list", facts_of(machine)).reason == "not-permitted"


def test_an_adapter_as_fast_as_the_others_and_beside_no_accelerator_makes_the_list_unknown() -> None:
    storage = nics_as(facts_of(HEALTHY), mlx5_7={"role": None})
    told = rule("hca-list", storage)
    assert (told.value, told.reason) == (None, "not-supported")
    assert "mlx5_7" in told.message
    assert rule("hca-list", storage, leave_out=("mlx5_7",)).value == EIGHT.removesuffix(",mlx5_7")
    assert rule("hca-list", nics_as(facts_of(HEALTHY), mlx5_7={"role": "storage"})).value == EIGHT.removesuffix(
        ",mlx5_7"
    )


def test_where_no_role_is_known_a_speed_tells_them_apart() -> None:
    facts = facts_of(HEALTHY)
    untold = nics_as(facts, **{one.id: {"role": None} for one in facts.node.nics})
    assert rule("hca-list", untold).value is None
    assert rule("hca-list", untold, bits_per_second=400_000_000_000).value == EIGHT
    assert rule("hca-list", untold, kinds=("infiniband",), bits_per_second=4e11).value == EIGHT


@pytest.mark.parametrize(
    "change", [{"kind": "rdma"}, {"state": "unknown"}, {"speed_bits_per_second": None}], ids=lambda one: next(iter(one))
)
def test_an_adapter_of_which_something_is_not_known_makes_the_list_unknown(change: dict[str, Any]) -> None:
    facts = nics_as(facts_of(HEALTHY), mlx5_3=change)
    for name in ("hca-list", "hca-count", "ucx-devices"):
        told = rule(name, facts)
        assert told.value is None
        assert told.reason not in ABSENT
        assert "mlx5_3" in told.message


def test_an_adapter_for_management_of_which_something_is_not_known_matters_to_nobody() -> None:
    facts = nics_as(facts_of(HEALTHY), mlx5_8={"kind": None, "state": "unknown", "speed_bits_per_second": None})
    assert rule("hca-list", facts).value == EIGHT


def test_of_an_adapter_with_one_port_down_the_other_is_named() -> None:
    facts = facts_of(HEALTHY)
    first = facts.node.nics[0]
    two = (first.ports[0], replace(first.ports[0], port=2, state="down"))
    seen = nics_as(facts, mlx5_0={"ports": two})
    assert str(rule("hca-list", seen).value).startswith("=mlx5_0:1,mlx5_1,")
    assert str(rule("ucx-devices", seen).value).startswith("mlx5_0:1,mlx5_1:1,")


def test_no_adapter_is_no_list_and_a_count_of_none() -> None:
    facts = facts_of("none-cpu-server")
    assert rule("hca-list", facts).reason == "not-present"
    assert rule("hca-count", facts).value == 0
    assert rule("efa-count", facts).value == 0


def test_elastic_fabric_adapters_are_counted_as_far_as_they_are_up() -> None:
    facts = facts_of("nvidia-aws-p5en")
    assert rule("efa-count", facts).value == 16
    assert rule("hca-list", facts).value is None
    assert rule("efa-count", nics_as(facts, rdmap14s0={"state": "down"})).value == 15
    assert rule("efa-count", nics_as(facts, rdmap14s0={"kind": "rdma"})).value is None


GIDS = "/sys/class/infiniband/bnxt_re{n}/ports/1"


def shifted(ports: range, place: int) -> list[str]:
    """The machine's tables of addresses with the routable entry elsewhere, as in a container."""
    told = []
    for n in ports:
        folder = GIDS.format(n=n)
        told += [
            f"names {folder}/gids=0 {place}",
            f"{folder}/gids/{place}=0000:0000:0000:0000:0000:ffff:c633:640{n}",
            f"{folder}/gid_attrs/types/{place}=RoCE v2",
            f"{folder}/gid_attrs/ndevs/{place}=ens{n}f0np0",
        ]
    return told


def test_the_entry_of_the_address_table_is_looked_for() -> None:
    assert rule("gid-index", facts_of("amd-mi300x-sick")).value == 1
    assert rule("gid-index", facts_of("amd-mi300x-sick", *shifted(range(8), 4))).value == 4


def test_entries_that_differ_are_not_one_index_and_are_told_apart() -> None:
    told = rule("gid-index", facts_of("amd-mi300x-sick", *shifted(range(4, 8), 5)))
    assert told.value is None
    assert "1 on bnxt_re0/1, bnxt_re1/1, bnxt_re2/1 and bnxt_re3/1; 5 on bnxt_re4/1" in told.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (f"{GIDS.format(n=2)}/gid_attrs/types/1=IB/RoCE v1", "bnxt_re2/1 has no RoCE v2 entry"),
        (f"{GIDS.format(n=2)}/gids/1=0000:0000:0000:0000:0000:ffff:a9fe:0102", "bnxt_re2/1 has no RoCE v2 entry"),
        (f"{GIDS.format(n=2)}/gids/1=2001:0db8:0000:0000:0000:0000:0000:0001", "bnxt_re2/1 has no RoCE v2 entry"),
        (f"{GIDS.format(n=2)}/gid_attrs/types/1 !denied", "whether 198.51.100.2 of bnxt_re2/1 is RoCE v2"),
        (f"{GIDS.format(n=2)}/gids !denied", "the addresses of bnxt_re2/1: Permission denied"),
    ],
)
def test_a_port_without_a_routable_address_has_no_index(change: str, words: str) -> None:
    told = rule("gid-index", facts_of("amd-mi300x-sick", change))
    assert told.value is None
    assert words in told.message


def test_infiniband_has_no_such_entry_even_where_a_management_port_has() -> None:
    told = rule("gid-index", facts_of(HEALTHY))
    assert (told.value, told.reason, told.message) == (None, "not-applicable", "the compute adapters are infiniband")


def networked(addresses: dict[str, str], default: tuple[str, ...], kinds: dict[str, str | None]) -> NodeFacts:
    """A machine with these network devices: addresses by name, and what the kernel calls those that are no hardware."""
    facts = facts_of("none-cpu-server")
    held = {
        name: (Address(text, 24, "host" if text.startswith("127.") else "global"),) for name, text in addresses.items()
    }
    interfaces = {name: Interface(name, "up", kinds.get(name, "hardware"), 1500, 1) for name in addresses}
    networks = {
        "addresses": Reading(held, "rtnetlink(7)"),
        "interfaces": Reading(interfaces, "/sys/class/net"),
        "default_route": Reading(default, "/proc/net/route"),
    }
    return NodeFacts(facts.node, replace(facts.case.facts, networks=networks))


def seen_by_ray(facts: NodeFacts, address: str) -> NodeFacts:
    node = replace(facts.node, ray_node_id="aa")
    return NodeFacts(node, facts.case.facts, Cluster(nodes=(RayNode("aa", "alive", address=address),)))


TWO = {"lo": "127.0.0.1", "ens5": "192.0.2.5", "ens6": "198.51.100.6"}


@pytest.mark.parametrize(
    ("addresses", "default", "kinds", "right"),
    [
        (TWO, ("ens5",), {"lo": None}, "ens5"),
        (TWO, ("ens6",), {"lo": None}, "ens6"),
        ({"eth0": "10.0.0.7"}, ("eth0",), {"eth0": None}, "eth0"),
        ({"bond0": "192.0.2.5", "docker0": "172.17.0.1"}, ("bond0",), {"bond0": "bond", "docker0": "bridge"}, "bond0"),
        ({"ens5": "192.0.2.5", "pod-id-link0": "169.254.20.1"}, ("pod-id-link0", "ens5"), {}, "ens5"),
        ({"ens5": "192.0.2.5", "ens6": "169.254.9.9"}, (), {}, "ens5"),
        ({"ens5": "192.0.2.5", "br-12ab": "172.18.0.1", "veth1": "192.0.2.9"}, (), {"br-12ab": "bridge"}, "ens5"),
    ],
)
def test_sockets_go_by_the_device_that_reaches_others(
    addresses: dict[str, str], default: tuple[str, ...], kinds: dict[str, str | None], right: str
) -> None:
    assert rule("socket-interface", networked(addresses, default, kinds)).value == right


@pytest.mark.parametrize(
    ("addresses", "default", "words"),
    [
        (TWO, (), "ens5 (192.0.2.5) and ens6 (198.51.100.6)"),
        (TWO, ("ens5", "ens6"), "leads through several: ens5 (192.0.2.5) and ens6 (198.51.100.6)"),
        ({"lo": "127.0.0.1"}, (), "no network device is up"),
        ({"pod-id-link0": "169.254.20.1"}, ("pod-id-link0",), "no network device is up"),
    ],
)
def test_several_devices_are_none_and_all_are_named(
    addresses: dict[str, str], default: tuple[str, ...], words: str
) -> None:
    told = rule("socket-interface", networked(addresses, default, {"lo": None}))
    assert told.value is None
    assert words in told.message


def test_the_address_by_which_ray_knows_the_node_comes_first() -> None:
    facts = networked(TWO, ("ens5",), {"lo": None})
    assert rule("socket-interface", seen_by_ray(facts, "198.51.100.6")).value == "ens6"
    assert rule("socket-interface", seen_by_ray(facts, "127.0.0.1")).value == "ens5"
    told = rule("socket-interface", seen_by_ray(facts, "203.0.113.1"))
    assert told.value is None
    assert "no network device has 203.0.113.1" in told.message
    assert rule("socket-interface", facts_of(HEALTHY)).value == "ens8np0"


def test_without_the_list_of_addresses_there_is_no_device() -> None:
    told = rule("socket-interface", facts_of(HEALTHY, "process addresses !denied"))
    assert (told.value, told.reason) == (None, "not-permitted")


def test_devices_that_work_are_counted_and_those_left_out_are_named() -> None:
    assert rule("device-count", facts_of(HEALTHY)).value == 8
    assert rule("device-count", facts_of(HEALTHY), vendors=("amd",)).value == 0
    lost = rule("device-count", facts_of("nvidia-hgx-h100-gpu-lost"))
    assert (lost.value, lost.message) == (7, "without nvidia:6 is lost")
    assert rule("device-count", facts_of("none-cpu-server")).value == 0
    assert rule("device-count", facts_of("nvidia-vfio")).value == 2


def test_a_fraction_is_rounded_down_and_bounded() -> None:
    facts = facts_of(HEALTHY)
    assert rule("fraction", facts, of="shm.size_bytes", share=0.5).value == 541031981056
    assert rule("fraction", facts, of="shm.size_bytes", share=0.5, at_most=2147483648).value == 2147483648
    assert rule("fraction", facts, of="cpu.cores", share=0.3).value == 33
    assert rule("fraction", facts, of="limits.memlock_bytes", share=0.5, at_most=7).value == 7
    assert rule("fraction", facts, of="limits.memlock_bytes", share=0.5).value is None
    assert rule("fraction", facts, of="accelerators.model", share=0.5).value is None
    assert rule("fraction", facts_of("nvidia-aws-p5en"), of="shm.size_bytes", share=0.5).reason == "not-asked"


def test_facts_are_multiplied() -> None:
    facts = facts_of("neuron-trn2-ultraserver")
    cores = ("accelerators.count", "accelerators.attributes.neuron_cores")
    assert rule("product", facts, of=cores).value == 64
    assert rule("product", facts, of=cores, times=2).value == 128
    assert rule("product", facts, of=("accelerators.count", "accelerators.model")).value is None
    assert rule("product", facts_of("none-pci-denied"), of=cores).reason == "not-permitted"
    assert rule("product", facts, of=()).value is None


def computed_as(facts: NodeFacts, **parameters: Parameter) -> dict[str, ComputedValue]:
    return {one.name: one for one in computed.values(Recipe(RECIPE, "r", "R", parameters=parameters), facts)}


def test_a_value_stands_beside_its_reference() -> None:
    types = {"p5.48xlarge": 32, "p5en.48xlarge": 16}
    told = computed_as(
        facts_of("nvidia-aws-p5en"),
        efa=Parameter(rule="efa-count", expect=types),
        few=Parameter(rule="efa-count", expect=32),
        other=Parameter(rule="efa-count", expect={"p4d.24xlarge": 4}),
        plain=Parameter(fact="accelerators.count"),
        unread=Parameter(fact="shm.size_bytes", expect=1),
        odd=Parameter(rule="no-such-rule"),
    )
    assert {name: (one.value, one.reference, one.status) for name, one in told.items()} == {
        "efa": (16, 16, SAME),
        "few": (16, 32, "differs"),
        "other": (16, None, SAME),
        "plain": (8, None, SAME),
        "unread": (None, None, UNREAD),
        "odd": (None, None, UNREAD),
    }
    assert told["unread"].message == "the text does not say it"


def test_a_reference_by_instance_type_on_a_node_that_tells_none_is_unknown() -> None:
    told = computed_as(facts_of("nvidia-azure-nd-h100"), n=Parameter(rule="hca-count", expect={"Standard_ND96": 8}))
    assert (told["n"].value, told["n"].reference, told["n"].status) == (8, None, UNREAD)
    assert "no platform was asked" in told["n"].message


@pytest.mark.parametrize(
    ("reference", "status"),
    [
        ("=mlx5_7,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_0", SAME),
        (EIGHT, SAME),
        (EIGHT.removeprefix("="), "differs"),
        ("=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11", "differs"),
    ],
)
def test_lists_are_the_same_in_any_order(reference: str, status: str) -> None:
    told = computed_as(facts_of(HEALTHY), hcas=Parameter(rule="hca-list", expect=reference))
    assert (told["hcas"].value, told["hcas"].reference, told["hcas"].status) == (EIGHT, reference, status)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("plain", "plain"),
        ("{hcas}", EIGHT),
        ("={iface}", "=ens8np0"),
        ("n={accelerators.count};{accelerators.count}", "n=8;8"),
        ("{nics[kind=infiniband].count}", "8"),
        ('{{"GPU":{accelerators.count}}}', '{"GPU":8}'),
        ("{half}", "541031981056"),
        ("{nics.kind}", "infiniband,roce"),
        ("{modules.nvidia_peermem}", "true"),
        ("$(touch x) `y` \\", "$(touch x) `y` \\"),
    ],
)
def test_a_text_is_filled(text: str, right: str) -> None:
    facts = facts_of(HEALTHY)
    recipe = Recipe(
        RECIPE,
        "r",
        "R",
        parameters={
            "hcas": Parameter(rule="hca-list"),
            "iface": Parameter(rule="socket-interface"),
            "half": Parameter(rule="fraction", options={"of": "shm.size_bytes", "share": 0.5}),
        },
    )
    told = computed.values(recipe, facts)
    assert computed.filled(text, told, facts) == right
    assert computed.unfilled(text, told, facts) == ""


def test_a_text_with_a_value_that_is_not_known_is_not_filled_and_says_why() -> None:
    facts = facts_of("nvidia-aws-p5en")
    told = computed.values(Recipe(RECIPE, "r", "R", parameters={"hcas": Parameter(rule="hca-list")}), facts)
    for text, words in (
        ("x {hcas}", "hcas is not known: no adapter of kind infiniband or roce is up"),
        ("{accelerators.count} {shm.size_bytes}", "shm.size_bytes is not known: the text does not say it"),
        ("{nobody}", "nobody is not known: nobody is no fact that raxl knows"),
        ("{}", " is not known:  is no fact that raxl knows"),
    ):
        assert computed.filled(text, told, facts) is None
        assert computed.unfilled(text, told, facts) == words


def test_names_in_a_text_and_a_brace_that_stands_alone() -> None:
    assert computed.names("{a} {{b}} {nics[kind=efa].count} {a}") == ["a", "nics[kind=efa].count"]
    for text in ("{a", "a}", "{{a}", "{a}}", "{{{a}}"):
        with pytest.raises(ValueError, match="a brace stands alone"):
            computed.names(text)


@given(st.text())
def test_a_text_whose_braces_are_doubled_is_filled_with_itself(text: str) -> None:
    facts = facts_of("none-cpu-server")
    assert computed.filled(text.replace("{", "{{").replace("}", "}}"), [], facts) == text


def test_every_rule_says_what_it_computes_and_what_its_options_mean() -> None:
    for name, one in computed.RULES.items():
        assert one.name == name
        assert one.explanation.endswith(".")
        assert all(one.options.values())
        assert set(one.required) <= set(one.options)


def test_the_shipped_recipe_s_parameters_are_computed() -> None:
    (loopback,) = [one.recipe for one in load.shipped() if one.recipe.name == "cpu-loopback"]
    shm = {
        "/dev/shm": {
            "mount": "/dev/shm",
            "kind": "tmpfs",
            "size_bytes": 1 << 30,
            "available_bytes": 1 << 30,
            "inodes": 0,
            "inodes_available": 0,
            "is_read_only": False,
        }
    }
    facts = facts_of("none-cpu-server", ("process filesystems", shm), ("process affinity", 6))
    told = {one.name: (one.value, one.status) for one in computed.values(loopback, facts)}
    assert told == {"cpus": (6, SAME), "store": (1 << 29, SAME)}


@pytest.mark.parametrize(
    ("capture", "right", "without"),
    [
        (
            "ib/sys-class-infiniband-h100-9hca.tar.gz",
            "=mlx5_0,mlx5_1,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_9",
            "without mlx5_bond_0 (200 Gb/s)",
        ),
        ("ib/gcm-dgx-a100-8hca-good.tar.gz", "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9", ""),
        (
            "ib/gcm-dgx-a100-2ports-init.tar.gz",
            "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_7,mlx5_9",
            "without mlx5_6 (degraded) and mlx5_8 (degraded)",
        ),
        ("ib/azure-ibstatus-an-and-ib.txt", "=mlx5_ib0", ""),
    ],
)
def test_the_adapters_of_real_machines(capture: str, right: str, without: str) -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    told = rule("hca-list", of_capture(captures.CORPUS / capture))
    assert (told.value, told.message) == (right, without)


@pytest.mark.parametrize("capture", ["nccl-topo-xml/oci-h100-topo.xml", "nvidia-smi-topo/oci-a100-18nic-complete.txt"])
def test_a_capture_that_says_no_kinds_gives_no_list(capture: str) -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    told = rule("hca-list", of_capture(captures.CORPUS / capture))
    assert (told.value, told.reason) == (None, "not-asked")
