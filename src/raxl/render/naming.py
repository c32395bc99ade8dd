"""How devices are called in text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from raxl.model import identity
from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.quantity import name_ranges


class Names:
    """The names of a node's accelerators, switches and NICs, by id."""

    def __init__(self, node: Node) -> None:
        self.told = tuple(accelerator.id for accelerator in node.accelerators)
        """The ids that have another name."""
        names = {accelerator.id: _name(accelerator) for accelerator in node.accelerators}
        uses = Counter(names.values())
        # Two vendors may both number from 0: then the ids alone tell devices apart.
        self._names = {id: clean(id) if uses[name] > 1 else name for id, name in names.items()}
        for switch in node.switches:
            self._names[switch.id] = f"switch {clean(switch.pci.address if switch.pci else switch.id)}"

    @classmethod
    def over(cls, nodes: Sequence[Node]) -> Names:
        """Those of several nodes: `gpu-07 GPU 0`, by the node's name, a colon and the id."""
        names = cls.__new__(cls)
        each = [(clean(node.name), node, cls(node)) for node in nodes]
        ids = [(f"{name}:{id}", f"{name} {own.of(id)}") for name, node, own in each for id in _ids(node, own)]
        names._names = dict(ids)
        names.told = tuple(id for id, _ in ids)
        return names

    def of(self, id: str) -> str:
        """`GPU 0`; a NIC, and whatever else has an id, is called by it."""
        return self._names.get(id) or clean(id)

    def in_words(self, text: str) -> str:
        """A text that begins with a device's id, with its name instead."""
        id, blank, rest = text.partition(" ")
        return clean(f"{self.of(id)}{blank}{rest}")

    def all(self, ids: Iterable[str]) -> str:
        """`GPU 0–7, mlx5_0–7`."""
        return name_ranges(map(self.of, ids))


def _ids(node: Node, names: Names) -> Iterable[str]:
    return (*names.told, *(nic.id for nic in node.nics))


def kind_name(accelerator: Accelerator) -> str:
    """`GPU`."""
    return clean(accelerator.kind).upper()


def model_name(accelerator: Accelerator) -> str | None:
    """The model without its vendor's name before it: `H100 80GB HBM3`; None when it is not known."""
    return identity.model_name(accelerator.vendor, clean(accelerator.model or ""))


def counted(count: int, noun: str) -> str:
    """`1 NIC`, `9 NICs`, `4 switches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _name(accelerator: Accelerator) -> str:
    if accelerator.index is not None:
        return f"{kind_name(accelerator)} {accelerator.index}"
    if accelerator.pci is not None:
        return f"{kind_name(accelerator)} {clean(accelerator.pci.address)}"
    return f"{kind_name(accelerator)} @{clean(accelerator.id).rpartition('@')[2]}"
