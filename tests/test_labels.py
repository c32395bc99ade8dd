"""`raxl labels`: which labels a node has, that they are valid, stable and taken by Ray; how a cluster's differ."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ray._private import label_utils

import recordings
import samples
from raxl.cli import labels as command
from raxl.cli.app import app
from raxl.cli.outcome import run as run_app
from raxl.cli.source import Source
from raxl.cli.streams import Streams
from raxl.collect import assemble, keeping, labelling
from raxl.errors import CannotStart, UsageError
from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.model import codec, printable
from raxl.model.accelerator import Accelerator, Fabric, Partition, RayView
from raxl.model.cluster import Cluster, RayNode
from raxl.model.component import PciIdentity
from raxl.model.inventory import Inventory
from raxl.model.label import KEYS, Check, Difference, LabelsDocument, NodeLabels
from raxl.model.link import Link
from raxl.model.nic import Nic
from raxl.model.node import LookedFor, Node, Software
from raxl.model.placement import Placement
from raxl.model.problem import FAILED, NOT_ASKED, NOT_SUPPORTED, REASONS, TIMED_OUT, Problem
from raxl.render import label_files, label_kubernetes, text_label_check, text_labels
from raxl.render.text import to_text
from raxl.topology import label_values, labels, shape, working

SCHEMA = jsonschema.Draft202012Validator(json.loads(codec.schema("labels")))
DOMAIN = "7e2c0000-0000-4000-8000-0000000000f1"
VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


def gpu(number: int, **changes: object) -> Accelerator:
    device = Accelerator(
        id=f"nvidia:{number}",
        vendor="nvidia",
        kind="gpu",
        model="NVIDIA H100 80GB HBM3",
        index=number,
        uuid=f"GPU-{number}",
        ray=RayView("GPU", "H100", True),
        pci=PciIdentity(f"0000:{0x10 + number:02x}:00.0", "10de", "2330"),
        memory_bytes=85_520_809_984,
        state="ok",
        fabric=Fabric(DOMAIN, "3", "completed"),
        evidence=("sysfs", "nvml"),
        attributes={"driver": "nvidia"},
    )
    return replace(device, **changes)  # type: ignore[arg-type]


def nic(number: int, **changes: object) -> Nic:
    made = Nic(
        id=f"mlx5_{number}",
        kind="infiniband",
        role="compute",
        pci=PciIdentity(f"0000:{0x40 + number:02x}:00.0", "15b3", "1021"),
        state="ok",
        speed_bits_per_second=400_000_000_000,
        evidence=("sysfs",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def machine(devices: Sequence[Accelerator], nics: Sequence[Nic] = (), **changes: object) -> Node:
    """NVLink between any two, each device's own NIC at PIX and the others at SYS."""
    joined = [
        Link(a.id, b.id, "NV18", "nvlink", 18, 450_000_000_000, "nominal", evidence=("nvml",))
        for a, b in combinations(devices, 2)
    ]
    joined += [
        Link(a.id, b.id, "PIX" if a.id[-1] == b.id[-1] else "SYS", "pcie", evidence=("sysfs",))
        for a, b in product(devices, nics)
    ]
    made = Node(
        name="gpu-01",
        source="local",
        path_trust="physical",
        accelerators=tuple(devices),
        nics=tuple(nics),
        links=tuple(joined),
        looked_for=LookedFor(("NVIDIA",), 40),
        placement=Placement(provider="example", rack="Row 3/Rack 12", evidence=("metadata",)),
        software=(Software("nvidia", "570.133.20", "nvml"),),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def hgx(**changes: object) -> Node:
    return machine([gpu(n) for n in range(4)], [nic(n) for n in range(4)], **changes)


def with_links(node: Node, **classes: str | None) -> Node:
    """The node with other classes of the PCIe path: `with_links(node, PIX="SYS")`."""
    changed = (replace(one, link_class=classes.get(one.link_class or "", one.link_class)) for one in node.links)
    return replace(node, links=tuple(changed))


def values(node: Node) -> dict[str, str]:
    return {one.key: one.value for one in labels.of_node(node).labels}


def why(node: Node, key: str) -> tuple[str, str]:
    found = next(one for one in labels.of_node(node).unlabelled if one.key == key)
    return found.reason, found.message


def document(*nodes: Node, cluster: Cluster | None = None, check: bool = False) -> LabelsDocument:
    inventory = Inventory("raxl.inventory/v1", "0", "2026-01-01T00:00:00Z", nodes, cluster)
    return labelling.document(inventory, check)


def test_a_whole_node() -> None:
    found = values(hgx())
    assert len(found.pop("raxl/shape")) == 16
    assert found == {
        "ray.io/gpu-domain": f"{DOMAIN}.3",
        "raxl/vendor": "nvidia",
        "raxl/model": "H100-80GB-HBM3",
        "raxl/accelerators": "4",
        "raxl/memory-gib": "80",
        "raxl/scale-up": "nvlink",
        "raxl/link-class": "NV18",
        "raxl/nic-class": "PIX",
        "raxl/nic-gbps": "400",
        "raxl/nics": "4",
        "raxl/rack": "Row-3-Rack-12-6eaba5fb",
        "raxl/driver": "570.133.20",
    }
    assert why(hgx(), "ray.io/accelerator-type") == ("not-applicable", "Ray gives it itself: H100")


def test_a_lost_gpu_is_promised_to_nobody() -> None:
    lost = gpu(3, state="lost", memory_bytes=None, fabric=None)
    node = machine([gpu(0), gpu(1), gpu(2), lost], [nic(n) for n in range(3)])
    assert values(node)["raxl/accelerators"] == "3"
    assert values(node)["raxl/memory-gib"] == "80"
    assert values(node)["raxl/nic-class"] == "PIX"
    assert labels.of_node(node).not_counted == ("nvidia:3 is lost",)
    assert values(node)["raxl/shape"] != values(hgx())["raxl/shape"]


def test_where_it_could_not_be_read_whether_one_works_nothing_is_promised() -> None:
    problem = Problem("nvidia:3.state", TIMED_OUT, "NVML did not answer within 2 s")
    node = machine([gpu(0), gpu(1), gpu(2), gpu(3, state="unknown")], problems=(problem,))
    for key in ("raxl/vendor", "raxl/model", "raxl/accelerators", "raxl/memory-gib"):
        words = "whether 1 of 4 can be used is not known: NVML did not answer within 2 s"
        assert why(node, key) == (TIMED_OUT, words)
    assert why(node, "raxl/shape")[0] == TIMED_OUT
    # A family of which nobody tells a state is counted all the same.
    silent = replace(node, problems=(Problem("accelerators.state", NOT_SUPPORTED, "the driver tells none"),))
    assert values(silent)["raxl/accelerators"] == "4"


def test_a_gpu_that_its_driver_does_not_list_is_not_counted() -> None:
    unseen = gpu(3, index=None, state="unknown", id="nvidia@0000:13:00.0")
    problem = Problem("nvidia@0000:13:00.0.state", FAILED, "the driver lists 3")
    node = machine([gpu(0), gpu(1), gpu(2), unseen], problems=(problem,))
    assert values(node)["raxl/accelerators"] == "3"
    assert labels.of_node(node).not_counted == ("nvidia@0000:13:00.0 is not listed by its driver",)


@pytest.mark.parametrize(
    "other",
    [gpu(3, model="NVIDIA L40S"), gpu(3, vendor="amd", id="amd:0", model="AMD Instinct MI210")],
    ids=["models", "vendors"],
)
def test_a_mixed_node_has_none_of_the_labels_that_hold_for_some_devices_alone(other: Accelerator) -> None:
    node = machine([gpu(0), gpu(1), gpu(2), other])
    for key in ("raxl/vendor", "raxl/model", "raxl/accelerators", "raxl/memory-gib"):
        assert why(node, key)[0] == "not-applicable"


@pytest.mark.parametrize(
    ("fabric", "reason"),
    [
        (Fabric(None, None, "completed"), "not-applicable"),
        (Fabric("00000000-0000-0000-0000-000000000000", "0", "completed"), "not-applicable"),
        (Fabric(DOMAIN, "3", "in progress"), "not-applicable"),
        (Fabric(DOMAIN, None, "completed"), "not-present"),
        (None, "not-asked"),
    ],
)
def test_without_a_completed_fabric_there_is_no_domain(fabric: Fabric | None, reason: str) -> None:
    assert why(machine([gpu(n, fabric=fabric) for n in range(2)]), "ray.io/gpu-domain")[0] == reason


def test_gpus_of_two_cliques_are_in_no_domain() -> None:
    node = machine([gpu(0), gpu(1, fabric=Fabric(DOMAIN, "4", "completed"))])
    assert why(node, "ray.io/gpu-domain")[0] == "disagreement"


@pytest.mark.parametrize(
    ("recording", "key", "value"),
    [
        ("nvidia-gb200-tray", "ray.io/gpu-domain", f"{DOMAIN}.3"),
        ("neuron-trn2-ultraserver", "ray.io/gpu-domain", "5b1f0a7739c2d4e8"),
        ("tpu-v7x-chip-missing", "ray.io/gpu-domain", "slice-b"),
        ("tpu-v6e-8", "ray.io/gpu-domain", None),  # its slice has no other host
        ("amd-mi300x-spx", "ray.io/gpu-domain", None),  # a hive ends at the node
        ("gaudi-hls2", "ray.io/accelerator-type", "Intel-GAUDI2"),
        ("tenstorrent-n300", "ray.io/accelerator-type", "n300"),
        ("metax-c500", "ray.io/accelerator-type", "MXC500"),
        ("nvidia-hgx-h100", "ray.io/accelerator-type", None),
        ("tpu-v6e-8", "raxl/scale-up", "ici"),
        ("neuron-trn2-ultraserver", "raxl/scale-up", "neuronlink"),
        ("ascend-910b", "raxl/scale-up", "hccs"),
        ("gaudi-hls2", "raxl/scale-up", "roce"),
        ("amd-mi300x-spx", "raxl/scale-up", "xgmi"),
        ("nvidia-l40s", "raxl/scale-up", "none"),
        ("nvidia-pci-denied", "raxl/accelerators", "2"),
        ("nvidia-hgx-h100-gpu-missing", "raxl/accelerators", "7"),
        ("nvidia-vfio", "raxl/accelerators", "2"),
        ("none-cpu-server", "raxl/accelerators", "0"),
        ("none-pci-denied", "raxl/accelerators", None),
        ("amd-driverless", "raxl/accelerators", None),
        ("nvidia-a100-pcie-bridged", "raxl/link-class", "PXB"),
        ("neuron-trn2-ultraserver", "raxl/link-class", None),  # a hypervisor's tree
        ("nvidia-azure-nd-h100", "raxl/link-class", "NV18"),  # the driver's word
        ("nvidia-azure-nd-h100", "raxl/nic-class", None),
        ("nvidia-azure-nd-h100", "raxl/nics", "8"),
        ("amd-mi300x-cpx", "raxl/driver", "6.12.12"),
        ("tpu-v6e-8", "raxl/slice", "slice-a"),
    ],
)
def test_a_recording_has_the_label(recording: str, key: str, value: str | None) -> None:
    assert values(assemble.node(recordings.recording(recording))).get(key) == value


def test_the_narrowest_class_is_told() -> None:
    slow = Link("nvidia:0", "nvidia:1", "NV6", "nvlink", 6, 150_000_000_000, "nominal")
    node = hgx()
    assert values(replace(node, links=(slow, *node.links[1:])))["raxl/link-class"] == "NV6"
    far = replace(slow, link_class="NODE", kind="pcie", bandwidth_bytes_per_second=None)
    assert values(replace(node, links=(far, *node.links[1:])))["raxl/link-class"] == "NODE"
    open_ = replace(slow, link_class=None, count=None)
    assert why(replace(node, links=(open_, *node.links[1:])), "raxl/link-class")[0] == "not-asked"


def test_a_gpu_without_a_near_nic_decides_the_class() -> None:
    node = machine([gpu(n) for n in range(4)], [nic(n) for n in range(3)])
    assert values(node)["raxl/nic-class"] == "SYS"
    assert values(node)["raxl/nics"] == "3"


def test_a_tree_that_a_hypervisor_made_up_tells_no_distance() -> None:
    node = hgx(path_trust="virtual")
    words = "a hypervisor made the PCI tree up: PIX is its, not the machine's"
    assert why(node, "raxl/nic-class") == ("not-supported", words)
    assert values(node)["raxl/link-class"] == "NV18"
    pcie = replace(node, links=tuple(replace(one, link_class="PHB", kind="pcie") for one in node.links))
    assert why(pcie, "raxl/link-class")[0] == "not-supported"
    assert values(pcie)["raxl/shape"] == values(with_links(pcie, PHB="SYS"))["raxl/shape"]


def test_rails_by_place_are_no_rail_group() -> None:
    reason, words = why(assembled("nvidia-hgx-h100"), "raxl/rail-group")
    assert (reason, words.partition(":")[2]) == (NOT_ASKED, " nothing that was read says to which leaf each is wired")
    assert why(assembled("none-cpu-server"), "raxl/rail-group") == (NOT_ASKED, "nothing that raxl reads names one")
    virtual = replace(assembled("nvidia-hgx-h100"), path_trust="virtual")
    assert why(virtual, "raxl/rail-group") == (NOT_ASKED, "nothing that raxl reads names one")


def test_slower_nics_promise_what_the_slowest_gives() -> None:
    node = machine([gpu(0), gpu(1)], [nic(0), nic(1, speed_bits_per_second=200_000_000_000)])
    assert values(node)["raxl/nic-gbps"] == "200"
    odd = machine([gpu(0)], [nic(0, speed_bits_per_second=2_500_000_000)])
    assert values(odd)["raxl/nic-gbps"] == "2.5"


def test_rays_type_is_a_label_only_where_ray_gives_none() -> None:
    uncounted = machine([gpu(n, ray=RayView("GPU", "H100", False)) for n in range(2)])
    assert values(uncounted)["ray.io/accelerator-type"] == "H100"
    open_ = machine([gpu(n, ray=RayView("GPU", "H100", None)) for n in range(2)])
    assert why(open_, "ray.io/accelerator-type")[0] == "not-asked"


def test_a_node_that_did_not_answer_has_no_label() -> None:
    node = Node("gpu-09", "ray:9", "9", problems=(Problem("node", TIMED_OUT, "no answer in 20 s"),))
    found = labels.of_node(node)
    assert found.labels == ()
    assert [one.key for one in found.unlabelled] == list(KEYS)
    assert {(one.reason, one.message) for one in found.unlabelled} == {(TIMED_OUT, "no answer in 20 s")}


# Values


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("H100 80GB HBM3", "H100-80GB-HBM3"),
        ("/block/sub-block/host", "block-sub-block-host"),
        ("2026.3.1, 1111111", "2026.3.1-1111111"),
        ("_rack_", "rack"),
        (f"{DOMAIN}.32766", f"{DOMAIN}.32766"),
        ("8", "8"),
    ],
)
def test_a_name_is_made_valid(fact: str, value: str) -> None:
    assert label_values.made_valid(fact) == value


