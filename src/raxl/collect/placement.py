"""Where a node stands, from all who say something of it.

The order of trust: the devices themselves (a fabric's clique, a TPU's environment), the cloud's own word, the firmware,
Kubernetes' labels, Topograph's, Slurm. Each value is the first one's that says it; the evidence names those who said
what was taken.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, Mapping, Sequence

from raxl.collect.alike import Steps
from raxl.host.replay import ReplayHost
from raxl.model.accelerator import Accelerator, Fabric
from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import Placed
from raxl.plugins import registry

TRUST = {
    "aws-instance-topology": 1,
    "aws-imds": 1,
    "gcp-metadata": 1,
    "azure-imds": 1,
    "oci-imds": 1,
    "netq": 1,
    "dmi": 2,
    "kubernetes": 3,
    "topograph": 4,
    "slurm": 5,
}
"""By evidence, its rank; whoever is not named here speaks of the node's own devices, and comes first."""
_NAMES = ("rack", "block", "slice", "fabric_domain")
"""Fields whose values are somebody's names: two who name a thing by themselves may both be right."""
_RENAMES = ("topograph", "slurm")
_CLIQUE = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\.[0-9]{1,10}")
_NVLINK = "nvidia"
_FABRIC_TELLERS = ("nvml", "nvidia-smi -q")


def of_node(steps: Steps, accelerators: Sequence[Accelerator], stated: Sequence[Placement]) -> Placed:
    """One placement: what the devices, the documents (`stated`) and the platforms say, with what contradicts itself."""
    platforms = [steps.ask(f"platform {name}", _of_platform, name) for name in registry.PLATFORMS]
    fabric, apart = of_fabric(accelerators)
    others = [*stated, *(place for one in platforms for place in one.placements)]
    others, refuted = of_domain(accelerators, others)
    place, differences = merged([fabric, *others])
    return Placed(
        (place,),
        next((one.silence for one in platforms if one.silence), None),
        (*apart, *(problem for one in platforms for problem in one.problems), *refuted, *differences),
    )


def _of_platform(host: ReplayHost, name: str) -> Placed:
    plugin = registry.platform(name)
    return plugin.parse(plugin.ask(host))


def of_fabric(accelerators: Sequence[Accelerator]) -> tuple[Placement, tuple[Problem, ...]]:
    """The multi-node NVLink domain of the node's GPUs, `<cluster UUID>.<clique>`; none where they are not all in one.

    A domain is known only where the fabric's state is completed and its UUID is not zero (`sources/nvml.py`). A GPU of
    which nobody says a fabric does not count.
    """
    own = [one for one in accelerators if one.vendor == _NVLINK and one.fabric is not None]
    found = {_clique(one): one for one in own}
    named = sorted(name for name in found if name)
    if not named:
        return Placement(), ()
    evidence = tuple(name for name in found[named[0]].evidence if name.startswith(_FABRIC_TELLERS))
    if len(found) == 1:
        return Placement(fabric_domain=named[0], evidence=evidence), ()
    words = f"the GPUs are not all in one NVLink domain: {', '.join(named)}" + (", others in none" * (None in found))
    return Placement(), (Problem("placement.fabric_domain", DISAGREEMENT, words, evidence),)


def of_domain(
    accelerators: Sequence[Accelerator], told: Sequence[Placement]
) -> tuple[list[Placement], tuple[Problem, ...]]:
    """The placements without a domain that the GPUs themselves refute, and a problem that names both.

    A completed fabric whose cluster UUID is zero ends at its node, whatever a label says of it.
    """
    own = [one for one in accelerators if one.vendor == _NVLINK and one.fabric is not None]
    ends_here = own and all(_is_alone(one.fabric) for one in own)
    if not ends_here or all(one.fabric_domain is None for one in told):
        return list(told), ()
    evidence = tuple(name for name in own[0].evidence if name.startswith(_FABRIC_TELLERS))
    words = f"{', '.join(evidence) or 'its driver'} says that the NVLink fabric ends at this node (cluster UUID zero)"
    said = [(", ".join(one.evidence), one.fabric_domain) for one in told if one.fabric_domain is not None]
    words += "".join(f", {who} says {domain}" for who, domain in said)
    sources = (*evidence, *dict.fromkeys(who for who, _ in said))
    problem = Problem("placement.fabric_domain", DISAGREEMENT, words, sources)
    return [replace(one, fabric_domain=None) for one in told], (problem,)


def _is_alone(fabric: Fabric | None) -> bool:
    return fabric is not None and fabric.state == "completed" and not (fabric.domain or "").strip("0-")


def _clique(device: Accelerator) -> str | None:
    fabric = device.fabric
    return f"{fabric.domain}.{fabric.clique}" if fabric and fabric.domain and fabric.clique else None


def merged(told: Sequence[Placement]) -> tuple[Placement, tuple[Problem, ...]]:
    """Each value by the most trusted who says it, and a problem for each that two say differently."""
    told = sorted(told, key=_rank)
    best: dict[str, Any] = {}
    problems = []
    for field in (one.name for one in fields(Placement) if one.name != "evidence"):
        said = [(one, value) for one in told if (value := getattr(one, field)) is not None]
        if not said:
            continue
        first, best[field] = said[0]
        said = [(one, value) for one, value in said if _comparable(field, first, one, best[field], value)]
        if len({value for _, value in said}) > 1:
            words = ", ".join(f"{', '.join(one.evidence)} says {value}" for one, value in said)
            evidence = tuple(", ".join(one.evidence) for one, _ in said)
            problems.append(Problem(f"placement.{field}", DISAGREEMENT, words, evidence))
    names = dict.fromkeys(name for one in told if _gave(one, best) for name in one.evidence)
    return Placement(**best, evidence=tuple(names)), tuple(problems)


def _gave(one: Placement, best: Mapping[str, Any]) -> bool:
    """Whether it says one of the values that were taken."""
    return any(getattr(one, field) == value for field, value in best.items())


def _rank(one: Placement) -> int:
    return max((TRUST.get(name, 0) for name in one.evidence), default=0)


def _comparable(field: str, first: Placement, other: Placement, value: Any, said: Any) -> bool:
    """Whether both call the thing by the same names: devices do, a cloud and its labels do, an operator need not."""
    if field not in _NAMES or other is first or _rank(first) == _rank(other):
        return True
    if field == "fabric_domain":
        return all(_CLIQUE.fullmatch(one) is not None for one in (value, said))
    if {*first.evidence, *other.evidence} <= set(_RENAMES):
        return True  # Topograph writes Slurm's topology: the names are meant to be the same
    same_cloud = first.provider is not None and first.provider == other.provider
    return same_cloud and not {*first.evidence, *other.evidence} & set(_RENAMES)
