"""What the kernel says of a machine beside its devices, in the shapes in which checks see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, NamedTuple, Optional, Tuple


class Filesystem(NamedTuple):
    """What statvfs(3) tells of the filesystem that a path is on."""

    mount: str
    """Where it is mounted."""
    kind: str
    """`ext4`, `tmpfs`, `overlay` …; empty where the mounts do not say."""
    size_bytes: int
    available_bytes: int
    inodes: int
    """0 where the filesystem does not count them."""
    inodes_available: int
    is_read_only: bool


class DeviceNode(NamedTuple):
    """A device file."""

    mode: int
    """Its permissions: 0o666."""
    owner: int
    group: int
    major: int
    minor: int
    may_open: bool
    """Whether access(2) lets the asking process read and write it. The container's device list is not asked."""


class Gid(NamedTuple):
    """An entry of an RDMA port's table of addresses."""

    address: str
    """Eight groups of hex digits, as sysfs writes it."""
    kind: Optional[str]
    """`IB/RoCE v1` or `RoCE v2`; None where the kernel did not say."""
    netdev: Optional[str]

    @property
    def is_link_local(self) -> bool:
        """Whether it reaches no further than the link: IPv6 fe80::/10, IPv4 169.254/16."""
        return self.address[:3].lower() in ("fe8", "fe9", "fea", "feb") or (
            self.is_ipv4 and self.address[-9:].lower().startswith("a9fe")
        )

    @property
    def is_ipv4(self) -> bool:
        """Whether it is an IPv4 address, ::ffff:a.b.c.d."""
        return self.address.lower().startswith("0000:0000:0000:0000:0000:ffff:")

    @property
    def words(self) -> str:
        """`192.0.2.6`, or the GID as it is."""
        if not self.is_ipv4:
            return self.address
        digits = self.address[-9:].replace(":", "")
        return ".".join(str(int(digits[at : at + 2], 16)) for at in (0, 2, 4, 6))


class Address(NamedTuple):
    """An address of a network device."""

    address: str
    prefix_length: int
    scope: str
    """global | link | host"""


class Interface(NamedTuple):
    """A network device, hardware or not."""

    name: str
    state: Optional[str]
    """The kernel's word: `up`, `down`, `unknown` (loopback, tunnels)."""
    kind: Optional[str]
    """`bridge`, `vlan`, `bond` …, where the kernel calls it so; `hardware` for one with hardware beneath it; None for
    any other virtual one, a container's end of a veth pair among them."""
    mtu: Optional[int]
    carrier_changes: Optional[int]
    """How often its carrier came or went since it was made."""


@dataclass(frozen=True)
class NcclLog:
    """What a debug log of NCCL or RCCL says of what was used. Nothing where it says nothing."""

    library: str = "NCCL"
    version: Optional[str] = None
    hosts: Tuple[str, ...] = ()
    network: Optional[str] = None
    """The network plug-in that was really used: `IB`, `Socket`, `AWS Libfabric` …"""
    provider: Optional[str] = None
    """libfabric's: `efa`, `verbs;ofi_rxm`."""
    interfaces: Mapping[str, str] = field(default_factory=dict)
    """By network device, the address that sockets go by."""
    devices: Tuple[str, ...] = ()
    """`mlx5_0:1/RoCE`: the RDMA ports that were found."""
    direct: Mapping[str, bool] = field(default_factory=dict)
    """By RDMA device, whether GPU Direct RDMA is enabled."""
    ways: Mapping[str, int] = field(default_factory=dict)
    """`NET/IB/0/GDRDMA`, `P2P/IPC`: how many channels go so."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the environment had set."""
    refusals: Tuple[str, ...] = ()
    """Lines that tell why a plug-in or a device was not used."""
    warnings: Mapping[str, int] = field(default_factory=dict)
    """Its warnings and failed calls without time and place, and how often."""


@dataclass(frozen=True)
class UcxLog:
    """What a log of UCX, or its `ucx_info`, says."""

    version: Optional[str] = None
    hosts: Tuple[str, ...] = ()
    intra: Tuple[str, ...] = ()
    """`cuda_ipc/cuda`: what carries data within a node."""
    inter: Tuple[str, ...] = ()
    """The same between nodes."""
    variables: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)
