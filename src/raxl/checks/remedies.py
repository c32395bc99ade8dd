"""What is to be done about an event, by the catalogue's word for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Remedy(NamedTuple):
    """The class of a remedy, and what to do."""

    remedy_class: str
    text: str


_RESET = {
    "nvidia": "nvidia-smi --gpu-reset -i {address} (all GPUs of an NVSwitch board together)",
    "amd": "amd-smi reset --gpureset -g {address}",
}
_RESET_UNNAMED = {
    "nvidia": "nvidia-smi --gpu-reset, which resets all GPUs",
    "amd": "amd-smi reset --gpureset -g all",
}
_BUNDLE = {"nvidia": "nvidia-bug-report.sh", "amd": "amd-smi and dmesg"}
ACTIONS = {
    "ignore": Remedy("none", "nothing to do"),
    "watch": Remedy("none", "nothing now; act when it comes again: dmesg -T | tail"),
    "follow_root": Remedy("none", "nothing by itself: look for what came before it in dmesg -T"),
    "check_app": Remedy("app", "tell the job's owner; have it run under a memory checker"),
    "restart_app": Remedy("app", "restart the job; when the same device does it to other jobs too, drain it"),
    "reset_when_idle": Remedy("reset", "usable until then; between two jobs: {reset}"),
    "reset_gpu": Remedy("reset", "drain the device, then {reset}; reboot the node when the reset is refused"),
    "drain_reset": Remedy("drain", "let the work end, start none, then {reset}"),
    "drain": Remedy("drain", "start no new work on it and let what runs end; then look again"),
    "reboot_node": Remedy("reboot", "drain the node and reboot it; when it comes again, power it off for 30 s"),
    "restart_vm": Remedy("reset", "drain and restart the virtual machine"),
    "check_power": Remedy("power-cycle", "drain the node, look after its power leads, and start it from cold"),
    "update_sw": Remedy("config", "bring driver, firmware and library to versions that go together"),
    "support": Remedy("vendor", "drain the node and open a case with the vendor, with the output of {bundle}"),
    "rma": Remedy("rma", "drain the node and have the part replaced; keep the output of {bundle} for the vendor"),
}


def of_device(vendor: str, address: str | None) -> str:
    """What resets a device of the vendor's at this PCI address, which may lack the function; without one, all."""
    if vendor not in _RESET:
        return "reset it"
    if address is None:
        return _RESET_UNNAMED[vendor]
    return _RESET[vendor].format(address=address if "." in address else f"{address}.0")


def of_board(addresses: Sequence[str]) -> str:
    """What resets NVIDIA's GPUs at these addresses, all of one NVSwitch board; without addresses, all of the node."""
    if not addresses:
        return "nvidia-smi --gpu-reset without -i, for all GPUs of the NVSwitch board together"
    return f"nvidia-smi --gpu-reset -i {','.join(addresses)} (all {len(addresses)} GPUs of the NVSwitch board together)"


def remedy(action: str, vendor: str = "", *, reset: str = "") -> Remedy:
    """What an action means on a vendor's devices; `reset` is what resets this one."""
    told = ACTIONS[action]
    own = reset or of_device(vendor, None)
    return Remedy(told.remedy_class, told.text.format(reset=own, bundle=_BUNDLE.get(vendor, "dmesg -T")))
