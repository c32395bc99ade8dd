"""Which tool a text comes from: recognised by what it says. The answer is the question that it would have answered."""

from __future__ import annotations

import re

from raxl.host import Question
from raxl.host.record import question_of_command
from raxl.sources import nvidia_smi_topo, nvidia_smi_xml

HWLOC = Question("document", "hwloc-xml")
NCCL = Question("document", "nccl-xml")
KNOWN = (
    "a raxl snapshot, a sysfs tree or a tar of one, hwloc XML, nvidia-smi -q -x, nvidia-smi topo -m, NCCL topology XML"
)
"""The forms, for the line that refuses a file."""

_ROOTS = (
    (re.compile(r"<topology\b"), HWLOC),
    (re.compile(rf"<{nvidia_smi_xml.ROOT}\b"), question_of_command(nvidia_smi_xml.COMMAND)),
    (re.compile(r"<system\b[^>]*>\s*(<!--.*?-->\s*)*<(cpu|/system)\b|<system\s+version=", re.DOTALL), NCCL),
)
_ENOUGH = 1 << 16
"""A form shows in its first 64 KiB; only a comment can push it further."""
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(content: bytes) -> str:
    """The text of a file; PowerShell writes UTF-16 with a byte order mark. Undecodable bytes become U+FFFD."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    return content.decode("utf-8", "replace")


def own(question: Question, text: str) -> str:
    """What the tool itself wrote: a file may hold a prompt, a log or another tool's output beside it."""
    pattern = next((pattern for pattern, answered in _ROOTS if answered == question), None)
    found = pattern.search(text) if pattern else None
    if found is None:
        return nvidia_smi_topo.own(text)
    root = found[0][1:].split()[0]
    start = min(place for place in (text.find("<?xml"), text.find("<!DOCTYPE"), found.start()) if place >= 0)
    end = text.rfind(f"</{root}>")
    return text[start : end + len(f"</{root}>")] if end > found.start() else text[start:]


def recognise(text: str) -> Question | None:
    """The question that this text answers; None for a text of no form that is known."""
    start = text[:_ENOUGH]
    if "<" in start:
        first = [(found.start(), question) for pattern, question in _ROOTS if (found := pattern.search(start))]
        if first:
            return min(first)[1]
    if nvidia_smi_topo.recognises(text):
        return question_of_command(nvidia_smi_topo.COMMAND)
    return None
