"""A TPU slice as the environment describes it: what Google's images, GKE and the metadata attribute `tpu-env` state.

Names: https://cloud.google.com/tpu/docs (TPU VM environment variables, TPU types and topologies). The attribute writes
them without the prefix `TPU_`. Bounds are `x,y,z`; a topology is `AxB` or `AxBxC`, in chips.
"""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.sources.numbers import MOST_PLACES, whole

EVIDENCE = "environment"
VISIBLE = "TPU_VISIBLE_CHIPS"
MOST_CHIPS = 1 << 16
"""More chips than any slice has."""
MOST_CHIPS_OF_HOST = 64
NAMES = {
    "type": ("TPU_ACCELERATOR_TYPE", "ACCELERATOR_TYPE"),
    "topology": ("TPU_TOPOLOGY", "TOPOLOGY"),
    "chips_of_host": ("TPU_CHIPS_PER_HOST_BOUNDS", "CHIPS_PER_HOST_BOUNDS"),
    "hosts": ("TPU_HOST_BOUNDS", "HOST_BOUNDS"),
    "wrap": ("TPU_TOPOLOGY_WRAP", "WRAP"),
    "worker": ("TPU_WORKER_ID", "WORKER_ID"),
    "name": ("TPU_NAME", "NODE_ID"),
    "zone": ("TPU_ZONE", "ZONE"),
}
"""By fact, the variables that state it, the first one believed first."""
MODELS = {
    "v2": "TPU v2",
    "v3": "TPU v3",
    "v4": "TPU v4",
    "v5litepod": "TPU v5e",
    "v5p": "TPU v5p",
    "v6e": "TPU v6e",
    "v7x": "TPU7x",
}
"""By Ray's name of a generation, the chip's."""
_ONE_CORE = ("v5litepod", "v6e")
"""Generations whose accelerator type counts chips; all others count TensorCores, two a chip."""
_TYPE = re.compile(r"(?:v|tpu)[0-9]{1,4}[a-zA-Z]{0,16}-[0-9]{1,9}")
_TOPOLOGY = re.compile(r"[0-9]{1,5}(?:x[0-9]{1,5}){1,2}")

Shape = Tuple[int, ...]


