"""This machine, recorded now."""

from __future__ import annotations

import os

from raxl import __version__
from raxl.collect import clock
from raxl.errors import UnreadableInput
from raxl.host.asker import Asker
from raxl.host.record import Recording
from raxl.plugins import registry

ROOT_VARIABLE = "RAXL_HOST_ROOT"
"""Where the host's file system is mounted, for a raxl that runs in a container beside it."""


def asker(budget_seconds: float) -> Asker:
    """An asker of this machine that has begun."""
    root = os.environ.get(ROOT_VARIABLE) or "/"
    if not os.path.isdir(root):
        raise UnreadableInput(f"{ROOT_VARIABLE} names {root}, which is no folder")
    begun = Asker(registry.ask_tasks(), root=root, budget_seconds=budget_seconds)
    begun.start()
    return begun


def recorded(begun: Asker) -> Recording:
    """Everything that it asked."""
    recording = begun.record()
    recording.source, recording.created, recording.recorded_by = "local", clock.now(), __version__
    return recording
