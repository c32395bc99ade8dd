"""Which transports would go a path, and by which way.

NCCL uses GPUDirect RDMA up to PXB unless NCCL_NET_GDR_LEVEL says otherwise, and peer-to-peer over PCIe by
NCCL_P2P_LEVEL: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html.
"""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.path import BLOCKS, CLEAR, SLOWS, UNKNOWN, Condition, Path, Use

_NEAR = ("PIX", "PXB")
_HYPERVISORS = "if the machine's own distance allows it, which a topology file of the platform tells"
_PEER = {
    "nvidia": ("NCCL", "CUDA IPC", "RDT over NIXL or NCCL"),
    "amd": ("RCCL", "HIP IPC", "RDT over NIXL or RCCL"),
}
_LIBRARY = {"nvidia": "NCCL", "amd": "RCCL"}
_VERBS = {"infiniband": "InfiniBand", "roce": "RoCE", "iwarp": "iWARP", "omni-path": "Omni-Path"}


def of(ends: tuple[Accelerator | Nic, Accelerator | Nic], path: Path, told: Sequence[Condition]) -> tuple[Use, ...]:
    """The ways in the order in which they would be tried; none where a device is lost, or the class is not known."""
    accelerators = [end for end in ends if isinstance(end, Accelerator)]
    if not accelerators or any(one.kind in ("state", "driver") and one.status == BLOCKS for one in told):
        return ()
    if len(accelerators) == 1:
        nic = next(end for end in ends if isinstance(end, Nic))
        return _to_nic(accelerators[0], nic, path, told)
    return _to_peer(accelerators, path, told)


def _to_peer(ends: Sequence[Accelerator], path: Path, told: Sequence[Condition]) -> tuple[Use, ...]:
    vendors = {end.vendor for end in ends}
    transports = _PEER.get(ends[0].vendor, ("the vendor's own library",))
    library = _LIBRARY.get(ends[0].vendor)
    host = Use(
        "host-memory", (f"{library} over shared memory", "Ray's object store") if library else ("Ray's object store",)
    )
    if any(one.status == BLOCKS for one in told):
        return (host,)
    if path.kind not in (None, "pcie"):
        return (Use("scale-up", transports),)
    if path.link_class is None or path.kind is None:
        return ()
    if path.path_trust == "virtual":
        return (Use("pcie-p2p", transports, _HYPERVISORS), host)
    if len(vendors) > 1 or path.link_class in ("NODE", "SYS"):
        return (host,)
    caveats = [one.kind for one in told if one.status == SLOWS and one.kind in ("acs", "iommu")]
    open_ = [one.kind for one in told if one.status == UNKNOWN and one.kind == "p2p"]
    if path.link_class == "PHB":
        caveat = (
            "through the host bridge it depends on the board: NCCL_P2P_LEVEL decides, and the data is to be verified"
        )
        return (Use("pcie-p2p", transports, caveat), host)
    caveat_ = "by way of the root complex" if caveats else "if the driver lets them" if open_ else None
    return (Use("pcie-p2p", transports, caveat_), *([host] if caveats or open_ else []))


def _to_nic(end: Accelerator, nic: Nic, path: Path, told: Sequence[Condition]) -> tuple[Use, ...]:
    library = _LIBRARY.get(end.vendor, "the vendor's own library")
    status = next((one.status for one in told if one.kind == "gpudirect-rdma"), UNKNOWN)
    rdma = _rdma(library, nic)
    host = Use("host-memory", rdma if nic.kind not in (None, "ethernet") else _sockets(library))
    if path.link_class is None:
        return ()
    if status == BLOCKS:
        return (host,)
    known = None if status == CLEAR else "if GPUDirect RDMA is there, which is not known"
    if path.path_trust == "virtual":
        return (Use("gpudirect-rdma", rdma, f"{known}; {_HYPERVISORS}" if known else _HYPERVISORS), host)
    if path.link_class in _NEAR:
        direct = Use("gpudirect-rdma", rdma, known)
        return (direct,) if status == CLEAR else (direct, host)
    caveat = f"{library} takes it this far only with NCCL_NET_GDR_LEVEL={path.link_class}"
    return (host, Use("gpudirect-rdma", rdma, f"{known}; {caveat}" if known else caveat))


def _rdma(library: str, nic: Nic) -> tuple[str, ...]:
    if nic.kind == "efa":
        return (f"{library} over libfabric", "RDT over NIXL (libfabric)")
    return (f"{library} over {_VERBS.get(nic.kind or '', 'RDMA')}", "RDT over NIXL (UCX)")


def _sockets(library: str) -> tuple[str, ...]:
    return (f"{library} over sockets", "RDT over NIXL (UCX over TCP)", "Ray's object store")
