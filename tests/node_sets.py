"""Nodes beside one another to show: those of the recordings under other names and in other places."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import recordings
from raxl.collect import assemble
from raxl.model.accelerator import Fabric
from raxl.model.cluster import Cluster, RayNode
from raxl.model.inventory import Inventory
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.placement import Placement
from raxl.model.problem import Problem


@cache
def of_recording(name: str) -> Node:
    return assemble.node(recordings.recording(name))


def node(recording: str, name: str, **place: object) -> Node:
    """The node of a recording under another name, standing in another place."""
    known = of_recording(recording)
    return replace(known, name=name, ray_node_id=f"id-{name}", placement=replace(known.placement, **place))


def inventory(*nodes: Node, cluster: Cluster | None = None) -> Inventory:
    return Inventory("raxl.inventory/v1", "0.1.0", "2026-01-01T00:00:00Z", nodes, cluster)


def ray_node(one: Node, **changes: object) -> RayNode:
    """The node as Ray sees it: all that is there is registered."""
    resource = one.accelerators[0].ray.resource if one.accelerators else None
    resources = {resource: float(len(one.accelerators))} if resource else {}
    plain = RayNode(str(one.ray_node_id), "alive", one.name, resources={"CPU": 64.0, **resources})
    return replace(plain, **changes)


def silent(name: str, why: str) -> Node:
    return Node(name, f"ray:id-{name}", f"id-{name}", problems=(Problem("node", "timed-out", why),))


def fleet() -> Inventory:
    """24 × 8 H100, one with a lost GPU, a head without any; one node does not answer, one is dead, one drains."""
    place = {"block": "b-2", "rack": "r07"}
    gpus = [
        node("nvidia-hgx-h100-gpu-lost" if number == 5 else "nvidia-hgx-h100", f"gpu-{number:02}", **place)
        for number in range(1, 25)
    ]
    head = node("none-cpu-server", "head")
    known = [*map(ray_node, gpus), ray_node(head, is_head=True)]
    known[2] = replace(known[2], state="draining", reason="preempted by the platform")
    known.append(RayNode("id-gpu-25", "alive", "gpu-25"))
    known.append(RayNode("id-gpu-26", "dead", "gpu-26", reason="health check failed"))
    lost = silent("gpu-25", "no answer in 20 s")
    return inventory(*gpus, head, lost, cluster=Cluster("2.60.0", "3.11.7", 26, 1, tuple(known)))


def trays(states: dict[int, str] | None = None) -> Inventory:
    """18 trays of one NVLink domain in one rack, two of a second clique's, and a CPU node."""
    found = []
    for number in range(1, 19):
        tray = node("nvidia-gb200-tray", f"tray-{number:02}", rack="r12")
        state = (states or {}).get(number)
        if state is not None:
            own = tuple(
                replace(one, fabric=Fabric(one.fabric and one.fabric.domain, one.fabric and one.fabric.clique, state))
                for one in tray.accelerators
            )
            tray = replace(tray, accelerators=own)
        found.append(tray)
    return inventory(*found, node("none-cpu-server", "head"))


def torus() -> Inventory:
    """A TPU slice of two hosts, one of which is missing, and a whole one of one host."""
    return inventory(node("tpu-v7x-chip-missing", "tpu-1"), node("tpu-v6e-8", "tpu-2"))


def mixed() -> Inventory:
    """Machines of several vendors and architectures, two of one kind with a slow NIC and another driver."""
    h100 = node("nvidia-hgx-h100", "gpu-03")
    slow: tuple[Nic, ...] = tuple(
        replace(one, speed_bits_per_second=200_000_000_000) if one.id == "mlx5_4" else one for one in h100.nics
    )
    old = tuple(replace(one, version="550.1") if one.name == "nvidia" else one for one in h100.software)
    return inventory(
        *(node("nvidia-hgx-h100", f"gpu-{number}") for number in range(10, 20)),
        replace(h100, nics=slow),
        replace(h100, name="gpu-04", software=old),
        node("amd-mi300x-spx", "mi-1"),
        node("neuron-trn2-ultraserver", "trn-1"),
        node("nvidia-gb200-tray", "tray-1"),
        node("none-cpu-server", "store-1"),
    )


def hostile() -> Inventory:
    """Names that would act on a terminal, and one without end."""
    bad = "\x1b[31mred\x07\n" + "x" * 300
    place = {"rack": "\x1b]0;title\x07r1", "block": "b\u202e1"}
    return inventory(
        node("nvidia-hgx-h100", bad, **place),
        node("nvidia-hgx-h100", "gpu\x1b[2J-2", **place),
        replace(node("nvidia-gb200-tray", "t\n1"), placement=Placement(slice="s\x1b[0m", worker_index=3)),
    )


CLUSTERS = {"fleet": fleet, "trays": trays, "torus": torus, "mixed": mixed}
