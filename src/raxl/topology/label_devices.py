"""Labels that say what a node's accelerators are: vendor, model, count, memory, type, driver, domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.label import ACCELERATOR_TYPE, Label, Unlabelled
from raxl.model.node import Node
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT
from raxl.topology import label_values, ray_types
from raxl.topology.reasons import Why, why
from raxl.topology.working import Fleet, absent

Told = Label | Unlabelled
MIXED_KEYS = ("raxl/vendor", "raxl/model", "raxl/accelerators", "raxl/memory-gib")
"""Labels that a node of several vendors or models has none of: each would be true of some devices alone."""
_DRIVERS = {"amd": "amdgpu", "gaudi": "habanalabs", "intel": "intel-gpu driver", "mthreads": "mtgpu"}
_GIB = 1 << 30


def label(key: str, fact: str, message: str, evidence: Sequence[str] = ()) -> Label:
    """A label for a fact, its value made valid."""
    return Label(key, label_values.made_valid(fact), fact, message, tuple(evidence))


def place_label(key: str, name: str, message: str, evidence: Sequence[str] = ()) -> Label:
    """A label that names a place or a domain: no two names are one value."""
    return Label(key, label_values.name(name), name, message, tuple(evidence))


def seen_by(devices: Sequence[Accelerator]) -> tuple[str, ...]:
    """What the devices were read from."""
    return tuple(dict.fromkeys(source for device in devices for source in device.evidence))


def inventory(node: Node, fleet: Fleet) -> Iterator[Told]:
    """Vendor, model, count and memory of the working accelerators, or why the node has none of them."""
    mixed = _mixed(fleet)
    if fleet.why_open is not None:
        told, count = fleet.why_open, f"{len(fleet.open)} of {len(fleet.present)}"
        mixed = Why(told.reason, f"whether {count} can be used is not known: {told.message}", told.evidence)
    if mixed is not None:
        yield from (mixed.unlabelled(key) for key in MIXED_KEYS)
    elif fleet.working:
        yield from _alike(node, fleet)
    else:
        yield from _none(node, fleet)


def _mixed(fleet: Fleet) -> Why | None:
    """Why the devices cannot share a label; None where they are alike."""
    kinds = {(device.vendor, ray_types.model(device)) for device in fleet.present}
    if len(kinds) < 2:
        return None
    names = ", ".join(sorted(name or f"{vendor} of unknown model" for vendor, name in kinds))
    unnamed = len({vendor for vendor, _ in kinds}) == 1 and len([name for _, name in kinds if name]) < 2
    words = "some models are not known" if unnamed else "the node is mixed"
    return Why(NOT_ASKED if unnamed else NOT_APPLICABLE, f"{words}: {names}")


def _alike(node: Node, fleet: Fleet) -> Iterator[Told]:
    devices = fleet.working
    evidence = seen_by(devices)
    first, model = devices[0], ray_types.model(devices[0])
    yield label("raxl/vendor", first.vendor, "inventory", evidence)
    if model is not None:
        yield label("raxl/model", model, "inventory", evidence)
    else:
        subjects = (f"{first.id}.model", "accelerators.model")
        yield why(node, *subjects, otherwise="nobody names its model").unlabelled("raxl/model")
    degraded = sum(device.state == "degraded" for device in devices)
    note = f"those that work, {degraded} of them degraded" if degraded else "those that work"
    missing = f", without {len(fleet.out)}" if fleet.out else ""
    counted = sum(device.ray.would_register is True for device in devices)
    if 0 < counted < len(devices):
        missing += f"; Ray would register {counted} of them"
    yield label("raxl/accelerators", str(len(devices)), note + missing, evidence)
    yield _memory(node, devices, evidence)


def _memory(node: Node, devices: Sequence[Accelerator], evidence: Sequence[str]) -> Told:
    key = "raxl/memory-gib"
    unknown = next((device for device in devices if not device.memory_bytes), None)
    if unknown is not None:
        subjects = (f"{unknown.id}.memory_bytes", "accelerators.memory_bytes")
        return why(node, *subjects, otherwise="nobody says how much memory it has").unlabelled(key)
    sizes = sorted({round((device.memory_bytes or 0) / _GIB) for device in devices})
    if len(sizes) > 1:
        words = " and ".join(map(str, sizes))
        return Unlabelled(key, NOT_APPLICABLE, f"the devices differ: {words} GiB")
    exact = (devices[0].memory_bytes or 0) / _GIB
    return label(key, str(sizes[0]), f"of each, {exact:.1f} GiB rounded", evidence)


def _none(node: Node, fleet: Fleet) -> Iterator[Told]:
    """A node without accelerators has 0 of them where its whole bus could be looked at."""
    told = absent(node, fleet)
    for key in MIXED_KEYS:
        if key == "raxl/accelerators" and told.reason == NOT_PRESENT:
            yield label(key, "0", told.message, ("sysfs",))
        else:
            yield told.unlabelled(key)


def accelerator_type(node: Node, fleet: Fleet) -> Told:
    """A label only where Ray's own detection gives none, or another type than the devices are of."""
    if fleet.why_open is not None:
        return fleet.why_open.unlabelled(ACCELERATOR_TYPE)
    if not fleet.working:
        return absent(node, fleet).unlabelled(ACCELERATOR_TYPE)
    names = {ray_types.spelling(device) for device in fleet.working}
    if len(names) > 1:
        words = ", ".join(sorted(name or "?" for name in names))
        return Unlabelled(ACCELERATOR_TYPE, NOT_APPLICABLE, f"the node is mixed: {words}")
    name, first = names.pop(), fleet.working[0]
    if name is None:
        subjects = [f"{owner}.{field}" for field in ("ray.type", "model") for owner in (first.id, "accelerators")]
        return why(node, *subjects, otherwise="what Ray calls it is not known").unlabelled(ACCELERATOR_TYPE)
    gap = _ray_gives_none(fleet.working)
    if gap:
        return label(ACCELERATOR_TYPE, name, gap, seen_by(fleet.working))
    if any(device.ray.would_register for device in fleet.working):
        return Unlabelled(ACCELERATOR_TYPE, NOT_APPLICABLE, f"Ray gives it itself: {name}", ray_gives=name)
    counting = (f"{first.id}.ray.would_register", "accelerators.ray.would_register")
    told = why(node, *counting, otherwise="what Ray would register is not known")
    words = f"whether Ray gives {name} itself: {told.message}"
    return Unlabelled(ACCELERATOR_TYPE, told.reason, words, told.evidence)


