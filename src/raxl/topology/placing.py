"""Which sets of nodes fit a job, ranked by the narrowest link inside a set, then by how near its NICs are.

Ray Core decides where a job runs. This says what fits, why one set is better than another, and how to ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from raxl import __version__
from raxl.model.inventory import Inventory
from raxl.model.place import CLUSTER, FABRIC, NODE, SCOPES, Alike, Candidate, Nearest, PlaceDocument, Seat, Wanted
from raxl.model.schemas import PLACE
from raxl.topology import place_request, place_unread, place_words
from raxl.topology.place_inside import Rank, is_scale_up
from raxl.topology.place_stands import Domain, Found, Stand, Stands, Taken, domain, stands

_TIERS = {scope: place + (scope != FABRIC) for place, scope in enumerate(SCOPES)}
"""How wide a set is; one node over PCIe comes between a fabric over several and the rest."""
_ONE = (0, float("-inf"))
"""The rank of a single accelerator: nothing is between."""


def document(inventory: Inventory, wanted: Wanted) -> PlaceDocument:
    """Every set that fits, the best first; sets that fit equally well are one candidate and told as alike."""
    known = stands(inventory, wanted.type)
    found: list[Found] = []
    for kind in dict.fromkeys(one.kind for one in known.found):
        found += _of_kind([one for one in known.found if one.kind == kind], wanted)
    groups: dict[object, list[Found]] = {}
    for one in found:
        groups.setdefault(one.likeness, []).append(one)
    ordered = sorted(groups.values(), key=lambda alike: _worth(alike[0]))
    asker = place_request.Asker(known.found if ordered else (), wanted)
    candidates = tuple(_candidate(place, alike, asker) for place, alike in enumerate(ordered, 1))
    nearest = None if candidates else _nearest(known, wanted)
    unread = place_unread.unread(inventory, known, wanted)
    is_open = not candidates and place_unread.could_fit(unread, nearest, wanted)
    return PlaceDocument(
        PLACE,
        __version__,
        inventory.created,
        wanted,
        candidates,
        nearest,
        "" if candidates else place_words.nothing(known, wanted, nearest, unread, len(inventory.nodes)),
        known.left_out,
        known.types,
        unread,
        is_open,
    )


def _scopes(wanted: Wanted) -> tuple[str, ...]:
    return SCOPES[: SCOPES.index(wanted.within or CLUSTER) + 1]


def _of_kind(rest: Sequence[Stand], wanted: Wanted) -> Iterable[Found]:
    """The sets in each scope, the narrowest first; nodes of a set that is found take part in no wider one."""
    for scope in _scopes(wanted):
        if scope == NODE:
            alone = [one for one in rest if _fits_alone(one, wanted)]
            yield from (Found(NODE, (one.node.name,), (Taken(one, wanted.accelerators),), ()) for one in alone)
            rest = [one for one in rest if one.capacity < wanted.accelerators]
            continue
        left: list[Stand] = []
        for name, members in _grouped(rest, scope, wanted).items():
            taken = _take(members, wanted.accelerators) if name is not None else ()
            if not taken:
                left += members
            elif name is not None:
                used = {id(one.stand.node) for one in taken}
                numbers, least = {one.stand.number for one in taken}, min(one.share for one in taken)
                spare = [one for one in members if id(one.node) not in used and one.number in numbers]
                yield Found(scope, name, taken, tuple(one for one in spare if one.capacity >= least))
        rest = left


def _fits_alone(stand: Stand, wanted: Wanted) -> bool:
    """One node crosses no domain; within a fabric its accelerators must be known to be joined by one."""
    if stand.capacity < wanted.accelerators:
        return False
    if wanted.within != FABRIC or domain(stand.node, stand.devices, FABRIC) is not None:
        return True
    narrowest = stand.shape.choice(wanted.accelerators).narrowest
    return narrowest is None or narrowest.is_scale_up


def _grouped(found: Iterable[Stand], scope: str, wanted: Wanted) -> dict[Domain | None, list[Stand]]:
    """By domain, which lies in one of those that was asked for; None: those in no such domain."""
    groups: dict[Domain | None, list[Stand]] = {}
    for one in found:
        inner = domain(one.node, one.devices, scope)
        outer = domain(one.node, one.devices, wanted.within) if wanted.within not in (None, NODE, scope) else ()
        groups.setdefault(None if inner is None or outer is None else (*outer, *inner), []).append(one)
    return groups


def _take(members: Sequence[Stand], wanted: int) -> tuple[Taken, ...]:
    """The fewest nodes that hold as many, with equal shares where that goes; none where they do not."""
    full = sorted(members, key=lambda one: (-one.capacity, _quality(one, one.capacity), one.number))
    held = count = 0
    while held < wanted and count < len(full):
        held += full[count].capacity
        count += 1
    if held < wanted:
        return ()
    share, odd = divmod(wanted, count)
    if not odd and full[count - 1].capacity >= share:
        able = [one for one in full if one.capacity >= share]
        able.sort(key=lambda one: (_quality(one, share), one.capacity, one.number))
        return _by_shape(Taken(one, share) for one in able[:count])
    whole = full[: count - 1]
    last = wanted - sum(one.capacity for one in whole)
    others = [one for one in full[count - 1 :] if one.capacity >= last]
    end = min(others, key=lambda one: (_quality(one, last), one.capacity, one.number))
    return _by_shape([*(Taken(one, one.capacity) for one in whole), Taken(end, last)])


def _by_shape(taken: Iterable[Taken]) -> tuple[Taken, ...]:
    return tuple(sorted(taken, key=lambda one: (-one.share, one.stand.number, one.stand.node.name)))


def _quality(stand: Stand, count: int) -> tuple[Rank, Rank, int]:
    chosen = stand.shape.choice(count)
    degraded = sum(stand.shape.devices[place].state == "degraded" for place in chosen.places)
    return chosen.narrowest.rank if chosen.narrowest else _ONE, chosen.nic, degraded


def _worth(found: Found) -> tuple[object, ...]:
    """The lower, the better: what joins the set, then its links and NICs, then how few nodes, how sound, how exact."""
    qualities = [_quality(one.stand, one.share) for one in found.taken]
    inside, nic = max(one[0] for one in qualities), max(one[1] for one in qualities)
    tier = _TIERS[FABRIC] + (-1 if is_scale_up(inside) else 1) if found.scope == NODE else _TIERS[found.scope]
    links = (inside, nic) if found.scope in (NODE, FABRIC) else (nic, inside)
    free = sum(one.stand.capacity - one.share for one in found.taken)
    degraded = sum(one[2] for one in qualities)
    first = found.taken[0].stand
    return tier, *links, len(found.taken), degraded, free, first.kind.name, first.node.name


def _candidate(rank: int, alike: Sequence[Found], asker: place_request.Asker) -> Candidate:
    best, others = alike[0], alike[1:]
    kind = best.taken[0].stand.kind
    narrow = max((one.chosen for one in best.taken), key=lambda one: one.narrowest.rank if one.narrowest else _ONE)
    link = narrow.narrowest.link if narrow.narrowest else None
    widest_nic = max(best.taken, key=lambda one: one.chosen.nic)
    request = asker.request(best, others)
    return Candidate(
        rank=rank,
        scope=best.scope,
        domain=best.domain[-1] if best.domain else None,
        kind=best.taken[0].stand.devices[0].kind,
        type=kind.type,
        model=kind.model,
        accelerators=sum(one.share for one in best.taken),
        seats=tuple(_seat(one) for one in best.taken),
        spare=tuple(one.node.name for one in best.spare),
        alike=_alike(others),
        link_class=link.link_class if link else None,
        link_kind=place_words.kind_of(best.scope, kind, link),
        bandwidth_bytes_per_second=link.bandwidth_bytes_per_second if link else None,
        nic_class=widest_nic.stand.shape.nic_class(widest_nic.chosen),
        nic_bits_per_second=min(
            (speed for one in best.taken if (speed := one.stand.shape.nic_speed(one.chosen)) is not None), default=None
        ),
        reason=place_words.reason(best.scope, best.taken, kind, narrow.narrowest),
        caveats=tuple(place_words.caveats(best.taken, kind, request)),
        request=request,
    )


def _alike(others: Sequence[Found]) -> tuple[Alike, ...]:
    return tuple(
        Alike(
            tuple(taken.stand.node.name for taken in one.taken),
            one.domain[-1] if one.domain else None,
            tuple(spare.node.name for spare in one.spare),
        )
        for one in others
    )


def _seat(taken: Taken) -> Seat:
    shape, chosen = taken.stand.shape, taken.chosen.places
    order = (*chosen, *(place for place in range(len(shape.devices)) if place not in chosen))
    node = taken.stand.node
    return Seat(node.name, taken.share, node.ray_node_id, tuple(shape.nearest[place] for place in order))


def _holding(own: Sequence[Stand], scope: str, wanted: Wanted) -> Iterable[tuple[Domain | None, list[Stand]]]:
    return [((one.node.name,), [one]) for one in own] if scope == NODE else _grouped(own, scope, wanted).items()


def _nearest(known: Stands, wanted: Wanted) -> Nearest | None:
    """The domain that holds most of one kind, as wide as was asked for."""
    best: tuple[int, Nearest] | None = None
    scopes = (NODE,) if wanted.within == NODE else (NODE, wanted.within or CLUSTER)
    for scope in scopes:
        for kind in dict.fromkeys(one.kind for one in known.found):
            own = [one for one in known.found if one.kind == kind]
            for name, members in _holding(own, scope, wanted):
                if name is None:
                    continue
                held = sum(one.capacity for one in members)
                if best is None or held > best[0]:
                    names = tuple(one.node.name for one in members)
                    best = held, Nearest(held, names, scope, name[-1] if name else None)
    return best[1] if best else None
