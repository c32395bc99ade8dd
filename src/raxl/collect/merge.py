"""Several sources, one device: which claims mean the same one, and which source is believed for which fact."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from raxl.model.accelerator import Accelerator, Partition, RayView
from raxl.model.component import PciIdentity, PciLink
from raxl.model.identity import accelerator_id
from raxl.model.problem import DISAGREEMENT, NOT_PRESENT, REASONS, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import families

_AMD = ("amd-smi --json", "amd-smi", "amd-smi --csv", "rocm-smi --json", "rocm-smi", "rocm-smi --csv")
"""AMD's tools, the newer one and its untruncated form first."""
PLACE = ("sysfs", "hwloc-xml", "lspci", "lspci-tree", "nccl-xml", *_AMD)
"""Where a device sits is believed from these first, in this order."""
DEVICE = (
    "nvml",
    "nvidia-smi message",
    "nvidia-smi -q -x",
    "nvidia-smi -q",
    "nvidia-smi --query-gpu",
    "nvidia-smi -L",
    "/proc/driver/nvidia/gpus",
    "amdsmi",
    "kfd",
    "sysfs",
    *_AMD,
    "hwloc-xml",
    "lspci",
    "lspci-tree",
    "nccl-xml",
    "nvidia-smi",
    "nvidia-smi topo -m",
    "nvidia-smi nvlink -s",
    "nvidia-smi c2c -s",
    "nvidia-smi topo -p2p",
)
"""What a device is and how it does is believed from these, in this order; a source that is not named comes last."""
_PLACED = frozenset({"address", "host_bridge", "numa_node", "vendor_id", "device_id", "subsystem_id", "link"})
_IN_PLACE = tuple(field.name for field in fields(Claim) if field.name in _PLACED)
_OTHERS = tuple(field.name for field in fields(Claim) if field.name not in _PLACED)
_RANKS = {evidence: rank for rank, evidence in enumerate(DEVICE)}
_RANKS_IN_PLACE = {evidence: rank for rank, evidence in enumerate(dict.fromkeys((*PLACE, *DEVICE)))}
_MIG = ("mig:", "MIG-")
"""How the ids of MIG devices begin: their number where nobody tells the UUID."""
_COMPARED = (
    "index",
    "uuid",
    "serial",
    "numa_node",
    "memory_numa_node",
    "device_id",
    "pci.link.width",
    "memory_bytes",
)
"""Facts that two sources should not tell differently. A model's name and a link's present speed may differ."""


_NAMES = ("address", "uuid", "index")
"""What tells that two claims mean one device, the strongest first."""
_RESERVED = 0.1
"""How much of a memory one source counts and another does not: ECC takes 6.25 % of GDDR, the firmware some more."""


class Merged(NamedTuple):
    """One device: what is published, the names that links may use for it, and why its values are not known."""

    accelerator: Accelerator
    names: frozenset[str]
    memory_numa_node: int | None
    silent: dict[str, Silence]
    problems: tuple[Problem, ...]


def merge(claims: Sequence[Claim]) -> list[Merged]:
    """One entry a device, in the order of vendors, indexes and addresses."""
    groups = _groups(claims)
    devices = sorted((_combined(group) for group in groups), key=_order)
    taken: set[str] = set()
    numbered: dict[tuple[str, int], str] = {}
    merged = []
    for place, (claim, group) in enumerate(devices):
        name = accelerator_id(claim.vendor, claim.index, claim.address, place)
        if name in taken:
            name = accelerator_id(claim.vendor, None, claim.address, place)
        if name in taken:
            name = f"{name}#{place}"
        taken.add(name)
        device = _publish(name, claim, group)
        other = name if claim.index is None else numbered.setdefault((claim.vendor, claim.index), name)
        if other != name:
            twice = Problem(f"{name}.index", DISAGREEMENT, f"{other} has the index {claim.index} too")
            device = device._replace(problems=(*device.problems, twice))
        merged.append(device)
    return merged


