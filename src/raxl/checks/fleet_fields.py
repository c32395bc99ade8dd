"""What is held against other nodes of a class: by name of the field, a node's value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from raxl.checks import Case
from raxl.checks.raylets import started, versions
from raxl.model.facts import NOT_READ, Reading
from raxl.topology import working
from raxl.topology.reasons import Why
from raxl.topology.shape import shape

_COLLECTIVE = re.compile(r"^(NCCL|RCCL|UCX|FI|GLOO)_")
_PACKAGES = re.compile(r"torch|jax|jaxlib|libtpu|neuronx-cc|nvidia-cuda-runtime.*|vllm|sglang")
_DRIVERS = re.compile(r"(?:.*\.)?(fabric_manager|rocm|amdgpu|neuron|habanalabs|hl-smi|container_toolkit)")
_VERSION = re.compile(r"v?[0-9][\w.+~:-]*")
_FIRMWARE = re.compile(r"vbios|inforom|firmware|fw_ver|psid|board(_id)?|bios|bmc|cpld")
_MODES = re.compile(
    r"ecc_mode|mig_mode|persistence_mode|compute_mode|compute_partition|memory_partition|power_limit_watts"
)
_SETTINGS = re.compile(r"governor|numa_balancing|hugepages|nvidia_module|transparent_hugepages")
_SOFTWARE = re.compile(
    r"kernel|distribution|nvidia|cuda|nccl|rccl|ucx|i915|xe|intel-gpu driver|npu-smi|rebellions|metax|tenstorrent"
)
_OF_FIRMWARE = re.compile(rf"(?:.+ )?(?:{_FIRMWARE.pattern})")
_OF_SETTINGS = re.compile(
    rf"kernel parameters|limit \w+|partitions|variables of collectives|{_SETTINGS.pattern}|{_MODES.pattern}"
)
_MOST, _IDLE_PERCENT = 120, 5


def kind_of(name: str) -> str | None:
    """Of which kind a field of that name is (`version`, `firmware`, `setting`, `shape`); None: there is no such."""
    if name == "shape":
        return name
    if any(one.fullmatch(name) for one in (_SOFTWARE, _DRIVERS, _PACKAGES)):
        return "version"
    if _OF_FIRMWARE.fullmatch(name):
        return "firmware"
    return "setting" if _OF_SETTINGS.fullmatch(name) else None


def of_versions(case: Case) -> dict[str, str]:
    """Kernel, system, drivers and packages. Ray, Python and the libraries of collectives have checks of their own."""
    node = case.node
    told = {"kernel": node.os.kernel, "distribution": node.os.distribution}
    found = {name: value for name, value in told.items() if value}
    found |= {one.name: one.version for one in node.software}
    for name, text in _texts(case.facts.drivers, _DRIVERS).items():
        if _VERSION.fullmatch(text) and name not in found:
            found[name] = text
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
        own |= _texts(case.facts.devices.get(device.id, {}), _FIRMWARE)
        for name, value in own.items():
            if _FIRMWARE.fullmatch(name):
                found.setdefault(f"{kind} {name}", set()).add(value)
    for readings in case.facts.rdma.values():
        for name, value in _texts(readings, _FIRMWARE).items():
            found.setdefault(f"NIC {name}", set()).add(value)
    for model, version in _of_nics(case):
        found.setdefault(f"{model} firmware", set()).add(version)
    found |= {name: {text} for name, text in _texts(case.facts.host, _FIRMWARE).items()}
    return {name: " and ".join(sorted(values))[:_MOST] for name, values in found.items()}


def _of_nics(case: Case) -> Iterator[tuple[str, str]]:
    reading = case.facts.drivers.get("rdma.firmware", NOT_READ)
    told = reading.value if reading.known else {}
    for nic in case.node.nics:
        if nic.id in told:
            yield nic.model or nic.kind or "NIC", str(told[nic.id])


def of_settings(case: Case) -> dict[str, str]:
    """Kernel parameters, limits, modes of devices, and the variables by which collectives are tuned."""
    found: dict[str, str] = {}
    parameters, limits = case.facts.kernel_parameters, case.facts.limits
    if parameters.known and isinstance(parameters.value, str):
        found["kernel parameters"] = " ".join(sorted(parameters.value.split())) or "none"
    if limits.known and isinstance(limits.value, Mapping):
        known = {name: pair[0] for name, pair in limits.value.items() if name != "stack"}
        found |= {f"limit {name}": "unlimited" if soft is None else str(soft) for name, soft in known.items()}
    found |= _texts(case.facts.host, _SETTINGS)
    modes: dict[str, set[str]] = {}
    for device in case.node.accelerators:
        own = {name: str(value) for name, value in device.attributes.items() if value is not None}
        own |= _texts(case.facts.devices.get(device.id, {}), _MODES)
        for name, value in own.items():
            if _MODES.fullmatch(name):
                modes.setdefault(name, set()).add(value)
        profiles = sorted(str(one.profile) for one in device.partitions)
        modes.setdefault("partitions", set()).add(", ".join(profiles) or "none")
    found |= {name: " and ".join(sorted(values))[:_MOST] for name, values in modes.items()}
    own_environments = started(case)
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


def numbers(case: Case) -> dict[str, float]:
    """Of a node whose devices all idle, the hottest, the median of their power, and how long the driver's library took
    to start: what depends on load says nothing where loads differ."""
    devices = [case.facts.devices.get(device.id, {}) for device in case.node.accelerators]
    found: dict[str, float] = {}
    loads = _numbers(devices, "utilization_percent")
    if len(loads) == len(devices) and max(loads, default=100.0) <= _IDLE_PERCENT:
        hot, power = _numbers(devices, "temperature_celsius"), _numbers(devices, "power_draw_watts")
        found |= {"idle temperature in °C": max(hot)} if hot else {}
        found |= {"idle power in W": median(power)} if power else {}
    start = _numbers([case.facts.drivers], "nvidia.start_seconds")
    return found | ({"start of NVML in s": start[0]} if start else {})


def _numbers(readings: Sequence[Mapping[str, Reading]], name: str) -> list[float]:
    values = [one[name].value for one in readings if name in one and one[name].known]
    return [float(one) for one in values if isinstance(one, (int, float)) and not isinstance(one, bool)]


def _texts(readings: Mapping[str, Reading], wanted: re.Pattern[str]) -> dict[str, str]:
    """Those readings of the names that are a text, a number, a switch, or several of them."""
    found = {}
    for name, one in readings.items():
        parts = one.value if isinstance(one.value, (tuple, list)) else (one.value,)
        plain = one.known and wanted.fullmatch(name) and all(isinstance(part, (str, int, float)) for part in parts)
        if plain and (text := ", ".join(map(str, parts)).strip()):
            found[name] = text[:_MOST]
    return found
