"""Xids: what NVIDIA's driver tells of its GPUs in the kernel's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.checks import P0, Case, Verdict, absent, check, skip
from raxl.checks.log_events import (
    FAIL,
    INFO,
    WARN,
    Weight,
    by_device,
    current,
    cut,
    none_told,
    subject,
    times,
    unreadable,
    verdict,
    weighed,
    worst,
)
from raxl.checks.words import listed
from raxl.checks.xid_codes import (
    APPLICATION,
    BREADTH,
    EVAL_STATUS,
    LEGACY,
    RECOVERY,
    RESET_STATUS,
    ROOTS,
    UNUSED,
    XIDS,
)
from raxl.checks.xid_notes import CONFLICT, ESCALATE, VENDOR
from raxl.model.facts import CUT, NOT_READ, KernelEvent
from raxl.model.finding import QUICK, ROOT, Evidence

_CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors"
_LOST = "79"
_ACTION = "154"
_NONE = "0x0"


class _Told(NamedTuple):
    """One code of one GPU."""

    code: str
    events: list[KernelEvent]
    weight: Weight

    @property
    def rank(self) -> int:
        return ROOTS.index(self.code) if self.code in ROOTS else len(ROOTS)


@check("nvidia.xid", "No Xid accuses a GPU", P0, QUICK, "reset", vantage=ROOT, reference=_CATALOGUE)
def xid(case: Case, companion_seconds: float = 5.0, breadth_processes: float = 3) -> Iterator[Verdict]:
    """What NVIDIA's driver tells of its GPUs: `NVRM: Xid (PCI:0000:61:00): 48, pid=…`. One finding a GPU and code, with
    the count of its copies; what is said of each code is NVIDIA's catalogue, and where public tools contradict it the
    finding shows how.

    Of several codes of one GPU within `companion_seconds` the cause is told and the others with it. The driver's own
    recovery action (Xid 154, drivers from 570 on) counts for more than the code; once it is `None` again the GPU was
    reset, and what came before is over. Codes that catalogues do not know warn.

    Not to be confused: 13, 31, 43 and 45 are the job's own faults and no more than noted; 13 and 31 warn when
    `breadth_processes` processes met them on one GPU. Events of an earlier boot do not count. A GPU that fell off the
    bus (79) is told by nvidia.lost.
    """
    events = current(case, "xid")
    missing = unreadable(case, "Xids")
    if not events:
        yield absent(case, "nvidia") or missing or none_told(case, "Xid")
        return
    yield from cut(case, "Xids", "xid")
    for address, own in by_device(events):
        yield from _of_gpu(case, address or "", own, companion_seconds, breadth_processes)


def _of_gpu(
    case: Case, address: str, events: Sequence[KernelEvent], seconds: float, processes: float
) -> Iterator[Verdict]:
    over = _reset_line(events)
    past = [event for event in events if event.ends < over]
    if past:
        words = f"{_name(case, address)}: {_codes(past)} before the driver told that no recovery is needed any more"
        yield verdict(case, past, Weight(INFO, "ignore"), words, root="past")
    told = [_told(code, own, processes) for code, own in _by_code(e for e in events if e.ends >= over).items()]
    left = sorted(told, key=lambda one: one.rank)
    while left:
        root = left.pop(0)
        companions = [one for one in left if _belongs(one, root, seconds)]
        left = [one for one in left if one not in companions]
        yield _finding(case, address, root, companions)


def _reset_line(events: Iterable[KernelEvent]) -> int:
    """The line with which the driver took its demand for recovery back; 0 where it did not."""
    ends: dict[bool, int] = {True: 0, False: 0}
    for event in events:
        if event.code == _ACTION and "value" in event.detail:
            is_none = event.detail["value"] == _NONE
            ends[is_none] = max(ends[is_none], event.ends)
    return ends[True] if ends[True] > ends[False] else 0


def _by_code(events: Iterable[KernelEvent]) -> dict[str, list[KernelEvent]]:
    found: dict[str, list[KernelEvent]] = {}
    for event in events:
        found.setdefault(event.code or "?", []).append(event)
    return found


def _belongs(one: _Told, root: _Told, seconds: float) -> bool:
    """Whether the code is a companion of the root's: both were told within these seconds."""
    if root.rank == len(ROOTS):
        return False
    return any(
        a.seconds is not None and b.seconds is not None and abs(a.seconds - b.seconds) <= seconds
        for a in one.events
        for b in root.events
    )


