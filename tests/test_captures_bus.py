"""Real captures of the PCI bus and of the network against what their manifest says of them.

Every key of every ground truth is held here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

import captures
from raxl.collect import assemble, facts, inputs, paths
from raxl.errors import UnknownForm
from raxl.intake import ibnetdiscover, lspci_list, lspci_record, lspci_tree, rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.model import codec
from raxl.model.component import PciFunction
from raxl.model.identity import pci_address
from test_captures import entries

ABOUT_IT = {"note"}
"""Keys that are words for a person."""
UNKNOWN_FORMS = ("amd-nicctl-show-port.json", "amd-nicctl-port-rate.json")
"""Statistics and ports of adapters without their place: no form that is known."""
LSPCI_KEYS = {
    *("functions", "link_status", "downgraded", "domains", "nvidia_lines", "mellanox_lines", "first", "lnksta"),
    *("vendor", "device", "class_", "bdf", "gpus", "nvswitch", "nvswitches", "cx7", "numa", "ib", "nics", "devices"),
    *("acs_enabled", "acs_entries", "acs_redirect", "acs_redirect_on", "hexdump", "roots"),
}
IB_KEYS = {
    *("hcas", "switches", "speeds", "shown", "down", "link_layer", "failed", "active", "rate", "nics", "rdma_links"),
    *("netdev_operstate", "same_card"),
}


def path_of(entry: dict[str, Any]) -> str:
    assert captures.CORPUS is not None
    return str(captures.CORPUS / entry["path"])


def text_of(entry: dict[str, Any]) -> str:
    assert captures.CORPUS is not None
    return (captures.CORPUS / entry["path"]).read_text(errors="replace")


def nodes_of(entry: dict[str, Any]) -> list[Any]:
    """The nodes of the inventory as JSON has them."""
    inventory = assemble.inventory(inputs.opened([path_of(entry)]))
    return json.loads(codec.encode(inventory))["nodes"]  # type: ignore[no-any-return]


def address(text: str) -> str:
    found = pci_address(text)
    assert found is not None
    return found


def addresses(devices: list[Any]) -> list[str]:
    return sorted(device["pci"]["address"] for device in devices if device["pci"])


@pytest.mark.parametrize(("kind", "held"), [("lspci", LSPCI_KEYS), ("ib", IB_KEYS)])
def test_every_key_of_the_truth_is_held(kind: str, held: set[str]) -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    for parameters in entries(kind):
        for entry in parameters.values:
            assert set(entry["ground_truth"]) <= held | ABOUT_IT, entry["path"]


def lists() -> list[Any]:
    return [e for e in entries("lspci") if e is captures.NONE or e.values[0]["path"].endswith(".txt")]


def foreign(entry: dict[str, Any]) -> Foreign:
    text = text_of(entry)
    module = lspci_tree if lspci_tree.recognises(text) else lspci_list
    return module.parse(module.own(text))[0]


def by_address(entry: dict[str, Any]) -> dict[str, PciFunction]:
    return {function.address: function for function in foreign(entry).functions}


def now(stated: str) -> tuple[float | None, int | None]:
    """Speed and width of `Speed 2.5GT/s (downgraded), Width x16`; unknown and x0 are not known."""
    speed, width = re.search(r"Speed ([0-9.]+)GT/s", stated), re.search(r"Width x([0-9]+)", stated)
    return float(speed[1]) if speed else None, int(width[1]) or None if width else None


def read_links(functions: list[PciFunction]) -> Counter[tuple[float | None, int | None]]:
    return Counter((one.link.speed_gts, one.link.width) for one in functions if one.link)


@pytest.mark.parametrize("entry", lists())
def test_functions_of_lspci(entry: dict[str, Any]) -> None:
    """As many as are listed, and of those that the truth quotes class, vendor and device."""
    truth, functions = entry["ground_truth"], by_address(entry)
    stated = truth.get("functions", len(functions))
    quoted = [*truth.get("first", ()), *(stated if isinstance(stated, list) else ())]
    assert len(functions) == (len(stated) if isinstance(stated, list) else stated)
    (node,) = assemble.inventory(inputs.opened([path_of(entry)])).nodes
    assert node.looked_for is not None
    assert node.looked_for.pci_functions == len(functions)
    for line in quoted:
        function = functions[address(line.split()[0])]
        record = lspci_record.record(line, [])
        if record is not None:
            assert (function.class_id or "")[:4] == (record.function.class_id or "")[:4] != ""
        if (ids := re.search(r"\[?([0-9a-f]{4}):([0-9a-f]{4})\]?", line.split(": ", 1)[1])) is not None:
            assert (function.vendor_id, function.device_id) == ids.groups()
        elif (number := re.search(r"Device ([0-9a-f]{4})\b", line)) is not None:
            assert function.device_id == number[1]


@pytest.mark.parametrize("entry", [e for e in lists() if e is captures.NONE or "lnksta" in e.values[0]["ground_truth"]])
def test_links_of_lspci(entry: dict[str, Any]) -> None:
    """Each status of a link, as often as it stands there."""
    stated = entry["ground_truth"]["lnksta"]
    pairs = stated.items() if isinstance(stated, dict) else [(line, 1) for line in stated]
    wanted: Counter[tuple[float | None, int | None]] = Counter()
    for line, count in pairs:
        wanted[now(line)] += count
    read = read_links(list(by_address(entry).values()))
    del wanted[None, None]
    assert read - Counter({(None, None): read[None, None]}) == wanted


def stated_keys(entry: dict[str, Any], *names: str) -> dict[str, list[str]]:
    truth = entry["ground_truth"]
    return {
        name: sorted(address(one if isinstance(one, str) else one[0]) for one in truth[name])
        for name in names
        if name in truth
    }


@pytest.mark.parametrize("entry", lists())
def test_devices_of_lspci(entry: dict[str, Any]) -> None:
    """GPUs, NVSwitches and adapters where the truth has them, with ids and NUMA nodes, in the inventory."""
    truth = entry["ground_truth"]
    (node,) = nodes_of(entry)
    for _, stated in stated_keys(entry, "gpus").items():
        assert addresses(node["accelerators"]) == stated
        assert {device["vendor"] for device in node["accelerators"]} == {"nvidia"}
        assert all(device["model"] for device in node["accelerators"])
    for _, stated in stated_keys(entry, "nvswitches", "nvswitch").items():
        assert addresses([switch for switch in node["switches"] if switch["kind"] == "nvswitch"]) == stated
    for _, stated in stated_keys(entry, "cx7", "ib", "nics").items():
        assert set(stated) <= set(addresses(node["nics"]))
    for one in truth.get("gpus", ()):
        if isinstance(one, list):
            (device,) = [device for device in node["accelerators"] if device["pci"]["address"] == address(one[0])]
            assert f"[{device['pci']['vendor_id']}:{device['pci']['device_id']}]" == one[1]
    if "cx7" in truth:
        models = {nic["pci"]["address"]: nic["model"] for nic in node["nics"]}
        assert {address for address, model in models.items() if model == "ConnectX-7"} == set(
            stated_keys(entry, "cx7")["cx7"]
        )
    if "ib" in truth:
        assert {nic["kind"] for nic in node["nics"] if nic["id"] in stated_keys(entry, "ib")["ib"]} == {"infiniband"}
    for number, here in truth.get("numa", {}).items():
        devices = [*node["accelerators"], *node["nics"], *node["switches"]]
        places = {device["pci"]["address"]: device["numa_node"] for device in devices if device["pci"]}
        assert {places[address(one)] for one in here} == {int(number)}
    if "bdf" in truth:
        function = by_address(entry)[address(truth["bdf"])]
        assert (function.vendor_id, function.device_id) == (truth["vendor"], truth["device"])
        assert (function.class_id or "")[:4] == truth["class_"]


@pytest.mark.parametrize(
    "entry", [e for e in lists() if e is captures.NONE or "link_status" in e.values[0]["ground_truth"]]
)
def test_downgraded_links_of_lspci(entry: dict[str, Any]) -> None:
    """The status function by function. Below the maximum is told by both numbers, and is no state of the device."""
    truth, functions = entry["ground_truth"], by_address(entry)
    downgraded = []
    for line, stated in zip(truth["functions"], truth["link_status"], strict=True):
        link = functions[address(line.split()[0])].link
        assert link is not None
        assert (link.speed_gts, link.width) == now(stated)
        if (link.speed_gts, link.width) != (link.max_speed_gts, link.max_width):
            downgraded.append(stated)
    assert downgraded == truth["downgraded"]


@pytest.mark.parametrize(
    "entry", [e for e in lists() if e is captures.NONE or "domains" in e.values[0]["ground_truth"]]
)
def test_the_drawn_tree(entry: dict[str, Any]) -> None:
    """Host bridges, and below which of them each NVIDIA function and adapter hangs."""
    truth, functions = entry["ground_truth"], by_address(entry)
    assert {function.host_bridge for function in functions.values()} == {f"pci{one}" for one in truth["domains"]}
    (node,) = nodes_of(entry)
    gpus = [line for line in truth["nvidia_lines"] if "Audio" not in line]
    buses = [re.search(r"\[([0-9a-f]{2})\]", line) for line in gpus]
    assert addresses(node["accelerators"]) == [f"0000:{bus[1]}:00.0" for bus in buses if bus]
    assert {device["pcie_root"] for device in node["accelerators"]} <= {f"pci{one}" for one in truth["domains"]}
    assert {len(functions[one].chain) for one in addresses(node["accelerators"])} == {1}
    adapters = [nic for nic in node["nics"] if nic["model"] == "ConnectX-7"]
    assert len(adapters) == len(truth["mellanox_lines"])
    assert {nic["pci"]["vendor_id"] for nic in adapters} == {"15b3"}


@pytest.mark.parametrize(
    "entry", [e for e in lists() if e is captures.NONE or "acs_entries" in e.values[0]["ground_truth"]]
)
def test_access_control_of_lspci(entry: dict[str, Any]) -> None:
    """What of ACS is on, port by port; the same reading tells of a path whether its ports redirect."""
    truth, ports = entry["ground_truth"], foreign(entry).ports
    assert lspci_list.own(text_of(entry)).count("ACSCtl:") == truth["acs_entries"]
    on = {address: reading.value for address, reading in ports.items() if reading.value}
    assert len(on) == truth["acs_enabled"]
    redirecting = sorted(address for address, controls in on.items() if "ReqRedir" in controls)
    assert len(redirecting) == truth["acs_redirect"]
    assert redirecting == [address(one) for one in truth["acs_redirect_on"]]
    recording = inputs.opened([path_of(entry)])[0]
    (node,) = assemble.inventory([recording]).nodes
    assert paths.machine(recording, node).peering.ports == ports


@pytest.mark.parametrize(
    "entry", [e for e in lists() if e is captures.NONE or "hexdump" in e.values[0]["ground_truth"]]
)
def test_bytes_beside_the_list_are_passed_over(entry: dict[str, Any]) -> None:
    """`lspci -xxx`: the functions are those of the text without the bytes, and the bytes stay out of a recording."""
    byte_line = re.compile(r"^[0-9a-f]{2,3}:(?: [0-9a-f]{2}){16}$", re.MULTILINE)
    text = text_of(entry)
    assert bool(byte_line.search(text)) == entry["ground_truth"]["hexdump"]
    module = lspci_tree if lspci_tree.recognises(text) else lspci_list
    assert module.parse(module.own(byte_line.sub("", text)))[0].functions == foreign(entry).functions


def test_list_and_tree_of_one_machine_become_one() -> None:
    """The list has ids, NUMA nodes and links, the drawing the way up: GPUs share a NUMA node and no host bridge."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    names = ("stelline-asus-esc8000a-e12-tv.txt", "stelline-asus-esc8000a-e12-vvv.txt")
    both = [str(captures.CORPUS / "lspci" / name) for name in names]
    (node,) = assemble.inventory(inputs.opened(both, "one")).nodes
    assert [device.pcie_root for device in node.accelerators] == [
        "pci0000:00",
        "pci0000:40",
        "pci0000:c0",
        "pci0000:e0",
    ]
    assert {device.pci.link.max_width for device in node.accelerators if device.pci and device.pci.link} == {16}
    classes = {frozenset((link.a, link.b)): link.link_class for link in node.links}
    first, second, third, _ = (device.id for device in node.accelerators)
    assert (classes[frozenset((first, second))], classes[frozenset((first, third))]) == ("NODE", "SYS")
    assert classes[frozenset((first, "0000:21:00.0"))] == "NODE"


