"""How accelerators, network adapters and the bridges above them do on the bus: links, error counters, power, headers.

- Links: `current_link_speed` … (https://docs.kernel.org/PCI/sysfs-pci.html), of both ends of each.
- Errors: `aer_dev_{correctable,nonfatal,fatal}` and, of root ports, `aer_rootport_total_err_*`, counted since the
  device was enumerated (https://docs.kernel.org/admin-guide/abi-testing.html); absent where firmware owns AER.
- The first 64 bytes of `config`: all ones where nothing answers. The files `vendor` and `device` are the kernel's
  memory of what once was there. A suspended device is not asked: the kernel would wake it.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, config_space, stripped
from raxl.model.facts import Reading
from raxl.model.identity import pci_address
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_PRESENT
from raxl.sources import pci
from raxl.sources.numbers import MOST_COUNT, whole

_DEVICE = re.compile("0x(02|03|0c06|12)")
_MAKERS = ("0x1ae0", "0x1d0f")
"""Vendors (Google, Amazon) whose accelerators are of no such class."""
_LINK = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
_ERRORS = ("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal")
_OF_ROOT = ("aer_rootport_total_err_cor", "aer_rootport_total_err_nonfatal", "aer_rootport_total_err_fatal")
_POWER = "power/runtime_status"
_SUSPENDED = ("suspended", "suspending")
_MOST_FUNCTIONS = 4096
_COUNT = re.compile(r"^(\w{1,40}) ([0-9]{1,20})$", re.MULTILINE)

Readings = Dict[str, Reading]


class Answers(NamedTuple):
    """By function: what its files say, by their names; `config` and `driver` among them."""

    functions: Mapping[str, Mapping[str, Answer]]


def ask(host: Host) -> Answers:
    """Asks of accelerators, network adapters, and every bridge above them."""
    listing = host.names(pci.FOLDER)
    listed = frozenset(listing.value or ())
    wanted: Dict[str, bool] = {}
    for name in listing.value or ():
        folder = f"{pci.FOLDER}/{name}"
        is_device = _DEVICE.match(stripped(host.text(f"{folder}/class")) or "")
        if is_device or stripped(host.text(f"{folder}/vendor")) in _MAKERS:
            _, chain = pci.position(stripped(host.link(folder)) or "")
            wanted.update((port, place == 0) for place, port in enumerate(chain) if port in listed)
            wanted.setdefault(name, False)
    return Answers({name: _asked(host, name, wanted[name]) for name in list(wanted)[:_MOST_FUNCTIONS]})


def _asked(host: Host, name: str, is_root: bool) -> Dict[str, Answer]:
    folder = f"{pci.FOLDER}/{name}"
    files = (*_LINK, *_ERRORS, *(_OF_ROOT if is_root else ()), _POWER)
    answers = {file: host.text(f"{folder}/{file}") for file in files}
    answers["driver"] = host.link(f"{folder}/driver")
    if stripped(answers[_POWER]) in _SUSPENDED:
        answers["config"] = Answer(None, NOT_APPLICABLE, "the device is suspended: to read it would wake it")
    else:
        answers["config"] = host.data(f"{folder}/config")
    return answers


def readings(answers: Answers) -> Dict[str, Readings]:
    """By address: `speed`, `width`, `max_speed`, `max_width`, `power`, `driver` (None where none is bound), `header`
    (hex), `correctable`, `nonfatal`, `fatal` (counts by name, `total` among them), and of root ports `root_fatal` …"""
    found = {}
    for name, files in answers.functions.items():
        address = pci_address(name)
        if address is not None:
            found[address] = _function(f"{pci.FOLDER}/{name}", files)
    return found


def _function(folder: str, files: Mapping[str, Answer]) -> Readings:
    def of(file: str, value: Callable[[str], object]) -> Reading:
        return _reading(f"{folder}/{file}", files[file], value)

    told = {
        "speed": of("current_link_speed", pci.gts),
        "width": of("current_link_width", pci.lanes),
        "max_speed": of("max_link_speed", pci.gts),
        "max_width": of("max_link_width", pci.lanes),
        "power": of(_POWER, lambda text: text if re.fullmatch("[a-z]{1,20}", text) else None),
        "header": of("config", _header),
        "driver": _driver(f"{folder}/driver", files["driver"]),
    }
    told.update((file.rpartition("_")[2], of(file, _counts)) for file in _ERRORS)
    told.update((f"root_{file.rpartition('_')[2]}", of(file, _count)) for file in _OF_ROOT if file in files)
    return told


def _reading(source: str, answer: Answer, value: Callable[[str], object]) -> Reading:
    """What a file says; a text that says nothing is a failure to read."""
    if not answer.known:
        return Reading(None, source, answer.reason, answer.message)
    said = value(stripped(answer) or "")
    if said is None:
        return Reading(None, source, FAILED, f"it says {str(answer.value).strip()[:40]!r}")
    return Reading(said, source)


def _driver(source: str, answer: Answer) -> Reading:
    if answer.reason == NOT_PRESENT:
        return Reading(None, source)
    return _reading(source, answer, lambda path: path.rstrip("/").rpartition("/")[2] or None)


def _header(text: str) -> Optional[str]:
    size = 2 * config_space.HEADER_BYTES
    return text[:size].lower() if re.match(f"[0-9a-fA-F]{{{size}}}", text) else None


def _counts(text: str) -> Optional[Mapping[str, int]]:
    """The counts that are not zero, and their sum as the kernel gives it (`TOTAL_ERR_FATAL`)."""
    counts = {name: int(count) for name, count in _COUNT.findall(text) if int(count) <= MOST_COUNT}
    total = next((count for name, count in counts.items() if name.startswith("TOTAL_ERR")), None)
    if total is None:
        return None
    told = {name: count for name, count in counts.items() if count and not name.startswith("TOTAL_ERR")}
    return {**told, "total": total}


def _count(text: str) -> Optional[int]:
    return whole(text, MOST_COUNT)
