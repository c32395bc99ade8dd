"""Which node and which device of one reading is which of another: by identity, then by address, then by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node

_Thing = TypeVar("_Thing")
_Device = TypeVar("_Device", Accelerator, Nic)
Key = Callable[[_Thing], Hashable]


class Match(NamedTuple, Generic[_Thing]):
    """What was found on both sides, and what on one alone."""

    pairs: tuple[tuple[_Thing, _Thing], ...]
    gone: tuple[_Thing, ...]
    new: tuple[_Thing, ...]


def matched(
    before: Sequence[_Thing],
    after: Sequence[_Thing],
    keys: Sequence[Key[_Thing]],
    fits: Callable[[_Thing, _Thing], bool] = lambda a, b: True,
) -> Match[_Thing]:
    """Each thing with its like by the first of the keys that tells it apart; a key that is None or repeats on either
    side (a redacted UUID) tells nothing. `fits` may refuse a pair."""
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for key in keys:
        theirs = _places(after, key)
        for name, place in _places(before, key).items():
            other = theirs.get(name)
            if place in partner or other is None or other in taken or not fits(before[place], after[other]):
                continue
            partner[place] = other
            taken.add(other)
    return Match(
        tuple((one, after[partner[place]]) for place, one in enumerate(before) if place in partner),
        tuple(one for place, one in enumerate(before) if place not in partner),
        tuple(one for place, one in enumerate(after) if place not in taken),
    )


def accelerators(before: Node, after: Node, by_shape: bool) -> Match[Accelerator]:
    """The accelerators of two nodes: UUID, serial, PCI address, id; as to shape without the first two."""
    a, b = before.accelerators, after.accelerators
    if by_shape:
        return matched(a, b, _shape_keys(a, b), _is_of_one_vendor)
    unique = _unique(a, b)

    def fits(one: Accelerator, other: Accelerator) -> bool:
        return _stays(one, other, unique)

    return matched(a, b, (uuid, serial, _address, _id), fits)


def nics(before: Node, after: Node, by_shape: bool) -> Match[Nic]:
    """The network adapters of two nodes: by PCI address and then id."""
    a, b = before.nics, after.nics
    if by_shape:
        return matched(a, b, _shape_keys(a, b))
    return matched(a, b, (_whole_address, _address, _id), _is_one_nic)


def nodes(before: Sequence[Node], after: Sequence[Node]) -> Match[Node]:
    """The nodes of two readings: by boot, by Ray's id, which one that does not answer has too, by name, then by the
    devices in them; a last one on both sides is a pair."""
    found = matched(before, after, (_boot, _raylet, _name, *_by_devices(before, after)))
    if len(before) == len(after) == 1 and not found.pairs:
        return Match(((before[0], after[0]),), (), ())
    return found


def is_one_machine(before: Node, after: Node) -> bool:
    """Whether two nodes are one machine at two times: a boot, a device or a name in common, or nothing that tells them
    apart."""
    if before.boot_id is not None and before.boot_id == after.boot_id:
        return True
    mine, theirs = identities(before), identities(after)
    if mine & theirs:
        return True
    recorded = before.recorded_by is not None and after.recorded_by is not None
    if mine and theirs and not (recorded and before.name == after.name):
        return False
    return before.name == after.name or not recorded  # a foreign text's name is that of its file


def identities(node: Node) -> set[Hashable]:
    """The UUIDs and serial numbers of the node's accelerators that occur once in it."""
    found = Counter(key(device) for device in node.accelerators for key in (uuid, serial))
    return {name for name, count in found.items() if name is not None and count == 1}


def uuid(device: Accelerator) -> Hashable:
    """The vendor's name for this one device; None when it is not known."""
    return None if not device.uuid else (device.vendor, "uuid", device.uuid.lower())


def serial(device: Accelerator) -> Hashable:
    """The board's number; several devices of one board share it."""
    return None if not device.serial else (device.vendor, "serial", device.serial)


