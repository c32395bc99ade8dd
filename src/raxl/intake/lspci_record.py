"""One function of an lspci list: its first line, and the lines of detail below it.

The first line is `[dddd:]bb:dd.f CLASS: VENDOR DEVICE`: names, names with ids (`-nn`), ids alone (`-n`), or in quotes
(`-mm`). pciutils 2 wrote `Class 0604:` and `Link: Supported Speed 2.5Gb/s`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from raxl.intake import pci_classes, pci_names
from raxl.model.component import PciFunction, PciLink
from raxl.model.facts import Reading
from raxl.model.identity import pci_address
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED, NOT_SUPPORTED
from raxl.sources import pci
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "lspci"
_HEADER = re.compile(r"[\s>]*((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) +(\S.*)", re.IGNORECASE)
_DIGITS = re.compile(r"(?:.*\[|Class |)([0-9a-f]{4})\]?", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]*)"')
_QUOTED_ID = re.compile(r" ?\[([0-9a-f]{4})\]$", re.IGNORECASE)
_INTERFACE = re.compile(r"\(prog-if ([0-9a-f]{2})\b", re.IGNORECASE)
_BUSES = re.compile(r"Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2})", re.IGNORECASE)
_MOST = re.compile(r"(?:LnkCap:.*?|Link: Supported )\bSpeed ([^,]+), Width x([0-9]{1,3})")
_NOW = re.compile(r"(?:LnkSta:|Link:)\s*Speed ([^,]+), Width x([0-9]{1,3})")
_RATE = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?)G(?:T|b)/s")
_IN_ROOT = re.compile(r"Express (?:\(v[0-9]\) )?(?:Root Port|Root Complex)")
_VIRTUAL_FUNCTIONS = re.compile(r"Number of VFs: ([0-9]{1,5})")
_CONTROLS = re.compile(r"ACSCtl:\s*((?:[A-Za-z]{1,20}[+-]\s*){1,12})")
_STATUS = re.compile(r"^(UESta|UESvrt|CESta):\s*((?:[A-Za-z]{1,20}[+-]\s*){1,32})")
_REPORTS = re.compile(r"Capabilities: .*\bAdvanced Error Reporting\b")
_DETAIL = re.compile(r"(?:LnkSta|DevSta|Status): ")
"""What `-vv` prints below a capability, and `-v` does not."""
_DENIED = "lspci was not permitted to read its capabilities"
_HAS_ACS = re.compile(r"Capabilities: .*\bAccess Control Services\b")
_EXTENDED = re.compile(r"Capabilities: \[[0-9a-f]{3}\b")
"""A capability at 100 or beyond, among which ACS is: so those were read."""
_GONE = ("!!! Unknown header type 7f", "(rev ff)")
"""What lspci prints where every byte of the configuration space reads ff: nothing answers at this address."""


class Record(NamedTuple):
    """One function, without the way up to it."""

    function: PciFunction
    secondary: str | None
    """The bus below a bridge, two hex digits."""
    is_in_root: bool
    """Whether it says that its own bus is a root bus: a root port, an endpoint of the root complex, a host bridge."""
    virtual_functions: int
    is_virtual: bool
    """Whether its name calls it a virtual function."""
    is_denied: bool
    """Whether lspci was not permitted to read its capabilities."""
    controls: Reading
    """The ACS controls that are on; none for a function without ACS."""
    latched: Reading
    """The errors that its status registers hold since somebody last cleared them, by name: `fatal`, `nonfatal` or
    `corrected`."""


def is_header(line: str) -> bool:
    """Whether this is the first line of a function: an address, and a class that PCI knows."""
    return _header(line) is not None


def record(header: str, details: list[str]) -> Record | None:
    """What the lines of one function say; None where the first is no such line."""
    found = _header(header)
    if found is None:
        return None
    address, class_id, words = found
    named = pci_names.named(words)
    said = [line.strip() for line in details]
    buses = _first(_BUSES, said)
    secondary = buses[1].lower() if buses and int(buses[1], 16) > int(buses[0], 16) else None
    number = next((line for line in said if line.startswith("NUMA node:")), "")
    virtual = _first(_VIRTUAL_FUNCTIONS, said)
    is_denied = any(line.startswith("Capabilities: <access denied>") for line in said)
    function = PciFunction(
        address=address,
        class_id=class_id,
        host_bridge=None,
        vendor_id=named.vendor_id,
        device_id=named.device_id,
        subsystem_id=_subsystem(said),
        numa_node=whole(number.partition(":")[2], MOST_PLACES),
        link=_link(said),
        driver=_after("Kernel driver in use:", said),
        name=named.model,
        slot=_after("Physical Slot:", said),
        is_lost=any(sign in line for line in (header, *said) for sign in _GONE),
        evidence=FORM,
    )
    return Record(
        function=function,
        secondary=secondary if function.is_bridge or class_id is None or class_id.startswith("06") else None,
        is_in_root=class_id.startswith("0600") or any(_IN_ROOT.search(line) for line in said),
        virtual_functions=int(virtual[0]) if virtual else 0,
        is_virtual="Virtual Function" in named.name,
        is_denied=is_denied,
        controls=Reading(None, FORM, NOT_PERMITTED, _DENIED) if is_denied else _controls(said),
        latched=Reading(None, FORM, NOT_PERMITTED, _DENIED) if is_denied else _latched(said),
    )


def _header(line: str) -> tuple[str, str, str] | None:
    """Address, class in six digits, and the words that name the device."""
    found = _HEADER.match(line)
    address = pci_address(found[1]) if found else None
    if found is None or address is None:
        return None
    kind, words = _quoted(found[2]) if found[2].startswith('"') else _split(found[2])
    digits = _DIGITS.fullmatch(kind)
    known = digits[1].lower() if digits else pci_classes.CLASSES.get(kind.lower())
    if known is None:
        return None
    interface = _INTERFACE.search(words)
    return address, known + (interface[1].lower() if interface else "00"), words


def _split(text: str) -> tuple[str, str]:
    kind, _, words = text.partition(": ")
    return kind.strip().removesuffix(":"), words.strip()


def _quoted(text: str) -> tuple[str, str]:
    """`"3D controller [0302]" "NVIDIA Corporation [10de]" "Device [2330]" -ra1` as the usual line has it."""
    fields = [*_QUOTED.findall(text), "", "", ""]
    ids = [_QUOTED_ID.search(field) for field in fields[1:3]]
    names = [_QUOTED_ID.sub("", field) for field in fields[1:3]]
    if ids[0] and ids[1]:
        names.append(f"[{ids[0][1]}:{ids[1][1]}]")
    return fields[0], " ".join(names)


def _first(pattern: re.Pattern[str], lines: list[str]) -> tuple[str, ...] | None:
    found = next((match for line in lines if (match := pattern.search(line))), None)
    return found.groups() if found else None


def _after(label: str, lines: list[str]) -> str | None:
    return next((line[len(label) :].strip() or None for line in lines if line.startswith(label)), None)


def _controls(lines: list[str]) -> Reading:
    """lspci says of ACS that it is there with `-v`, and what of it is on with `-vv`."""
    flags = _first(_CONTROLS, lines)
    if flags is not None:
        return Reading(_on(flags[0]), FORM)
    if any(map(_HAS_ACS.match, lines)):
        return Reading(None, FORM, NOT_ASKED, "lspci -vv tells what of ACS is on")
    if any(map(_EXTENDED.match, lines)):
        return Reading((), FORM)
    return Reading(None, FORM, NOT_ASKED, "lspci -vv, run as root, tells it")


def _latched(lines: list[str]) -> Reading:
    """`UESta: … MalfTLP+` is fatal where `UESvrt` has it; a corrected error is in `CESta`."""
    found = {match[1]: _on(match[2]) for line in lines if (match := _STATUS.match(line))}
    if "UESta" not in found:
        if any(map(_REPORTS.match, lines)) or not any(map(_DETAIL.match, lines)):
            return Reading(None, FORM, NOT_ASKED, "lspci -vv, run as root, tells it")
        return Reading(None, FORM, NOT_SUPPORTED, "it reports no errors: no AER")
    fatal = found.get("UESvrt", ())
    told = {name: "fatal" if name in fatal else "nonfatal" for name in found["UESta"]}
    return Reading({**dict.fromkeys(found.get("CESta", ()), "corrected"), **told}, FORM)


def _on(flags: str) -> tuple[str, ...]:
    return tuple(name[:-1] for name in flags.split() if name.endswith("+"))


def _subsystem(lines: list[str]) -> str | None:
    words = _after("Subsystem:", lines)
    named = pci_names.named(words) if words else None
    return pci.subsystem(named.vendor_id, named.device_id) if named else None


def _link(lines: list[str]) -> PciLink | None:
    """The link's speed and width, at most and now: `unknown` and x0 are how lspci says that it does not know."""
    most, now = (_first(pattern, lines) or (None, None) for pattern in (_MOST, _NOW))
    link = PciLink(_gts(now[0]), pci.lanes(now[1]), _gts(most[0]), pci.lanes(most[1]))
    return link if link != PciLink() else None


def _gts(text: str | None) -> float | None:
    found = _RATE.match(text or "")
    return float(found[1]) or None if found else None