def test_a_name_that_is_too_long_or_has_no_letter_ends_in_its_hash() -> None:
    first, second = (label_values.made_valid("r" * 80 + end) for end in "ab")
    assert first != second
    assert len(first) == 63
    assert first.startswith("r" * 54 + "-")
    assert label_values.made_valid("機架") != label_values.made_valid("機房")


def racks(*names: str) -> list[str]:
    nodes = [hgx(name=f"gpu-{place}", placement=Placement(rack=rack)) for place, rack in enumerate(names)]
    return [{one.key: one.value for one in node.labels}["raxl/rack"] for node in document(*nodes).nodes]


def test_two_names_that_would_be_one_value_are_told_apart() -> None:
    plain, blank, slash, again = racks("rack-1", "rack 1", "rack/1", "rack 1")
    assert plain == "rack-1"
    assert blank == again
    assert len({plain, blank, slash}) == 3
    assert blank.startswith("rack-1-")


def test_one_name_is_one_label_whatever_stands_beside_it() -> None:
    assert racks("leaf@1") == racks("leaf@1", "leaf-1")[:1] == ["leaf-1-a71eb563"]
    assert racks("leaf-1") == ["leaf-1"]
    assert racks("_rack_")[0].startswith("rack-")
    (long,) = racks("r" * 80)
    assert (len(long), long) == (63, label_values.made_valid("r" * 80))


