"""A cluster descriptor of Tenstorrent's user-mode driver (UMD), YAML: chips, their Ethernet links, their cards.

https://github.com/tenstorrent/tt-umd, `tests/cluster_descriptor_examples`. A connection is one link. The numbers of
the chips are the runtime's; `chips_with_mmio` gives those below /dev/tenstorrent of the chips that PCIe reaches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from raxl.intake import yaml_events
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined
from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_APPLICABLE, NOT_ASKED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import tool_words, tt_names
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "tt-umd"
_KEYS = (
    "arch|chips|chip_unique_ids|ethernet_connections|ethernet_connections_to_remote_devices|chips_with_mmio"
    "|io_device_type|harvesting|chip_to_boardtype|boardtype|chip_to_bus_id|boards|asic_locations|chip_pci_bdfs"
)
_KEY = re.compile(rf"(?:{_KEYS}):")
_TELLING = re.compile(r"^(?:chips_with_mmio|ethernet_connections):", re.MULTILINE)
_OTHER = re.compile(r"^(?:arch|chips|boards|chip_unique_ids):", re.MULTILINE)
_INSIDE = (" ", "\t", "-", "]", "}", "#")
_NOT_HELD = Silence(NOT_ASKED, "a cluster descriptor does not hold it")
_REMOTE = Silence(NOT_APPLICABLE, "the chip has no PCI function: it is reached over Ethernet", FORM)


class _Board(NamedTuple):
    number: str | None
    kind: str | None


class _Connection(NamedTuple):
    a: int
    b: int
    channels: frozenset[tuple[int, str]]


def recognises(text: str) -> bool:
    """Whether the descriptor's keys begin lines of the text."""
    return _TELLING.search(text) is not None and _OTHER.search(text) is not None


def own(text: str) -> str:
    """The descriptor's lines, without a prompt before or after it."""
    kept: list[str] = []
    for line in tool_words.lines(text):
        if _KEY.match(line) or (kept and (not line or line.startswith(_INSIDE))):
            kept.append(line)
    return joined(kept)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The chips and the pairs that Ethernet joins, each with the count of its links."""
    tree = yaml_events.read(text)
    held: Mapping[str, Any] = tree.value if isinstance(tree.value, dict) else {}
    problems = []
    if tree.damage or not held:
        message = f"the cluster descriptor is damaged ({tree.damage or 'it holds nothing'}): what is whole is read"
        problems.append(Problem("accelerators", FAILED, message, (FORM,)))
    connections = {one.channels: one for one in _connections(held.get("ethernet_connections"))}.values()
    listed = {number for key in ("arch", "chips", "chip_unique_ids") for number in _by_chip(held, key)}
    linked = {end for one in connections for end in (one.a, one.b)}
    unlisted = sorted(linked - listed)
    if unlisted and listed:
        words = ", ".join(map(str, unlisted[:20]))
        message = f"links lead to {len(unlisted)} chips that the descriptor does not list: {words}"
        problems.append(Problem("accelerators", DISAGREEMENT, message, (FORM,)))
    claims = tuple(_claims(held, sorted(listed | linked)))
    counts = Counter((min(one.a, one.b), max(one.a, one.b)) for one in connections)
    links = tuple(_link(a, b, count) for (a, b), count in sorted(counts.items()))
    return Foreign(FORM, report=Report(claims=claims, links=links)), tuple(problems)


def _by_chip(held: Mapping[str, Any], key: str) -> dict[int, Any]:
    """A mapping by chip number."""
    value = held.get(key)
    pairs = value.items() if isinstance(value, dict) else ()
    return {number: one for name, one in pairs if (number := whole(name, MOST_PLACES)) is not None}


def _word(value: Any) -> str | None:
    return tool_words.value_of(value) if isinstance(value, str) else None


def _mmio(held: Mapping[str, Any]) -> dict[int, int | None]:
    """The chips with a PCI function, each with its number below /dev/tenstorrent."""
    found: dict[int, int | None] = {}
    value = held.get("chips_with_mmio")
    for entry in value if isinstance(value, list) else ():
        pairs = entry.items() if isinstance(entry, dict) else ((entry, None),)
        for name, node in pairs:
            number = whole(name, MOST_PLACES) if isinstance(name, str) else None
            if number is not None:
                found[number] = whole(node, MOST_PLACES) if isinstance(node, str) else None
    return found


def _boards(held: Mapping[str, Any]) -> dict[int, _Board]:
    """Each chip's board."""
    found = {}
    value = held.get("boards")
    for entry in value if isinstance(value, list) else ():
        fields: dict[str, Any] = {}
        for part in entry if isinstance(entry, list) else (entry,):
            fields.update(part if isinstance(part, dict) else {})
        number = whole(_word(fields.get("board_id")), 1 << 64)
        board = _Board(None if number is None else f"{number:x}", _word(fields.get("board_type")))
        chips = fields.get("chips")
        for chip in chips if isinstance(chips, list) else ():
            place = whole(_word(chip), MOST_PLACES)
            found.update({} if place is None else {place: board})
    return found


