"""XML that comes from elsewhere: no entities, no depth without end, and what is left of a document that was cut off."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

DEEPEST = 200
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*>")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def parse(text: str) -> tuple[Element | None, str | None]:
    """The root element and None; or as much as could be read, and why it ends there.

    An element that was open at the cut is in the tree, with what it had. Entity declarations are refused: a document
    of a tool has none, and they can expand without end.
    """
    if "<!ENTITY" in text:
        return None, "it declares XML entities, which raxl does not expand"
    body = _DOCTYPE.sub("", _DECLARATION.sub("", text, count=1), count=1).strip()
    parser: Any = XMLPullParser(events=("start",))
    error = None
    try:
        parser.feed(body.encode("utf-8", "replace"))
        parser.close()
    except ParseError as problem:
        error = f"not well-formed XML: {problem}"
    root: Any = None
    try:
        root = next((event[1] for event in parser.read_events()), None)
    except ParseError:
        return None, error
    if root is not None and _depth(root) > DEEPEST:
        return None, f"elements are nested deeper than {DEEPEST}"
    return root, error


def _depth(root: Element) -> int:
    deepest, level = 0, [root]
    while level and deepest <= DEEPEST:
        deepest += 1
        level = [child for element in level for child in element]
    return deepest
