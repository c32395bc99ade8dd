"""What NVIDIA's management library says: which questions it is asked, and its claims.

The questions that name a device come before all others, so that a library that stops answering has told what is there.
https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Tuple

from raxl.host import Answer, Host
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.component import PciLink
from raxl.model.facts import Reading
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import FAILED, NOT_APPLICABLE, UNREAD, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import library_answers, nvidia_names, nvidia_words, nvml_library

NAME = "nvml"
_MOST_DEVICES = 256
_IDENTITY = ("address", "uuid", "name", "serial", "memory_bytes")
_REST = (
    "pci_ids",
    "minor",
    "architecture",
    "vbios",
    "pcie_generation",
    "pcie_width",
    "pcie_max_generation",
    "pcie_max_width",
    "pcie_replays",
    "memory_numa_node",
    "numa_nodes",
    "virtualization",
    "addressing_mode",
    "mig_mode",
    "mig_devices",
    "fabric",
    "platform",
    "chassis_serial",
    "nvlinks",
    "c2c_links",
    "recovery_action",
    "ecc_mode",
    "ecc_uncorrected",
    "remapped_rows",
    "clocks_event_reasons",
    "processes",
)
_OF_PAIR = ("ancestor", "p2p")
_ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
}
_SPEEDS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""GT/s by PCIe generation."""
_COMPLETED = "completed"
_FABRIC_STATES = {1: "not started", 2: "in progress", 3: _COMPLETED}
_HEALTH = {1: "healthy", 2: "unhealthy", 3: "limited capacity"}
VIRTUALIZATION = {0: "None", 1: "Pass-Through", 2: "VGPU", 3: "Host VGPU", 4: "Host VSGA"}
_ADDRESSING = {0: "none", 1: "HMM", 2: "ATS"}
RECOVERY = {
    0: "none",
    1: "reset GPU",
    2: "reboot node",
    3: "drain P2P",
    4: "drain and reset",
    5: "recover IMEX domain",
    6: "reset bus",
    7: "reboot system",
}
_P2P = {
    0: "ok",
    1: "the chipset does not support it",
    2: "the GPU does not support it",
    3: "the topology does not support it",
    4: "it is switched off",
    5: "it is not supported",
}
"""`nvmlGpuP2PStatus_t`; any other number says nothing."""


_SHAPES: Mapping[str, Any] = {
    **dict.fromkeys(("address", "uuid", "name", "serial", "vbios", "chassis_serial", "driver", "cuda"), str),
    **{call: [int] for call in ("pci_ids", "numa_nodes", "mig_mode", "ecc_mode", "remapped_rows", "processes")},
    "nvlinks": [{"state": int, "remote": str, "remote_type": int, "version": int}],
    "mig_devices": [{"index": int, "name": str, "uuid": str, "memory_mib": int}],
    "fabric": {"state": int, "status": int, "cluster": str, "clique": int, "health": int, "health_mask": int},
    "platform": {"slot": int, "tray": int},
    "p2p": {},
}
"""What each call gives; a number where none stands here. Below a key None is allowed too."""
_LEAST = {"pci_ids": 2, "mig_mode": 2, "ecc_mode": 2, "remapped_rows": 4}
"""How many numbers a list has at least."""
_asked = library_answers.asker(NAME, _SHAPES, _LEAST)


class Answers(NamedTuple):
    """How many devices there are, and each one's answers by the name of the call."""

    start: Answer
    driver: Answer
    cuda: Answer
    devices: Tuple[Mapping[str, Answer], ...]
    pairs: Mapping[Tuple[int, int], Mapping[str, Answer]]


def ask(host: Host) -> Answers:
    """Asks the library for its devices, then each device, then each pair."""
    start = _asked(host, "start")
    if not start.known:
        return Answers(start, start, start, (), {})
    driver, cuda, count = _asked(host, "driver"), _asked(host, "cuda"), min(start.value, _MOST_DEVICES)
    identity = [{call: _asked(host, call, index) for call in _IDENTITY} for index in range(count)]
    devices = tuple(
        {**one, **{call: _asked(host, call, place) for call in _REST}} for place, one in enumerate(identity)
    )
    pairs = {pair: {call: _asked(host, call, *pair) for call in _OF_PAIR} for pair in combinations(range(count), 2)}
    return Answers(start, driver, cuda, devices, pairs)


def addresses(answers: Answers) -> Tuple[str | None, ...]:
    """Each device's PCI address, by its index."""
    return tuple(pci_address(library_answers.string(device["address"]) or "") for device in answers.devices)


def claims(answers: Answers, places: Sequence[str | None]) -> list[Claim]:
    """One claim a device; `places`: its address, where the library or the order on the bus tells it."""
    return [_claim(index, device, places[index]) for index, device in enumerate(answers.devices)]


