"""`ibv_devinfo` of rdma-core: https://man7.org/linux/man-pages/man1/ibv_devinfo.1.html. Only `-v` gives a speed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.rdma_blocks import Block
from raxl.intake.text_lines import lines
from raxl.model.nic import Nic
from raxl.model.problem import Problem
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaPort
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "ibv_devinfo"
_VENDORS = {"0x02c9": "15b3", "0x1d0f": "1d0f"}
"""PCI vendor by `vendor_id`: NVIDIA's InfiniBand adapters give the company's OUI."""
_WIDTH, _SPEED = re.compile(r"([0-9]{1,2})X\b"), re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) Gbps\b")


def recognises(text: str) -> bool:
    """Whether a device is in it as ibv_devinfo prints one."""
    return any(rdma_blocks.HEADINGS[FORM].match(line) for line in lines(text))


def own(text: str) -> str:
    """ibv_devinfo's own lines."""
    return rdma_blocks.own(text, FORM)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each device."""
    blocks = rdma_blocks.blocks(text, FORM)
    return Foreign(FORM, nics=tuple(_nic(block) for block in blocks)), tuple(_problems(blocks))


def _problems(blocks: list[Block]) -> Iterator[Problem]:
    for block in blocks:
        yield from rdma_blocks.count_problems(FORM, block, block.fields.get("phys_port_cnt"), block is blocks[-1])


def _nic(block: Block) -> Nic:
    ports = [_port(number, fields) for number, fields in sorted(block.ports.items())]
    vendor = _VENDORS.get(block.fields.get("vendor_id", "").lower())
    part = whole(block.fields.get("vendor_part_id"), MOST_PLACES)
    nic = rdma_blocks.nic(FORM, block.name, ports, f"MT{part}" if vendor == "15b3" and part else None, vendor)
    return replace(nic, kind="iwarp") if "iwarp" in block.fields.get("transport", "").lower() else nic


def _port(number: int, fields: dict[str, str]) -> RdmaPort:
    return RdmaPort(
        number=number,
        state=infiniband.state_of(fields.get("state"), fields.get("phys_state")),
        speed_bits_per_second=bits_per_second(fields),
        link_layer=rdma_blocks.link_layer(fields, "link_layer"),
        netdev=None,
    )


def bits_per_second(fields: Mapping[str, str]) -> int | None:
    """Lanes times the rate of one: `4X (2)` and `100.0 Gbps (128)`."""
    width, speed = _WIDTH.match(fields.get("active_width", "")), _SPEED.match(fields.get("active_speed", ""))
    return round(int(width[1]) * float(speed[1]) * 10**9) or None if width and speed else None
