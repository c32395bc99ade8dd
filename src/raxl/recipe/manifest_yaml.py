"""YAML of others: every document of a file as plain values with their lines, within bounds; and values as YAML.

Anchors and merge keys are followed, and what they unfold to is counted. No tag makes an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from raxl.errors import UnreadableInput
from raxl.recipe.kuberay_tree import Path, Tree

_LARGEST = 1 << 20
_DEEPEST = 64
_MOST = 50_000
"""Values of all documents together, those of aliases counted as often as they are used."""
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = ("str", "int", "float", "bool", "null", "map", "seq")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_TEMPLATE = re.compile(r"\{\{[-\s]*(?:\.|include|if|range|with|toYaml|end)")


def written(value: Any) -> str:
    """The value as YAML, its keys in their order."""
    import yaml

    class Writer(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(
        value, Dumper=Writer, sort_keys=False, default_flow_style=False, allow_unicode=True, width=1000
    )
    return text


class _Node(NamedTuple):
    kind: str
    """scalar | mapping | list"""
    value: Any
    line: int


class _Open:
    """A mapping or list that is being read; of a mapping keys and values take turns."""

    def __init__(self, kind: str, line: int, anchor: Optional[str]) -> None:
        self.kind, self.line, self.anchor = kind, line, anchor
        self.parts: list[_Node] = []

    def closed(self) -> _Node:
        pairs = list(zip(self.parts[::2], self.parts[1::2]))
        return _Node(self.kind, pairs if self.kind == "mapping" else self.parts, self.line)


def read(text: str, origin: str) -> list[Tree]:
    """The documents of a manifest. Raises UnreadableInput, with the line, for what is no plain YAML."""
    import yaml

    if len(text) > _LARGEST:
        raise UnreadableInput(f"{origin} is no manifest", "it is larger than 1 MiB")
    try:
        return [_Expanded(root).tree() for root in _documents(text)]
    except _Refused as error:
        raise UnreadableInput(f"{origin}:{error.line} is no manifest", error.why) from error
    except (yaml.YAMLError, ValueError) as error:
        if _TEMPLATE.search(text):
            raise UnreadableInput(
                f"{origin} is a template", "raxl reads manifests", "Render it: helm template"
            ) from error
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark is not None else ""
        why = " ".join(str(getattr(error, "problem", None) or error).split())[:120]
        raise UnreadableInput(f"{origin}{place} is no YAML", why) from error


class _Refused(Exception):
    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


def _documents(text: str) -> Iterator[_Node]:
    """The root of each document that is not empty. Depth and number of what is read are bounded."""
    import yaml

    stack: list[_Open] = []
    anchors: dict[str, _Node] = {}
    seen = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        line = event.start_mark.line + 1 if event.start_mark else 1
        node: Optional[_Node] = None
        if isinstance(event, yaml.DocumentStartEvent):
            stack, anchors = [_Open("list", line, None)], {}
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            _plain_tag(event.tag, line)
            stack.append(_Open("mapping" if isinstance(event, yaml.MappingStartEvent) else "list", line, event.anchor))
            if len(stack) > _DEEPEST:
                raise _Refused(line, f"it is nested deeper than {_DEEPEST}")
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = stack.pop()
            node = ended.closed()
            if ended.anchor:
                anchors[ended.anchor] = node
        elif isinstance(event, yaml.ScalarEvent):
            node = _Node("scalar", _scalar(event.value, event.tag, event.implicit[0], line), line)
            if event.anchor:
                anchors[event.anchor] = node
        elif isinstance(event, yaml.AliasEvent):
            meant = anchors.get(event.anchor or "")
            if meant is None:
                raise _Refused(line, f"*{(event.anchor or '')[:40]} stands for nothing that is whole")
            node = meant._replace(line=line)
        elif isinstance(event, yaml.DocumentEndEvent) and stack and stack[0].parts:
            yield stack[0].parts[0]
        if node is not None:
            seen += 1
            if seen > _MOST:
                raise _Refused(line, f"it has more than {_MOST} values")
            stack[-1].parts.append(node)


def _plain_tag(tag: Optional[str], line: int) -> str:
    """The tag without its prefix; empty where there is none."""
    if tag is None or tag == "!":
        return ""
    if tag.startswith(_STANDARD) and tag[len(_STANDARD) :] in _PLAIN_TAGS:
        return tag[len(_STANDARD) :]
    raise _Refused(line, f"the tag {tag[:60]!r} is none of plain YAML")


def _scalar(word: str, tag: Optional[str], is_plain: bool, line: int) -> Any:
    kind = _plain_tag(tag, line)
    if kind == "str" or (not is_plain and not kind):
        return word
    if word in ("", "~", "null", "Null", "NULL"):
        return None
    if word.lower() in _SWITCHES and word in (word.lower(), word.title(), word.upper()):
        return _SWITCHES[word.lower()]
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _FLOAT.fullmatch(word) else word


class _Expanded:
    """A document's nodes as values: aliases and merge keys in their places, and counted."""

    def __init__(self, root: _Node) -> None:
        self.root = root
        self.lines: dict[Path, int] = {}
        self.twice: list[Path] = []
        self.seen = 0

    def tree(self) -> Tree:
        value = self._value(self.root, ())
        return Tree(value, self.lines, tuple(self.twice))

    def _value(self, node: _Node, path: Path) -> Any:
        self.seen += 1
        if self.seen > _MOST or len(path) > _DEEPEST:
            raise _Refused(node.line, "its aliases unfold without end")
        self.lines.setdefault(path, node.line)
        if node.kind == "mapping":
            return self._mapping(node, path)
        if node.kind == "list":
            return [self._value(one, (*path, place)) for place, one in enumerate(node.value)]
        return node.value

    def _mapping(self, node: _Node, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        inherited: list[_Node] = []
        for key, value in node.value:
            if key.kind != "scalar":
                raise _Refused(key.line, "a key is no plain word")
            if key.value == "<<":
                inherited += value.value if value.kind == "list" else [value]
                continue
            name = str(key.value)
            at_ = (*path, name)
            if name in result:
                self.twice.append(at_)
                self.lines[at_] = key.line
                continue
            self.lines[at_] = key.line
            result[name] = self._value(value, at_)
        for one in inherited:
            if one.kind != "mapping":
                raise _Refused(one.line, "<< is to name a mapping")
            for name, value in self._mapping_of(one, path).items():
                result.setdefault(name, value)
        return result

    def _mapping_of(self, node: _Node, path: Path) -> dict[str, Any]:
        """What a merge key brings. Its lines count where the mapping says nothing itself."""
        kept, self.lines = self.lines, {}
        try:
            value = self._value(node, path)
        finally:
            brought, self.lines = self.lines, kept
        for at_, line in brought.items():
            self.lines.setdefault(at_, line)
        return value if isinstance(value, dict) else {}
