"""What AMD's management library says: which questions it is asked, and its claims.

The questions that name a device come before all others, so that a library that stops answering has told what is there.
In partitioned modes the library numbers every partition; what all share is asked of a package's first.
https://rocm.docs.amd.com/projects/amdsmi/en/latest/
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, Tuple

from raxl.host import Answer, Host
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.identity import accelerator_id, pci_address
from raxl.model.node import Software
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, TIMED_OUT, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import amd_names, amdsmi_values, library_answers

NAME = "amdsmi"
_MOST_DEVICES = 512
_DIED = "asking process"
"""In the words for a call at which the asking process ended (`raxl.host.asker`)."""
_IDENTITY = ("address", "unique_id", "memory_bytes", "asic", "kfd", "ids")
_OF_PACKAGE = (
    "serial",
    "name",
    "uuid",
    "board",
    "driver",
    "vbios",
    "pcie",
    "numa_node",
    "numa_affinity",
    "compute_partition",
    "memory_partition",
    "hive",
    "xgmi_node",
    "links",
    "link_states",
    "ecc",
    "bad_pages",
    "virtualization",
    "throttling",
    "processes",
)
_OF_PAIR = ("link_type", "bandwidth")
_UNASKED = Answer(None, NOT_ASKED, "its package's first partition was asked")
_ASIC = dict.fromkeys(("vendor_id", "device_id", "subvendor_id", "subsystem_id", "target_graphics_version"), str)
_PCIE = dict.fromkeys(("speed", "width", "max_speed", "max_width", "replays"), int)
_SHAPES: Mapping[str, Any] = {
    **dict.fromkeys(("address", "unique_id", "uuid", "name", "serial", "driver", "hive", "link_type"), str),
    **dict.fromkeys(("compute_partition", "memory_partition", "virtualization"), str),
    **{call: [int] for call in ("bad_pages", "processes", "bandwidth")},
    "link_states": [str],
    "asic": {**_ASIC, "oam_id": int, "num_compute_units": int},
    "kfd": {"node": int, "partition": int},
    "ids": {"hip_id": int},
    "board": {"model_number": str, "product_name": str, "manufacturer_name": str},
    "vbios": {"part_number": str, "version": str},
    "pcie": {**_PCIE, "slot": str},
    "links": {"count": int, "shown": int, "ends": [str]},
    "ecc": {"correctable": int, "uncorrectable": int, "deferred": int},
    "throttling": {},
}
"""What each call gives; a number where none stands here. Below a key None is allowed too."""
_asked = library_answers.asker(NAME, _SHAPES, {"bandwidth": 2})


class Answers(NamedTuple):
    """How many devices there are, each one's answers by the name of the call, and those of pairs of packages."""

    start: Answer
    devices: Tuple[Mapping[str, Answer], ...]
    pairs: Mapping[Tuple[int, int], Mapping[str, Answer]]


class Package(NamedTuple):
    """One GPU: the library's numbers of its partitions, which are one number where it is not partitioned."""

    numbers: Tuple[int, ...]
    address: str | None
    """Of its own function, from which the partitions' functions count up."""
    unit: str | None

    @property
    def place(self) -> str | None:
        """Domain, bus and device."""
        return self.address[:-2] if self.address else None


def ask(host: Host) -> Answers:
    """Asks the library for its devices, then each device, then each pair of packages."""
    start = _asked(host, "start")
    if not start.known:
        return Answers(start, (), {})
    count = min(start.value, _MOST_DEVICES)
    devices = [{call: _asked(host, call, number) for call in _IDENTITY} for number in range(count)]
    firsts = [package.numbers[0] for package in packages(devices)]
    for number in firsts:
        devices[number].update({call: _asked(host, call, number) for call in _OF_PACKAGE})
    pairs = {pair: {call: _asked(host, call, *pair) for call in _OF_PAIR} for pair in combinations(firsts, 2)}
    return Answers(start, tuple(devices), pairs)


