"""Uncorrected errors and repairs that wait, as the attributes of devices count them: what a state does not tell."""

from __future__ import annotations

from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.render.naming import Names, counted
from raxl.render.quantity import listed

_COUNTS = (
    "ecc_uncorrected",
    "ecc_uncorrectable",
    "uncorrected_events",
    "uncorrected_ecc_errors",
    "mem_ecc_uncorrected",
    "sram_ecc_uncorrected",
)
"""NVIDIA's, AMD's, Gaudi's by the two titles of its column, and the two memories of a Neuron device."""
_REPAIRS = {
    "remap_pending": "a row remap is pending",
    "remap_failure": "a row remap failed",
    "retirement_pending": "a page retirement is pending",
}
_MOST_LINES = 4


def error_facts(node: Node, names: Names) -> list[tuple[str, str]]:
    """`GPU 6`, `176 uncorrected errors`: devices of which the same is to be said together, the worst first; a few."""
    told: dict[str, list[str]] = {}
    for device in sorted(node.accelerators, key=_uncorrected, reverse=True):
        if text := _errors(device):
            told.setdefault(text, []).append(device.id)
    shown = list(told.items()) if len(told) <= _MOST_LINES else list(told.items())[: _MOST_LINES - 1]
    rest = [id for ids in list(told.values())[len(shown) :] for id in ids]
    ends = [(names.all(rest), "uncorrected errors or repairs too (--format json lists each)")] if rest else []
    return [*((names.all(ids), text) for text, ids in shown), *ends]


def _errors(device: Accelerator) -> str:
    count = _uncorrected(device)
    repairs = [words for name, words in _REPAIRS.items() if device.attributes.get(name) is True]
    return listed([*([counted(count, "uncorrected error")] if count else []), *repairs])


def _uncorrected(device: Accelerator) -> int:
    held = (device.attributes.get(name) for name in _COUNTS)
    return sum(count for count in held if isinstance(count, int) and not isinstance(count, bool) and count > 0)