def _told(code: str, events: list[KernelEvent], processes: float) -> _Told:
    return _Told(code, events, _weight(code, events, processes))


def _weight(code: str, events: Sequence[KernelEvent], processes: float) -> Weight:
    """What a code makes of the GPU."""
    known = XIDS.get(code)
    if code.endswith(CUT):
        return Weight(WARN, "support", "the number is cut off in the log or too long, so that no catalogue holds it")
    if known is None and code in UNUSED:
        hint = LEGACY.get(code, "no meaning that is known")
        return Weight(WARN, "support", f"not raised by Ampere and newer; older drivers: {hint}")
    if known is None:
        return Weight(WARN, "support", "a code that no catalogue holds")
    if known.action == "follow_field":
        return worst(_recovery(event) for event in events)
    if known.action == "decode":
        return worst(_of_link(event) for event in events)
    met = {event.detail["pid"] for event in events if "pid" in event.detail}
    if code in BREADTH and len(met) >= processes:
        words = f"{known.meaning}; {len(met)} processes met it on this GPU: run an active test (dcgmi diag -r 3)"
        return Weight(WARN, "drain", words)
    return Weight(known.verdict, known.action, known.meaning)


def _recovery(event: KernelEvent) -> Weight:
    action = event.detail.get("action")
    if action is None:
        return Weight(WARN, "support", "the driver changed its recovery action, and the line does not say to which")
    status, do = RECOVERY.get(event.detail.get("value", "").lower(), (FAIL, "support"))
    return Weight(INFO if status == "ok" else status, do, f'the driver asks for "{action}"')


def _of_link(event: KernelEvent) -> Weight:
    """An event of NVLink 5, by its severity and its status word."""
    unit, status = event.detail.get("unit", "NVLink"), event.detail.get("status", "")
    severity = event.detail.get("severity")
    if severity is None:
        return Weight(WARN, "support", "an event of NVLink whose line does not say how severe it is")
    if severity == "Fatal":
        return Weight(FAIL, "reset_gpu", f"fatal event of the NVLink unit {unit}")
    if not {status, "any"}.isdisjoint(RESET_STATUS.get(unit, ())):
        return Weight(FAIL, "reset_gpu", f"event of the NVLink unit {unit} that asks for a reset (status {status})")
    if not {status, "any"}.isdisjoint(EVAL_STATUS.get(unit, ())):
        words = f"event of the NVLink unit {unit}; the recovery action says whether it asks for a reset"
        return Weight(WARN, "watch", words)
    return Weight(INFO, "watch", f"nonfatal event of the NVLink unit {unit}")


def _finding(case: Case, address: str, root: _Told, companions: Sequence[_Told]) -> Verdict:
    events = [*root.events, *(event for one in companions for event in one.events)]
    weight = _together(root, companions)
    words = f"{_name(case, address)}: Xid {root.code}{times(root.events)}{_places(root.events)}: {root.weight.meaning}"
    if companions:
        words += f"; with {_codes([event for one in companions for event in one.events])} within seconds"
    words += "".join(f"; {one.weight.meaning}" for one in companions if _asks(one))
    if root.code == _LOST:
        return skip(subject(case, address), f"{words}: nvidia.lost tells of it")
    if root.code in _REMAPS and not companions and _remap_now(case, address) is False:
        words = (
            f"{_name(case, address)}: Xid {root.code}: a memory row was marked for remapping, and none waits any more"
        )
        return verdict(case, events, Weight(INFO, "watch"), words, root=root.code)
    made = verdict(case, events, weight, words, *_notes(root.code, weight), vendor="nvidia", root=root.code)
    return replace(made, under=("nvidia.remap-pending", made.subject)) if root.code in _REMAPS else made


_REMAPS = ("63",)
"""Xids that say what the row remapper itself says: that a row is replaced at the next reset."""


def _remap_now(case: Case, address: str) -> bool | None:
    """Whether the GPU's row remapper says that a row waits; None where it was not read."""
    told = case.facts.devices.get(subject(case, address), {}).get("remap_pending", NOT_READ)
    return bool(told.value) if told.known else None


