"""Whether as many accelerators and adapters are here as somebody expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from raxl.checks import P0, Case, Verdict, check, expected, fail, ok, unknown, without
from raxl.checks.devices import LOST, uncounted
from raxl.checks.ports import is_rdma, none
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.finding import QUICK, SKIP, Evidence
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PRESENT, TIMED_OUT
from raxl.topology import expectation
from raxl.topology.expectation import Expectation

_MISSING = "see what the bus lacks (lspci, raxl discover): drain the node and reboot it, then a technician looks"
_CORRECT = "; where the node is as it should be, correct the policy"


@check("accelerator.count", "As many accelerators work as the policy expects", P0, QUICK, "reboot")
def accelerators(case: Case) -> Iterator[Verdict]:
    """A device that is gone from the bus leaves no trace on the node: only who knows what was bought can miss it.

    Read: the node's accelerators, and `accelerators` of the policy file: `8xH100`, where a node has several kinds
    `8xH100, 1xT4` or a list, or a bare number of any. The type is Ray's, or words of the model in a row, as `raxl
    discover --expect` takes it. It fails where another number works, where another model is here, and where a device
    is here that nobody expects. Without an expectation the number is told, and not judged.

    Not to be confused: a lost device does not work, a board in MIG mode is one device, and a container has what it was
    given. Where an output was cut off, a model was not read, or the driver did not answer for a device, it is unknown.
    """
    wanted, devices = expected.accelerators(case), case.node.accelerators
    nothing = None if devices else without(case, "GPU or other accelerator")
    if nothing is not None and (wanted is None or nothing.status != SKIP):
        yield nothing
        return
    evidence = Evidence(
        ", ".join(sorted({one for device in devices for one in device.evidence})) or "pci", _kinds(case)
    )
    if wanted is None:
        doubt = uncounted(case)
        words = f"{_kinds(case)}; no policy says how many there are to be"
        yield (
            unknown("node", FAILED, f"how many there are: {doubt}", evidence) if doubt else ok("node", words, evidence)
        )
        return
    held = (
        f"{wanted} accelerators" if isinstance(wanted, int) else listed([f"{one.count} × {one.type}" for one in wanted])
    )
    doubt = uncounted(case) or _nameless(devices, wanted)
    if doubt is not None:
        yield unknown("node", FAILED, f"whether {held} work: {doubt}", evidence, expected=held)
        return
    wrong = _numbers(case, wanted) if isinstance(wanted, int) else _differences(case, wanted)
    told = (Evidence("policy", held), evidence)
    silent = [] if wrong else _silent(case)
    if silent:
        words = f"whether {held} work: of {listed(silent)} the driver told nothing; here: {_kinds(case)}"
        yield unknown("node", FAILED, words, *told, expected=held)
    elif wrong:
        words, remedy = f"{listed(wrong, 4)}; here: {_kinds(case)}", _MISSING + _CORRECT
        yield fail("node", words[:390], *told, remedy=remedy, remedy_class="reboot", expected=held)
    else:
        yield ok("node", f"{_kinds(case)}, as the policy expects", *told, expected=held)


def _working(devices: Sequence[Accelerator]) -> list[Accelerator]:
    return [one for one in devices if one.state != LOST]


def _silent(case: Case) -> list[str]:
    """Those that are on the bus, and for which their driver was asked in vain."""
    told = {one.subject: one.reason for one in case.node.problems}
    of_all = told.get("accelerators.state")
    return [
        one.id
        for one in case.node.accelerators
        if one.state == "unknown" and told.get(f"{one.id}.state", of_all) in (FAILED, TIMED_OUT)
    ]


def _kinds(case: Case) -> str:
    """`8 × NVIDIA H100 80GB HBM3`, and how many of them are lost."""
    counts = Counter(one.model or one.ray.type or f"{one.vendor} of unknown model" for one in case.node.accelerators)
    lost = len(case.node.accelerators) - len(_working(case.node.accelerators))
    told = listed([f"{count} × {kind[:60]}" for kind, count in sorted(counts.items())], 4) or "no accelerator"
    return f"{told}, {lost} of them lost" if lost else told


def _numbers(case: Case, wanted: int) -> list[str]:
    working = len(_working(case.node.accelerators))
    return [] if working == wanted else [f"expected {counted(wanted, 'accelerator')}, found {working}"]


def _differences(case: Case, wanted: Sequence[Expectation]) -> list[str]:
    return [one.removeprefix(f"{case.node.name}: ") for one in expectation.differences(case.node, wanted)]


def _nameless(devices: Sequence[Accelerator], wanted: int | Sequence[Expectation]) -> str | None:
    """Whether devices of unknown model may be what is missing, and nothing else is wrong."""
    working = _working(devices)
    nameless = [one for one in working if one.model is None and one.ray.type is None]
    if isinstance(wanted, int) or not nameless or len(working) != sum(one.count for one in wanted):
        return None
    named = [one for one in working if one not in nameless]
    fitting = [sum(one.fits(device) for device in named) for one in wanted]
    is_open = all(found <= one.count for found, one in zip(fitting, wanted)) and sum(fitting) >= len(named)
    return f"the model of {listed([one.id for one in nameless])} was not read" if is_open else None


@check("nic.count", "As many RDMA adapters are here as the policy expects", P0, QUICK, "vendor")
def nics(case: Case) -> Iterator[Verdict]:
    """An adapter that is gone from the bus leaves no port that could be down: only an expectation can miss it.

    Read: the RDMA adapters that the kernel or a tool lists, and `nics` of the policy file. It fails where there are
    fewer. More are well: adapters for management and storage may or may not be counted. Without an expectation the
    number is told, and not judged.

    Not to be confused: whether their ports are up is ib.port-state's, which goes by the same `nics`.
    """
    wanted, listing = expected.count(case, "nics"), case.facts.links_downed
    found = [nic for nic in case.node.nics if is_rdma(nic) or nic.id in case.facts.rdma]
    nothing = None if found else none(case)
    if nothing is not None and (not wanted or nothing.status != SKIP):
        yield nothing
        return
    names = listed([nic.id for nic in found], 16) or "none"
    evidence = Evidence(listing.source if listing.known else "the inventory", names)
    told = f"{counted(len(found), 'RDMA adapter')} ({names})" if found else "no RDMA adapter"
    if wanted is None:
        yield ok("node", f"{told}; no policy says how many there are to be", evidence)
    elif len(found) >= wanted:
        yield ok("node", f"{told}, the policy expects {wanted}", evidence, expected=str(wanted))
    elif listing.reason not in (None, NOT_PRESENT, NOT_ASKED):
        words = f"whether {wanted} RDMA adapters are here: {listing.message or listing.reason}"
        yield unknown("node", listing.reason or FAILED, words, evidence)
    else:
        words = f"{told} where the policy expects {wanted}"
        remedy = "compare lspci with ibstat: load the driver of what has none; reboot, then reseat what the bus lacks"
        yield fail("node", words, evidence, remedy=remedy + _CORRECT, remedy_class="vendor", expected=str(wanted))
