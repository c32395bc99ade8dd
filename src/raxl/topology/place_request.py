"""What to tell Ray so that it places a job on such a set: bundles, label selectors, topology strategy.

`topology_strategy` takes `ray.io/node-id` with any strategy and one other label, with STRICT_PACK alone:
https://github.com/ray-project/ray/blob/ray-2.60.0/python/ray/util/placement_group.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from raxl.model.label import KEYS as LABEL_KEYS
from raxl.model.label import Label
from raxl.model.place import BLOCK, CLUSTER, FABRIC, NODE, RACK, SLICE, ZONE, MissingLabel, RayRequest, Wanted
from raxl.topology import label_values, ray_types
from raxl.topology.label_devices import accelerator_type
from raxl.topology.label_domain import gpu_domain
from raxl.topology.place_stands import Found, Kind, Stand, domain
from raxl.topology.working import fleet

NODE_ID, TYPE, MODEL = "ray.io/node-id", "ray.io/accelerator-type", "raxl/model"
KEYS = {
    FABRIC: "ray.io/gpu-domain",
    SLICE: "raxl/slice",
    RACK: "raxl/rack",
    BLOCK: "raxl/block",
    ZONE: "ray.io/availability-zone",
}
"""By scope, the label that names its domain."""
_AROUND = (BLOCK, ZONE)
"""What tells domains of one name apart."""
_MOST_VALUES = 8
"""More domains than this are not listed in a selector: Ray then chooses among all that fit."""

Selector = dict[str, tuple[str, ...]]
"""By label, the values that fit."""


def labels(stand: Stand) -> dict[str, str]:
    """Those labels of a node that the selectors use, as `raxl labels` prints them; what is not known has none."""
    devices = {TYPE: stand.kind.type, MODEL: _model(stand)}
    told: dict[str, str | None] = {}
    for scope, key in KEYS.items():
        known = domain(stand.node, stand.devices, scope) if scope != FABRIC else None
        told[key] = known[-1] if known else None
    named = gpu_domain(stand.node, fleet(stand.node))
    told[KEYS[FABRIC]] = named.fact if isinstance(named, Label) else None
    return {
        **{key: label_values.made_valid(value) for key, value in devices.items() if value},
        **{key: label_values.name(value) for key, value in told.items() if value},
    }


def _model(stand: Stand) -> str | None:
    """The model as `raxl labels` tells it; none for a node whose accelerators differ."""
    if len({device.model for device in stand.node.accelerators}) > 1:
        return None
    return ray_types.model(stand.devices[0])


class Asker:
    """Writes requests, and knows which nodes each would fit."""

    def __init__(self, found: Sequence[Stand], wanted: Wanted) -> None:
        self._within = wanted.within
        self._labels = [(stand, labels(stand)) for stand in found]
        self._by_label: dict[tuple[str, str], list[tuple[Stand, dict[str, str]]]] = {}
        for stand, told in self._labels:
            for item in told.items():
                self._by_label.setdefault(item, []).append((stand, told))
        kinds = {stand.kind for stand in found}
        self._models = {one.type for one in kinds if len({two.model for two in kinds if two.type == one.type}) > 1}
        self._ambiguous = {scope for scope in KEYS if _is_ambiguous(self._labels, scope)}
        self._matches: dict[tuple[object, ...], list[str]] = {}

    def request(self, best: Found, others: Sequence[Found]) -> RayRequest | None:
        """For a set and those that are alike; None where Ray has no resource for it, or no label can name its
        domain."""
        kind = best.taken[0].stand.kind
        if kind.resource is None or kind.each is None:
            return None
        if best.scope in KEYS and KEYS[best.scope] not in labels(best.taken[0].stand):
            return None
        selector = self._selector(best, others, kind)
        written = {
            key: values[0] if len(values) == 1 else f"in({','.join(values)})" for key, values in selector.items()
        }
        own = {stand.node.name for found in (best, *others) for stand in _stands(found)}
        also = [name for name in self._fitting(selector, best) if name not in own]
        return RayRequest(
            resource=kind.resource,
            each=kind.each,
            bundles=tuple({kind.resource: one.share * kind.each} for one in best.taken),
            bundle_label_selector=(written,) * len(best.taken),
            topology_strategy=_strategy(best.scope),
            missing_labels=tuple(_missing(best, selector)),
            also_matches=len(also),
            also_matches_first=tuple(also[:3]),
        )

    def _selector(self, best: Found, others: Sequence[Found], kind: Kind) -> Selector:
        own = labels(best.taken[0].stand)
        keys = [TYPE] if kind.type and not _has_model_alone(best, own) else [MODEL]
        if kind.type in self._models and MODEL in own and MODEL not in keys:
            keys.append(MODEL)
        selector: Selector = {key: (own[key],) for key in keys if key in own}
        if best.scope == NODE:
            return selector
        key = KEYS.get(best.scope)
        pins = [*self._outer(best.scope), *(_AROUND if best.scope in self._ambiguous else ())]
        if pins:  # one domain by its full name: of several, Ray could take nodes of each
            named = [*(KEYS[scope] for scope in pins), *([key] if key else [])]
            return {**selector, **{one: (own[one],) for one in named if one in own}}
        told = [labels(found.taken[0].stand).get(key or "") for found in (best, *others)]
        values = tuple(dict.fromkeys(value for value in told if value))
        return {**selector, key: values} if key and len(values) <= _MOST_VALUES else selector

    def _outer(self, scope: str) -> tuple[str, ...]:
        """What a set was told to stay within, where the strategy does not say it."""
        return (self._within,) if self._within not in (None, NODE, scope) else ()

    def _fitting(self, selector: Selector, best: Found) -> list[str]:
        """The names of the nodes that have these labels and could hold the least of the bundles."""
        least = min(one.share for one in best.taken)
        known = (tuple(sorted(selector.items())), least)
        if known not in self._matches:
            lists = [
                [pair for value in values for pair in self._by_label.get((key, value), [])]
                for key, values in selector.items()
            ]
            few = min(lists, key=len, default=self._labels)
            self._matches[known] = [
                stand.node.name
                for stand, told in few
                if max(stand.counted, stand.capacity) >= least
                and all(told.get(key) in values for key, values in selector.items())
            ]
        return self._matches[known]


def _is_ambiguous(told: Sequence[tuple[Stand, dict[str, str]]], scope: str) -> bool:
    """Whether one value of the label stands for several domains: racks of two zones may have one name."""
    owners: dict[str, object] = {}
    for stand, values in told:
        value = values.get(KEYS[scope])
        if value is not None and owners.setdefault(value, known := domain(stand.node, stand.devices, scope)) != known:
            return True
    return False


def _stands(found: Found) -> Iterable[Stand]:
    return (*(one.stand for one in found.taken), *found.spare)


def _has_model_alone(best: Found, own: Mapping[str, str]) -> bool:
    """Whether all raylets of the set carry the model and not all the type, so that only the model can be asked for."""
    carried = [one.stand.ray.labels if one.stand.ray else None for one in best.taken]
    return all(one is not None and MODEL in own and one.get(MODEL) == own[MODEL] for one in carried) and not all(
        one is not None and one.get(TYPE) == own.get(TYPE) for one in carried
    )


def _strategy(scope: str) -> Mapping[str, str]:
    if scope == NODE:
        return {NODE_ID: "STRICT_PACK"}
    packed = {} if scope == CLUSTER else {KEYS[scope]: "STRICT_PACK"}
    return {**packed, NODE_ID: "STRICT_SPREAD"}


def _missing(best: Found, selector: Selector) -> Iterable[MissingLabel]:
    """What the raylets of the set were not started with, where Ray's view tells their labels."""
    keys = list(dict.fromkeys([*selector, *(key for key in [KEYS.get(best.scope)] if key)]))
    for one in best.taken:
        wanted = labels(one.stand)
        for key in keys if one.stand.ray is not None else ():
            has = one.stand.ray.labels.get(key) if one.stand.ray else None
            if key in wanted and has != wanted[key]:
                yield MissingLabel(one.stand.node.name, key, wanted[key], has, _is_printed(one.stand, key))


def _is_printed(stand: Stand, key: str) -> bool:
    """Whether `raxl labels` prints it for the node."""
    return isinstance(accelerator_type(stand.node, fleet(stand.node)), Label) if key == TYPE else key in LABEL_KEYS
