"""Archives that come from elsewhere: read from front to back, within limits, never unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from raxl.errors import TooLarge, UnknownForm, UnreadableInput

if TYPE_CHECKING:
    import tarfile

LARGEST = 512 << 20
MOST_ENTRIES = 200_000
KEPT = 1 << 20
"""Of each file so much is kept: no kernel file is longer, and a log is read elsewhere."""
CUT = "cut"
_MOST_HEADERS = 1000
"""Extended headers that count for an entry, each entry's copied for the next."""
_DAMAGE = (EOFError, OSError, ValueError, OverflowError, LookupError)
"""What Python's readers raise on damaged archives, beside their own errors."""
_MAGICS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")


class Entry(NamedTuple):
    """One entry: a file with its content, a link with its target (as text), or a folder; or that the archive ends here
    without a tar's end."""

    path: str
    """Relative, without `.` and `..`."""
    kind: str
    """file | link | folder | cut"""
    content: bytes = b""
    target: str = ""


def is_archive(start: bytes) -> bool:
    """Whether a file that begins so (512 bytes) is a tar, compressed or not."""
    return start.startswith(_MAGICS) or start[257:262] == b"ustar"


def entries(file: Any, name: str) -> Iterator[Entry]:
    """Every file, link and folder of a tar; what is neither, and what lies outside of it, is left out. An entry of its
    own, the last one, says that the archive is cut off between two.

    Raises `TooLarge` over the limits, `UnreadableInput` for an archive that is damaged or cut off, `UnknownForm` for
    what is compressed and no tar.
    """
    import lzma
    import tarfile
    import zlib

    total = count = 0
    unpacked = _unpacked(file)
    stream = _Forward(unpacked, name)
    try:
        with tarfile.open(fileobj=stream, mode="r:") as archive:  # type: ignore[call-overload]
            while (member := archive.next()) is not None:
                archive.members.clear()  # else it keeps them all
                count += 1
                total += max(member.size, 0)
                if total > LARGEST or count > MOST_ENTRIES or len(member.pax_headers) > _MOST_HEADERS:
                    raise _too_large(name)
                entry = _entry(archive, member)
                if entry is not None:
                    yield entry
        if stream.last.strip(b"\0"):  # tarfile takes a header that is none for the end
            raise tarfile.ReadError("a header is damaged")
        if not stream.last:  # a tar ends with blocks of zeros
            yield Entry("", CUT)
    except (*_DAMAGE, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
        if unpacked is not file and not count and isinstance(error, tarfile.ReadError):
            raise UnknownForm(f"{name}: not a form that is known", "it is compressed, and no tar") from error
        raise UnreadableInput(f"{name} is damaged or cut off", f"{type(error).__name__}: {error}"[:200]) from error


def _too_large(name: str) -> TooLarge:
    return TooLarge(f"{name} holds more than 512 MiB or 200,000 entries", try_="give raxl a smaller archive")


def _unpacked(file: Any) -> Any:
    """The file as it is, or what is compressed in it."""
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        import gzip

        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        import bz2

        return bz2.BZ2File(file)
    if start.startswith(b"\xfd7zXZ"):
        import lzma

        return lzma.LZMAFile(file)
    return file


class _Forward:
    """A stream that is read forwards alone, and never more at once than an entry may have.

    tarfile steps one byte back before each header, for which the compressed readers begin anew; and it believes the
    length that a header states of a long name, however long.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name
        self._read = 0
        self._place = 0
        self.last = b""
        """What was read last."""

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = 0) -> int:
        self._place = place
        return place

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= KEPT or self._place > LARGEST + MOST_ENTRIES * 1024:
            raise _too_large(self._name)
        while self._read < self._place:
            if not self._take(min(self._place - self._read, 1 << 16)):
                return b""
        back = self._read - self._place
        if back > len(self.last):
            raise ValueError("the archive leads back")
        known = self.last[len(self.last) - back :][:size]
        data = known + (self._take(size - len(known)) if size > len(known) else b"")
        self._place += len(data)
        return data

    def _take(self, size: int) -> bytes:
        parts = []
        while size > 0:
            part = self._stream.read(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
        self.last = b"".join(parts)
        self._read += len(self.last)
        return self.last


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
