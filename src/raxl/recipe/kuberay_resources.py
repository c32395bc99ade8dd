"""Which accelerators a pod asks for, and how many of them KubeRay has Ray register.

What KubeRay does is what `addWellKnownAcceleratorResources` and `updateRayStartParamsResources` of its operator do:
https://github.com/ray-project/kuberay/blob/master/ray-operator/controllers/ray/common/pod.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from raxl.recipe import kuberay_quantity
from raxl.recipe.kuberay_groups import Group
from raxl.recipe.kuberay_tree import mapping

_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")
_MAPPED = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_NOT_MAPPED = (
    (re.compile(r"nvidia\.com/(gpu\.shared|mig-.+)"), "GPU"),
    (re.compile(r"amd\.com/[a-z]+_nps\d"), "GPU"),
    (re.compile(r"gpu\.intel\.com/(i915|xe)"), "GPU"),
    (re.compile(r"aws\.amazon\.com/neuron(device)?"), "neuron_cores"),
    (re.compile(r"habana\.ai/gaudi"), "HPU"),
    (re.compile(r"huawei\.com/(ascend.*|npu.*)", re.IGNORECASE), "NPU"),
    (re.compile(r"(rebellions\.ai|furiosa\.ai|tenstorrent\.com|cambricon\.com|enflame\.com|hygon\.com)/.+"), ""),
    (re.compile(r"qualcomm\.com/qaic.*"), ""),
)
"""Keys of device plug-ins that KubeRay passes over, and what Ray calls such devices; empty: a resource of one's own."""
_FLAGS = ("num-cpus", "num-gpus", "memory", "resources")


class Asked(NamedTuple):
    """Accelerators among a container's limits."""

    key: str
    number: int | None
    """None where it is no whole number."""
    ray: str
    """What Ray calls them; empty where it has no name for them."""
    is_mapped: bool
    """Whether KubeRay tells Ray of them."""


class Registered(NamedTuple):
    """What Ray would register."""

    amounts: Mapping[str, float]
    """By Ray's name."""
    is_unread: bool = False
    """Whether KubeRay cannot read `rayStartParams.resources`: then it tells Ray of no accelerator by itself."""


def is_gpu(key: str) -> bool:
    """Whether KubeRay takes it for GPUs."""
    return key.endswith("gpu") or _MIG.search(key) is not None


def asked(limits: Mapping[str, Any]) -> list[Asked]:
    """The accelerators among the limits, in the order in which KubeRay looks at them."""
    found = []
    for key in sorted(limits):
        count = kuberay_quantity.whole(limits[key])
        if count == 0:
            continue
        if is_gpu(key):
            found.append(Asked(key, count, "GPU", True))
        elif key in _MAPPED:
            found.append(Asked(key, count, _MAPPED[key], True))
        else:
            name = next((name for pattern, name in _NOT_MAPPED if pattern.fullmatch(key)), None)
            if name is not None:
                found.append(Asked(key, count, name, False))
    return found


def both(group: Group) -> list[str]:
    """The flags that `rayStartParams` has beside a `resources` of the group; KubeRay refuses the two together."""
    return [flag for flag in _FLAGS if group.start.get(flag) not in (None, "")] if group.spec.get("resources") else []


def registered(group: Group) -> Registered:
    """What Ray would register in a pod of the group."""
    gpus = _number(group.start.get("num-gpus"))
    amounts, is_unread = _custom(group.start.get("resources"))
    for key, value in mapping(group.spec.get("resources")).items():
        amount = _number(value)
        if is_gpu(key.lower()):
            gpus = amount
        elif amount is not None and key.lower() not in ("cpu", "memory"):
            amounts[key] = amount
    given = is_unread or any(name in amounts for name in _MAPPED.values())
    for one in asked(group.limits):
        if one.ray == "GPU" and one.is_mapped and gpus is None and not is_unread:
            gpus = one.number
        elif one.is_mapped and one.ray != "GPU" and not given and one.number is not None:
            amounts[one.ray] = one.number
            given = True
    if gpus is not None:
        amounts["GPU"] = gpus
    return Registered(amounts, is_unread)


def _custom(value: Any) -> tuple[dict[str, float], bool]:
    """What `ray start` makes of the flag, and whether KubeRay cannot read it.

    The shell takes the backslashes out of `"{\\"TPU\\": 4}"`, KubeRay does not.
    """
    if value is None:
        return {}, False
    words = str(value).strip("'\"` ")
    strict = _numbers(words)
    told = _numbers(words.replace('\\"', '"')) if strict is None else strict
    return told or {}, strict is None


def _numbers(words: str) -> dict[str, float] | None:
    try:
        told = json.loads(words)
        return {str(key): float(one) for key, one in told.items() if not isinstance(one, bool)}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _number(value: Any) -> float | None:
    amount = kuberay_quantity.read(value)
    return None if amount is None else float(amount)
