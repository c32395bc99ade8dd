"""Which way the bytes went, by what the devices counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.bench.readings import Ends, Row
from raxl.model.measurement import PROVEN, UNVERIFIED, WENT_ELSEWHERE, Moved, Path
from raxl.transfer import MEMORY, TARGET

LEAST_RATIO, MOST_RATIO = 0.95, 1.15
"""Of what was sent, to what the device carried: headers add up to a twentieth, retransmissions more."""
_ABOVE_NOISE = 10
"""What was sent is so many times what moves anyway, or nothing is proven."""
_LEAST_BYTES = 4 << 20
_MESSAGES_BYTES = 16 << 10
"""What Ray itself says over the same device, a transfer of one of its transports."""
_SHARE_ELSEWHERE = 0.05
"""A device that carried less than this share carried none of it."""
LOOPBACK = "lo"


def path(row: Row, ends: Ends, expected: int) -> Path | None:
    """The evidence for a row that was measured, of which `expected` bytes went from source to target."""
    if row.taken is None or row.taken.is_mapped:
        return None
    target = row.moved[-1]
    claimed = _claimed(row, ends)
    if expected < max(_LEAST_BYTES, _ABOVE_NOISE * _others(row, ends)):
        return Path(claimed, (), UNVERIFIED, row.taken.protocol)
    arrived = {name: moved[0] for name, moved in target.items()}
    if claimed == MEMORY:
        carried = _carried(arrived, expected)
        verdict = WENT_ELSEWHERE if carried else PROVEN
        return Path(claimed, carried, verdict, row.taken.protocol)
    devices = [Moved(name, arrived.get(name, 0), expected) for name in _claimed_devices(row, ends)]
    moved = sum(one.moved_bytes for one in devices)
    if LEAST_RATIO <= moved / expected <= MOST_RATIO:
        return Path(claimed, tuple(devices), PROVEN, row.taken.protocol)
    others = _carried({name: count for name, count in arrived.items() if name not in claimed}, expected)
    return Path(claimed, (*devices, *others), WENT_ELSEWHERE, row.taken.protocol)


def _claimed(row: Row, ends: Ends) -> str:
    return "+".join(_claimed_devices(row, ends)) if not _is_memory(row, ends) else MEMORY


def interface(ends: Ends) -> str:
    """The target's, by which its peers reach it."""
    return str(ends.target.get("interface") or "the network")


def _is_memory(row: Row, ends: Ends) -> bool:
    """A library that tells what carries it within a node is believed before its plug-in."""
    if row.way == TARGET:
        return True
    if not ends.is_one_node or row.taken is None:
        return False
    return set(row.taken.carriers) <= {MEMORY} if row.taken.carriers else row.way == MEMORY


def _claimed_devices(row: Row, ends: Ends) -> Sequence[str]:
    """Between nodes it is to be the network's: a library that went by memory there does not say so for itself."""
    if ends.is_one_node:
        return (LOOPBACK,)
    told = [one for one in (row.taken.carriers if row.taken else ()) if one not in (MEMORY, LOOPBACK)]
    return told or (interface(ends),)


def _carried(arrived: Mapping[str, int], expected: int) -> tuple[Moved, ...]:
    """The devices that carried a share worth naming, the largest first."""
    found = [Moved(name, count, expected) for name, count in arrived.items() if count > _SHARE_ELSEWHERE * expected]
    return tuple(sorted(found, key=lambda one: -one.moved_bytes))


def _others(row: Row, ends: Ends) -> float:
    """Bytes that would have moved without the data: idle talk, and Ray's."""
    rate = (ends.target.get("idle_bytes_per_second") or {}).get(interface(ends), 0.0)
    return float(rate) * row.seconds + _MESSAGES_BYTES * (row.taken.transfers if row.taken else 0)
