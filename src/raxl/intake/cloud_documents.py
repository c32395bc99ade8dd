"""What a cloud says of where its machines stand, JSON: of the metadata service, or of an interface for a whole fleet.

AWS `describe-instance-topology` and the instance identity document, Azure's instance metadata, Oracle Cloud's
`instance/`, `host` and `host/rdmaTopologyData`, Google Cloud's `physical_host_topology`, and NetQ's compute nodes, of
one host or of many (`node1: {…}`, as `pdsh` prints). Nothing else of these documents is kept: they hold keys, scripts
and user data too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raxl.intake import placed_hosts
from raxl.intake.foreign import Foreign
from raxl.intake.placed_hosts import Record, inner, texts
from raxl.model.placement import Placement
from raxl.model.problem import FAILED, Problem
from raxl.sources import azure_instance, gcp_places, json_text, oci_places

FORM = "cloud metadata"
_MARK = re.compile(
    r'"(?:NetworkNodes|vmSize|customer(?:HPCIslandId|NetworkBlock|LocalBlock|GpuMemoryFabric)|networkBlockId|rackId'
    r'|availabilityDomain|availabilityZone|subBlock|subblock|physical_host(?:_topology)?|DomainUUID)"'
)
_PREFIX = re.compile(r"([A-Za-z0-9][\w.-]{0,252}): ?$")
_AZURE = ("vmSize", "location", "zone", "placementGroupId", "interconnectGroupId", "interconnectSubgroupId")
_OCI = (
    "shape",
    "region",
    "canonicalRegionName",
    "availabilityDomain",
    "networkBlockId",
    "rackId",
    "customerHPCIslandId",
    "customerNetworkBlock",
    "customerLocalBlock",
    "customerGpuMemoryFabric",
)
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]{1,20}){1,3}-[0-9]{1,2}")
"""`us-west-2` of the zone `us-west-2a`, and of the local zone `us-west-2-lax-1a`."""
_AWS_EVIDENCE = "aws-instance-topology"
_GCP_HOST = "physical_host"
_NETQ_WELL = "HEALTHY"


class Kind(NamedTuple):
    """One cloud's document."""

    kept: Callable[[Mapping[str, Any]], tuple[str | None, dict[str, Any]] | None]
    """The host that it names, and the parts that are read; None for another document."""
    placement: Callable[[Mapping[str, Any]], Placement]
    is_fleets: bool = False
    """Whether it tells of a fleet: documents that name no host are then of as many hosts."""


