"""How amd-smi and rocm-smi say that pairs of GPUs are joined.

Link type, weight, hops and bandwidth come from KFD's io_links. Hops are no links (1 stands for every pair of a hive,
https://github.com/ROCm/rocm-systems/issues/5763), and a weight is a distance: neither counts links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import LinkClaim
from raxl.sources import kfd
from raxl.sources.numbers import whole

_KINDS = {"XGMI": "xgmi", "PCIE": "pcie"}
_BANDWIDTH = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?: ?MB/s)?")
_MOST_MBYTES = 10**8
_STATES = {"U": "ok", "D": "down"}


class Pair(NamedTuple):
    """What one output says of an ordered pair of the tool's numbers, in its words."""

    a: int
    b: int
    type: str | None = None
    bandwidth: str | None = None
    state: str | None = None


class _Link(NamedTuple):
    kinds: frozenset[str]
    least: int
    most: int
    states: frozenset[str]


def links(
    form: str, pairs: Sequence[Pair], names: Mapping[int, str]
) -> tuple[tuple[LinkClaim, ...], tuple[Problem, ...]]:
    """The links between packages: both directions, and all partitions of a pair, together."""
    found: dict[tuple[str, str], _Link] = {}
    lost: Counter[int] = Counter()
    for pair in pairs:
        ends = [names.get(end) for end in (pair.a, pair.b)]
        lost.update(end for end in (pair.a, pair.b) if end not in names)
        if None in ends or ends[0] == ends[1]:
            continue
        key = (str(ends[0]), str(ends[1]))
        key = key if key in found or (key[1], key[0]) not in found else (key[1], key[0])
        found[key] = _joined(found.get(key), pair)
    problems = [
        Problem("links", DISAGREEMENT, f"{a}–{b}: {form.split()[0]} says both XGMI and PCIe", (form,))
        for (a, b), link in found.items()
        if len(link.kinds) > 1
    ]
    if lost:
        message = f"links lead to {len(lost)} GPUs that this output does not describe: {_listed(lost)}"
        problems.append(Problem("accelerators", DISAGREEMENT, message, (form,)))
    return tuple(_claim(form, a, b, link) for (a, b), link in found.items()), tuple(problems)


def _listed(numbers: Counter[int]) -> str:
    shown = ", ".join(str(number) for number in sorted(numbers)[:8])
    return f"{shown} …" if len(numbers) > 8 else shown


def _joined(known: _Link | None, pair: Pair) -> _Link:
    known = known or _Link(frozenset(), 0, 0, frozenset())
    kind = _KINDS.get((pair.type or "").strip().upper())
    state = _STATES.get((pair.state or "").strip().upper())
    least, most = _bandwidth(pair.bandwidth)
    if most <= known.most:
        least, most = known.least, known.most
    return _Link(known.kinds | ({kind} if kind else set()), least, most, known.states | ({state} if state else set()))


def _bandwidth(words: str | None) -> tuple[int, int]:
    """Of one link and of all links of the pair, in megabytes per second and one direction; 0 where it is not told."""
    found = _BANDWIDTH.fullmatch((words or "").strip())
    if not found:
        return 0, 0
    least, most = (whole(number, _MOST_MBYTES) or 0 for number in found.groups())
    return (least, most) if least <= most else (0, 0)


def _claim(form: str, a: str, b: str, link: _Link) -> LinkClaim:
    kind = next(iter(link.kinds)) if len(link.kinds) == 1 else None
    count = kfd.count_of_links(link.least, link.most) if kind == "xgmi" else None
    most = link.most if kind == "xgmi" else 0
    return LinkClaim(
        a=a,
        b=b,
        link_class=fabric_class("xgmi", count) if kind == "xgmi" else None,
        kind=kind,
        count=count,
        bandwidth_bytes_per_second=most * 10**6 or None,
        bandwidth_source="reported" if most else None,
        state="down" if "down" in link.states else next(iter(link.states), None),
        evidence=form,
    )


def damage(form: str, title: str, columns: Sequence[str], rows: Mapping[str, int]) -> list[Problem]:
    """What a matrix lacks: rows for names of its header, and cells at the ends of its rows (`rows` counts them)."""
    missing = [name for name in columns if name not in rows]
    short = [name for name, cells in rows.items() if cells < len(columns)]
    parts = [f"the rows of {', '.join(missing)} are missing"] if missing else []
    parts += [f"the rows of {', '.join(short)} are cut off"] if short else []
    if not parts:
        return []
    return [Problem("links", FAILED, f"the table “{title}” is incomplete: {'; '.join(parts)}", (form,))]