def _connections(value: Any) -> Iterator[_Connection]:
    for entry in value if isinstance(value, list) else ():
        ends = [one for one in entry if isinstance(one, dict)] if isinstance(entry, list) else []
        told = [(whole(_word(one.get("chip")), MOST_PLACES), _word(one.get("chan")) or "") for one in ends[:2]]
        if len(told) == 2 and told[0][0] is not None and told[1][0] is not None and told[0][0] != told[1][0]:
            yield _Connection(
                told[0][0], told[1][0], frozenset((chip, lane) for chip, lane in told if chip is not None)
            )


def _outward(held: Mapping[str, Any]) -> Counter[int]:
    """By chip, its links to chips of other machines."""
    value = held.get("ethernet_connections_to_remote_devices")
    counts: Counter[int] = Counter()
    for entry in value if isinstance(value, list) else ():
        first = next((one for one in entry if isinstance(one, dict)), {}) if isinstance(entry, list) else {}
        chip = whole(_word(first.get("chip")), MOST_PLACES)
        counts.update([] if chip is None else [chip])
    return counts


def _claims(held: Mapping[str, Any], chips: list[int]) -> Iterator[Claim]:
    arch, uuids, places = _by_chip(held, "arch"), _by_chip(held, "chip_unique_ids"), _by_chip(held, "chip_pci_bdfs")
    kinds = {**_by_chip(held, "boardtype"), **_by_chip(held, "chip_to_boardtype")}
    locations, coordinates = _by_chip(held, "asic_locations"), _by_chip(held, "chips")
    boards, mmio, outward = _boards(held), _mmio(held), _outward(held)
    sizes = Counter(board.number for board in boards.values())
    for chip in chips:
        board = boards.get(chip, _Board(None, None))
        kind = board.kind or _word(kinds.get(chip))
        place = _word(locations.get(chip)) or ("0" if chip in mmio else "1" if mmio else None)
        shared = sizes[board.number] > 1
        at = coordinates.get(chip)
        address = pci_address(_word(places.get(chip)))
        attributes = {
            "board_id": board.number,
            "asic_location": _word(locations.get(chip)),
            "coordinates": f"({', '.join(map(str, at))})"[:100] if isinstance(at, list) and at else None,
            "device_node": f"/dev/tenstorrent/{mmio[chip]}" if mmio.get(chip) is not None else None,
            "links_to_other_machines": outward[chip] or None,
            **tt_names.attributes(kind),
        }
        yield Claim(
            vendor=tt_names.VENDOR,
            kind="npu",
            evidence=FORM,
            address=address,
            uuid=_word(uuids.get(chip)),
            unit=f"{board.number} {'LR'[int(place)]}" if board.number and shared and place in ("0", "1") else None,
            index=chip,
            model=kind,
            architecture=tt_names.architecture(kind, _word(arch.get(chip))),
            ray=RayView(resource=tt_names.RESOURCE),
            visible_env=tt_names.VISIBLE,
            attributes={name: value for name, value in attributes.items() if value is not None},
            silent=_silent(mmio, chip, address),
        )


def _silent(mmio: Mapping[int, int | None], chip: int, address: str | None) -> dict[str, Silence]:
    silent = {
        "ray.type": Silence(NOT_APPLICABLE, "Ray tells no type of a Tenstorrent device"),
        "fabric": Silence(NOT_APPLICABLE, "Tenstorrent names no domain of its Ethernet fabric"),
    }
    if mmio and chip not in mmio:
        return {**silent, **dict.fromkeys(("pci", "numa_node", "pcie_root"), _REMOTE)}
    return silent if address else {**silent, "pci": _NOT_HELD}


def _link(a: int, b: int, count: int) -> LinkClaim:
    one, other = (f"{tt_names.VENDOR}#{chip}" for chip in (a, b))
    return LinkClaim(one, other, fabric_class(tt_names.FABRIC, count), tt_names.FABRIC, count, evidence=FORM)
