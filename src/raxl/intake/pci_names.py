"""What the words by which lspci calls a device tell: vendor, device, model.

lspci prints names from the list of PCI ids (https://pci-ids.ucw.cz), `Device 2330` for a device that its copy of the
list does not hold, and ids beside the names with `-nn`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from raxl.sources import nvidia_names

_VENDORS = {
    "nvidia corporation": "10de",
    "mellanox technologies": "15b3",
    "nvidia/mellanox": "15b3",
    "advanced micro devices, inc. [amd/ati]": "1002",
    "advanced micro devices [amd/ati]": "1002",
    "advanced micro devices inc. [amd/ati]": "1002",
    "advanced micro devices nee ati": "1002",
    "ati technologies inc": "1002",
    "advanced micro devices, inc. [amd]": "1022",
    "advanced micro devices [amd]": "1022",
    "amd pensando systems": "1dd8",
    "pensando systems": "1dd8",
    "intel corporation": "8086",
    "amazon.com, inc.": "1d0f",
    "google, inc.": "1ae0",
    "huawei technologies co., ltd.": "19e5",
    "habana labs ltd.": "1da3",
    "broadcom inc. and subsidiaries": "14e4",
    "broadcom limited": "14e4",
    "broadcom corporation": "14e4",
    "broadcom / lsi": "1000",
    "lsi logic / symbios logic": "1000",
    "plx technology, inc.": "10b5",
    "pmc-sierra inc.": "11f8",
    "microsemi / pmc": "11f8",
    "microchip technology": "11f8",
    "microsoft corporation": "1414",
    "red hat, inc.": "1af4",
    "red hat, inc. qemu": "1b36",
    "aspeed technology, inc.": "1a03",
    "furiosaai, inc.": "1ed2",
    "rebellions inc.": "1eff",
    "tenstorrent inc": "1e52",
    "moore threads technology co.,ltd": "1ed5",
    "chengdu haiguang ic design co., ltd.": "1d94",
    "cornelis networks": "434e",
    "chelsio communications inc": "1425",
    "qlogic corp.": "1077",
    "dell": "1028",
    "hewlett packard enterprise": "1590",
    "lenovo": "17aa",
    "super micro computer inc": "15d9",
}
"""By the words that a name begins with, in small letters."""
_LONGEST_FIRST = sorted(_VENDORS, key=len, reverse=True)
_AMD_NAMES = {
    "cyan skillfish": "13fe",
    "granite ridge": "13c0",
    "mendocino": "1506",
    "phoenix1": "15bf",
    "phoenix2": "15c8",
    "picasso/raven 2": "15d8",
    "raven ridge": "15dd",
    "barcelo": "15e7",
    "strix": "150e",
    "strix halo": "1586",
    "renoir": "1636",
    "cezanne": "1638",
    "vangogh": "163f",
    "lucienne": "164c",
    "raphael": "164e",
    "rembrandt": "1681",
    "hawkpoint1": "1900",
    "hawkpoint2": "1901",
    "instinct mi100": "738c",
    "instinct mi250x": "7408",
    "instinct mi250x/mi250": "740c",
    "instinct mi210": "740f",
    "instinct mi300a": "74a0",
    "instinct mi300x": "74a1",
    "instinct mi308x": "74a2",
    "instinct mi325x": "74a5",
    "instinct mi350x": "75a0",
    "instinct mi355x": "75a3",
}
_INTEL_NAMES = {"natoma": "1237"}
"""The host bridge that QEMU and Xen emulate."""
_NVIDIA_NAMES = {name.lower(): device for device, name in reversed(nvidia_names.MODELS.items())}
_IDS = re.compile(r"\[?\b([0-9a-f]{4}):([0-9a-f]{4})\b\]?", re.IGNORECASE)
_DEVICE = re.compile(r"\bDevice ([0-9a-f]{4})$", re.IGNORECASE)
_BESIDE = re.compile(r" \((?:rev|prog-if) ")
_BRACKET = re.compile(r"\[([^\[\]]*)\]$")


class Named(NamedTuple):
    """What a name says. The model is what stands in the last brackets, else all that follows the vendor."""

    vendor_id: str | None
    device_id: str | None
    name: str
    """The words after the vendor's."""
    model: str | None


def named(text: str) -> Named:
    """Vendor, device and model of `NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)`.

    Without ids the vendor is told by its name, and the device where the list gives this name to one device alone.
    """
    words = _BESIDE.split(text, maxsplit=1)[0].strip()
    found = list(_IDS.finditer(words))
    ids = found[-1] if found else None
    if ids:
        words = (words[: ids.start()] + words[ids.end() :]).strip()
    vendor, name = _split(words)
    number = _DEVICE.search(name)
    if name.lower() == "device" or number:
        name = ""
    bracket = _BRACKET.search(name)
    model = (bracket[1].strip() if bracket else name) or None
    vendor_id = ids[1].lower() if ids else vendor
    device_id = ids[2].lower() if ids else number[1].lower() if number else _device(vendor, name, model)
    return Named(vendor_id, device_id, name, model)


def _split(words: str) -> tuple[str | None, str]:
    small = words.lower()
    for prefix in _LONGEST_FIRST:
        if small.startswith(prefix) and not small[len(prefix) : len(prefix) + 1].isalnum():
            return _VENDORS[prefix], words[len(prefix) :].strip()
    return None, words


def _device(vendor: str | None, name: str, model: str | None) -> str | None:
    if vendor == nvidia_names.VENDOR_ID:
        return _NVIDIA_NAMES.get((model or "").lower())
    if vendor == "8086":
        return _INTEL_NAMES.get((model or "").lower())
    if vendor == "1002":
        code = name.partition("[")[0].strip().lower()
        return _AMD_NAMES.get((model or "").lower()) or _AMD_NAMES.get(code)
    return None
