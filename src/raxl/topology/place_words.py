"""Why a set of nodes stands where it does, what to know before using it, and why nothing fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.link import FABRIC_NAMES, Link
from raxl.model.place import (
    BLOCK,
    CLUSTER,
    FABRIC,
    NODE,
    RACK,
    SLICE,
    ZONE,
    LeftOut,
    Nearest,
    RayRequest,
    Unread,
    Wanted,
    not_read,
)
from raxl.topology.place_inside import Joint
from raxl.topology.place_stands import Kind, Stands, Taken

TPU_QUANTITIES = (1, 2, 4, 8)
"""How many TPU a task may ask for: ray/_private/accelerators/tpu.py of Ray 2.60."""
_OVER_NODES = {"nvidia": "nvlink", "tpu": "ici", "neuron": "neuron"}
"""By vendor, the fabric that reaches over nodes."""
_DOMAINS = {FABRIC: "fabric domain", SLICE: "slice", RACK: "rack", BLOCK: "block", ZONE: "zone"}


def kind_of(scope: str, kind: Kind, link: Link | None) -> str | None:
    """What the narrowest link of a set is; None: not known, or one accelerator alone."""
    if scope == NODE:
        return link.kind if link else None
    return _OVER_NODES.get(kind.vendor) if scope == FABRIC else "network"


def reason(scope: str, taken: Sequence[Taken], kind: Kind, narrowest: Joint | None) -> str:
    """One sentence without its end: what joins the set, then its NICs."""
    return f"{_joined(scope, taken, kind, narrowest)}; {_nics(taken)}"


def _joined(scope: str, taken: Sequence[Taken], kind: Kind, narrowest: Joint | None) -> str:
    if scope == FABRIC:
        fabric = FABRIC_NAMES.get(_OVER_NODES.get(kind.vendor, ""), "a scale-up fabric")
        return f"{fabric} joins the {len(taken)} nodes"
    if scope == CLUSTER:
        return f"nothing tells how these {len(taken)} nodes are joined"
    if scope != NODE:
        return f"the network of one {_DOMAINS[scope]} joins the {len(taken)} nodes"
    if narrowest is None:
        return "one accelerator alone"
    link = narrowest.link
    if link is None or (link.link_class is None and not narrowest.is_scale_up):
        return "how they are joined is not known"
    if narrowest.is_scale_up:
        fabric = link.link_class or FABRIC_NAMES.get(link.kind or "", str(link.kind))
        return f"all are joined by {fabric}{', some through others' if narrowest.is_forwarded else ''}"
    of_vm = " by the hypervisor's tree, which is not to be believed" if _is_virtual(taken) else ""
    pair = "they are joined" if taken[0].share == 2 else "the narrowest pair is"
    return f"{pair} at {link.link_class}{of_vm}"


def _is_virtual(taken: Sequence[Taken]) -> bool:
    return any(one.stand.node.path_trust == "virtual" for one in taken)


def _nics(taken: Sequence[Taken]) -> str:
    worst = max(taken, key=lambda one: one.chosen.nic)
    found = worst.stand.shape.nic_class(worst.chosen)
    if found is None:
        return "no compute NIC is known"
    of_vm = ", as the hypervisor shows it" if _is_virtual(taken) else ""
    own = {near.nic for place in worst.chosen.places for near in [worst.stand.shape.nearest[place]]}
    if worst.share == 1 == len(taken):
        return f"its nearest NIC is at {found}{of_vm}"
    if len(own) == worst.share:
        return f"each has its own NIC at {found}{of_vm}"
    return f"they share a NIC at {found}{of_vm}" if len(own) == 1 else f"each has a NIC at {found} or nearer{of_vm}"


def caveats(taken: Sequence[Taken], kind: Kind, request: RayRequest | None) -> Iterator[str]:
    """What to know before a set is used; each once, with the nodes that it is about."""
    if kind.resource is None:
        yield f"Ray has no resource for {kind.name}: start the raylets with --resources, and ask for that"
    elif kind.each is None:
        yield f"how many {kind.resource} Ray makes of one is not known"
    elif request is None:
        yield "no label of raxl's names its domain, so that Ray cannot be told"
    elif kind.each > 1:
        yield f"one {kind.name} is {kind.each} {kind.resource} to Ray"
    if kind.resource == "TPU" and len(taken) > 1:
        yield "a whole slice Ray reserves by itself too: ray.util.tpu.slice_placement_group"
    told: dict[str, list[str]] = {}
    for one in taken:
        for text in _of_node(one, kind):
            told.setdefault(text, []).append(one.stand.node.name)
    for text, names in told.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield f"{', '.join(names[:3])}{more}: {text}"


def _of_node(one: Taken, kind: Kind) -> Iterator[str]:
    stand, shape = one.stand, one.stand.shape
    degraded = sum(shape.devices[place].state == "degraded" for place in one.chosen.places)
    if degraded:
        yield f"{degraded} of the {one.share} degraded"
    registered = [device.ray.would_register for device in shape.devices]
    if stand.ray is None and registered and not any(registered) and None not in registered and kind.resource:
        yield f"Ray's own detection would register no {kind.resource}: raxl discover says why"
    elif stand.counted > len(shape.devices):
        # Ray gives out the lost as well as the sound.
        yield f"Ray would give out {stand.counted}, {len(shape.devices)} work: raxl discover says what corrects it"
    if one.share < stand.capacity:
        whole, best = shape.choice(stand.capacity).narrowest, one.chosen.narrowest
        if whole is not None and best is not None and whole.rank[0] > best.rank[0]:
            narrow = (whole.link.link_class if whole.link else None) or "an unknown way"
            how = f"by {narrow}{', through others' if whole.is_forwarded else ''}"
            yield f"Ray chooses which {one.share} of the {stand.capacity} a task gets: others are joined {how}"
    if kind.resource == "TPU" and one.share not in TPU_QUANTITIES:
        yield f"Ray lets a task have 1, 2, 4 or 8 TPU: {one.share} of a node take several tasks"


def nothing(known: Stands, wanted: Wanted, nearest: Nearest | None, unread: Sequence[Unread], nodes: int) -> str:
    """`the largest fabric domain, 7e2c….3, has 64 H100 that work; 72 wanted`; then what was not read of `nodes`."""
    told = "; ".join(not_read(unread))
    if unread and not known.types and not known.left_out and len({one.node for one in unread}) == nodes:
        return f"no node could be read; {told}"
    return f"{_nothing(known, wanted, nearest)}{'; ' * bool(told)}{told}"


def _nothing(known: Stands, wanted: Wanted, nearest: Nearest | None) -> str:
    if not known.found and not known.left_out:
        here = ", ".join(f"{name} ({count})" for name, count in known.types.items())
        if not here:
            return f"no accelerator that works is here; {wanted.accelerators} wanted"
        return f"no accelerator here is called {wanted.type}; there are {here}"
    if nearest is None:
        return f"none that can be had is here; {wanted.accelerators} wanted{_rest(known)}"
    name = _name(known, nearest)
    place = nearest.domain if nearest.scope != CLUSTER else None
    if nearest.scope == NODE:
        where = f"the largest node, {place}, has"
    elif nearest.scope == CLUSTER:
        where = f"all {len(nearest.nodes)} nodes together have"
    else:
        where = f"the largest {_DOMAINS[str(nearest.scope)]}, {place}, has"
    unplaced = ""
    if nearest.scope == NODE and wanted.within in (FABRIC, RACK, SLICE):
        unplaced = f", and no {_DOMAINS[wanted.within]} that is known holds more"
    if nearest.accelerators >= wanted.accelerators:
        unplaced = ", and no scale-up fabric is known to join them"
    return f"{where} {nearest.accelerators} {name} that work{unplaced}; {wanted.accelerators} wanted{_rest(known)}"


def _name(known: Stands, nearest: Nearest) -> str:
    kinds = {one.kind.name for one in known.found if one.node.name in nearest.nodes}
    return kinds.pop() if len(kinds) == 1 else "accelerators of one type"


def _rest(known: Stands) -> str:
    """What does not count, by reason; where it is one node's, with its name."""
    reasons: dict[str, list[LeftOut]] = {}
    for one in known.left_out:
        reasons.setdefault(one.reason, []).append(one)
    return "".join(f"; {_not_counted(ones)} ({reason})" for reason, ones in list(reasons.items())[:3])


def _not_counted(ones: Sequence[LeftOut]) -> str:
    count = sum(one.accelerators for one in ones)
    where = f" on {ones[0].node}" if len(ones) == 1 else f" on {len(ones)} nodes"
    return f"{count}{where} {'is' if count == 1 else 'are'} not counted"
