"""Archives that come from elsewhere: read from front to back, within limits, never unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from raxl.errors import TooLarge, UnreadableInput

if TYPE_CHECKING:
    import tarfile

LARGEST = 512 << 20
MOST_ENTRIES = 200_000
KEPT = 1 << 20
"""Of each file so much is kept: no kernel file is longer, and a log is read elsewhere."""
_DAMAGE = (EOFError, OSError, ValueError, OverflowError, LookupError)
"""What Python's readers raise on damaged archives, beside their own errors."""
_MAGICS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")


class Entry(NamedTuple):
    """One entry: a file with its content, a link with its target (as text), or a folder."""

    path: str
    """Relative, without `.` and `..`."""
    kind: str
    """file | link | folder"""
    content: bytes = b""
    target: str = ""


def is_archive(start: bytes) -> bool:
    """Whether a file that begins so (512 bytes) is a tar, compressed or not."""
    return start.startswith(_MAGICS) or start[257:262] == b"ustar"


def entries(file: Any, name: str) -> Iterator[Entry]:
    """Every file, link and folder of a tar; what is neither, and what lies outside of it, is left out.

    Raises `TooLarge` over the limits, `UnreadableInput` for an archive that is damaged or cut off.
    """
    import lzma
    import tarfile
    import zlib

    total = count = 0
    try:
        with tarfile.open(fileobj=file, mode="r:*", errorlevel=1) as archive:
            for member in archive:
                count += 1
                total += max(member.size, 0)
                if total > LARGEST or count > MOST_ENTRIES:
                    raise TooLarge(
                        f"{name} holds more than 512 MiB or 200,000 entries", try_="give raxl a smaller archive"
                    )
                entry = _entry(archive, member)
                if entry is not None:
                    yield entry
    except (*_DAMAGE, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        raise UnreadableInput(f"{name} is damaged or cut off", f"{type(error).__name__}: {error}"[:200]) from error


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry | None:
    path = inside(member.name)
    if path is None:
        return None
    if member.isdir():
        return Entry(path, "folder")
    if member.issym():
        return Entry(path, "link", target=member.linkname)
    if member.islnk():
        target = inside(member.linkname)
        return Entry(path, "link", target="/" + target) if target else None
    if not member.isreg():
        return None
    stream = archive.extractfile(member)
    return Entry(path, "file", stream.read(KEPT) if stream is not None else b"")


def inside(path: str) -> str | None:
    """The path without leading slashes and `.`; None when it climbs out."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)


def write(members: Iterator[tuple[str, bytes]], file: Any) -> None:
    """Writes a `.tar.gz` whose bytes depend on its members alone: no times, no owners."""
    import gzip
    import io
    import tarfile

    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, content in members:
                member = tarfile.TarInfo(path)
                member.size, member.mode = len(content), 0o600
                archive.addfile(member, io.BytesIO(content))
