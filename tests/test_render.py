"""Text output: whole screens for a few machines, and what holds for all of them at every width."""

from __future__ import annotations

import fcntl
import io
import os
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raxl.cli.streams import Streams
from raxl.errors import CannotStart
from raxl.model.accelerator import Accelerator, Partition, RayView
from raxl.model.component import PciIdentity, PciLink, Switch
from raxl.model.inventory import Inventory
from raxl.model.link import Link
from raxl.model.nic import Nic, Port
from raxl.model.node import Cpu, LookedFor, Node, NumaNode, OperatingSystem, Software
from raxl.model.placement import Placement
from raxl.model.printable import clean
from raxl.model.problem import Problem
from raxl.render.quantity import (
    binary_size,
    bit_rate,
    byte_rate,
    generation,
    name_ranges,
    number_ranges,
    pci_link,
)
from raxl.render.text import Line, display_width, to_text
from raxl.render.text_matrix import matrix
from raxl.render.text_table import discover
from raxl.render.text_tree import tree

GIB = 1 << 30
TIB = 1 << 40


def inventory(*nodes: Node) -> Inventory:
    return Inventory("raxl.inventory/v1", "0.1.0", "2026-01-01T00:00:00Z", nodes)


def gpu(index: int, bus: str, numa: int | None = 0, **changes: object) -> Accelerator:
    link = PciLink(2.5, 16, 32.0, 16)  # idle
    plain = Accelerator(
        id=f"nvidia:{index}",
        vendor="nvidia",
        kind="gpu",
        model="NVIDIA H100 80GB HBM3",
        index=index,
        uuid=f"GPU-{index}",
        ray=RayView("GPU", "H100", True),
        pci=PciIdentity(f"0000:{bus}:00.0", "10de", "2330", None, link),
        numa_node=numa,
        pcie_root=f"pci0000:{bus}",
        memory_bytes=85_520_809_984,
        state="ok",
    )
    return replace(plain, **changes)


def nic(number: int, bus: str, numa: int | None = 0, **changes: object) -> Nic:
    plain = Nic(
        id=f"mlx5_{number}",
        netdev=f"ibs{number}",
        kind="infiniband",
        role="compute",
        pci=PciIdentity(f"0000:{bus}:00.0", "15b3", "1021", None, PciLink(32.0, 16, 32.0, 16)),
        numa_node=numa,
        state="ok",
        speed_bits_per_second=400_000_000_000,
        ports=(Port(1, f"ibs{number}", "ok", 400_000_000_000),),
    )
    return replace(plain, **changes)


def pairs(accelerators: tuple[Accelerator, ...], nics: tuple[Nic, ...], own: dict[str, str], **fabric: object) -> tuple:
    links = []
    for place, a in enumerate(accelerators):
        links += [Link(a.id, b.id, **fabric) for b in accelerators[place + 1 :]]
        for b in nics:
            near = "PIX" if own.get(a.id) == b.id else "NODE" if a.numa_node == b.numa_node else "SYS"
            links.append(Link(a.id, b.id, near, "pcie"))
    return tuple(links)


NV18 = {"link_class": "NV18", "kind": "nvlink", "count": 18, "bandwidth_bytes_per_second": 450_000_000_000}


