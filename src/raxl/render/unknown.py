"""What is not known of a node, and why: the marks in the cells, and the causes that the last lines tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_ASKED, REASONS, UNREAD, Problem
from raxl.render.naming import Names, kind_name
from raxl.render.quantity import listed
from raxl.render.text import UNBREAKABLE, Line, Page

UNKNOWN = "?"
INAPPLICABLE = "–"
REMARK = "!"
ACCELERATORS, NICS, SWITCHES, LINKS = "accelerators", "nics", "switches", "links"

_MOST_LINES = 6
_TYPED = re.compile(r"--[a-z-]+ [0-9]+|[-A-Za-z_]+='[^']*'")
"""What is typed as it stands, hence is not broken over two lines: `--num-gpus 7`, `--resources='{"TPU": 0}'`."""
_RAY, _REGISTER = "ray", "ray.would_register"
_WORDS = {
    "memory_bytes": "memory",
    "uuid": "UUID",
    "serial": "serial number",
    "numa_node": "NUMA node",
    "local_numa_nodes": "nearest NUMA nodes",
    "pci": "PCI address",
    "pci.link": "PCI link",
    "pci.link.width": "PCIe width",
    "pci_tree": "PCI tree",
    "pcie_root": "host bridge",
    "speed_bits_per_second": "speed",
    "ray": "Ray’s view",
    "ray.type": "Ray’s type",
    "links.count": "the number of links",
    "links.p2p": "peer access between devices",
    "links.fabric": "the fabric",
    "links.link_class": "the link classes",
    _REGISTER: "what Ray would register",
    "os": "operating system",
    "cpu": "processors",
    "cpu.model": "processor model",
    "numa_nodes": "NUMA nodes",
}


class Gap(NamedTuple):
    """Values that are not known for one and the same cause."""

    what: str
    """`memory, UUID and links of GPU 6`."""
    fields: tuple[str, ...]
    reason: str
    message: str
    several: bool
    """Whether devices were told in different words; `message` is the first."""

    @property
    def why(self) -> str:
        """The reason, and what whoever refused said."""
        return f"{self.reason.replace('-', ' ')} ({self.message}{' …' if self.several else ''})"


class _Placed(NamedTuple):
    """A problem with its subject taken apart; `family` is `accelerators`, `nics`, `switches` or the owner itself."""

    owner: str
    family: str
    field: str
    problem: Problem

    @property
    def is_unasked_of_node(self) -> bool:
        """Whether nobody asked it of the node; what Ray would register is asked of a node too."""
        of_devices = self.family in (ACCELERATORS, NICS, SWITCHES, LINKS) and self.field != _REGISTER
        return self.problem.reason == NOT_ASKED and not of_devices


class Unknowns:
    """The problems of a node, by what they are about."""

    def __init__(self, node: Node, names: Names) -> None:
        self._names = names
        kinds = {kind_name(accelerator) for accelerator in node.accelerators}
        kind = next(iter(kinds)) if len(kinds) == 1 else "accelerator"
        self._every = {ACCELERATORS: f"every {kind}", NICS: "every NIC"}
        self._lists = {ACCELERATORS: f"the list of {kind}s", NICS: "the list of NICs"}
        self._all = {ACCELERATORS: [device.id for device in node.accelerators], NICS: [nic.id for nic in node.nics]}
        self._families = {device.id: SWITCHES for device in node.switches}
        self._families |= {device.id: NICS for device in node.nics}
        self._families |= {device.id: ACCELERATORS for device in node.accelerators}
        devices: list[Accelerator | Nic] = [*node.nics, *node.accelerators]
        self._devices = {device.id: device for device in devices}
        self._own_words: dict[str, re.Pattern[str]] = {}
        asked = (self._place(problem) for problem in node.problems if not _is_of_ray(problem))
        self._placed = sorted(asked, key=lambda placed: _rank(placed.problem))
        self._reasons: dict[tuple[str, str], str] = {}
        for placed in self._placed:
            self._reasons.setdefault((placed.owner, placed.field), placed.problem.reason)

    def mark(self, id: str, field: str) -> str:
        """What stands for a device's value that is None: `–` where the question makes no sense there, else `?`."""
        while field:
            for owner in (id, self._families[id]):
                if reason := self._reasons.get((owner, field)):
                    return INAPPLICABLE if reason == NOT_APPLICABLE else UNKNOWN
            field = field.rpartition(".")[0]
        return UNKNOWN

    def refusal(self, id: str) -> str | None:
        """The words with which a device did not answer; None when none were said."""
        told = (placed.problem for placed in self._placed if placed.owner == id)
        return next((_message(problem) for problem in told if problem.reason in UNREAD), None)

    def gaps(self, shown: Callable[[str, str], bool] = lambda family, field: True) -> list[Gap]:
        """One for each cause, the most telling first; `shown` chooses by family and field.

        What nobody asked of the node as a whole is not among them. Links that could not be read always are: without
        them an answer is incomplete.
        """
        groups: dict[tuple[str, str], list[_Placed]] = {}
        for placed in self._placed:
            problem = placed.problem
            # What does not apply is no gap; but an accelerator without a state has something to tell.
            applies = problem.reason != NOT_APPLICABLE or (placed.family, placed.field) == (ACCELERATORS, "state")
            told = applies and not placed.is_unasked_of_node
            is_vital = placed.family == LINKS and not placed.field and problem.reason in UNREAD
            if told and (is_vital or shown(placed.family, placed.field)):
                groups.setdefault((problem.reason, self._cause(placed)), []).append(placed)
        return list(map(self._gap, groups.values()))

    def unasked(self) -> Gap | None:
        """What nobody asked of the node as a whole; None when all of it was."""
        group = [placed for placed in self._placed if placed.is_unasked_of_node]
        return self._gap(group) if group else None

    def _place(self, problem: Problem) -> _Placed:
        owner, field = problem.subject, ""
        # An address has dots of its own, so the owner is the longest start that is a device's id.
        while owner and owner not in self._families:
            owner, _, last = owner.rpartition(".")
            field = f"{last}.{field}" if field else last
        if not owner:
            owner, _, field = problem.subject.partition(".")
        return _Placed(owner, self._families.get(owner, owner), field, problem)

    def _cause(self, placed: _Placed) -> str:
        """What gaps have in common. Readings that disagree differ from device to device, and are one cause."""
        if placed.problem.reason == DISAGREEMENT and placed.field:
            return placed.field
        return self._unnamed(placed)

    def _unnamed(self, placed: _Placed) -> str:
        """The message without the device's own name, by which alike devices are told the same."""
        device = self._devices.get(placed.owner)
        if device is None:
            return placed.problem.message
        if device.id not in self._own_words:
            self._own_words[device.id] = _own_words(device)
        return self._own_words[device.id].sub("#", placed.problem.message)

    def _gap(self, group: list[_Placed]) -> Gap:
        fields: dict[str, list[str]] = {}
        others: list[str] = []
        for placed in group:
            if placed.owner in self._lists and not placed.field:
                others.append(self._lists[placed.owner])
            elif placed.owner in self._families or placed.owner in (ACCELERATORS, NICS):
                fields.setdefault(placed.owner, []).extend([_word(placed.field)] if placed.field else [])
            else:
                others.append(_word(f"{placed.owner}.{placed.field}" if placed.field else placed.owner))
        alike: dict[tuple[str, ...], list[str]] = {}
        for owner, words in fields.items():
            alike.setdefault(tuple(dict.fromkeys(words)), []).append(owner)
        devices = [
            f"{listed(words)} of {self._called(ids)}" if words else self._called(ids) for words, ids in alike.items()
        ]
        every = dict.fromkeys([*(word for words in alike for word in words), *others])
        problem = group[0].problem
        return Gap(
            what=listed([*devices, *dict.fromkeys(others)]),
            fields=tuple(every),
            reason=problem.reason,
            message=_message(problem),
            several=len({_message(placed.problem) for placed in group}) > 1,
        )

    def _called(self, owners: list[str]) -> str:
        """The devices; all of a sort are told as such."""
        left = list(owners)
        told: list[str] = []
        for family, every in self._every.items():
            if family in left or (len(self._all[family]) > 1 and set(self._all[family]) <= set(left)):
                told.append(every)
                left = [owner for owner in left if owner != family and owner not in self._all[family]]
        return listed([*told, *([self._names.all(left)] if left else [])])


