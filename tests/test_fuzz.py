"""Damaged recordings of every form: whatever is given, raxl answers or refuses in its own words.

The whole path runs: open, assemble, JSON, every text at several widths. The seeds are the project's own, and the real
captures where RAXL_CORPUS names some; they are damaged in memory as transports, editors and disks damage files.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import captures
import seeds
from raxl.collect import assemble, inputs, keeping, labelling, machines
from raxl.errors import RaxlError
from raxl.host import archive
from raxl.host.archive import Entry
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.model import codec
from raxl.render import text_labels, text_matrix, text_table, text_tree
from raxl.render.text import to_text

SECONDS = 20
"""No example takes longer: an input must not cost more than its size is worth."""
LARGEST_TEXT, LARGEST_TAR = 96 << 10, 32 << 10
"""Larger captures only make the examples fewer; those that are this long have every element of the longer ones."""
WIDTHS = (1, 20, 40, 80, 100, 250)
MORE = settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
USUAL = settings(deadline=None, suppress_health_check=list(HealthCheck))

NASTY = [
    *(b"-1", b"0", b"65536", b"4294967296", b"18446744073709551616", b"9" * 19, b"9" * 400, b"9" * 5000),
    *(b"1e999", b"NaN", b"-0", b"0x", b"0-65535", b"0-4294967295", b"65535-0", b",".join([b"0-65535"] * 200)),
    *("²٣".encode(), "\u202eevil".encode(), b"\xed\xb2\x80", b"\xff\xfe", b"\x00", b"\x1b[2J", b"\x1b]0;x\x07"),
    *(b"[/bold]", b"N/A", b"[N/A]", b"ERR!", b"Unknown Error", b"[Unknown Error]", b"GPU is lost", b"-", b"", b"?"),
    *(b"ffff:ff:1f.7", b"FFFFFFFF:FF:1F.7", b"0000:18:00.0", b"..", b"/", b"../../..", b"\r", b"\t", b"\n\n", b" "),
    *(b"<", b"&amp;", b"&#0;", b"]]>", b"<!--", b"<gpu>", b"</gpu>", b"<a>" * 300, b'"', b"\\u0000", b"\xe2\x80\xa8"),
    *(b"GPU0", b"NIC0", b"GPU99999", b"NV999", b"NV0", b"XGMI", b"gfx", b"localhost", b"nvidia#0", b"CPU Affinity"),
]
"""What is put in the place of a piece of a file."""
_PIECE = re.compile(rb'"[^"\n]{0,60}"|>[^<\n]{0,60}<|[\w.:#-]+')
_VALUES = [None, True, -1, 10**30, 1.5, "", "x", "\ud800", [], {}, [[]], {"a": None}, "not-asked", "9" * 5000]
"""What a value of an edited JSON file may be."""

Damage = Callable[[bytes, random.Random], bytes]


def _range(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + int(chance.paretovariate(0.7)))


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def delete(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance)
    return data[:start] + data[end:]


def duplicate(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance)
    return data[:end] + data[start:]


def move(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance)
    rest = data[:start] + data[end:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + data[start:end] + rest[place:]


def flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 64)) if data else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(NASTY) + data[place:]


def put(data: bytes, chance: random.Random) -> bytes:
    """One word, attribute or text of an element becomes something else, or another's."""
    pieces = list(_PIECE.finditer(data))
    if not pieces:
        return data
    found = chance.choice(pieces)
    start, end = found.span()
    if found[0][:1] in b'">':
        start, end = start + 1, end - 1
    new = chance.choice(NASTY) if chance.random() < 0.7 else chance.choice(pieces)[0].strip(b'"<>')
    return data[:start] + new + data[end:]


def repeat(data: bytes, chance: random.Random) -> bytes:
    start, end = _range(data, chance)
    end = min(end, start + 60)
    return data[:start] + data[start:end] * 1000 + data[end:]


def lines(data: bytes, chance: random.Random) -> bytes:
    """A few lines deleted, doubled, or exchanged."""
    held = data.splitlines(keepends=True)
    if len(held) < 2:
        return data
    for _ in range(chance.choice((1, 1, 3, 10))):
        a, b = chance.randrange(len(held)), chance.randrange(len(held))
        kind = chance.randrange(3)
        if kind == 0 and len(held) > 2:
            del held[a]
        elif kind == 1:
            held.insert(b, held[a])
        else:
            a, b = min(a, len(held) - 1), min(b, len(held) - 1)
            held[a], held[b] = held[b], held[a]
    return b"".join(held)


def blanks(data: bytes, chance: random.Random) -> bytes:
    """What a terminal's copy loses: tabs, or all runs of blanks."""
    return data.replace(b"\t", b" ") if chance.random() < 0.5 else re.sub(rb"[ \t]+", b" ", data)


DAMAGES: tuple[Damage, ...] = (cut, delete, duplicate, move, flip, insert, put, put, put, repeat, lines, blanks)


