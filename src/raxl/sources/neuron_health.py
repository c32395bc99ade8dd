"""What the Neuron driver counts of its devices' memory errors, and how many devices it has made.

`stats/hardware/*` of https://github.com/aws-neuron/aws-neuron-driver; newer drivers have moved files, so they are
looked for by name. The driver prints 0 where its own read failed, and says so in the kernel's log alone.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PRESENT
from raxl.sources.numbers import MOST_COUNT, whole

CLASS = "/sys/class/neuron_device"
MODULE = "/sys/module/neuron/version"
COUNTERS = ("sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
_SINCE_SECOND = ("mem_ecc_repairable_uncorrected",)
"""Counters that older drivers lack."""
_USUAL = "stats/hardware"
_DEEPEST, _MOST_NAMES, _MOST_DEVICES = 3, 40, 256
_PASSED = re.compile(r"neuron_core[0-9]+|subsystem|device|uevent|dev|power")


class Answers(NamedTuple):
    """The driver's devices, the nodes below /dev, each device's counters, and the module's version."""

    listing: Answer
    nodes: Answer
    counters: Mapping[str, Mapping[str, Answer]]
    version: Answer


def ask(host: Host) -> Answers:
    """Asks for the counters of every device that the driver has made."""
    listing, nodes = host.names(CLASS), Answer(None, NOT_ASKED, "no Neuron driver is here")
    counters = {name: _found(host, f"{CLASS}/{name}") for name in numbered(listing)}
    if listing.known:
        nodes = host.names("/dev")
    return Answers(listing, nodes, counters, host.text(MODULE))


def numbered(listing: Answer) -> List[str]:
    """`neuron0` …, of a folder's names."""
    names = listing.value if listing.known else ()
    return [name for name in names if re.fullmatch("neuron[0-9]{1,3}", name)][:_MOST_DEVICES]


def _found(host: Host, folder: str) -> Dict[str, Answer]:
    """The counters at their usual place, else wherever below the device's folder they lie."""
    usual = {name: host.text(f"{folder}/{_USUAL}/{name}") for name in COUNTERS}
    if any(answer.reason != NOT_PRESENT for answer in usual.values()):
        return usual
    return {**usual, **_deeper(host, folder, 0)}


def _deeper(host: Host, folder: str, depth: int) -> Dict[str, Answer]:
    found: Dict[str, Answer] = {}
    for name in (host.names(folder).value or ())[:_MOST_NAMES]:
        if name in COUNTERS:
            found.setdefault(name, host.text(f"{folder}/{name}"))
        elif depth < _DEEPEST and not _PASSED.fullmatch(name):
            for deeper, answer in _deeper(host, f"{folder}/{name}", depth + 1).items():
                found.setdefault(deeper, answer)
    return found


def readings(answers: Answers) -> Dict[str, Dict[str, Reading]]:
    """By accelerator id (`neuron:3`): the counters of `COUNTERS`; one that an older driver lacks is left out."""
    found = {}
    for name, files in answers.counters.items():
        told = {
            counter: _counter(f"{CLASS}/{name}", counter, answer)
            for counter, answer in files.items()
            if not (counter in _SINCE_SECOND and answer.reason == NOT_PRESENT)
        }
        found[f"neuron:{int(name[len('neuron') :])}"] = told
    return found


def drivers(answers: Answers) -> Dict[str, Reading]:
    """`neuron`: the module's version; `neuron_devices`, `neuron_nodes`: how many the driver made, and stand in /dev."""
    told = {}
    if answers.version.reason != NOT_PRESENT:
        said = stripped(answers.version)
        told["neuron"] = Reading(said, MODULE, *(() if said else (answers.version.reason or FAILED, "it says nothing")))
    for name, answer, source in (
        ("neuron_devices", answers.listing, CLASS),
        ("neuron_nodes", answers.nodes, "/dev"),
    ):
        if answer.reason not in (NOT_PRESENT, NOT_ASKED):
            count = len(numbered(answer)) if answer.known else None
            told[name] = Reading(count, source, answer.reason, answer.message)
    return told


def _counter(folder: str, counter: str, answer: Answer) -> Reading:
    source = f"{folder}/{_USUAL}/{counter}"
    count = whole(stripped(answer), MOST_COUNT)
    if count is None:
        words = answer.message or "this driver has no such file where it used to be"
        return Reading(None, source, answer.reason or FAILED, words)
    return Reading(count, source)
