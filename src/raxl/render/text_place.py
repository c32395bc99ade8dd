"""`raxl place`: the sets that fit as a table, what to tell Ray for the best of them, and a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from raxl.model.link import FABRIC_NAMES
from raxl.model.place import CLUSTER, FABRIC, NODE, Candidate, PlaceDocument, RayRequest, Seat, not_read
from raxl.model.printable import clean
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.node_names import node_ranges, ordered
from raxl.render.place_missing import missing, some
from raxl.render.quantity import bit_rate, byte_rate, listed, name_ranges
from raxl.render.text import UNBREAKABLE, Line, Page, Span, parted
from raxl.render.unknown import INAPPLICABLE, REMARK, UNKNOWN

BUSY = "This is what is there, not what is busy: Ray Core decides where the job runs, and when."
_MOST_ROWS = 10
_MOST_WRITTEN = 3
"""More equal bundles than this are written once, with their number."""
_COLUMNS = (
    Column("", right=True),
    Column("WITHIN", rank=3, least=23),
    Column("NODES", least=16),
    Column("EACH"),
    Column("NARROWEST LINK", rank=1),
    Column("NIC", rank=4),
    Column("ALIKE", rank=5),
)
_SCOPES = {NODE: "one node", FABRIC: "fabric domain", CLUSTER: "no known domain"}


def place(document: PlaceDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """The result as text; its last line is a sentence."""
    page = Page(width, unicode)
    if not document.candidates:
        return page.fold(nothing(document))
    best = document.candidates[0]
    return parted(
        [
            _table(page, document.candidates),
            [*_best(page, best), *_remarks(page, best)],
            [*_left_out(page, document), *_unread(page, document)],
            page.fold(BUSY, style="dim"),
            page.fold(_sentence(document)),
        ]
    )


def nothing(document: PlaceDocument) -> str:
    """Why nothing fits, as a sentence."""
    text = clean(document.message)
    return f"{text[:1].upper()}{text[1:]}."


def title(one: Candidate) -> str:
    """`2 nodes × 4 × GB200`; `8 × H100` on one node."""
    shares = {seat.accelerators for seat in one.seats}
    name = clean(one.type or one.model or "?")
    if len(one.seats) == 1 or len(shares) > 1:
        return f"{one.accelerators} × {name}" + (f" on {counted(len(one.seats), 'node')}" if len(one.seats) > 1 else "")
    return f"{len(one.seats)} nodes × {shares.pop()} × {name}"


def _table(page: Page, candidates: Sequence[Candidate]) -> list[Line]:
    rows: list[Row] = [_row(one) for one in candidates[:_MOST_ROWS]]
    lines = lay_out(page, _COLUMNS, rows)
    if len(candidates) > _MOST_ROWS:
        lines += page.fold(f"… {len(candidates) - _MOST_ROWS} more, which --format json has", style="dim")
    return lines


def _row(one: Candidate) -> Row:
    share = list(dict.fromkeys(seat.accelerators for seat in one.seats))
    each = f"{' or '.join(map(str, share))} × {clean(one.type or one.model or UNKNOWN)}"
    within = _SCOPES.get(one.scope, one.scope)
    if one.domain is not None and one.scope != NODE:
        within = f"{within} {_short(one.domain)}"
    names = node_ranges(ordered(seat.node for seat in one.seats))
    if one.spare:
        names += f" of {len(one.seats) + len(one.spare)}"
    alike = f"{len(one.alike)} more" if one.alike else ""
    return [
        (str(one.rank), "bold"),
        (within, ""),
        (names, ""),
        (each, ""),
        _link(one),
        _nic(one),
        (alike, ""),
    ]


def _short(domain: str) -> str:
    """A long name by its two ends: `7e2c…f1.3` for a UUID with its clique."""
    text = clean(domain)
    name, dot, clique = text.rpartition(".")
    if len(text) <= 24:
        return text
    return f"{name[:4]}…{name[-2:]}.{clique}" if dot and len(name) == 36 else f"{text[:12]}…{text[-8:]}"


def _link(one: Candidate) -> Span:
    if one.scope not in (NODE, FABRIC):
        return "network", ""
    if one.scope == FABRIC:
        return FABRIC_NAMES.get(one.link_kind or "", UNKNOWN), ""
    if one.accelerators == 1:
        return INAPPLICABLE, "dim"
    name = one.link_class or FABRIC_NAMES.get(one.link_kind or "")
    rate = one.bandwidth_bytes_per_second
    if name is None:
        return UNKNOWN, "dim"
    return clean(name) + (f", {byte_rate(rate)}" if rate else ""), ""


def _nic(one: Candidate) -> Span:
    if one.nic_class is None:
        return UNKNOWN, "dim"
    speed = one.nic_bits_per_second
    return clean(one.nic_class) + (f", {bit_rate(speed)}" if speed else ""), ""


def _best(page: Page, best: Candidate) -> list[Line]:
    facts = [("why", best.reason), *(("CPUs", text) for text in _cpus(best)), *_asking(best.request)]
    ranks = [f"{best.rank}", *" " * (len(facts) - 1)]
    return [
        line
        for rank, (label, text) in zip(ranks, facts, strict=True)
        for line in page.fold(text, 13, lead=(f"{rank}  {label:<10}", "bold"))
    ]


def _cpus(best: Candidate) -> list[str]:
    """The CPUs near each accelerator; of nodes that differ, those of the first."""
    told = [_near(seat, best.kind) for seat in best.seats]
    if not told[0]:
        return ["those near an accelerator are not known"]
    near = [f"{clean(cpus)} near {name_ranges(names)}" for cpus, names in told[0].items()]
    same = all(other == told[0] for other in told)
    return ["; ".join(near) + ("" if same else f" on {clean(best.seats[0].node)}; others differ: --format json")]


def _near(seat: Seat, kind: str) -> dict[str, list[str]]:
    """By a list of CPUs, the accelerators that they are nearest to."""
    told: dict[str, list[str]] = {}
    for device in sorted(seat.devices, key=lambda one: (one.index is None, one.index or 0, one.id)):
        name = clean(device.id) if device.index is None else f"{clean(kind).upper()} {device.index}"
        if device.cpus:
            told.setdefault(device.cpus, []).append(name)
    return told


def _asking(request: RayRequest | None) -> list[tuple[str, str]]:
    if request is None:
        return []
    return [
        ("bundles", _typed(_folded(request.bundles))),
        ("labels", f"{_typed(json.dumps(request.bundle_label_selector[0]))} for each bundle"),
        ("topology", _typed(json.dumps(request.topology_strategy))),
        ("Python", _typed("--format python")),
    ]


def _folded(bundles: Sequence[Mapping[str, int]]) -> str:
    """`[{"GPU": 8}] × 37, {"GPU": 4}`; a few that differ as a list: `[{"GPU": 4}, {"GPU": 2}]`."""
    runs: dict[str, int] = {}
    for bundle in bundles:
        written = json.dumps(dict(bundle))
        runs[written] = runs.get(written, 0) + 1
    if (len(bundles) > 1 and len(runs) == 1) or max(runs.values()) > _MOST_WRITTEN:
        return ", ".join(f"[{one}] × {times}" if times > 1 else one for one, times in runs.items())
    return f"[{', '.join(json.dumps(dict(bundle)) for bundle in bundles)}]"


def _typed(text: str) -> str:
    return clean(text).replace(": ", f":{UNBREAKABLE}").replace(" × ", f"{UNBREAKABLE}×{UNBREAKABLE}")


def _remarks(page: Page, best: Candidate) -> list[Line]:
    told = list(best.caveats)
    request = best.request
    if request is not None and request.also_matches:
        names = [clean(name) for name in request.also_matches_first]
        more = request.also_matches - len(names)
        fit = "fits" if request.also_matches == 1 else "fit"
        told.append(
            f"{listed([*names, *([f'{more} more'] if more else [])])} {fit} these labels too, and Ray may choose it"
        )
    told += missing(request) if request is not None else ()
    return [line for text in told for line in page.fold(text, 3, lead=(f"{REMARK}  ", "warn"))]


def _left_out(page: Page, document: PlaceDocument) -> list[Line]:
    reasons: dict[str, dict[str, int]] = {}
    for one in document.left_out:
        nodes = reasons.setdefault(one.reason, {})
        nodes[one.node] = nodes.get(one.node, 0) + one.accelerators
    told = [
        f"not counted: {sum(nodes.values())} on {some([*nodes])} ({clean(reason)})" for reason, nodes in reasons.items()
    ]
    return [line for text in told for line in page.fold(text, 3, "dim", (f"{REMARK}  ", "dim"))]


def _unread(page: Page, document: PlaceDocument) -> list[Line]:
    return [line for text in not_read(document.unread) for line in page.fold(text, 3, lead=(f"{REMARK}  ", "warn"))]


def _sentence(document: PlaceDocument) -> str:
    best, wanted = document.candidates[0], document.wanted
    sets = sum(1 + len(one.alike) for one in document.candidates)
    what = f"{wanted.accelerators} × {clean(wanted.type)}" if wanted.type else f"{wanted.accelerators} of one type"
    inside = f" within one {'fabric domain' if wanted.within == FABRIC else wanted.within}" if wanted.within else ""
    where = some([seat.node for seat in best.seats])
    fits = "1 set of nodes fits" if sets == 1 else f"{sets} sets of nodes fit"
    return f"{fits} {what}{inside}; the best is {title(best)}: {where}."