def values(data: bytes, chance: random.Random) -> bytes:
    """One value in JSON, or in one line of JSON lines, becomes something else."""
    if data.startswith(b"{\n"):
        return _json_changed(data, chance)
    held = data.splitlines(keepends=True)
    place = chance.randrange(len(held)) if held else 0
    return b"".join(
        [*held[:place], *(_json_changed(line, chance) + b"\n" for line in held[place : place + 1]), *held[place + 1 :]]
    )


def _json_changed(data: bytes, chance: random.Random) -> bytes:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places: list[tuple[object, object]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (dict, list)):
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            places += [(node, key) for key in keys]
            waiting += [node[key] for key in keys]
    if not places:
        return json.dumps(chance.choice(_VALUES)).encode()
    node, key = chance.choice(places)
    if isinstance(node, dict) and chance.random() < 0.2:
        del node[key]
    else:
        node[key] = chance.choice(_VALUES)  # type: ignore[index]
    return json.dumps(document).encode()


def damaged(data: bytes, chance: random.Random, damages: tuple[Damage, ...] = DAMAGES) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        data = chance.choice(damages)(data, chance)
    return data


def damaged_entries(held: list[Entry], chance: random.Random, damages: tuple[Damage, ...]) -> list[Entry]:
    """Some files of an archive damaged, removed, renamed, or made links; folders in the place of files."""
    held = list(held)
    interesting = [n for n, entry in enumerate(held) if entry.kind == "link" or entry.content]
    for _ in range(chance.choice((1, 3, 10))):
        place = chance.choice(interesting)
        entry, kind = held[place], chance.randrange(10)
        if kind < 6 and entry.kind == "file":
            entry = entry._replace(content=damaged(entry.content, chance, damages))
        elif kind == 6:
            entry = Entry(entry.path, "folder")
        elif kind == 7:
            target = chance.choice(("..", ".", "/", entry.path, "../" * 40, "/" + chance.choice(held).path, "x" * 5000))
            entry = Entry(entry.path, "link", target=target)
        elif kind == 8:
            path = damaged(entry.path.encode("utf-8", "surrogateescape"), chance, (put, flip, insert))
            entry = entry._replace(path=archive.inside(path.decode("utf-8", "surrogateescape")) or "x")
        else:
            entry = chance.choice(held)._replace(path=entry.path)
        held[place] = entry
    return held


TREES: dict[str, Callable[[], list[Entry]]] = {"tree": seeds.entries, "snapshot": seeds.snapshot}


@cache
def text_seed(path: Path) -> bytes:
    return path.read_bytes()


@cache
def tree_seed(name: str | Path) -> list[Entry]:
    if isinstance(name, str):
        return TREES[name]()
    with open(name, "rb") as file:
        return list(archive.entries(file, str(name)))


def text_captures() -> list[Path]:
    forms = ("nvidia-smi-topo", "nvidia-smi-text", "nvidia-smi-xml", "nccl-topo-xml", "hwloc-xml", "lspci", "ib")
    found = captures.of(*forms, "amd-smi-json", "amd-smi-text")
    return [path for path in found if path.stat().st_size <= LARGEST_TEXT]


TEXTS = text_captures()
ARCHIVES = [*captures.of("kfd"), *(path for path in captures.of("hwloc-sysfs") if path.stat().st_size <= LARGEST_TAR)]
corpus = pytest.mark.skipif(captures.CORPUS is None, reason="RAXL_CORPUS names no corpus")
chances = st.integers(0, 2**48).map(random.Random)


