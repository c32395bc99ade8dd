"""RDMA over Ethernet: addresses and packet sizes, which nothing on the way corrects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from raxl.checks import P0, P1, Case, Verdict, check, evidence, fail, ok, skip, unknown, unread, warn
from raxl.checks.ports import RdmaPort, none, on_ethernet, ports, unsorted
from raxl.checks.variables import nccl_list, reading, value
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ
from raxl.model.finding import QUICK, Evidence
from raxl.model.machine import Gid, Interface
from raxl.model.problem import FAILED

_INDEX, _LISTED = "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"
_SECOND = "RoCE v2"
_FULL_RDMA_MTU, _ROOM = 4096, 4200
_AGREED_SHARE = 2 / 3


def _nothing(case: Case) -> Verdict:
    return none(case) if not ports(case) else skip("node", "no active RDMA port is on Ethernet")


@check(
    "roce.gid",
    "RoCE ports have an address that others can route to",
    P0,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-ib-gid-index",
)
def gid(case: Case) -> Iterator[Verdict]:
    """A RoCE connection goes by one entry of the port's table of addresses; with the wrong one it times out (error
    110).

    Read: `gids/*`, `gid_attrs/types/*` and `gid_attrs/ndevs/*` of every active RoCE port, and NCCL_IB_GID_INDEX. It
    fails where that index is empty, is RoCE v1, or is link-local while a RoCE v2 entry with a routable address stands
    elsewhere; and where the routable address has a v1 entry alone. It warns where every entry is link-local. Unset is
    well: NCCL searches since 2.21.

    Not to be confused: the order of entries follows the order of addresses, and in a container the table may begin at
    4.
    """
    found, open_ = on_ethernet(case), unsorted(case, "the addresses")
    yield from open_
    if not found and not open_:
        yield _nothing(case)
    if not found:
        return
    chosen_by = reading(case, _INDEX)
    told = value(case, _INDEX)
    wanted = int(told) if told and told.strip().isdigit() else None
    well = []
    for port in found:
        table = port.reading("gids")
        if not table.known:
            yield unread(port.name, f"the addresses of {port.name}", table)
            continue
        verdict = _judged(case, port, table.value, wanted)
        if verdict is None:
            well.append(port)
        else:
            yield verdict
    if well and not chosen_by.known:
        yield unread("node", f"whether {_INDEX} fits", chosen_by)
    elif well:
        words = listed([f"{port.name} {_indexes(port.value('gids'))}" for port in well])
        chosen = f"{_INDEX}={wanted} fits" if wanted is not None else f"{_INDEX} is unset, and NCCL searches since 2.21"
        yield ok(
            "node", f"RoCE v2 entries: {words}; {chosen}", *[evidence(port.reading("gids"), words) for port in well[:1]]
        )


def _routable(gids: object) -> dict[int, str]:
    """RoCE v2 entries that reach beyond the link: index and address, IPv4 first."""
    held = gids if isinstance(gids, Mapping) else {}
    fit = [(index, one) for index, one in held.items() if one.kind == _SECOND and not one.is_link_local]
    return {index: one.words for index, one in sorted(fit, key=lambda item: (not item[1].is_ipv4, item[0]))}


def _indexes(gids: object) -> str:
    """`index 3 (192.0.2.23)`, of each entry."""
    return listed([f"index {index} ({words})" for index, words in _routable(gids).items()], 4)


def _judged(case: Case, port: RdmaPort, gids: Mapping[int, Gid], wanted: int | None) -> Verdict | None:
    fit = _routable(gids)
    told = evidence(
        port.reading("gids"), "; ".join(f"{index} {one.address} {one.kind}" for index, one in list(gids.items())[:16])
    )
    wanted_one = gids.get(wanted) if wanted is not None else None
    untold = [one for one in (wanted_one, *(() if fit else gids.values())) if one is not None and one.kind is None]
    if untold:
        words = f"whether {untold[0].words} of {port.name} is RoCE v2: the kernel did not say"
        return unknown(port.name, FAILED, words, told)
    if not fit:
        return _without(port, gids, told)
    if wanted is None or wanted in fit or not _is_used(case, port):
        return None
    chosen, best = gids.get(wanted), next(iter(fit))
    if chosen is None:
        why = "is empty"
    elif chosen.kind != _SECOND:
        why = f"is {chosen.kind or 'of an unknown type'}, which is not routed"
    else:
        why = f"is {chosen.address[:4]} (link-local, not routable)"
    words = f"{_INDEX}={wanted} of {port.name} {why}; the RoCE v2 entry with a routable address is {best} ({fit[best]})"
    return fail(
        port.name,
        words,
        told,
        remedy=f"unset {_INDEX} (NCCL searches since 2.21), or set it to {best}; show_gids lists the table",
        remedy_class="config",
        root=str(wanted),
    )


def _is_used(case: Case, port: RdmaPort) -> bool:
    """Whether NCCL may use the port: the index counts for those alone."""
    listed_names = value(case, _LISTED)
    return not listed_names or nccl_list(listed_names).takes(port.nic.id)


def _without(port: RdmaPort, gids: Mapping[int, Gid], told: Evidence) -> Verdict:
    routable = [one for one in gids.values() if not one.is_link_local]
    netdev = port.value("netdev") or port.nic.netdev or "its network device"
    if routable:
        kinds = listed(sorted({one.kind or "of an unknown type" for one in routable}))
        words = f"{port.name} has no RoCE v2 entry for {routable[0].words}: it is {kinds}"
        remedy = "set the port to RoCE v2 (cma_roce_mode -d DEVICE -m 2), and look at the driver's version"
        return fail(port.name, words, told, remedy=remedy, remedy_class="config", root="v1")
    words = f"{port.name} has no routable address: RoCE reaches no further than its own link"
    remedy = f"give {netdev} an IPv4 address (ip addr), or leave {port.nic.id} out of {_LISTED}"
    return warn(port.name, words, told, remedy=remedy, remedy_class="config", root="link-local")


@check(
    "roce.mtu",
    "RoCE ports of a node send packets of one size",
    P1,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/networking/display/ofed/rdma+over+converged+ethernet+(roce)",
)
def mtu(case: Case) -> Iterator[Verdict]:
    """Ports with different packet sizes drop what is too large, or run slow without a word.

    Read: `mtu` of the network device of each active RoCE port, and `active_mtu` where ibv_devinfo says it. It fails
    where a port differs from two thirds of those of its model and board, three at least. It warns where RDMA uses less
    than 4096 bytes though the network device has room for that.

    Not to be confused: 9000 and 9216 both serve, where all have the same. What the switch allows is not to be seen
    here.
    """
    found, open_ = on_ethernet(case), unsorted(case, "the packet size")
    yield from open_
    if not found and not open_:
        yield _nothing(case)
    if not found:
        return
    reading = case.facts.networks.get("interfaces", NOT_READ)
    interfaces = reading.value if reading.known else {}
    sizes = {port.name: size for port in found if (size := _size(port, interfaces)) is not None}
    well = []
    for port in found:
        size = sizes.get(port.name)
        verdict = _odd(port, found, sizes) or _small(port, size)
        if verdict is not None:
            yield verdict
        elif size is not None:
            well.append(f"{port.name} {size}")
    if well:
        yield ok("node", f"packet sizes (mtu): {listed(well)}", evidence(reading, listed(well)))
    missing = [port.name for port in found if port.name not in sizes]
    if missing:
        yield unread("node", f"the packet size of {listed(missing)}", reading if not reading.known else NOT_READ)


def _size(port: RdmaPort, interfaces: Mapping[str, Interface]) -> int | None:
    netdev = port.value("netdev") or port.nic.netdev
    one = interfaces.get(str(netdev)) if netdev else None
    return one.mtu if one is not None else None


def _odd(port: RdmaPort, found: list[RdmaPort], sizes: Mapping[str, int]) -> Verdict | None:
    like = [one for one in found if one.is_like(port) and one.name in sizes]
    counts = Counter(sizes[one.name] for one in like)
    usual, count = next(iter(counts.most_common(1)), (0, 0))
    if port.name not in sizes or len(like) < 3 or count < _AGREED_SHARE * len(like) or sizes[port.name] == usual:
        return None
    netdev = port.value("netdev") or port.nic.netdev
    words = f"{port.name} has an mtu of {sizes[port.name]}, {count} of {len(like)} ports of its model have {usual}"
    remedy = f"ip link set {netdev} mtu {usual}, and in the network's configuration, after a drain"
    return fail(port.name, words, remedy=remedy, remedy_class="config", expected=f"{usual}, as its peers", root="mtu")


def _small(port: RdmaPort, size: int | None) -> Verdict | None:
    active = port.value("active_mtu")
    if not isinstance(active, int) or size is None or active >= _FULL_RDMA_MTU or size < _ROOM:
        return None
    words = f"{port.name} sends RDMA packets of {active} bytes, and its network device has room for {size}"
    remedy = "restart the RDMA driver after the network device has its mtu; compare ibv_devinfo on both ends"
    return warn(port.name, words, evidence(port.reading("active_mtu")), remedy=remedy, remedy_class="config")
