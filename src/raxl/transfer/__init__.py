"""What runs at the two ends of a transfer, and how the ends are reached.

A transport (`raxl.transports`) is asked for one row at a time, a `Transfer`, and gives what it took, a `Taken`. Both
are plain data: they cross from the driver to the ends and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Protocol, Sequence

from raxl.model.measurement import P2P, REUSED

LOOPBACK, MEMORY, TARGET = "loopback", "memory", "target"
"""Ways within a node. `target`: nothing leaves the target, wherever the source is."""


if TYPE_CHECKING:
    from raxl.transfer.timing import Timed


@dataclass(frozen=True)
class Transfer:
    """One row to be measured, and how long it may take."""

    size_bytes: int
    pattern: str = P2P
    destination: str = REUSED
    streams: int = 1
    is_bidirectional: bool = False
    most_samples: int = 200
    seconds: float = 2.0
    """Of the timed loop; setting up and warming up come on top."""
    least_seconds: float = 0.0
    """So long it is measured even where the interval is narrow before."""
    seed: int = 1
    sizes: tuple[int, ...] = ()
    """Of a list of tensors: their sizes, `size_bytes` together."""
    is_damaged: bool = False
    """Whether a byte at the target is turned before it is verified: the proof that raxl would see it."""


@dataclass
class Taken:
    """What a row took, as it was read at the ends. Times are seconds."""

    samples: list[float] = field(default_factory=list)
    """One a transfer, in their order."""
    back: list[float] = field(default_factory=list)
    """Of the other direction at the same time, where both were measured."""
    warmup: int = 0
    cold: float | None = None
    """The first transfer of all."""
    phases: dict[str, float] = field(default_factory=dict)
    end_to_end: list[float] = field(default_factory=list)
    """As the caller of Ray sees them."""
    verified: bool = False
    """Whether all bytes were compared, and were right."""
    wrong: str | None = None
    """Where bytes differ."""
    is_mapped: bool = False
    """Whether nothing moved: the target sees the source's own memory."""
    quantum: float | None = None
    """The step in which the transport itself waits."""
    transfers: int = 0
    """How many times the size crossed, warm-up among them."""
    window: int | None = None
    mode: str = "single"
    protocol: str | None = None
    """What the library's own log says of its choice."""
    carriers: Sequence[str] = ()
    """The devices of that choice, by the names that the kernel counts them by; `memory` for none."""
    devices: Sequence[str] = ()
    """Whose memory it moved, by end: `cpu`, `nvidia:0`; empty for the host's."""
    destination: str | None = None
    """What it received into, where it is not what was asked for."""
    arrived: int | None = None
    """Bytes that came to the target's node, where they are more than the size by the transfers."""
    messages_seconds: float | None = None
    """Of weight-sync: what the messages that order a transfer take alone."""
    remark: str | None = None
    stopped: str = ""
    """Why the loop ended: `steady`, `samples` or `time`."""

    def took(self, told: Timed) -> Taken:
        """Itself, with what the timed loop gave."""
        self.samples, self.warmup, self.cold, self.stopped = told
        self.transfers = 1 + self.warmup + len(self.samples)
        return self


class Pending(Protocol):
    """An answer that is on its way."""

    def result(self, seconds: float) -> Any:
        """The answer. Raises `EndLost` where the end died, `TimeoutError` where it does not answer in time, and what
        the function raised as `EndFailed`."""


class End(Protocol):
    """A process of its own on a node, made for one transport and thrown away."""

    node: str
    """The node's name."""
    node_id: str
    address: str
    """The address by which its peers reach it."""
    handle: Any
    """Ray's handle of the actor, for the transports that are Ray's own: `handle.run.remote(function, …)`."""
    pid: int
    is_of_raxl: bool
    """Whether its Ray was started by raxl, for this run alone."""

    def start(self, function: Callable[..., Any], *arguments: Any) -> Pending:
        """Begins `function(state, *arguments)` there; `state` is a dict that the end keeps."""

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = 60.0) -> Any:
        """The same, and its result."""


class EndLost(Exception):
    """The process at an end is gone."""


class EndFailed(Exception):
    """What a function at an end raised: its type and its words."""


class Unavailable(Exception):
    """A transport cannot be used between these ends: why, and what to do."""


FAILURES = (EndLost, EndFailed, TimeoutError, Unavailable)
"""All that an end, or a transport between ends, may fail with."""


class Session(Protocol):
    """A transport that is set up between its ends."""

    def measure(self, transfer: Transfer) -> Taken:
        """One row."""

    def close(self) -> None:
        """Gives back what was set up. The ends are ended after it, whatever it does."""


Ends = Sequence[End]
"""The source first, then the target; of a collective the ranks."""