class TooSlow(Exception):
    pass


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def over(*_: object) -> None:
        raise TooSlow(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shown(read: Callable[[], list[Recording]], chance: random.Random, again: bool = False) -> None:
    """Reads and shows what was read, in every format. Only raxl's own errors may come out of it."""
    with limited(SECONDS):
        try:
            recordings = machines.together(read())
        except RaxlError as error:
            event("refused")
            assert "\n" not in str(error).strip()
            return
        event("read")
        _every_format(recordings, chance)
        if again:
            _recorded_again(recordings, chance)


def _every_format(recordings: list[Recording], chance: random.Random) -> None:
    inventory = assemble.inventory(recordings)
    text = codec.encode(inventory)
    document = json.loads(text)
    assert len(document["nodes"]) == len(recordings)
    assert "\x1b" not in text
    width, unicode, expand = chance.choice(WIDTHS), chance.random() < 0.5, chance.random() < 0.3
    for shown_lines in (
        text_tree.tree(inventory, width, expand=expand, unicode=unicode),
        text_matrix.matrix(inventory, width, unicode=unicode),
        text_table.discover(inventory, width, expand=expand, nics=True, unicode=unicode),
        text_labels.labels(labelling.document(inventory), width, unicode=unicode),
    ):
        plain = to_text(shown_lines)
        assert all(character.isprintable() or character == "\n" for character in plain)
        if not unicode and text.isascii():
            assert plain.isascii()


def _recorded_again(recordings: list[Recording], chance: random.Random) -> None:
    """The snapshot of it gives the same document; the redacted one is one that raxl reads."""
    document = codec.encode(assemble.inventory(recordings))
    kept = inputs._from_bytes(keeping.packed(recordings), "kept.tar.gz")
    assert codec.encode(assemble.inventory(machines.together(kept))) == document
    redactor = Redactor(b"k" * 32)
    redacted = keeping.packed([redactor.recording(recording) for recording in recordings], True)
    _every_format(machines.together(inputs._from_bytes(redacted, "redacted.tar.gz")), chance)


def text_property(paths: list[bytes | Path]) -> Callable[[], None]:
    @given(st.sampled_from(paths), chances)
    def check(seed: bytes | Path, chance: random.Random) -> None:
        data = damaged(seed if isinstance(seed, bytes) else text_seed(seed), chance)
        shown(lambda: inputs._from_bytes(data, "damaged"), chance, again=chance.random() < 0.1)

    return check


def tree_property(names: list[str | Path], damages: tuple[Damage, ...] = DAMAGES) -> Callable[[], None]:
    @given(st.sampled_from(names), chances)
    def check(seed: str | Path, chance: random.Random) -> None:
        held = damaged_entries(tree_seed(seed), chance, damages)
        shown(lambda: inputs._from_archive(held, "damaged"), chance, again=chance.random() < 0.1)

    return check


@cache
def packed_seed(name: str, form: str) -> bytes:
    import bz2
    import gzip
    import lzma

    content = seeds.tar(tree_seed(name))
    pack = {"tar": bytes, "gz": lambda data: gzip.compress(data, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
    return pack[form](content)


@given(st.sampled_from(["tree", "snapshot"]), st.sampled_from(["tar", "gz", "bz2", "xz"]), chances)
def archive_property(name: str, form: str, chance: random.Random) -> None:
    data = damaged(packed_seed(name, form), chance)
    shown(lambda: inputs._from_bytes(data, "damaged"), chance)


@given(chances)
def header_property(chance: random.Random) -> None:
    """A tar whose headers are wrong and whose checksums are right: types, sizes, names, links, prefixes."""
    data = bytearray(packed_seed("tree", "tar"))
    headers = [place for place in range(0, len(data) - 512, 512) if data[place + 257 : place + 262] == b"ustar"]
    for _ in range(chance.choice((1, 2, 5))):
        place = chance.choice(headers)
        start, length, new = chance.choice(
            (
                (0, 100, damaged(bytes(data[place : place + 100]), chance, (put, flip, insert))),
                (
                    124,
                    12,
                    chance.choice((b"77777777777\0", b"-0000000001\0", b"\xff" * 12, b"\x80" + b"\xff" * 11, b"x")),
                ),
                (156, 1, bytes([chance.choice(b"0123456789xgLKSDNMVAX\0\xff")])),
                (157, 100, chance.choice(NASTY)),
                (329, 16, chance.choice(NASTY)),
                (345, 155, chance.choice(NASTY)),
                (386, 97, bytes(chance.randrange(256) for _ in range(97))),
            )
        )
        data[place + start : place + start + length] = new[:length].ljust(length, b"\0")
        data[place + 148 : place + 156] = b" " * 8
        data[place + 148 : place + 156] = b"%06o\0 " % sum(data[place : place + 512])
    shown(lambda: inputs._from_bytes(bytes(data), "damaged"), chance)


SYNTHETIC: list[bytes | Path] = [text.encode() for text in seeds.TEXTS.values()]
PROPERTIES = {
    "texts": text_property(SYNTHETIC),
    "trees": tree_property(["tree"]),
    "snapshots": tree_property(["snapshot"], (*DAMAGES, values, values, values, values, values, values)),
    "archives": archive_property,
    "tar headers": header_property,
}
"""Over the project's own seeds."""
OF_CAPTURES = {
    "texts": text_property([*TEXTS] or SYNTHETIC),
    "trees": tree_property([*ARCHIVES] or ["tree"]),
}
"""Over real captures."""


@pytest.mark.parametrize("form", PROPERTIES)
def test_a_damaged_recording_is_read_or_refused(form: str) -> None:
    USUAL(PROPERTIES[form])()


@corpus
@pytest.mark.parametrize("form", OF_CAPTURES)
def test_a_damaged_capture_is_read_or_refused(form: str) -> None:
    USUAL(OF_CAPTURES[form])()


@pytest.mark.long
@pytest.mark.parametrize("form", PROPERTIES)
def test_a_damaged_recording_is_read_or_refused_ten_thousand_times(form: str) -> None:
    MORE(PROPERTIES[form])()


@corpus
@pytest.mark.long
@pytest.mark.parametrize("form", OF_CAPTURES)
def test_a_damaged_capture_is_read_or_refused_ten_thousand_times(form: str) -> None:
    MORE(OF_CAPTURES[form])()
