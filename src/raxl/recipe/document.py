"""YAML text as a tree in which every value knows its line: bounded, and read alike by YAML 1.1 and 1.2.

A document is data alone. Tags, anchors, aliases and merge keys are refused, and so are keys that stand twice. What one
version of YAML takes for a switch or a number and the other for text (`on`, `1:20`, `010`) is refused too: in quotes it
is text everywhere. Days stay text, and a number may have an exponent.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

from raxl.errors import UnreadableInput

LARGEST = 256 * 1024
DEEPEST = 16
"""Of a KubeRay patch: `template.spec.affinity.nodeAffinity…` goes down to 12."""
_LONGEST_NUMBER = 40
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", re.ASCII)
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?|[-+]?\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_NOT_OF_YAML = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9._/]*([ -][A-Za-z0-9._/]+)*", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?", re.ASCII)

Scalar = Union[str, int, float, bool, None]
Keys = tuple[Union[str, int], ...]
"""Where something stands: `("env", "set", 2, "name")`."""


class Place(NamedTuple):
    """A line of a file; 0 where it is none."""

    origin: str
    line: int

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}" if self.line else self.origin


class Fault(NamedTuple):
    """What is wrong, and where."""

    place: Place
    keys: Keys
    what: str

    def __str__(self) -> str:
        where = f" {spelled(self.keys)}" if self.keys else ""
        return f"{self.place}{where}: {self.what}"


class Node(NamedTuple):
    """A value, and where it stands: an entry of a mapping where its key does."""

    value: Union[Scalar, dict[str, Node], list[Node]]
    place: Place

    @property
    def entries(self) -> dict[str, Node]:
        """By key, where it is a mapping; else none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """One after another, where it is a list; else none."""
        return self.value if isinstance(self.value, list) else []

    def plain(self) -> Any:
        """The value without its lines."""
        if isinstance(self.value, dict):
            return {key: one.plain() for key, one in self.value.items()}
        return [one.plain() for one in self.value] if isinstance(self.value, list) else self.value

    def place_of(self, keys: Keys) -> Place:
        """Where the keys lead to, as far as they lead."""
        node = self
        for key in keys:
            below = node.entries.get(str(key))
            if isinstance(key, int):
                below = node.items[key] if key < len(node.items) else None
            if below is None:
                break
            node = below
        return node.place


class Document(NamedTuple):
    """What a text holds; no tree where a fault hides the rest."""

    tree: Node | None
    faults: Sequence[Fault]


class _Broken(Exception):
    def __init__(self, what: str, line: int, keys: Keys = ()) -> None:
        super().__init__(what)
        self.what, self.line, self.keys = what, line, keys


def content(path: Path, most: int = LARGEST) -> bytes:
    """All of a regular file, or one byte more than it may have: a pipe or a device may never end. Raises
    UnreadableInput for what is none."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableInput(f"{path} cannot be read", "it is no regular file")
            return file.read(most + 1)
    except FileNotFoundError as error:
        raise UnreadableInput(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path} cannot be read", getattr(error, "strerror", None) or str(error)) from error


def of_bytes(data: bytes, origin: str) -> Document:
    """The document that a file's bytes are."""
    if len(data) > LARGEST:
        return Document(None, [Fault(Place(origin, 0), (), f"is larger than {LARGEST // 1024} KiB")])
    try:
        return of_text(data.decode("utf-8-sig"), origin)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Document(None, [Fault(Place(origin, line), (), "is no UTF-8 text")])


def of_text(text: str, origin: str) -> Document:
    """The document that a text is."""
    if len(text) > LARGEST:
        return Document(None, [Fault(Place(origin, 0), (), f"is larger than {LARGEST // 1024} KiB")])
    reading = _Reading(origin)
    try:
        tree = reading.document(text)
    except _Broken as error:
        return Document(None, [*reading.faults, Fault(Place(origin, error.line), error.keys, error.what)])
    return Document(tree, reading.faults)


def written(value: Any, indent: str = "") -> str:
    """Plain values as YAML that reads back as the same, here and everywhere: what is not plainly a word is quoted."""
    if isinstance(value, dict) and value:
        return "".join(_written_entry(f"{indent}{_written_text(key)}:", one, indent) for key, one in value.items())
    if isinstance(value, list) and value:
        return "".join(
            f"{indent}- {written(one, f'{indent}  ').removeprefix(f'{indent}  ')}"
            if one
            else f"{indent}- {_flat(one)}\n"
            for one in value
        )
    return f"{indent}{_flat(value)}\n"


def _written_entry(head: str, value: Any, indent: str) -> str:
    if isinstance(value, (dict, list)) and value:
        return f"{head}\n{written(value, f'{indent}  ')}"
    return f"{head} {_flat(value)}\n"


