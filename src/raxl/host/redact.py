"""Identities in a recording replaced by stand-ins of the same length and kind, everywhere alike.

A stand-in is an HMAC under a key; who has the key can compare two redacted recordings, nobody can go back. What is
replaced: UUIDs, GUIDs and GIDs, MAC and IP addresses by their shape; host and user names, serials and unique ids in the
places that hold them, then wherever else they occur. A name that is also a word of the machine's own vocabulary (a host
called `cpu`, a user called `ubuntu`) is replaced in its places alone.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from typing import Callable, Iterable, Iterator, List, Set, Tuple

from raxl.host import Answer, CommandOutput, Question, config_space
from raxl.host.record import Recording

_HEX = "[0-9a-fA-F]"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = rf"(?:{_BYTE}\.){{3}}{_BYTE}"
_SHAPES = (
    rf"(?:(?<=pod)|(?<!{_HEX})){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?!{_HEX})",  # UUID
    rf"(?:(?<=pod)|(?<!{_HEX})){_HEX}{{8}}(?:_{_HEX}{{4}}){{3}}_{_HEX}{{12}}(?!{_HEX})",  # the same in a cgroup's name
    rf"(?<![0-9a-fA-F:])(?:{_HEX}{{2}}:){{19}}{_HEX}{{2}}(?![0-9a-fA-F:.])",  # IP over InfiniBand
    rf"(?<![0-9a-fA-F:])(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![0-9a-fA-F:.-])",  # MAC
    rf"(?<![0-9a-fA-F:])(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}(?![0-9a-fA-F:.])",  # GID, IPv6
    rf"(?<![0-9a-fA-F:])(?:{_HEX}{{4}}:){{3}}{_HEX}{{4}}(?![0-9a-fA-F:.])",  # GUID
    rf"(?<![0-9a-zA-Z:])(?:{_HEX}{{1,4}}:){{1,6}}(?::{_HEX}{{1,4}}){{1,6}}(?![0-9a-zA-Z:.])",  # short IPv6
    rf"(?<![0-9a-zA-Z:])(?:{_HEX}{{1,4}}:){{2,7}}:(?![0-9a-zA-Z:.])",  # IPv6 that ends in zeros
    rf"(?<![0-9a-zA-Z])(?:{_HEX}{{64}}|{_HEX}{{56}}|{_HEX}{{32}})(?![0-9a-zA-Z])",  # container, Ray node, machine
)
_ANY_SHAPE = re.compile("|".join(_SHAPES))
_ADDRESS = rf"(?<!Version: )(?<!ersion\": \")(?<![\w.])(?<![0-9]-)(?<!fw-){_IPV4}(?:-{_IPV4})?(?!\.?[A-Za-z0-9_])"
_KEPT_ADDRESS = re.compile(r"0\.0\.0\.0|127\..*|255\..*|169\.254\.169\.254")
_LINK_LOCAL = "fe80000000000000"

_ELEMENTS = "serial|board_serial|chassis_serial_number|gpu_fabric_guid|gpu_guid|pdi|gpu_pdi|vgpu_vm_name"
_ENTRIES = "Serial Number|Board Serial Number|Chassis Serial Number|GPU PDI|GPU Fabric GUID|GPU GUID|Host ID"
_INFOS = (
    "DMI[A-Za-z]*(?:Serial|UUID|AssetTag)|(?:NVIDIA|AMD)Serial|NVIDIAUUID|Address|NodeGUID|SysImageGUID|SerialNumber|"
    "HardwareSerial"
)
_PLACES = (
    ("serial", rf"<(?:{_ELEMENTS})\b[^>]*>\s*([^<\s]{{4,}})\s*<"),  # nvidia-smi -q -x
    ("serial", rf"^[ \t]*(?:{_ENTRIES})[ \t]*:[ \t]*([^\s:]{{4,}})[ \t]*$"),  # nvidia-smi -q
    ("serial", r"(?:^|, )([0-9]{13})(?=,|$)"),  # nvidia-smi --query-gpu=serial
    ("serial", rf"name=\"(?:{_INFOS})\"\s+value=\"([^\"]{{3,}})\""),  # hwloc XML
    ("host", r"name=\"HostName\"\s+value=\"([^\"]+)\""),
    ("hex", rf"name=\"(?:AMDUUID|XGMIHiveID)\"\s+value=\"(?:0x)?({_HEX}{{6,16}})\""),
    (
        "hex",
        rf'(?i:unique id|asic_serial|hip_uuid|hive_id)"?[ \t]*:[ \t]*"?(?:0x|GPU-)?({_HEX}{{6,16}})(?![A-Za-z0-9])',
    ),
    ("serial", r"(?i:serial number|product_serial|fru_id)\"?[ \t]*:[ \t]*\"?([A-Za-z0-9-]{4,})"),  # amd-smi, rocm-smi
    ("decimal", r"^(?:unique_id|hive_id) ([0-9]{6,20})$"),  # KFD
    ("user", r"[/\\](?:home|Users)[/\\]([A-Za-z][\w.-]{1,31})"),
    ("serial", rf"\bGUID: 0x({_HEX}{{16}})\b"),  # ibstat
    ("serial", rf"\"[SHR]-({_HEX}{{16}})\""),  # ibnetdiscover
    ("serial", rf"guid=0x({_HEX}{{10,16}})\b"),
    ("serial", rf"^\s*\[\d+\]\(({_HEX}{{10,16}})\)"),
    ("host", r"# \"([\w.-]+) (?:[a-z]{2,8}\d|HCA-)[\w.-]*\""),
    ("host", r"\"MF0;([\w.-]+):"),
    ("serial", r"\(MT\d+ - ([\w-]{4,})\)"),  # ibdev2netdev -v
    ("serial", r"\[SN\] Serial number: (\S{4,})"),  # lspci -vvv, of the vital product data
    ("hex", rf"(?i:server_?id(?:_4)?)\"[ \t]*:[ \t]*\"({_HEX}{{16}})\""),  # neuron-ls
    ("serial", r"\"(?:serial_number|board_id|device_sn|device_uuid|sid)\"\s{0,8}:\s{0,8}\"([^\"\s]{4,})\""),
    ("decimal", r"^[ \t-]*board_id:[ \t]*([0-9]{6,20})[ \t]*$"),  # a Tenstorrent cluster descriptor
    ("decimal", r"^[ \t]+[0-9]{1,5}:[ \t]*([0-9]{9,20})[ \t]*$"),  # its chip_unique_ids
    ("serial", r"\bocid1(?:\.[a-z0-9-]{0,40}){3}\.([a-z0-9]{8,80})"),  # Oracle Cloud's id of a thing
    ("host", r"^SwitchName=\S{1,80} Nodes=([\w.-]+)$"),  # one host's line of Slurm's topology
    ("host", r"^([\w.-]{2,})\tphysical_host /"),
    ("host", r"(?:^|[\s(])([A-Za-z0-9][\w.-]{1,80}):[0-9]+:[0-9]+ \[[0-9]+\] .{0,80}?[NR]CCL "),  # NCCL's log
    ("host", r"^\[[0-9.]+\] \[([A-Za-z0-9][\w.-]{1,80}):[0-9]+ *:\w+\]"),  # UCX's
    ("host", r"^\{\"host\": \"([^\"]+)\""),  # where hosts stand, a line each
    ("here", rf"\b(?:guid|host_hash)=\"(0x{_HEX}{{1,16}})\""),  # NCCL's XML
    ("here", r"\(([\w.-]+@[\w.-]+)\)"),  # who built the kernel, and where
    ("serial", rf"(?<![A-Za-z0-9])(?:en|ib|wl|ww|roce|iw|opa)x({_HEX}{{16}}|{_HEX}{{12}})(?![A-Za-z0-9])"),  # by MAC
)
"""Where an identity without a shape stands, as the group, and what it is: `here` counts in its place alone."""
_FILES = (
    ("host", re.compile("^/proc/sys/kernel/hostname$")),
    ("hex", re.compile("/unique_id$")),
    ("decimal", re.compile("/xgmi_hive_id$")),
    ("hex", re.compile("/server_id_[24]$")),
    (
        "serial",
        re.compile(
            "/(serial_number|product_serial|tt_serial|tt_asic_id|device_sn|device_uuid|board_serial|chassis_serial"
            "|node_guid|sys_image_guid)$"
        ),
    ),
)
"""Files that hold one identity and nothing else."""
_OTHER_HOSTS = re.compile("/topology[.](conf|yaml)$")
"""Slurm's files: lists of hosts cannot be replaced name by name."""
_CALLS = {"serial": "serial", "chassis_serial": "serial", "unique_id": "hex", "hive": "hex"}
"""Calls of a library that give one identity and nothing else, and what it is."""
_NO_NAME = frozenset(["localhost", "none", "unknown", "n/a", "default", "root", "node", "node0", "host", "busy"])
_UNNAMED = ("localhost", "standard input")
_MOST = (1 << 64) - 1

