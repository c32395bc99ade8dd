"""Whether what was given could be read, and agrees with itself."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, check, ok, skip, unknown
from raxl.checks.raylets import unheard
from raxl.model.facts import NOT_READ
from raxl.model.finding import QUICK, Evidence
from raxl.model.problem import DISAGREEMENT, UNREAD

RECORDING = "recording"
_ELSEWHERE = (RECORDING, "ray", "accelerators")
"""Subjects of contradictions that other checks judge."""


@check("node.inputs", "Every file that was given counts whole", P0, QUICK, "none")
def inputs(case: Case) -> Iterator[Verdict]:
    """What stands in a file that could not be read was not judged, however well the rest is.

    Read: the files that were given of one machine (`--from`, with `--as-node` or of one name). A file of no form that
    raxl knows, a damaged one and an archive that is cut off are unknown, each by itself. So are two snapshots, or two
    outputs of one command, that answer a question differently: the later one counts, as two snapshots are two moments,
    and what the other one says is not judged. `raxl diff` compares them.

    Not to be confused: a machine of which nothing could be read at all has every check unknown.
    """
    told = [one for one in case.node.problems if one.subject == RECORDING and one.reason in (*UNREAD, DISAGREEMENT)]
    for one in told:
        words = one.message.partition(" (known: ")[0]  # the forms that are known are told by discover and --help
        yield unknown(RECORDING, one.reason, words, root=one.message)
    if not told:
        yield unheard(case) or _well(case, "everything that was given could be read")


@check("node.disagreement", "No two readings contradict each other", P1, QUICK, "none")
def disagreement(case: Case) -> Iterator[Verdict]:
    """Two sources that say two things of one: at most one of them is right, and nothing tells which.

    Read: every value that two sources tell: of devices, adapters and their ports, of the driver's version, and of
    variables that a file and the machine's own environment set. Each contradiction is unknown, with both values and
    their sources; of a port the worse one is judged, of a variable the file's.

    Not to be confused: what Ray registered is held against the hardware by ray.resource-vs-hardware, how many devices
    there are by the checks of their vendors, and two snapshots that differ are told by node.inputs.
    """
    told = [one for one in case.node.problems if one.reason == DISAGREEMENT and not _is_elsewhere(one.subject)]
    for one in told:
        subject, _, field = one.subject.rpartition(".")
        words = f"readings of {one.subject} contradict each other: {one.message}"
        shown = [Evidence(source, one.message) for source in one.evidence]
        yield unknown(subject or field, DISAGREEMENT, words, *shown, root=one.subject + one.message)
    own = list(_of_devices(case))
    yield from own
    if not told and not own:
        yield unheard(case) or _well(case, "no two readings contradict each other")


def _of_devices(case: Case) -> Iterator[Verdict]:
    """What two sources say of the health of one device."""
    for device, readings in case.facts.devices.items():
        for question, words in readings.get("contradictions", NOT_READ).value or ():
            name = question.replace("_", " ")
            yield unknown(
                device, DISAGREEMENT, f"readings of {name} of {device} contradict each other: {words}", root=name
            )


def _is_elsewhere(subject: str) -> bool:
    return subject in _ELSEWHERE or subject.startswith("ray.")


def _well(case: Case, words: str) -> Verdict:
    """That nothing is wrong, where something was read of the hardware."""
    node = case.node
    if node.accelerators or node.nics or node.looked_for.pci_functions is not None:
        return ok("node", words)
    return skip("node", "no device was read")