def _groups(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Claims of one device together. Two claims of one source mean two devices, unless they are of one address."""
    groups: list[list[Claim]] = []
    holding: dict[tuple[str, str, Any], list[int]] = {}
    claims = list(claims)
    alone = _alone(claims)
    named = [claim for claim in claims if claim.names]
    for claim in sorted(named, key=lambda claim: claim.address is None):
        keys = [(claim.vendor, name, value) for name in _NAMES if (value := getattr(claim, name)) is not None]
        for place in sorted({place for key in keys for place in holding.get(key, ())}):
            again = any(known.evidence == claim.evidence for known in groups[place])
            if _same(groups[place], claim, alone) and (claim.address is not None or not again):
                break
        else:
            place = len(groups)
            groups.append([])
        groups[place].append(claim)
        for key in keys:
            if place not in holding.setdefault(key, []):
                holding[key].append(place)
    _add_nameless([claim for claim in claims if not claim.names], groups)
    return groups


def _add_nameless(claims: Sequence[Claim], groups: list[list[Claim]]) -> None:
    """Claims without address, UUID and index: as many of one source as there are devices are these, in their order."""
    sources = dict.fromkeys((claim.vendor, claim.evidence) for claim in claims)
    for vendor, evidence in sources:
        mine = [claim for claim in claims if (claim.vendor, claim.evidence) == (vendor, evidence)]
        free = [g for g in groups if g[0].vendor == vendor and evidence not in {one.evidence for one in g}]
        others = sorted(free, key=lambda group: _order((_combined(group)[0], group)))
        if len(mine) == len(others):
            for group, claim in zip(others, mine):
                group.append(claim)
        else:
            groups += [[claim] for claim in mine]


_Place = tuple[str, str, Optional[str]]
"""A source, a vendor and an address."""


def _place(claim: Claim) -> _Place:
    return claim.evidence, claim.vendor, claim.address


def _alone(claims: Sequence[Claim]) -> frozenset[_Place]:
    """Addresses at which a source knows one device: there another unit of another source is no second device."""
    counts = Counter(map(_place, claims))
    return frozenset(place for place, count in counts.items() if count == 1)


def _same(group: list[Claim], claim: Claim, alone: frozenset[_Place]) -> bool:
    """By address, told apart by the unit where both know one; without an address by UUID, then by index."""
    if group[0].vendor != claim.vendor:
        return False
    for name in _NAMES:
        mine = getattr(claim, name)
        known = {getattr(other, name) for other in group} - {None}
        if mine is not None and known:
            units = {other.unit for other in group} - {None}
            if claim.unit is not None and units and claim.unit not in units:
                return mine in known and all(_place(one) in alone for one in (claim, *group) if one.unit is not None)
            return mine in known
    return False


def _combined(group: list[Claim]) -> tuple[Claim, list[Claim]]:
    """One claim of the best values."""
    best = {**_firsts(_OTHERS, _ranked("model", group)), **_firsts(_IN_PLACE, _ranked("address", group))}
    best["model"] = best["model"] or best["model_by_id"]
    best["ray"] = _ray(group)
    if best["state"] != "lost" and any(map(families.is_handed_on, group)):
        best["state"] = None
    best["attributes"] = {key: value for claim in reversed(group) for key, value in claim.attributes.items()}
    best["partitions"] = _partitions([claim.partitions for claim in _ranked("partitions", group) if claim.partitions])
    best["link"] = _link([claim.link for claim in _ranked("link", group) if claim.link])
    return Claim(**best), group


def _firsts(names: Sequence[str], ranked: Sequence[Claim]) -> dict[str, Any]:
    """Of each field the first value that says something."""
    rows = [claim.__dict__ for claim in ranked]
    best = {}
    for name in names:
        for row in rows:
            value = row[name]
            if value is not None and value != () and value != {}:
                best[name] = value
                break
        else:
            best[name] = rows[0][name]
    return best


def _partitions(told: Sequence[tuple[Partition, ...]]) -> tuple[Partition, ...]:
    """The first source's; where another numbers as many MIG devices alike, what it knows of each is filled in."""
    if not told:
        return ()
    first, *others = told
    for other in others:
        if len(other) == len(first) and all(one.id.startswith(_MIG) for one in (*first, *other)):
            first = tuple(map(_filled, first, other))
    return first


def _filled(known: Partition, other: Partition) -> Partition:
    return Partition(
        id=other.id if known.id.startswith("mig:") else known.id,
        profile=known.profile or other.profile,
        memory_bytes=known.memory_bytes if known.memory_bytes is not None else other.memory_bytes,
    )


def _ranked(field: str, group: Sequence[Claim]) -> list[Claim]:
    """The claims, the one that is believed first."""
    ranks = _RANKS_IN_PLACE if field in _PLACED else _RANKS
    last = len(ranks)
    return sorted(group, key=lambda claim: ranks.get(claim.evidence, last))


def trust_in_place(evidence: str) -> int:
    """The rank of a source in what it says of places, the most trusted first."""
    return PLACE.index(evidence) if evidence in PLACE else len(PLACE)


def _ray(group: list[Claim]) -> RayView:
    views = [claim.ray for claim in _ranked("model", group) if claim.ray]
    return RayView(
        resource=next((view.resource for view in views if view.resource), None),
        type=next((view.type for view in views if view.type), None),
    )


def _link(links: list[PciLink]) -> PciLink | None:
    if not links:
        return None
    return PciLink(
        *(
            next((value for link in links if (value := getattr(link, field.name)) is not None), None)
            for field in fields(PciLink)
        )
    )


def _order(device: tuple[Claim, list[Claim]]) -> tuple[Any, ...]:
    claim = device[0]
    index = claim.index if claim.index is not None else 1 << 30
    return claim.vendor, index, claim.address or "~", claim.unit or "", claim.uuid or ""


def _publish(name: str, claim: Claim, group: list[Claim]) -> Merged:
    identity = None
    if claim.address is not None:
        identity = PciIdentity(claim.address, claim.vendor_id, claim.device_id, claim.subsystem_id, claim.link)
    local = claim.local_numa_nodes or (() if claim.numa_node is None else (claim.numa_node,))
    accelerator = Accelerator(
        id=name,
        vendor=claim.vendor,
        kind=claim.kind,
        model=claim.model,
        architecture=claim.architecture,
        index=claim.index,
        uuid=claim.uuid,
        serial=claim.serial,
        ray=claim.ray or RayView(),
        pci=identity,
        numa_node=claim.numa_node,
        local_numa_nodes=local,
        pcie_root=claim.host_bridge,
        memory_bytes=claim.memory_bytes,
        state=claim.state or "unknown",
        partitions=claim.partitions,
        fabric=claim.fabric,
        visible_env=claim.visible_env,
        evidence=tuple(dict.fromkeys(one.evidence for one in group)),
        attributes=dict(claim.attributes),
    )
    names = frozenset(alias for one in group for alias in one.names)
    return Merged(accelerator, names, claim.memory_numa_node, _silences(group), tuple(_contradictions(name, group)))


def _silences(group: list[Claim]) -> dict[str, Silence]:
    """Of several reasons for one field, the most telling."""
    silences: dict[str, Silence] = {}
    for claim in group:
        for field, silence in claim.silent.items():
            known = silences.get(field)
            if known is None or REASONS.index(silence.reason) < REASONS.index(known.reason):
                silences[field] = silence
    for claim in filter(families.is_handed_on, group):
        silences["state"] = claim.silent["state"]
    return silences


def _contradictions(name: str, group: list[Claim]) -> Iterable[Problem]:
    if len(group) == 1:
        return
    for field in _COMPARED:
        told = dict.fromkeys((one.evidence, said) for one in group if (said := _said(one, field)) is not None)
        if _differ(field, {said for _, said in told}):
            words = ", ".join(f"{evidence} says {said}" for evidence, said in told)
            yield Problem(f"{name}.{field}", DISAGREEMENT, words, tuple(dict.fromkeys(source for source, _ in told)))


def _differ(field: str, words: set[Any]) -> bool:
    return len(words) > 1 and (field != "memory_bytes" or max(words) - min(words) > max(words) * _RESERVED)


def _said(claim: Claim, field: str) -> Any:
    """What a source says of a field, that it is not there among it; None where it says nothing."""
    if field == "pci.link.width":
        return claim.link.width if claim.link else None
    silence = claim.silent.get(field)
    is_kernels = field == "numa_node" and claim.evidence == "sysfs"  # nobody else says that there is none
    absent = "none" if is_kernels and silence is not None and silence.reason == NOT_PRESENT else None
    value = getattr(claim, field)
    return absent if value is None else value