@given(st.lists(st.text(max_size=90), min_size=1, max_size=6, unique=True))
def test_different_names_give_different_valid_values(names: list[str]) -> None:
    cleaned = list(dict.fromkeys(name for one in names if (name := printable.clean(one))))
    found = racks(*cleaned) if cleaned else []
    assert len(set(found)) == len(cleaned)
    for value in found:
        assert VALUE.fullmatch(value)


HOSTILE = st.text(max_size=80) | st.text(alphabet="-_. /$`'\"\\\n\t\x1b[;,={}:#&|<>é機", max_size=80)


@given(st.lists(HOSTILE, min_size=8, max_size=8), st.sampled_from(["nvidia", "tpu", "neuron", "gaudi", "x"]))
def test_hostile_names_make_labels_that_kubernetes_and_ray_take(names: list[str], vendor: str) -> None:
    name, model, domain, rack, block, slice_, version, kind = names
    device = gpu(
        0, vendor=vendor, model=model, fabric=Fabric(domain, kind, "completed"), ray=RayView("GPU", kind, False)
    )
    place = Placement(rack=rack, block=block, slice=slice_, fabric_domain=domain, provider=name)
    node = hgx(
        name=name,
        accelerators=(device,),
        placement=place,
        software=(Software(vendor, version, "x"), Software("nvidia", version, "x")),
    )
    made = document(node, replace(node, name=name + "2", ray_node_id=rack))
    for of_node in made.nodes:
        for one in of_node.labels:
            assert VALUE.fullmatch(one.value), one
            assert one.key in KEYS
    accepted_by_ray(made)
    patch = yaml.safe_load(label_kubernetes.kuberay(made))
    for group in patch["spec"]["workerGroupSpecs"]:
        label_utils.validate_node_label_syntax(group["labels"])
    for line in label_kubernetes.k8s(made).splitlines():
        assert line.startswith("#") or shlex.split(line)[:4] == ["kubectl", "label", "--overwrite", "node"]


