"""`xpu-smi discovery`: Intel's GPUs, as JSON (`-j`) and as a table; `-d N` tells more of one.

Of a device's health `device_state` tells, which some releases have. https://github.com/intel/xpumanager
(doc/smi_user_guide.md)
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from raxl.model.accelerator import Partition, RayView
from raxl.model.component import PciLink
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import Problem
from raxl.model.report import Claim
from raxl.sources import intel_names, pci, tool_box, tool_silence
from raxl.sources.intel_names import INTEL
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole
from raxl.sources.nvidia_smi_values import transfers
from raxl.sources.tool_words import lines

FORM = "xpu-smi discovery"
COMMAND = ("xpu-smi", "discovery", "-j")
_LABELS = {
    "device name": "device_name",
    "uuid": "uuid",
    "soc uuid": "uuid",
    "pci bdf address": "pci_bdf_address",
    "pci device id": "pci_device_id",
    "drm device": "drm_device",
    "function type": "device_function_type",
    "device type": "device_type",
    "device state": "device_state",
    "serial number": "serial_number",
    "driver version": "driver_version",
    "memory physical size": "memory_physical_size",
    "number of tiles": "number_of_tiles",
    "pcie generation": "pcie_generation",
    "pcie max link width": "pcie_max_link_width",
}
_LINE = re.compile(r"[\s|]*(?:([0-9]{1,5})[\s|]+)?([A-Za-z][A-Za-z ]{1,40}?)\s*:\s+(\S[^|]{0,200}?)[\s|]*")
_FIELDS = {
    "device_name": "model",
    "uuid": "uuid",
    "serial_number": "serial",
    "device_id": "index",
    "memory": "memory_bytes",
}
_MOST_TILES = 16
TILE = "tile"
"""The profile of a partition: cards of the Max series are made of tiles, and nobody cuts them otherwise."""
_STATES = {"normal": "ok", "ok": "ok"}

Attributes = Dict[str, Union[str, int, float, bool, None]]


def devices_of(value: Any) -> List[Mapping[str, Any]]:
    """The devices of a parsed document: `device_list`, or one device alone; empty for any other document."""
    if not isinstance(value, dict):
        return []
    listed = value.get("device_list")
    if isinstance(listed, list):
        return [one for one in listed if isinstance(one, dict) and _is_device(one)]
    return [value] if _is_device(value) else []


def _is_device(record: Mapping[str, Any]) -> bool:
    return "pci_bdf_address" in record or ("device_id" in record and "Intel" in str(record.get("device_name")))


def is_table(text: str) -> bool:
    """Whether the table of `discovery` stands in the text."""
    return "PCI BDF Address" in text and bool(read_table(text))


def table_lines(text: str) -> List[str]:
    """The lines of the table that are read."""
    return [line for line in lines(text) if (found := _LINE.fullmatch(line)) and found[2].lower() in _LABELS]


def table_damage(text: str) -> Tuple[Problem, ...]:
    """That the table ends early."""
    return tool_box.damage("xpu-smi", FORM, lines(text), set(table_lines(text)))


def read_table(text: str) -> List[Dict[str, str]]:
    """The devices of the table, each by the names of the JSON."""
    devices: List[Dict[str, str]] = []
    for line in table_lines(text):
        found = _LINE.fullmatch(line)
        word = _LABELS[found[2].lower()] if found else ""
        if not found or not word:
            continue
        if found[1] is not None or not devices:
            devices.append({} if found[1] is None else {"device_id": found[1]})
        devices[-1].setdefault(word, found[3].strip())
    named = [device for device in devices if "pci_bdf_address" in device or "device_name" in device]
    return list({(one.get("device_id"), one.get("pci_bdf_address")): one for one in named}.values())


def claims(devices: Iterable[Mapping[str, Any]], form: str = FORM) -> List[Claim]:
    """A claim for each device that is Intel's GPU; the same one of two documents is told twice, and merged."""
    return [_claim(_words(device), form) for device in devices]