class Slice(NamedTuple):
    """A slice, and this host's part of it. None where the environment does not say it."""

    accelerator_type: Optional[str] = None
    """`v4-256`, as it is written."""
    refused_type: Optional[str] = None
    """What stands in its place and is none that Google writes."""
    topology: Optional[Shape] = None
    """Chips in each dimension."""
    chips_of_host: Optional[Shape] = None
    hosts: Optional[Shape] = None
    """Hosts in each dimension."""
    wrap: Tuple[bool, ...] = ()
    """Whether the links of a dimension lead round."""
    worker: Optional[int] = None
    name: Optional[str] = None
    zone: Optional[str] = None
    problems: Tuple[Problem, ...] = ()

    @property
    def generation(self) -> Optional[str]:
        """`v5litepod`: Ray's name of the generation."""
        return normalised(self.accelerator_type).split("-")[0] if self.accelerator_type else None

    @property
    def chips(self) -> Optional[int]:
        """How many chips the slice has: by its topology, else by its type."""
        return count(self.topology) or _chips_of_type(self.accelerator_type)

    @property
    def host_count(self) -> Optional[int]:
        """How many hosts the slice has."""
        here, every = count(self.chips_of_host), self.chips
        return count(self.hosts) or (every // here if here and every and every % here == 0 else None)


def parse(variables: Mapping[str, str]) -> Slice:
    """The slice that these variables describe. What is not written as Google writes it counts as not said."""
    said = {fact: next((variables[one] for one in names if variables.get(one)), None) for fact, names in NAMES.items()}
    kind = said["type"] if said["type"] and _TYPE.fullmatch(said["type"]) else None
    chips, hosts = _bounds(said["chips_of_host"]), _bounds(said["hosts"])
    topology = _topology(said["topology"])
    derived = _product(chips, hosts)
    problems = []
    if topology and derived and count(topology) != count(derived):
        words = f"the topology {said['topology']} has {count(topology)} chips, the bounds of hosts {count(derived)}"
        problems.append(_contradiction(words))
    by_type = _chips_of_type(kind)
    if by_type and count(topology or derived) not in (None, by_type):
        words = f"{kind} has {by_type} chips, the topology {spelled(topology or derived)} {count(topology or derived)}"
        problems.append(_contradiction(words))
    return Slice(
        accelerator_type=kind,
        refused_type=None if kind else said["type"],
        topology=topology or (derived if count(derived) == by_type or not by_type else None),
        chips_of_host=chips,
        hosts=hosts,
        wrap=tuple(word.strip().lower() == "true" for word in (said["wrap"] or "").split(",") if word.strip())[:3],
        worker=whole(said["worker"], MOST_PLACES),
        name=said["name"],
        zone=said["zone"],
        problems=tuple(problems),
    )


def placement(own: Slice) -> Placement:
    """Where the node stands: its slice, and its place in it. Hosts of one slice reach each other over ICI."""
    if own.accelerator_type is None and own.topology is None:
        return Placement()
    several = own.host_count is not None and own.host_count > 1
    return Placement(
        zone=own.zone,
        slice=own.name,
        slice_topology=spelled(own.topology),
        worker_index=own.worker,
        fabric_domain=own.name if several else None,
        evidence=(EVIDENCE,),
    )


def ray_type(accelerator_type: Optional[str]) -> Optional[str]:
    """Ray's `ray.io/accelerator-type` for a TPU type: `TPU-V6E` for `v6e-16`; None where Ray takes it for none.

    As `ray._private.accelerators.tpu` of Ray 2.60 does.
    """
    if not accelerator_type or not re.fullmatch(r"(v|tpu)\d+[a-zA-Z]*-\d+", accelerator_type):
        return None
    return f"TPU-{normalised(accelerator_type).split('-')[0].upper()}"


def normalised(accelerator_type: str) -> str:
    """`v7x-16` for `tpu7x-16`."""
    return re.sub(r"^tpu-?v?", "v", accelerator_type.strip().lower())


def neighbours(own: Slice) -> List[Tuple[int, int]]:
    """The pairs of this host's chips that stand side by side in the torus, by their numbers, x counted first.

    Empty where the host's bounds are not known. A dimension leads round within a host only where the host spans it.
    """
    shape = own.chips_of_host
    if shape is None or (count(shape) or 0) > MOST_CHIPS_OF_HOST:
        return []
    pairs = set()
    steps = [count(shape[:place]) or 1 for place in range(len(shape))]
    for number in range(count(shape) or 0):
        for place, (size, step) in enumerate(zip(shape, steps)):
            at = number // step % size
            if at + 1 < size:
                pairs.add((number, number + step))
            elif size > 2 and _leads_round(own, place):
                pairs.add((number - at * step, number))
    return sorted(pairs)


def _leads_round(own: Slice, place: int) -> bool:
    spans = own.topology is not None and own.chips_of_host is not None and len(own.topology) > place
    whole_of_it = spans and own.topology[place] == own.chips_of_host[place]  # type: ignore[index]
    return whole_of_it and len(own.wrap) > place and own.wrap[place]


def count(shape: Optional[Sequence[int]]) -> Optional[int]:
    """The product; None for None, and for more than any slice has."""
    if shape is None:
        return None
    product = 1
    for size in shape:
        product *= size
    return product if 0 < product <= MOST_CHIPS else None


def spelled(shape: Optional[Sequence[int]]) -> Optional[str]:
    """`4x4x8`."""
    return "x".join(map(str, shape)) if shape else None


def _chips_of_type(accelerator_type: Optional[str]) -> Optional[int]:
    if not accelerator_type:
        return None
    generation, _, size = normalised(accelerator_type).partition("-")
    cores = 1 if generation in _ONE_CORE else 2
    number = whole(size, 2 * MOST_CHIPS) if generation in MODELS else None
    return max(number // cores, 1) if number else None


def _bounds(words: Optional[str]) -> Optional[Shape]:
    sizes = [whole(word, MOST_CHIPS) for word in (words or "").split(",")[:4]]
    return tuple(map(int, sizes)) if len(sizes) in (2, 3) and all(sizes) and count(sizes) else None  # type: ignore


def _topology(words: Optional[str]) -> Optional[Shape]:
    if not words or not _TOPOLOGY.fullmatch(words.strip().lower()):
        return None
    shape = tuple(int(word) for word in words.strip().lower().split("x"))
    return shape if count(shape) else None


def _product(chips: Optional[Shape], hosts: Optional[Shape]) -> Optional[Shape]:
    if chips is None or hosts is None or len(chips) != len(hosts):
        return None
    return tuple(a * b for a, b in zip(chips, hosts))


def _contradiction(words: str) -> Problem:
    return Problem("placement.slice_topology", DISAGREEMENT, words, (EVIDENCE,))
