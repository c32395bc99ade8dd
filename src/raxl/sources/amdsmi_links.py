"""XGMI as AMD's management library tells it: the kind of each pair, and each device's links by their other end.

Hops are no links: one hop stands for every pair of a hive (https://github.com/ROCm/rocm-systems/issues/5763).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Mapping, Sequence

from raxl.host import Answer
from raxl.model.identity import pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import LinkClaim
from raxl.sources import kfd
from raxl.sources.amdsmi import NAME, Answers, Package

_KINDS = ("xgmi", "pcie")
_MOST_MBYTES = 10**8


def links(answers: Answers, packages: Sequence[Package]) -> tuple[list[LinkClaim], list[Problem]]:
    """How each pair of packages is joined. The count is what both ends agree on, else what the bandwidths tell."""
    places = {str(package.place): place for place, package in enumerate(packages) if package.place}
    ends = [_ends(answers.devices[package.numbers[0]].get("links"), places) for package in packages]
    by_number = {package.numbers[0]: place for place, package in enumerate(packages)}
    names = _names(packages)
    found: list[LinkClaim] = []
    problems: list[Problem] = []
    for (first, second), pair in answers.pairs.items():
        a, b = by_number[first], by_number[second]
        if pair["link_type"].value not in _KINDS:
            continue
        counts = [end[other] for end, other in ((ends[a], b), (ends[b], a)) if end is not None]
        if len(set(counts)) > 1:
            here, there = packages[a].address, packages[b].address
            message = f"XGMI links from {here} to {there}: {counts[0]}, and {counts[1]} back"
            problems.append(Problem("links", DISAGREEMENT, message, (NAME,)))
        found.append(_claim(names[a], names[b], pair, counts))
    return found, problems


def together(
    told: Sequence[LinkClaim], kernel: Sequence[LinkClaim], packages: Sequence[Package]
) -> tuple[list[LinkClaim], list[Problem]]:
    """The library's links, with what they lack from KFD's, then KFD's others; and where both contradict each other."""
    places = dict(zip(_names(packages), (package.address for package in packages)))
    of_kernel = {frozenset((claim.a, claim.b)): claim for claim in kernel}
    found: list[LinkClaim] = []
    problems = []
    for claim in told:
        other = of_kernel.get(frozenset((claim.a, claim.b)))
        if other is None or claim.kind != other.kind:
            found.append(claim)
        else:
            found.append(_filled(claim, other))
            del of_kernel[frozenset((claim.a, claim.b))]
        differs = other is not None and (claim.kind != other.kind or None not in (claim.count, other.count))
        if other is not None and differs and _words(claim) != _words(other):
            message = (
                f"{places.get(claim.a)}–{places.get(claim.b)}: amdsmi says {_words(claim)}, KFD says {_words(other)}"
            )
            problems.append(Problem("links", DISAGREEMENT, message, (NAME, "kfd")))
    return [*found, *of_kernel.values()], problems


def joined(answers: Answers, packages: Sequence[Package]) -> frozenset[str]:
    """The addresses of the packages of which every pair's kind is told."""
    untold = {
        number for pair, told in answers.pairs.items() if told["link_type"].value not in _KINDS for number in pair
    }
    return frozenset(one.address for one in packages if one.address and one.numbers[0] not in untold)


def _ends(answer: Answer | None, places: Mapping[str, int]) -> Counter[int] | None:
    """How many links lead to each other package; None where not every link's other end is told, or none at all is."""
    if answer is None or not answer.known or answer.value.get("count") != answer.value.get("shown"):
        return None
    addresses = [pci_address(end) for end in answer.value.get("ends") or ()]
    counts = Counter(places[address[:-2]] for address in addresses if address and address[:-2] in places)
    return counts or None


def _names(packages: Sequence[Package]) -> list[str]:
    """What links call each package, as KFD's do: unique ids, where they are unique."""
    units = [package.unit or package.address or "" for package in packages]
    return units if len(set(units)) == len(units) else [package.address or "" for package in packages]


def _claim(a: str, b: str, pair: Mapping[str, Answer], counts: Sequence[int]) -> LinkClaim:
    kind = str(pair["link_type"].value)
    if kind == "pcie":
        return LinkClaim(a, b, None, kind, evidence=NAME)
    least, most = (pair["bandwidth"].value or (0, 0))[:2]
    least, most = (least, most) if 0 <= least <= most <= _MOST_MBYTES else (0, 0)
    count = (counts[0] or None if len(set(counts)) == 1 else None) if counts else kfd.count_of_links(least, most)
    return LinkClaim(
        a=a,
        b=b,
        link_class=fabric_class(kind, count),
        kind=kind,
        count=count,
        bandwidth_bytes_per_second=most * 10**6 or None,
        bandwidth_source="reported" if most else None,
        evidence=NAME,
    )


def _filled(claim: LinkClaim, other: LinkClaim) -> LinkClaim:
    if claim.count is None and claim.link_class is None:
        claim = replace(claim, count=other.count, link_class=other.link_class)
    if claim.bandwidth_bytes_per_second is None:
        claim = replace(
            claim,
            bandwidth_bytes_per_second=other.bandwidth_bytes_per_second,
            bandwidth_source=other.bandwidth_source,
        )
    return claim


def _words(claim: LinkClaim) -> str:
    return claim.link_class or (claim.kind or "nothing").upper()
