"""TPU slices: hosts, chips and topology are one sum, and pods that break it stay pending for ever."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from raxl.model.manifest import FAIL, WARN, ManifestFinding
from raxl.recipe import kuberay_quantity
from raxl.recipe.kuberay_groups import RAY_CONTAINER, Group

CHIPS = "google.com/tpu"
ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY = "cloud.google.com/gke-tpu-topology"
LIMIT = (*RAY_CONTAINER, "resources", "limits", CHIPS)
SELECTOR = ("template", "spec", "nodeSelector")
_TOPOLOGY = re.compile(r"[1-9]\d{0,3}(x[1-9]\d{0,3}){1,2}", re.ASCII)


class _Generation(NamedTuple):
    dimensions: int
    alone: tuple[int, ...]
    """Chips of a host that is a slice by itself."""
    together: int
    """Chips of each host of a slice of several."""


_GENERATIONS = {
    "tpu-v4-podslice": _Generation(3, (4,), 4),
    "tpu-v5-lite-device": _Generation(2, (1, 4, 8), 4),
    "tpu-v5-lite-podslice": _Generation(2, (1, 4, 8), 4),
    "tpu-v5p-slice": _Generation(3, (4,), 4),
    "tpu-v6e-slice": _Generation(2, (1, 4, 8), 4),
    "tpu7x": _Generation(3, (4,), 4),
}
"""By node label: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"""


def findings(group: Group, chips_per_host: int | None = None) -> Iterator[ManifestFinding]:
    """What does not add up; nothing for a group without TPUs. `chips_per_host` is the recipe's."""
    limit = kuberay_quantity.whole(group.limits.get(CHIPS))
    kind, topology = (group.node_selector.get(key) for key in (ACCELERATOR, TOPOLOGY))
    if not limit:
        if kind or topology:
            told = f"its nodes are TPU nodes ({kind or topology}), and its Ray container asks for no {CHIPS}"
            yield group.found(FAIL, "tpu", SELECTOR, told, f'resources.limits: {{{CHIPS}: "4"}}')
        return
    if not kind or not topology:
        missing = " and ".join(key for key, value in ((ACCELERATOR, kind), (TOPOLOGY, topology)) if not value)
        told = f"{CHIPS} is asked for without the node selector {missing}: GKE places no such pod"
        yield group.found(WARN, "tpu", SELECTOR, told, "name the slice's generation and topology in nodeSelector")
    yield from _sum(group, limit, kind, topology, chips_per_host)


def _sum(group: Group, limit: int, kind: Any, topology: Any, chips_per_host: int | None) -> Iterator[ManifestFinding]:
    generation = _GENERATIONS.get(str(kind))
    if topology and not _TOPOLOGY.fullmatch(str(topology)):
        told = f"the topology {str(topology)[:40]!r} is no product of sides"
        yield group.found(FAIL, "topology", (*SELECTOR, TOPOLOGY), told, "like 4x4, or 2x2x2 on v4, v5p and v7")
        return
    sides = [int(side) for side in str(topology).split("x")] if topology else []
    if generation and sides and len(sides) != generation.dimensions:
        told = f"{kind} has topologies of {generation.dimensions} sides, {topology} has {len(sides)}"
        yield group.found(FAIL, "topology", (*SELECTOR, TOPOLOGY), told, "name one that the generation has")
        return
    if chips_per_host is not None and limit != chips_per_host:
        told = f"a pod asks for {limit} chips, a host of this platform has {chips_per_host}"
        yield group.found(FAIL, "tpu", LIMIT, told, f'resources.limits: {{{CHIPS}: "{chips_per_host}"}}')
    if not sides or group.hosts is None:
        return
    yield from _hosts(group, limit, math.prod(sides), str(topology), generation)


def _hosts(
    group: Group, limit: int, chips: int, topology: str, generation: _Generation | None
) -> Iterator[ManifestFinding]:
    hosts = group.hosts
    if hosts is None:
        return
    per_host = limit
    if generation and chips > limit and limit != generation.together:
        per_host = generation.together
        told = f"topology {topology} takes several hosts, and they have {per_host} chips each: a pod asks for {limit}"
        yield group.found(FAIL, "tpu", LIMIT, told, f'resources.limits: {{{CHIPS}: "{per_host}"}}')
    elif generation and chips <= limit and limit not in generation.alone:
        told = f"no host of this generation has {limit} chips"
        yield group.found(FAIL, "tpu", LIMIT, told, f"one of {', '.join(map(str, generation.alone))}")
        return
    if chips < per_host:
        told = f"topology {topology} is {chips} chips, and a pod asks for {per_host}"
        yield group.found(FAIL, "tpu", LIMIT, told, f'resources.limits: {{{CHIPS}: "{chips}"}}')
    elif chips % per_host:
        told = f"topology {topology} is {chips} chips: pods of {per_host} do not share them out"
        yield group.found(FAIL, "topology", (*SELECTOR, TOPOLOGY), told, "name a topology that hosts fill")
    elif hosts != chips // per_host:
        needed = chips // per_host
        told = (
            f"topology {topology} is {chips} chips, {per_host} a host: it takes "
            f"{needed} host{'s' * (needed != 1)}, and numOfHosts is {hosts}"
        )
        yield group.found(FAIL, "hosts", ("numOfHosts",), told, f"numOfHosts: {needed}")
