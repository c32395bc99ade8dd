"""Counters of RDMA ports. They count since somebody cleared them: one reading tells that something was, not when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from raxl.checks import P0, P1, Case, Verdict, check, evidence, fail, ok, unknown, unread, warn
from raxl.checks.ports import RdmaPort, none, ports
from raxl.checks.words import listed
from raxl.model.facts import KernelEvent
from raxl.model.finding import QUICK
from raxl.model.problem import FAILED

WIDTHS = {
    "symbol_error": 16,
    "link_error_recovery": 8,
    "link_downed": 8,
    "port_rcv_errors": 16,
    "port_rcv_remote_physical_errors": 16,
    "port_xmit_discards": 16,
    "port_xmit_constraint_errors": 8,
    "port_rcv_constraint_errors": 8,
    "local_link_integrity_errors": 4,
    "excessive_buffer_overrun_errors": 4,
    "VL15_dropped": 16,
}
"""Bits of each counter: PortCounters, InfiniBand Architecture Specification 1.4, volume 1, 16.1.3.5."""
_DOWNED = "link_downed"
_CARRIER = "lost-carrier"
_CABLE = "mlxlink -d DEVICE -m -c shows the module and the eye; drain, then reseat or swap cable and transceiver"


def _saturated(port: RdmaPort) -> dict[str, int]:
    counters = port.value("counters")
    if not isinstance(counters, Mapping):
        return {}
    return {name: value for name, value in counters.items() if name in WIDTHS and value == (1 << WIDTHS[name]) - 1}


@check(
    "ib.counter-saturated",
    "No error counter of an RDMA port is full",
    P1,
    QUICK,
    "config",
    reference="https://docs.kernel.org/admin-guide/abi-stable.html",
)
def counter_saturated(case: Case) -> Iterator[Verdict]:
    """A counter that stands at the most that its bits hold stays there: new errors no longer show.

    Read: `counters/*` of every port; it warns where one has all bits of its width set (4 bits: 15, 8: 255, 16: 65535;
    PortCounters of the InfiniBand specification). It says nothing of the link: the errors may be years old. The remedy
    is to clear the counters, so that the next reading tells something.
    """
    found = ports(case)
    if not found:
        yield none(case)
        return
    read = [port for port in found if port.reading("counters").known]
    full = {port.name: _saturated(port) for port in read}
    for port in read:
        if full[port.name]:
            words = listed([f"{name} = {value}" for name, value in full[port.name].items()], 16)
            yield warn(
                port.name,
                f"{port.name}: {words}: full, so that new errors no longer count",
                evidence(port.reading("counters"), words),
                remedy=f"clear the counters ({_clear(port.name)}), and read again after an hour of work",
                remedy_class="config",
                root=",".join(full[port.name]),
            )
    well = [port for port in read if not full[port.name]]
    if well:
        yield ok("node", f"no counter of {len(well)} RDMA port{'s' if len(well) > 1 else ''} is full")
    yield from _unread(found, "counters")


def _clear(port: str) -> str:
    device, _, number = port.partition("/")
    return f"perfquery -R -C {device} -P {number or 1}, or reload the driver after a drain"


def _unread(found: list[RdmaPort], name: str) -> Iterator[Verdict]:
    """Ports that could not be asked: one verdict for all that give the same reason."""
    told: dict[tuple[str | None, str], list[RdmaPort]] = {}
    for port in found:
        reading = port.reading(name)
        if not reading.known:
            told.setdefault((reading.reason, reading.message), []).append(port)
    for held in told.values():
        subject = held[0].name if len(held) == 1 else "node"
        yield unread(subject, f"the counters of {listed([one.name for one in held])}", held[0].reading(name))


@check(
    "ib.flap",
    "Links of RDMA ports stay up",
    P0,
    QUICK,
    "vendor",
    reference="https://docs.kernel.org/admin-guide/abi-stable.html",
)
def flap(case: Case, fail_outages: float = 5, boot_grace_seconds: float = 600) -> Iterator[Verdict]:
    """A link that goes down and comes back ends every job that uses it, and looks well to whoever looks in between.

    Read: the kernel log's lines of a lost carrier for network devices of RDMA adapters, `link_downed` of each port and
    `carrier_changes` of its network device. It warns from one outage of this boot on, and fails from `fail_outages` on
    (gpud and Azure: five in a day); what happened in the first `boot_grace_seconds` after the boot is left out (OCI).
    The counters alone give no verdict: they count since they were cleared, and one reading does not tell when.

    Not to be confused: a restart of the switch or of the other side takes all links down once. A counter at 255 is
    full: unknown.
    """
    found = ports(case)
    if not found:
        yield none(case)
        return
    log = case.facts.kernel_log
    outages = {port.name: _outages(port, log.events, boot_grace_seconds) for port in found}
    for port in found:
        events = outages[port.name]
        if not events:
            continue
        count = sum(event.count for event in events)
        words = f"the link of {port.name} went down {count} time{'s' if count > 1 else ''} in this boot"
        made = fail if count >= fail_outages else warn
        yield made(
            port.name,
            words,
            evidence(log.read, events[-1].text),
            remedy=_CABLE,
            remedy_class="vendor",
            count=count,
            first_seen=events[0].first,
            last_seen=events[-1].last,
        )
    yield from _by_counters([port for port in found if not outages[port.name]], case)


def _outages(port: RdmaPort, events: tuple[KernelEvent, ...], grace: float) -> list[KernelEvent]:
    """What the kernel log tells of the port's network device: of this boot, and not of its beginning."""
    netdev = port.value("netdev") or port.nic.netdev
    return [
        event
        for event in events
        if event.kind == _CARRIER
        and event.boot == 0
        and netdev
        and f" {netdev}: " in f" {event.text} "
        and not (event.seconds is not None and event.seconds < grace)
    ]


