"""Plug-ins: ways to move bytes between two processes. One file a transport.

A plug-in is a class without arguments, named by an entry point of the group `raxl.transports`. Its methods run in the
driver; what it starts at an end is a plain function, whose code travels there with it, so that no node needs raxl.
"""

from __future__ import annotations

from typing import Mapping, Protocol

from raxl.transfer import Ends, Session


class TransportPlugin(Protocol):
    """A transport."""

    transport: str
    """Its name: `tcp`."""
    patterns: tuple[str, ...]
    """What it can do: `p2p`, `weight-sync`, collectives."""
    devices: tuple[str, ...]
    """Whose memory it moves: `cpu`, `cuda`."""
    needs_tensor_transport: bool
    """Whether Ray has to prepare the actors for Ray Direct Transport."""
    way: str
    """What it goes over within a node: `loopback` or `memory`; `target` where nothing leaves the target."""

    # A plug-in may have four more. `takes`: which of `streams` and `bidirectional` of a `Transfer` it does; without it,
    # none. `gpus`: of its GPUs, how many each end needs Ray to give it where `devices` names
    # `cuda` (1.0). `prepare()`: run in the driver before the ends are made, where what is registered with Ray has to
    # be; raises `Unavailable`. `open_sync(trainers, readers)`: where `patterns` names `weight-sync`, sets up what moves
    # a list of tensors from all of the first to each of the others (`raxl.transfer.sync`); raises `Unavailable`.

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        """Variables that its process needs at an end: `own` holds the node's `address` and the `interface` with it."""

    def open(self, ends: Ends) -> Session:
        """Sets it up. Raises `Unavailable`."""
