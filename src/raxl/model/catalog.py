"""The catalog: what vendors state of their devices, for those who compare with it.

It is written as YAML in `raxl/accelerators/catalog/`, compiled into one JSON file there, and read when it is first
needed. Figures are one direction, dense, in base units; each row names its source and how it is verified.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Iterable, Mapping

VERIFIED = ("source", "derived", "measured")
"""Read in the named source, arithmetic from such a figure, or somebody's run. `unverified` is the fourth word."""
_HEX = re.compile("[0-9a-f]{4}")
_FIGURES = ("memory_gb", "memory_bytes_per_second")
_LINK_FIGURES = ("generation", "link_bytes_per_second", "links", "device_bytes_per_second")
_KEYS = ("vendor_id", "scale_up", "devices")
_EVIDENCE = ("verified", "source")
_DEVICE_KEYS = (
    *("name", "device_ids", "is_id_shared", "product", "operations_per_second", "unverified_fields", "scale_up"),
    *_FIGURES,
    *_EVIDENCE,
)
_SCALE_UP_KEYS = ("device_id_prefixes", *_LINK_FIGURES, *_EVIDENCE)


@dataclass(frozen=True)
class ScaleUp:
    """What joins devices of one generation beside PCIe. None where nobody states it."""

    name: str
    is_verified: bool
    source: str
    generation: int | None = None
    device_id_prefixes: tuple[str, ...] = ()
    """Beginnings of PCI device ids whose devices have it, where no row of theirs says otherwise."""
    link_bytes_per_second: int | None = None
    links: int | None = None
    """Of one device, at most."""
    device_bytes_per_second: int | None = None
    """All links of one device together."""


@dataclass(frozen=True)
class Device:
    """A model of accelerator, and what is stated of it. None where nobody states it."""

    vendor_id: str
    name: str
    device_ids: tuple[str, ...]
    is_id_shared: bool
    """Whether other models have the same PCI ids: the product's name alone tells which one it is."""
    product: str | None
    """A regular expression for the product's name as its tool prints it."""
    figures: Mapping[str, float]
    """`memory_gb` as printed, `memory_bytes_per_second`, and operations per second by number format: `bf16`."""
    unverified: frozenset[str]
    """Those of the figures that nobody has confirmed: hints, never bounds."""
    scale_up: str | None
    source: str

    def peak(self, figure: str) -> float | None:
        """A figure that a measurement may be held against; None where it is not known, or not verified."""
        return None if figure in self.unverified else self.figures.get(figure)


@dataclass(frozen=True)
class Catalog:
    """Rows, those of an overlay before those that raxl ships."""

    devices: tuple[Device, ...] = ()
    scale_ups: tuple[ScaleUp, ...] = ()

    def over(self, other: Catalog) -> Catalog:
        """This one's rows before another's."""
        return Catalog((*self.devices, *other.devices), (*self.scale_ups, *other.scale_ups))

    def device(self, vendor_id: str | None, device_id: str | None, product: str | None = None) -> Device | None:
        """The row of a PCI id; where models share it, the one whose product name fits, else None."""
        rows = [one for one in self.devices if one.vendor_id == vendor_id and device_id in one.device_ids]
        fitting = [one for one in rows if one.product and product and re.search(one.product, product)]
        certain = [one for one in rows if not one.is_id_shared]
        return next(iter(fitting or certain), None)

    def scale_up(self, vendor_id: str, device_id: str | None) -> ScaleUp | None:
        """What joins devices of this id, by their row or by the family's beginning of ids."""
        row = self.device(vendor_id, device_id)
        named = row.scale_up if row else None
        for one in self.scale_ups:
            if one.name == named if named else (device_id or "").startswith(one.device_id_prefixes or ("-",)):
                return one
        return None


def compiled() -> Path | None:
    """Where the compiled catalog is; None in the single-file collector, which only asks."""
    return Path(__file__).parents[1] / "accelerators" / "catalog" / "catalog.json" if "__file__" in globals() else None


@cache
def shipped() -> Catalog:
    """raxl's own catalog; an empty one where its file does not travel with the code."""
    path = compiled()
    if path is None or not path.is_file():
        return Catalog()
    found = Catalog()
    for document in json.loads(path.read_text("utf-8")):
        found = found.over(parse(document))
    return found


