"""`raxl diff`: what is matched with what, what is told of each kind of change, and what is no change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import recordings
import samples
from raxl.cli import outcome
from raxl.cli.app import app
from raxl.collect import assemble, differences, keeping
from raxl.host import Answer, CommandOutput
from raxl.host.record import Recording
from raxl.model import codec
from raxl.model.accelerator import Accelerator
from raxl.model.cluster import Cluster, RayNode
from raxl.model.component import PciIdentity
from raxl.model.difference import Difference, DifferencesDocument
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.placement import Placement
from raxl.model.problem import Problem
from raxl.render import text_diff
from raxl.render.text import to_text
from raxl.topology import diff, lasting

SCHEMA = jsonschema.Draft202012Validator(json.loads(codec.schema("diff")))
HGX, LOST = "nvidia-hgx-h100", "nvidia-hgx-h100-gpu-lost"
GPU_6 = "/sys/bus/pci/devices/0000:bb:00.0"
NIC_3 = "/sys/class/infiniband/mlx5_3/ports/1"
SMI, MATRIX = "nvidia-smi -q -x", "nvidia-smi topo -m"
MIRRORED = {
    "gone": "new",
    "worse": "better",
    "narrowed": "widened",
    "unknown": "known",
}
MIRRORED |= {after: before for before, after in MIRRORED.items()}


def varied(name: str, *changes: tuple[str, str, str]) -> Inventory:
    """A recording in which answers say something else: by the question's subject, the old text and the new."""
    original = recordings.recording(name)
    answers = dict(original.answers)
    for subject, old, new in changes:
        asked = [question for question in answers if question.subject == subject]
        assert asked, subject
        for question in asked:
            value = answers[question].value
            text = value.stdout if isinstance(value, CommandOutput) else value
            assert old in text, (subject, text)
            text = text.replace(old, new)
            answers[question] = Answer(value._replace(stdout=text) if isinstance(value, CommandOutput) else text)
    return assemble.inventory(
        [
            Recording(
                answers,
                name=original.name,
                created=original.created,
                recorded_by=original.recorded_by,
                nature=original.nature,
            )
        ]
    )


def held(name: str) -> Inventory:
    return assemble.inventory([recordings.recording(name)])


def with_node(inventory: Inventory, change: Callable[[Node], Node]) -> Inventory:
    return replace(inventory, nodes=tuple(map(change, inventory.nodes)))


def without(inventory: Inventory, *ids: str) -> Inventory:
    """The inventory without these devices and their links."""

    def change(node: Node) -> Node:
        return replace(
            node,
            accelerators=tuple(one for one in node.accelerators if one.id not in ids),
            nics=tuple(one for one in node.nics if one.id not in ids),
            links=tuple(one for one in node.links if not {one.a, one.b} & set(ids)),
        )

    return with_node(inventory, change)


def with_accelerators(inventory: Inventory, change: Callable[[Accelerator], Accelerator]) -> Inventory:
    return with_node(inventory, lambda node: replace(node, accelerators=tuple(map(change, node.accelerators))))


def document(
    before: Inventory, after: Inventory, by_shape: bool = False, everything: bool = False
) -> DifferencesDocument:
    found = differences.document(("a", "b"), before, after, by_shape=by_shape, everything=everything)
    text = codec.encode(found)
    SCHEMA.validate(json.loads(text))
    assert codec.decode(text, DifferencesDocument) == found
    return found


def told(before: Inventory, after: Inventory, by_shape: bool = False, everything: bool = False) -> list[str]:
    """The lines that tell differences."""
    found = document(before, after, by_shape, everything)
    lines = to_text(text_diff.diff(found, before, after, 500)).splitlines()
    if not found.differences:
        assert lines[-1] == "No difference."
        return []
    summary = found.summary
    assert summary.faults + summary.changes + summary.new == len(found.differences) == len(lines) - 5
    assert lines[-1].endswith("; nothing else differs.")
    return lines[3:-2]


def permuted(inventory: Inventory) -> Inventory:
    """The same in another order."""

    def turned(node: Node) -> Node:
        names = ("accelerators", "nics", "links", "switches", "numa_nodes", "software", "problems")
        return replace(node, **{name: getattr(node, name)[::-1] for name in names})

    return replace(with_node(inventory, turned), nodes=tuple(map(turned, inventory.nodes[::-1])))


