"""A KubeRay manifest held against arithmetic, and against what its operator refuses or passes over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raxl.model.manifest import FAIL, NOTE, WARN, ManifestFinding
from raxl.recipe import kuberay_labels, kuberay_memory, kuberay_quantity, kuberay_resources, kuberay_tpu
from raxl.recipe.kuberay_groups import CLUSTER_AT, CONTAINERS, RAY_CONTAINER, Group, Object
from raxl.recipe.kuberay_tree import Path, at, entries, mapping, spelled

_COUNTS = ("replicas", "minReplicas", "maxReplicas", "numOfHosts")
_TEXTS: tuple[Path, ...] = (
    ("rayStartParams",),
    ("labels",),
    ("resources",),
    ("template", "metadata", "labels"),
    ("template", "spec", "nodeSelector"),
)
"""Mappings whose values are text to Kubernetes: it refuses a bare 8 or true there."""


def of_object(one: Object) -> Iterator[ManifestFinding]:
    """What is wrong with the object itself."""
    for path in one.tree.twice:
        if path[: len(one.path)] == one.path:
            told = f"the key {spelled(path[len(one.path) :])} stands there twice"
            yield one.found(FAIL, "yaml", path[len(one.path) :], told, "Kubernetes refuses it: keep one")
    if one.kind not in CLUSTER_AT:
        yield one.found(NOTE, "kind", ("kind",), f"a {one.kind or 'thing without a kind'} of ray.io is not looked into")
        return
    cluster = at(one.tree.value, (*one.path, *CLUSTER_AT[one.kind]))
    if not isinstance(cluster, Mapping):
        if one.kind == "RayJob" and mapping(at(one.tree.value, (*one.path, "spec"))).get("clusterSelector"):
            yield one.found(NOTE, "kind", ("spec",), "it runs on a cluster that another manifest describes")
        else:
            yield one.found(FAIL, "kind", ("spec",), f"it has no {'.'.join(map(str, CLUSTER_AT[one.kind]))}")
    elif "headGroupSpec" not in cluster:
        yield one.found(FAIL, "kind", CLUSTER_AT[one.kind], "it has no headGroupSpec")


def of_group(group: Group, chips_per_host: int | None = None) -> Iterator[ManifestFinding]:
    """What is wrong with a group, whatever the platform; `chips_per_host` is the recipe's, of a TPU slice."""
    if not group.container:
        yield group.found(FAIL, "containers", CONTAINERS, "it has no container", "KubeRay refuses it")
        return
    yield from _counts(group)
    yield from _texts(group)
    yield from kuberay_labels.findings(group)
    yield from _resources(group)
    yield from _limits(group)
    yield from kuberay_tpu.findings(group, chips_per_host)
    yield from kuberay_memory.findings(group)


def _counts(group: Group) -> Iterator[ManifestFinding]:
    if group.is_head:
        return
    if not group.name:
        yield group.found(FAIL, "group-name", (), "it has no groupName", "KubeRay refuses it")
    counts: dict[str, int] = {}
    for key in _COUNTS:
        value = group.spec.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < (key == "numOfHosts"):
            told = f"{key} is {str(value)[:40]!r}, and has to be a whole number{' from 1 on' * (key == 'numOfHosts')}"
            yield group.found(FAIL, "counts", (key,), told, f"{key}: 1")
        else:
            counts[key] = value
    least, most, wanted = counts.get("minReplicas", 0), counts.get("maxReplicas"), counts.get("replicas")
    if most is not None and least > most:
        told = f"minReplicas {least} is above maxReplicas {most}"
        yield group.found(FAIL, "counts", ("minReplicas",), told, "KubeRay makes no pods of it")
    elif wanted is not None and (wanted < least or (most is not None and wanted > most)):
        bound = f"minReplicas {least}" if wanted < least else f"maxReplicas {most}"
        told = f"replicas {wanted} is beyond {bound}, which KubeRay takes in its place"
        yield group.found(WARN, "counts", ("replicas",), told, f"replicas: {least if wanted < least else most}")


def _texts(group: Group) -> Iterator[ManifestFinding]:
    """Values that YAML reads as numbers or switches where Kubernetes wants text."""
    for path in _TEXTS:
        for key, value in mapping(at(group.spec, path)).items():
            yield from _text(group, (*path, key), value)
    for place, container in enumerate(entries(at(group.spec, CONTAINERS))):
        for number, one in enumerate(entries(mapping(container).get("env"))):
            path = (*CONTAINERS, place, "env", number, "value")
            yield from _text(group, path, mapping(one).get("value", ""), str(mapping(one).get("name")))


def _text(group: Group, path: Path, value: Any, name: str = "") -> Iterator[ManifestFinding]:
    if isinstance(value, str) or (value is None and path[0] != "rayStartParams"):
        return
    # `resources` of a group holds quantities as text too: the field's type is a mapping of texts.
    quoted = str(value).lower() if isinstance(value, bool) else str("" if value is None else value)
    told = f"{name or spelled(path)} is {quoted[:40] or 'empty'} without quotes, and has to be text"
    yield group.found(FAIL, "text", path, told, f'write "{quoted[:40]}" in quotes')


