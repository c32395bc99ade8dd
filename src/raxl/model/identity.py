"""How devices are named: PCI addresses and the ids of accelerators."""

from __future__ import annotations

import re

_PCI_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)


def pci_address(text: str | None) -> str | None:
    """The PCI address as sysfs spells it, `dddd:bb:dd.f` in lower case; None when `text` is no such address.

    NVML prints an eight-digit domain in upper case, old tools leave the domain out. A domain above ffff
    (Intel VMD: `10000:`) keeps its digits.
    """
    found = _PCI_ADDRESS.fullmatch((text or "").strip())
    if not found:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def last_pci_address(path: str) -> str | None:
    """The PCI address nearest to the end of a sysfs path: the function that a device hangs below."""
    for element in reversed(path.split("/")):
        if _PCI_ADDRESS.fullmatch(element):
            return pci_address(element)
    return None


def nvswitch_id(address: str) -> str:
    """The id of an NVSwitch, whichever source names it."""
    return f"nvswitch@{address}"


def accelerator_id(vendor: str, index: int | None, address: str | None, place: int) -> str:
    """`nvidia:0` by the runtime's index, else `nvidia@0000:3b:00.0` by address, else `nvidia@2` by its order."""
    if index is not None:
        return f"{vendor}:{index}"
    return f"{vendor}@{address if address is not None else place}"


def model_name(vendor: str, model: str | None) -> str | None:
    """The model without its vendor's name before it: `H100 80GB HBM3`; None when it is not known."""
    known = (model or "").strip()
    before = f"{vendor} "
    return (known[len(before) :] if known.lower().startswith(before.lower()) else known) or None
