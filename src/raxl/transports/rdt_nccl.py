"""`rdt-nccl`: tensors of GPUs through Ray, by a collective group of NCCL. Two-sided; Ray calls NCCL through cupy."""

from __future__ import annotations

from typing import Mapping

from raxl.model.measurement import P2P
from raxl.transfer import Ends, Session, rdt

_NAME = "NCCL"


class RdtNccl:
    """Ray's transport over NCCL, each end with a GPU of its own."""

    transport = "rdt-nccl"
    patterns = (P2P,)
    devices = ("cuda",)
    gpus = 1.0
    needs_tensor_transport = True
    way = "memory"

    def prepare(self) -> None:
        rdt.is_there()

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        """NCCL finds its peers by an interface; which NICs it uses then, it chooses by itself."""
        return {"NCCL_SOCKET_IFNAME": own["interface"]} if own.get("interface") else {}

    def open(self, ends: Ends) -> Session:
        return rdt.grouped(ends, _NAME, self.devices)
