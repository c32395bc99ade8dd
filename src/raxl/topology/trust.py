"""Whether a PCI tree can be believed."""

from __future__ import annotations

from typing import Sequence

from raxl.model.component import PciFunction

_EMULATED = ("8086", "1237")
"""The host bridge of a PC of 1996, which QEMU and Xen show."""
_QEMU = "1b36"
"""Vendor of QEMU's own bridges and devices."""


def path_trust(virtualization: str | None, functions: Sequence[PciFunction]) -> str | None:
    """`virtual` where a hypervisor made the tree up, `physical` on bare metal; None where nothing tells.

    Without a word from the system the tree itself may tell: on Hyper-V each device has a domain of its own, and no port
    above it.
    """
    if virtualization == "none":
        return "physical"
    if virtualization is not None or is_made_up(functions):
        return "virtual"
    return None


def is_made_up(functions: Sequence[PciFunction]) -> bool:
    """Whether the tree holds what a hypervisor emulates, or has the shape that Hyper-V makes."""
    if any(
        (function.vendor_id, function.device_id) == _EMULATED or function.vendor_id == _QEMU for function in functions
    ):
        return True
    domains = {function.address.rsplit(":", 2)[0] for function in functions}
    vmbus = len(functions) >= 2 and len(domains) == len(functions) and not any(f.chain for f in functions)
    return vmbus and all(f.host_bridge is not None for f in functions)
