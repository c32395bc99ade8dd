"""What AMD, the list of PCI ids and Ray call AMD's GPUs: names that every source of them shares."""

from __future__ import annotations

import re
from typing import Optional

VENDOR_ID = "1002"
VISIBLE = "HIP_VISIBLE_DEVICES"

MODELS = {
    "66a1": "Instinct MI50",
    "738c": "Instinct MI100",
    "738e": "Instinct MI100",
    "7408": "Instinct MI250X",
    "740c": "Instinct MI250X/MI250",
    "740f": "Instinct MI210",
    "74a0": "Instinct MI300A",
    "74a1": "Instinct MI300X",
    "74a2": "Instinct MI308X",
    "74a5": "Instinct MI325X",
    "74a9": "Instinct MI300X HF",
    "74b5": "Instinct MI300X VF",
    "74b9": "Instinct MI325X VF",
    "74bd": "Instinct MI300X HF VF",
    "75a0": "Instinct MI350X",
    "75a3": "Instinct MI355X",
    "75a8": "Instinct MI350P",
}
"""By PCI device id, after https://pci-ids.ucw.cz (2026-08-22)."""

INTEGRATED = frozenset(
    {
        "13c0",
        "13fe",
        "1435",
        "150e",
        "1506",
        "15bf",
        "15c8",
        "15d8",
        "15dd",
        "15e7",
        "1586",
        "1636",
        "1638",
        "163f",
        "164c",
        "164d",
        "164e",
        "1681",
        "1900",
        "1901",
    }
)
"""Display functions of processors (Raven to Strix Halo, after pci.ids): they share the system's memory,
and are no accelerators."""

RAY_TYPES = {
    "66a1": "AMD-Instinct-MI50",
    "738c": "AMD-Instinct-MI100",
    "7408": "AMD-Instinct-MI250X",
    "740c": "AMD-Instinct-MI250X-MI250",
    "740f": "AMD-Instinct-MI210",
    "74a0": "AMD-Instinct-MI300A",
    "74a1": "AMD-Instinct-MI300X-OAM",
    "74a2": "AMD-Instinct-MI308X-OAM",
    "74a5": "AMD-Instinct-MI325X-OAM",
    "74a9": "AMD-Instinct-MI300X-HF",
    "75a0": "AMD-Instinct-MI350X-OAM",
    "75a3": "AMD-Instinct-MI355X-OAM",
    "6798": "AMD-Radeon-R9-200-HD-7900",
    "6799": "AMD-Radeon-HD-7900",
    "679a": "AMD-Radeon-HD-7900",
    "679b": "AMD-Radeon-HD-7900",
}
"""What Ray 2.60 calls each device id (`ray._private.accelerators.amd_gpu`); tests hold it against Ray's own."""


def unit(text: Optional[str]) -> Optional[str]:
    """A package's unique id in hex without leading zeros; None for zeros, and for what is no such number."""
    digits = (text or "").strip().lower()
    digits = (digits[2:] if digits.startswith("0x") else digits).lstrip("0")
    return digits if re.fullmatch("[0-9a-f]{1,16}", digits) else None


def uuid(unique_id: Optional[str]) -> Optional[str]:
    """The name that ROCr takes in `ROCR_VISIBLE_DEVICES`: `GPU-` and the unique id."""
    return f"GPU-{unique_id.zfill(16)}" if unique_id else None
