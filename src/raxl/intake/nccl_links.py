"""Scale-up links in an NCCL or RCCL topology file: `nvlink` and `xgmi` below `gpu`.

NCCL's `src/graph/xml.cc` writes one element for each end that a GPU's links lead to, with their count and the class of
the other end; `src/graph/topo.cc` knows what a class means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from raxl.intake.nccl_tree import FORM, Device, number
from raxl.model.component import PciIdentity, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, Problem
from raxl.model.report import LinkClaim
from raxl.sources import pci

_KINDS = ("nvlink", "xgmi")
_NVSWITCH_CLASS = "068000"
"""What NCCL takes for an NVSwitch; 068001 is the NVLink bridge of a POWER processor."""
_SWITCH = "switch"
_MOST = 1 << 10
"""Links that no pair has."""

_Counts = dict[tuple[str, str], int | None]
"""Links by their two ends; None: stated without a number."""


def links(gpus: Sequence[Device]) -> tuple[tuple[LinkClaim, ...], tuple[Problem, ...]]:
    """The links of every pair of GPUs: those between the two, else those of both to the NVSwitches."""
    found: list[LinkClaim] = []
    problems: list[Problem] = []
    for kind in _KINDS:
        counts = _stated(gpus, kind)
        for a, b in combinations([gpu.function.address for gpu in gpus], 2):
            if (a, b) in counts or (b, a) in counts:
                count, problem = _direct(counts, a, b, kind)
                found.append(_claim(a, b, kind, count))
                problems += [problem] if problem else []
            elif (a, _SWITCH) in counts and (b, _SWITCH) in counts:
                found.append(_claim(a, b, kind, _lesser(counts[a, _SWITCH], counts[b, _SWITCH])))
    joined = {frozenset((claim.a, claim.b)) for claim in found}
    looped = [gpu.function.address for gpu in gpus if _leads_to_itself(gpu)]
    open_pairs = [pair for pair in combinations(looped, 2) if frozenset(pair) not in joined]
    if open_pairs:
        message = f"{len(looped)} GPUs state NVLinks to themselves: which GPU they lead to is not told"
        problems.append(Problem("links", NOT_ASKED, message, (FORM,)))
    found += [LinkClaim(a, b, None, None, evidence=FORM) for a, b in open_pairs]
    return tuple(found), tuple(problems)


def _leads_to_itself(gpu: Device) -> bool:
    """Whether a GPU's own address stands as the other end of its NVLinks, as in a file made for a virtual machine."""
    return any(pci_address(target) == gpu.function.address and count for target, count, _ in _ends(gpu, "nvlink"))


def nvswitches(gpus: Sequence[Device], devices: Sequence[Device]) -> tuple[Switch, ...]:
    """The NVSwitches that links lead to or that stand in the tree; one that a virtual machine hides has no address."""
    own = {device.function.address: device.function for device in devices}
    ends = [pci_address(target) for gpu in gpus for target, _, tclass in _ends(gpu, "nvlink") if _is_switch(tclass)]
    listed = [address for address, function in own.items() if function.class_id == _NVSWITCH_CLASS]
    return tuple(
        Switch(
            id=nvswitch_id(address),
            kind="nvswitch",
            pci=own[address].identity if address in own else PciIdentity(address),
            numa_node=own[address].numa_node if address in own else None,
        )
        for address in dict.fromkeys([*ends, *listed])
        if address is not None
    )


def _stated(gpus: Sequence[Device], kind: str) -> _Counts:
    """How many links each GPU states to each other GPU and to all NVSwitches; several elements for one end add up."""
    addresses = {gpu.function.address for gpu in gpus}
    found: _Counts = {}
    for gpu in gpus:
        own = gpu.function.address
        for target, count, tclass in _ends(gpu, kind):
            end = pci_address(target)
            if end is None or end not in addresses:
                end = _SWITCH if kind == "nvlink" and _is_switch(tclass) else None
            if end is None or end == own or count == 0:
                continue
            so_far = found.get((own, end), 0)
            found[own, end] = so_far + count if so_far is not None and count is not None else None
    return found


def _ends(gpu: Device, kind: str) -> Iterator[tuple[str | None, int | None, str | None]]:
    """Target, count and class of each link element below a function's `gpu` elements."""
    for element in gpu.element.findall(f"gpu/{kind}"):
        yield element.get("target"), number(element.get("count"), _MOST), element.get("tclass")


def _is_switch(tclass: str | None) -> bool:
    return pci.hex_digits(tclass, 6) == _NVSWITCH_CLASS


def _direct(counts: _Counts, a: str, b: str, kind: str) -> tuple[int | None, Problem | None]:
    """The count that both ends state, or the only one that states it; None and a problem where they differ."""
    forth, back = counts.get((a, b), counts.get((b, a))), counts.get((b, a), counts.get((a, b)))
    if forth == back:
        return forth, None
    message = f"{kind}: {a} states {_words(forth)} to {b}, which states {_words(back)} back"
    return None, Problem("links", DISAGREEMENT, message, (FORM,))


def _words(count: int | None) -> str:
    return "an unreadable number of links" if count is None else f"{count} links"


def _lesser(one: int | None, other: int | None) -> int | None:
    return min(one, other) if one is not None and other is not None else None


def _claim(a: str, b: str, kind: str, count: int | None) -> LinkClaim:
    return LinkClaim(a=a, b=b, link_class=fabric_class(kind, count), kind=kind, count=count, evidence=FORM)