def _words(device: Mapping[str, Any]) -> Dict[str, str]:
    """What a record says, as words: numbers as they stand, lists and objects left out."""
    words = {
        name: str(value)
        for name, value in device.items()
        if isinstance(value, (str, int, float)) and len(str(name)) < 64
    }
    size = words.get("memory_physical_size_byte")
    if size is not None:
        words["memory"] = size
    elif "memory_physical_size" in words:
        words["memory"] = words["memory_physical_size"]
    return words


def _claim(words: Dict[str, str], form: str) -> Claim:
    said = {name: tool_silence.says(word) for name, word in words.items()}
    memory = _memory(said.get("memory"))
    tiles = whole(said.get("number_of_tiles"), _MOST_TILES) or 0
    silent = dict(tool_silence.silences(words, _FIELDS, "xpu-smi", form))
    if memory is None:
        silent.setdefault("memory_bytes", tool_silence.silence(words.get("memory", ""), "xpu-smi", form))
    status = said.get("device_state")
    state = _STATES.get(status.lower(), "degraded") if status else None
    if state is None:
        silent["state"] = tool_silence.silence(words.get("device_state"), "xpu-smi", form)
    model = said.get("device_name")
    named = {
        "driver_version": said.get("driver_version"),
        "drm_device": said.get("drm_device"),
        "function_type": said.get("device_function_type"),
        "device_state": status,
        "visible_env_ids": intel_names.TILES if tiles > 1 else None,
    }
    return Claim(
        vendor=INTEL.vendor,
        kind=INTEL.kind,
        evidence=form,
        address=pci_address(said.get("pci_bdf_address")),
        uuid=said.get("uuid"),
        index=whole(said.get("device_id"), MOST_PLACES),
        model=model,
        serial=said.get("serial_number"),
        device_id=_device_id(said.get("pci_device_id")),
        vendor_id=INTEL.vendor_id,
        link=_link(said),
        memory_bytes=memory,
        state=state,
        partitions=tuple(Partition(f"tile:{number}", TILE) for number in range(tiles)) if tiles > 1 else (),
        ray=RayView(resource=INTEL.resource, type=intel_names.ray_type(model)),
        visible_env=INTEL.visible_env,
        attributes={name: value for name, value in named.items() if value is not None},
        silent=silent,
    )


def _memory(text: Optional[str]) -> Optional[int]:
    """Bytes of `32768.00 MiB` or of a plain number of them; None for 0."""
    found = re.fullmatch(r"([0-9]{1,12})(?:\.[0-9]{1,4})? ?MiB", text or "")
    size = whole(found[1], MOST_BYTES >> 20) if found else None
    return (size << 20 if size else None) if found else whole(text, MOST_BYTES) or None


def _device_id(text: Optional[str]) -> Optional[str]:
    found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{1,4})", text or "")
    return found[1].lower().zfill(4) if found else None


def _link(said: Mapping[str, Optional[str]]) -> Optional[PciLink]:
    """What the card can do at most; the tool does not say what the link does now."""
    speed, width = transfers(said.get("pcie_generation")), pci.lanes(said.get("pcie_max_link_width"))
    return PciLink(max_speed_gts=speed, max_width=width) if speed or width else None


def refusal(value: Any) -> Optional[str]:
    """What the tool says in the place of devices: `{"error": "…"}`."""
    message = value.get("error") if isinstance(value, dict) else None
    return " ".join(message.split())[:200] if isinstance(message, str) else None


def software(devices: Iterable[Mapping[str, Any]], form: str = FORM) -> Tuple[Software, ...]:
    """The driver's version where all devices tell the same one."""
    versions = {tool_silence.says(str(one["driver_version"])) for one in devices if "driver_version" in one} - {None}
    return tuple(Software("intel-gpu driver", str(version), form) for version in versions) if len(versions) == 1 else ()