def accepted_by_ray(made: LabelsDocument) -> None:
    """Ray's own parsers read back what was written, each node's part by itself."""
    wanted = [{one.key: one.value for one in node.labels} for node in made.nodes]
    arguments = [line for line in label_files.ray_args(made).splitlines() if not line.startswith("#")]
    given_labels = [shlex.split(line)[0].removeprefix("--labels=") for line in arguments]
    assert [label_utils.parse_node_labels_string(text) for text in given_labels] == [one for one in wanted if one]
    assert all(line == shlex.quote(line) for line in arguments), "what $(…) gives is not unquoted again"
    for text, labels_of_one in zip(label_files.ray_file(made).split("---\n"), wanted, strict=True):
        read = yaml.safe_load(text)
        assert read == labels_of_one
        label_utils.validate_node_label_syntax(read)


def test_ray_reads_the_file(tmp_path: Path) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(label_files.ray_file(document(hgx())))
    assert label_utils.parse_node_labels_from_yaml_file(str(file)) == values(hgx())


# Shape and order


def permuted(node: Node, chance: random.Random) -> Node:
    """The same machine, found in another order."""
    parts = {name: list(getattr(node, name)) for name in ("accelerators", "nics", "links", "software", "problems")}
    for part in parts.values():
        chance.shuffle(part)
    return replace(node, **{name: tuple(part) for name, part in parts.items()})