_VOCABULARY_FILES = re.compile(r"/(os-release|cpuinfo|product_name|sys_vendor|hca_type|osrelease)$")
_VOCABULARY = re.compile(
    r"name=\"(?:CPU|GPU)(?:Model|Vendor)\"\s+value=\"([^\"]*)\"|(?:type|name)=\"([^\"]*)\"|<product_[a-z]+>([^<]*)<"
    r"|</?([\w:.-]{1,80})|([\w:.-]{1,80})=\""
)
"""The words of an XML document's own language, and of the products that it names."""


class Redactor:
    """Replaces identities under one key, which is thrown away unless it was given."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def recording(self, recording: Recording) -> Recording:
        """The recording with every identity replaced, in file names, contents, outputs and notes."""
        names, units = _identities(recording)
        words = _words(recording)
        own = {*names, *_host_names(recording.name)}
        held = _Pass(self._key, {name for name in names if name.lower() not in words}, units)
        told = _Pass(self._key, {name for name in own if name.lower() not in words}, units)
        about = _Pass(self._key, own, units)
        return Recording(
            {held.question(question): held.answer(question, answer) for question, answer in recording.answers.items()},
            name=recording.name if recording.name in _UNNAMED else about.identity(recording.name),
            source=about.text(recording.source),
            created=recording.created,
            recorded_by=recording.recorded_by,
            nature=recording.nature,
            unasked=recording.unasked,
            notes=[(told.text(subject), reason, told.text(message)) for subject, reason, message in recording.notes],
        )


class _Pass:
    """All that is replaced in one recording, found in one go, so that no stand-in is taken for an identity."""

    def __init__(self, key: bytes, names: Set[str], units: Set[int]) -> None:
        self._key = key
        self._units = {alias: new for unit in units for alias, new in self._aliases(unit)}
        known = "|".join(map(re.escape, sorted({*names, *self._units}, key=len, reverse=True)))
        patterns: List[Tuple[str, Callable[[str], str]]] = [(place, self.identity) for _, place in _PLACES]
        if known:
            patterns.append((rf"(?<![A-Za-z0-9])((?:0x)?(?i:{known}))(?![A-Za-z0-9])", self.identity))
        patterns += [(rf"({shape})", self._shaped) for shape in _SHAPES]
        patterns.append((rf"({_ADDRESS})", self._addresses))
        self._patterns = [(re.compile(pattern, re.MULTILINE), handle) for pattern, handle in patterns]

    def question(self, question: Question) -> Question:
        """A path may hold an identity; the names of commands and documents are raxl's own."""
        if question.kind in ("text", "data", "names", "link"):
            return Question(question.kind, self.text(question.subject))
        return question

    def answer(self, question: Question, answer: Answer) -> Answer:
        """The answer with every identity replaced."""
        value = answer.value
        if question.kind == "text" and _OTHER_HOSTS.search(question.subject) and answer.known:
            return Answer(None, "not-asked", "it names other hosts, and is left out")
        if question.kind == "data":
            blank = config_space.without_serials(value) if isinstance(value, str) else value
            return Answer(blank, answer.reason, self.text(answer.message))
        if isinstance(value, str) and value.strip() and _kind_of_file(question):
            name = value.strip()
            new = name if name.lower() in _NO_NAME else self.identity(name)
            return Answer(value.replace(name, new), answer.reason, self.text(answer.message))
        return Answer(self._value(value), answer.reason, self.text(answer.message))

    def _value(self, value: object) -> object:
        if isinstance(value, CommandOutput):
            return CommandOutput(value.status, self.text(value.stdout), self.text(value.stderr))
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(entry) for entry in value]
        if isinstance(value, dict):
            return {name: self._value(entry) for name, entry in value.items()}
        return value

    def text(self, text: str) -> str:
        """A text with every identity in it replaced."""
        found = [(*match.span(1), handle) for pattern, handle in self._patterns for match in pattern.finditer(text)]
        parts, place = [], 0
        for start, end, handle in sorted(found, key=lambda one: one[0]):  # of two at one place the stronger comes first
            if start >= place:
                parts += [text[place:start], handle(text[start:end])]
                place = end
        return "".join([*parts, text[place:]])

    def identity(self, text: str) -> str:
        """The stand-in of a whole name, serial or id; each label of a host's name has its own."""
        if _ANY_SHAPE.search(text):
            return _ANY_SHAPE.sub(lambda found: self._shaped(found[0]), text)
        prefix = text[:2] if text[:2] in ("0x", "0X") else ""
        unit = self._units.get(text[len(prefix) :].lower())
        if unit is not None:
            return prefix + (unit.upper() if text[len(prefix) :].isupper() else unit)
        return re.sub(r"[^.@]+", lambda found: self._stand_in(found[0]), text)

    def _shaped(self, text: str) -> str:
        """The stand-in of what has a shape. A GID is a prefix and a GUID, and each is replaced as what it is."""
        digits = re.sub("[^0-9a-fA-F]", "", text)
        if "-" in text or "_" in text or len(digits) not in (32, 40) or text.count(":") not in (7, 19):
            return self._stand_in(text, is_hex=True)
        kept = len(digits) - 32
        parts = [digits[:kept], *(self._half(digits[at : at + 16]) for at in (kept, kept + 16))]
        return _spelled("".join(parts), text)

    def _half(self, digits: str) -> str:
        return digits if digits.lower() == _LINK_LOCAL else self._stand_in(digits, is_hex=True)

    def _stand_in(self, text: str, is_hex: bool = False) -> str:
        """Digits for digits, hex digits in hex words, letters for letters; punctuation and length stay. How it is
        punctuated, and in which case, makes no difference."""
        prefix = text[:2] if text[:2] in ("0x", "0X") else ""
        body = text[len(prefix) :]
        word = re.sub("[^0-9a-z]", "", body.lower())
        if not set(word) - {"0"} or set(word) == {"f"}:  # all zeros and all ones mean none
            return text
        is_hex = is_hex or bool(prefix) or re.fullmatch("(?=.*[a-f])(?=.*[0-9])[0-9a-f]+", word) is not None
        digest = self._digest(word)
        new = "".join(_character(c, next(digest), is_hex) if c.isalnum() else c for c in body)
        return prefix + (new.upper() if is_hex and body.isupper() else new)

    def _aliases(self, unit: int) -> Iterable[Tuple[str, str]]:
        """How the kernel writes a unique id (KFD in decimal, amdgpu in hex), and its stand-in written alike.

        The stand-in is a number with as many digits in both.
        """
        decimal, digits = str(unit), f"{unit:x}"
        low = max(10 ** (len(decimal) - 1), 16 ** (len(digits) - 1))
        high = min(10 ** len(decimal), 16 ** len(digits), 1 << 64)
        digest = self._digest(digits)
        new = low + int.from_bytes(bytes(next(digest) for _ in range(16)), "big") % (high - low)
        yield decimal, str(new)
        yield digits, f"{new:x}"
        yield f"{unit:016x}", f"{new:016x}"

    def _addresses(self, text: str) -> str:
        return "-".join(map(self._address, text.split("-")))

    def _address(self, text: str) -> str:
        """Another IPv4 address whose numbers have as many digits."""
        if _KEPT_ADDRESS.fullmatch(text):
            return text
        ranges: Tuple[Tuple[int, int], ...] = ((1, 9), (10, 90), (100, 156))
        parts = zip(text.split("."), self._digest(text))
        return ".".join(str(ranges[len(part) - 1][0] + byte % ranges[len(part) - 1][1]) for part, byte in parts)

    def _digest(self, text: str) -> Iterator[int]:
        """Bytes without end that depend on the text and the key."""
        counter = 0
        while True:
            yield from hmac.new(
                self._key, f"{counter}:{text}".encode("utf-8", "surrogateescape"), hashlib.sha256
            ).digest()
            counter += 1