def _ray_gives_none(devices: Sequence[Accelerator]) -> str:
    """Why a Ray that is started without flags gives these devices no type; empty where it may give one."""
    first = devices[0]
    if first.ray.resource is None:
        return "Ray knows no such family"
    if first.vendor == "gaudi" or ray_types.is_nameless(first):
        return "Ray's own detection gives no type here"
    if all(device.ray.would_register is False for device in devices):
        return "Ray's own detection counts none here, hence gives no type"
    return ""


def driver(node: Node, fleet: Fleet) -> Told:
    """The version of the driver of the node's accelerators."""
    key = "raxl/driver"
    vendors = {device.vendor for device in fleet.present}
    if not vendors:
        return absent(node, fleet).unlabelled(key)
    if len(vendors) > 1:
        return Unlabelled(key, NOT_APPLICABLE, f"several vendors: {', '.join(sorted(vendors))}")
    vendor = vendors.pop()
    names = {vendor, _DRIVERS.get(vendor), *(str(device.attributes.get("driver")) for device in fleet.present)}
    found = [software for software in node.software if software.name in names]
    versions = {software.version for software in found}
    if len(versions) == 1:
        return label(key, found[0].version, found[0].name, tuple(dict.fromkeys(one.evidence for one in found)))
    if versions:
        return Unlabelled(key, DISAGREEMENT, f"several versions: {', '.join(sorted(versions))}")
    return why(node, "software", otherwise="nothing that was read says the version of its driver").unlabelled(key)
