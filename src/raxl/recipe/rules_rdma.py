"""Rules that name RDMA adapters: those that carry the traffic of accelerators, as this node numbers them.

One shape has other numbers under another image (BM.GPU.H100.8 has gaps at mlx5_2 and mlx5_11), a management adapter
stands among the others (mlx5_an0 on Azure), and a name alone is taken as a beginning: mlx5_1 means mlx5_10 too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from raxl.checks.ports import RdmaPort, is_rdma, ports
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.machine import Gid
from raxl.model.nic import Nic
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED
from raxl.recipe.fact_devices import ABSENT, cell, natural
from raxl.recipe.node_facts import NodeFacts
from raxl.recipe.parameter_rule import Options, ParameterRule, number, refused, text, texts
from raxl.topology.reasons import unread

_COMPUTE, _ROCE, _SECOND = "compute", "roce", "RoCE v2"
_OTHERS = ("management", "storage")


class _Chosen(NamedTuple):
    """Adapters by name, and what was left out of those that nobody excluded by kind, with the reason."""

    nics: Sequence[Nic]
    left_out: Sequence[str]
    source: str


def hca_list(facts: NodeFacts, options: Options) -> Reading:
    """The RDMA adapters for accelerators' traffic, as NCCL_IB_HCA takes them: `=mlx5_0,mlx5_3`. Those for management or
    storage, those that are down and those slower than the fastest are not among them."""
    told = _compute(facts, options)
    if isinstance(told, Reading):
        return told
    names = [entry for nic in told.nics for entry in _entries(nic)]
    return Reading(f"{text(options, 'prefix', '=')}{','.join(names)}", told.source, message=_without(told))


def hca_count(facts: NodeFacts, options: Options) -> Reading:
    """How many adapters `hca-list` names."""
    told = _compute(facts, options)
    if isinstance(told, Reading):
        return Reading(0, told.source) if told.reason == NOT_PRESENT else told
    return Reading(len(told.nics), told.source, message=_without(told))


def ucx_devices(facts: NodeFacts, options: Options) -> Reading:
    """The same adapters as UCX_NET_DEVICES takes them, port by port: `mlx5_0:1,mlx5_3:1`."""
    told = _compute(facts, options)
    if isinstance(told, Reading):
        return told
    bare = [nic.id for nic in told.nics if not nic.ports]
    if bare:
        return refused(told.source, f"the ports of {listed(bare)} are not known", NOT_ASKED)
    names = [f"{nic.id}:{port}" for nic in told.nics for port in _active(nic)]
    return Reading(",".join(names), told.source, message=_without(told))


def efa_count(facts: NodeFacts, options: Options) -> Reading:
    """How many EFA devices are there and not down."""
    told = _compute(facts, {"kinds": ("efa",), **options})
    if isinstance(told, Reading):
        return Reading(0, told.source) if told.reason == NOT_PRESENT else told
    return Reading(len(told.nics), told.source, message=_without(told))


def _compute(facts: NodeFacts, options: Options) -> _Chosen | Reading:
    """The adapters that the options leave, or why they are not known. NOT_PRESENT: it is known that there are none."""
    node = facts.node
    kinds = texts(options, "kinds", ("infiniband", "roce"))
    least, never = number(options, "bits_per_second", 0), texts(options, "leave_out", ())
    refusal = unread(node, "node", "nics")
    if refusal is not None:
        return Reading(None, ", ".join(refusal.evidence) or "the inventory", refusal.reason, refusal.message)
    kept, left_out = [], []
    for nic in node.nics:
        if any(fnmatchcase(nic.id, one) for one in never) or nic.role in _OTHERS:
            continue
        cells = {field: cell(node, "nics", nic, field) for field in ("kind", "state", "speed_bits_per_second")}
        if _is_other(cells["kind"], kinds):
            continue
        if nic.state in ("down", "degraded"):
            left_out.append(f"{nic.id} ({nic.state})")
            continue
        speed = cells["speed_bits_per_second"]
        if speed.known and speed.value < least:
            continue
        silent = next((one for one in cells.values() if not one.known), None)
        if silent is not None:
            return Reading(None, silent.source, _unknown(silent.reason), silent.message)
        kept.append(nic)
    return _sorted_out(facts, kept, left_out, kinds, told_apart=least > 0)


def _is_other(kind: Reading, kinds: Sequence[str]) -> bool:
    """Whether it is of another kind, or has no device at all that a job could use here."""
    return kind.value not in kinds if kind.known else kind.reason in ABSENT


def _unknown(reason: str | None) -> str:
    return NOT_ASKED if reason is None or reason in ABSENT else reason


def _sorted_out(
    facts: NodeFacts, kept: Sequence[Nic], left_out: Sequence[str], kinds: Sequence[str], *, told_apart: bool
) -> _Chosen | Reading:
    """`told_apart`: whether the recipe's speed tells those that nobody says a role of."""
    source = ", ".join(dict.fromkeys(name for nic in kept for name in nic.evidence)) or "the inventory"
    if not kept:
        looked = facts.read("nics.count")
        if not looked.known and looked.reason not in ABSENT:
            return looked
        words = f"no adapter of kind {' or '.join(kinds)} is up"
        return refused(looked.source, f"{words}: {listed(list(left_out))}" if left_out else words, NOT_PRESENT)
    fastest = max(nic.speed_bits_per_second or 0 for nic in kept)
    slow = [nic for nic in kept if (nic.speed_bits_per_second or 0) < fastest]
    fast = [nic for nic in kept if nic not in slow]
    slower = [f"{nic.id} ({(nic.speed_bits_per_second or 0) / 1e9:g} Gb/s)" for nic in slow]
    untold = [nic for nic in fast if nic.role != _COMPUTE]
    if untold and len(untold) < len(fast):
        names = listed([nic.id for nic in untold])
        words = f"whether {names} is for computing: it is as fast as those that are; leave_out can say so"
        return refused(source, words, NOT_SUPPORTED)
    if untold and not told_apart:
        told = cell(facts.node, "nics", untold[0], "role")
        return refused(source, f"no adapter is known to be for computing: {told.message}", _unknown(told.reason))
    nameless = [nic.id for nic in fast if not is_rdma(nic)]
    if nameless:
        return refused(source, f"the RDMA device of {listed(nameless)} is not known", NOT_ASKED)
    return _Chosen(sorted(fast, key=lambda nic: natural(nic.id)), sorted([*left_out, *slower], key=natural), source)


