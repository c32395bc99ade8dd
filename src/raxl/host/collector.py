"""What the single-file collector runs: one recording of the node, as a snapshot on standard output."""

from __future__ import annotations

import io
import os
import sys
from datetime import datetime, timezone
from typing import Any, Mapping, Sequence

from raxl.errors import CannotStart
from raxl.host import Question, archive, served, snapshot, stand_in
from raxl.host.asker import Asker

LONGEST = 1e6


def main(
    modules: Mapping[str, Sequence[Any]],
    tasks: Sequence[str],
    libraries: Mapping[str, str],
    version: str,
    budget: str,
    packages: str = "",
) -> None:
    """Asks this machine within the budget (seconds, as text) and writes the snapshot; leaves with 2 for no budget.

    `packages` is a folder with what is installed beside Ray.
    """
    try:
        seconds = float(budget)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < LONGEST:
        sys.stderr.write(f"raxl: error: RAXL_TIMEOUT={budget} is no number of seconds\n")
        sys.exit(2)
    root = os.environ.get("RAXL_HOST_ROOT") or "/"
    try:
        asker = Asker(
            tasks,
            root=root,
            budget_seconds=seconds,
            modules=modules,
            libraries=libraries,
            packages=[packages] if packages else [],
            recording=os.environ.get(served.VARIABLE) or None,
        )
    except CannotStart as error:
        sys.stderr.write(f"raxl: error: {error}\n")
        sys.exit(error.exit_code)
    recording = asker.record()
    recording.created = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if recording.source == "local":
        recording.recorded_by = version
        recording.source = stand_in.source()
        name = recording.answer(Question("text", "/proc/sys/kernel/hostname")).value
        recording.name = name.strip().split(".", 1)[0] if isinstance(name, str) else ""
    buffer = io.BytesIO()
    archive.write(snapshot.members([recording]), buffer)
    sys.stdout.buffer.write(buffer.getvalue())
    sys.stdout.buffer.flush()
