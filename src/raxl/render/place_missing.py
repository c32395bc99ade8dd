"""Labels that a placement asks for and that raylets were not started with, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.place import MissingLabel, RayRequest
from raxl.model.printable import clean
from raxl.render.node_names import node_ranges, ordered
from raxl.render.quantity import listed

_LONGEST_NAMES = 40


def missing(request: RayRequest) -> Iterator[str]:
    """A sentence without its end for the labels that `raxl labels` prints, and one for those that it does not."""
    for is_printed in (True, False):
        found = [one for one in request.missing_labels if one.is_printed is is_printed]
        if found:
            yield _told(found, is_printed)


def _told(found: Sequence[MissingLabel], is_printed: bool) -> str:
    labels = sorted({f"{clean(one.key)}={clean(one.value)}" for one in found})
    nodes = some([*dict.fromkeys(one.node for one in found)])
    which = listed([*labels[:2], *([f"{len(labels) - 2} more"] if len(labels) > 2 else [])])
    by_hand = f"start them again with ray start --labels={','.join(labels)}"
    remedy = "raxl labels, then restart them" if is_printed else by_hand
    return f"the raylets of {nodes} do not carry {which}: {remedy}; until then Ray waits"


def some(nodes: Sequence[str]) -> str:
    """`gpu-00–07`; of many that make no run, the first and how many more."""
    names = node_ranges(ordered(nodes))
    return names if len(names) <= _LONGEST_NAMES else f"{clean(nodes[0])} and {len(nodes) - 1} more"
