"""NVSwitches: what their driver and the fabric manager tell of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.checks import P1, Case, Verdict, absent, check, evidence, ok, skip, unread
from raxl.checks.log_events import (
    FAIL,
    INFO,
    WARN,
    Weight,
    by_device,
    current,
    cut,
    none_told,
    times,
    unreadable,
    verdict,
)
from raxl.checks.remedies import of_board, remedy
from raxl.checks.sxid_codes import SETS
from raxl.checks.words import listed
from raxl.model.facts import KernelEvent
from raxl.model.finding import QUICK, ROOT, Evidence
from raxl.model.problem import NOT_ASKED

_PAPER = "https://docs.nvidia.com/deploy/xid-errors"
_UNHANDLED, _HOT, _COOL = "10003", "10004", "10005"


@check("nvswitch.sxid", "No SXid accuses an NVSwitch", P1, QUICK, "reset", vantage=ROOT, reference=_PAPER)
def sxid(case: Case) -> Iterator[Verdict]:
    """What the driver of NVSwitches tells: `SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 …`.

    The word in the line counts: Fatal fails, Non-fatal warns. Lines without it go by the sets of NVIDIA's white paper.
    A corrected single-bit error is information, however it is called. One finding a switch and code, with its links.

    Not to be confused: lines with `Data` and `Severity` belong to the one before. Systems with NVLink 5 raise Xids 144
    to 150 in place of SXids.
    """
    events = current(case, "sxid")
    if not events:
        yield absent(case, "nvidia") or unreadable(case, "SXids") or none_told(case, "SXid")
        return
    yield from cut(case, "SXids", "sxid")
    for address, own in by_device(events):
        for code in sorted({event.code or "" for event in own}, key=lambda code: (len(code), code)):
            alike = [event for event in own if event.code == code]
            weight = _over(own) if code == _HOT else _weight(code, alike[0].detail.get("severity"))
            words = f"NVSwitch {address}: SXid {code}{times(alike)}{_links(alike)}: {weight.meaning}"
            yield verdict(case, alike, weight, words, vendor="nvidia", root=code, reset=_board(case))


def _weight(code: str, severity: str | None) -> Weight:
    known = next((one for one in SETS if code.isdigit() and int(code) in one.codes), None)
    meaning = known.meaning if known else "a code that no catalogue holds"
    told = Weight(known.verdict, known.action, meaning) if known else Weight(WARN, "support", meaning)
    if code == _UNHANDLED or severity == "Fatal":
        return told if told.verdict == FAIL else Weight(FAIL, "reset_gpu", f"called fatal; {meaning}")
    if severity == "Non-fatal" and told.verdict == FAIL:
        return Weight(WARN, "watch", f"called non-fatal; {meaning}")
    return told


def _board(case: Case) -> str:
    """What resets a switch: a reset of all GPUs on its board, of which a node has one."""
    found = [one.pci.address for one in case.node.accelerators if one.vendor == "nvidia" and one.pci is not None]
    return of_board(found)


def _over(own: Sequence[KernelEvent]) -> Weight:
    """A switch that became too hot: over once it told that it has cooled down."""
    last = {code: max((event.ends for event in own if event.code == code), default=0) for code in (_HOT, _COOL)}
    if last[_COOL] > last[_HOT]:
        return Weight(INFO, "watch", "it was too hot, and has cooled down")
    return Weight(WARN, "support", "it is too hot: look after the cooling")


def _links(events: Sequence[KernelEvent]) -> str:
    links = sorted({event.detail["link"] for event in events if "link" in event.detail}, key=int)
    return f" on link{'s' if len(links) > 1 else ''} {listed(links)}" if links else ""


@check("nvswitch.log", "The fabric manager tells of no switch error", P1, QUICK, "reset", reference=_PAPER)
def fabric_manager(case: Case) -> Iterator[Verdict]:
    """What the fabric manager writes of NVSwitches: `detected NVSwitch non-fatal error 12028 on … pci bus id …`.

    Read: a log of it (/var/log/fabricmanager.log) that `--from` names. A fatal error of a switch fails, a non-fatal one
    warns; 12028 aborts the job that met it. Its other errors are shown as information: many of them come where there
    is nothing to manage.

    Not to be confused: whether it runs at all, which fabric.manager says.
    """
    reading = case.facts.logs.get("fabric manager")
    if reading is None or reading.reason == NOT_ASKED:
        yield skip("node", "no log of a fabric manager was given", NOT_ASKED)
        return
    if not reading.known:
        yield unread("node", "the log of the fabric manager", reading)
        return
    switches = [event for event in reading.value if event.kind == "switch-error"]
    for event in switches:
        yield _switch(case, event, reading.source)
    others = [event for event in reading.value if event.kind != "switch-error"]
    if others:
        words = (
            f"the fabric manager tells {sum(event.count for event in others)} other errors, the first: {others[0].text}"
        )
        yield ok("node", words[:300], *(Evidence(reading.source, event.text) for event in others[:4]))
    elif not switches:
        yield ok("node", "the fabric manager's log tells of no error", evidence(reading, "no error"))


def _switch(case: Case, event: KernelEvent, source: str) -> Verdict:
    weight = _weight(event.code or "0", "Fatal" if event.detail.get("severity") == "fatal" else "Non-fatal")
    verdict_ = WARN if weight.verdict == INFO else weight.verdict
    given = remedy(weight.action, "nvidia", reset=_board(case))
    port = f" on port {event.detail['link']}" if "link" in event.detail else ""
    words = f"NVSwitch {event.device}: SXid {event.code}{port} by the fabric manager's log: {weight.meaning}"
    return Verdict(
        verdict_,
        event.device or "node",
        words,
        (Evidence(source, event.text),),
        given.text,
        given.remedy_class,
        first_seen=event.first,
        last_seen=event.last,
        count=event.count,
        root=event.code or "",
    )
