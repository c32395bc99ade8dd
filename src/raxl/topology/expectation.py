"""What an operator expects to be here: `8xH100`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable, Sequence

from raxl.errors import UsageError
from raxl.model.accelerator import Accelerator
from raxl.model.node import Node


@dataclass(frozen=True)
class Expectation:
    """So many working accelerators of a type."""

    count: int
    type: str

    def fits(self, accelerator: Accelerator) -> bool:
        """Whether the type names this device: Ray's type, or words of its model in a row (`H100 80GB`)."""
        wanted = _words(self.type)
        return any(_holds(_words(name), wanted) for name in (accelerator.ray.type, accelerator.model) if name)


def parse(text: str) -> Expectation:
    """The expectation that `8xH100` states. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,6})\s*[x×*]\s*(\S.*)", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(f"--expect {text} is not COUNTxTYPE", try_="write --expect 8xH100")
    return Expectation(int(found[1]), found[2].strip())


def differences(node: Node, expected: Sequence[Expectation]) -> Iterable[str]:
    """One line for each expectation that the node does not meet, and one for devices that nobody expects."""
    if not expected:
        return
    nameless = [device for device in node.accelerators if device.model is None and device.ray.type is None]
    is_short = False
    for expectation in expected:
        fitting = [device for device in node.accelerators if expectation.fits(device)]
        working = [device for device in fitting if device.state != "lost"]
        if len(working) != expectation.count:
            lost = f", {len(fitting) - len(working)} more lost" if len(working) < len(fitting) else ""
            open_ = f", {len(nameless)} more of unknown model" if nameless else ""
            is_short = True
            yield f"{node.name}: expected {expectation.count} × {expectation.type}, found {len(working)}{lost}{open_}"
    named = [device for device in node.accelerators if device not in nameless]
    others = [device for device in named if not any(one.fits(device) for one in expected)]
    if others:
        names = ", ".join(sorted({device.model or str(device.ray.type) for device in others}))
        yield f"{node.name}: {len(others)} more that nobody expects: {names}"
    if nameless and not is_short:
        yield f"{node.name}: {len(nameless)} more of unknown model"


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _holds(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return bool(wanted) and any(words[place : place + len(wanted)] == wanted for place in range(len(words)))
