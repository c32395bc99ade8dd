"""`hl-smi`, the tool of Intel Gaudi: the table that it prints when it is asked for nothing.

https://docs.habana.ai/en/latest/Management_and_Monitoring/Embedded_System_Tools_Guide/System_Management_Interface_Tool.html
The table's order is the driver's, not the bus's. A table may be cut off anywhere, or lack its head.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from raxl.model.node import Software
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.sources import tool_box
from raxl.sources.tool_silence import without_bars
from raxl.sources.tool_words import lines

FORM = "hl-smi"
_HEAD = re.compile(r"(HL-SMI|Nic Driver|Driver) Version: ?([\w.+-]{1,60})")
BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_DEVICE = re.compile(
    rf"([0-9]{{1,5}}) (HL-[\w.-]{{1,30}}|N/A|ERR!)(?: \S{{1,12}})? ({BDF}|N/A|ERR!)"
    r"(?: (?:N/A|On|Off))?(?: (\S{1,24}))?"
)
_MEMORY = re.compile(r"(?:[0-9]{1,15} ?MiB|N/A|ERR!) ?/ ?([0-9]{1,15} ?MiB|N/A|ERR!)")
_READINGS = re.compile(r"(?:N/A|ERR!|[0-9]{1,3}%?) \S{1,8} .*")
_PROCESSES = re.compile(r"Compute Processes|Process name")
_END = re.compile(r"\+=+\+")


class Device(NamedTuple):
    """One device by name of word, as printed: `index`, `model`, `address`, `memory`, `uuid`, `module_id` …"""

    words: Mapping[str, str]
    is_cut: bool


class Log(NamedTuple):
    """What an output says."""

    devices: Tuple[Device, ...]
    versions: Mapping[str, str]
    """`HL-SMI`, `Driver`, `Nic Driver`"""
    problems: Tuple[Problem, ...]
    evidence: str


def recognises(text: str) -> bool:
    """Whether the table's head stands in the text, or a row of a Gaudi."""
    return "HL-" in text and any(kind in ("head", "device") for kind, _ in _table_lines(text))


def own(text: str) -> str:
    """Head and rows of devices, without the processes."""
    return "".join(f"{line}\n" for _, line in _table_lines(text))


def _table_lines(text: str) -> List[Tuple[str, str]]:
    """The lines that are read, each with its kind: head, device, readings, processes (their title alone), end."""
    kept: List[Tuple[str, str]] = []
    below, in_processes = False, False
    is_ours = "HL-SMI" in text
    for line in lines(text):
        found = _DEVICE.fullmatch(without_bars(line))
        if _HEAD.fullmatch(without_bars(line)):
            in_processes = False
            kept.append(("head", line))
        elif _PROCESSES.search(line):
            if not in_processes and kept:
                kept.append(("processes", line))
            in_processes = True
        elif not in_processes and found and (found[2].startswith("HL-") or is_ours):
            below = True
            kept.append(("device", line))
            continue
        elif below and (_MEMORY.search(without_bars(line)) or _READINGS.fullmatch(without_bars(line))):
            kept.append(("readings", line))
        elif "Uncor" in line and not in_processes:
            kept.append(("title", line))
        elif _END.fullmatch(line.strip()) and kept:
            kept.append(("end", line))
        below = False
    return kept


def read(text: str) -> Log:
    """The devices of the table, in its order; each once, however often the table was printed."""
    versions: Dict[str, str] = {}
    devices: Dict[Tuple[str, str], Dict[str, str]] = {}
    cut: Dict[Tuple[str, str], bool] = {}
    key: Optional[Tuple[str, str]] = None
    is_head = is_closed = False
    events = "uncorrected_ecc_errors"
    for kind, line in _table_lines(text):
        found, memory = _DEVICE.fullmatch(without_bars(line)), _MEMORY.search(without_bars(line))
        if kind == "head":
            head = _HEAD.fullmatch(without_bars(line))
            is_head, is_closed = True, False
            if head:
                versions.setdefault(head[1], head[2])
        elif kind == "title":
            events = "uncorrected_events" if "Events" in line else events
        elif kind in ("processes", "end"):
            is_closed = True
        elif kind == "device" and found:
            key = found[1], found[3]
            devices[key] = {"index": found[1], "model": found[2], "address": found[3]}
            if found[4]:
                devices[key][events] = found[4]
            cut[key] = True
        elif kind == "readings" and key:
            cut[key] = tool_box.is_broken(line)
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            first = cells[1].split("/")[0].strip() if len(cells) > 1 else None
            if memory:
                devices[key]["memory"] = memory[1]
            elif first is not None and not first.endswith("MiB"):  # what stands there instead of both sizes
                devices[key]["memory"] = first
    problems = _skew(versions)
    if is_head and not devices:
        problems.append(tool_box.empty(FORM, FORM, "device"))
    elif is_head and not is_closed:
        message = "hl-smi's table ends early: its list of processes is missing, and devices may be"
        problems.append(Problem("accelerators", FAILED, message, (FORM,)))
    made = tuple(Device(words, cut[one]) for one, words in devices.items())
    return Log(made, versions, tuple(problems), FORM)


def _skew(versions: Mapping[str, str]) -> List[Problem]:
    """The tool and the driver come from one release: that they differ is told."""
    tool, driver = tool_release(versions), versions.get("Driver", "").split("-")[0]
    if not tool or not driver or tool == driver:
        return []
    return [Problem("software", DISAGREEMENT, f"hl-smi is of {tool}, the driver of {driver}", (FORM,))]


def tool_release(versions: Mapping[str, str]) -> Optional[str]:
    """`1.21.0` of `hl-1.21.0-fw-59.2.1.0`."""
    found = re.match(r"(?:hl-)?([0-9]{1,3}(?:\.[0-9]{1,3}){1,3})", versions.get("HL-SMI", ""))
    return found[1] if found else None


def software(log: Log) -> Tuple[Software, ...]:
    """Driver, its network part, the tool, and the firmware that the tool names."""
    named = {
        "habanalabs": log.versions.get("Driver"),
        "habanalabs_en": log.versions.get("Nic Driver"),
        "hl-smi": tool_release(log.versions),
    }
    firmware = re.search(r"-fw-([0-9][0-9.]{0,30})", log.versions.get("HL-SMI", ""))
    named["habanalabs firmware"] = firmware[1] if firmware else None
    return tuple(Software(name, version, log.evidence) for name, version in named.items() if version)
