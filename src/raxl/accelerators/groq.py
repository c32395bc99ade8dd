"""Groq LPUs: the GroqCard by PCI and the nodes of its driver.

GroqCard (LPU v1): 1de0:0000 (pci.ids, "TSP"); /dev/groq<n>.pci or /dev/groqA<n>.pci (GroqFlow's guides); the driver's
name is unverified. Nominal figures of it (230 MB of SRAM, nine RealScale ports) are unverified too, and are not
given.

Groq 3 LPU (LP30, NVIDIA's LPX rack, announced in March 2026): no PCI id, driver or library is public, so raxl cannot
recognise one by more than its vendor and class, and does not claim to. What the press says differs (500 or 512 MB of
SRAM).
"""

from __future__ import annotations

from raxl.sources.families import Family
from raxl.sources.plain_family import PlainFamily


class Groq(PlainFamily):
    """Groq LPUs."""

    vendor = "groq"
    family = "Groq"
    described = Family(
        vendor="groq",
        name="Groq",
        kind="lpu",
        vendor_id="1de0",
        models={"0000": "GroqCard"},
        resource=None,
        visible_env=None,
        drivers=(),
        classes=("12",),
    )
    node = r"groqA?([0-9]{1,5})\.pci"
    is_node_alone_enough = True
    fabric = "RealScale"
    custom_resource = "GROQ"
