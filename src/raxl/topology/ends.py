"""Which device of a node an operator means: by number, id, PCI address, UUID or network device."""

from __future__ import annotations

import re

from raxl.model.accelerator import Accelerator
from raxl.model.identity import pci_address
from raxl.model.nic import Nic
from raxl.model.node import Node

_SHORTEST_UUID = 4
"""So many characters of a UUID, its kind (`GPU-`) apart, have to be given."""
_NUMBERED = re.compile(r"([a-z]*)\s*([0-9]{1,5})")


def named(node: Node, text: str) -> list[str]:
    """The ids of all devices that `text` names; the strongest sort of name that fits counts alone."""
    wanted = text.strip()
    devices: tuple[Accelerator | Nic, ...] = (*node.accelerators, *node.nics)
    exact = [device.id for device in devices if device.id == wanted]
    if exact or not wanted:
        return exact
    number = _NUMBERED.fullmatch(wanted.lower())
    netdevs = [nic.id for nic in node.nics if wanted in (nic.netdev, *(port.netdev for port in nic.ports))]
    address = pci_address(wanted)
    sorts = (
        netdevs,
        [one.id for one in node.accelerators if number and _is_numbered(one, number[1], int(number[2]))],
        [device.id for device in devices if address and device.pci and device.pci.address == address],
        [one.id for one in node.accelerators if one.uuid and one.uuid.lower() == wanted.lower()],
        [one.id for one in node.accelerators if one.uuid and _begins(one.uuid.lower(), wanted.lower())],
    )
    return next((found for found in sorts if found), [])


def _is_numbered(accelerator: Accelerator, kind: str, number: int) -> bool:
    """`0`, `GPU0`, `gpu 0`."""
    return accelerator.index == number and kind in ("", accelerator.kind.lower())


def _begins(uuid: str, start: str) -> bool:
    """With its kind before it (`gpu-0123`) or without (`0123`)."""
    kind, _, rest = uuid.partition("-")
    bare, given = (uuid, start) if re.fullmatch("[0-9a-f]+", kind) else (rest, start.removeprefix(f"{kind}-"))
    return len(given) >= _SHORTEST_UUID and bare.startswith(given)
