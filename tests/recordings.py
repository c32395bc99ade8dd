"""The project's own machines, `tests/recordings/<vendor>-<machine>/machine.txt`, as recordings that raxl itself made.

`tests/recordings/README.md` tells how a machine is written down.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from raxl import __version__
from raxl.cli.source import read_through
from raxl.collect import keeping
from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.intake import machine_text
from raxl.intake.machine_text import CREATED, Machine, MachineRecording, expanded

__all__ = [
    "AT_FAULT",
    "CREATED",
    "FOLDER",
    "NAMES",
    "expanded",
    "materialise",
    "of_text",
    "parse",
    "recording",
    "snapshot",
    "write",
]
FOLDER = Path(__file__).parent / "recordings"
NAMES = tuple(sorted(path.parent.name for path in FOLDER.glob("*/machine.txt")))
AT_FAULT = ("amd-mi300x-sick", "container-blind", "nvidia-hgx-h100-sick")
"""Those on which several things are wrong at once."""


def recording(name: str) -> Recording:
    """The machine of that name, as a live raxl would have recorded it."""
    return of_text(_text(name))


def of_text(text: str) -> Recording:
    """The machine that a text describes, as a live raxl would have recorded it."""
    header = parse(text).header
    return Recording(
        _answers(text), name=header["name"], created=CREATED, recorded_by=__version__, nature=header["nature"]
    )


@cache
def snapshot(name: str) -> bytes:
    """The same as a snapshot file."""
    return keeping.packed([recording(name)])


@cache
def _answers(text: str) -> dict[Question, Answer]:
    asked = MachineRecording(parse(text))
    read_through(asked)
    return asked.answers


def _text(name: str) -> str:
    return (FOLDER / name / "machine.txt").read_text()


@cache
def parse(text: str) -> Machine:
    """The machine that a text describes; with `like`, another of these and what differs."""
    return machine_text.parse(text, _text)


def materialise(name: str, root: Path) -> None:
    """Writes the machine's files and links below a folder, for a live raxl whose root that is."""
    write(parse(_text(name)), root)


def write(machine: Machine, root: Path) -> None:
    """The same of a machine that is not in the folder."""
    for path in machine.folders:
        (root / path[1:]).mkdir(parents=True, exist_ok=True)
    for path, text in machine.files.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(machine_text.file_bytes(text))
    for path, target in machine.links.items():
        link = root / path[1:]
        link.parent.mkdir(parents=True, exist_ok=True)
        if not (root / target[1:]).exists():
            (root / target[1:]).mkdir(parents=True)
        link.symlink_to(root / target[1:])
