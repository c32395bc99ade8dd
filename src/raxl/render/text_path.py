"""`raxl topo --path A B`: the hops, what forbids a faster way, who would go it, and what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from raxl.model.link import FABRIC_NAMES
from raxl.model.measurement import Recommendation
from raxl.model.node import Node
from raxl.model.path import BLOCKS, CLEAR, NETWORK, SLOWS, UNKNOWN, Condition, Path
from raxl.model.printable import clean
from raxl.render import bench_recommended, path_words
from raxl.render.naming import Names
from raxl.render.quantity import bit_rate, byte_rate, listed
from raxl.render.text import Line, Page, Style, display_width, parted

_VIRTUAL = "virtual PCI tree: these hops are the hypervisor’s, not the machine’s"
_GPUDIRECT = "gpudirect-rdma"
_WAYS = {
    "scale-up": "straight over {fabric}",
    "pcie-p2p": "peer to peer over PCIe",
    _GPUDIRECT: "GPUDirect RDMA",
    "host-memory": "through host memory",
}
_DISTANT = dict.fromkeys(("PHB", "NODE", "SYS"), ": no PCIe switch joins them")
_PLAIN = "scale-up"
"""What is as the machine was built, and no fault of it."""
_SLOW = {"acs": "ACS", "iommu": "the IOMMU", "width": "missing lanes", "bar": "a small BAR"}
"""What slows a way and can be put right."""

_Fact = tuple[str, str, Style]
"""A label, what is so, and the label's style."""


def path(found: Path, nodes: Sequence[Node], width: int, *, unicode: bool = True) -> list[Line]:
    """The path as text, in the node that it lies in or from one to the other; its last line is a sentence."""
    page, names = Page(width, unicode), Names(nodes[0]) if len(nodes) == 1 else Names.over(nodes)
    tell = path_words.called(names)
    return parted(
        [
            _way(page, found, names),
            _facts(page, found, names, tell),
            _unknown(page, found, names, tell),
            page.fold(_sentence(found, names, tell)),
        ]
    )


def measured(found: Sequence[Recommendation], width: int, *, unicode: bool = True) -> list[Line]:
    """What a benchmark that is laid over the way says of it, after an empty line."""
    page = Page(width, unicode)
    if not found:
        return [[], *page.fold("The benchmark holds no verified row between these two, nor between their nodes.")]
    return [[], *bench_recommended.recommended(page, found)]


def _way(page: Page, found: Path, names: Names) -> list[Line]:
    title = f"{names.of(found.a)} → {names.of(found.b)}"
    how = found.link_class or (NETWORK if found.kind == NETWORK else "?")
    lines = page.fold(f"{clean(how)}, {_rate(found)}", 4, lead=(f"{title}   ", "bold"))
    if found.path_trust == "virtual" and found.kind in (None, "pcie", NETWORK):
        lines += page.fold(_VIRTUAL, 2, "warn", ("  ", ""))
    return lines + page.fold(path_words.chain(found, names), 4, lead=("  ", ""))


def _rate(found: Path) -> str:
    if found.bandwidth_bytes_per_second is None:
        return "speed not known"
    return f"{'at most ' if found.is_bound else ''}{byte_rate(found.bandwidth_bytes_per_second)} each way"


def _facts(page: Page, found: Path, names: Names, tell: Callable[[str], str]) -> list[Line]:
    facts = [*_told(found, names, tell)]
    margin = max((display_width(page.spell(label)) for label, _, _ in facts), default=0) + 4
    lines: list[Line] = []
    previous = ""
    for label, text, style in facts:
        shown = page.spell("" if label == previous else label)
        lead = f"  {shown}{' ' * (margin - 2 - display_width(shown))}"
        lines += page.fold(text, margin, lead=(lead, style))
        previous = label
    return lines


def _told(found: Path, names: Names, tell: Callable[[str], str]) -> Iterator[_Fact]:
    if words := path_words.class_words(found):
        label = found.link_class or FABRIC_NAMES.get(str(found.kind), clean(str(found.kind)))
        yield clean(label), words + _DISTANT.get(found.link_class or "", ""), ""
    if narrow := _narrowest(found, names):
        yield "narrowest", narrow, ""
    for status, label in ((BLOCKS, "forbids"), (SLOWS, "slows")):
        for one in found.obstacles:
            if one.status == status and one.kind != "distance":  # the class has said it
                yield label, _message(one, tell), _style(one)
    fine = [one for one in found.obstacles if one.status == CLEAR]
    direct = [one for one in fine if one.kind == _GPUDIRECT]
    others = [tell(one.message) for one in fine if one.kind != _GPUDIRECT]
    if others:
        yield "no obstacle", "; ".join(others), ""
    for one in direct:
        yield "GPUDirect", tell(one.message), ""
    for use in found.uses:
        way = _WAYS.get(use.way, use.way).format(fabric=FABRIC_NAMES.get(str(found.kind), clean(str(found.kind))))
        caveat = f" ({use.caveat})" if use.caveat else ""
        yield "used by", f"{', '.join(use.transports)}: {way}{caveat}", ""
    if found.nearest_nics:
        which = names.all(found.nearest_nics)
        if {found.a, found.b} & set(found.nearest_nics):
            which = "this one" if len(found.nearest_nics) == 1 else f"this is one of {which}"
        yield "nearest NIC", f"{which} ({found.nearest_class})", ""
    for end in found.components:
        if end.speed_bits_per_second is not None and found.kind != NETWORK:
            bits, size = bit_rate(end.speed_bits_per_second), byte_rate(end.speed_bits_per_second / 8)
            yield "beyond it", f"{names.of(end.id)} sends at {bits} ({size})", ""