def _by_counters(found: list[RdmaPort], case: Case) -> Iterator[Verdict]:
    counted = [port for port in found if _downed(port) is not None]
    full = [port for port in counted if _DOWNED in _saturated(port)]
    for port in full:
        words = f"{_DOWNED} of {port.name} is {_downed(port)}, and full: whether the link still fails is not seen"
        yield unknown(port.name, FAILED, words, evidence(port.reading("counters"), f"{_DOWNED} {_downed(port)}"))
    failed = [port for port in counted if _downed(port) and port not in full]
    for port in failed:
        words = f"the link of {port.name} failed {_downed(port)} times since its counters were cleared, by one reading"
        yield ok(port.name, words, evidence(port.reading("counters"), f"{_DOWNED} {_downed(port)}"))
    well = [port for port in counted if _downed(port) == 0]
    if well:
        yield ok(
            "node", f"no link failed on {len(well)} RDMA port{'s' if len(well) > 1 else ''} since counters were cleared"
        )
    rest = [port for port in found if port not in counted]
    by_carrier = [port for port in rest if _carrier_changes(port, case) is not None]
    if by_carrier:
        words = listed([f"{port.name} {_carrier_changes(port, case)}" for port in by_carrier])
        yield ok(
            "node",
            f"carrier changes since boot, of one reading: {words}",
            evidence(case.facts.networks["interfaces"], words),
        )
    yield from _unread([port for port in rest if port not in by_carrier], "counters")


def _downed(port: RdmaPort) -> int | None:
    counters = port.value("counters")
    return counters.get(_DOWNED) if isinstance(counters, Mapping) else None


def _carrier_changes(port: RdmaPort, case: Case) -> int | None:
    interfaces = case.facts.networks.get("interfaces")
    netdev = port.value("netdev") or port.nic.netdev
    one = (interfaces.value or {}).get(netdev) if interfaces is not None and interfaces.known else None
    return one.carrier_changes if one is not None else None


@check(
    "ib.errors",
    "RDMA ports count no errors",
    P1,
    QUICK,
    "vendor",
    reference="https://docs.kernel.org/admin-guide/abi-stable.html",
)
def errors(case: Case) -> Iterator[Verdict]:
    """Errors of the link, discarded packets and retries slow a job down long before anything fails.

    Read: the error counters of `counters/` and `hw_counters/`. They count since they were cleared, so one reading gives
    what they hold and no verdict; growth between two readings is what counts (`raxl diff --all` of two snapshots). A
    full counter makes it unknown.

    Not to be confused: virtual functions have no counters; Ethernet ports report zeros in `counters/`. Out-of-sequence
    packets are normal with adaptive routing, and timeouts of acknowledgements at the end of a job. Remote physical
    errors come from upstream, not from this cable.
    """
    found = ports(case)
    if not found:
        yield none(case)
        return
    read = [port for port in found if port.reading("counters").known or port.reading("hw_counters").known]
    for port in read:
        full = _saturated(port)
        held = {name: count for name, count in _held(port).items() if count and name not in full}
        words = listed([f"{name} {count}" for name, count in held.items()], 12)
        told = evidence(port.reading("counters"), words)
        if full:
            names = listed(list(full), 12)
            also = f"; also {words}" if held else ""
            yield unknown(port.name, FAILED, f"{port.name}: {names} full, so that growth is not to be seen{also}", told)
        elif held:
            yield ok(
                port.name, f"{port.name} has counted {words} since its counters were cleared, by one reading", told
            )
    well = [port for port in read if not any(_held(port).values())]
    if well:
        yield ok("node", f"{len(well)} RDMA port{'s count' if len(well) > 1 else ' counts'} no error")
    rest = [port for port in found if port not in read]
    yield from _unread(rest, "counters")


def _held(port: RdmaPort) -> dict[str, int]:
    counters, hardware = port.value("counters"), port.value("hw_counters")
    return {
        **(counters if isinstance(counters, Mapping) else {}),
        **(hardware if isinstance(hardware, Mapping) else {}),
    }