def is_replaced(before: Accelerator, after: Accelerator, unique: set[Hashable]) -> bool:
    """Whether another device is in the place of one: UUIDs, else serials, that are known, tell apart, and differ."""
    for key in (uuid, serial):
        mine, theirs = key(before), key(after)
        if mine is not None and theirs is not None and mine in unique and theirs in unique:
            return mine != theirs
    return False


def unique_of(before: Node, after: Node) -> set[Hashable]:
    """The identities that occur once on each side at most."""
    return _unique(before.accelerators, after.accelerators)


def _unique(a: Sequence[Accelerator], b: Sequence[Accelerator]) -> set[Hashable]:
    counts = [Counter(key(device) for device in side for key in (uuid, serial)) for side in (a, b)]
    return {name for name in (*counts[0], *counts[1]) if all(count[name] < 2 for count in counts)}


def _stays(one: Accelerator, other: Accelerator, unique: set[Hashable]) -> bool:
    """Whether two devices can be a pair: not another device at another address, of one id by chance."""
    if one.vendor != other.vendor:
        return False
    elsewhere = one.pci is not None and other.pci is not None and one.pci.address != other.pci.address
    return not (elsewhere and is_replaced(one, other, unique))


def _is_one_nic(one: Nic, other: Nic) -> bool:
    """An adapter that keeps its address or, elsewhere, its model: names go from one adapter to another."""
    if one.pci is None or other.pci is None or one.pci.address == other.pci.address:
        return True
    return one.pci.device_id == other.pci.device_id and one.model == other.model


def _shape_keys(a: Sequence[_Device], b: Sequence[_Device]) -> list[Key[_Device]]:
    """The address where the two chassis number their buses alike, so that a missing device is not its neighbour; then
    the id, then the place among those of one model, then of all."""
    theirs = {_address(one) for one in b} - {None}
    common: int = sum(_address(one) in theirs for one in a)
    alike: bool = common >= max(1, min(len(a), len(b)))
    return [*([_address] if alike else []), _id, _rank(a, b, True), _rank(a, b, False)]


def _is_of_one_vendor(one: Accelerator, other: Accelerator) -> bool:
    return one.vendor == other.vendor


def _rank(a: Sequence[_Device], b: Sequence[_Device], by_model: bool) -> Key[_Device]:
    """A key of the place among all, or those of one model, for ids that differ as addresses do."""
    ranks: dict[int, Hashable] = {}
    for side in (a, b):
        seen: Counter[Hashable] = Counter()
        for device in side:
            model = (device.model, device.pci and device.pci.device_id) if by_model else None
            sort = (getattr(device, "vendor", None), model)
            ranks[id(device)] = (sort, seen[sort])
            seen[sort] += 1
    return lambda device: ranks[id(device)]


def _by_devices(before: Sequence[Node], after: Sequence[Node]) -> Sequence[Key[Node]]:
    """A key that is one for a node of each side with a device in common, where both have no other."""
    owners = {name: place for place, node in enumerate(before) for name in identities(node)}
    known: dict[int, Hashable] = {id(node): ("node", place) for place, node in enumerate(before)}
    for node in after:
        found = {owners[name] for name in identities(node) if name in owners}
        known[id(node)] = ("node", found.pop()) if len(found) == 1 else None
    return (lambda node: known[id(node)],)


def _places(things: Sequence[_Thing], key: Key[_Thing]) -> dict[Hashable, int]:
    """The place of each key that one thing alone has."""
    names = [key(thing) for thing in things]
    counts = Counter(names)
    return {name: place for place, name in enumerate(names) if name is not None and counts[name] == 1}


def _address(device: Accelerator | Nic) -> Hashable:
    return None if device.pci is None else device.pci.address


def _whole_address(device: Nic) -> Hashable:
    """Of an adapter with several devices on one PCI function: the name too."""
    return None if device.pci is None else (device.pci.address, device.id)


def _id(device: Accelerator | Nic) -> Hashable:
    return device.id


def _boot(node: Node) -> Hashable:
    return node.boot_id


def _raylet(node: Node) -> Hashable:
    return node.ray_node_id


def _name(node: Node) -> Hashable:
    return node.name