def _resources(group: Group) -> Iterator[ManifestFinding]:
    """What the pod has beside what Ray would count."""
    if flags := kuberay_resources.both(group):
        told = f"the group's resources and rayStartParams.{flags[0]} are both set: KubeRay refuses the two together"
        path = ("rayStartParams", flags[0])
        yield group.found(FAIL, "resources", path, told, "keep the group's resources (KubeRay 1.5 or newer)")
    found = kuberay_resources.registered(group)
    devices = kuberay_resources.asked(group.limits)
    if found.is_unread and any(one.is_mapped for one in devices):
        path = ("rayStartParams", "resources")
        told = "KubeRay cannot read rayStartParams.resources as JSON, and then tells Ray of no accelerator"
        yield group.found(FAIL, "resources", path, told, """write it like resources: '{"mine": 1}'""")
    counted: set[str] = set()
    for one in devices:
        if not one.ray or (one.ray in counted and one.is_mapped):
            yield from _uncounted(group, one, one.ray in counted)
        else:
            yield from _compared(group, one, found.amounts.get(one.ray, 0.0), found.is_unread)
        counted.add(one.ray)
    for name in ("GPU", "TPU", "neuron_cores"):
        if found.amounts.get(name, 0) > 0 and name not in counted and not group.pod.get("resourceClaims"):
            told = f"Ray would count {_amount(found.amounts[name])} {name}, and the pod asks for none"
            yield group.found(FAIL, "resources", _place(group, name), told, "ask for them in resources.limits")


def _uncounted(group: Group, one: kuberay_resources.Asked, is_second: bool) -> Iterator[ManifestFinding]:
    path = (*RAY_CONTAINER, "resources", "limits", one.key)
    if is_second:
        told = f"{one.key} is a second kind of {one.ray}: KubeRay counts the first alone"
        yield group.found(WARN, "resources", path, told, "a group of its own for each kind")
    else:
        told = f"Ray has no name for {one.key}: it counts none unless a resource of your own says so"
        yield group.found(NOTE, "resources", path, told)


def _compared(group: Group, one: kuberay_resources.Asked, counted: float, is_unread: bool) -> Iterator[ManifestFinding]:
    path = (*RAY_CONTAINER, "resources", "limits", one.key)
    if one.number is None:
        return
    if counted == 0:
        if not (one.is_mapped and is_unread):
            told = f"the pod has {one.number} × {one.key}, and Ray would count no {one.ray}" + (
                "" if one.is_mapped else ": KubeRay does not map this key"
            )
            yield group.found(FAIL, "resources", path, told, _remedy(one))
    elif one.ray == "neuron_cores" and not one.is_mapped:
        return  # a device has two cores or eight, as its generation and its settings say
    elif counted > one.number:
        told = f"Ray would count {_amount(counted)} {one.ray}, and the pod has {one.number} × {one.key}"
        yield group.found(FAIL, "resources", _place(group, one.ray), told, "make the two agree")
    elif counted < one.number:
        told = f"Ray would count {_amount(counted)} {one.ray} of the {one.number} × {one.key} that the pod has"
        yield group.found(WARN, "resources", _place(group, one.ray), told, "make the two agree")


def _remedy(one: kuberay_resources.Asked) -> str:
    if one.ray == "GPU":
        return f'rayStartParams: {{num-gpus: "{one.number}"}}'
    many = "CORES" if one.ray == "neuron_cores" and not one.is_mapped else one.number
    return f"""rayStartParams: {{resources: '{{"{one.ray}": {many}}}'}}"""


def _place(group: Group, name: str) -> Path:
    """Where the manifest tells Ray of a resource."""
    if group.spec.get("resources"):
        return ("resources", name)
    return ("rayStartParams", "num-gpus" if name == "GPU" else "resources")


def _amount(value: float) -> str:
    return f"{value:g}"


def _limits(group: Group) -> Iterator[ManifestFinding]:
    """What the API server says about devices, and devices where Ray does not run."""
    told = mapping(group.container.get("resources"))
    limits, requests = mapping(told.get("limits")), mapping(told.get("requests"))
    for one in kuberay_resources.asked({**requests, **limits}):
        path = (*RAY_CONTAINER, "resources", "limits" if one.key in limits else "requests", one.key)
        if one.number is None:
            yield group.found(FAIL, "limits", path, f"{one.key} is no whole number", f'{one.key}: "1"')
        elif one.key not in limits:
            words = f"{one.key} is requested without a limit: Kubernetes refuses it, and KubeRay reads limits alone"
            yield group.found(FAIL, "limits", path, words, f'limits: {{{one.key}: "{one.number}"}}')
        elif one.key in requests and kuberay_quantity.whole(requests[one.key]) != one.number:
            words = f"{one.key} is requested otherwise than limited: Kubernetes refuses it"
            yield group.found(FAIL, "limits", path, words, "devices cannot be overcommitted: make the two equal")
    for place, container in enumerate(entries(at(group.spec, CONTAINERS))[1:], 1):
        others = kuberay_resources.asked(mapping(mapping(mapping(container).get("resources")).get("limits")))
        if others and not kuberay_resources.asked(limits):
            path = (*CONTAINERS, place, "resources", "limits", others[0].key)
            words = f"{others[0].key} is asked for by container {place}: KubeRay starts Ray in the first, by its limits"
            yield group.found(FAIL, "limits", path, words, "put the Ray container first, with the devices")
