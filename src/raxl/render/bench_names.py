"""How ends, pairs and transports of a benchmark are called in text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from raxl.model import measurement as m
from raxl.model.measurement import Endpoint
from raxl.render.bench_pairs import Group, Key, Pair, Way
from raxl.render.node_names import nodes_called, ordered, short

_HOST = "cpu"
_MOST_PAIRS = 2
_LONGEST = 24


def end(one: Endpoint) -> str:
    """`gpu-07`; of an accelerator `gpu-07 nvidia:0`."""
    return short(one.node) if one.device == _HOST else f"{short(one.node)} {short(one.device)}"


def way(source: Endpoint, target: Endpoint, arrow: str = "→") -> str:
    """`gpu-07 → gpu-08`, `gpu-07: nvidia:0 → nvidia:1`."""
    if source.node != target.node:
        return f"{end(source)} {arrow} {end(target)}"
    if source.device == target.device:
        return f"within {end(source)}"
    return f"{short(source.node)}: {short(source.device)} {arrow} {short(target.device)}"


def ways(found: Sequence[Way]) -> str:
    """`gpu-07 → gpu-08`, `gpu-01 → gpu-02, gpu-03 → gpu-04 and 29 more`."""
    told = [way(*one) for one in found[:_MOST_PAIRS]]
    more = len(found) - len(told)
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def pair(one: Pair) -> str:
    """The pair of one table; both directions, and the ends of a collective, are joined by `↔`."""
    return way(*one.way, arrow="↔" if one.back or one.pattern in m.COLLECTIVES else "→")


def group(found: Group) -> str:
    """`gpu-07 → gpu-08`, `31 pairs of 12 nodes (gpu-01–12)`."""
    if found.is_one:
        return pair(found.pairs[0])
    nodes = ordered({node for one in found.pairs for node in (one.way.source.node, one.way.target.node)})
    both = ", both ways" if found.pairs[0].back else ""
    inside = all(one.way.source.node == one.way.target.node for one in found.pairs)
    return f"{len(found.pairs)} pairs {'within' if inside else 'of'} {nodes_called(nodes)}{both}"


def transport(name: str) -> str:
    """`rdt-nixl`; a long name is cut in its middle."""
    return short(name, _LONGEST)


def lines(keys: Iterable[Key]) -> dict[Key, str]:
    """What each line of a table is called: the transport, and what tells it from the other lines of it."""
    found = list(keys)
    common = usual(found)
    return {
        line: transport(line.transport)
        + _mode(line)
        + (f" {transport(line.destination)}" if line.destination != common else "")
        for line in found
    }


def usual(keys: Iterable[Key]) -> str | None:
    """The destination of most lines, which their names do not tell; None where no half of them share one."""
    counts = Counter(line.destination for line in keys)
    ((most, count),) = counts.most_common(1) or ((None, 0),)
    return most if 2 * count > counts.total() else None


def _mode(line: Key) -> str:
    if line.mode == m.WINDOW:
        return f" window{'' if line.window is None else f' {line.window}'}"
    if line.mode == m.STREAM:
        return " streams" if line.window is None else f" {line.window} streams"
    return ""
