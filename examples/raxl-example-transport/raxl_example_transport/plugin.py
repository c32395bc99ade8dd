"""`example-tcp`: tensors of the host by plain sockets, as a transport of Ray's."""

from __future__ import annotations

from typing import Mapping

from raxl.transfer import Ends, Session, rdt

NAME = "EXAMPLE_TCP"


class ExampleTcp:
    """What raxl asks for."""

    transport = "example-tcp"
    patterns = ("p2p",)
    devices = ("cpu",)
    needs_tensor_transport = True
    way = "loopback"

    def prepare(self) -> None:
        """Ray hands a transport to the actors that are made after it was registered. The manager is imported here and
        not above: raxl loads this module before it knows whether Ray is there."""
        rdt.is_there()
        from raxl_example_transport.manager import ExampleManager

        rdt.register(NAME, self.devices, ExampleManager)

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def open(self, ends: Ends) -> Session:
        """It receives into memory that it is given, so `--destination reused` means something."""
        return rdt.session(ends, NAME, self.devices, takes_targets=True)