def _flat(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return _written_text(value) if isinstance(value, str) else json.dumps(value)


def _written_text(text: str) -> str:
    plain = _WORD.fullmatch(text) and not _is_doubtful(text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)


def spelled(keys: Keys) -> str:
    """`env.set[2].name`; a key that holds more than a word stands in brackets: `ray.labels['raxl/scale-up']`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[\w-]+", key):
            text += f".{key}" if text else key
        else:
            text += f"[{key[:80]!r}]"
    return text


class _Reading:
    """One text, event by event: nothing is built that is too deep, and nothing recurses."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.faults: list[Fault] = []

    def document(self, text: str) -> Node:
        import yaml

        if unseen := _NOT_OF_YAML.search(text):
            line = text.count("\n", 0, unseen.start()) + 1
            raise _Broken(f"is no YAML (it holds the character U+{ord(unseen[0]):04X})", line)
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            return self._built(yaml, yaml.parse(text, Loader=loader))
        except yaml.YAMLError as error:
            inside = "quoted" in str(getattr(error, "context", None))
            marks = ("context_mark", "problem_mark") if inside else ("problem_mark", "context_mark")
            mark = next((found for name in marks if (found := getattr(error, name, None))), None)
            problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
            line = min(mark.line, text.count("\n")) + 1 if mark else 0
            raise _Broken(f"is no YAML ({' '.join(problem.split())[:120]})", line) from error

    def _built(self, yaml: Any, events: Iterator[Any]) -> Node:
        open_: list[_Open] = []
        root: Node | None = None
        for event in events:
            line, keys = event.start_mark.line + 1, _keys(open_)
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise _Broken("anchors and aliases are not taken: say the value where it belongs", line, keys)
            if getattr(event, "tag", None) is not None:
                raise _Broken(f"tags are not taken: {event.tag[:60]}", line, keys)
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise _Broken("is a second document: a file holds one recipe", line)
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                if open_ and open_[-1].wants_key:
                    raise _Broken("a key is to be a word", line, keys)
                if len(open_) == DEEPEST:
                    raise _Broken(f"is nested deeper than {DEEPEST}", line, keys)
                value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                node = self._put(open_, value, line)
                root = root or node
                open_.append(_Open(value))
            elif isinstance(event, yaml.ScalarEvent):
                plain = event.implicit[0]
                if open_ and open_[-1].wants_key:
                    self._key(open_[-1], event.value, plain, line, keys)
                else:
                    node = self._put(open_, _scalar(event.value, plain, line, keys), line)
                    root = root or node
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                open_.pop()
        return root or Node(None, Place(self.origin, 1))

    def _key(self, mapping: _Open, text: str, plain: bool, line: int, keys: Keys) -> None:
        if plain and text == "<<":
            raise _Broken("merge keys are not taken", line, keys)
        if plain and _is_doubtful(text):
            raise _Broken(f"the key {text} is no text to every reader of YAML: quote it", line, keys)
        if text in mapping.value:
            self.faults.append(Fault(Place(self.origin, line), (*keys, text), "is there twice"))
        mapping.key, mapping.line = text, line

    def _put(self, open_: list[_Open], value: Any, line: int) -> Node:
        """The value at its place in what is open."""
        if not open_:
            return Node(value, Place(self.origin, line))
        around = open_[-1]
        if around.key is None:
            node = Node(value, Place(self.origin, line))
            around.value.append(node)
            return node
        node = Node(value, Place(self.origin, around.line))
        around.value.setdefault(around.key, node)
        around.last, around.key = around.key, None
        return node


class _Open:
    """A mapping or a list whose end is not read yet."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key: str | None = None
        """The key whose value comes next."""
        self.last: str | None = None
        self.line = 0

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


def _keys(open_: Sequence[_Open]) -> Keys:
    """Where the next value goes."""
    found: list[str | int] = []
    for place, one in enumerate(open_):
        if isinstance(one.value, list):
            found.append(len(one.value) - (place + 1 < len(open_)))
        elif one.key is not None:
            found.append(one.key)
        elif place + 1 < len(open_) and one.last is not None:
            found.append(one.last)
    return tuple(found)


def _scalar(text: str, plain: bool, line: int, keys: Keys) -> Scalar:
    if not plain:
        return text
    if text in ("", "~"):
        return None
    word = text.lower()
    if word in _WORDS and text in (word, word.capitalize(), word.upper()):
        return _WORDS[word]
    if _is_doubtful(text):
        raise _Broken(f"{text[:40]} is read differently by YAML 1.1 and 1.2: quote it", line, keys)
    return _number(text, line, keys) if _NUMBER.fullmatch(text) or _INTEGER.fullmatch(text) else text


def _number(text: str, line: int, keys: Keys) -> int | float:
    if len(text) > _LONGEST_NUMBER:
        raise _Broken(f"a number has at most {_LONGEST_NUMBER} digits", line, keys)
    if _INTEGER.fullmatch(text):
        whole = int(text, 0) if "x" in text else int(text)
        if not -(2**63) <= whole < 2**63:
            raise _Broken(f"{text} is too large a number", line, keys)
        return whole
    value = float(text)
    if not math.isfinite(value):
        raise _Broken(f"{text} is too large a number", line, keys)
    return value


_DOUBTFUL = re.compile(
    r"(?i:y|n|yes|no|on|off)"
    r"|[-+]?0[0-7_]+|0o[0-7]+|[-+]?0b[01_]+|[-+]?0x[0-9a-fA-F]*_[0-9a-fA-F_]*|[-+]0x[0-9a-fA-F]+"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
    r"|[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|[-+]?0[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?i:inf)|\.(?i:nan)|=|<<",
    re.ASCII,
)
"""What the implicit types of https://yaml.org/type/ and of YAML 1.2's core schema take for different things, and
numbers that are none."""


def _is_doubtful(text: str) -> bool:
    return _DOUBTFUL.fullmatch(text) is not None and not _DAY.fullmatch(text)