def test_paths_of_a_whole_list() -> None:
    """An HGX machine's `-vvv` names the buses below its bridges: each GPU has its own ConnectX-7 at PIX. That NVLink
    joins the GPUs is not told, and their PCIe path is not given for it."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    (node,) = nodes_of({"path": "lspci/gpud-8xh100-nvswitch-vvv.txt"})
    classes = {frozenset((link["a"], link["b"])): link["link_class"] for link in node["links"]}
    gpus = {device["pci"]["address"]: device["id"] for device in node["accelerators"]}
    pairs = [("19", "1a"), ("3b", "3c"), ("4c", "4d"), ("5d", "5e"), ("9b", "9c"), ("bb", "bc"), ("cb", "cc")]
    assert {classes[frozenset((gpus[f"0000:{a}:00.0"], f"0000:{b}:00.0"))] for a, b in pairs} == {"PIX"}
    assert classes[frozenset((gpus["0000:19:00.0"], "0000:3c:00.0"))] == "NODE"
    assert classes[frozenset((gpus["0000:19:00.0"], "0000:9c:00.0"))] == "SYS"
    ids = set(gpus.values())
    assert {value for ends, value in classes.items() if ends <= ids} == {None}


def test_pci_tree_of_node_feature_discovery() -> None:
    """A copied sysfs tree of loose functions: each is counted, none is an accelerator."""
    (entry,) = [e for e in entries("lspci") if e is captures.NONE or e.values[0]["path"].endswith(".gz")]
    if entry is captures.NONE:
        pytest.skip("RAXL_CORPUS names no corpus")
    nodes = assemble.inventory(inputs.opened([path_of(entry.values[0])])).nodes
    assert len(nodes) == len(entry.values[0]["ground_truth"]["roots"])
    (node,) = nodes
    assert node.looked_for is not None
    assert node.looked_for.pci_functions == len(entry.values[0]["ground_truth"]["devices"])
    assert node.accelerators == ()


def texts(*beginnings: str) -> list[Any]:
    held = entries("ib")
    return [e for e in held if e is captures.NONE or e.values[0]["path"].split("/")[1].startswith(beginnings)]


@pytest.mark.parametrize("entry", texts("ibstat", "ibv_devinfo", "azure-ibstatus"))
def test_devices_of_ib_tools(entry: dict[str, Any]) -> None:
    """Every device that is shown, in its state, with its rate and its link layer; one on which the tool died is
    there, and its state is not known because it failed."""
    truth = entry["ground_truth"]
    (node,) = nodes_of(entry)
    nics = {nic["id"]: nic for nic in node["nics"]}
    failed = truth.get("failed", [])
    assert set(nics) == {*truth["shown"], *failed}
    down = set(truth.get("down", ()))
    assert {name for name, nic in nics.items() if nic["state"] == "down"} == down
    assert {name for name, nic in nics.items() if nic["state"] == "ok"} == {
        *truth.get("active", set(truth["shown"]) - down)
    }
    for name in failed:
        reasons = {p["reason"] for p in node["problems"] if p["subject"] == f"{name}.state"}
        assert (nics[name]["state"], reasons) == ("unknown", {"failed"})
    rates = truth.get("rate", {})
    for name in truth["shown"] if "rate" in truth else ():
        rate = rates[name] if isinstance(rates, dict) else rates
        assert nics[name]["speed_bits_per_second"] == rate * 10**9
    layers = truth.get("link_layer", {})
    if isinstance(layers, str):
        assert layers == "Ethernet (RoCE)"
        layers = dict.fromkeys(set(truth["shown"]) - down, "Ethernet")
    for name, layer in layers.items():
        assert nics[name]["kind"] == {"Ethernet": "roce", "InfiniBand": "infiniband"}[layer]
    if "same_card" in truth:
        blocks = rdma_blocks.blocks(rdma_blocks.own(text_of(entry), "ibstat"), "ibstat")
        cards: dict[str, list[str]] = {}
        for block in blocks:
            cards.setdefault(block.fields["system image guid"], []).append(block.name)
        assert [names for names in cards.values() if len(names) > 1] == truth["same_card"]


@pytest.mark.parametrize("entry", texts("ibnetdiscover"))
def test_fabrics(entry: dict[str, Any]) -> None:
    """Switches and adapters of the file; each adapter but the switches' own engines is one of its host's."""
    truth = entry["ground_truth"]
    fabric = ibnetdiscover.fabric(text_of(entry))
    assert (len(fabric.switches), len(fabric.adapters)) == (truth["switches"], truth["hcas"])
    nics = [nic for node in nodes_of(entry) for nic in node["nics"]]
    assert len(nics) == sum("Aggregation Node" not in one.description for one in fabric.adapters)
    if truth.get("speeds") == ["4xNDR"]:
        assert {nic["speed_bits_per_second"] for nic in nics} == {400 * 10**9}
    hosts = {one.description.split()[0] for one in fabric.adapters if len(one.description.split()) == 2}
    assert hosts <= {node["name"] for node in nodes_of(entry)}


@pytest.mark.parametrize("entry", texts("amd-"))
def test_amd_adapters(entry: dict[str, Any]) -> None:
    truth = entry["ground_truth"]
    if entry["path"].split("/")[1] in UNKNOWN_FORMS:
        with pytest.raises(UnknownForm):
            inputs.opened([path_of(entry)])
        return
    (node,) = nodes_of(entry)
    if truth["nics"] is not None:
        assert len(node["nics"]) == truth["nics"]
        assert {nic["model"] for nic in node["nics"]} == {"POLLARA 1x400G QSFP112"}
    if truth["rdma_links"] is not None:
        ports = [f"{nic['id']}/{port['port']}" for nic in node["nics"] for port in nic["ports"]]
        assert ports == truth["rdma_links"]


@pytest.mark.parametrize("entry", texts("sys-", "gcm-"))
def test_trees_of_rdma_devices(entry: dict[str, Any]) -> None:
    """Copied `/sys/class/infiniband`: state, rate, link layer, place, and how often a link failed."""
    truth = entry["ground_truth"]
    (node,) = nodes_of(entry)
    recording = inputs.opened([path_of(entry)])[0]
    downed = facts.of(recording, assemble.node(recording)).links_downed.value
    nics = {nic["id"]: nic for nic in node["nics"]}
    assert set(nics) == set(truth["hcas"])
    for name, stated in truth["hcas"].items():
        nic = nics[name]
        physical = stated.get("phys", stated.get("phys_state"))
        assert physical == "5: LinkUp"
        assert nic["state"] == {"4: ACTIVE": "ok", "2: INIT": "degraded"}[stated["state"]]
        assert nic["speed_bits_per_second"] == int(stated["rate"].split()[0]) * 10**9
        layer = stated.get("layer", stated.get("link_layer"))
        assert nic["kind"] == {"InfiniBand": "infiniband", "Ethernet": "roce"}[layer]
        if "link_downed" in stated:
            assert str(downed[f"{name}/1"]) == stated["link_downed"]
        if "pci" in stated:
            assert nic["pci"]["address"] == stated["pci"]
        if "type" in stated:
            assert nic["model"] == stated["type"]
    for netdev, state in truth.get("netdev_operstate", {}).items():
        (nic,) = [nic for nic in node["nics"] if nic["netdev"] == netdev]
        assert (nic["state"] == "ok") == (state == "up")
