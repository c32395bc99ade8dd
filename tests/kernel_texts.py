"""Kernel logs as text, and what raxl makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from diagnosing import told
from raxl.collect import assemble, facts, inputs
from raxl.host.record import Recording
from raxl.model.facts import KernelEvent, KernelLog
from raxl.model.finding import Finding

XID = "NVRM: Xid (PCI:0000:61:00): 48, pid=4242, name=python3, DBE (double bit error)"
BOOT = "Linux version 6.8.0-60-generic (builder) #63-Ubuntu SMP"
TEXTS = {
    "kernel-log": f"[    0.000000] {BOOT}\n[   12.000001] pci 0000:61:00.0: enabling device\n[ 1843.308145] {XID}\n",
    "fabric-manager-log": "[Feb 27 2025 15:10:01] [INFO] [tid 7] multicast group 0 is freed.\n"
    "[Feb 27 2025 15:10:02] [ERROR] [tid 9] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id "
    "00000000:86:00.0 physical id 3 port 61\n",
}


def stamped(*texts: str, begin: float = 100.0, step: float = 60.0) -> str:
    """A log of these lines, a minute apart."""
    return "".join(f"[{begin + step * place:12.6f}] {text}\n" for place, text in enumerate(texts))


def recordings(text: str) -> Sequence[Recording]:
    """The machines of a log that was given as a file."""
    return inputs._from_bytes(text.encode("utf-8", "surrogateescape"), "log")


def log(text: str) -> KernelLog:
    """What the log of one machine tells."""
    (recording,) = recordings(text)
    (node,) = assemble.inventory([recording]).nodes
    return facts.of(recording, node).kernel_log


def events(text: str) -> tuple[KernelEvent, ...]:
    """The events of one machine's log."""
    return log(text).events


def found(check: str, text: str) -> list[Finding]:
    """What a check finds in a log."""
    return told(check, recordings(text))


def one(check: str, text: str) -> Finding:
    """The only finding of a check."""
    (finding,) = found(check, text)
    return finding
