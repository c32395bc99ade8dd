"""Readings that only checks want. They are not published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping


@dataclass(frozen=True)
class Reading:
    """A value with its source, or the reason why there is none."""

    value: Any
    source: str
    reason: str | None = None
    message: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.reason is None


NOT_READ = Reading(None, "nothing", "not-asked", "nobody read it")


@dataclass(frozen=True)
class Vantage:
    """From where the machine was looked at."""

    is_root: Reading = NOT_READ
    sees_host_processes: Reading = NOT_READ
    """Whether the process namespace is the host's: its process 2 is the kernel's."""
    uptime_seconds: Reading = NOT_READ


CUT = "…"
"""Behind a code of which not all digits are known."""
ANY = "any"
"""In place of an event's kind: whichever."""


@dataclass(frozen=True)
class KernelEvent:
    """A fault that the kernel's log tells, with all its copies."""

    kind: str
    """What it is: `xid`, `sxid`, or the id of a line of the catalogue (`amd-reset-ok`, `hung-task`)."""
    text: str
    """The first line that told it, without its stamp."""
    code: str | None = None
    """The number of an Xid or SXid; of others the word that tells their sort."""
    device: str | None = None
    """Its PCI address, as far as the line gives it: Xids name no function."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """What else the line says, by name: `pid`, `process`, `link`, `severity`, `unit`."""
    first: str | None = None
    """When it was first told: UTC ISO 8601 where the log gives a day, else the log's own stamp."""
    last: str | None = None
    count: int = 1
    boot: int = 0
    """0 is the boot that the log ends in; 1 the one before."""
    order: int = 0
    """The number of its first line in the log."""
    ends: int = 0
    """The number of its last line."""
    seconds: float | None = None
    """When it was first told, on whatever clock the log has; to be compared within one log alone."""


@dataclass(frozen=True)
class KernelLog:
    """What the kernel's log tells."""

    read: Reading = NOT_READ
    """How many lines were read; the source says of which log."""
    events: tuple[KernelEvent, ...] = ()
    """In their order."""
    is_whole: bool | None = None
    """Whether it reaches back to the boot; None where that is not known."""
    covers_from: str | None = None
    """The stamp of its oldest line."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """By kind, how many lines since the boot tell of faults that are not among the events: there were too many."""


@dataclass(frozen=True)
class Facts:
    """What was read of one node beside its inventory."""

    limits: Reading
    """`memlock`, `nofile`, `stack` to (soft, hard); None within is unlimited."""
    modules: Reading
    """The names of the kernel modules that are loaded."""
    kernel_parameters: Reading
    """The allowed part of the kernel's command line."""
    environment: Reading
    """The allowed part of the asking process's environment."""
    links_downed: Reading
    """By `mlx5_0/1`: how often the link of an RDMA port failed. Ports without such a counter are left out."""
    given_variables: Reading = NOT_READ
    """What a file of variables says that was given beside the machine's own environment, or in its place."""
    library_files: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    """By library (`nccl`, `rccl`), what the user's file and the system's set, in the order in which they count; each
    reading's source is the file. The environment of a process wins over both."""
    vantage: Vantage = Vantage()
    kernel_log: KernelLog = KernelLog()
    devices: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    """By accelerator's id, what its driver says of it, by the name of the question."""
    drivers: Mapping[str, Reading] = field(default_factory=dict)
    """By name, versions and states of drivers and of what serves them."""
    pcie: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    """By PCI address, of accelerators, NICs and every bridge above them: link, configuration space, error counters."""
    host: Mapping[str, Reading] = field(default_factory=dict)
    """By name, what the kernel says of the machine: filesystems, device nodes, memory errors."""
    rdma: Mapping[str, Mapping[str, Reading]] = field(default_factory=dict)
    """By port (`mlx5_0/1`): its state, rate, GIDs and counters."""
    networks: Mapping[str, Reading] = field(default_factory=dict)
    """By name, what the kernel says of network devices and their addresses."""
    processes: Mapping[str, Reading] = field(default_factory=dict)
    """By name, what was seen of processes: those in state D, those that hold accelerators, raylets."""
    kept_variables: str = ""
    """The names of variables that the asking process's environment is kept of, as a pattern."""
    kept_kernel_parameters: frozenset[str] = frozenset()
    """The names of parameters that the kernel's command line is kept of."""
    logs: Mapping[str, Reading] = field(default_factory=dict)
    """By library (`nccl`, `ucx`), what its debug log says; a fabric manager's."""

    def readings(self) -> Mapping[str, Reading]:
        """Every reading of the node as a whole, by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Reading)}
