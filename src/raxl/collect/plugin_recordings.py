"""The recordings that a plug-in brings: `machine.txt` in a folder of its own, or whatever else `--from` takes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Sequence

from raxl import __version__
from raxl.collect import inputs, questions
from raxl.errors import CannotStart, UnreadableInput
from raxl.host.record import Recording
from raxl.intake import machine_text
from raxl.plugins.discovery import Installed
from raxl.plugins.guest import Guest

FILE = "machine.txt"
CAPTURE = "capture"
"""The nature of what was recorded on a real machine, and of nothing else."""


class Named(NamedTuple):
    """A recording, and what it is called."""

    name: str
    recording: Recording


def own_folder() -> Path | None:
    """The folder of the recordings of raxl's own plug-ins; None where raxl was installed without its sources."""
    folder = Path(__file__).parents[3] / "tests" / "recordings"
    return folder if folder.is_dir() else None


def folder_of(plugin: Installed) -> Path | None:
    """The folder `recordings` of a plug-in's package; None where there is none."""
    if plugin.folder is None:
        return None
    package = plugin.entry.partition(":")[0].partition(".")[0]
    folder = Path(plugin.folder) / package / "recordings"
    return folder if folder.is_dir() else None


def read(folder: Path, plugins: Sequence[Guest] = ()) -> list[Named]:
    """Every recording of the folder, asked all that raxl and the `plugins` ask. Raises CannotStart for a damaged
    one."""
    found: list[Named] = []
    for path in sorted(folder.iterdir()):
        if (path / FILE).is_file():
            found.append(Named(path.name, _written(path, plugins)))
        elif path.suffix not in (".md", ".json", ".py") and not path.name.startswith((".", "_")):
            opened = inputs.opened([str(path)])
            for recording in opened:
                questions.read_through(recording, plugins)
            found += [Named(path.name, recording) for recording in opened]
    return found


def _written(folder: Path, plugins: Sequence[Guest]) -> Recording:
    def other(name: str) -> str:
        return (folder.parent / name / FILE).read_text(encoding="utf-8")

    try:
        recording = machine_text.MachineRecording(machine_text.parse(other(folder.name), other))
    except (ValueError, KeyError, AssertionError, OSError) as error:
        raise UnreadableInput(f"{folder / FILE} is damaged", f"{type(error).__name__}: {error}"[:200]) from error
    questions.read_through(recording, plugins)
    made = Recording(
        recording.answers,
        name=recording.name,
        created=recording.created,
        recorded_by=__version__,
        nature=recording.nature,
    )
    if made.nature == CAPTURE:
        raise CannotStart(f"{folder / FILE} calls itself a capture", "a machine that is written as text is none")
    return made
