"""What is alike for a TPU chip whoever names it: the host's files, or the environment alone."""

from __future__ import annotations

from itertools import combinations
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from raxl.model.accelerator import Fabric, RayView
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Silence
from raxl.sources import tpu_slice

Attribute = Union[str, int, float, bool, None]
VENDOR, KIND, RESOURCE = "tpu", "tpu", "TPU"
LIBTPU = Silence(NOT_ASKED, "libtpu alone tells it, and loading libtpu takes the chips' lock: raxl never does")
_NUMBERLESS = Silence(NOT_SUPPORTED, "a TPU shows its host no serial number")
_GIB = {"TPU v2": 16, "TPU v3": 32, "TPU v4": 32, "TPU v5e": 16, "TPU v5p": 95, "TPU v6e": 32, "TPU7x": 192}
"""High-bandwidth memory of a chip by Google's tables, GiB: nominal, nobody reads it."""


def silences(own: tpu_slice.Slice) -> Dict[str, Silence]:
    """Why a chip has no memory, serial number and Ray type."""
    told = {"memory_bytes": LIBTPU, "uuid": _NUMBERLESS, "serial": _NUMBERLESS}
    if own.refused_type is not None:
        words = f"TPU_ACCELERATOR_TYPE is {own.refused_type[:40]!r}, and Ray takes `v6e-8` and the like"
        told["ray.type"] = Silence(FAILED, words, tpu_slice.EVIDENCE)
    elif own.accelerator_type is None:
        words = "no TPU_ACCELERATOR_TYPE in the environment; Ray then asks Google's metadata server, and raxl does not"
        told["ray.type"] = Silence(NOT_ASKED, words, tpu_slice.EVIDENCE)
    if own.host_count == 1:
        told["fabric"] = Silence(NOT_APPLICABLE, "its slice has no other host", tpu_slice.EVIDENCE)
    return told


def fabric(own: tpu_slice.Slice) -> Optional[Fabric]:
    """The slice, where it has several hosts: they reach each other over ICI."""
    domain = tpu_slice.placement(own).fabric_domain
    return Fabric(domain=domain) if domain else None


def ray_view(own: tpu_slice.Slice) -> RayView:
    """How Ray calls the chip."""
    return RayView(resource=RESOURCE, type=tpu_slice.ray_type(own.accelerator_type))


def attributes(own: tpu_slice.Slice, model: Optional[str], visible: Optional[str]) -> Dict[str, Attribute]:
    """The slice that the chip belongs to, its nominal memory, and which chips the environment leaves to a process."""
    memory = _GIB.get(model or "")
    told: Dict[str, Attribute] = {
        "accelerator_type": own.accelerator_type,
        "slice_chips": own.chips,
        "slice_hosts": own.host_count,
        "nominal_memory_bytes": memory << 30 if memory else None,
        "visible_chips": visible,
    }
    return {name: value for name, value in told.items() if value is not None}


def from_environment(own: tpu_slice.Slice, variables: Mapping[str, str]) -> List[Claim]:
    """A claim for each chip that the environment gives this host."""
    model = tpu_slice.MODELS.get(own.generation or "")
    told = attributes(own, model, variables.get(tpu_slice.VISIBLE))
    return [
        Claim(
            vendor=VENDOR,
            kind=KIND,
            evidence=tpu_slice.EVIDENCE,
            index=index,
            model=model,
            fabric=fabric(own),
            ray=ray_view(own),
            visible_env=tpu_slice.VISIBLE,
            attributes=told,
            silent=silences(own),
        )
        for index in range(min(tpu_slice.count(own.chips_of_host) or 0, tpu_slice.MOST_CHIPS_OF_HOST))
    ]


def uncounted(own: tpu_slice.Slice) -> List[Problem]:
    """Where an environment alone tells of a slice, and not how many of its chips are here."""
    if tpu_slice.count(own.chips_of_host) is not None or (own.accelerator_type is None and own.topology is None):
        return []
    words = "the environment names a TPU slice, and not how many chips this host has (TPU_CHIPS_PER_HOST_BOUNDS)"
    return [Problem("accelerators", NOT_ASKED, words, (tpu_slice.EVIDENCE,))]


def links(own: tpu_slice.Slice, chips: Sequence[Claim]) -> Tuple[List[LinkClaim], List[Problem]]:
    """ICI between the chips that stand side by side; where nobody says how they stand, no pair is told at all."""
    numbered = {chip.index: chip.names[0] for chip in chips if chip.index is not None}
    if len(chips) < 2:
        return [], []
    if tpu_slice.count(own.chips_of_host) != len(chips) or set(numbered) != set(range(len(chips))):
        names = [chip.names[0] for chip in chips]
        words = "the environment does not say how the chips here stand in the torus; libtpu would, and takes their lock"
        return _withheld(names), [Problem("links", NOT_ASKED, words, (tpu_slice.EVIDENCE,))]
    found = [
        LinkClaim(numbered[a], numbered[b], fabric_class("ici", None), "ici", evidence=tpu_slice.EVIDENCE)
        for a, b in tpu_slice.neighbours(own)
    ]
    words = "which chip stands where in the torus is assumed from their order: libtpu alone tells their coordinates"
    return found, [Problem("links.link_class", NOT_ASKED, words)] if len(chips) > 2 else []


def contradictions(own: tpu_slice.Slice, chips: int, variables: Mapping[str, str]) -> List[Problem]:
    """A count of chips that the environment gives the host and that are not here."""
    told = tpu_slice.count(own.chips_of_host)
    if told in (None, chips) or variables.get(tpu_slice.VISIBLE):
        return []
    words = f"the environment gives this host {told} TPU chips, {chips or 'none'} of them can be seen"
    return [Problem("accelerators", DISAGREEMENT, words, (tpu_slice.EVIDENCE, "sysfs"))]


def other_generation(own: tpu_slice.Slice, chips: Sequence[Claim]) -> List[Problem]:
    """An accelerator type in the environment that is another generation's than the chips are: Ray believes it."""
    named = tpu_slice.ray_type(own.accelerator_type)
    models = {chip.model_by_id for chip in chips}
    if named is None or None in models or not models or models == {tpu_slice.MODELS.get(own.generation or "")}:
        return []
    words = (
        f"Ray would call the chips {named}, after TPU_ACCELERATOR_TYPE={own.accelerator_type}, "
        f"and by their PCI ids they are {' and '.join(sorted(map(str, models)))}: correct TPU_ACCELERATOR_TYPE"
    )
    return [Problem("ray.TPU.type", DISAGREEMENT, words, (tpu_slice.EVIDENCE, "sysfs"))]


def _withheld(names: Iterable[str]) -> List[LinkClaim]:
    return [LinkClaim(a, b, None, None, evidence=tpu_slice.EVIDENCE) for a, b in combinations(names, 2)]
