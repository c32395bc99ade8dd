"""`ibstatus` of infiniband-diags, a script over `/sys/class/infiniband`: the kernel's own words."""

from __future__ import annotations

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import lines
from raxl.model.nic import Nic
from raxl.model.problem import Problem
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaPort

FORM = "ibstatus"


def recognises(text: str) -> bool:
    """Whether a device is in it as ibstatus prints one."""
    return any(rdma_blocks.HEADINGS[FORM].match(line) for line in lines(text))


def own(text: str) -> str:
    """ibstatus's own lines."""
    return rdma_blocks.own(text, FORM)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each device."""
    return Foreign(FORM, nics=tuple(_nic(block) for block in rdma_blocks.blocks(text, FORM))), ()


def _nic(block: rdma_blocks.Block) -> Nic:
    ports = [_port(number, fields) for number, fields in sorted(block.ports.items())]
    return rdma_blocks.nic(FORM, block.name, ports, None, None)


def _port(number: int, fields: dict[str, str]) -> RdmaPort:
    return RdmaPort(
        number=number,
        state=infiniband.state_of(fields.get("state", "").partition(":")[2], fields.get("phys state")),
        speed_bits_per_second=infiniband.speed_of_rate(fields.get("rate")),
        link_layer=rdma_blocks.link_layer(fields, "link_layer"),
        netdev=None,
    )
