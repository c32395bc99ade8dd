"""What `rbln-smi` (also called `rbln-stat`) says of Rebellions' NPUs: its JSON (`-j`) and its table.

https://docs.rbln.ai/latest/software/system_management/management_tools/rbln_smi.html. The table rounds the memory to a
tenth of a GiB, writes `GB` and `GiB` in one column, and names a card of several devices (RBLN-CA25) in its first row.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import json_text, tool_box, tool_words
from raxl.sources.numbers import MOST_PLACES, whole

TOOL = "rbln-smi"
VENDOR, RESOURCE, VISIBLE = "rebellions", "RBLN", "RBLN_DEVICES"
_VERSION = re.compile(r"KMD ver(?:sion)?\s{0,8}:\s{0,8}([\w./-]{1,40})")
_TITLE = re.compile(r"Device Information\s{1,8}KMD ver")
_DEVICE = re.compile(r"rbln([0-9]{1,5})")
_MEMORY = re.compile(r"([0-9.]{1,20} ?[A-Za-z]{0,3}) ?/ ?([0-9.]{1,20} ?[A-Za-z]{0,3}|\S{1,20})")
_STATES = {"normal": "ok"}
"""By the JSON's `status`, which is the device's health; any other one is told, and no good one."""
_BEFORE_ADDRESS = ("name", "device", "address")
_AFTER_ADDRESS = ("temperature", "power", "perf", "memory", "util")


def has_json(text: str) -> bool:
    """Whether a document of `rbln-smi -j` stands in the text."""
    return '"KMD_version"' in text or ('"npu"' in text and any(True for _ in _entries(text)))


def has_table(text: str) -> bool:
    """Whether the table's head or a row of it stands in the text."""
    return _TITLE.search(text) is not None or ("rbln" in text.lower() and any(words for _, words in rows(text)))


def rows(text: str) -> Iterator[Tuple[str, Mapping[str, str]]]:
    """The table's lines that are read, each with the words of the device that it tells of, none for the head's."""
    name: Optional[str] = None
    for line in tool_words.lines(text):
        cells = tool_words.cells(line)
        if _VERSION.search(line) or _TITLE.search(line):
            yield line, {}
        place = next((i for i, cell in enumerate(cells) if _DEVICE.fullmatch(cell)), None)
        number = whole(cells[0], MOST_PLACES) if cells else None
        if place is None or number is None:
            continue
        words = {"npu": cells[0], **dict(zip(_AFTER_ADDRESS, cells[place + 2 :]))}
        words.update(
            zip(_BEFORE_ADDRESS, cells[place - 1 : place + 2] if place > 1 else ("", *cells[place : place + 2]))
        )
        name = words["name"] = words["name"] or name or ""
        yield line, words


def report(text: str) -> Report:
    """The NPUs of both forms, and the driver's version."""
    claims: List[Claim] = []
    problems: List[Problem] = []
    versions: List[Optional[str]] = []
    is_own = False
    for document in json_text.documents(text):
        entries = list(_devices(document.value))
        if isinstance(document.value, dict) and "KMD_version" in document.value:
            versions.append(str(document.value["KMD_version"]))
            is_own = True
        claims += [_of_json(entry, document.damage is not None and entry is entries[-1]) for entry in entries]
        problems += document.problems(TOOL, TOOL) if entries or is_own else ()
    if not is_own and '"KMD_version"' in text:
        problems.append(Problem("accelerators", FAILED, f"the JSON of {TOOL} cannot be read", (TOOL,)))
    table = list(rows(text))
    for line, words in table:
        found = _VERSION.search(line)
        versions.append(found[1] if found else None)
        claims += [_of_table(words, tool_box.is_broken(line))] if words else []
    of_devices = {line for line, words in table if words}
    problems += tool_box.damage(TOOL, TOOL, tool_words.lines(text), of_devices)
    if table and not of_devices:
        problems.append(tool_box.empty(TOOL, TOOL, "NPU"))
    told = dict.fromkeys(one for one in map(tool_words.value_of, versions) if one)
    return Report(
        claims=tuple({(one.index, one.address, one.uuid): one for one in reversed(claims)}.values())[::-1],
        software=tuple(Software("rebellions", version, TOOL) for version in told),
        problems=tuple(problems),
    )


def _entries(text: str) -> Iterator[Mapping[str, Any]]:
    for document in json_text.documents(text):
        yield from _devices(document.value)


def _devices(value: Any) -> Iterator[Mapping[str, Any]]:
    """The devices of a document; a list of them alone is one too."""
    held = value.get("devices") if isinstance(value, dict) else value
    for entry in held if isinstance(held, list) else ():
        if isinstance(entry, dict) and "npu" in entry and entry.keys() & {"sid", "device", "pci", "board_info"}:
            yield entry


def _of_json(entry: Mapping[str, Any], is_cut: bool) -> Claim:
    flat = dict(entry)
    for group, names in (("pci", ("bus_id", "numa_node", "link_speed", "link_width")), ("memory", ("total",))):
        held = entry.get(group)
        flat.update({f"{group}.{name}": held[name] for name in names if name in held} if isinstance(held, dict) else {})
    words = tool_words.Words(TOOL, flat, is_cut)
    attributes = {"sid": words.said("sid"), "firmware": words.said("fw_ver"), "status": words.said("status")}
    status = words.said("status")
    return _claim(
        words,
        {"address": "pci.bus_id", "memory": "memory.total"},
        uuid=words.said("uuid"),
        numa_node=whole(words.said("pci.numa_node"), MOST_PLACES),
        link=tool_words.link(words.said("pci.link_speed"), words.said("pci.link_width")),
        state=None if status is None else _STATES.get(status.lower(), "degraded"),
        attributes=attributes,
    )


def _of_table(words: Mapping[str, str], is_cut: bool) -> Claim:
    found = _MEMORY.search(words.get("memory", ""))
    held = {**words, **({"memory": found[2].strip()} if found else {})}
    is_cut = is_cut or "memory" not in words
    attributes = {"memory_as_printed": held.get("memory")} if found else {}
    return _claim(
        tool_words.Words(TOOL, held, is_cut), {"address": "address", "memory": "memory"}, attributes=attributes
    )


def _claim(words: tool_words.Words, names: Mapping[str, str], **more: Any) -> Claim:
    device = words.said("device")
    node = _DEVICE.fullmatch(device or "")
    index = whole(words.said("npu"), MOST_PLACES)
    memory = tool_words.size(words.said(names["memory"]))
    fields = {
        "model": "name",
        "uuid": "uuid",
        "memory_bytes": names["memory"],
        "numa_node": "pci.numa_node",
        "state": "status",
    }
    told = {"model": words.said("name"), "memory_bytes": memory, **more}
    silent = {field: words.silence(name) for field, name in fields.items() if told.get(field) is None}
    attributes = {"device_name": device, **more.pop("attributes", {})}
    if told["model"] is None:
        silent["ray.type"] = Silence(silent["model"].reason, silent["model"].message, silent["model"].evidence)
    return Claim(
        vendor=VENDOR,
        kind="npu",
        evidence=TOOL,
        address=pci_address(words.said(names["address"])),
        index=index if index is not None else whole(node[1], MOST_PLACES) if node else None,
        model=told["model"],
        memory_bytes=memory,
        ray=RayView(resource=RESOURCE, type=told["model"]),
        visible_env=VISIBLE,
        attributes={name: word for name, word in attributes.items() if word is not None},
        silent=silent,
        **more,
    )