def parse(document: Any) -> Catalog:
    """The rows of one catalog file. Raises ValueError, which names the row, for what is none."""
    if not isinstance(document, Mapping):
        raise ValueError("it holds no mapping")
    vendor = document.get("vendor_id")
    if not isinstance(vendor, str) or not _HEX.fullmatch(vendor):
        raise ValueError("vendor_id is not four hex digits")
    links = document.get("scale_up") or {}
    rows = document.get("devices") or []
    if not isinstance(links, Mapping) or not isinstance(rows, list):
        raise ValueError("scale_up is no mapping, or devices is no list")
    return Catalog(
        tuple(_device(vendor, row, f"devices[{place}]") for place, row in enumerate(rows)),
        tuple(_scale_up(str(name), row) for name, row in links.items()),
    )


def unread_keys(document: Mapping[str, Any]) -> list[str]:
    """The keys of a catalog file that mean nothing, as `devices[0].memory`: misspelt ones, most likely."""
    rows = document.get("devices") or []
    links = document.get("scale_up") or {}
    found = [str(key) for key in document if key not in _KEYS]
    found += [f"devices[{n}].{key}" for n, row in enumerate(rows) for key in row if key not in _DEVICE_KEYS]
    return found + [f"scale_up.{name}.{key}" for name, row in links.items() for key in row if key not in _SCALE_UP_KEYS]


def _device(vendor: str, row: Any, where: str) -> Device:
    is_verified, source = _evidence(row, where)
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where} has no name")
    figures = {key: _number(row[key], f"{where}.{key}") for key in _FIGURES if row.get(key) is not None}
    rates = row.get("operations_per_second") or {}
    if not isinstance(rates, Mapping):
        raise ValueError(f"{where}.operations_per_second is no mapping")
    figures.update((str(key), _number(rate, f"{where}.{key}")) for key, rate in rates.items())
    doubted = set(_strings(row.get("unverified_fields"), f"{where}.unverified_fields"))
    doubted |= set(map(str, rates)) if "operations_per_second" in doubted else set()
    ids = _strings(row.get("device_ids"), f"{where}.device_ids")
    if not all(map(_HEX.fullmatch, ids)):
        raise ValueError(f"{where}.device_ids are not four hex digits each")
    product, scale_up = row.get("product"), row.get("scale_up")
    return Device(
        vendor_id=vendor,
        name=name,
        device_ids=ids,
        is_id_shared=row.get("is_id_shared") is True,
        product=_pattern(product, where) if product is not None else None,
        figures=figures,
        unverified=frozenset(doubted if is_verified else figures),
        scale_up=None if scale_up is None else str(scale_up),
        source=source,
    )


def _scale_up(name: str, row: Any) -> ScaleUp:
    where = f"scale_up.{name}"
    is_verified, source = _evidence(row, where)
    numbers = {key: int(_number(row[key], f"{where}.{key}")) for key in _LINK_FIGURES if row.get(key) is not None}
    prefixes = _strings(row.get("device_id_prefixes"), f"{where}.device_id_prefixes")
    return ScaleUp(name, is_verified, source, device_id_prefixes=prefixes, **numbers)


def _evidence(row: Any, where: str) -> tuple[bool, str]:
    """Whether a row's figures are verified, and its source. Raises where one of them is not said."""
    if not isinstance(row, Mapping):
        raise ValueError(f"{where} is no mapping")
    verified, source = row.get("verified"), row.get("source")
    if verified not in (*VERIFIED, "unverified"):
        raise ValueError(f"{where}.verified is none of {', '.join(VERIFIED)}, unverified")
    if not isinstance(source, str) or not source.strip():
        raise ValueError(f"{where} has no source")
    return verified in VERIFIED, source


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e24:
        raise ValueError(f"{where} is no number")
    return value


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if value is not None and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
        raise ValueError(f"{where} is no list of texts (quote digits)")
    return tuple(one.lower() if _HEX.fullmatch(one.lower()) else one for one in value or ())


def _pattern(text: Any, where: str) -> str:
    try:
        return re.compile(str(text)).pattern
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{where}.product is no regular expression") from error


def merged(catalogs: Iterable[Catalog]) -> Catalog:
    """Several as one, the first before the others."""
    found = Catalog()
    for one in reversed(list(catalogs)):
        found = one.over(found)
    return found
