"""Congestion control of RoCE ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from raxl.checks import P1, Case, Verdict, check, evidence, fail, ok, skip, unread
from raxl.checks.ports import RdmaPort, none, on_ethernet, ports, unsorted
from raxl.checks.words import listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK

_AGREED_SHARE = 2 / 3


@check(
    "roce.flow-control",
    "RoCE ports of a node have the same congestion control",
    P1,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/networking/display/ofed/explicit+congestion+notification+(ecn)",
)
def flow_control(case: Case) -> Iterator[Verdict]:
    """A port that neither marks nor heeds congestion loses packets where its peers slow down, and holds all of them up.

    Read: on which priorities ECN is on for either side (`ecn/roce_np`, `ecn/roce_rp`), and `qos/trust`, which NVIDIA's
    driver package shows. It fails where a port differs from two thirds of those of its model and board, three at least.
    The settings themselves are said, and not judged: what is right depends on the fabric.

    Not to be confused: clouds run lossy RoCE with a congestion control of their own; virtual functions and the kernel's
    own driver show none of it; pause frames (PFC) are not in sysfs.
    """
    found, open_ = on_ethernet(case), unsorted(case, "the congestion control")
    yield from open_
    if not found and not open_:
        yield skip("node", "no active RDMA port is on Ethernet") if ports(case) else none(case)
    if not found:
        return
    told = {port.name: _reading(case, port) for port in found}
    read = [port for port in found if told[port.name].known]
    odd = [verdict for port in read if (verdict := _odd(port, read, told))]
    yield from odd
    if read and not odd:
        kinds = Counter(_words(told[port.name].value) for port in read)
        words = listed([f"{count} with {kind}" for kind, count in kinds.items()])
        yield ok("node", f"congestion control of RoCE ports: {words}", evidence(told[read[0].name], words))
    missing = [port for port in found if port not in read]
    if missing:
        what = f"the congestion control of {listed([port.name for port in missing])}"
        yield unread("node", what, told[missing[0].name])


def _reading(case: Case, port: RdmaPort) -> Reading:
    reading = case.facts.networks.get("flow_control", NOT_READ)
    netdev = port.value("netdev") or port.nic.netdev
    own = reading.value.get(netdev) if reading.known else reading
    return own if isinstance(own, Reading) else NOT_READ


def _words(settings: Mapping[str, str]) -> str:
    sides = [f"{side} on {settings[side] or 'none'}" for side in ("roce_np", "roce_rp")]
    return ", ".join([*sides, *([f"trust {settings['trust']}"] if settings["trust"] else [])])


def _odd(port: RdmaPort, read: list[RdmaPort], told: Mapping[str, Reading]) -> Verdict | None:
    like = [one for one in read if one.is_like(port)]
    counts = Counter(_words(told[one.name].value) for one in like)
    usual, count = next(iter(counts.most_common(1)), ("", 0))
    own = _words(told[port.name].value)
    if len(like) < 3 or count < _AGREED_SHARE * len(like) or own == usual:
        return None
    return fail(
        port.name,
        f"{port.name} has {own}; {count} of {len(like)} ports of its model have {usual}",
        evidence(told[port.name], own),
        remedy="set it as on the others (mlnx_qos -i DEVICE, /sys/class/net/DEVICE/ecn), also for the next boot",
        remedy_class="config",
        expected=f"{usual}, as its peers",
    )