def _spelled(digits: str, like: str) -> str:
    """Digits, punctuated as another text."""
    left = iter(digits)
    return "".join(next(left) if character in string.hexdigits else character for character in like)


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


def _kind_of_file(question: Question) -> str | None:
    """What identity a file holds; None for all others."""
    if question.kind == "library":
        return _CALLS.get(question.subject.split(" ")[1])
    if question.kind != "text":
        return None
    return next((kind for kind, pattern in _FILES if pattern.search(question.subject)), None)


def _identities(recording: Recording) -> Tuple[Set[str], Set[int]]:
    """Names and serials that are replaced wherever they occur, and unique ids as numbers."""
    names: Set[str] = set()
    units: Set[int] = set()
    for question, answer in recording.answers.items():
        if question.kind == "data":
            continue
        if question.kind == "ray" and isinstance(answer.value, dict):
            names.update(_host_names(str(answer.value.get("name") or "")))
        whole = _kind_of_file(question)
        for text in _texts(answer):
            found = [(whole, text.strip())] if whole else []
            found += [(kind, match[1]) for kind, place in _COMPILED for match in place.finditer(text)]
            for kind, name in found:
                if kind in ("host", "user"):
                    names.update(_host_names(name))
                elif kind == "serial" and len(name) > 5 and re.search("[0-9]", name):
                    names.add(name)
                elif kind in ("hex", "decimal"):
                    units.update(_unit(name, 16 if kind == "hex" else 10))
    return names, units


