"""Which rows of the tables of `nvidia-smi --query-gpu` are of one GPU, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from raxl.intake.nvidia_smi_csv_table import CUT, Table
from raxl.model.identity import pci_address
from raxl.sources import nvidia_smi_counters
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import slug

COLUMNS = {
    "name": "model",
    "gpu_name": "model",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "serial": "serial",
    "gpu_serial": "serial",
    "pci.bus_id": "address",
    "gpu_bus_id": "address",
    "index": "index",
    "count": "count",
    "driver_version": "driver",
    "kmd_version": "driver",
    "hostname": "hostname",
    "memory.total": "memory",
    "vbios_version": "vbios",
    "mig.mode.current": "mig_mode",
    "addressing_mode": "addressing_mode",
    "gpu_recovery_action": "recovery_action",
    "compute_cap": "compute_capability",
    "pci.device_id": "device_id",
    "pci.sub_device_id": "subsystem_id",
    "pcie.link.gen.current": "link_generation",
    "pcie.link.gen.max": "link_most_generation",
    "pcie.link.width.current": "link_width",
    "pcie.link.width.max": "link_most_width",
    "fabric.state": "fabric_state",
    "fabric.cliqueid": "fabric_clique",
    "fabric.clusteruuid": "fabric_cluster",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected",
    "remapped_rows.correctable": "remapped_rows_correctable",
    "remapped_rows.uncorrectable": "remapped_rows_uncorrectable",
    "remapped_rows.pending": "remap_pending",
    "remapped_rows.failure": "remap_failure",
    "retired_pages.single_bit_ecc.count": "retired_pages_single_bit",
    "retired_pages.sbe": "retired_pages_single_bit",
    "retired_pages.double_bit.count": "retired_pages_double_bit",
    "retired_pages.dbe": "retired_pages_double_bit",
    "retired_pages.pending": "retirement_pending",
}
"""The fields that are read, in lower case, and the words that they give."""
_IDENTITY = ("index", "uuid", "address")
_COUNTED = (*nvidia_smi_counters.COUNTS, *nvidia_smi_counters.SWITCHES)
_UNSTEADY = ("link_generation", "link_width", "count", "hostname", "driver", *_COUNTED, *_IDENTITY)
"""Words that change by themselves, or of which others tell that they differ."""


class _Row(NamedTuple):
    words: dict[str, str]
    failed: dict[str, str]
    cut: frozenset[str]
    number: int | None
    uuid: str | None
    address: str | None
    cells: dict[str, str]
    """Every cell by its column, in lower case."""


@dataclass
class Device:
    """One GPU: what its rows say, in their order."""

    is_nameless: bool
    """Whether no row gives a number, a UUID or an address."""
    index: int | None = None
    uuid: str | None = None
    address: str | None = None
    readings: list[Mapping[str, str]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Readings that are published nowhere and failed, with the tool's words."""
    cut: frozenset[str] = frozenset()
    """The words that the text ends before."""
    cells: dict[str, str] = field(default_factory=dict)
    """The cells of the last row that has each, by their column in lower case."""
    names: list[str] = field(default_factory=list)
    """What the rows call it, each name once."""

    @property
    def name(self) -> str:
        """What a message calls it."""
        return self.names[0] if self.names else "a GPU"

    @property
    def words(self) -> dict[str, str]:
        """The words of the last row that says each, or says that its reading failed; what identifies is the first's."""
        found: dict[str, str] = {}
        for reading in self.readings:
            for word, cell in reading.items():
                is_later = word not in _IDENTITY and (values.says(cell) is not None or values.is_failure(cell))
                if is_later or values.says(found.get(word)) is None:
                    found[word] = cell
        return found

    @property
    def differences(self) -> dict[str, list[str]]:
        """Words that the rows say differently, a failure among them."""
        found: dict[str, dict[str, None]] = {}
        for reading in self.readings:
            for word, cell in reading.items():
                if word not in _UNSTEADY and (values.says(cell) is not None or values.is_failure(cell)):
                    found.setdefault(word, {})[cell[:80]] = None
        return {word: list(cells) for word, cells in found.items() if len(cells) > 1}

    def may_be(self, row: _Row) -> bool:
        """Whether nothing that both tell of themselves differs."""
        pairs = ((self.index, row.number), (self.uuid, row.uuid), (self.address, row.address))
        return all(mine is None or other is None or mine == other for mine, other in pairs)

    def add(self, row: _Row) -> None:
        """Notes what one more row says."""
        called = f"GPU {row.number}" if row.number is not None else row.uuid or "a GPU"
        if not self.names:
            self.names.append(called)
        elif not self.may_be(row):
            self.names.append(called if called not in self.names else row.uuid or called)
        self.index = self.index if self.index is not None else row.number
        self.uuid, self.address = self.uuid or row.uuid, self.address or row.address
        self.readings.append(row.words)
        self.failed.update(row.failed)
        self.cells.update(row.cells)
        self.cut = row.cut


def devices(tables: Sequence[Table]) -> list[Device]:
    """The GPUs in the order in which they are first told.

    In one table an address tells them apart, else UUID and number, else the place: equal UUIDs at two addresses are two
    GPUs. Tables share a GPU by whichever of these both have; rows without any, by their place among as many.
    """
    found: list[Device] = []
    known: dict[tuple[object, ...], Device] = {}
    for number, table in enumerate(tables):
        for place, row in enumerate(_rows(table)):
            keys = list(_keys(row, number, place))
            elsewhere = [] if number == 0 else [*_shared(row), ("place", len(table.rows), place)]
            device = next((known[key] for key in keys if key in known), None)
            if device is None:
                device = next((known[key] for key in elsewhere if key in known and known[key].may_be(row)), None)
            if device is None:
                device = Device(is_nameless=keys[0][0] == "row")
                found.append(device)
            device.add(row)
            for key in (*keys[:1], *_shared(row), ("place", len(table.rows), place)):
                known.setdefault(key, device)
    return found


def _keys(row: _Row, table: int, place: int) -> Iterator[tuple[object, ...]]:
    if row.address is not None:
        yield ("address", row.address)
    elif row.uuid is not None:
        yield ("uuid and index", row.uuid, row.number)
    elif row.number is not None:
        yield ("index alone", row.number)
    else:
        yield ("row", table, place)


def _shared(row: _Row) -> Iterator[tuple[object, ...]]:
    if row.address is not None:
        yield ("address", row.address)
    if row.uuid is not None:
        yield ("uuid", row.uuid)
    if row.number is not None:
        yield ("index", row.number)


def _rows(table: Table) -> Iterator[_Row]:
    for row in table.rows:
        words: dict[str, str] = {}
        failed: dict[str, str] = {}
        cut = {_word(table, name) for name, _ in table.columns[len(row) :]}
        for (name, unit), cell in zip(table.columns, row):
            word = _word(table, name)
            if cell == CUT:
                cut.add(word)
            elif word is not None:
                words.setdefault(word, f"{cell} {unit}" if unit and cell.isdecimal() else cell)
            elif name and values.is_failure(cell):
                failed[slug(name)] = f"{cell} ({name})"
        columns = [(name or "").lower() for name, _ in table.columns] if table.has_header else []
        cells = {name: cell for name, cell in zip(columns, row) if cell != CUT}
        index, uuid = whole(words.get("index"), MOST_PLACES), values.says(words.get("uuid"))
        lacking = frozenset(word for word in cut if word is not None and word not in words)
        yield _Row(words, failed, lacking, index, uuid, pci_address(words.get("address")), cells)


def _word(table: Table, name: str | None) -> str | None:
    return COLUMNS.get((name or "").lower()) if table.has_header else name
