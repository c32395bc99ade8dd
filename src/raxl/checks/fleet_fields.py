"""What is held against other nodes of a class: by name of the field, a node's value."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raxl.checks import Case
from raxl.checks.raylets import environments, versions
from raxl.model.facts import Reading
from raxl.topology import working
from raxl.topology.reasons import Why
from raxl.topology.shape import shape

_COLLECTIVE = re.compile(r"^(NCCL|RCCL|UCX|FI|GLOO)_")
_PACKAGES = re.compile(r"torch|jax|jaxlib|libtpu|neuronx-cc|nvidia-cuda-runtime.*|vllm|sglang")
_FIRMWARE = re.compile(r"vbios|inforom|firmware|fw_|psid|board_id|bios|bmc|cpld")
_MODES = re.compile(r"ecc_mode|mig_mode|persistence|compute_mode|compute_partition|memory_partition|power_limit")
_SETTINGS = re.compile(r"sysctl|governor|numa_balancing|hugepages|iommu|transparent|acs|shm|limits")
_MOST = 120


def of_versions(case: Case) -> dict[str, str]:
    """Kernel, system, drivers and packages. Ray, Python and the libraries of collectives have checks of their own."""
    node = case.node
    told = {"kernel": node.os.kernel, "distribution": node.os.distribution}
    found = {name: value for name, value in told.items() if value}
    found |= {one.name: one.version for one in node.software}
    found |= {name: text for name, text in _texts(case.facts.drivers).items() if name not in found}
    reading = versions(case)
    if reading.known:
        found |= {name: version for name, version in reading.value["packages"].items() if _PACKAGES.fullmatch(name)}
    return found


def of_firmware(case: Case) -> dict[str, str]:
    """Of accelerators and NICs, what all of one kind on the node have; several together where they differ there."""
    found: dict[str, set[str]] = {}
    for device in case.node.accelerators:
        kind = device.model or device.vendor
        own = {name: str(value) for name, value in device.attributes.items() if value is not None}
        own |= _texts(case.facts.devices.get(device.id, {}))
        for name, value in own.items():
            if _FIRMWARE.search(name.lower()):
                found.setdefault(f"{kind} {name}", set()).add(value)
    for readings in case.facts.rdma.values():
        for name, value in _texts(readings).items():
            if _FIRMWARE.search(name.lower()):
                found.setdefault(f"NIC {name}", set()).add(value)
    found |= {name: {text} for name, text in _texts(case.facts.host).items() if _FIRMWARE.search(name.lower())}
    return {name: " and ".join(sorted(values))[:_MOST] for name, values in found.items()}


def of_settings(case: Case) -> dict[str, str]:
    """Kernel parameters, limits, modes of devices, and the variables by which collectives are tuned."""
    found: dict[str, str] = {}
    parameters, limits = case.facts.kernel_parameters, case.facts.limits
    if parameters.known and isinstance(parameters.value, str):
        found["kernel parameters"] = " ".join(sorted(parameters.value.split())) or "none"
    if limits.known and isinstance(limits.value, Mapping):
        known = {name: pair[0] for name, pair in limits.value.items() if name != "stack"}
        found |= {f"limit {name}": "unlimited" if soft is None else str(soft) for name, soft in known.items()}
    found |= {name: text for name, text in _texts(case.facts.host).items() if _SETTINGS.search(name)}
    modes: dict[str, set[str]] = {}
    for device in case.node.accelerators:
        own = {name: str(value) for name, value in device.attributes.items() if value is not None}
        own |= _texts(case.facts.devices.get(device.id, {}))
        for name, value in own.items():
            if _MODES.search(name):
                modes.setdefault(name, set()).add(value)
        profiles = sorted(str(one.profile) for one in device.partitions)
        modes.setdefault("partitions", set()).add(", ".join(profiles) or "none")
    found |= {name: " and ".join(sorted(values))[:_MOST] for name, values in modes.items()}
    own_environments = environments(case)
    if len(own_environments) == 1:
        tuned = {name: value for name, value in own_environments[0].variables.items() if _COLLECTIVE.match(name)}
        found["variables of collectives"] = (
            " ".join(f"{name}={value}" for name, value in sorted(tuned.items())) or "none"
        )
    return {name: value[:_MOST] for name, value in found.items()}


def of_shape(case: Case) -> dict[str, str]:
    """The hash of how its devices are and how they are joined; empty where that is not known."""
    told = shape(case.node, working.fleet(case.node))
    return {} if isinstance(told, Why) else {"shape": told}


def _texts(readings: Mapping[str, Reading]) -> dict[str, str]:
    """Readings that are a text or a switch."""
    return {
        name: str(one.value)[:_MOST]
        for name, one in readings.items()
        if one.known and isinstance(one.value, (str, bool)) and str(one.value).strip()
    }