def packages(devices: Sequence[Mapping[str, Answer]]) -> list[Package]:
    """The GPUs in the order of the library's numbers: one unique id at one domain, bus and device is one GPU.

    A number of which the unique id is not told is a partition of the package at its place, unless it says that it is
    partition 0: a virtual function has a package of its own.
    """
    found: list[Package] = []
    for number, device in enumerate(devices):
        address = pci_address(library_answers.string(device["address"]))
        unit = amd_names.unit(library_answers.string(device["unique_id"]))
        may_follow = _of(device["kfd"], "partition") != 0
        for place, package in enumerate(found):
            if address is None or package.place != address[:-2]:
                continue
            if unit == package.unit if unit and package.unit else may_follow:
                found[place] = Package((*package.numbers, number), f"{package.place}.0", package.unit or unit)
                break
        else:
            found.append(Package((number,), address, unit))
    return found


def claims(answers: Answers, own: Sequence[str]) -> list[Claim]:
    """One claim a package. `own`: the addresses of amdgpu's devices on the bus in its order, for those that tell none.

    A package that cannot be placed is left out: nobody could say which device it is.
    """
    found = placed(answers, own)
    numbers = _indexes(answers, found)
    return [_claim(package, numbers[place], answers) for place, package in enumerate(found) if package.address]


def placed(answers: Answers, own: Sequence[str]) -> list[Package]:
    """The packages; those that tell no address have the ones that are left on the bus, where those are as many."""
    found = packages(answers.devices)
    told = {package.address for package in found}
    left = [address for address in own if address not in told]
    missing = sum(package.address is None for package in found)
    spare = iter(left if len(left) == missing else [])
    return [package if package.address else package._replace(address=next(spare, None)) for package in found]


def given_up(answers: Answers, found: Sequence[Claim]) -> Iterable[Problem]:
    """What a library that hung or crashed costs beside the values that the kernel told: once for each device."""
    by_place = {claim.address: claim for claim in found}
    for package in packages(answers.devices):
        device = answers.devices[package.numbers[0]]
        gone = next((one for one in device.values() if one.reason == TIMED_OUT or _DIED in one.message), None)
        claim = by_place.get(package.address)
        if gone is not None and claim is not None:
            subject = accelerator_id(claim.vendor, claim.index, claim.address, package.numbers[0])
            yield Problem(f"{subject}.attributes", gone.reason or FAILED, gone.message, (NAME,))


def software(answers: Answers) -> Iterable[Software]:
    """The driver, where it has a version of its own."""
    told = (library_answers.string(device.get("driver", _UNASKED)) for device in answers.devices)
    return [Software("amdgpu", version, NAME) for version in told if version and amdsmi_values.is_version(version)][:1]


def unread(answer: Answer, address: str | None, unit: str | None) -> Claim:
    """A device of a library that hangs: what the driver's files say of its state stands no more."""
    silence = {"state": refusal(answer)}
    return Claim("amd", "gpu", NAME, address=address, unit=unit, state="unknown", silent=silence)


def refusal(answer: Answer) -> Silence:
    """Why a call gave nothing."""
    return Silence(answer.reason or FAILED, answer.message or "no answer", NAME)


def _indexes(answers: Answers, found: Sequence[Package]) -> list[int | None]:
    """HIP's numbers of the packages: their order by HIP's numbers of the partitions, of which every one must be told.

    They are not taken as they are: the library counts KFD nodes that this process may not read, and HIP does not.
    """
    every = [[_of(answers.devices[number]["ids"], "hip_id") for number in package.numbers] for package in found]
    told = [number for numbers in every for number in numbers if number is not None]
    if len(told) < len(answers.devices) or len(set(told)) < len(told):
        return [None] * len(found)
    firsts = [min(number for number in numbers if number is not None) for numbers in every]
    return [sorted(firsts).index(first) for first in firsts]