def renamed(node: Node) -> Node:
    """Another machine of the same make: other identities, numbers and addresses."""
    ids = {one.id: f"{one.vendor}:{9 - place}" for place, one in enumerate(node.accelerators)}
    ids |= {one.id: f"rdmap{one.id}s0" for one in node.nics}
    devices = [
        replace(
            one, id=ids[one.id], uuid="other", serial="other", pci=other_place(one.pci), index=other_index(one, place)
        )
        for place, one in enumerate(node.accelerators)
    ]
    nics = [replace(one, id=ids[one.id], netdev="other", pci=other_place(one.pci)) for one in node.nics]
    joined = [replace(one, a=ids[one.a], b=ids[one.b]) for one in node.links]
    problems = [
        replace(one, subject=f"{ids[owner]}.{field}")
        for one in node.problems
        for owner, _, field in [one.subject.rpartition(".")]
        if owner in ids
    ]
    problems += [one for one in node.problems if one.subject.rpartition(".")[0] not in ids]
    node = replace(node, problems=tuple(problems))
    return replace(node, name="other", accelerators=tuple(devices), nics=tuple(nics), links=tuple(joined))


def other_index(device: Accelerator, place: int) -> int | None:
    return None if device.index is None else 9 - place


def other_place(pci: PciIdentity | None) -> PciIdentity | None:
    return pci and replace(pci, address=f"00ff{pci.address[4:]}")


def bare(node: NodeLabels) -> dict[str, str]:
    return {one.key: one.value for one in node.labels}


@given(st.randoms(use_true_random=False), st.sampled_from(recordings.NAMES[::3]))
def test_the_order_of_devices_and_nodes_changes_nothing(chance: random.Random, name: str) -> None:
    nodes = [assembled(name), assembled("nvidia-l40s"), hgx(name="x", placement=Placement(rack="a b"))]
    wanted = {node.node: bare(node) for node in document(*nodes).nodes}
    shuffled = [permuted(node, chance) for node in nodes]
    chance.shuffle(shuffled)
    assert {node.node: bare(node) for node in document(*shuffled).nodes} == wanted


_ASSEMBLED: dict[str, Node] = {}


def assembled(name: str) -> Node:
    return _ASSEMBLED.setdefault(name, assemble.node(recordings.recording(name)))


def shape_of(node: Node) -> str | None:
    return values(node).get("raxl/shape")


@pytest.mark.parametrize("name", recordings.NAMES)
def test_a_shape_does_not_hang_on_what_devices_are_called(name: str) -> None:
    node = assembled(name)
    assert shape_of(renamed(permuted(node, random.Random(1)))) == shape_of(node)


def test_one_shape_a_sort_of_machine() -> None:
    found: dict[str, list[str]] = {}
    for name in recordings.NAMES:
        if (one := shape_of(assembled(name))) is not None:
            found.setdefault(one, []).append(name)
    # One machine, from inside a container too, or on another day.
    assert [names for names in found.values() if len(names) > 1] == [
        ["amd-mi300x-sick", "amd-mi300x-spx"],
        ["container-blind", "nvidia-container"],
        ["mobilint-aries", "mobilint-container"],
        ["nvidia-hgx-h100", "nvidia-hgx-h100-healthy"],
    ]


def test_a_shape_does_not_change_with_versions_of_raxl() -> None:
    """It is stored on nodes and in selectors: a change of the scheme is a change of `_SCHEME`."""
    assert shape_of(hgx()) == SHAPE_OF_HGX


SHAPE_OF_HGX = "661485aacd61b99d"


@pytest.mark.parametrize(
    "other",
    [
        machine([gpu(n) for n in range(3)], [nic(n) for n in range(4)]),
        machine([gpu(n) for n in range(4)], [nic(n) for n in range(3)]),
        machine([gpu(n, pci=PciIdentity(f"0000:{n:02x}:00.0", "10de", "2335")) for n in range(4)], hgx().nics),
        machine([gpu(n, partitions=(Partition("m", "1g.10gb"),)) for n in range(4)], hgx().nics),
        with_links(hgx(), PIX="PXB"),
        with_links(hgx(), NV18="NV12"),
    ],
    ids=["gpus", "nics", "model", "MIG", "switch", "links"],
)
def test_what_is_built_otherwise_has_another_shape(other: Node) -> None:
    assert shape_of(other) not in (None, shape_of(hgx()))


