"""`ray.io/gpu-domain`: the scale-up domain that reaches beyond the node.

A node of which no domain is known gets no label: one called `unknown` would be one domain of all such nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.label import GPU_DOMAIN, Unlabelled
from raxl.model.node import Node
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_PRESENT
from raxl.topology.label_devices import Told, place_label, seen_by
from raxl.topology.reasons import Why, why
from raxl.topology.working import Fleet, absent

_OF_PLATFORM = {"tpu": "the TPU slice", "neuron": "the UltraServer"}
_COMPLETED = "completed"


def gpu_domain(node: Node, fleet: Fleet) -> Told:
    """`<cluster UUID>.<clique>` of NVIDIA's fabric, a TPU slice, an UltraServer; why there is none elsewhere."""
    vendors = {device.vendor for device in fleet.present}
    if not vendors:
        return absent(node, fleet).unlabelled(GPU_DOMAIN)
    if len(vendors) > 1:
        return Unlabelled(GPU_DOMAIN, NOT_APPLICABLE, f"several vendors: {', '.join(sorted(vendors))}")
    vendor = vendors.pop()
    if vendor == "nvidia":
        return _nvidia(node, fleet.present)
    if vendor in _OF_PLATFORM:
        return _of_platform(node, fleet.present, _OF_PLATFORM[vendor])
    return Unlabelled(GPU_DOMAIN, NOT_APPLICABLE, "raxl knows no fabric of this family that reaches beyond a node")


def _nvidia(node: Node, devices: Sequence[Accelerator]) -> Told:
    without = next((device for device in devices if device.fabric is None), None)
    if without is not None:
        subjects = (f"{without.id}.fabric", "accelerators.fabric")
        return why(node, *subjects, otherwise="nobody asked for its fabric").unlabelled(GPU_DOMAIN)
    states = {device.fabric.state for device in devices if device.fabric}
    if states != {_COMPLETED}:
        words = ", ".join(sorted(state or "not known" for state in states))
        return Unlabelled(GPU_DOMAIN, NOT_APPLICABLE, f"the state of its fabric is not completed: {words}")
    domains = {(device.fabric.domain, device.fabric.clique) for device in devices if device.fabric}
    if len(domains) > 1:
        words = ", ".join(sorted(f"{domain or 'none'}.{clique or '?'}" for domain, clique in domains))
        return Unlabelled(GPU_DOMAIN, DISAGREEMENT, f"its GPUs name several domains: {words}")
    domain, clique = domains.pop()
    if not (domain or "").strip("0-"):
        return Unlabelled(GPU_DOMAIN, NOT_APPLICABLE, "its NVLink fabric ends at this node: the cluster UUID is zero")
    if clique is None:
        return Unlabelled(GPU_DOMAIN, NOT_PRESENT, "the driver names no clique")
    return place_label(GPU_DOMAIN, f"{domain}.{clique}", "cluster UUID and clique, state completed", seen_by(devices))


def _of_platform(node: Node, devices: Sequence[Accelerator], what: str) -> Told:
    told = {device.fabric.domain for device in devices if device.fabric} | {node.placement.fabric_domain}
    domains = sorted(domain for domain in told if domain)
    if len(domains) > 1:
        return Unlabelled(GPU_DOMAIN, DISAGREEMENT, f"several domains: {', '.join(domains)}")
    if domains:
        return place_label(GPU_DOMAIN, domains[0], what, node.placement.evidence or seen_by(devices))
    subjects = (f"{devices[0].id}.fabric", "accelerators.fabric", "placement.fabric_domain", "placement")
    cause: Why = why(node, *subjects, otherwise=f"nobody names {what}")
    return cause.unlabelled(GPU_DOMAIN)