def _active(nic: Nic) -> list[int]:
    return [port.port for port in nic.ports if port.state == "ok"]


def _entries(nic: Nic) -> list[str]:
    """The adapter, or its ports that are up where others are not."""
    active = _active(nic)
    return [nic.id] if len(active) in (0, len(nic.ports)) else [f"{nic.id}:{port}" for port in active]


def _without(told: _Chosen) -> str:
    return f"without {listed(list(told.left_out))}" if told.left_out else ""


def gid_index(facts: NodeFacts, options: Options) -> Reading:
    """The entry of the address table that is RoCE v2, IPv4 and reaches beyond the link, the same on every compute port.
    In a container the table may begin elsewhere, so it is never assumed."""
    told = _compute(facts, options)
    if isinstance(told, Reading):
        return told
    kinds = sorted({str(nic.kind) for nic in told.nics})
    if kinds != [_ROCE]:
        reason = FAILED if _ROCE in kinds else NOT_APPLICABLE
        return refused(told.source, f"the compute adapters are {' and '.join(kinds)}", reason)
    chosen = {nic.id for nic in told.nics}
    found = [port for port in ports(facts.case) if port.nic.id in chosen and port.is_active]
    if not found:
        return refused(told.source, "no port is known to be active", NOT_ASKED)
    by_port: dict[str, set[int]] = {}
    for port in found:
        own = _indexes(port)
        if isinstance(own, Reading):
            return own
        by_port[port.name] = own
    source = f"{found[0].reading('gids').source} and {len(found) - 1} more" if len(found) > 1 else told.source
    common = set.intersection(*by_port.values())
    if common:
        return Reading(min(common), source)
    return refused(source, f"the ports have no index in common: {_by_index(by_port)}")


def _indexes(port: RdmaPort) -> set[int] | Reading:
    """The entries of a port that would do, or why they are not known."""
    table = port.readings.get("gids", NOT_READ)
    if not table.known:
        words = f"the addresses of {port.name}: {table.message or table.reason}"
        return Reading(None, table.source, _unknown(table.reason), words)
    held: Mapping[int, Gid] = table.value
    beyond = {index: one for index, one in held.items() if one.is_ipv4 and not one.is_link_local}
    untold = next((one for one in beyond.values() if one.kind is None), None)
    if untold is not None:
        return refused(table.source, f"whether {untold.words} of {port.name} is RoCE v2 is not known", NOT_ASKED)
    fit = {index for index, one in beyond.items() if one.kind == _SECOND}
    return fit or refused(table.source, f"{port.name} has no RoCE v2 entry with a routable IPv4 address", FAILED)


def _by_index(by_port: Mapping[str, set[int]]) -> str:
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, indexes in by_port.items():
        groups.setdefault(tuple(sorted(indexes)), []).append(name)
    return "; ".join(f"{', '.join(map(str, indexes))} on {listed(names)}" for indexes, names in groups.items())


_CHOICE = {
    "kinds": "the adapters' kinds: infiniband, roce, efa",
    "bits_per_second": "those that are slower are left out, also where nobody says what they are for",
    "leave_out": "globs of adapters that are never among them: mlx5_an0, mlx5_bond*",
}
RULES = (
    ParameterRule("hca-list", hca_list, {**_CHOICE, "prefix": "what stands before the names; = takes them whole"}),
    ParameterRule("hca-count", hca_count, _CHOICE),
    ParameterRule("ucx-devices", ucx_devices, _CHOICE),
    ParameterRule("efa-count", efa_count, {name: _CHOICE[name] for name in ("bits_per_second", "leave_out")}),
    ParameterRule("gid-index", gid_index, {name: _CHOICE[name] for name in ("bits_per_second", "leave_out")}),
)