def test_where_nobody_asked_for_nvlink_the_pcie_path_is_not_told_as_the_link() -> None:
    unasked = hgx(problems=(Problem("links.scale_up", NOT_ASKED, "nobody was asked whether NVLink joins them"),))
    pcie = replace(unasked, links=tuple(replace(one, link_class="SYS", kind="pcie") for one in unasked.links))
    for key in ("raxl/scale-up", "raxl/link-class", "raxl/shape"):
        assert why(pcie, key) == (NOT_ASKED, "nobody was asked whether NVLink joins them")


def test_a_node_whose_bus_was_not_read_has_no_shape() -> None:
    assert shape_of(hgx(looked_for=LookedFor())) is None
    denied = Problem("pci_tree", FAILED, "Permission denied")
    assert why(hgx(problems=(denied,)), "raxl/shape") == (FAILED, "Permission denied")


def test_what_a_shape_does_not_hang_on() -> None:
    slower = [nic(n, speed_bits_per_second=None, state="down", role=None) for n in range(4)]
    other = machine([gpu(n, memory_bytes=85_000_000_000) for n in range(4)], slower, software=(), name="x")
    assert shape_of(other) == shape_of(hgx())


def test_devices_that_are_alike_and_joined_otherwise_are_told_apart() -> None:
    """Two pairs of NVLink, or a chain: as many links of each class at every device but for how they hang together."""

    def ring(*sizes: int) -> Node:
        devices = [gpu(n) for n in range(sum(sizes))]
        group = [place for place, size in enumerate(sizes) for _ in range(size)]
        joined = [
            Link(a.id, b.id, "NV12" if group[a.index or 0] == group[b.index or 0] else "SYS", "nvlink")
            for a, b in combinations(devices, 2)
        ]
        return replace(machine(devices), links=tuple(joined))

    assert shape_of(ring(4, 2)) != shape_of(ring(3, 3))


def test_an_open_link_leaves_the_shape_open() -> None:
    node = with_links(hgx(), PIX=None)  # type: ignore[arg-type]
    found = shape.shape(node, working.fleet(node))
    assert not isinstance(found, str)
    assert found.reason == "not-asked"


# Whatever is read


@pytest.mark.parametrize("sample", samples.ALL, ids=samples.name)
def test_any_recording_has_valid_labels_in_every_format(sample: str | Path, tmp_path: Path) -> None:
    inventory = assemble.inventory(samples.opened(sample, tmp_path))
    made = labelling.document(inventory)
    SCHEMA.validate(json.loads(codec.encode(made)))
    assert codec.decode(codec.encode(made), LabelsDocument) == made
    for node in made.nodes:
        told = [one.key for one in (*node.labels, *node.unlabelled)]
        assert sorted(told) == sorted(KEYS), "each key has a label, or the reason why not"
        for one in node.labels:
            assert VALUE.fullmatch(one.value)
        for silent in node.unlabelled:
            assert silent.reason in REASONS
            assert silent.message.strip()
    accepted_by_ray(made)
    yaml.safe_load(label_kubernetes.kuberay(made))
    for width in (80, 120, 200):
        for line in to_text(text_labels.labels(made, width)).splitlines():
            assert len(line) <= width
            assert line.isprintable()


# --check


def cluster(*nodes: RayNode) -> Cluster:
    return Cluster("2.60.0", "3.11.7", len(nodes), 0, nodes)


def carrying(labels_of_it: dict[str, str], **changes: object) -> RayNode:
    rays = {"ray.io/node-id": "a1", "ray.io/accelerator-type": "H100"}
    return replace(RayNode("a1", "alive", "gpu-01", "10.0.0.2", False, labels={**rays, **labels_of_it}), **changes)  # type: ignore[arg-type]


NODE = hgx(ray_node_id="a1")
HEAD = RayNode("a0", "alive", "head", "10.0.0.1", True)


def checked(mine: RayNode, node: Node = NODE) -> Check:
    found = document(node, cluster=cluster(mine, HEAD), check=True).nodes[0].check
    assert found is not None
    return found


def test_a_raylet_with_the_right_labels_is_the_same() -> None:
    assert checked(carrying(values(NODE))) == Check("same")


def test_labels_of_others_are_nobodys_business() -> None:
    assert checked(carrying({**values(NODE), "team": "blue", "raxl/rail-group": "r1"})) == Check(
        "same", unchecked=("raxl/rail-group",)
    )