@pytest.mark.parametrize("sample", samples.ALL, ids=samples.name)
def test_nothing_differs_from_itself_in_whatever_order(sample: str | Path, tmp_path: Path) -> None:
    inventory = assemble.inventory(samples.opened(sample, tmp_path))
    for by_shape in (False, True):
        for everything in (False, True):
            assert not diff.compared(inventory, inventory, by_shape=by_shape, everything=everything).differences
            again = diff.compared(inventory, permuted(inventory), by_shape=by_shape, everything=everything)
            assert not again.differences


def ways(found: tuple[Difference, ...], mirrored: bool) -> list[str]:
    """Each difference of each subject as a text, as it is or as it would be from B to A."""
    told = []
    for one in found:
        kind = MIRRORED.get(one.kind, one.kind) if mirrored else one.kind
        values = (one.after, one.before) if mirrored else (one.before, one.after)
        for each in one.subjects or (None,):
            own = (None, None) if each is None else (each.before, each.after)
            names = [] if each is None or each.id is None else sorted({each.id, each.was or each.id})
            ids = "link" if each is not None and each.peer is not None else names
            told.append(repr((kind, one.fields, values, own[::-1] if mirrored else own, one.reason, ids)))
    return sorted(told)


@pytest.mark.parametrize("name", recordings.NAMES)
def test_the_other_way_round_the_same_differs(name: str) -> None:
    place = recordings.NAMES.index(name)
    before = held(name)
    for other in (recordings.NAMES[place - 1], recordings.NAMES[place // 2], HGX):
        after = held(other)
        for everything in (False, True):
            there = diff.compared(before, after, everything=everything)
            back = diff.compared(after, before, everything=everything)
            assert there.by_shape == back.by_shape
            assert ways(there.differences, False) == ways(back.differences, True)
            document(before, after, everything=everything)


def module(version: str) -> tuple[tuple[str, str, str], ...]:
    return (
        ("/sys/module/nvidia/version", "570.133.20", version),
        (SMI, "570.133.20", version),
        ("/proc/driver/nvidia/version", "570.133.20", version),
    )


CHANGES: dict[str, tuple[tuple[tuple[str, str, str], ...], list[str]]] = {
    "driver": (module("575.57.08"), ["~  nvidia 570.133.20 → 575.57.08"]),
    "kernel": (
        (("/proc/sys/kernel/osrelease", "6.8.0-60-generic", "6.8.0-71-generic"),),
        ["~  Linux 6.8.0-60-generic → 6.8.0-71-generic"],
    ),
    "link narrowed": (
        ((f"{GPU_6}/current_link_width", "16", "8"),),
        ["!  GPU 6: PCIe width ×16 → ×8"],
    ),
    "idle link": (((f"{GPU_6}/current_link_speed", "2.5 GT/s", "32.0 GT/s"),), []),
    "port down": (
        ((f"{NIC_3}/state", "4: ACTIVE", "1: DOWN"), (f"{NIC_3}/phys_state", "5: LinkUp", "3: Disabled")),
        ["!  mlx5_3: down, was ok"],
    ),
    "port slower": (
        ((f"{NIC_3}/rate", "400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)"),),
        ["!  mlx5_3: speed 400 Gb/s → 200 Gb/s"],
    ),
    "NVLinks": (
        ((MATRIX, "NV18", "NV17"),),
        ["!  GPU 0–7, every pair: NV18 → NV17"],
    ),
    "NVLinks of one": (
        (
            (MATRIX, "\nGPU6\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18", "\nGPU6" + "\tSYS" * 6 + "\t X \tSYS"),
            *(
                (MATRIX, f"\nGPU{n}{before}{after}", f"\nGPU{n}{before}{after[:-5]}\tSYS")
                for n in range(6)
                for before, after in [("", "\tNV18" * n + "\t X " + "\tNV18" * (6 - n))]
            ),
            (MATRIX, "\nGPU7" + "\tNV18" * 7, "\nGPU7" + "\tNV18" * 6 + "\tSYS"),
        ),
        ["!  GPU 6 ↔ GPU 0–3: NV18 → SYS", "!  GPU 6 ↔ GPU 4,5,7: NV18 → NODE"],
    ),
    "replaced": (
        (
            (SMI, "<uuid>GPU-00000000-0000-4000-8000-000000000003", "<uuid>GPU-00000000-0000-4000-8000-0000000000aa"),
            (SMI, "<serial>1650000000003", "<serial>1650000000099"),
            (
                "/proc/driver/nvidia/gpus/0000:5d:00.0/information",
                "GPU-00000000-0000-4000-8000-000000000003",
                "GPU-00000000-0000-4000-8000-0000000000aa",
            ),
        ),
        [
            "~  GPU 3: replaced, UUID GPU-00000000-0000-4000-8000-000000000003 → "
            "GPU-00000000-0000-4000-8000-0000000000aa"
        ],
    ),
    "VBIOS of all": (
        ((SMI, "96.00.A5.00.01", "96.00.D9.00.02"),),
        ["~  GPU 0–7: VBIOS 96.00.A5.00.01 → 96.00.D9.00.02"],
    ),
    "fabric": (
        ((SMI, "<state>Completed</state>", "<state>In Progress</state>"),),
        ["!  GPU 0–7: fabric completed → in progress"],
    ),
    "boot": (
        (("/proc/sys/kernel/random/boot_id", "49586587", "59586587"),),
        [],
    ),
    "memory that a kernel keeps": (
        (("/sys/devices/system/node/node0/meminfo", "1056437400", "1056437000"),),
        [],
    ),
    "memory gone": (
        (("/sys/devices/system/node/node0/meminfo", "1056437400", "989328536"),),
        ["!  NUMA node 0 memory 1007.5 GiB → 943.5 GiB"],
    ),
}


@pytest.mark.parametrize(("changes", "lines"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_told_in_one_line(changes: tuple[tuple[str, str, str], ...], lines: list[str]) -> None:
    assert told(held(HGX), varied(HGX, *changes)) == lines


def test_volatile_values_are_told_with_all_alone() -> None:
    changed = varied(
        HGX,
        (f"{GPU_6}/current_link_speed", "2.5 GT/s", "32.0 GT/s"),
        ("/proc/sys/kernel/random/boot_id", "49586587", "59586587"),
        ("/sys/devices/system/node/node0/meminfo", "1056437400", "1056437000"),
    )
    assert told(held(HGX), changed) == []
    assert told(held(HGX), changed, everything=True) == [
        "!  NUMA node 0 memory 1081791897600 → 1081791488000",
        "~  boot 49586587-a638-5a86-a974-a2e68887a945 → 59586587-a638-5a86-a974-a2e68887a945",
        "~  GPU 6: PCIe speed gen1 → gen5",
    ]


def test_a_lost_device_is_a_fault_and_what_it_says_no_more_is_not_known() -> None:
    lines = told(held(HGX), held(LOST))
    assert lines[:2] == ["!  GPU 6: lost, was ok", "~  gpu-07 is called gpu-06 now"]
    assert (
        "?  GPU 6: serial number, architecture, memory and fabric not known now: failed (nvidia-smi says: GPU is lost)"
        in lines
    )
    assert told(held(LOST), held(HGX))[0] != "!  GPU 6: ok, was lost"


def test_a_device_that_is_not_there_is_gone_and_one_that_came_is_new() -> None:
    whole = held(HGX)
    assert told(whole, without(whole, "nvidia:6", "mlx5_8")) == [
        "!  GPU 6: gone (NVIDIA H100 80GB HBM3)",
        "!  mlx5_8: gone (MT4125)",
    ]
    assert told(without(whole, "nvidia:6", "nvidia:7"), whole) == ["+  GPU 6–7: new (NVIDIA H100 80GB HBM3)"]


def test_what_could_not_be_listed_is_not_known_and_never_gone() -> None:
    whole = held(HGX)

    def blind(node: Node) -> Node:
        problem = Problem("nics", "not-permitted", "Permission denied")
        return replace(node, nics=(), links=(), problems=(problem, *node.problems))

    (line,) = told(whole, with_node(whole, blind))
    assert line == "?  mlx5_0–8: whether it is there not known now: not permitted (Permission denied)"
    (line,) = told(with_node(whole, blind), whole)
    assert line == "?  mlx5_0–8: whether it is there known now, before: not permitted (Permission denied)"


def test_a_device_is_followed_by_its_uuid_to_another_address_and_number() -> None:
    def swapped(device: Accelerator) -> Accelerator:
        places = {"nvidia:2": ("0000:5d:00.0", 3), "nvidia:3": ("0000:4c:00.0", 2)}
        if device.id not in places or device.pci is None:
            return device
        address, index = places[device.id]
        return replace(
            device, id=f"nvidia:{index}", index=index, pci=replace(device.pci, address=address), pcie_root=None
        )

    lines = told(held(HGX), with_accelerators(held(HGX), swapped))
    assert "~  GPU 2–3: moved, 0000:4c:00.0 → 0000:5d:00.0, 0000:5d:00.0 → 0000:4c:00.0" in lines
    assert "~  GPU 2–3: called GPU 3, GPU 2 before" in lines
    assert not [line for line in lines if "replaced" in line or "gone" in line]


def test_numbers_that_shift_are_one_line() -> None:
    """GPU 3 fell off the bus, and those after it are one less."""
    whole = held(HGX)

    def shifted(device: Accelerator) -> Accelerator:
        number = device.index or 0
        less = number - (number > 3)
        return replace(device, id=f"nvidia:{less}", index=less, attributes={**device.attributes, "minor": number})

    after = with_accelerators(without(whole, "nvidia:3"), shifted)
    after = with_node(after, lambda node: replace(node, links=()))
    before = with_node(whole, lambda node: replace(node, links=()))
    assert told(before, after) == [
        "!  GPU 3: gone (NVIDIA H100 80GB HBM3)",
        "~  GPU 3–6: called GPU 4–7 before",
    ]


def test_where_redacted_uuids_repeat_the_address_tells_apart() -> None:
    def redacted(device: Accelerator) -> Accelerator:
        return replace(device, uuid="GPU-XXXX", serial="XXXX")

    before = with_accelerators(held(HGX), redacted)
    assert told(before, before) == []
    assert told(before, without(before, "nvidia:5")) == ["!  GPU 5: gone (NVIDIA H100 80GB HBM3)"]


def test_partitions_are_compared_by_profile() -> None:
    whole, cut = held("amd-mi300x-spx"), held("amd-mi300x-cpx")
    assert "~  GPU 0–7: partitions none → 8 × CPX" in told(whole, cut)
    mig = held("nvidia-h100-mig")

    def anew(device: Accelerator) -> Accelerator:
        return replace(device, partitions=tuple(replace(one, id=f"{one.id}x") for one in device.partitions))

    assert told(mig, with_accelerators(mig, anew)) == []
    assert told(mig, with_accelerators(mig, anew), everything=True) != []


def test_counters_are_volatile_and_settings_are_not() -> None:
    names = {name: lasting.is_volatile(name) for name in ("ecc_uncorrectable", "temperature", "clocks_event_reasons")}
    assert all(names.values())
    assert not any(map(lasting.is_volatile, ("ecc_mode", "power_limit", "mig_mode", "remap_pending", "firmware")))

    def counted(errors: int, links: int, pending: bool) -> Inventory:
        def change(device: Accelerator) -> Accelerator:
            said = {"ecc_uncorrectable": errors, "nvlinks_up": links, "remap_pending": pending}
            return replace(device, attributes={**device.attributes, **said})

        return with_accelerators(held(HGX), change)

    assert told(counted(0, 18, False), counted(7, 18, False)) == []
    assert told(counted(0, 18, False), counted(7, 17, True)) == [
        "!  GPU 0–7: remap pending no → yes",
        "!  GPU 0–7: NVLinks that are up 18 → 17",
    ]


def twin(inventory: Inventory, name: str) -> Inventory:
    """Another machine of the same shape: other UUIDs, serials and bus numbers."""

    def other(device: Accelerator) -> Accelerator:
        assert device.pci is not None
        pci = replace(device.pci, address=device.pci.address.replace("0000:", "0001:"))
        return replace(device, uuid=f"{device.uuid}x", serial=f"{device.serial}x", pci=pci, pcie_root="pci0001:00")

    other_nodes = with_accelerators(inventory, other)
    return with_node(
        other_nodes,
        lambda node: replace(
            node,
            name=name,
            boot_id=name,
            placement=Placement(provider="example", rack=f"rack of {name}"),
            nics=tuple(
                replace(nic, pci=nic.pci and replace(nic.pci, address=nic.pci.address.replace("0000:", "0001:")))
                for nic in node.nics
            ),
        ),
    )


def test_two_machines_are_compared_as_to_shape() -> None:
    one, other = twin(held(HGX), "gpu-01"), twin(twin(held(HGX), ""), "gpu-02")
    assert document(one, other).matched_by == "shape"
    assert told(one, other) == []
    heading = to_text(text_diff.diff(document(one, other), one, other, 120)).splitlines()
    assert heading[1].startswith("two machines, compared as to shape: UUIDs")
    everything = told(one, other, everything=True)
    assert "~  GPU 0–7: replaced, other UUIDs" in everything
    assert any("rack of gpu-01 → rack of gpu-02" in line for line in everything)
    assert told(one, without(other, "nvidia:6")) == ["!  GPU 6: gone (NVIDIA H100 80GB HBM3)"]


def test_a_name_in_common_is_enough_where_raxl_recorded_both() -> None:
    one, other = twin(held(HGX), "gpu-07"), twin(twin(held(HGX), ""), "gpu-07")
    assert document(one, other).matched_by == "identity"
    assert "~  GPU 0–7: replaced, other UUIDs" in told(one, other)


def cluster(names: list[str], change: Callable[[Node], Node] = lambda node: node) -> Inventory:
    """So many machines of one sort, as Ray sees them."""
    nodes, seen = [], []
    (model,) = held(HGX).nodes
    for number, name in enumerate(names):
        node_id = f"{number:056x}"

        def own(device: Accelerator, name: str = name) -> Accelerator:
            return replace(device, uuid=f"GPU-{name}-{device.index}", serial=f"{name}-{device.index}")

        accelerators = tuple(map(own, model.accelerators))
        node = replace(model, name=name, boot_id=name, ray_node_id=node_id, accelerators=accelerators)
        nodes.append(change(node))
        address, resources = f"10.0.0.{number}", {"GPU": 8.0, "CPU": 224.0, "memory": 1e12 + number}
        seen.append(RayNode(node_id, "alive", name, address, number == 0, None, resources, {"ray.io/node-id": node_id}))
    return replace(held(HGX), nodes=tuple(nodes), cluster=Cluster("2.60.0", "3.12.3", len(seen), 0, tuple(seen)))


NAMES = [f"gpu-{number}" for number in range(1, 6)]


def with_ray(inventory: Inventory, name: str, **fields: object) -> Inventory:
    assert inventory.cluster is not None
    nodes = tuple(
        replace(one, **fields) if one.name == name else one  # type: ignore[arg-type]
        for one in inventory.cluster.nodes
    )
    return replace(inventory, cluster=replace(inventory.cluster, nodes=nodes))


def test_what_is_the_same_on_many_nodes_is_told_once() -> None:
    def updated(node: Node) -> Node:
        if node.name in ("gpu-2", "gpu-3", "gpu-4"):
            accelerators = tuple(replace(one, memory_bytes=1 << 36) for one in node.accelerators[:2])
            return replace(node, accelerators=(*accelerators, *node.accelerators[2:]))
        return node

    lines = told(cluster(NAMES), cluster(NAMES, updated))
    assert lines == ["~  gpu-2–4, GPU 0–1: memory 79.6 GiB → 64.0 GiB"]


def test_a_node_that_died_left_or_joined_is_told_as_ray_sees_it() -> None:
    before = cluster(NAMES)
    dead = with_ray(before, "gpu-2", state="dead", reason="health check failed")
    dead = replace(dead, nodes=tuple(node for node in dead.nodes if node.name != "gpu-2"))
    assert told(before, dead) == ["!  gpu-2: dead in Ray (health check failed)"]
    assert told(dead, before) == ["~  gpu-2: Ray’s state dead → alive"]
    left = with_ray(before, "gpu-2", state="dead", death="AUTOSCALER_DRAIN_IDLE", reason="idle for 60 s")
    left = replace(left, nodes=dead.nodes)
    assert told(before, left) == ["~  gpu-2: left Ray (idle for 60 s)"]
    fewer = cluster(NAMES[:4])
    assert told(before, fewer) == ["!  gpu-5: left Ray"]
    assert told(fewer, before) == ["+  gpu-5: joined Ray"]
    drained = with_ray(before, "gpu-3", state="draining", reason="spot interruption")
    assert told(before, drained) == ["!  gpu-3: Ray’s state alive → draining (spot interruption)"]


def test_without_ray_a_node_is_gone_or_new() -> None:
    before, fewer = (replace(cluster(names), cluster=None) for names in (NAMES, NAMES[:4]))
    assert told(before, fewer) == ["!  gpu-5: gone"]
    assert told(fewer, before) == ["+  gpu-5: new"]


def test_a_restarted_raylet_is_no_difference() -> None:
    before = cluster(NAMES)
    assert before.cluster is not None
    old = [replace(one, state="dead") for one in before.cluster.nodes]
    new = [
        replace(one, node_id=f"f{one.node_id[1:]}", labels={"ray.io/node-id": f"f{one.node_id[1:]}"})
        for one in before.cluster.nodes
    ]
    nodes = tuple(replace(node, ray_node_id=f"f{str(node.ray_node_id)[1:]}") for node in before.nodes)
    after = replace(before, nodes=nodes, cluster=replace(before.cluster, nodes=(*old, *new)))
    assert told(before, after) == []
    assert "Ray’s node id" in "\n".join(told(before, after, everything=True))


def test_rays_resources_labels_and_versions() -> None:
    before = cluster(NAMES)
    assert told(before, with_ray(before, "gpu-2", resources={"GPU": 7.0, "CPU": 224.0, "memory": 5e11})) == [
        "!  gpu-2: Ray’s GPU 8 → 7"
    ]
    labelled = with_ray(before, "gpu-2", labels={"raxl/rack": "r12", "ray.io/node-id": "x"})
    assert told(before, labelled) == ["~  gpu-2: Ray’s label raxl/rack none → r12"]
    assert before.cluster is not None
    newer = replace(before, cluster=replace(before.cluster, ray_version="2.61.0"))
    assert told(before, newer) == ["~  Ray 2.60.0 → 2.61.0"]
    assert told(replace(before, cluster=None), before) == [
        "?  Ray’s view known now, before: not asked (Ray was not asked)"
    ]


def test_what_ray_says_acts_on_no_terminal() -> None:
    before = cluster(NAMES)
    after = with_ray(before, "gpu-2", labels={"a\x1b[31m": "\x1b]0;title\x07red\u202e"})
    assert told(before, after) == ["~  gpu-2: Ray’s label a none → red"]
    assert document(before, after).differences[0].after == "red"


def test_two_nodes_of_a_cluster_are_alike_but_for_their_names() -> None:
    whole = cluster(NAMES)
    one, other = (differences.picked(whole, name) for name in NAMES[1:3])
    assert told(one, other, by_shape=True) == []
    everything = told(one, other, by_shape=True, everything=True)
    assert "~  gpu-2 is called gpu-3 now" in everything
    assert "~  address in Ray 10.0.0.1 → 10.0.0.2" in everything
    less = differences.picked(with_ray(whole, "gpu-3", resources={"GPU": 7.0, "CPU": 224.0}), "gpu-3")
    assert told(one, less, by_shape=True) == ["!  Ray’s GPU 8 → 7"]


def test_a_device_that_went_to_another_node_moved() -> None:
    before = cluster(NAMES)
    gone = replace(before.nodes[0], accelerators=before.nodes[0].accelerators[:7], links=())
    bare = tuple(replace(node, links=()) for node in before.nodes)
    seventh = replace(before.nodes[0].accelerators[7], id="nvidia:8", index=8, pci=PciIdentity("0000:ff:00.0"))
    host = replace(bare[1], accelerators=(*bare[1].accelerators, seventh))
    after = replace(before, nodes=(gone, host, *bare[2:]))
    assert told(replace(before, nodes=bare), after) == ["~  gpu-2, GPU 8: moved from gpu-1"]


def test_a_node_that_was_not_read_is_not_known() -> None:
    before = replace(cluster(NAMES), cluster=None)
    unread = Node("gpu-2", "x", boot_id=None, problems=(Problem("node", "timed-out", "no answer within 20 s"),))
    after = replace(before, nodes=tuple(unread if node.name == "gpu-2" else node for node in before.nodes))
    assert told(before, after) == ["!  gpu-2: the node not known now: timed out (no answer within 20 s)"]
    assert told(after, before) == ["?  gpu-2: the node known now, before: timed out (no answer within 20 s)"]


def test_a_node_that_was_not_read_is_not_another_of_its_name() -> None:
    """What tells several of one name apart, `gpu-1-2`, follows from which of them answered."""
    before = replace(cluster(["gpu-1", "gpu-1-2"]), cluster=None)
    first, second = before.nodes
    why = (Problem("node", "timed-out", "no answer within 20 s"),)
    unread = Node("gpu-1", "x", ray_node_id=second.ray_node_id, boot_id=None, problems=why)
    after = replace(before, nodes=(unread, replace(first, name="gpu-1-2")))
    lines = told(before, after)
    assert "!  gpu-1: the node not known now: timed out (no answer within 20 s)" in lines
    assert not any(line.endswith((": gone", ": new")) for line in lines)


def test_the_readme_shows_what_the_code_prints() -> None:
    """The lines of the README, by the changes that they tell."""
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    shown = re.search(r"^\$ raxl diff [^\n]*\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert shown is not None
    after = varied(
        HGX,
        ("/sys/bus/pci/devices/0000:5d:00.0/current_link_width", "16", "8"),
        (f"{NIC_3}/rate", "400 Gb/sec (4X NDR)", "200 Gb/sec (4X HDR)"),
        (SMI, "96.00.A5.00.01", "96.00.D9.00.02"),
        *module("575.57.08"),
    )
    after = replace(after, created="2026-02-03T03:12:44Z")
    found = differences.document(("hgx-h100.tar.gz", "now"), held(HGX), after, by_shape=False, everything=False)
    assert shown[1] == to_text(text_diff.diff(found, held(HGX), after, 100))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in (HGX, LOST, "nvidia-hgx-b200"):
        (tmp_path / f"{name}.tar.gz").write_bytes(recordings.snapshot(name))
    both = [recordings.recording(name) for name in (HGX, "nvidia-hgx-b200")]
    both[0].name, both[1].name = "gpu-07", "gpu-20"
    (tmp_path / "both.tar.gz").write_bytes(keeping.packed(both))
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = outcome.run(app, ["diff", *map(str, arguments)])
    return (code, *capsys.readouterr())


def test_exit_codes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, lost = files / f"{HGX}.tar.gz", files / f"{LOST}.tar.gz"
    assert ran(capsys, whole, whole) == (0, "No difference.\n", "")
    code, out, _ = ran(capsys, whole, lost)
    assert code == 1
    assert "!  GPU 6: lost, was ok" in out
    assert out.endswith("1 fault, 5 changes; nothing else differs.\n")
    code, out, _ = ran(capsys, whole, lost, "--format", "json")
    assert code == 1
    SCHEMA.validate(json.loads(out))


def test_nodes_by_name(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = files / "both.tar.gz"
    code, out, _ = ran(capsys, "node:gpu-07", "node:gpu-20", "--from", both)
    assert code == 1
    assert "two machines, compared as to shape" in out
    assert "~  GPU 0–7: model NVIDIA H100 80GB HBM3 → NVIDIA B200" in out
    assert ran(capsys, "node:gpu-07", "node:gpu-07", "--from", both)[0] == 0
    assert ran(capsys, both, "node:gpu-07", "--from", both)[:2] == (0, "No difference.\n")
    assert ran(capsys, files / f"{HGX}.tar.gz", "node:gpu-07", "--from", both)[0] == 0
    assert ran(capsys, both, "now", "--from", both)[0] == 0
    code, out, error = ran(capsys, "node:gpu-99", "now", "--from", both)
    assert (code, out) == (2, "")
    assert error == "raxl: error: no node is called gpu-99 (there are gpu-07, gpu-20)\n"


def test_what_was_read_for_now_is_recorded(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, lost, kept = files / f"{HGX}.tar.gz", files / f"{LOST}.tar.gz", files / "kept.tar.gz"
    first = ran(capsys, whole, "now", "--from", lost, "--record", kept)
    assert ran(capsys, whole, "now", "--from", kept)[:2] == first[:2]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-", "-"), 2, "A and B cannot both be standard input"),
        (("/nowhere", "now"), 4, "/nowhere: no such file"),
        (("a", "b", "--from", "c"), 2, "--from is of no use here"),
        (("a", "b", "--record", "c"), 2, "--record is of no use here"),
        (("a",), 2, "Missing argument 'B'"),
    ],
)
def test_refusals(arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    ended, out, error = ran(capsys, *arguments)
    assert (ended, out) == (code, "")
    assert error.startswith("raxl: error: ")
    assert words in error
    assert error.count("\n") == 1


def test_lines_keep_to_the_width_and_to_ascii() -> None:
    before, after = held(HGX), held("nvidia-hgx-b200")
    found = document(before, after)
    for width in (40, 80, 120, 200):
        text = to_text(text_diff.diff(found, before, after, width, unicode=False))
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= width
