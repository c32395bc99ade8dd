"""Identities in a recording replaced by stand-ins of the same length and kind, everywhere alike.

A stand-in is an HMAC under a key; who has the key can compare two redacted recordings, nobody can go back. What is
replaced: UUIDs, serial numbers, GUIDs and GIDs, MAC and IP addresses by their shape; host and user names, serials and
unique ids by the places that hold them, then wherever else they occur.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from typing import Callable, Iterable, List, Pattern, Set, Tuple

from raxl.host import Answer, CommandOutput, Question
from raxl.host.record import Recording

_HEX = "[0-9a-fA-F]"
_SHAPES = (
    re.compile(rf"(?<!{_HEX}){_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}(?!{_HEX})"),  # UUID
    re.compile(rf"(?<![0-9a-fA-F:])(?:{_HEX}{{2}}:){{19}}{_HEX}{{2}}(?![0-9a-fA-F:.])"),  # IP over InfiniBand
    re.compile(rf"(?<![0-9a-fA-F:])(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![0-9a-fA-F:.-])"),  # MAC
    re.compile(rf"(?<![0-9a-fA-F:])(?:{_HEX}{{4}}:){{7}}{_HEX}{{4}}(?![0-9a-fA-F:.])"),  # GID, full IPv6
    re.compile(rf"(?<![0-9a-fA-F:])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![0-9a-fA-F:.])"),  # GUID
    re.compile(rf"(?<=guid=\")0x{_HEX}{{5,16}}(?=\")"),  # GUID in NCCL's XML
    re.compile(rf"(?<![0-9a-zA-Z:])(?:{_HEX}{{1,4}}:){{1,6}}(?::{_HEX}{{1,4}}){{1,6}}(?![0-9a-zA-Z:.])"),  # short IPv6
)
_ADDRESS = re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])")
_KEPT_ADDRESS = re.compile(r"0\.0\.0\.0|127\..*|255\..*|169\.254\.169\.254")
_ELEMENTS = "serial|board_serial|chassis_serial_number|gpu_fabric_guid|gpu_guid"
_INFOS = (
    "DMI[A-Za-z]*(?:Serial|UUID|AssetTag)|(?:NVIDIA|AMD)(?:Serial|UUID)|HostName|Address|NodeGUID|SysImageGUID|"
    "SerialNumber|HardwareSerial"
)
_SERIALS = re.compile(
    rf"<(?:{_ELEMENTS})[^>]*>\s*([^<\s]{{4,}})\s*<"  # nvidia-smi -q -x
    rf"|name=\"(?:{_INFOS})\" value=\"([^\"]{{3,}})\""  # hwloc XML
    r"|^(?:unique_id|hive_id) (\d{6,})$",  # KFD
    re.MULTILINE,
)
_SERIAL_FILES = re.compile(
    r"/(serial_number|unique_id|product_serial|board_serial|chassis_serial|xgmi_hive_id|node_guid|sys_image_guid)$"
)
_HOST_FILE = "/proc/sys/kernel/hostname"
_USER = re.compile(r"/(?:home|Users)/([A-Za-z][\w.-]{1,31})\b")
_NO_NAME = frozenset(["localhost", "none", "unknown", "n/a", "default", "root", "node", "node0", "host"])


class Redactor:
    """Replaces identities under one key, which is thrown away unless it was given."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def recording(self, recording: Recording) -> Recording:
        """The recording with every identity replaced, in file names, contents, outputs and notes."""
        replace = self._replacer(set(_names(recording)), _words(recording))
        return Recording(
            {_question(question, replace): _answer(answer, replace) for question, answer in recording.answers.items()},
            name=replace(recording.name),
            source=replace(recording.source),
            created=recording.created,
            recorded_by=recording.recorded_by,
            nature=recording.nature,
            unasked=recording.unasked,
            notes=[(replace(subject), reason, replace(message)) for subject, reason, message in recording.notes],
        )

    def _replacer(self, names: Set[str], words: Set[str]) -> Callable[[str], str]:
        """Replaces in a text. A name that is also a word of the kernel's paths (a host called `cpu`) is replaced only
        where it is the whole text."""
        alone = {name for name in names if name.lower() in words}
        shapes: List[Pattern[str]] = list(_SHAPES)
        everywhere = sorted(names - alone, key=len, reverse=True)
        if everywhere:
            known = "|".join(map(re.escape, everywhere))
            shapes.insert(0, re.compile(rf"(?<![A-Za-z0-9])(?:{known})(?![A-Za-z0-9])", re.IGNORECASE))

        def replace(text: str) -> str:
            if text.strip() in alone:
                return text.replace(text.strip(), self._stand_in(text.strip()))
            done: Set[str] = set()

            def stand_in(found: "re.Match[str]") -> str:
                if found[0] in done or not _says_anything(found[0]):
                    return found[0]
                new = self._stand_in(found[0])
                done.add(new)
                return new

            for shape in shapes:
                text = shape.sub(stand_in, text)
            return _ADDRESS.sub(self._address, text)

        return replace

    def _digest(self, text: str) -> Iterable[int]:
        """Bytes without end that depend on the text (its letters' case apart) and the key."""
        counter = 0
        while True:
            yield from hmac.new(
                self._key, f"{counter}:{text.lower()}".encode("utf-8", "surrogateescape"), hashlib.sha256
            ).digest()
            counter += 1

    def _stand_in(self, text: str) -> str:
        """Digits for digits, hex digits in hex words, letters for letters; punctuation and length stay."""
        is_hex = re.fullmatch(r"(?:0x)?[0-9a-fA-F:-]+", text) is not None and re.search("[a-fA-F]|[:-]", text)
        start = 2 if text.startswith("0x") else 0
        pairs = zip(text[start:], self._digest(text[start:]))
        return text[:start] + "".join(_character(character, byte, bool(is_hex)) for character, byte in pairs)

    def _address(self, found: "re.Match[str]") -> str:
        """Another IPv4 address whose numbers have as many digits."""
        if _KEPT_ADDRESS.fullmatch(found[0]):
            return found[0]
        ranges: Tuple[Tuple[int, int], ...] = ((1, 9), (10, 90), (100, 156))
        parts = zip(found[0].split("."), self._digest(found[0]))
        return ".".join(str(ranges[len(part) - 1][0] + byte % ranges[len(part) - 1][1]) for part, byte in parts)


