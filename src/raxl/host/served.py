"""A snapshot file that answers instead of the machine (RAXL_HOST_RECORDING), opened with the standard library alone."""

from __future__ import annotations

from raxl.errors import CannotStart, UnreadableInput
from raxl.host import archive, snapshot
from raxl.host.record import Recording

VARIABLE = "RAXL_HOST_RECORDING"


def opened(path: str) -> Recording:
    """The one machine that the file holds. Raises `CannotStart` where it cannot be read, or is none or several."""
    try:
        return _opened(path)
    except CannotStart as error:
        raise type(error)(f"{VARIABLE}: {error.what}", error.why, error.try_) from error


def _opened(path: str) -> Recording:
    try:
        with open(path, "rb") as file:
            if not archive.is_archive(file.read(512)):
                raise UnreadableInput(f"{path} is no snapshot")
            file.seek(0)
            files = {entry.path: entry.content for entry in archive.entries(file, path) if entry.kind == "file"}
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    top = snapshot.FOLDER + "/"
    inside = {name[len(top) :]: content for name, content in files.items() if name.startswith(top)}
    if not snapshot.is_snapshot(inside):
        raise UnreadableInput(f"{path} is no snapshot")
    machines = snapshot.read(inside, path)
    if len(machines) != 1:
        raise UnreadableInput(f"{path} holds {len(machines)} machines", "one is wanted")
    return machines[0]