def p2p(answers: Answers) -> Mapping[frozenset[str], Reading]:
    """What NVML says of peer access over PCIe, by the addresses of the two: `ok`, or what forbids it."""
    places = addresses(answers)
    found = {}
    for (a, b), asked in answers.pairs.items():
        one, other = places[a], places[b]
        if one and other:
            answer = asked["p2p"]
            value = p2p_words(answer)
            reason = None if value else answer.reason or FAILED
            message = "" if value else answer.message or "NVML gave no status"
            found[frozenset((one, other))] = Reading(value, NAME, reason, message)
    return found


def p2p_words(answer: Answer) -> str | None:
    """Whether one pair may read and write each other: `ok`, or what forbids it; None where that is not told."""
    codes = [answer.value.get(way) for way in ("read", "write")] if answer.known else []
    words = [_P2P.get(code) for code in codes if isinstance(code, int)]
    return next((word for word in words if word != "ok"), "ok") if len(words) == 2 and all(words) else None


def unasked(answers: Answers) -> Iterable[Problem]:
    """More devices than anyone has seen in one machine: the rest was not asked."""
    if answers.start.known and answers.start.value > len(answers.devices):
        message = f"NVML counts {answers.start.value} devices, of which the first {len(answers.devices)} were asked"
        yield Problem("accelerators", FAILED, message, (NAME,))


def software(answers: Answers) -> Iterable[Software]:
    """The driver and the newest CUDA that it serves."""
    for name, answer in (("nvidia", answers.driver), ("cuda", answers.cuda)):
        version = library_answers.string(answer)
        if version:
            yield Software(name, version, NAME)


def refusal(answer: Answer) -> Silence:
    """Why a call gave nothing."""
    return Silence(answer.reason or FAILED, answer.message or "no answer", NAME)


def _claim(index: int, device: Mapping[str, Answer], address: str | None) -> Claim:
    name = library_answers.string(device["name"])
    ids = device["pci_ids"].value if device["pci_ids"].known else (None, None)
    return Claim(
        vendor="nvidia",
        kind="gpu",
        evidence=NAME,
        address=address,
        uuid=library_answers.string(device["uuid"]),
        index=index,
        model=name,
        architecture=_ARCHITECTURES.get(_number(device["architecture"]) or 0),
        serial=library_answers.string(device["serial"]),
        vendor_id=f"{ids[0] & 0xFFFF:04x}" if ids[0] else None,
        device_id=f"{ids[0] >> 16 & 0xFFFF:04x}" if ids[0] else None,
        subsystem_id=f"{ids[1] & 0xFFFF:04x}:{ids[1] >> 16 & 0xFFFF:04x}" if ids[1] else None,
        link=_link(device),
        numa_node=_only(device["numa_nodes"]),
        local_numa_nodes=tuple(device["numa_nodes"].value or ()),
        memory_bytes=_number(device["memory_bytes"]),
        memory_numa_node=_number(device["memory_numa_node"]),
        state=_state(device),
        partitions=tuple(_partition(place, mig) for place, mig in enumerate(device["mig_devices"].value or ())),
        fabric=_fabric(device["fabric"]),
        ray=RayView(resource="GPU", type=nvidia_names.ray_type(name)),
        visible_env=nvidia_names.VISIBLE,
        attributes=dict(_attributes(device)),
        silent=dict(_silences(device)),
    )


def _state(device: Mapping[str, Answer]) -> str | None:
    """Lost or degraded where the library itself says so; nothing where it could not be asked for the basics."""
    messages = [answer.message for answer in device.values()]
    if any(nvml_library.LOST in message for message in messages):
        return "lost"
    if any(nvml_library.RESET_REQUIRED in message for message in messages) or _number(device["recovery_action"]):
        return "degraded"
    return None if _unread(device) else "ok"


def _unread(device: Mapping[str, Answer]) -> Answer | None:
    """The first of the basics that the device has and that could not be read."""
    return next((device[call] for call in ("uuid", "memory_bytes") if device[call].reason in UNREAD), None)


def _silences(device: Mapping[str, Answer]) -> Iterable[Tuple[str, Silence]]:
    fields = {
        "uuid": "uuid",
        "serial": "serial",
        "model": "name",
        "ray.type": "name",
        "memory_bytes": "memory_bytes",
        "architecture": "architecture",
        "fabric": "fabric",
    }
    unread = _unread(device)
    if unread is not None:
        yield "state", refusal(unread)
    for field, call in fields.items():
        if not device[call].known:
            yield field, refusal(device[call])
    if device["fabric"].known and _fabric(device["fabric"]) is None:
        yield "fabric", Silence(NOT_APPLICABLE, "the device has no NVLink fabric", NAME)


