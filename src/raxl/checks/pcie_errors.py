"""Errors that PCI Express counts: by the kernel's AER, and by devices that had to send something twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from raxl.checks import P1, Case, Verdict, check, evidence, fail, ok, skip, unknown, warn
from raxl.checks.pcie_hops import devices, no_accelerator, nothing, reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK, STANDARD, Evidence
from raxl.model.problem import NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED

_RECOVERED = ("aer-recovered", "pcie-aer-recovered")
"""What the kernel's log says once a port was brought back."""
_COUNTING = ("nvidia", "amd")
"""Vendors whose libraries tell how often a packet was sent again."""
_LOOK = (
    "dmesg | grep -A8 'PCIe Bus Error' names the port that saw it; drain the node, reboot it, and where it comes again "
    "reseat or replace what hangs below that port"
)


@check(
    "pcie.aer",
    "PCI Express reported no fatal error since boot",
    P1,
    QUICK,
    "vendor",
    reference="https://docs.kernel.org/PCI/pcieaer-howto.html",
)
def aer(case: Case) -> Iterator[Verdict]:
    """Errors of links, counted by the kernel since it found the device.

    Read: `aer_dev_fatal`, `aer_dev_nonfatal`, `aer_dev_correctable` of accelerators, adapters and the ports above
    them, and what root ports count; from `lspci -vvv` the status registers. It fails where a fatal error was counted,
    and warns where the kernel's log says that the port recovered, or lspci alone shows the error.

    Not to be confused: non-fatal and corrected errors are counted for ever, and one reading does not say when. A
    change of speed makes receiver errors, and looking for devices that are not there makes unsupported requests.
    Where firmware owns AER there are no counters, and the kernel's log has `aer_status:` lines instead.
    """
    if (verdict := nothing(case)) is not None:
        yield verdict
        return
    seen, silent = 0, {}
    faulty = False
    names = {device.address: device.id for device in devices(case)}
    minor: list[str] = []
    for address in case.facts.pcie:
        subject = names.get(address, address)
        fatal, latched = reading(case, address, "fatal"), reading(case, address, "latched")
        if fatal.known:
            seen += 1
            minor += _minor(case, address, subject)
            if fatal.value.get("total", 0):
                faulty = True
                yield _fatal(case, address, subject, fatal)
        elif latched.known:
            seen += 1
            bad = [name for name, kind in latched.value.items() if kind == "fatal"]
            minor += [f"{subject} {name} {kind}" for name, kind in latched.value.items() if kind == "nonfatal"]
            if bad:
                faulty = True
                words = f"{subject} ({address}) holds a fatal PCIe error: {listed(bad)}"
                yield warn(
                    subject, words, Evidence("lspci", f"UESta {listed(bad)}"), remedy=_LOOK, remedy_class="vendor"
                )
        elif latched.reason != NOT_SUPPORTED and not _lacks(case, address, fatal):
            silent[subject] = latched if fatal == NOT_READ else fatal
    if seen and not faulty:
        told = f"; not fatal, and no verdict from one reading: {listed(minor)}" if minor else ""
        yield ok("node", f"no fatal PCIe error on {counted(seen, 'function')}{told}")
    yield from unread_together(case, silent, "errors of the link")
    if not seen and not silent:
        yield skip("node", "no function here has AER counters: firmware owns AER, or it is virtual", NOT_SUPPORTED)


def _fatal(case: Case, address: str, subject: str, fatal: Reading) -> Verdict:
    count = fatal.value["total"]
    kinds = [f"{number} {name}" for name, number in fatal.value.items() if name != "total"]
    words = f"{subject} ({address}) had {count} fatal PCIe error{'s' if count > 1 else ''} since boot"
    words += f": {listed(kinds)}" if kinds else ""
    port = (reading(case, address, "chain").value or (address,))[-1]
    recovered = [
        event
        for event in case.facts.kernel_log.events
        if event.kind in _RECOVERED and event.boot == 0 and event.device in (address, port)
    ]
    if recovered:
        words += "; the kernel brought the port back"
        return warn(subject, words, evidence(fatal), remedy=_LOOK, remedy_class="reboot", count=count)
    under = ("pcie.config-dead", subject)
    return fail(subject, words, evidence(fatal), remedy=_LOOK, remedy_class="reboot", count=count, under=under)


def _minor(case: Case, address: str, subject: str) -> Iterator[str]:
    told: list[tuple[str, int]] = []
    for kind in ("nonfatal", "correctable"):
        counts = reading(case, address, kind).value
        told.append((kind, counts.get("total", 0) if isinstance(counts, Mapping) else 0))
    words = " and ".join(f"{count} {kind}" for kind, count in told if count)
    if words:
        yield f"{subject} {words}"


def _lacks(case: Case, address: str, fatal: Reading) -> bool:
    """Whether a function has no such counter: none of the same ids has one."""
    ids = reading(case, address, "ids").value
    others = [one for one in case.facts.pcie if one != address and reading(case, one, "ids").value == ids]
    return fatal.reason == NOT_PRESENT and not any(reading(case, one, "fatal").known for one in others)


@check("pcie.replay", "How often accelerators had to send a packet again", P1, STANDARD, "vendor")
def replay(case: Case) -> Iterator[Verdict]:
    """A link with a poor signal sends packets again, and slows down before it fails.

    Read: the replay counters of NVML and AMD SMI, and amdgpu's `pcie_replay_count`, counted since the driver was
    loaded. One reading gives no rate, so that it never warns: it says the counts, for the next snapshot to be held
    against. DCGM takes a rate per minute for bad that is beyond the link's rate at a bit error rate of 1e-12: for x16
    3 (gen 1), 5, 8, 16, 31, 62 (gen 6).

    Not to be confused: without traffic nothing is sent again, and a counter wraps and is reset with the driver.
    """
    if (verdict := no_accelerator(case)) is not None:
        yield verdict
        return
    counts: dict[str, int] = {}
    silent: dict[str, Reading] = {}
    for device in case.node.accelerators:
        own = case.facts.devices.get(device.id, {}).get("pcie_replays")
        told = device.attributes.get("pcie_replays")
        if isinstance(told, int):
            counts[device.id] = told
        elif own is not None and own.known:
            counts[device.id] = own.value
        elif own is not None:
            silent[device.id] = own
    some = [f"{id} {count}" for id, count in counts.items() if count]
    if some:
        yield ok("node", f"packets sent again since the driver was loaded: {listed(some)}; one reading gives no rate")
    elif counts:
        yield ok("node", f"{counted(len(counts), 'accelerator')} sent no packet again since their driver was loaded")
    yield from unread_together(case, silent, "the count of packets sent again")
    if not counts and not silent and any(one.vendor in _COUNTING for one in case.node.accelerators):
        words = "how often accelerators sent a packet again: no library that counts it told it"
        yield unknown("node", NOT_ASKED, words)
    elif not counts and not silent:
        yield skip("node", "nobody counts what these accelerators send again", NOT_SUPPORTED)
