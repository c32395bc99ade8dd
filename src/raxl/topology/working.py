"""Which accelerators of a node can be promised to a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.model.problem import NOT_APPLICABLE, NOT_PRESENT, UNREAD
from raxl.topology.reasons import Why, unread, why

NOBODY = "nothing that raxl read says whether it works"


@dataclass(frozen=True)
class Fleet:
    """A node's accelerators, by what can be promised of them."""

    working: tuple[Accelerator, ...] = ()
    """Those that answer, and those of families of which nobody tells a state."""
    out: tuple[str, ...] = ()
    """Those that no job can use, each with why: `nvidia:6 is lost`."""
    open: tuple[Accelerator, ...] = ()
    """Those of which it could not be read whether they work."""
    why_open: Why | None = None

    @property
    def present(self) -> tuple[Accelerator, ...]:
        """All but those that are out."""
        return (*self.working, *self.open)


def fleet(node: Node) -> Fleet:
    """The node's accelerators, sorted by what can be promised."""
    working, out, open_ = [], [], []
    why_open = None
    for device in node.accelerators:
        cause = why(node, f"{device.id}.state", "accelerators.state", otherwise=NOBODY)
        gone = _gone(device, cause, node.accelerators)
        if gone:
            out.append(f"{device.id} {gone}")
        elif device.state == "unknown" and cause.reason in UNREAD:
            open_.append(device)
            why_open = why_open or cause
        else:
            working.append(device)
    return Fleet(tuple(working), tuple(out), tuple(open_), why_open)


def absent(node: Node, found: Fleet) -> Why:
    """Why there is none to say something of: the node has none, none answers, or nobody could look."""
    if found.out:
        return Why(NOT_PRESENT, "no accelerator works here")
    refused = unread(node, "node", "pci_tree", "accelerators")
    if refused is not None:
        return refused
    if node.looked_for.pci_functions is None or any(one.subject == "pci_tree" for one in node.problems):
        return why(node, "pci_tree", otherwise="nobody looked for accelerators")
    return Why(NOT_PRESENT, "the node has no accelerator")


def _gone(device: Accelerator, cause: Why, every: Sequence[Accelerator]) -> str:
    """Why no job can use it; empty where one may."""
    if device.state == "lost":
        return "is lost"
    if device.state != "unknown":
        return ""
    if cause.reason == NOT_APPLICABLE:
        return f"({cause.message})"
    mine = [one for one in every if one.vendor == device.vendor and one is not device]
    if device.index is None and cause.reason in UNREAD and any(one.index is not None for one in mine):
        return "is not listed by its driver"
    return ""