def _claim(package: Package, index: int | None, answers: Answers) -> Claim:
    device = answers.devices[package.numbers[0]]
    asic = device["asic"].value or {}
    device_id = amdsmi_values.pci_id(asic.get("device_id"))
    name = amdsmi_values.model(library_answers.string(device["name"])) or amdsmi_values.model(
        _of(device["board"], "product_name")
    )
    hive = amd_names.unit(library_answers.string(device["hive"]))
    return Claim(
        vendor="amd",
        kind="gpu",
        evidence=NAME,
        address=package.address,
        unit=package.unit,
        uuid=amd_names.uuid(package.unit),
        index=index,
        model=name,
        architecture=amdsmi_values.architecture(asic.get("target_graphics_version")),
        serial=amdsmi_values.serial(library_answers.string(device["serial"])),
        vendor_id=amdsmi_values.pci_id(asic.get("vendor_id")),
        device_id=device_id,
        subsystem_id=amdsmi_values.subsystem(asic.get("subvendor_id"), asic.get("subsystem_id")),
        link=amdsmi_values.link(device["pcie"].value or {}),
        numa_node=amdsmi_values.numa_node(device["numa_node"].value, device["numa_affinity"].value),
        memory_bytes=_memory(package, answers),
        state=_state(device),
        partitions=_partitions(package, answers),
        fabric=Fabric(domain=hive) if hive else None,
        ray=RayView(resource="GPU", type=amd_names.RAY_TYPES.get(device_id or "")),
        visible_env=amd_names.VISIBLE,
        attributes=amdsmi_values.attributes(device),
        silent=dict(_silences(device, len(package.numbers))),
    )


def _state(device: Mapping[str, Answer]) -> str | None:
    """What the driver's files say of a device stands only while its own library can read the device too."""
    hung = any(answer.reason == TIMED_OUT for answer in device.values())
    if hung or any(device[call].reason in (FAILED, NOT_PRESENT) for call in ("address", "memory_bytes", "asic")):
        return "unknown"
    return "ok" if amdsmi_values.memory(device["memory_bytes"].value) else None


def _silences(device: Mapping[str, Answer], partitions: int) -> Iterable[Tuple[str, Silence]]:
    hung = next((answer for answer in device.values() if answer.reason == TIMED_OUT), None)
    failed = next((device[call] for call in ("address", "memory_bytes", "asic") if not device[call].known), None)
    fields = {
        "uuid": "unique_id",
        "model": "name",
        "serial": "serial",
        "memory_bytes": "memory_bytes",
        "architecture": "asic",
        "numa_node": "numa_node",
        "fabric": "hive",
        "index": "ids",
    }
    for field, call in fields.items():
        if not device[call].known:
            yield field, refusal(device[call])
    if hung or failed:
        yield "state", refusal(hung or failed or _UNASKED)
    if device["hive"].known and not amd_names.unit(library_answers.string(device["hive"])):
        yield "fabric", Silence(NOT_APPLICABLE, "the device is in no hive", NAME)
    if partitions > 1 and device["memory_bytes"].known:
        message = f"{partitions} partitions give a size each: whether of a part or of the whole is not told"
        yield "memory_bytes", Silence(NOT_APPLICABLE, message, NAME)


def _memory(package: Package, answers: Answers) -> int | None:
    """What its first number has, where no other partition gives a size of its own."""
    sizes = [answers.devices[number]["memory_bytes"].value for number in package.numbers]
    return amdsmi_values.memory(sizes[0]) if not any(sizes[1:]) else None


def _partitions(package: Package, answers: Answers) -> tuple[Partition, ...]:
    """By their KFD nodes, as KFD itself names them, where those are told."""
    if len(package.numbers) < 2:
        return ()
    mode = library_answers.string(answers.devices[package.numbers[0]]["compute_partition"])
    found = []
    for number in package.numbers:
        device = answers.devices[number]
        node = _of(device["kfd"], "node")
        name = f"{NAME}:{number}" if node is None else f"kfd:{node}"
        found.append(Partition(name, mode, amdsmi_values.memory(device["memory_bytes"].value)))
    return tuple(found)


def _of(answer: Answer, key: str) -> Any:
    return (answer.value or {}).get(key)
