"""What differs between two readings of an accelerator or an adapter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from raxl.model import difference as kinds
from raxl.model.accelerator import Accelerator, Partition
from raxl.model.component import PciIdentity
from raxl.model.difference import CHANGE, Subject, Value
from raxl.model.nic import Nic, Port
from raxl.topology import lasting, matching
from raxl.topology.differing import Pair, Thing

_VERSIONS = frozenset(["firmware", "vbios", "version"])


def accelerator(pair: Pair, before: Accelerator, after: Accelerator, is_replaced: bool) -> None:
    """Notes what differs of one accelerator."""
    if before == after:
        return
    subject = _subject(pair, before, after)
    thing = Thing(pair, subject, "accelerators", before.id, after.id)
    _identity(pair, thing, before, after, is_replaced)
    thing.state("state", before.state, after.state)
    fields = ("model", "kind", "architecture", "memory_bytes", "numa_node", "visible_env")
    thing.values(_of(before, fields), _of(after, fields))
    near = _numbers(before.local_numa_nodes), _numbers(after.local_numa_nodes)
    if near != (_text(before.numa_node), _text(after.numa_node)):  # else the nearest one has said it
        thing.value("local_numa_nodes", *near)
    _pci(pair, thing, before.pci, after.pci, idles=True)
    _fabric(pair, thing, before, after)
    _partitions(pair, thing, before, after)
    thing.values(_ray(before), _ray(after), kinds.RAY)
    _attributes(pair, thing, before.attributes, after.attributes)
    thing.done()


def nic(pair: Pair, before: Nic, after: Nic) -> None:
    """Notes what differs of one adapter."""
    if before == after:
        return
    subject = _subject(pair, before, after)
    thing = Thing(pair, subject, "nics", before.id, after.id)
    if before.id != after.id and pair.names:
        pair.note(kinds.RENUMBERED, CHANGE, ("id",), subject)
    _moved(pair, thing, before, after)
    thing.state("state", before.state, after.state)
    fields = ("kind", "model", "numa_node")
    thing.values(_of(before, fields), _of(after, fields))
    if before.state == after.state or None not in (before.role, after.role):  # a link that is down tells no role
        thing.value("role", before.role, after.role)
    if pair.names:
        thing.value("netdev", before.netdev, after.netdev)
    thing.amount("speed_bits_per_second", before.speed_bits_per_second, after.speed_bits_per_second)
    _pci(pair, thing, before.pci, after.pci, idles=False)
    _ports(thing, {port.port: port for port in before.ports}, {port.port: port for port in after.ports})
    thing.done()


def _subject(pair: Pair, before: Accelerator | Nic, after: Accelerator | Nic) -> Subject:
    return Subject(pair.after.name, after.id, was=before.id if before.id != after.id else None)


def _identity(pair: Pair, thing: Thing, before: Accelerator, after: Accelerator, is_replaced: bool) -> None:
    if pair.names:
        if is_replaced:
            field = "uuid" if before.uuid and after.uuid and before.uuid != after.uuid else "serial"
            names = getattr(before, field), getattr(after, field)
            pair.note(kinds.REPLACED, CHANGE, (field,), _with(thing.subject, *names))
        else:
            thing.values(_of(before, ("uuid", "serial")), _of(after, ("uuid", "serial")))
        if before.id != after.id:
            numbered = before.index is not None and after.index is not None
            pair.note(kinds.RENUMBERED, CHANGE, ("index" if numbered else "id",), thing.subject)
    is_moved = _moved(pair, thing, before, after)
    if pair.names and not is_moved:
        thing.value("pcie_root", before.pcie_root, after.pcie_root)
    if pair.names and before.id == after.id:
        thing.value("index", before.index, after.index)


def _moved(pair: Pair, thing: Thing, before: Accelerator | Nic, after: Accelerator | Nic) -> bool:
    if before.pci is None or after.pci is None or before.pci.address == after.pci.address:
        return False
    if pair.names:
        moved = _with(thing.subject, before.pci.address, after.pci.address)
        pair.note(kinds.MOVED, CHANGE, ("pci.address",), moved)
    return True


def _with(subject: Subject, before: Value, after: Value) -> Subject:
    return Subject(subject.node, subject.id, was=subject.was, before=before, after=after)


def _pci(pair: Pair, thing: Thing, before: PciIdentity | None, after: PciIdentity | None, idles: bool) -> None:
    if before is None or after is None:
        thing.value("pci", _address(before), _address(after))
        return
    for name in ("vendor_id", "device_id", "subsystem_id"):
        thing.value(f"pci.{name}", getattr(before, name), getattr(after, name))
    a, b = before.link, after.link
    if a is None or b is None:
        thing.value("pci.link", _there(a), _there(b))
        return
    thing.amount("pci.link.width", a.width, b.width)
    if (a.max_width, b.max_width) != (a.width, b.width):
        thing.amount("pci.link.max_width", a.max_width, b.max_width)
    thing.amount("pci.link.max_speed_gts", a.max_speed_gts, b.max_speed_gts)
    is_told = (a.speed_gts, b.speed_gts) == (a.max_speed_gts, b.max_speed_gts)
    if pair.everything or not (idles or is_told):
        thing.amount("pci.link.speed_gts", a.speed_gts, b.speed_gts)


def _fabric(pair: Pair, thing: Thing, before: Accelerator, after: Accelerator) -> None:
    a, b = before.fabric, after.fabric
    if a is None or b is None:
        thing.value("fabric", _there(a), _there(b))
        return
    if a.state != b.state:
        if a.state is None or b.state is None:
            thing.value("fabric.state", a.state, b.state)
        else:
            thing.judged("fabric.state", a.state, b.state, not lasting.is_good(b.state))
    for name in ("domain", "clique") if pair.names else ():
        mine, theirs = getattr(a, name), getattr(b, name)
        if mine != theirs:  # None: it belongs to none
            pair.note(kinds.PLACEMENT, CHANGE, (f"fabric.{name}",), thing.subject, mine, theirs)


def _partitions(pair: Pair, thing: Thing, before: Accelerator, after: Accelerator) -> None:
    """By profile and memory: what is cut anew has new ids."""
    a, b = _profiles(before.partitions), _profiles(after.partitions)
    nodes = pair.before, pair.after
    foreign = [not cut and node.recorded_by is None for cut, node in zip((a, b), nodes, strict=True)]
    if any(foreign):
        thing.value("partitions", None if foreign[0] else a or "none", None if foreign[1] else b or "none")
    else:
        thing.value("partitions", a or "none", b or "none")
    if pair.everything and a == b:
        ids = [", ".join(sorted(one.id for one in device.partitions)) for device in (before, after)]
        thing.value("partitions.id", *ids)


def _profiles(partitions: tuple[Partition, ...]) -> str:
    """`1 × 3g.40gb, 2 × 2g.20gb`."""
    counts = Counter((one.profile or "?", one.memory_bytes) for one in partitions)
    profiles = Counter(profile for profile, _ in counts)
    told = sorted((profile, memory or 0, count) for (profile, memory), count in counts.items())
    return ", ".join(
        f"{count} × {profile}" + (f" ({memory >> 20} MiB)" if profiles[profile] > 1 else "")
        for profile, memory, count in told
    )


def _attributes(pair: Pair, thing: Thing, before: Mapping[str, Value], after: Mapping[str, Value]) -> None:
    for name in sorted({*before, *after}):
        a, b = before.get(name), after.get(name)
        field = f"attributes.{name}"
        if a == b or (lasting.is_volatile(name) and not pair.everything):
            continue
        if lasting.is_identity(name) and not pair.names:
            continue
        links = isinstance(a, int) and isinstance(b, int) and {"up", "down"} & set(name.split("_"))
        if links and isinstance(a, int) and isinstance(b, int):
            thing.sized(field, a, b, b < a if "up" in links else b > a)
        elif a is not None and b is not None and lasting.is_state(name):
            thing.judged(field, a, b, not lasting.is_good(b))
        else:
            version = _VERSIONS & set(name.split("_"))
            thing.value(field, a, b, kinds.VERSION if version else kinds.CHANGED)


def _ports(thing: Thing, before: Mapping[int, Port], after: Mapping[int, Port]) -> None:
    """The ports of an adapter with several: of one alone the adapter has said it."""
    if len(before) < 2 or len(after) < 2:
        return
    for number in sorted(before.keys() & after.keys()):
        a, b = before[number], after[number]
        thing.state(f"ports.{number}.state", a.state, b.state)
        thing.amount(f"ports.{number}.speed_bits_per_second", a.speed_bits_per_second, b.speed_bits_per_second)


def _of(device: Accelerator | Nic, fields: tuple[str, ...]) -> dict[str, Value]:
    return {field: getattr(device, field) for field in fields}


def _ray(device: Accelerator) -> dict[str, Value]:
    return {f"ray.{name}": value for name, value in vars(device.ray).items()}


def _address(pci: PciIdentity | None) -> Value:
    return None if pci is None else pci.address


def _there(part: object) -> Value:
    """Whether it is known: its values are not compared with nothing, one by one."""
    return None if part is None else True


def _numbers(numbers: tuple[int, ...]) -> str | None:
    return ",".join(map(str, sorted(numbers))) or None


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def identity_of(device: Accelerator) -> object:
    """What finds a device again in another node: its UUID, else its serial."""
    return matching.uuid(device) or matching.serial(device)
