"""Ports of RDMA adapters: whether they are up, and as fast as their like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, check, evidence, expected, fail, ok, skip, unknown, unread, warn
from raxl.checks.ports import RdmaPort, none, peers, ports
from raxl.checks.variables import nccl_list, value
from raxl.checks.words import listed
from raxl.model.finding import QUICK, SKIP, Evidence
from raxl.model.problem import FAILED, NOT_ASKED

_LISTED = "NCCL_IB_HCA"
_WITHOUT_MANAGER = (
    "look at sminfo and at the subnet manager of this fabric; on the switch, that the port is in the right partition"
)
_CABLE = "look at ibstat or rdma link; reseat or swap the cable and the transceiver, then the port of the switch"
_DISABLED = (
    "find out who disabled it (ibportstate, the switch's configuration), and enable it, or leave it out of the job"
)
_AGREED_SHARE = 2 / 3


@check(
    "ib.port-state",
    "RDMA ports are active",
    P0,
    QUICK,
    "vendor",
    reference="https://docs.kernel.org/admin-guide/abi-stable.html",
)
def port_state(case: Case) -> Iterator[Verdict]:
    """A port that is not active carries nothing, and jobs that were given it fail or go another way.

    Read: `state` and `phys_state` of every port in `/sys/class/infiniband`, or what ibstat, ibstatus and ibv_devinfo
    say. It fails for a port whose link is up and that no subnet manager has configured (INIT, ARMED), for one that is
    active while its link recovers from errors, and for one that is down and expected: `nics` of the policy file asks
    for more adapters than are active, or NCCL_IB_HCA names it. It warns where the port is down and every other adapter
    of the same model and board, three at least, is active.

    Not to be confused: unused ports are down by design. Without an expectation they are named, and not judged.
    """
    found = ports(case)
    if not found:
        yield none(case)
        return
    well = [port for port in found if port.is_active and _is_up(port)]
    if well:
        told = (
            f"{len(well)} RDMA port{'s are' if len(well) > 1 else ' is'} active: {listed([one.words for one in well])}"
        )
        yield ok("node", told, *[evidence(one.reading("state"), f"{one.name} ACTIVE") for one in well[:8]])
    for port in found:
        if port not in well:
            yield _state(case, port, found)


def _is_up(port: RdmaPort) -> bool:
    """Whether its link is up; a list of links that does not tell it apart says so by the state."""
    physical = port.reading("physical_state")
    return physical.value == "LinkUp" or physical.reason == NOT_ASKED


def _state(case: Case, port: RdmaPort, found: list[RdmaPort]) -> Verdict:
    state, physical = port.reading("state"), port.reading("physical_state")
    if not state.known:
        return unread(port.name, f"the state of {port.name}", state)
    word, link = str(state.value), str(physical.value or "")
    told = [evidence(one) for one in (state, physical) if one.known]
    if word in ("INIT", "ARMED"):
        words = f"the link of {port.name} is up and its state is {word}: no subnet manager has configured it"
        return fail(port.name, words, *told, remedy=_WITHOUT_MANAGER, remedy_class="config", root=word)
    if word == "ACTIVE" and not physical.known:
        return unread(port.name, f"the physical state of {port.name}", physical)
    if word in ("ACTIVE", "ACTIVE_DEFER"):
        words = (
            f"{port.name} is {word} and its link is in {link or 'deferral'}: it recovers from errors again and again"
        )
        return fail(port.name, words, *told, remedy=_CABLE, remedy_class="vendor", root=link)
    if word != "DOWN":
        return unknown(port.name, FAILED, f"the state of {port.name} is {word}, which raxl does not know", *told)
    return _down(case, port, found, link, told)


def _down(case: Case, port: RdmaPort, found: list[RdmaPort], link: str, told: list[Evidence]) -> Verdict:
    words = f"{port.name} is DOWN{f' ({link})' if link else ''}"
    disabled = link == "Disabled"
    remedy, remedy_class = (_DISABLED, "config") if disabled else (_CABLE, "vendor")
    wanted = _expected(case, port, found)
    if wanted:
        return fail(
            port.name,
            f"{words}, and {wanted}",
            *told,
            remedy=remedy,
            remedy_class=remedy_class,
            root="down",
            expected=wanted,
        )
    like = peers(port, found)
    if len(like) >= 3 and port.nic.model is not None and all(one.is_active for one in like):
        others = f"the other {len(like)} ports of its model are active"
        return warn(
            port.name,
            f"{words}; {others}",
            *told,
            remedy=remedy,
            remedy_class=remedy_class,
            root="down",
            expected=others,
        )
    return skip(port.name, f"{words}; nothing says that it is to be in use, so it is not judged")


def _expected(case: Case, port: RdmaPort, found: list[RdmaPort]) -> str | None:
    """What says that this port is to be up."""
    wanted = value(case, _LISTED)
    names = nccl_list(wanted) if wanted else None
    if names is not None and not names.is_exclusion and names.takes(port.nic.id):
        return f"{_LISTED}={wanted} names it"
    count = expected.count(case, "nics")
    active = len({one.nic.id for one in found if one.is_active})
    if count is not None and active < count and port.nic.state == "down":
        return f"the policy expects {count} adapters where {active} are active"
    return None


@check(
    "ib.rate",
    "RDMA ports run at the rate of their like",
    P0,
    QUICK,
    "vendor",
    reference="https://docs.kernel.org/admin-guide/abi-stable.html",
)
def rate(case: Case) -> Iterator[Verdict]:
    """A port that trained to fewer lanes or a lower speed slows down every collective that goes through it.

    Read: `rate` of every active port. It fails below `nic_speed_bits_per_second` of the policy file (adapters for
    management are left out), where that is set and no port is active, and below the rate that two thirds of the
    adapters with the same model, board and link layer have, three at least. Without either it says the rate. It warns
    where NCCL_IB_HCA gives a job a port that is of another link layer and less than half as fast as the others that it
    names: it is a management adapter's.

    Not to be confused: a port that is down shows a stale or the lowest rate. Bonds and storage adapters run at a rate
    of their own, and are no peers. SDR on a new adapter means that the kernel does not know its speed.
    """
    every = ports(case)
    found = [port for port in every if port.is_active]
    unread_ones = [port for port in every if not port.reading("state").known]
    if not found and not unread_ones:
        nothing = skip("node", "no RDMA port is active") if every else none(case)
        wanted = expected.speed(case)
        yield nothing if wanted is None or nothing.status != SKIP else _without(nothing.message, wanted)
    for port in unread_ones:
        yield unread(port.name, f"whether {port.name} is active", port.reading("state"))
    wrong = [verdict for port in found if (verdict := _slow(case, port, found))]
    yield from wrong
    well = [port for port in found if port.value("speed") and port.name not in {one.subject for one in wrong}]
    if well:
        rates = Counter(str(port.value("rate") or _gigabits(port)) for port in well)
        words = listed([f"{count} at {told}" for told, count in rates.most_common()])
        yield ok(
            "node", f"active RDMA ports: {words}", *[evidence(one.reading("speed"), one.words) for one in well[:8]]
        )
    for port in found:
        if not port.value("speed"):
            yield unread(port.name, f"the rate of {port.name}", port.reading("speed"))


def _without(words: str, wanted: float) -> Verdict:
    told = f"{wanted / 1e9:g} Gb/s by the policy"
    words, remedy = f"{words}, where ports at {told} are expected", "look at ibstat or rdma link, or correct the policy"
    return fail("node", words, Evidence("policy", told), remedy=remedy, remedy_class="vendor", expected=told)


def _slow(case: Case, port: RdmaPort, found: list[RdmaPort]) -> Verdict | None:
    reading = port.reading("speed")
    if not reading.known:
        return None
    speed, told = float(reading.value), evidence(reading, port.value("rate") or _gigabits(port))
    wanted = expected.speed(case)
    if wanted is not None and port.nic.role != "management" and speed < wanted:
        due = f"{wanted / 1e9:g} Gb/s by the policy"
        words = f"{port.name} runs at {_gigabits(port)}, not at {due}"
        return fail(port.name, words, told, remedy=_CABLE, remedy_class="vendor", expected=due, root="rate")
    like = [port, *peers(port, found)]
    speeds = Counter(one.value("speed") for one in like if one.value("speed") and "bond" not in one.nic.id)
    usual, count = next(iter(speeds.most_common(1)), (None, 0))
    agreed = len(like) >= 3 and count >= _AGREED_SHARE * speeds.total()
    if agreed and isinstance(usual, (int, float)) and speed < usual and "bond" not in port.nic.id:
        due = f"{usual / 1e9:g} Gb/s: {count} of {len(like)} ports of its model"
        words = (
            f"{port.name} runs at {_gigabits(port)}; {count} of {len(like)} ports of its model at {usual / 1e9:g} Gb/s"
        )
        return fail(port.name, words, told, remedy=_CABLE, remedy_class="vendor", expected=due, root="rate")
    return _misfit(case, port, found, told)


def _misfit(case: Case, port: RdmaPort, found: list[RdmaPort], told: Evidence) -> Verdict | None:
    """A slow port of another link layer among those that NCCL is told to use."""
    wanted = value(case, _LISTED)
    if not wanted or not nccl_list(wanted).takes(port.nic.id):
        return None
    listed_ports = [one for one in found if nccl_list(wanted).takes(one.nic.id) and one.value("speed")]
    faster = [one for one in listed_ports if float(str(one.value("speed"))) > 2 * float(str(port.value("speed")))]
    if not faster or any(one.nic.kind == port.nic.kind for one in faster):
        return None
    layer = port.value("link_layer") or port.nic.kind
    words = (
        f"{port.name} runs at {_gigabits(port)} over {layer}, and {_LISTED}={wanted} gives it to jobs "
        f"beside {listed([one.words for one in faster], 3)}: it slows down all of them"
    )
    names = listed([one.nic.id for one in faster], 16)
    remedy = f"name only {names} in {_LISTED}, or leave it out with {_LISTED}=^{port.nic.id}"
    return warn(port.name, words, told, remedy=remedy, remedy_class="config", root="misfit")


def _gigabits(port: RdmaPort) -> str:
    return f"{float(str(port.value('speed'))) / 1e9:g} Gb/s" if port.value("speed") else "an unknown rate"