def _azure(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    compute = inner(said, "compute") or said
    if not {"vmSize", "location"} <= compute.keys():
        return None
    named = {**texts(compute, ["name"]), **texts(inner(compute, "osProfile"), ["computerName"])}
    return named.get("computerName") or named.get("name"), {"compute": texts(compute, _AZURE)}


def _oci(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    said = {**inner(said, "rdmaTopologyData"), **inner(said, "instance"), **inner(said, "host"), **said}
    kept = texts(said, _OCI)
    own = {"networkBlockId", "rackId"} & kept.keys() or any(name.startswith("customer") for name in kept)
    named = texts(said, ["hostname", "displayName"])
    host = named.get("hostname") or named.get("displayName")
    return (host, kept) if own or {"shape", "availabilityDomain"} <= kept.keys() else None


def _aws(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    """A `NetworkNodes` that is no list of names is kept as null: which switch is nearest is then not known."""
    if "NetworkNodes" not in said or not {"InstanceId", "InstanceType", "AvailabilityZone"} & said.keys():
        return None
    nodes = said["NetworkNodes"]
    is_whole = isinstance(nodes, list) and all(isinstance(one, str) for one in nodes)
    kept = texts(said, ["InstanceId", "InstanceType", "AvailabilityZone"])
    return kept.get("InstanceId"), {**kept, "NetworkNodes": nodes[-16:] if is_whole else None}


def _aws_placement(said: Mapping[str, Any]) -> Placement:
    """The last network node is the nearest one, however many there are."""
    zone, nodes = said.get("AvailabilityZone"), said["NetworkNodes"]
    return Placement(
        provider="aws",
        instance_type=said.get("InstanceType"),
        region=found[0] if zone and (found := _REGION.match(zone)) else None,
        zone=zone,
        block=nodes[-1] if nodes else None,
        evidence=(_AWS_EVIDENCE,),
    )


def _identity(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    kept = texts(said, ["instanceType", "availabilityZone", "region"])
    return (None, kept) if len(kept) == 3 else None


def _identity_placement(said: Mapping[str, Any]) -> Placement:
    place = {"instance_type": said["instanceType"], "region": said["region"], "zone": said["availabilityZone"]}
    return Placement(provider="aws", evidence=("aws-imds",), **place)


def _gcp(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    """The topology alone, or the whole metadata (`?recursive=true`), whose attributes may have the older text alone."""
    instance = inner(said, "instance") or said
    attributes = inner(instance, "attributes") or said
    topology = attributes.get("physical_host_topology", attributes.get("physicalHostTopology", attributes))
    place = gcp_places.of_names(topology) if isinstance(topology, dict) else gcp_places.of_topology(topology)
    if not all(place):
        place = gcp_places.of_host(texts(attributes, [_GCP_HOST]).get(_GCP_HOST))
    own = {name: gcp_places.last(value) for name, value in texts(instance, ["zone", "machineType"]).items()}
    host = texts(instance, ["hostname"]).get("hostname")
    return (host, {"block": place[0], "subBlock": place[1], **own}) if all(place) else None


def _gcp_placement(said: Mapping[str, Any]) -> Placement:
    block, rack = gcp_places.of_names(said)
    zone = said.get("zone")
    return Placement(
        provider=gcp_places.PROVIDER,
        instance_type=said.get("machineType"),
        region=gcp_places.region(zone),
        zone=zone,
        rack=rack,
        block=block,
        evidence=(gcp_places.EVIDENCE,),
    )


def _netq(said: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
    kept = texts(said, ["Name", "DomainUUID", "Health"])
    return (kept["Name"], kept) if {"Name", "DomainUUID"} <= kept.keys() else None


def _netq_placement(said: Mapping[str, Any]) -> Placement:
    return Placement(fabric_domain=said["DomainUUID"].strip() or None, evidence=("netq",))


KINDS = (
    Kind(_aws, _aws_placement, is_fleets=True),
    Kind(_azure, azure_instance.placement),
    Kind(_oci, oci_places.placement),
    Kind(_netq, _netq_placement),
    Kind(_identity, _identity_placement),
    Kind(_gcp, _gcp_placement),
)


def recognises(text: str) -> bool:
    """Whether such a document is in it."""
    return _MARK.search(text) is not None and any(True for _ in _records(text))


def is_empty(text: str) -> bool:
    """Whether it is an answer about a fleet that lists no machine."""
    values = [document.value for document in json_text.documents(text)]
    return bool(values) and all(isinstance(one, dict) and one.get("Instances") == [] for one in values)


def own(text: str) -> str:
    """What is read of each host, a line each. Documents of one kind that name no host are one host's, and where one
    other names it, that one's; but for those of a fleet."""
    found = list(_records(text))
    kept: list[Record] = []
    for kind in KINDS:
        own_kind = [record for of, record in found if of is kind]
        if kind.is_fleets:
            kept += own_kind
            continue
        hosts = {record.host for record in own_kind if record.host}
        unnamed = [record for record in own_kind if not record.host]
        kept += own_kind if not unnamed else [record for record in own_kind if record.host and len(hosts) > 1]
        if unnamed:
            together = unnamed if len(hosts) != 1 else own_kind
            kept.append(_as_one(together, next(iter(hosts)) if len(hosts) == 1 else None))
    return placed_hosts.lines(kept)


def _as_one(records: Sequence[Record], host: str | None) -> Record:
    said = {name: value for record in records for name, value in record.said.items()}
    return Record(host, said, next((record.damage for record in records if record.damage), None))


machines = placed_hosts.machines


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Where the first host stands."""
    found = list(_records(text))
    placements, problems = [], []
    if found:
        kind, record = found[0]
        placements = [kind.placement(record.said)]
        if kind.is_fleets and record.host is None:
            words = "the entry has no InstanceId: whose place it tells is not known"
            problems.append(Problem("placement", FAILED, words, (_AWS_EVIDENCE,)))
        if record.said.get("NetworkNodes", ()) is None:
            words = "NetworkNodes is no list of names: which switch is nearest is not known"
            problems.append(Problem("placement.block", FAILED, words, (_AWS_EVIDENCE,)))
        health = record.said.get("Health", _NETQ_WELL)
        if health != _NETQ_WELL:
            problems.append(Problem("links.fabric", FAILED, f"NetQ says that the node's health is {health}", ("netq",)))
    return placed_hosts.foreign(FORM, [record for _, record in found], placements, problems)


def _records(text: str) -> Iterator[tuple[Kind, Record]]:
    """Each host's document, and which kind it is of."""
    for document in json_text.documents(text):
        begin = text.rfind("\n", 0, document.start) + 1
        before = text[max(begin, document.start - 260) : document.start]
        prefix = _PREFIX.match(before)
        for said in _objects(document.value):
            for kind in KINDS:
                kept = kind.kept(said)
                if kept is not None:
                    host = placed_hosts.host_of(said) or kept[0] or (prefix[1] if prefix else None)
                    damage = said.get(placed_hosts.DAMAGE, document.damage)
                    yield kind, Record(host, kept[1], damage if isinstance(damage, str) else None)
                    break


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a document that may be one host's: itself, those of its list, and those of `Instances`."""
    every = value if isinstance(value, list) else [value]
    for one in every:
        if isinstance(one, dict):
            listed = one.get("Instances", one.get("instances"))
            inside = listed if isinstance(listed, list) else [one]
            yield from (each for each in inside if isinstance(each, dict))
