"""The limits of a process that raxl starts: getrlimit(2)."""

from __future__ import annotations

from typing import Mapping

from raxl.host import Answer, Host

UNLIMITED = -1


def ask(host: Host) -> Answer:
    """Asks for soft and hard limits."""
    return host.process("limits")


def parse(answer: Answer) -> Mapping[str, tuple[int | None, int | None]] | None:
    """Soft and hard limit by name (`memlock`, `nofile`, `stack`), in bytes or descriptors; None within is unlimited."""
    if not isinstance(answer.value, dict):
        return None
    return {
        name: (_limit(pair[0]), _limit(pair[1]))
        for name, pair in answer.value.items()
        if isinstance(pair, list) and len(pair) == 2
    }


def _limit(value: object) -> int | None:
    return None if value == UNLIMITED or not isinstance(value, int) else value