_USER = re.compile(next(place for kind, place in _PLACES if kind == "user"))
_COMPILED = [(kind, re.compile(place, re.MULTILINE)) for kind, place in _PLACES]


def _unit(text: str, base: int) -> Iterable[int]:
    try:
        number = int(text, base)
    except ValueError:
        return
    if 10**5 <= number < _MOST:
        yield number


def _words(recording: Recording) -> Set[str]:
    """The words of the kernel's paths, of products, and of the languages in which tools write."""
    texts: List[str] = []
    for question, answer in recording.answers.items():
        kind, subject = question
        if kind in ("text", "data", "names", "link"):
            texts.append(_USER.sub("", subject))
        if kind in ("command", "document"):
            for text in _texts(answer):
                texts += [word for found in _VOCABULARY.findall(text) for word in found] if "<" in text else [text]
        elif subject == "uname" or _VOCABULARY_FILES.search(subject):
            texts += _texts(answer)
    return {word.lower() for text in texts for word in re.split("[^A-Za-z0-9]+", text)}


def _host_names(text: str) -> Iterable[str]:
    name = text.strip()
    host, _, domain = name.partition(".")
    for word in (name, host, *([domain] if "." in domain else [])):
        if len(word) > 2 and word.lower() not in _NO_NAME and not word.isdigit():
            yield word


def _texts(answer: Answer) -> Iterable[str]:
    value = answer.value
    if isinstance(value, CommandOutput):
        return (value.stdout, value.stderr)
    if isinstance(value, str):
        return (value,)
    return tuple(str(entry) for entry in value.values()) if isinstance(value, dict) else ()