def test_a_raylet_that_differs_is_told_with_the_line_to_type() -> None:
    stale = {**values(NODE), "raxl/accelerators": "8", "team": "blue", "raxl/rail-group": "r1"}
    del stale["ray.io/gpu-domain"]
    found = checked(carrying(stale))
    assert found.status == "differs"
    assert found.differences == (
        Difference("ray.io/gpu-domain", f"{DOMAIN}.3", None, "cluster UUID and clique, state completed"),
        Difference("raxl/accelerators", "4", "8", "those that work"),
    )
    assert found.command is not None
    words = shlex.split(found.command)
    assert words[:6] == ["ray", "stop", "&&", "ray", "start", "--address=10.0.0.1:6379"]
    kept = label_utils.parse_node_labels_string(words[6].removeprefix("--labels="))
    assert kept == {**values(NODE), "team": "blue", "raxl/rail-group": "r1"}


def test_a_label_that_should_not_be_there_differs() -> None:
    alone = hgx(ray_node_id="a1", accelerators=tuple(gpu(n, fabric=Fabric(None, None, "completed")) for n in range(4)))
    found = checked(carrying({**values(alone), "ray.io/gpu-domain": "unknown"}), alone)
    assert [(one.key, one.wanted, one.found) for one in found.differences] == [("ray.io/gpu-domain", None, "unknown")]


def test_rays_own_type_is_held_against_the_devices() -> None:
    wrong = carrying(values(NODE))
    found = checked(replace(wrong, labels={**wrong.labels, "ray.io/accelerator-type": "A100"}))
    assert [(one.key, one.wanted, one.found) for one in found.differences] == [
        ("ray.io/accelerator-type", "H100", "A100")
    ]


def test_what_raxl_does_not_know_is_not_called_wrong() -> None:
    problem = Problem("accelerators.state", TIMED_OUT, "NVML did not answer")
    hung = hgx(
        ray_node_id="a1",
        accelerators=tuple(gpu(n, state="unknown") for n in range(4)),
        problems=(problem,),
    )
    found = checked(carrying(values(NODE)), hung)
    assert found.status == "same"
    assert "raxl/accelerators" in found.unchecked


def test_a_head_is_started_as_a_head() -> None:
    found = checked(carrying({}, is_head=True))
    assert found.command is not None
    assert found.command.startswith("ray stop && ray start --head --labels=")
    worker = hgx(name="gpu-09", ray_node_id="a9")
    rays = cluster(carrying({}, is_head=True), RayNode("a9", "alive", "gpu-09"))
    made = document(NODE, worker, cluster=rays, check=True)
    assert made.restart == ("gpu-09", NODE.name)
    text = " ".join(to_text(text_label_check.check(made, 100)).split())
    warning = "This is the head: stopping it ends the cluster unless GCS fault tolerance is on, so it comes last"
    assert text.index("gpu-09") < text.index("ray start --head") < text.index(warning)
    assert text.count(warning) == 1


def test_a_node_without_accelerators_needs_no_label_that_says_so() -> None:
    bare_node = Node("cpu-1", "ray:a1", "a1", path_trust="physical", looked_for=LookedFor(("NVIDIA",), 9))
    assert values(bare_node) == {"raxl/accelerators": "0", "raxl/scale-up": "none"}
    mine = RayNode("a1", "alive", "cpu-1", labels={"team": "blue"})
    assert checked(mine, bare_node) == Check("same")
    stale = checked(replace(mine, labels={"raxl/accelerators": "8"}), bare_node)
    assert [(one.key, one.found) for one in stale.differences] == [("raxl/accelerators", "8"), ("raxl/scale-up", None)]


def test_a_node_that_did_not_answer_is_not_written_as_one_without_labels() -> None:
    silent = Node("gpu-02", "ray:a2", "a2", problems=(Problem("node", TIMED_OUT, "no answer in 20 s"),))
    made = document(NODE, silent)
    told = "# gpu-02 did not answer, hence nothing is known of its labels: no answer in 20 s"
    assert label_files.ray_args(made).splitlines()[-2:] == ["# gpu-02", told]
    assert label_files.ray_args(document(silent)) == f"{told}\n"
    assert label_files.ray_file(made).endswith(f"---\n# gpu-02\n{told}\n")
    assert told in label_kubernetes.kuberay(made)
    assert label_kubernetes.k8s(made).splitlines()[-1] == told


def test_a_head_without_a_group_stands_under_its_own_spec() -> None:
    rays = cluster(carrying({}, is_head=True), RayNode("a9", "alive", "gpu-09"))
    made = document(NODE, hgx(name="gpu-09", ray_node_id="a9"), cluster=rays)
    spec = yaml.safe_load(label_kubernetes.kuberay(made))["spec"]
    assert spec["headGroupSpec"] == {"labels": values(NODE)}
    assert [group["groupName"] for group in spec["workerGroupSpecs"]] == ["GROUP"]


