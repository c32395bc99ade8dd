"""GPUDirect RDMA between an accelerator and a NIC: whether the NIC may reach the accelerator's memory.

NVIDIA: DMA-BUF needs the open kernel module and Linux 5.12; else the module nvidia_peermem has to be loaded
(https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html). AMD: the kernel lists
amdkfd among the clients of peer memory. Only a transfer proves it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.nic import Nic
from raxl.model.path import BLOCKS, CLEAR, Condition, unknown
from raxl.model.peering import Peering
from raxl.model.problem import NOT_ASKED, NOT_SUPPORTED

if TYPE_CHECKING:
    from raxl.topology.conditions import Pair

KIND = "gpudirect-rdma"
_READY = "whether the NIC may reach the accelerator's memory"
_RDMA = ("infiniband", "roce", "iwarp", "efa", "omni-path", "rdma")
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")
_NVIDIA_CLIENTS = ("nv_mem", "nv_mem_nc", "nvidia-peermem")
_DMA_BUF_SINCE = (5, 12)


def conditions(pair: Pair) -> list[Condition]:
    """One condition of an accelerator and a NIC; none of others."""
    if len(pair.accelerators) != 1 or len(pair.nics) != 1:
        return []
    return [readiness(pair.accelerators[0], pair.nics[0], pair.peering, pair.node.os.kernel)]


def readiness(accelerator: Accelerator, nic: Nic, peering: Peering, kernel: str | None) -> Condition:
    """The condition of one accelerator and one NIC; `kernel` is the kernel's release."""
    if nic.kind is None:
        return unknown(KIND, f"whether {nic.id} is an RDMA device", NOT_ASKED, "", nic.evidence)
    if nic.kind not in _RDMA:
        return Condition(KIND, BLOCKS, f"{nic.id} is no RDMA device", nic.evidence)
    if accelerator.vendor == "nvidia":
        return _nvidia(peering, kernel)
    if accelerator.vendor == "amd":
        return _amd(peering)
    return unknown(KIND, _READY, NOT_SUPPORTED, f"raxl reads nothing that tells it of {accelerator.vendor}")


def _nvidia(peering: Peering, kernel: str | None) -> Condition:
    module, modules, clients = peering.nvidia_module, peering.modules, peering.memory_clients
    loaded = next((name for name in _PEERMEM if name in (modules.value or ())), None)
    if loaded:
        return Condition(KIND, CLEAR, f"ready ({loaded} is loaded)", (modules.source,))
    client = next((name for name in _NVIDIA_CLIENTS if name in (clients.value or ())), None)
    if client:
        return Condition(KIND, CLEAR, f"ready ({client} offers GPU memory to RDMA)", (clients.source,))
    release = _release(kernel)
    if module.value == "open" and release and release >= _DMA_BUF_SINCE:
        message = f"ready by DMA-BUF (open kernel module, Linux {release[0]}.{release[1]})"
        return Condition(KIND, CLEAR, message, (module.source,))
    evidence = _sources(module, modules)
    if module.value is None:
        what = "whether NVIDIA's kernel module is the open one, with DMA-BUF"
        return unknown(KIND, what, module.reason, module.message, evidence)
    if module.value == "open" and release is None:
        return unknown(KIND, "whether Linux has DMA-BUF", NOT_ASKED, "its release is not known", evidence)
    if modules.value is None:
        return unknown(KIND, "whether nvidia_peermem is loaded", modules.reason, modules.message, evidence)
    why = "the closed kernel module has no DMA-BUF" if module.value == "closed" else "Linux has DMA-BUF only since 5.12"
    return Condition(KIND, BLOCKS, f"nvidia_peermem is not loaded, and {why}", evidence)


def _amd(peering: Peering) -> Condition:
    clients = peering.memory_clients
    if "amdkfd" in (clients.value or ()):
        return Condition(KIND, CLEAR, "ready (amdkfd offers GPU memory to RDMA)", (clients.source,))
    if clients.value is None:
        return unknown(KIND, _READY, clients.reason, clients.message, _sources(clients))
    why = "amdkfd is no client of peer memory, and whether DMA-BUF serves is in the kernel's configuration"
    return unknown(KIND, _READY, NOT_ASKED, why, (clients.source,))


def _sources(*readings: Reading) -> tuple[str, ...]:
    return tuple(reading.source for reading in readings if reading.source)


def _release(kernel: str | None) -> tuple[int, int] | None:
    found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", kernel or "")
    return (int(found[1]), int(found[2])) if found else None