def _character(old: str, byte: int, is_hex: bool) -> str:
    if is_hex and old in string.hexdigits:
        new = "0123456789abcdef"[byte % 16]
        return new.upper() if old.isupper() else new
    if old.isdigit() and old.isascii():
        return str(byte % 10)
    if old.isalpha():
        new = string.ascii_lowercase[byte % 26]
        return new.upper() if old.isupper() else new
    return old


def _says_anything(text: str) -> bool:
    """Whether it is an identity at all: all zeros, all ones and `::` mean none, and are kept as they are."""
    digits = re.sub("[^0-9a-zA-Z]", "", text.removeprefix("0x")).lower()
    return len(set(digits)) > 1


def _names(recording: Recording) -> Iterable[str]:
    """Serials, unique ids, host and user names, from the places that hold them."""
    for question, answer in recording.answers.items():
        for text in _texts(answer):
            if question.subject == _HOST_FILE:
                yield from _host_names(text)
            elif _SERIAL_FILES.search(question.subject):
                yield text.strip()
            for found in _SERIALS.finditer(text):
                yield next(group for group in found.groups() if group)
            for found in _USER.finditer(text):
                yield found[1]
    yield from _host_names(recording.name)


def _words(recording: Recording) -> Set[str]:
    """The words of the kernel's paths."""
    paths = (question.subject for question in recording.answers if question.kind in ("text", "names", "link"))
    return {word.lower() for path in paths for word in re.split("[^A-Za-z0-9]+", path)}


def _host_names(text: str) -> Iterable[str]:
    name = text.strip()
    for word in (name, name.split(".", 1)[0]):
        if len(word) > 2 and word.lower() not in _NO_NAME:
            yield word


def _texts(answer: Answer) -> Iterable[str]:
    value = answer.value
    if isinstance(value, CommandOutput):
        return (value.stdout, value.stderr)
    if isinstance(value, str):
        return (value,)
    return tuple(str(entry) for entry in value.values()) if isinstance(value, dict) else ()


def _question(question: Question, replace: Callable[[str], str]) -> Question:
    return Question(question.kind, replace(question.subject))


def _answer(answer: Answer, replace: Callable[[str], str]) -> Answer:
    return Answer(_replaced(answer.value, replace), answer.reason, replace(answer.message))


def _replaced(value: object, replace: Callable[[str], str]) -> object:
    if isinstance(value, CommandOutput):
        return CommandOutput(value.status, replace(value.stdout), replace(value.stderr))
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_replaced(entry, replace) for entry in value]
    if isinstance(value, dict):
        return {name: _replaced(entry, replace) for name, entry in value.items()}
    return value
