"""`ibdev2netdev` and `ibdev2netdev -v` of MLNX_OFED: which network device belongs to which port of an RDMA device.

`mlx5_0 port 1 ==> ens1f0np0 (Up)`; with `-v` the address comes first, and the port's state after its number.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.identity import pci_address
from raxl.model.nic import Nic
from raxl.model.problem import Problem
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaPort

FORM = "ibdev2netdev"
_LINE = re.compile(
    r"(.{1,400}?)\bport\s{1,8}(\d{1,5})\s{1,8}(?:\(([^()]{0,40})\)\s{1,8})?==>(?:\s{1,8}([^\s(]\S{0,63}))?(?:\s{1,8}\((.*)\))?"
)
_TYPE = re.compile(r"\((MT\d{1,6}) - ", re.IGNORECASE)
_IPOIB = re.compile(r"ib")
_LAYERS = {True: "InfiniBand", False: "Ethernet", None: None}
"""By whether the network device is IP over InfiniBand; None where the line names none."""


class _Row(NamedTuple):
    address: str | None
    device: str
    model: str | None
    port: RdmaPort


def recognises(text: str) -> bool:
    """Whether such a line is in it."""
    return any(_row(line) is not None for line in lines(text))


def own(text: str) -> str:
    """The lines of the table, without what stands around them."""
    return joined([line for line in lines(text) if _row(line) is not None])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each RDMA device."""
    devices: dict[str, list[_Row]] = {}
    for line in lines(text):
        row = _row(line)
        if row is not None:
            devices.setdefault(row.device, []).append(row)
    return Foreign(FORM, nics=tuple(_nic(name, rows) for name, rows in devices.items())), ()


def _nic(name: str, rows: list[_Row]) -> Nic:
    ports = {row.port.number: row.port for row in reversed(rows)}
    model = next((row.model for row in rows if row.model), None)
    nic = rdma_blocks.nic(FORM, name, [ports[number] for number in sorted(ports)], model, None)
    return rdma_blocks.at(nic, next((row.address for row in rows if row.address), None))


def _row(line: str) -> _Row | None:
    found = _LINE.fullmatch(line) if "==>" in line else None
    words = found[1].split() if found else []
    address = pci_address(words[0]) if words else None
    names = words[1:] if address else words
    if found is None or not names:
        return None
    model = _TYPE.search(found[1])
    netdev, is_ipoib = found[4], bool(_IPOIB.match(found[4])) if found[4] else None
    port = RdmaPort(int(found[2]), _state(found[3], found[5], is_ipoib), None, _LAYERS[is_ipoib], netdev)
    return _Row(address, names[0], model[1].upper() if model else None, port)


def _state(port: str | None, netdev: str | None, is_ipoib: bool | None) -> str:
    """The port's own state where `-v` gives it; else the network device's, unless that is IP over InfiniBand: it may
    be unused while the port is active."""
    if port is not None:
        return infiniband.state_of(port, None)
    if is_ipoib is None:
        return "unknown"  # the word is about a network device that the line does not name
    words = (netdev or "").strip().lower()
    return {"up": "ok", "down": "unknown" if is_ipoib else "down"}.get(words, "unknown")
