"""`rdt-gloo`: tensors of the host through Ray, by a collective group of gloo. Two-sided."""

from __future__ import annotations

from typing import Mapping

from raxl.model.measurement import P2P, WEIGHT_SYNC
from raxl.transfer import Ends, Session, rdt, sync_rdt

_NAME = "GLOO"


class RdtGloo:
    """Ray's transport over gloo, which is TCP, within a node too."""

    transport = "rdt-gloo"
    patterns = (P2P, WEIGHT_SYNC)
    devices = ("cpu",)
    needs_tensor_transport = True
    way = "loopback"

    def prepare(self) -> None:
        rdt.is_there()

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        """gloo takes the address of the host's name, often 127.0.0.1, where it is not told an interface."""
        return {"GLOO_SOCKET_IFNAME": own["interface"]} if own.get("interface") else {}

    def open(self, ends: Ends) -> Session:
        return rdt.grouped(ends, _NAME, self.devices)

    def open_sync(self, trainers: Ends, readers: Ends) -> Session:
        group, seconds = rdt.group_of([*trainers, *readers], _NAME, self.devices)
        return sync_rdt.Grouped(trainers, readers, _NAME, group, seconds)