def test_nodes_without_an_answer_are_named() -> None:
    silent = Node("gpu-02", "ray:a2", "a2", problems=(Problem("node", TIMED_OUT, "no answer in 20 s"),))
    outsider = hgx(name="gpu-03", ray_node_id=None)
    nodes = cluster(carrying(values(NODE)), RayNode("a2", "alive", "gpu-02"), RayNode("a4", "alive", "gpu-04"))
    made = document(NODE, silent, outsider, cluster=nodes, check=True)
    assert {node.node: node.check and node.check.status for node in made.nodes} == {
        "gpu-01": "same",
        "gpu-02": "no-answer",
        "gpu-03": "not-in-cluster",
        "gpu-04": "no-answer",
    }
    text = to_text(text_label_check.check(made, 100))
    assert "gpu-02 and gpu-04 gave no answer" in text
    SCHEMA.validate(json.loads(codec.encode(made)))


def test_the_text_of_a_check_names_the_nodes_and_what_to_type() -> None:
    nodes = cluster(carrying({**values(NODE), "raxl/accelerators": "8"}), HEAD)
    made = document(NODE, cluster=nodes, check=True)
    assert made.restart == ("gpu-01",)
    for width in (80, 120, 200):
        lines = to_text(text_label_check.check(made, width)).splitlines()
        command_line = next(line for line in lines if "ray start" in line)
        assert command_line.strip() == (made.nodes[0].check or Check("")).command
        assert all(len(line) <= width for line in lines if line is not command_line)
    assert " ".join(" ".join(lines).split()).endswith("what runs there ends.")


def test_labels_of_a_group_are_what_its_nodes_share() -> None:
    names = {"ray.io/node-group": "h100-workers"}
    one, other = (hgx(name=f"gpu-{n}", ray_node_id=n, placement=Placement(rack=f"r{n}")) for n in "12")
    head = Node("head", "ray:0", "0", path_trust="physical", looked_for=LookedFor(("NVIDIA",), 9))
    rays = cluster(
        RayNode("1", "alive", labels=names),
        RayNode("2", "alive", labels=names),
        RayNode("0", "alive", labels={"ray.io/node-group": "headgroup"}, is_head=True),
    )
    text = label_kubernetes.kuberay(document(one, other, head, cluster=rays))
    spec = yaml.safe_load(text)["spec"]
    (group,) = spec["workerGroupSpecs"]
    wanted = values(one)
    del wanted["raxl/rack"]
    assert group == {"groupName": "h100-workers", "labels": wanted}
    assert spec["headGroupSpec"] == {"labels": {"raxl/accelerators": "0", "raxl/scale-up": "none"}}
    assert "hence no label of the group: raxl/rack" in text


# The command


def ran(options: command.Options) -> tuple[int, str]:
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = command.run(options, Streams(output, io.StringIO()))
    output.seek(0)
    return code, output.read()


@pytest.fixture
def snapshot(tmp_path: Path) -> Source:
    file = tmp_path / "gpu-07.tar.gz"
    file.write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    return Source((str(file),))


def test_a_check_without_a_cluster_is_one_line(snapshot: Source, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CannotStart, match="there is no cluster to check against"):
        ran(command.Options(snapshot, check=True))
    assert run_app(app, ["labels", "--check", "--from", snapshot.paths[0]]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("format", ["ray-file", "ray-args", "kuberay", "k8s"])
def test_a_check_has_no_format_that_holds_labels_alone(snapshot: Source, format: str) -> None:
    with pytest.raises(UsageError):
        ran(command.Options(snapshot, command.Format(format), check=True))


@pytest.mark.parametrize("accelerators", ["8", "7"])
def test_a_check_exits_with_1_where_a_raylet_differs(accelerators: str, tmp_path: Path) -> None:
    held = recordings.recording("nvidia-hgx-h100")
    carried = {**values(assemble.node(held)), "ray.io/accelerator-type": "H100", "raxl/accelerators": accelerators}
    view = {"node_id": "a" * 56, "state": "alive", "name": "gpu-07", "labels": carried}
    told = {Question("ray", "node"): Answer(view), Question("ray", "cluster"): Answer({"nodes_alive": 1})}
    (tmp_path / "cluster.tar.gz").write_bytes(
        keeping.packed([Recording({**held.answers, **told}, name="gpu-07", created=held.created, recorded_by="0")])
    )
    snapshot = Source((str(tmp_path / "cluster.tar.gz"),))
    code, text = ran(command.Options(snapshot, check=True))
    assert code == (0 if accelerators == "8" else 1)
    assert ("The node carries the right labels." in text) == (code == 0)
    code, text = ran(command.Options(snapshot, command.Format.json, check=True))
    SCHEMA.validate(json.loads(text))
    assert json.loads(text)["restart"] == ([] if code == 0 else ["gpu-07"])


def test_it_writes_to_a_file_and_records(snapshot: Source, tmp_path: Path) -> None:
    kept, written = tmp_path / "kept.tar.gz", tmp_path / "labels.yaml"
    options = command.Options(snapshot._replace(record=kept), command.Format.ray_file, output=written)
    assert ran(options) == (0, "")
    assert ran(command.Options(Source((str(kept),)), command.Format.ray_file)) == (0, written.read_text())
