"""`rdma link` of iproute2: https://man7.org/linux/man-pages/man8/rdma-link.8.html.

`link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0`; it gives no speed.
"""

from __future__ import annotations

import re

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.problem import Problem
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaPort

FORM = "rdma-link"
_LINE = re.compile(r"\s*(?:\d{1,5}/\d{1,5}: |link )(\S{1,64})/(\d{1,5}):? (.*\bstate [A-Z_]{1,20}\b.*)")
_LAYERS = {True: "InfiniBand", False: "Ethernet"}


def recognises(text: str) -> bool:
    """Whether such a line is in it."""
    return any(_LINE.fullmatch(line) for line in lines(text))


def own(text: str) -> str:
    """The lines of links, without what stands around them."""
    return joined([line for line in lines(text) if _LINE.fullmatch(line)])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each device."""
    devices: dict[str, dict[int, RdmaPort]] = {}
    for line in lines(text):
        found = _LINE.fullmatch(line)
        if found is not None:
            number = int(found[2])
            devices.setdefault(found[1], {}).setdefault(number, _port(number, found[3].split()))
    nics = [rdma_blocks.nic(FORM, name, list(ports.values()), None, None) for name, ports in devices.items()]
    return Foreign(FORM, nics=tuple(nics)), ()


def _port(number: int, words: list[str]) -> RdmaPort:
    """A link with a subnet prefix or a LID is InfiniBand; else its network device tells."""
    said = dict(zip(words[::2], words[1::2]))
    netdev = said.get("netdev")
    layer = _LAYERS[True] if "subnet_prefix" in said else _LAYERS[netdev.startswith("ib")] if netdev else None
    return RdmaPort(number, infiniband.state_of(said.get("state"), said.get("physical_state")), None, layer, netdev)
