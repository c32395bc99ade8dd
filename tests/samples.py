"""What every property is tried on: the recordings, a small input of each form of another tool, the captures."""

from __future__ import annotations

from pathlib import Path

import captures
import recordings
import seeds
from raxl.collect import inputs
from raxl.host.record import Recording

FOREIGN = ("tree.tar.gz", *seeds.TEXTS)
"""One small input of each form of another tool, `tests/seeds.py`."""
ALL = [*recordings.NAMES, *FOREIGN, *captures.of(*captures.FORMS)]


def name(sample: str | Path) -> str:
    """How a test is called that tries it."""
    return "/".join(Path(sample).parts[-2:])


def opened(sample: str | Path, folder: Path) -> list[Recording]:
    """The recordings in a sample; `folder` is where one that is no file is written to."""
    if isinstance(sample, Path):
        return inputs.opened([str(sample)])
    if sample in recordings.NAMES:
        return [recordings.recording(sample)]
    content = seeds.TEXTS[sample].encode() if sample in seeds.TEXTS else seeds.tar(seeds.entries())
    (folder / sample).write_bytes(content)
    return inputs.opened([str(folder / sample)])