def _link(device: Mapping[str, Answer]) -> PciLink | None:
    link = PciLink(
        speed_gts=_SPEEDS.get(_number(device["pcie_generation"]) or 0),
        width=_number(device["pcie_width"]) or None,
        max_speed_gts=_SPEEDS.get(_number(device["pcie_max_generation"]) or 0),
        max_width=_number(device["pcie_max_width"]) or None,
    )
    return link if link != PciLink() else None


def _partition(place: int, mig: Mapping[str, Any]) -> Partition:
    """Where its UUID was not told, it goes by its number, which is its place in the library's order."""
    index, memory = mig.get("index"), mig.get("memory_mib")
    profile = str(mig.get("name") or "").rpartition(" MIG ")[2] or None
    id = mig.get("uuid") or f"mig:{place if index is None else index}"
    return Partition(str(id), profile, memory << 20 if memory else None)


def _fabric(answer: Answer) -> Fabric | None:
    """The NVLink fabric; state 0 means that the device has none, and only a completed one tells its domain."""
    told = answer.value if answer.known else {}
    state = _FABRIC_STATES.get(told.get("state") or 0)
    if state is None:
        return None
    if state == _COMPLETED and told.get("status"):  # the status counts in this state alone
        state = f"failed with NVML error {told['status']}"
    cluster = told.get("cluster") if state == _COMPLETED else None
    clique = str(told.get("clique")) if state == _COMPLETED else None
    return nvidia_names.fabric(state, cluster, clique)


def _attributes(device: Mapping[str, Answer]) -> Iterable[Tuple[str, str | int | float | bool | None]]:
    """The vendor's own extras, as far as they are known."""
    mig, ecc, rows = (device[call].value for call in ("mig_mode", "ecc_mode", "remapped_rows"))
    fabric, platform = device["fabric"].value or {}, device["platform"].value or {}
    up = [link for link in device["nvlinks"].value or () if link.get("state") in _UP]
    events = _number(device["clocks_event_reasons"])
    told: dict[str, str | int | None] = {
        "minor": _number(device["minor"]),
        "vbios": library_answers.string(device["vbios"]),
        "mig_mode": _on_off(mig),
        "virtualization_mode": VIRTUALIZATION.get(_known(device["virtualization"])),
        "addressing_mode": _ADDRESSING.get(_known(device["addressing_mode"])),
        "ecc_mode": _on_off(ecc),
        "ecc_uncorrected": _number(device["ecc_uncorrected"]),
        "remapped_rows_correctable": rows[0] if rows else None,
        "remapped_rows_uncorrectable": rows[1] if rows else None,
        "remap_pending": bool(rows[2]) if rows else None,
        "remap_failure": bool(rows[3]) if rows else None,
        "recovery_action": RECOVERY.get(_known(device["recovery_action"])),
        "clocks_event_reasons": None if events is None else _words(events),
        "pcie_replays": _number(device["pcie_replays"]),
        "nvlinks_up": len(up) if device["nvlinks"].known else None,
        "nvlink_generation": _generation(up),
        "c2c_links": _number(device["c2c_links"]) or None,
        "fabric_health": _HEALTH.get(fabric.get("health") or 0),
        "chassis_serial": library_answers.string(device["chassis_serial"]),
        "slot": platform.get("slot"),
        "tray": platform.get("tray"),
        "processes": len(device["processes"].value) if device["processes"].known else None,
    }
    return ((name, value) for name, value in told.items() if value is not None)


_UP = (1, 2, 3)
"""A sleeping link is a healthy one."""
_GENERATIONS = {1: "1", 2: "2", 3: "2.2", 4: "3", 5: "3.1", 6: "4", 7: "5", 8: "6"}
"""`nvmlNvlinkVersion_t`, which counts otherwise than the generations."""


def _generation(links: Sequence[Mapping[str, Any]]) -> str | None:
    versions = {link.get("version") for link in links}
    return _GENERATIONS.get(versions.pop() or 0) if len(versions) == 1 else None


def _words(events: int) -> str:
    return ", ".join(nvidia_words.events(events)) or "none"


def _on_off(modes: Sequence[int] | None) -> str | None:
    """`Enabled`, and what comes after the next reset where that differs."""
    if not modes:
        return None
    now, pending = ["Enabled" if mode else "Disabled" for mode in modes][:2]
    return now if now == pending else f"{now}, {pending} after a reset"


def _known(answer: Answer) -> int:
    """The number; -1, which no table holds, where there is none."""
    number = _number(answer)
    return -1 if number is None else number


def _number(answer: Answer) -> int | None:
    return answer.value if isinstance(answer.value, int) else None


def _only(answer: Answer) -> int | None:
    nodes: Sequence[int] = answer.value or ()
    return nodes[0] if len(nodes) == 1 else None