def hgx() -> Node:
    buses = ["19", "3b", "4c", "5d", "9b", "bb", "cb", "db"]
    gpus = tuple(gpu(index, bus, index // 4) for index, bus in enumerate(buses))
    own = tuple(nic(index, f"{int(bus, 16) - 1:02x}", index // 4) for index, bus in enumerate(buses))
    slow = PciLink(16.0, 8, 16.0, 8)
    other = nic(
        8,
        "5f",
        0,
        kind="roce",
        role="management",
        speed_bits_per_second=100_000_000_000,
        pci=PciIdentity("0000:5f:00.0", "15b3", "101d", None, slow),
    )
    nics = (*own, other)
    switches = tuple(
        Switch(
            f"0000:{int(bus, 16) - 3:02x}:00.0",
            "pcie",
            PciIdentity(f"0000:{int(bus, 16) - 3:02x}:00.0"),
            f"pci0000:{bus}",
            index // 4,
            None,
            (f"nvidia:{index}", f"mlx5_{index}"),
        )
        for index, bus in enumerate(buses)
    )
    nvswitches = tuple(Switch(f"0000:0{n}:00.0", "nvswitch", PciIdentity(f"0000:0{n}:00.0")) for n in range(1, 5))
    return Node(
        name="gpu-07",
        source="local",
        path_trust="physical",
        os=OperatingSystem("6.8.0-45-generic", "Ubuntu 22.04.4 LTS", "x86_64", "none", "none"),
        cpu=Cpu("Intel(R) Xeon(R) Platinum 8480C", 2, 112, 224),
        numa_nodes=(NumaNode(0, "0-55,112-167", TIB, (10, 21)), NumaNode(1, "56-111,168-223", TIB, (21, 10))),
        accelerators=gpus,
        nics=nics,
        switches=(*switches, *nvswitches),
        links=pairs(gpus, nics, {f"nvidia:{n}": f"mlx5_{n}" for n in range(8)}, **NV18),
        software=(
            Software("nvidia", "570.133.20", "/sys/module/nvidia/version"),
            Software("cuda", "12.8", "nvidia-smi -q -x"),
        ),
    )


def lost() -> Node:
    """The same with GPU 6 off the bus and GPU 2 without links."""
    healthy = hgx()
    gone = replace(healthy.accelerators[6], uuid=None, memory_bytes=None, state="lost")
    links = []
    for link in healthy.links:
        ends = {link.a, link.b}
        if "nvidia:6" in ends and link.kind == "nvlink":
            link = Link(link.a, link.b)
        elif "nvidia:2" in ends and link.kind == "nvlink":
            link = Link(link.a, link.b, "SYS" if int(link.b[-1]) > 3 else "NODE", "pcie")
        links.append(link)
    said = "the driver says: GPU is lost"
    return replace(
        healthy,
        name="gpu-05",
        accelerators=(*healthy.accelerators[:6], gone, healthy.accelerators[7]),
        links=tuple(links),
        problems=(
            *(Problem(f"nvidia:6.{field}", "failed", said) for field in ("memory_bytes", "uuid", "links")),
            Problem("ray.GPU", "disagreement", "Ray would register 8: start it with --num-gpus 7"),
        ),
    )


def virtual() -> Node:
    """A VM: one host bridge, no class worth its name, little that may be read."""
    gpus = tuple(gpu(index, f"0{index + 1}", None, pcie_root="pci0000:00", uuid=None) for index in range(8))
    nics = tuple(
        nic(index, f"1{index}", None, kind="rdma", speed_bits_per_second=None, role=None) for index in range(8)
    )
    refused = "/dev/nvidiactl: Permission denied"
    return Node(
        name="vm-3",
        source="local",
        path_trust="virtual",
        os=OperatingSystem("6.5.0-1025-azure", "Ubuntu 22.04.4 LTS", "x86_64", "microsoft", None),
        cpu=Cpu("Intel(R) Xeon(R) Platinum 8480C", 2, 96, 96),
        numa_nodes=(NumaNode(0, "0-47", 900 * GIB), NumaNode(1, "48-95", 900 * GIB)),
        accelerators=gpus,
        nics=nics,
        links=pairs(gpus, nics, {}, link_class="PHB", kind="pcie"),
        placement=Placement(provider="Azure", instance_type="Standard_ND96isr_H100_v5"),
        problems=(
            Problem("accelerators.uuid", "not-permitted", refused),
            Problem("accelerators.numa_node", "not-present", "the kernel names no NUMA node for it (-1)"),
            Problem("nics.numa_node", "not-present", "the kernel names no NUMA node for it (-1)"),
            *(
                Problem(
                    f"mlx5_{n}.speed_bits_per_second", "not-present", f"/sys/class/infiniband/mlx5_{n}/rate: absent"
                )
                for n in range(8)
            ),
            Problem("os.container", "not-asked", "the recording holds no such answer"),
            Problem("placement", "not-asked", "no metadata service was asked"),
            Problem("nics.role", "not-asked", "no rule says it"),
        ),
    )


def cpx() -> Node:
    """Eight MI300X, each with its NIC directly below its own host bridge, all cut in eight."""
    slices = tuple(Partition(f"{n}", "CPX", 24 * GIB) for n in range(8))
    gpus = tuple(
        gpu(
            index,
            f"{index + 1}5",
            index // 4,
            id=f"amd:{index}",
            vendor="amd",
            model="AMD Instinct MI300X",
            memory_bytes=192 * GIB,
            partitions=slices,
            ray=RayView("GPU", "AMD-Instinct-MI300X-OAM", True),
        )
        for index in range(8)
    )
    nics = tuple(nic(index, f"{index + 1}8", index // 4, kind="roce") for index in range(8))
    switches = ()
    fabric = {"link_class": None, "kind": "xgmi"}
    links = pairs(gpus, nics, {f"amd:{n}": f"mlx5_{n}" for n in range(8)}, **fabric)
    links = tuple(replace(link, link_class="PHB") if link.link_class == "PIX" else link for link in links)
    return Node(
        name="amd-1",
        source="local",
        path_trust="physical",
        os=OperatingSystem("5.15.0-113-generic", "Ubuntu 22.04.4 LTS", "x86_64", "none", "docker"),
        cpu=Cpu("AMD EPYC 9654 96-Core Processor", 2, 192, 384),
        numa_nodes=(NumaNode(0, "0-95,192-287", TIB), NumaNode(1, "96-191,288-383", TIB)),
        accelerators=gpus,
        nics=nics,
        switches=switches,
        links=links,
        software=(Software("amdgpu", "6.8.5", "/sys/module/amdgpu/version"),),
        problems=(Problem("links", "not-supported", "the kernel tells the kind of a link, not how many there are"),),
    )


def many() -> Node:
    """64 devices without an index at eight NUMA nodes, and eight NUMA nodes that hold nothing."""
    devices = tuple(
        Accelerator(
            f"furiosa@{n // 8 + 1:04x}:{n % 8 + 1:02x}:00.0",
            "furiosa",
            "npu",
            "RNGD",
            pci=PciIdentity(
                f"{n // 8 + 1:04x}:{n % 8 + 1:02x}:00.0", link=PciLink(32.0, 8 if n == 37 else 16, 32.0, 16)
            ),
            numa_node=n // 8,
            pcie_root=f"pci{n // 8 + 1:04x}:{n % 8:02x}",
            state="unknown",
        )
        for n in range(64)
    )
    numas = tuple(NumaNode(n, f"{n * 16}-{n * 16 + 15}", 64 * GIB) for n in range(8))
    empty = tuple(NumaNode(n, "", 0) for n in range(8, 16))
    links = tuple(
        Link(a.id, b.id, "NODE" if a.numa_node == b.numa_node else "SYS", "pcie")
        for place, a in enumerate(devices)
        for b in devices[place + 1 :]
    )
    problems = tuple(
        Problem(f"{device.id}.{field}", "not-installed", "furiosa-smi: no such command")
        for device in devices
        for field in ("index", "memory_bytes", "uuid", "ray", "state")
    )
    return Node("npu-1", "local", numa_nodes=(*numas, *empty), accelerators=devices, links=links, problems=problems)


def bridged() -> Node:
    """Four GPUs joined in pairs, below stacked switches, one with half its lanes; two at two NUMA nodes at once."""
    gpus = tuple(gpu(index, f"{index + 3}1", 0, pcie_root="pci0000:30") for index in range(4))
    narrow = PciIdentity("0000:51:00.0", "10de", "2330", None, PciLink(16.0, 8, 16.0, 16))
    gpus = (*gpus[:2], replace(gpus[2], pci=narrow, state="degraded"), gpus[3])
    gpus = tuple(replace(one, numa_node=None, local_numa_nodes=(0, 1)) for one in gpus)
    nics = (nic(0, "32", 0), nic(1, "33", 0, state="down", speed_bits_per_second=None))
    switches = (
        Switch("0000:20:00.0", "pcie", PciIdentity("0000:20:00.0"), "pci0000:20", 0, None, ("mlx5_1",)),
        Switch("0000:24:00.0", "pcie", None, None, None, "0000:20:00.0", ("nvidia:0", "mlx5_0")),
        Switch("0000:28:00.0", "pcie", None, None, None, "0000:20:00.0", ("nvidia:1",)),
    )
    joined = {("nvidia:0", "nvidia:1"), ("nvidia:2", "nvidia:3")}
    links = tuple(
        replace(link, link_class="NV4", kind="nvlink", bandwidth_bytes_per_second=100_000_000_000)
        if (link.a, link.b) in joined
        else replace(link, link_class="PXB" if link.b.startswith("mlx5") and link.a < "nvidia:2" else link.link_class)
        for link in pairs(gpus, nics, {"nvidia:0": "mlx5_0"}, link_class="SYS", kind="pcie")
    )
    return replace(
        hgx(),
        name="pairs",
        accelerators=gpus,
        nics=nics,
        switches=switches,
        links=links,
        problems=(
            Problem("mlx5_1.speed_bits_per_second", "not-applicable", "the port is down"),
            Problem("nvidia:2.pci.link", "disagreement", "sysfs says 8 lanes, nvidia-smi 16"),
        ),
    )


def superchip() -> Node:
    """Memory of the GPUs as NUMA nodes, and empty ones between them."""
    gpus = tuple(
        gpu(
            index,
            "01",
            index // 2,
            model="NVIDIA GB200",
            memory_bytes=186 * GIB,
            ray=RayView("GPU", "GB200", True),
            pcie_root=f"pci000{index}:00",
            partitions=(),
        )
        for index in range(4)
    )
    gpus = tuple(
        replace(one, pci=replace(one.pci, address=f"000{index}:01:00.0")) for index, one in enumerate(gpus) if one.pci
    )
    own = {2 + 8 * index: f"nvidia:{index}" for index in range(4)}
    numas = tuple(NumaNode(n, "", 186 * GIB if n in own else 0, accelerator=own.get(n)) for n in range(2, 34))
    cpus = (NumaNode(0, "0-71", 480 * GIB), NumaNode(1, "72-143", 480 * GIB))
    links = pairs(gpus, (), {}, link_class="NV18", kind="nvlink", bandwidth_bytes_per_second=900_000_000_000)
    return Node("rack-1", "local", numa_nodes=(*cpus, *numas), accelerators=gpus, links=links)


LOOKED = LookedFor(("NVIDIA", "AMD"), 14, ("/sys/class/kfd",))


def nothing() -> Node:
    card = nic(0, "02", 0, id="eth0", netdev="eth0", kind="ethernet", role=None, speed_bits_per_second=10**9)
    return replace(
        hgx(), name="head", accelerators=(), nics=(card,), switches=(), links=(), software=(), looked_for=LOOKED
    )


def hostile() -> Node:
    one = gpu(0, "19", 0, model="\x1b[31mX[/bold]")
    two = nic(0, "18", 0, id="e\x1b]0;title\x07th\u202e0", kind="\x9b2Jodd\n")
    said = "no\x1b[2J\nanswer\ud800"
    return Node(
        "n\x07ode", "local", accelerators=(one,), nics=(two,), problems=(Problem("nvidia:0.serial", "failed", said),)
    )


HGX_TREE = """\
gpu-07  Ubuntu 22.04.4 LTS · Linux 6.8.0-45-generic · 2 × Xeon Platinum 8480C · NVIDIA 570.133.20 · CUDA 12.8

NUMA 0  CPUs 0-55,112-167 · 1.0 TiB
├─ switch 0000:16:00.0
│  ├─ GPU 0   H100 80GB HBM3   gen5 ×16   0000:19:00.0
│  └─ mlx5_0  400 Gb/s IB      gen5 ×16   0000:18:00.0   nearest to GPU 0
├─ switch 0000:38:00.0
│  ├─ GPU 1   H100 80GB HBM3   gen5 ×16   0000:3b:00.0
│  └─ mlx5_1  400 Gb/s IB      gen5 ×16   0000:3a:00.0   nearest to GPU 1
├─ … 2 more switches of the same shape (GPU 2–3, mlx5_2–3)
└─ mlx5_8     100 Gb/s RoCE    gen4 ×8    0000:5f:00.0   management
NUMA 1  CPUs 56-111,168-223 · 1.0 TiB
└─ 4 switches of the same shape (GPU 4–7, mlx5_4–7)

NVLink     GPU 0–7, every pair NV18 through 4 NVSwitches, 450 GB/s each way
GPU ↔ NIC  each GPU has its own NIC at PIX

8 GPUs ok, 9 NICs, nothing unknown.
"""

HGX_TABLE = """\
   MODEL                MEMORY  PCI           NUMA  LINK      STATE  RAY
0  H100 80GB HBM3     79.6 GiB  0000:19:00.0     0  gen5 ×16  ok     GPU · H100
1  H100 80GB HBM3     79.6 GiB  0000:3b:00.0     0  gen5 ×16  ok     GPU · H100
…  6 more like these                           0–1            ok

8 × H100, all ok.
"""

LOST_TREE = """\
gpu-05  Ubuntu 22.04.4 LTS · Linux 6.8.0-45-generic · 2 × Xeon Platinum 8480C ·
        NVIDIA 570.133.20 · CUDA 12.8

NUMA 0  CPUs 0-55,112-167 · 1.0 TiB
├─ switch 0000:16:00.0
│  ├─ GPU 0   H100 80GB HBM3   gen5 ×16   0000:19:00.0
│  └─ mlx5_0  400 Gb/s IB      gen5 ×16   0000:18:00.0   nearest to GPU 0
├─ switch 0000:38:00.0
│  ├─ GPU 1   H100 80GB HBM3   gen5 ×16   0000:3b:00.0
│  └─ mlx5_1  400 Gb/s IB      gen5 ×16   0000:3a:00.0   nearest to GPU 1
├─ … 2 more switches of the same shape (GPU 2–3, mlx5_2–3)
└─ mlx5_8     100 Gb/s RoCE    gen4 ×8    0000:5f:00.0   management
NUMA 1  CPUs 56-111,168-223 · 1.0 TiB
├─ 3 switches of the same shape (GPU 4,5,7, mlx5_4,5,7)
└─ switch 0000:c8:00.0
   ├─ GPU 6   H100 80GB HBM3   gen5 ×16   0000:cb:00.0   lost
   └─ mlx5_6  400 Gb/s IB      gen5 ×16   0000:ca:00.0   nearest to GPU 6

GPU 6      lost, at 0000:cb:00.0 (the driver says: GPU is lost)
NVLink     GPU 2 has no link up (NODE or SYS to all others)
           GPU 0,1,3–5,7, every pair NV18 through 4 NVSwitches, 450 GB/s each
           way
GPU ↔ NIC  each GPU has its own NIC at PIX
Ray        would register 8: start it with --num-gpus 7

7 of 8 GPUs ok, 1 lost, 9 NICs. Unknown: memory, UUID and links of GPU 6 (the
driver says: GPU is lost).
"""

LOST_TABLE = """\
   MODEL                MEMORY  PCI           NUMA  LINK      STATE  RAY
0  H100 80GB HBM3     79.6 GiB  0000:19:00.0     0  gen5 ×16  ok     GPU · H100
1  H100 80GB HBM3     79.6 GiB  0000:3b:00.0     0  gen5 ×16  ok     GPU · H100
…  5 more like these                           0–1            ok
6  H100 80GB HBM3            ?  0000:cb:00.0     1  gen5 ×16  lost   –

?  memory of GPU 6: failed (the driver says: GPU is lost)

8 × H100, 7 ok, 1 lost. Ray would register 8: start it with --num-gpus 7.
"""

VIRTUAL_TREE = """\
vm-3  Azure Standard_ND96isr_H100_v5 · Ubuntu 22.04.4 LTS ·
      Linux 6.5.0-1025-azure · VM (microsoft) · 2 × Xeon Platinum 8480C
      virtual PCI tree: distances below are the hypervisor’s, not the machine’s
      a topology file of the platform helps (raxl topo --from it)

NUMA 0  CPUs 0-47 · 900.0 GiB
NUMA 1  CPUs 48-95 · 900.0 GiB
NUMA ?
├─ host bridge pci0000:00
│  ├─ GPU 0  H100 80GB HBM3   gen5 ×16   0000:01:00.0
│  ├─ GPU 1  H100 80GB HBM3   gen5 ×16   0000:02:00.0
│  └─ … 6 more like these (GPU 2–7)
├─ mlx5_0    ? RDMA           gen5 ×16   0000:10:00.0
├─ mlx5_1    ? RDMA           gen5 ×16   0000:11:00.0
└─ … 6 more like these (mlx5_2–7)

GPU ↔ GPU  every pair PHB
GPU ↔ NIC  no GPU has a NIC nearer than NODE

?  UUID of every GPU: not permitted (/dev/nvidiactl: Permission denied)
?  NUMA node of every GPU and every NIC: not present (the kernel names no NUMA
   node for it (-1))
?  speed of every NIC: not present (/sys/class/infiniband/mlx5_0/rate: absent …)
?  role of every NIC: not asked (no rule says it)
?  not asked: container and placement

8 GPUs ok, 8 NICs. Unknown: UUID, NUMA node, speed and role.
"""

CPX_TREE = """\
amd-1  Ubuntu 22.04.4 LTS · Linux 5.15.0-113-generic · container (docker) · 2 × EPYC 9654 ·
       amdgpu 6.8.5

NUMA 0  CPUs 0-95,192-287 · 1.0 TiB
├─ host bridge pci0000:15
│  ├─ GPU 0   Instinct MI300X   gen5 ×16   0000:15:00.0   8 × CPX
│  └─ mlx5_0  400 Gb/s RoCE     gen5 ×16   0000:18:00.0
├─ host bridge pci0000:25
│  ├─ GPU 1   Instinct MI300X   gen5 ×16   0000:25:00.0   8 × CPX
│  └─ mlx5_1  400 Gb/s RoCE     gen5 ×16   0000:28:00.0
└─ … 2 more host bridges of the same shape (GPU 2–3, mlx5_2–3)
NUMA 1  CPUs 96-191,288-383 · 1.0 TiB
└─ 4 host bridges of the same shape (GPU 4–7, mlx5_4–7)

XGMI       GPU 0–7, every pair by an unknown number of links
GPU ↔ NIC  each GPU has its own NIC at PHB
GPU 0–7    8 partitions each (CPX)

8 GPUs ok, 8 NICs. Unknown: links (the kernel tells the kind of a link, not how many there are).
"""

BRIDGED_TREE = """\
pairs  Ubuntu 22.04.4 LTS - Linux 6.8.0-45-generic - 2 x Xeon Platinum 8480C -
       NVIDIA 570.133.20 - CUDA 12.8

NUMA 0  CPUs 0-55,112-167 - 1.0 TiB
`- switch 0000:20:00.0
   |- switch 0000:24:00.0
   |  |- GPU 0   H100 80GB HBM3   gen5 x16
   |  `- mlx5_0  400 Gb/s IB      gen5 x16         nearest to GPU 0-1
   |- switch 0000:28:00.0
   |  `- GPU 1   H100 80GB HBM3   gen5 x16
   `- mlx5_1     IB               gen5 x16         down, nearest to GPU 0-1
NUMA 1  CPUs 56-111,168-223 - 1.0 TiB
NUMA 0 or 1
`- host bridge pci0000:30
   |- GPU 2      H100 80GB HBM3   gen4 x8 of x16   degraded
   `- GPU 3      H100 80GB HBM3   gen5 x16

GPU 2        degraded, at 0000:51:00.0
NVLink       within each of GPU 0-1 and GPU 2-3: every pair NV4, 100 GB/s each
             way
GPU <-> NIC  GPU 0-1: 2 shared NICs at PXB
             GPU 2-3: no NIC nearer than SYS

3 of 4 GPUs ok, 1 degraded, 2 NICs (1 down). Readings disagree on PCI link of
GPU 2 (sysfs says 8 lanes, nvidia-smi 16).
"""

BRIDGED_MATRIX = """\
        GPU0  GPU1  GPU2  GPU3  mlx5_0  mlx5_1  NUMA
GPU0    X     NV4   SYS   SYS   PXB     PXB      0–1
GPU1    NV4   X     SYS   SYS   PXB     PXB      0–1
GPU2    SYS   SYS   X     NV4   SYS     SYS      0–1
GPU3    SYS   SYS   NV4   X     SYS     SYS      0–1
mlx5_0  PXB   PXB   SYS   SYS   X       –          0
mlx5_1  PXB   PXB   SYS   SYS   –       X          0

X    the device itself
NVn  n bonded NVLinks
PXB  several PCIe switches, not the host bridge
SYS  between NUMA nodes
–    pairs of NICs are not listed

3 of 4 GPUs ok, 1 degraded, 2 NICs (1 down). Readings disagree on PCI link of
GPU 2 (sysfs says 8 lanes, nvidia-smi 16).
"""


MACHINES = (hgx, lost, virtual, cpx, many, bridged, superchip, nothing, hostile)


def screens(width: int, unicode: bool = True) -> Iterator[tuple[str, list[Line]]]:
    """Every screen of every machine, and of all machines together."""
    several = [(machine.__name__, inventory(machine())) for machine in MACHINES]
    several += [("all", inventory(*(machine() for machine in MACHINES))), ("none", inventory())]
    for name, found in several:
        for expand in (False, True):
            yield (
                f"{name} table",
                discover(found, width, expand=expand, nics=expand, unicode=unicode),
            )
            yield f"{name} tree", tree(found, width, expand, unicode=unicode)
        yield f"{name} matrix", matrix(found, width, unicode=unicode)


def test_a_healthy_machine() -> None:
    assert to_text(tree(inventory(hgx()), 120)) == HGX_TREE
    assert to_text(discover(inventory(hgx()), 80)) == HGX_TABLE


def test_a_lost_device_stands_out() -> None:
    assert to_text(tree(inventory(lost()), 80)) == LOST_TREE
    assert to_text(discover(inventory(lost()), 80)) == LOST_TABLE


def test_a_virtual_machine_says_that_its_distances_are_not_to_be_believed() -> None:
    assert to_text(tree(inventory(virtual()), 80)) == VIRTUAL_TREE


def test_partitions_belong_to_their_accelerator() -> None:
    assert to_text(tree(inventory(cpx()), 100)) == CPX_TREE


def test_pairs_and_stacked_switches() -> None:
    assert to_text(tree(inventory(bridged()), 80, unicode=False)) == BRIDGED_TREE
    assert to_text(matrix(inventory(bridged()), 80)) == BRIDGED_MATRIX


def test_memory_of_accelerators_is_named_and_empty_numa_nodes_are_one_line() -> None:
    text = to_text(tree(inventory(superchip()), 100))
    assert "NUMA 10  memory of GPU 1 · 186.0 GiB\n" in text
    assert "NUMA 3–9,11–17,19–25,27–33  no CPUs, no memory\n" in text


def test_nothing_found_says_what_was_looked_for() -> None:
    sentence = (
        "No accelerators on this node. Looked for NVIDIA and AMD on 14 PCI devices and in /sys/class/kfd; "
        "all of it could be read.\n"
    )
    assert to_text(discover(inventory(nothing()), 200)) == sentence
    assert to_text(tree(inventory(nothing()), 200)).endswith(f"\n\n{sentence}")
    assert "eth0  1 Gb/s Ethernet" in to_text(tree(inventory(nothing()), 200))


def test_many_devices_stay_few_lines() -> None:
    assert len(discover(inventory(many()), 100)) < 10
    assert len(tree(inventory(many()), 100)) < 30
    assert len(discover(inventory(many()), 100, expand=True)) > 64


def test_several_nodes_have_a_heading_each() -> None:
    text = to_text(discover(inventory(nothing(), hgx(), lost()), 100))
    assert "\nhead  no accelerators\ngpu-07\n" in text
    assert text.endswith("\n3 nodes, 16 × H100, 15 ok, 1 lost.\n")
    assert "?  gpu-05: memory of GPU 6: failed" in text


def test_many_problems_are_counted() -> None:
    problems = tuple(Problem(f"nvidia:0.field{n}", "failed", f"error {chr(97 + n)}") for n in range(9))
    text = to_text(tree(inventory(replace(hgx(), problems=problems)), 100))
    assert text.count("\n?  ") == 5
    assert "\n…  4 more (--format json lists each)\n" in text
    assert text.endswith("\n8 GPUs ok, 9 NICs. Unknown: field0, field1, field2 and 6 more.\n")


def test_what_is_not_applicable_is_no_gap() -> None:
    problem = Problem("nvidia:0.memory_bytes", "not-applicable", "it shares the memory of the CPU")
    one = gpu(0, "19", memory_bytes=None)
    text = to_text(discover(inventory(Node("n", "local", accelerators=(one,), problems=(problem,))), 100))
    assert "?" not in text
    assert "H100 80GB HBM3       –" in text


def test_two_vendors_that_number_from_zero_are_told_apart_by_id() -> None:
    other = gpu(0, "29", id="amd:0", vendor="amd")
    text = to_text(tree(inventory(Node("n", "local", accelerators=(gpu(0, "19"), other))), 100))
    assert "nvidia:0  H100" in text
    assert "amd:0     " in text


def test_a_loop_of_switches_loses_no_device() -> None:
    switches = (Switch("a", "pcie", parent="b", members=("nvidia:0",)), Switch("b", "pcie", parent="a"))
    text = to_text(tree(inventory(Node("n", "local", accelerators=(gpu(0, "19"),), switches=switches)), 100))
    assert "└─ GPU 0" in text


def test_what_corrects_rays_view_is_told_with_several_nodes_by_node() -> None:
    text = to_text(discover(inventory(lost(), hgx()), 100))
    assert "\n!  gpu-05: Ray would register 8: start it with --num-gpus 7\n" in text
    assert "disagree" not in to_text(tree(inventory(lost()), 100))


@pytest.mark.parametrize("width", [1, 20, 40, 80, 100, 120, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_page(width: int, unicode: bool) -> None:
    for name, lines in screens(width, unicode):
        for line in to_text(lines).splitlines():
            assert display_width(line) <= width, (name, line)
            assert unicode or line.isascii(), (name, line)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_text_ends_in_a_sentence_and_never_acts(width: int) -> None:
    for name, lines in screens(width):
        text = to_text(lines)
        assert text.endswith(".\n"), name
        assert all(character.isprintable() for character in text.replace("\n", "")), name
        assert "\n\n\n" not in text, name
        assert not any(line != line.rstrip() for line in text.splitlines()), name


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_cell_of_a_table_is_empty(width: int) -> None:
    for machine in MACHINES:
        if not machine().accelerators:
            continue
        titles, *rows = to_text(discover(inventory(machine()), width, expand=True)).split("\n\n")[0].splitlines()
        starts = [found.start() for found in re.finditer(r"\S+", titles)]
        assert all(len(row.split()) >= len(starts) for row in rows), machine.__name__


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_figure_is_of_the_model(width: int) -> None:
    for machine in MACHINES:
        node = machine()
        known = figures(node)
        found = inventory(node)
        for lines in (discover(found, width, expand=True), tree(found, width, True), matrix(found, width)):
            # Numbers of pairs and of partitions are counted from the model, and checked in the literal screens.
            text = re.sub(r"\d+ pairs?|\d+ partitions|gen\d", "", to_text(lines))
            assert set(NUMBER.findall(text)) <= known, machine.__name__


NUMBER = re.compile(r"\d(?:[\d.]*\d)?")


def figures(node: Node) -> set[str]:
    """Every number in the model, also as its renderings, and the counts of devices."""
    written = set(NUMBER.findall(repr(node)))
    rendered = [show(int(n)) for n in written if n.isdigit() for show in (binary_size, bit_rate, byte_rate)]
    counts = range(len(node.accelerators) + len(node.nics) + 1)
    return written | set(NUMBER.findall(" ".join(rendered))) | set(map(str, counts))


def test_colour_only_where_it_is_asked_for() -> None:
    lines = tree(inventory(lost()), 100)
    assert "\x1b" not in to_text(lines)
    coloured = to_text(lines, colour=True)
    assert "\x1b[31mlost\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == to_text(lines)
    assert not any(style in ("fail", "warn") for line in tree(inventory(hgx()), 100) for _, style in line)


def test_names_of_devices_do_not_act() -> None:
    text = to_text(tree(inventory(hostile()), 100))
    assert "GPU 0  X[/bold]" in text
    assert "\nnode\n" in f"\n{text}"
    assert "no answer\ufffd" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – text", "plain – text"),
        ("[/bold] [red]", "[/bold] [red]"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\x9b31mb\x9dtitle\x9cc", "abc"),
        ("\x1bcreset\x1b", "reset"),
        ("a\tb\r\nc\x00\x7f\x85", "a b  c"),
        ("abc\u202edcb\u2066\u200f", "abcdcb"),
        ("\ud800x", "\ufffdx"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d[]m;\x07\\0")))
def test_clean_leaves_nothing_that_acts(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown)


@given(st.text(), st.integers(1, 40), st.booleans())
def test_whatever_a_name_is_the_page_holds_it(text: str, width: int, unicode: bool) -> None:
    node = replace(lost(), name=text, nics=(nic(0, "18", id=text, model=text),))
    for line in to_text(tree(inventory(node), width, unicode=unicode)).splitlines():
        assert display_width(line) <= width


def test_quantities() -> None:
    assert binary_size(0) == "0 B"
    assert binary_size(1023) == "1023 B"
    assert binary_size(85_520_809_984) == "79.6 GiB"
    assert binary_size(TIB - 1) == "1.0 TiB"
    assert bit_rate(400e9) == "400 Gb/s"
    assert bit_rate(2_500_000_000) == "2.5 Gb/s"
    assert byte_rate(450_000_000_000) == "450 GB/s"
    assert byte_rate(999_999_999_999) == "1 TB/s"
    assert [generation(speed) for speed in (2.5, 5, 8, 16, 32, 64)] == [f"gen{n}" for n in range(1, 7)]
    assert generation(12.0) == "12 GT/s"
    assert generation(None) is None


def test_pci_links() -> None:
    assert pci_link(PciLink(2.5, 16, 32.0, 16)) == "gen5 ×16"
    assert pci_link(PciLink(32.0, 8, 32.0, 16)) == "gen5 ×8 of ×16"
    assert pci_link(PciLink(16.0, None, None, 4)) == "gen4 ×4"
    assert pci_link(PciLink(None, 8)) == "×8"
    assert pci_link(PciLink(8.0)) == "gen3"
    assert pci_link(PciLink()) is None
    assert pci_link(None) is None


def test_ranges() -> None:
    assert number_ranges(range(8)) == "0–7"
    assert number_ranges([0, 1, 3, 4, 5, 6, 7]) == "0,1,3–7"
    assert number_ranges([2, 3]) == "2–3"
    assert number_ranges([]) == ""
    assert name_ranges(["GPU 2", "mlx5_2", "GPU 3", "mlx5_3", "lo"]) == "GPU 2–3, mlx5_2–3, lo"
    assert name_ranges(f"{letter}0" for letter in "abcdef") == "a0, b0 and 4 more"


def test_plain_text_costs_no_rich() -> None:
    modules = ", ".join(f"raxl.render.text_{name}" for name in ("tree", "table", "matrix"))
    program = f"import sys, {modules}; print('rich' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_streams_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    streams = Streams(io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO())
    assert (streams.width, streams.colour, streams.unicode) == (100, False, True)
    monkeypatch.setenv("COLUMNS", "132")
    monkeypatch.setenv("LC_ALL", "C")
    assert (streams.width, streams.unicode) == (132, False)
    monkeypatch.setenv("COLUMNS", "wide")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert (streams.width, streams.unicode) == (100, True)
    assert not Streams(io.TextIOWrapper(io.BytesIO(), "latin-1"), io.StringIO()).unicode


def test_streams_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "132")
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 77, 0, 0))
        streams = Streams(terminal, terminal)
        assert (streams.width, streams.colour) == (77, True)
        monkeypatch.setenv("TERM", "dumb")
        assert not streams.colour
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("NO_COLOR", "1")
        assert not streams.colour
    os.close(ours)


def test_a_result_is_written_whole_and_through_no_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    streams = Streams(io.StringIO(), io.StringIO())
    with pytest.raises(CannotStart, match="symbolic links"):
        streams.write("after\n", link)
    assert target.read_text() == "before"
    streams.write("after – ×\n", target)
    assert target.read_text(encoding="utf-8") == "after – ×\n"
    assert target.stat().st_mode & 0o777 == 0o600
    streams.write("gone\n", Path(os.devnull))
    with pytest.raises(CannotStart, match="No such file"):
        streams.write("x", tmp_path / "missing" / "file")
    with pytest.raises(CannotStart, match="directory"):
        streams.write("x", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


def test_a_reader_that_has_gone_is_no_error() -> None:
    program = "from raxl.cli.streams import Streams\nfor _ in range(9): Streams().write('x' * 99999 + chr(10))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0
