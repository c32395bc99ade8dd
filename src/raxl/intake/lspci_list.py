"""The list that `lspci` prints, from the bare one to `-vvv`: https://man7.org/linux/man-pages/man8/lspci.8.html.

Without `-v` it says no way up. With it, bridges name the bus below them, so that a whole list gives the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from raxl.intake import lspci_chains
from raxl.intake.foreign import Foreign
from raxl.intake.lspci_record import FORM, Record, is_header, record
from raxl.intake.text_lines import joined, lines
from raxl.model.component import PciFunction
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, NOT_PERMITTED, Problem
from raxl.sources import pci

_IDS = re.compile(r"\[[0-9a-f]{4}:[0-9a-f]{4}\]", re.IGNORECASE)
_TELLING = ("0600", "03", "12")
"""Classes: a host bridge, with which the list of nearly every whole machine begins; and what is an accelerator."""
_CLASS = re.compile(r"^(.{1,200}?\[[0-9a-f]{4}\]:).*", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Whether a function of such a list is in it."""
    return any(is_header(line) for line in lines(text))


def own(text: str) -> str:
    """The functions with their lines of detail, without what stands around them."""
    return joined([line for header, details in _groups(text) for line in (header, *details, "")])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The functions that the list names, with the way up as far as it tells."""
    groups = list(_groups(text))
    cut = _is_cut([header for header, _ in groups])
    if cut:
        groups[-1] = (_CLASS.sub(r"\1", groups[-1][0]), groups[-1][1])
    records, doubles = _distinct([found for header, details in groups if (found := record(header, details))])
    placed = lspci_chains.placed(records)
    functions = tuple(pci.with_ceiling(function, placed) for function in _with_owners(placed, records))
    ports = {address: one.controls for address, one in records.items()}
    errors = {address: {"latched": one.latched} for address, one in records.items()}
    return Foreign(FORM, functions=functions, ports=ports, errors=errors), (
        *doubles,
        *_lost(functions),
        *_denied(records),
        *_ended(groups[-1][0] if cut else None),
        *_part(functions),
    )


def _is_cut(headers: Sequence[str]) -> bool:
    """Whether a list with ids (`-nn`) ends before the last function's."""
    return len(headers) > 1 and all(map(_IDS.search, headers[:-1])) and not _IDS.search(headers[-1])


def _ended(header: str | None) -> Iterator[Problem]:
    if header is not None:
        yield Problem("pci_tree", FAILED, f"lspci's output ends inside {header.split()[0]}", (FORM,))


def _part(functions: Sequence[PciFunction]) -> Iterator[Problem]:
    """That accelerators may be missing from a part of a list (`lspci -s`, `lspci | grep`) in which there is none."""
    if not any((one.class_id or "").startswith(_TELLING) for one in functions):
        message = "lspci's list names no host bridge: it may be a part of one, and others are not told"
        yield Problem("pci_tree", NOT_ASKED, message, (FORM,))


def _groups(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each first line with what follows it up to a blank line."""
    header: str | None = None
    details: list[str] = []
    for line in lines(text):
        if is_header(line):
            if header is not None:
                yield header, details
            header, details = line, []
        elif not line.strip():
            if header is not None:
                yield header, details
            header = None
        elif header is not None:
            details.append(line)
    if header is not None:
        yield header, details


def _distinct(records: Sequence[Record]) -> tuple[dict[str, Record], list[Problem]]:
    """The records by address. Two lists of one machine say different things of a function; the same never differs."""
    found: dict[str, Record] = {}
    problems = []
    for one in records:
        address = one.function.address
        first = found.setdefault(address, one)
        if first is one:
            continue
        if _is_other(first.function, one.function):
            message = f"two different PCI functions have the address {address}: the first is read"
            problems.append(Problem("pci_tree", DISAGREEMENT, message, (FORM,)))
            continue
        found[address] = Record(
            first.function.filled(one.function),
            first.secondary or one.secondary,
            first.is_in_root or one.is_in_root,
            max(first.virtual_functions, one.virtual_functions),
            first.is_virtual or one.is_virtual,
            first.is_denied and one.is_denied,
            first.controls if first.controls.reason is None else one.controls,
            first.latched if first.latched.reason is None else one.latched,
        )
    return found, problems


def _is_other(first: PciFunction, second: PciFunction) -> bool:
    pairs = [(getattr(first, name), getattr(second, name)) for name in ("vendor_id", "device_id")]
    pairs.append(((first.class_id or "")[:4], (second.class_id or "")[:4]))
    return any(mine and other and mine != other for mine, other in pairs)


def _with_owners(placed: Mapping[str, PciFunction], records: Mapping[str, Record]) -> Iterator[PciFunction]:
    """Each virtual function with the function that it belongs to: the nearest before it that has such.

    In a virtual machine the owner is not there, and the virtual function is the adapter.
    """
    owners: dict[tuple[str, str | None, str], str] = {}
    for address, function in placed.items():
        kind = (address.rsplit(":", 2)[0], function.vendor_id, (function.class_id or "")[:2])
        if records[address].is_virtual:
            yield replace(function, physical_function=owners.get(kind))
        else:
            owners[kind] = address
            yield function


def _lost(functions: Sequence[PciFunction]) -> Iterator[Problem]:
    for function in functions:
        if function.is_lost:
            message = f"{function.address} is on the bus and does not answer: its configuration space reads all ones"
            yield Problem("pci_tree", FAILED, message, (FORM,))


def _denied(records: Mapping[str, Record]) -> Iterator[Problem]:
    count = sum(one.is_denied for one in records.values())
    if count:
        message = f"lspci was not permitted to read the capabilities of {count} PCI functions: their links are not told"
        yield Problem("pci_links", NOT_PERMITTED, message, (FORM,))
