"""`ibstat` of infiniband-diags: https://man7.org/linux/man-pages/man8/ibstat.8.html. Rates are Gb/s, rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.rdma_blocks import Block
from raxl.intake.text_lines import joined, lines
from raxl.model.nic import Nic
from raxl.model.problem import FAILED, Problem
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaPort
from raxl.sources.numbers import whole

FORM = "ibstat"
_FASTEST = 10_000
"""Gigabits per second, more than any port carries."""
_PANIC = re.compile(r"\s*ibpanic: .{0,80}\bstat of IB device '([^']{1,64})' failed: (.{1,200})")


def recognises(text: str) -> bool:
    """Whether a device is in it as ibstat prints one, or the line with which it dies."""
    return any(rdma_blocks.HEADINGS[FORM].match(line) or _PANIC.match(line) for line in lines(text))


def own(text: str) -> str:
    """ibstat's own lines, the one with which it dies among them."""
    return rdma_blocks.own(text, FORM) + joined([line for line in lines(text) if _PANIC.match(line)])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each device, and one of which nothing is known where ibstat died on it: it is there."""
    blocks = rdma_blocks.blocks(text, FORM)
    failed = failures(text)
    nics = [_nic(block) for block in blocks]
    nics += [Nic(name, evidence=(FORM,)) for name in failed if name not in {nic.id for nic in nics}]
    return Foreign(FORM, nics=tuple(nics)), (*_problems(blocks), *_failures(failed))


def failures(text: str) -> dict[str, str]:
    """By device on which ibstat died, its words."""
    return {found[1]: found[2].strip() for line in lines(text) if (found := _PANIC.match(line))}


def _nic(block: Block) -> Nic:
    ports = [_port(number, fields) for number, fields in sorted(block.ports.items())]
    return rdma_blocks.nic(FORM, block.name, ports, block.fields.get("ca type"), None)


def _port(number: int, fields: dict[str, str]) -> RdmaPort:
    rate = whole(fields.get("rate"), _FASTEST)
    return RdmaPort(
        number=number,
        state=infiniband.state_of(fields.get("state"), fields.get("physical state")),
        speed_bits_per_second=rate * 10**9 if rate else None,
        link_layer=rdma_blocks.link_layer(fields, "link layer"),
        netdev=None,
    )


def _problems(blocks: list[Block]) -> Iterator[Problem]:
    for block in blocks:
        yield from rdma_blocks.count_problems(FORM, block, block.fields.get("number of ports"), block is blocks[-1])


def _failures(failed: dict[str, str]) -> Iterator[Problem]:
    for name, words in failed.items():
        message = f"ibstat could not read it and ended: {words}"
        yield from (Problem(f"{name}.{field}", FAILED, message, (FORM,)) for field in ("state", "kind"))
