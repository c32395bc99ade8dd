"""What two sources say differently of one adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from raxl.model.nic import Nic
from raxl.model.problem import DISAGREEMENT, Problem

_ASKED_FOR_KIND = ("sysfs", "ibstat", "ibstatus", "ibv_devinfo")
"""Sources that read the link layer; the others take a kind from a name or a class."""
_ROUNDED = 0.06
"""Tools round a speed differently, and some count what the coding takes: 56.25 and 54.5 Gb/s are one."""

Said = Mapping[str, object]
"""By source, what it says."""


def problems(groups: Sequence[Sequence[Nic]]) -> Iterator[Problem]:
    """One problem for each field of each adapter, with every source's word."""
    for group in groups:
        if len(group) > 1:
            for field, said in _fields(group):
                if _differ(field, list(said.values())):
                    words = ", ".join(f"{source} says {_word(word)}" for source, word in said.items())
                    yield Problem(f"{group[0].id}.{field}", DISAGREEMENT, words, tuple(said))


def _fields(group: Sequence[Nic]) -> Iterator[tuple[str, Said]]:
    """The fields of the adapter, then of its ports; an adapter of one port is told by the adapter alone."""
    yield "kind", _said((one, one.kind) for one in group if set(one.evidence) & set(_ASKED_FOR_KIND))
    yield "pci", _said((one, one.pci.address if one.pci else None) for one in group)
    numbers = sorted({port.port for one in group for port in one.ports})
    if len(numbers) < 2:
        yield "netdev", _said((one, one.netdev) for one in group)
        yield "state", _said((one, one.state) for one in group)
        yield "speed_bits_per_second", _said((one, one.speed_bits_per_second) for one in group)
        return
    for number in numbers:
        ports = [(one, port) for one in group for port in one.ports if port.port == number]
        yield f"ports.{number}.netdev", _said((one, port.netdev) for one, port in ports)
        yield f"ports.{number}.state", _said((one, port.state) for one, port in ports)
        yield f"ports.{number}.speed_bits_per_second", _said((one, port.speed_bits_per_second) for one, port in ports)


def _said(pairs: Iterator[tuple[Nic, object]]) -> Said:
    """By source; what says nothing is left out."""
    said: dict[str, object] = {}
    for one, word in pairs:
        if word not in (None, "unknown", "rdma"):
            said.setdefault(one.evidence[0] if one.evidence else "a source", word)
    return said


def _differ(field: str, words: Sequence[object]) -> bool:
    if len(set(words)) < 2:
        return False
    if field.endswith("speed_bits_per_second"):
        speeds = [word for word in words if isinstance(word, int)]
        return max(speeds) - min(speeds) > max(speeds) * _ROUNDED
    if field == "kind":  # whoever does not know RDMA calls its devices ethernet
        return len(set(words) - {"ethernet"}) > 1 or {"infiniband", "ethernet"} <= set(words)
    return True


def _word(word: object) -> str:
    return f"{word / 10**9:g} Gb/s" if isinstance(word, int) else str(word)
