"""`rdt-cuda-ipc`: a tensor of a GPU through Ray, by a handle of CUDA. One-sided, and nothing moves: both ends are on
one GPU, and the target sees the source's own memory.
"""

from __future__ import annotations

from typing import Mapping

from raxl.model.measurement import P2P
from raxl.transfer import Ends, Session, Unavailable, rdt

_NAME = "CUDA_IPC"


class RdtCudaIpc:
    """Ray's transport over CUDA IPC."""

    transport = "rdt-cuda-ipc"
    patterns = (P2P,)
    devices = ("cuda",)
    gpus = 0.5
    needs_tensor_transport = True
    way = "memory"

    def prepare(self) -> None:
        rdt.is_there()

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> Session:
        if ends[0].node_id != ends[1].node_id:
            raise Unavailable("CUDA IPC reaches no other node: rdt-nixl and rdt-nccl do")
        _, seconds = rdt.opened(ends, _NAME, self.devices)
        return rdt.Pulled(ends, _NAME, seconds, is_mapped=True)
