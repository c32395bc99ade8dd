"""`torch-nccl`: torch.distributed over NCCL (over RCCL, where torch was built for ROCm), between GPUs.

Each end has a GPU of its own, which Ray gives it. What NCCL chooses is in its log.
"""

from __future__ import annotations

from typing import Mapping

from raxl.model.measurement import COLLECTIVES, P2P
from raxl.transfer import MEMORY, Ends, Taken, Transfer, nccl_log, torch_group

_LOG = ("NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING", "NCCL_DEBUG_FILE=")


class TorchNccl:
    """An NCCL group."""

    transport = "torch-nccl"
    patterns = (P2P, *COLLECTIVES)
    devices = ("cuda",)
    gpus = 1.0
    needs_tensor_transport = False
    way = MEMORY

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> NcclSession:
        return NcclSession(ends)


class NcclSession:
    """A group over all ends."""

    def __init__(self, ends: Ends) -> None:
        self._group = torch_group.Session(ends, "nccl", "cuda", _LOG)

    def measure(self, transfer: Transfer) -> Taken:
        taken, text = self._group.measure(transfer)
        log = nccl_log.read(text)
        taken.protocol = nccl_log.words(log)
        taken.carriers = log.carriers
        notes = [taken.remark, f"NCCL {log.version}" if log.version else None]
        if log.is_staged:
            notes.append("staged through the processor's memory: no GDRDMA")
        taken.remark = "; ".join(word for word in notes if word) or None
        return taken

    def close(self) -> None:
        self._group.close()
