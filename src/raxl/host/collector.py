"""What the single-file collector runs: one recording of the node, as a snapshot on standard output."""

from __future__ import annotations

import io
import sys
from datetime import datetime, timezone
from typing import Any, Mapping, Sequence

from raxl.host import Question, archive, snapshot
from raxl.host.asker import Asker


def main(modules: Mapping[str, Sequence[Any]], tasks: Sequence[str], version: str, budget_seconds: float) -> None:
    """Asks this machine within the budget and writes the snapshot."""
    recording = Asker(tasks, budget_seconds=budget_seconds, modules=modules).record()
    recording.created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    recording.recorded_by = version
    name = recording.answer(Question("text", "/proc/sys/kernel/hostname")).value
    recording.name = name.strip().split(".", 1)[0] if isinstance(name, str) else ""
    buffer = io.BytesIO()
    archive.write(snapshot.members([recording]), buffer)
    sys.stdout.buffer.write(buffer.getvalue())
    sys.stdout.buffer.flush()
