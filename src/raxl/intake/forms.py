"""Which tools a text comes from: recognised by what it says, and given as the questions that it would have answered."""

from __future__ import annotations

import re
from importlib import import_module

from raxl.host import Question
from raxl.host.record import question_of_command
from raxl.intake import documents
from raxl.sources import nvidia_smi_topo, nvidia_smi_xml

HWLOC = Question("document", "hwloc-xml")
NCCL = Question("document", "nccl-xml")
MATRIX = question_of_command(nvidia_smi_topo.COMMAND)
KNOWN = (
    "a raxl snapshot, a sysfs tree or a tar of one, hwloc XML, NCCL topology XML, nvidia-smi -q -x, -q, -L, topo -m, "
    "topo -p2p, nvlink -s, c2c -s, --query-gpu as csv, its table and error lines, amd-smi and rocm-smi (text, JSON, "
    "csv), lspci, ibstat, ibstatus, ibv_devinfo, ibdev2netdev, rdma link, nicctl show card, ibnetdiscover"
)
"""The forms, for the line that refuses a file."""

_ROOTS = (
    (re.compile(r"<topology\b"), HWLOC),
    (re.compile(rf"<{nvidia_smi_xml.ROOT}\b"), question_of_command(nvidia_smi_xml.COMMAND)),
    (re.compile(r"<system\b[^>]*>\s*(<!--.*?-->\s*)*<(cpu|/system)\b|<system\s+version=", re.DOTALL), NCCL),
)
_ENOUGH = 1 << 16
"""An XML form shows in its first 64 KiB; only a comment can push it further."""
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(content: bytes) -> str:
    """The text of a file; PowerShell writes UTF-16 with a byte order mark. Undecodable bytes become U+FFFD."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    return content.decode("utf-8", "replace")


def recognise(text: str) -> list[tuple[Question, str]]:
    """The questions that this text answers, each with what the tool itself wrote; none for a text of no known form.

    A ticket may hold the outputs of several tools one below the other, with prompts between them.
    """
    start = text[:_ENOUGH]
    if "<" in start:
        first = [(found.start(), place) for place, (root, _) in enumerate(_ROOTS) if (found := root.search(start))]
        if first:
            root, question = _ROOTS[min(first)[1]]
            return [(question, _document(root, text))]
    held = [(MATRIX, nvidia_smi_topo.own(text))] if nvidia_smi_topo.recognises(text) else []
    for form, name in documents.TEXTS.items():
        module = import_module(name)
        if module.recognises(text):
            held.append((Question("document", form), module.own(text)))
    return held


def _document(root: re.Pattern[str], text: str) -> str:
    """The XML document: a file may hold a prompt, a log or another tool's output beside it."""
    found = root.search(text)
    assert found is not None
    tag = found[0][1:].split()[0]
    start = min(place for place in (text.find("<?xml"), text.find("<!DOCTYPE"), found.start()) if place >= 0)
    end = text.rfind(f"</{tag}>")
    return text[start : end + len(f"</{tag}>")] if end > found.start() else text[start:]
