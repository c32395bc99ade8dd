"""What differs between two readings of how devices are joined."""

from __future__ import annotations

from collections.abc import Mapping

from raxl.model.difference import Subject
from raxl.model.link import PCIE_CLASSES, Link
from raxl.topology.differing import Pair, Thing


def links(pair: Pair, same: Mapping[str, str]) -> None:
    """Notes what differs of the links between devices that are on both sides; `same` has their ids in B by those in A.

    Linear in the number of links.
    """
    if pair.before.links == pair.after.links and all(a == b for a, b in same.items()):
        return
    after = {frozenset((link.a, link.b)): link for link in pair.after.links}
    for link in pair.before.links:
        a, b = same.get(link.a), same.get(link.b)
        other = after.get(frozenset((a, b))) if a is not None and b is not None else None
        if a is not None and other is not None and (link != other):
            _link(pair, link, other, Subject(pair.after.name, a, b))


def _link(pair: Pair, before: Link, after: Link, subject: Subject) -> None:
    thing = Thing(pair, subject, "links")
    classes = before.link_class, after.link_class
    if classes == (None, None):
        thing.value("kind", before.kind, after.kind)
    elif None in classes:
        thing.value("link_class", *classes)
    elif classes[0] != classes[1]:
        ranks = _rank(before), _rank(after)
        if ranks[0] == ranks[1]:
            thing.value("link_class", *classes)
        else:
            thing.sized("link_class", *classes, is_narrower=ranks[1] > ranks[0])
    elif before.bandwidth_source == after.bandwidth_source and (
        pair.everything or before.bandwidth_source != "measured"
    ):
        field = "bandwidth_bytes_per_second"
        thing.amount(field, before.bandwidth_bytes_per_second, after.bandwidth_bytes_per_second)
    if before.state != after.state and None not in (before.state, after.state):
        thing.state("state", str(before.state), str(after.state))
    thing.done()


def _rank(link: Link) -> tuple[int, float]:
    """The lower, the nearer: a fabric before PCIe, many links of it before few."""
    if link.link_class in PCIE_CLASSES:
        return 1 + PCIE_CLASSES.index(link.link_class), 0
    return 0, -(link.count or 0)
