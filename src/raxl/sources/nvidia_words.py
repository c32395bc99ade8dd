"""Words and shapes of readings of NVIDIA's devices, whichever source gives them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

ECC_ERRORS = tuple(
    f"{kind}_{counter}{memory}"
    for kind in ("uncorrected", "corrected")
    for counter in ("volatile", "aggregate")
    for memory in ("", "_sram", "_dram")
)
"""Counts of memory errors: since the driver was loaded and for ever, in all memories and in one kind of them."""
EVENTS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
"""`nvmlClocksEventReasons`, by bit."""
FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
"""`nvmlGpuFabricState_t`."""
_SUMMARIES = {1: "healthy", 2: "unhealthy", 3: "limited capacity"}
_FAULTS = {0: "bandwidth degraded", 2: "route recovery in progress", 4: "route unhealthy", 6: "access timeout recovery"}
"""By the place of its two bits in the health mask; 1 is true, 2 false, 0 not supported."""
_CONFIGURATION, _MANAGER = 8, 14
_CONFIGURATIONS = {
    2: "incorrect system GUID",
    3: "incorrect chassis serial",
    4: "no partition",
    5: "insufficient NVLinks",
    6: "incompatible firmware",
    7: "invalid location",
    8: "invalid GPU state",
}
"""`NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_…`; 1 is none."""
_LINK_STATES = {0: "down", 1: "up", 2: "sleeping", 3: "up"}
_REMOTES = {0: "gpu", 1: "npu", 2: "switch"}


def events(bits: int) -> Tuple[str, ...]:
    """The reasons why clocks are lower than they could be."""
    return tuple(word for bit, word in EVENTS.items() if bits & bit)


def fabric(told: Mapping[str, Any]) -> Dict[str, Any]:
    """State, status (`success`, or NVML's error), cluster, clique, and what the health mask calls faulty."""
    mask, status = told.get("health_mask") or 0, told.get("status") or 0
    faults = [word for place, word in _FAULTS.items() if mask >> place & 0x3 == 1]
    wrong = _CONFIGURATIONS.get(mask >> _CONFIGURATION & 0xF)
    faults += [f"incorrect configuration: {wrong}"] if wrong else []
    faults += ["fabric manager disconnected"] if mask >> _MANAGER & 0x3 == 2 else []
    return {
        "state": FABRIC_STATES.get(told.get("state") or 0, f"state {told.get('state')}"),
        "status": "success" if not status else f"NVML error {status}",
        "summary": _SUMMARIES.get(told.get("health") or 0),
        "faults": tuple(faults),
        "cluster": told.get("cluster"),
        "clique": told.get("clique"),
    }


def nvlinks(told: Sequence[Mapping[str, Any]]) -> List[Dict[str, Optional[str]]]:
    """Each link's state and the sort of what is at its other end, as far as it is known."""
    return [
        {"state": _LINK_STATES.get(one.get("state", -1)), "remote": _REMOTES.get(one.get("remote_type", -1))}
        for one in told
    ]
