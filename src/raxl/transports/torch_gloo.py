"""`torch-gloo`: torch.distributed over gloo, from processor memory to processor memory.

gloo binds to the address that the host name stands for, which is often 127.0.0.1: it is told the interface instead.
"""

from __future__ import annotations

from typing import Mapping

from raxl.model.measurement import COLLECTIVES, P2P
from raxl.transfer import LOOPBACK, Ends, Taken, Transfer, torch_group


class TorchGloo:
    """A gloo group."""

    transport = "torch-gloo"
    patterns = (P2P, *COLLECTIVES)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = LOOPBACK

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {"GLOO_SOCKET_IFNAME": own["interface"]} if own["interface"] else {}

    def open(self, ends: Ends) -> GlooSession:
        return GlooSession(ends)


class GlooSession:
    """A group over all ends."""

    def __init__(self, ends: Ends) -> None:
        self._group = torch_group.Session(ends, "gloo", "cpu")

    def measure(self, transfer: Transfer) -> Taken:
        return self._group.measure(transfer)[0]

    def close(self) -> None:
        self._group.close()
