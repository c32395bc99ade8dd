"""AMD Instinct and Radeon GPUs: PCI, amdgpu's files beside the PCI device, KFD's topology, and AMD SMI.

The kernel's files tell what a device is and how it is joined. AMD's library adds what they do not: counts of errors,
links by their ends, processes. A machine without it, which is the usual one, lacks nothing that matters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import AbstractSet as Set
from typing import Iterable, Mapping, NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.component import PciFunction
from raxl.model.link import fabric_class
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import (
    DISAGREEMENT,
    NOT_APPLICABLE,
    NOT_ASKED,
    NOT_INSTALLED,
    NOT_PERMITTED,
    NOT_PRESENT,
    NOT_SUPPORTED,
    TIMED_OUT,
    Problem,
)
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import amd_names, amdsmi, amdsmi_links, families, kfd, pci, presence
from raxl.sources.numbers import MOST_BYTES, whole

_FILES = (
    "product_name",
    "unique_id",
    "serial_number",
    "vbios_version",
    "mem_info_vram_total",
    "current_compute_partition",
    "current_memory_partition",
)
_OF_DRIVER = ("uuid", "serial", "memory_bytes", "index")


class Answers(NamedTuple):
    """KFD's topology, amdgpu's files by PCI address, and what the library says."""

    kfd: kfd.Answers
    devices: Mapping[str, Mapping[str, Answer]]
    version: Answer
    library: amdsmi.Answers


class Amd:
    """AMD GPUs."""

    vendor = "amd"
    family = "AMD"

    def probe(self, host: Host) -> Presence:
        """Display and accelerator functions of the vendor but a processor's own graphics."""
        return presence.look(
            host,
            amd_names.VENDOR_ID,
            lambda device, of_class: of_class.startswith(("03", "12")) and device not in amd_names.INTEGRATED,
        )

    def ask(self, host: Host) -> Answers:
        """Asks KFD, amdgpu's files of each display or accelerator function of the vendor, and where there is such a
        device the library."""
        devices = {}
        for name in host.names(pci.FOLDER).value or ():
            folder = f"{pci.FOLDER}/{name}"
            if stripped(host.text(f"{folder}/vendor")) == "0x" + amd_names.VENDOR_ID and _class_counts(host, folder):
                devices[name] = {file: host.text(f"{folder}/{file}") for file in _FILES}
        topology = kfd.ask(host)
        here = bool(kfd.parse(topology)) or any(_is_own(host, name) for name in devices)
        unasked = amdsmi.Answers(Answer(None, NOT_ASKED, "no AMD GPU is here"), (), {})
        return Answers(
            kfd=topology,
            devices=devices,
            version=host.text("/sys/module/amdgpu/version"),
            library=amdsmi.ask(host) if here else unasked,
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device and source; XGMI links from the library and KFD."""
        nodes = kfd.parse(answers.kfd)
        packages = _packages(nodes)
        on_bus = [function for function in functions if is_gpu(function)]
        claims = [_from_bus(function, answers) for function in on_bus]
        claims += [_from_kfd(index, package, answers) for index, package in enumerate(packages)]
        library = _by_library(answers.library, functions, claims[len(on_bus) :], _xgmi(packages))
        withheld = _withheld(on_bus, {package[0].address for package in packages} | library.joined)
        version = stripped(answers.version)
        kernel = (Software("amdgpu", version, "/sys/module/amdgpu/version"),) if version else ()
        return Report(
            claims=(*claims, *library.claims),
            links=(*library.links, *withheld),
            software=kernel or tuple(amdsmi.software(answers.library)),
            problems=library.problems
            + tuple(
                Problem(
                    "accelerators",
                    answer.reason or "failed",
                    f"KFD node {number} could not be read: {answer.message}",
                    (kfd.FOLDER,),
                )
                for number, answer in kfd.unread(answers.kfd).items()
            )
            + (_unjoined(answers.kfd) if withheld else ()),
        )


def is_gpu(function: PciFunction) -> bool:
    """Whether a PCI function is an AMD GPU with memory of its own, not a processor's graphics."""
    return (
        function.vendor_id == amd_names.VENDOR_ID
        and (function.class_id or "").startswith(("03", "12"))
        and function.device_id not in amd_names.INTEGRATED
    )


def _is_own(host: Host, name: str) -> bool:
    """Whether the function is a GPU with memory of its own."""
    device = stripped(host.text(f"{pci.FOLDER}/{name}/device")) or ""
    return device[2:] not in amd_names.INTEGRATED


def _class_counts(host: Host, folder: str) -> bool:
    return (stripped(host.text(f"{folder}/class")) or "").startswith(("0x03", "0x12"))


class _Said(NamedTuple):
    """What the library says, and all links: its own and KFD's."""

    claims: tuple[Claim, ...]
    links: tuple[LinkClaim, ...]
    problems: tuple[Problem, ...]
    joined: Set[str]
    """The addresses of the devices of which it told how they are joined."""


def _by_library(
    answers: amdsmi.Answers, functions: Sequence[PciFunction], of_kfd: Sequence[Claim], xgmi: Sequence[LinkClaim]
) -> _Said:
    """`of_kfd`, `xgmi`: what KFD says of devices and links."""
    if not answers.start.known:
        hung = answers.start.reason == TIMED_OUT
        claims = [amdsmi.unread(answers.start, claim.address, claim.unit) for claim in of_kfd if hung]
        return _Said(tuple(claims), tuple(xgmi), tuple(_unsaid(answers.start)), frozenset())
    known = {claim.address for claim in of_kfd}
    own = [one.address for one in functions if is_gpu(one) and one.driver == "amdgpu" and one.evidence == "sysfs"]
    others = {one.address for one in functions if not is_gpu(one)} - known
    claims = [claim for claim in amdsmi.claims(answers, sorted(own)) if claim.address not in others]
    packages = amdsmi.placed(answers, sorted(own))
    links, contradictions = amdsmi_links.links(answers, packages)
    joined, more = amdsmi_links.together(links, xgmi, packages)
    listed = [package for package in packages if package.address not in others]
    problems = [*contradictions, *more, *_uncounted(own, len(listed)), *amdsmi.given_up(answers, claims)]
    return _Said(
        claims=tuple(_partitioned(claim, of_kfd, problems) for claim in claims),
        links=tuple(joined),
        problems=tuple(problems),
        joined=amdsmi_links.joined(answers, packages),
    )


def _unsaid(start: Answer) -> Iterable[Problem]:
    """What the library's silence costs where it is there, and cannot be used."""
    if start.reason not in (NOT_ASKED, NOT_INSTALLED):
        silence = amdsmi.refusal(start)
        yield Problem("accelerators.attributes", silence.reason, silence.message, (amdsmi.NAME,))


def _uncounted(own: Sequence[str], count: int) -> Iterable[Problem]:
    if own and len(own) != count:
        message = f"{len(own)} GPUs are on the bus with amdgpu, amdsmi lists {count}"
        yield Problem("accelerators", DISAGREEMENT, message, ("sysfs", amdsmi.NAME))


def _partitioned(claim: Claim, of_kfd: Sequence[Claim], problems: list[Problem]) -> Claim:
    """The claim without its partitions where KFD lists as many, and knows the memory of each."""
    other = next((one for one in of_kfd if one.address == claim.address and one.unit in (None, claim.unit)), None)
    if other is None or len(other.partitions) == len(claim.partitions):
        return replace(claim, partitions=()) if other is not None else claim
    mine, theirs = (max(1, len(one.partitions)) for one in (claim, other))
    message = f"{claim.address}: amdsmi lists {mine} partitions, KFD lists {theirs}"
    problems.append(Problem("accelerators.partitions", DISAGREEMENT, message, (amdsmi.NAME, "kfd")))
    return claim


def _from_bus(function: PciFunction, answers: Answers) -> Claim:
    files = answers.devices.get(function.address, {})
    text = {name: stripped(answer) for name, answer in files.items()}
    asked = next(
        (answer for answer in files.values() if not answer.known), Answer(None, "not-asked", "amdgpu was not asked")
    )
    silence = Silence(asked.reason or NOT_SUPPORTED, asked.message or "amdgpu has no such file", "sysfs")
    if function.driver is None and asked.reason == NOT_PRESENT:
        silence = Silence(NOT_INSTALLED, "no driver is bound to the device", "sysfs")
    if function.driver not in (None, "amdgpu"):
        silence = Silence(NOT_APPLICABLE, f"the device is bound to {function.driver}, not to amdgpu", function.evidence)
    unbound = silence.reason in (NOT_INSTALLED, NOT_APPLICABLE)
    by_id = amd_names.MODELS.get(function.device_id or "") or function.name
    memory = whole(text.get("mem_info_vram_total"), MOST_BYTES)
    unit = amd_names.unit(text.get("unique_id"))
    silent = dict.fromkeys((*_OF_DRIVER, "architecture", "state", *(["fabric"] if unbound else [])), silence)
    if by_id is None:
        silent["model"] = silence
    place = families.placed("amd", "gpu", function)
    return replace(
        place,
        unit=unit,
        uuid=amd_names.uuid(unit),
        model=text.get("product_name"),
        model_by_id=by_id,
        serial=text.get("serial_number"),
        memory_bytes=memory or None,
        state=place.state or ("ok" if function.driver == "amdgpu" and memory is not None else None),
        ray=RayView(resource="GPU", type=amd_names.RAY_TYPES.get(function.device_id or "")),
        visible_env=amd_names.VISIBLE,
        attributes=_attributes(function, text),
        silent={**silent, **place.silent},
    )


def _attributes(function: PciFunction, text: Mapping[str, str | None]) -> dict[str, str | int | float | bool | None]:
    named = {
        **function.beside,
        "compute_partition": text.get("current_compute_partition"),
        "memory_partition": text.get("current_memory_partition"),
        "vbios": text.get("vbios_version"),
        "physical_function": function.physical_function,
    }
    return {name: value for name, value in named.items() if value is not None}


def _packages(nodes: Sequence[kfd.KfdNode]) -> list[list[kfd.KfdNode]]:
    """KFD nodes by package, in KFD's order: one unique id at one domain, bus and device is one accelerator."""
    packages: dict[tuple[str | None, str], list[kfd.KfdNode]] = {}
    for node in nodes:
        packages.setdefault((node.unit, node.address), []).append(node)
    return list(packages.values())


def _from_kfd(index: int, package: list[kfd.KfdNode], answers: Answers) -> Claim:
    """What KFD says of one package; it has initialised the device, or would not list it."""
    first = package[0]
    read = [files["properties"] for files in answers.kfd.nodes.values()]
    memory = [node.memory_bytes for node in package] if all(answer.known for answer in read) else [None]
    hive = first.properties.get("hive_id", 0)
    version = first.properties.get("gfx_target_version", 0)
    device_id = f"{first.properties.get('device_id', 0):04x}"
    profile = stripped(answers.devices.get(first.address, {}).get("current_compute_partition", Answer("")))
    partitions = tuple(Partition(f"kfd:{node.number}", profile, node.memory_bytes) for node in package)
    silence = Silence("not-asked" if None in memory else NOT_SUPPORTED, "KFD does not say", kfd.FOLDER)
    return Claim(
        vendor="amd",
        kind="gpu",
        evidence="kfd",
        address=first.address,
        unit=first.unit,
        uuid=amd_names.uuid(first.unit),
        index=index if first.number < _first_gap(answers.kfd) else None,
        model_by_id=amd_names.MODELS.get(device_id),
        architecture=_gfx(version),
        vendor_id=f"{first.properties['vendor_id']:04x}" if "vendor_id" in first.properties else None,
        device_id=device_id if "device_id" in first.properties else None,
        memory_bytes=sum(filter(None, memory)) if None not in memory else None,
        state="ok",
        partitions=partitions if len(package) > 1 else (),
        fabric=Fabric(domain=f"{hive:x}") if hive > 0 else None,
        ray=RayView(resource="GPU", type=amd_names.RAY_TYPES.get(device_id)),
        visible_env=amd_names.VISIBLE,
        attributes={"kfd_nodes": len(package), "xcc": first.properties.get("num_xcc")},
        silent={
            **dict.fromkeys(("model", "memory_bytes", "serial", "numa_node"), silence),
            "fabric": Silence(NOT_APPLICABLE, "KFD names no hive", kfd.FOLDER),
        },
    )


def _first_gap(answers: kfd.Answers) -> float:
    """The first KFD node that may be a GPU or not: the runtime's numbers after it are not known. The runtime passes
    over those that it may not read, as raxl does."""
    read = {number: files["properties"].reason for number, files in answers.nodes.items()}
    return min((number for number, reason in read.items() if reason not in (None, NOT_PERMITTED)), default=math.inf)


def _gfx(version: int) -> str | None:
    """`gfx942` from 90402: major, minor and stepping; the last two are hex digits."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version > 0 else None


def _xgmi(packages: Sequence[Sequence[kfd.KfdNode]]) -> list[LinkClaim]:
    """XGMI between packages, as either end tells it."""
    owner = {node.number: place for place, package in enumerate(packages) for node in package}
    best: dict[tuple[int, int], kfd.KfdLink] = {}
    for place, package in enumerate(packages):
        for node in package:
            for link in node.links:
                other = owner.get(link.to)
                if link.type == kfd.XGMI and other not in (None, place):
                    pair = min(place, other), max(place, other)
                    known = best.get(pair)
                    if known is None or link.max_bandwidth > known.max_bandwidth:
                        best[pair] = link
    names = [package[0].unit or package[0].address for package in packages]
    if len(set(names)) < len(names):
        names = [f"amd#{place}" for place in range(len(packages))]
    return [_link(names[a], names[b], link) for (a, b), link in sorted(best.items())]


def _withheld(on_bus: Sequence[PciFunction], seen: Set[str]) -> list[LinkClaim]:
    """Pairs that XGMI may join, and of which KFD does not say whether it does: the PCIe path would be wrong."""
    able = [
        one.address
        for one in on_bus
        if one.evidence in pci.BUS_ALONE and one.driver in (None, "amdgpu") and one.device_id in amd_names.MODELS
    ]
    evidence = on_bus[0].evidence if on_bus else ""
    return [LinkClaim(a, b, None, None, evidence=evidence) for a, b in families.pairs(able) if not {a, b} <= seen]


def _unjoined(answers: kfd.Answers) -> tuple[Problem, ...]:
    """Why KFD does not say how they are joined."""
    silent = [answers.listing, *(files["properties"] for files in answers.nodes.values())]
    why = next((answer for answer in silent if not answer.known), Answer(None, NOT_PRESENT))
    message = why.message or (
        "there is no KFD topology" if not answers.listing.known else "KFD does not list the device"
    )
    return (Problem("links", why.reason or NOT_PRESENT, message, (kfd.FOLDER,)),)


def _link(a: str, b: str, link: kfd.KfdLink) -> LinkClaim:
    count = kfd.count_of_links(link.min_bandwidth, link.max_bandwidth)
    return LinkClaim(
        a=a,
        b=b,
        link_class=fabric_class("xgmi", count),
        kind="xgmi",
        count=count,
        bandwidth_bytes_per_second=link.max_bandwidth * 10**6 or None,
        bandwidth_source="reported" if link.max_bandwidth else None,
        evidence="kfd",
    )