def ray_advice(node: Node) -> list[str]:
    """What Ray would make of the node where that is not what is there, and what corrects it: a sentence each."""
    told = [_message(problem) for problem in node.problems if problem.subject.partition(".")[0] == _RAY]
    return [_TYPED.sub(lambda typed: typed[0].replace(" ", UNBREAKABLE), words) for words in told]


def _is_of_ray(problem: Problem) -> bool:
    """Whether a problem is Ray's disagreement with the hardware: it is told by itself, with its correction."""
    register = problem.subject.endswith(_REGISTER) and problem.reason == DISAGREEMENT
    return register or problem.subject.partition(".")[0] == _RAY


def explained(page: Page, gaps: list[Gap], unasked: Gap | None = None) -> list[Line]:
    """A line or two for each gap, as many gaps as stay readable; none for none."""
    shown = gaps if len(gaps) <= _MOST_LINES else gaps[: _MOST_LINES - 1]
    told = [(UNKNOWN, f"{gap.what}: {gap.why}") for gap in shown]
    if len(gaps) > len(shown):
        told.append(("…", f"{len(gaps) - len(shown)} more (--format json lists each)"))
    if unasked:
        told.append((UNKNOWN, f"not asked: {unasked.what}"))
    return [line for mark, text in told for line in page.fold(text, hang=3, style="dim", lead=(f"{mark}  ", "dim"))]


def _own_words(device: Accelerator | Nic) -> re.Pattern[str]:
    words = [device.id, device.pci.address if device.pci else None]
    words += [device.netdev] if isinstance(device, Nic) else [device.uuid, str(device.index)]
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word) for word in words if word)})(?!\w)", re.IGNORECASE)


def _message(problem: Problem) -> str:
    return clean(problem.message).rstrip(".")


def _word(field: str) -> str:
    return _WORDS.get(field) or clean(field.rpartition(".")[2]).replace("_", " ")


def _rank(problem: Problem) -> int:
    return REASONS.index(problem.reason) if problem.reason in REASONS else len(REASONS)
