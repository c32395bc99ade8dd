"""What the machine did not answer: why values of the node itself are not known, and what may be missing unseen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raxl.host import Answer, Question
from raxl.host.replay import ReplayHost
from raxl.model.problem import FAILED, NOT_PERMITTED, TIMED_OUT, Problem
from raxl.model.report import Silence
from raxl.sources import cpu, infiniband, netdev, numa, pci

_BASIC = ("class", "vendor", "device")
_REFUSED = (NOT_PERMITTED, TIMED_OUT, FAILED)
_FIRMWARE = tuple(Question("text", f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
_INFO = Question("text", "/proc/cpuinfo")
_COUNTS = (Question("names", cpu.FOLDER), Question("text", f"{cpu.FOLDER}/online"))
_TELLERS = {
    "boot_id": (Question("text", "/proc/sys/kernel/random/boot_id"),),
    "path_trust": (_INFO, *_FIRMWARE),
    "os.kernel": (Question("text", "/proc/sys/kernel/osrelease"), Question("text", "/proc/version")),
    "os.distribution": (Question("text", "/etc/os-release"),),
    "os.architecture": (Question("process", "uname"), _INFO),
    "os.virtualization": (_INFO, *_FIRMWARE),
    "os.container": (Question("text", "/proc/self/cgroup"),),
    "cpu.model": (_INFO,),
    "cpu.packages": _COUNTS,
    "cpu.cores": _COUNTS,
    "cpu.threads": _COUNTS,
    "numa_nodes": (Question("names", numa.FOLDER),),
}
"""The questions that would have told each field of the node."""


def of_node(host: ReplayHost) -> dict[str, Silence]:
    """By field, why the machine did not tell it; fields whose questions it answered, or never had, are left out."""
    silences = {}
    for field, questions in _TELLERS.items():
        refused = _refused((question.subject, host.answer(question)) for question in questions)
        if refused:
            subject, answer = refused[0]
            silences[field] = Silence(answer.reason or FAILED, answer.message or "it could not be read", subject)
    return silences


def problems(host: ReplayHost, bus: pci.Answers) -> list[Problem]:
    """Listings and functions that are there and could not be read: devices may be missing without a trace."""
    found = []
    if refused := _refused([(pci.FOLDER, bus.listing)]):
        found.append(_problem("pci_tree", refused, refused[0][1].message or "the PCI tree could not be listed"))
    every = [_refused((pci.FOLDER, files[name]) for name in _BASIC) for files in bus.functions.values()]
    functions = [refused[0] for refused in every if refused]
    if functions:
        words = f"{len(functions)} of {len(every)} PCI functions could not be read"
        found.append(_problem("pci_tree", functions, f"{words}: {functions[0][1].message}"))
    folders = [(folder, host.answer(Question("names", folder))) for folder in (netdev.FOLDER, infiniband.FOLDER)]
    if refused := _refused(folders):
        found.append(_problem("nics", refused, refused[0][1].message or "the network adapters could not be listed"))
    return found


def _problem(subject: str, refused: Sequence[tuple[str, Answer]], message: str) -> Problem:
    place, answer = refused[0]
    return Problem(subject, answer.reason or FAILED, message, (place,))


def _refused(answers: Iterable[tuple[str, Answer]]) -> list[tuple[str, Answer]]:
    return [(subject, answer) for subject, answer in answers if answer.reason in _REFUSED]
