"""Archives of many distinct machines, made from a few: each with a name, a boot, UUIDs and serial numbers of its own.

Addresses stay: machines of one kind have the same ones.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from raxl.host import archive, plain_archive, snapshot

TESTS = Path(__file__).parents[1] / "tests"
_ZERO = b"00000000-0000-0000-0000-000000000000"
_UUID = re.compile(rb"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_CLUSTER = re.compile(rb"(?i)(cluster[_ ]?uuid[^0-9a-f]{1,20})([0-9a-f-]{36})")
_SERIAL = re.compile(rb'(?i)((?:"serial \d+", "value": "|<serial>|serial[_ ]number["\s:]+))(\w{8,20})')
_IDS = re.compile(r"/(unique_id|serial_number|sn|node_guid|sys_image_guid)$")
_HEX = re.compile(rb"[0-9a-fA-F]{2,}")


def sources(corpus: str | None) -> dict[str, dict[str, bytes]]:
    """The files of the machines of `tests/recordings`, and of the raxl snapshots of a corpus, by name."""
    sys.path.insert(0, str(TESTS))
    import recordings

    found = {name: plain_archive.files(recordings.snapshot(name)) for name in recordings.NAMES}
    if corpus is not None:
        for path in sorted(Path(corpus).rglob("*.tar.gz")):
            files = plain_archive.files(path.read_bytes())
            if files and snapshot.is_snapshot(files):
                found[path.stem] = files
    return {name: files for name, files in found.items() if files}


def distinct(files: dict[str, bytes], number: int) -> bytes:
    """The packed archive of one more machine like these files' one."""
    folder = next(path.split("/")[2] for path in files if path.startswith("raxl-snapshot/nodes/"))
    name = f"{folder}-{number:05}"
    buffer = io.BytesIO()
    archive.write(_members(files, folder, name, str(number).encode()), buffer)
    return buffer.getvalue()


def _members(files: dict[str, bytes], folder: str, name: str, seed: bytes) -> Iterator[tuple[str, bytes]]:
    for path, content in files.items():
        short = path.rpartition("/")[2]
        if short in ("manifest.json", "hostname"):
            content = content.replace(folder.encode(), name.encode())
        elif _IDS.search(path):
            content = _HEX.sub(lambda found: _like(found[0], seed), content)
        elif b"-" in content or b"erial" in content:
            kept = {found[2].lower() for found in _CLUSTER.finditer(content)} | {_ZERO}
            for uuid in set(_UUID.findall(content)):
                content = content if uuid.lower() in kept else content.replace(uuid, _like(uuid, seed))
            content = _SERIAL.sub(lambda found: found[1] + _digits(found[2], seed), content)
        yield path.replace(f"/nodes/{folder}/", f"/nodes/{name}/"), content


def _like(text: bytes, seed: bytes) -> bytes:
    """Other hexadecimal digits in the same places; the same ones for the same text and machine."""
    digits = iter(hashlib.blake2b(text + seed).hexdigest().encode())
    return bytes(next(digits) if chr(one) in "0123456789abcdefABCDEF" else one for one in text)


def _digits(text: bytes, seed: bytes) -> bytes:
    number = int.from_bytes(hashlib.blake2b(text + seed, digest_size=16).digest(), "big")
    return text[:1] + str(number).encode()[: len(text) - 1].rjust(len(text) - 1, b"7")
