"""`nicctl show card -j`: AMD's Pensando adapters (Pollara), by the PCI function of their Ethernet side.

https://instinct.docs.amd.com: AI NIC software. The output may end anywhere, so each field is read where it stands.
"""

from __future__ import annotations

import re

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.component import PciIdentity
from raxl.model.identity import pci_address
from raxl.model.nic import Nic
from raxl.model.problem import FAILED, Problem

FORM = "nicctl"
_PLACE = re.compile(r'"eth_bdf"\s{0,8}:')
_FIELD = re.compile(r'"(id|pcie_bdf|eth_bdf|product_name)"\s{0,8}:\s{0,8}"([^"\n]{0,100})"')


def recognises(text: str) -> bool:
    """Whether a card with its Ethernet function is in it."""
    return '"nic"' in text and _PLACE.search(text) is not None


def own(text: str) -> str:
    """The document, without what stands around it; its beginning or its end may be cut off."""
    held = lines(text)
    told = [place for place, line in enumerate(held) if line.lstrip().startswith(("{", "}")) or _FIELD.search(line)]
    return joined(held[told[0] : told[-1] + 1]) if told else ""


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """One adapter for each card that names its function. The tool names neither network nor RDMA devices."""
    cards: list[dict[str, str]] = []
    for name, value in _FIELD.findall(text):
        if name == "id" or not cards:
            cards.append({})
        cards[-1].setdefault(name, value)
    nics = {}
    for card in cards:
        address = pci_address(card.get("eth_bdf"))
        if address is not None:
            model = card.get("product_name", "").strip() or None
            nics[address] = Nic(address, model=model, pci=PciIdentity(address), evidence=(FORM,))
    nameless = sum("pcie_bdf" in card and pci_address(card.get("eth_bdf")) is None for card in cards)
    message = f"nicctl shows {nameless} cards without their Ethernet function: which adapters they are is not told"
    return Foreign(FORM, nics=tuple(nics.values())), (Problem("nics", FAILED, message, (FORM,)),) if nameless else ()