def _message(condition: Condition, tell: Callable[[str], str]) -> str:
    prefix = "GPUDirect RDMA: " if condition.kind == _GPUDIRECT else ""
    return prefix + tell(condition.message)


def _style(condition: Condition) -> Style:
    if condition.kind == "state":
        return "fail"
    return "" if condition.kind == _PLAIN else "warn"


def _narrowest(found: Path, names: Names) -> str | None:
    """The narrowest hop, where others differ from it or are not known."""
    rates = [hop.bandwidth_bytes_per_second for hop in found.hops]
    if found.narrowest is None or len(rates) < 2:
        return None
    least = rates[found.narrowest]
    alike = [place for place, rate in enumerate(rates) if rate == least]
    unknown = any(rate is None for rate in rates)
    if len(alike) == len(rates):
        return None
    if len(alike) > 1:
        which = f"{len(alike)} hops of {byte_rate(least or 0)}"
    else:
        one, other = found.components[found.narrowest : found.narrowest + 2]
        ends = f"{path_words.component(one, names)} to {path_words.component(other, names)}"
        which = f"{ends}, {path_words.hop(found.hops[found.narrowest])}"
    return which + (", as far as the hops’ speeds are known" if unknown else "")


def _unknown(page: Page, found: Path, names: Names, tell: Callable[[str], str]) -> list[Line]:
    causes: dict[str, None] = {}
    hops: dict[str, list[str]] = {}
    for problem in found.problems:
        why = f"{problem.reason.replace('-', ' ')} ({tell(problem.message)})"
        hops.setdefault(why, []).append(_unrated(found, problem.subject, names))
    for why, which in hops.items():
        causes.setdefault(f"{listed(list(dict.fromkeys(which)))}: {why}")
    for one in found.obstacles:
        if one.status == UNKNOWN:
            reason = (one.reason or "not-asked").replace("-", " ")
            causes.setdefault(f"{_message(one, tell)}: {reason} ({tell(one.why or '')})")
    return [line for text in causes for line in page.fold(text, 3, "dim", ("?  ", "dim"))]


def _unrated(found: Path, subject: str, names: Names) -> str:
    """`the hops`, `speed of UPI`, `speed from GPU 0 to CPU 0 (NUMA 0)`."""
    if subject in ("hops", NETWORK):
        return f"the {subject}"
    place = int(subject.split(".")[1])
    name = found.hops[place].name
    one, other = (path_words.component(end, names) for end in found.components[place : place + 2])
    return f"speed of {clean(name)}" if name else f"speed from {one} to {other}"


def _sentence(found: Path, names: Names, tell: Callable[[str], str]) -> str:
    a, b = names.of(found.a), names.of(found.b)
    lost = next((one for one in found.obstacles if one.kind == "state"), None)
    if lost is not None:
        return f"Nothing goes from {a} to {b}: {tell(lost.message)}."
    if any(one.kind == "fabric" for one in found.obstacles):
        fabric = FABRIC_NAMES.get(str(found.kind), clean(str(found.kind)))
        return f"{fabric} joins {a} and {b} and carries nothing now; transports go through host memory."
    if found.link_class is None and found.kind is None:
        return f"How {a} reaches {b} is not known."
    if found.kind == NETWORK:
        how = "through the network, if it joins their nodes"
    elif found.kind == "pcie":
        how = path_words.class_words(found) or "over PCIe"
    else:
        how = f"over {FABRIC_NAMES.get(str(found.kind), clean(str(found.kind)))}"
    rate = "" if found.bandwidth_bytes_per_second is None else f", {_rate(found)}"
    best = found.uses[0].way if found.uses and not found.uses[0].caveat else None
    way = {"host-memory": "; transports go through host memory", _GPUDIRECT: "; GPUDirect RDMA goes this way"}
    nearer = ""
    if found.nearest_nics and not {found.a, found.b} & set(found.nearest_nics):
        nearer = f" {names.all(found.nearest_nics)} {'is' if len(found.nearest_nics) == 1 else 'are'} nearer."
    if found.path_trust == "virtual" and found.kind == "pcie":
        return f"{a} reaches {b} by a way that the hypervisor hides; its own tree says {found.link_class}."
    slow = [_SLOW[one.kind] for one in found.obstacles if one.status == SLOWS and one.kind in _SLOW]
    slowed = f"; slowed by {listed(list(dict.fromkeys(slow)))}" if slow else ""
    return f"{a} reaches {b} {how}{rate}{way.get(best or '', '')}{slowed}.{nearer}"