def _name(case: Case, address: str) -> str:
    """`nvidia:6 (0000:bb:00)`: what raxl calls it, and the log; `GPU 0000:bb:00` where raxl does not know it."""
    known = subject(case, address)
    return f"GPU {address}" if known == address else f"{known} ({address})"


def _asks(one: _Told) -> bool:
    """Whether it is the driver's demand for something."""
    return one.code == _ACTION and one.weight.verdict != INFO and any("action" in event.detail for event in one.events)


def _together(root: _Told, companions: Sequence[_Told]) -> Weight:
    """The root's weight, unless the driver itself asks for something or a companion weighs more."""
    asked = [one.weight for one in companions if _asks(one)]
    own = [one.weight for one in companions if one.code not in (_ACTION, *APPLICATION)]
    if asked:
        return asked[0] if asked[0].verdict != WARN else worst([asked[0], root.weight, *own])
    return worst([root.weight, *own])


def _notes(code: str, weight: Weight) -> list[Evidence]:
    """Who says otherwise, for a code about which catalogues and tools differ."""
    if weight.verdict == INFO:
        return []
    notes: Mapping[str, str | None] = {
        "Xid catalogue": VENDOR.get(code) if code in CONFLICT else None,
        "contradicted": CONFLICT.get(code),
        "when it weighs more": ESCALATE.get(code),
    }
    return [Evidence(source, note) for source, note in notes.items() if note]


def _codes(events: Iterable[KernelEvent]) -> str:
    return listed([f"Xid {code}" for code in dict.fromkeys(event.code or "?" for event in events)])


def _places(events: Sequence[KernelEvent]) -> str:
    """` on links 1 and 8`, where the lines name links."""
    links = sorted({int(event.detail["link"]) for event in events if event.detail.get("link", "-1") != "-1"})
    return f" on link{'s' if len(links) > 1 else ''} {listed([str(link) for link in links])}" if links else ""


def lost_by_log(case: Case) -> dict[str, KernelEvent]:
    """By PCI address, the GPUs of which the log tells since the boot that they fell off the bus, with an Xid or without
    one: one event each, the first."""
    found: dict[str, KernelEvent] = {}
    for event in current(case, "fallen-off-bus", "xid"):
        if event.device is not None and (event.kind != "xid" or event.code == _LOST):
            place = event.device.split(".")[0]
            if place not in (address.split(".")[0] for address in found):
                found[event.device] = event
    return found


_RM_INIT = {"rm-init-failed": Weight(FAIL, "drain", "the driver could not start it (RmInitAdapter failed)")}
_RESET_REQUIRED = {
    "nv-reset-required": Weight(
        FAIL, "reset_gpu", "a GPU asks for a reset, and the line does not say which (NV_ERR_RESET_REQUIRED)"
    )
}


@check("nvidia.rm-init", "The driver started every GPU", P0, QUICK, "drain", vantage=ROOT, reference=_CATALOGUE)
def rm_init(case: Case) -> Iterator[Verdict]:
    """A GPU that is on the bus and that the driver could not start: `NVRM: GPU 0000:01:00.0: RmInitAdapter failed!`.

    It fails: nvidia-smi and Ray see one GPU fewer, or none. Firmware and driver that do not fit, a GPU that needs a
    reset, or a virtual machine without enough address space are the usual causes.

    Not to be confused: the line comes at every attempt, also after the first; how often says nothing.
    """
    yield from _simple(case, _RM_INIT, "GPU that the driver could not start", "GPU")


@check("nvidia.reset-required", "The driver asks for no reset", P0, QUICK, "reset", vantage=ROOT, reference=_CATALOGUE)
def reset_required(case: Case) -> Iterator[Verdict]:
    """An assertion of the driver with `NV_ERR_RESET_REQUIRED` (status 0x62): calls to a GPU fail until it is reset, and
    there need not be an Xid.

    It fails. The line names no GPU: nvidia-smi -q says under `GPU Recovery Action` which one it is (drivers from 570
    on), and a call to the others works.
    """
    yield from _simple(case, _RESET_REQUIRED, "demand for a reset", "node")


def _simple(case: Case, table: Mapping[str, Weight], what: str, before: str) -> Iterator[Verdict]:
    events = current(case, *table)
    if not events:
        yield absent(case, "nvidia") or unreadable(case, f"a {what}") or none_told(case, what)
        return
    yield from cut(case, what, *table)
    yield from weighed(case, table, events, before, "nvidia")
