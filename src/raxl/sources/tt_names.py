"""Tenstorrent's cards and chips by name and PCI id.

Ids: tt-kmd and pci.ids (every Blackhole card is b140: only driver and tool tell which). Memory: the specification pages
of the cards; of a card with two chips it is that of both together.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Union

VENDOR, VENDOR_ID, RESOURCE, VISIBLE = "tenstorrent", "1e52", "TTNPU", "TT_VISIBLE_DEVICES"
CHIPS = {"401e": "Wormhole", "b140": "Blackhole", "faca": "Grayskull"}
FABRIC = "tt-eth"
"""The chips' own Ethernet between them; never a network."""
_CARDS = {"n150": (12, "Wormhole"), "n300": (24, "Wormhole"), "p100a": (28, "Blackhole"), "p150": (32, "Blackhole")}
_ARCHITECTURES = (("n", "Wormhole"), ("p", "Blackhole"), ("e", "Grayskull"))
_CARD = re.compile(r"(?:tt-?)?([npe][0-9]{2,3}[a-z]?)\b", re.IGNORECASE)


def architecture(card: Optional[str], arch: Optional[str] = None) -> Optional[str]:
    """`Wormhole` of the card `n300 L` or of UMD's `wormhole_b0`; None for what neither tells."""
    words = (arch or card or "").lower()
    for name in CHIPS.values():
        if name.lower() in words:
            return name
    if "galaxy" in words:
        return "Blackhole" if "bh" in words else "Wormhole" if "wh" in words else None
    found = _CARD.match(words)
    return next((name for letter, name in _ARCHITECTURES if found and found[1].startswith(letter)), None)


def attributes(card: Optional[str]) -> Dict[str, Union[str, int, float, bool, None]]:
    """The card's nominal memory, where its specification is known: no reading, and of all its chips together."""
    found = _CARD.match((card or "").lower())
    for name, (gigabytes, _) in _CARDS.items():
        if found and found[1].startswith(name):
            return {"nominal_card_memory_gb": gigabytes}
    return {}
