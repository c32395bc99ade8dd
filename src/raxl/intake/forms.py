"""Which tools a text comes from: recognised by what it says, and given as the questions that it would have answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module

from raxl.host import Question
from raxl.host.record import question_of_command
from raxl.intake import cloud_documents, documents, kubernetes_nodes
from raxl.sources import nvidia_smi_topo, nvidia_smi_xml

HWLOC = Question("document", "hwloc-xml")
NCCL = Question("document", "nccl-xml")
MATRIX = question_of_command(nvidia_smi_topo.COMMAND)
KNOWN = (
    "a raxl snapshot, a sysfs tree or a tar of one, hwloc XML, NCCL topology XML, nvidia-smi -q -x, -q, -L, topo -m, "
    "topo -p2p, nvlink -s, c2c -s, --query-gpu as csv, its table and error lines, amd-smi and rocm-smi (text, JSON, "
    "csv), lspci, ibstat, ibstatus, ibv_devinfo, ibdev2netdev, rdma link, nicctl show card, ibnetdiscover, "
    "a debug log of NCCL, RCCL or UCX, an environment of NAME=value lines (NCCL_*, UCX_*, a TPU's), "
    "neuron-ls (tables, JSON), neuron-monitor, hl-smi (table, -Q as csv, -n link, -n ports), "
    "npu-smi info and its -t topo, a GPUStack worker's record, xpu-smi discovery and topology (text, JSON), "
    "rbln-smi, furiosa-smi, tt-smi -s, Tenstorrent cluster descriptors, mx-smi, "
    "ray.nodes(), ray list nodes, "
    "kernel logs (dmesg, kmsg, journal, syslog), a fabric manager's log, "
    "metadata of AWS, Azure, Google Cloud and OCI, NetQ's compute nodes, kubectl get nodes (JSON, YAML), "
    "Slurm's topology.conf, topology.yaml and scontrol show topo, Topograph's cluster models"
)
"""The forms, for the line that refuses a file."""

_ROOTS = (
    (re.compile(r"<topology\b"), HWLOC),
    (re.compile(rf"<{nvidia_smi_xml.ROOT}\b"), question_of_command(nvidia_smi_xml.COMMAND)),
    (re.compile(r"<system\b[^>]*>\s*(<!--.*?-->\s*)*<(cpu|/system)\b|<system\s+version=", re.DOTALL), NCCL),
)
_ENOUGH = 1 << 16
"""An XML form shows in its first 64 KiB; only a comment can push it further."""
_BEFORE = (re.compile(r"(?:> ?){1,8}"), re.compile(r"[A-Za-z0-9][\w.-]{0,252}: ?"))
"""Quotes of a mail, and the host that `pdsh` and `clush` name: the same before every line."""
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")
_HEAD = 1 << 10
"""Bytes that tell UTF-16 without a mark: of a tool's text nearly each second one is 0."""
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(content: bytes) -> str:
    """The text of a file; PowerShell writes UTF-16 with a byte order mark. Undecodable bytes become U+FFFD."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    head = content[:_HEAD]
    if len(head) > 8 and head[1::2].count(0) * 2 > len(head) * 0.9 and 0 not in head[::2]:
        return content.decode("utf-16-le", "replace")
    return content.decode("utf-8", "replace")


def recognise(text: str) -> list[tuple[Question, str]]:
    """The questions that this text answers, each with what the tool itself wrote; none for a text of no known form.

    A ticket may hold the outputs of several tools one below the other, with prompts between them. What a mail, a
    parallel shell or a web page put before every line is taken off.
    """
    return next((held for variant in _variants(text) if (held := _held(variant))), [])


def empty(text: str) -> str | None:
    """The form of a document that lists no node; None for any other text."""
    if len(text) > _ENOUGH:
        return None
    lists = {cloud_documents.FORM: cloud_documents.is_empty, kubernetes_nodes.FORM: kubernetes_nodes.is_empty}
    return next((form for form, is_empty in lists.items() if is_empty(text)), None)


def _variants(text: str) -> Iterator[str]:
    """The text without what stands before each of its lines, where that is the same, then as it is; its blanks are
    plain."""
    text = text if text.isascii() else text.translate(_BLANKS)
    for before in _BEFORE:
        if before.match(text.lstrip()[:300]):
            lines = text.splitlines()
            found = [before.match(line) for line in lines if line.strip()]
            if len(found) > 1 and all(found) and len({one[0].strip() for one in found if one}) == 1:
                yield "".join(f"{before.sub('', line, count=1)}\n" for line in lines)
    yield text


def _held(text: str) -> list[tuple[Question, str]]:
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
