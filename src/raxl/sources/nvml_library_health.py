"""The calls of NVIDIA's management library by which checks go: errors, temperatures, limits, modes, time samples.

They are methods of `raxl.sources.nvml_library.Nvml`, which loads the library, and no other command asks them.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

_CORRECTED, _UNCORRECTED, _VOLATILE, _AGGREGATE, _DRAM, _SRAM = 0, 1, 0, 1, 2, 7
_ECC = {
    "uncorrected_volatile": (_UNCORRECTED, _VOLATILE),
    "corrected_volatile": (_CORRECTED, _VOLATILE),
    "uncorrected_aggregate": (_UNCORRECTED, _AGGREGATE),
    "corrected_aggregate": (_CORRECTED, _AGGREGATE),
}
"""`nvmlMemoryErrorType_t` and `nvmlEccCounterType_t`."""
_GRAPHICS_CLOCK = 0
_SLOWDOWN = 1
"""`nvmlTemperatureThresholds_t`."""
_LINK_ERRORS = {"replay": 0, "recovery": 1, "crc": 2}
"""`nvmlNvLinkErrorCounter_t`, of NVLink 1 to 4."""
_LINK_FIELDS = {"malformed": 206, "overrun": 207, "recovery_failed": 214, "recovery": 215, "effective_errors": 219}
"""`NVML_FI_DEV_NVLINK_COUNT_…`, of NVLink 5."""
_COUNTERS = {"software thermal": 269, "hardware thermal": 270, "hardware power brake": 271}
"""`NVML_FI_DEV_CLOCKS_EVENT_REASON_…`: nanoseconds, from driver 570 on."""
_VIOLATIONS = {"thermal": 1, "board limit": 3, "reliability": 5}
"""`nvmlPerfPolicyType_t`."""
_SAMPLES, _BETWEEN_SECONDS = 5, 0.2
_MOST_LINKS = 64


class Health:
    """What makes these calls of whatever `_nvml`, `_handle` and `_field` reach."""

    _nvml: Callable[[], Any]
    _handle: Callable[[str], Any]
    _field: Callable[..., Any]
    _or_none: Callable[..., Any]
    clocks_event_reasons: Callable[[str], int]
    _start_seconds: Optional[float] = None

    def start_seconds(self) -> Optional[float]:
        """How long this process waited for the library's first answer; None where another process did."""
        return self._start_seconds

    def ecc_errors(self, index: str) -> Dict[str, Optional[int]]:
        """Counts by kind (`uncorrected_volatile` …), and of each those in SRAM and DRAM; None where it has none."""
        nvml, handle = self._nvml(), self._handle(index)
        found: Dict[str, Optional[int]] = {}
        for name, (kind, counter) in _ECC.items():
            total = nvml.nvmlDeviceGetTotalEccErrors
            first = total(handle, kind, counter) if not found else self._or_none(total, handle, kind, counter)
            found[name] = None if first is None else int(first)
            for memory, place in (("sram", _SRAM), ("dram", _DRAM)):
                count = self._or_none(nvml.nvmlDeviceGetMemoryErrorCounter, handle, kind, counter, place)
                found[f"{name}_{memory}"] = None if count is None else int(count)
        return found

    def sram_threshold_exceeded(self, index: str) -> int:
        """1 where the vendor's limit of uncorrected SRAM errors is passed."""
        nvml, handle = self._nvml(), self._handle(index)
        status = nvml.c_nvmlEccSramErrorStatus_v1_t()
        nvml.nvmlDeviceGetSramEccErrorStatus(handle, ctypes.byref(status))
        return int(status.bThresholdExceeded)

    def remap_histogram(self, index: str) -> List[int]:
        """How many banks have all, many, some, few and no spare rows left."""
        values = self._nvml().nvmlDeviceGetRowRemapperHistogram(self._handle(index))
        return [int(getattr(values, name)) for name in ("max", "high", "partial", "low", "none")]

    def violations(self, index: str) -> Dict[str, Optional[int]]:
        """Nanoseconds since the driver was loaded in which the clocks were held down, by what did it."""
        nvml, handle = self._nvml(), self._handle(index)
        times = {
            name: self._or_none(nvml.nvmlDeviceGetViolationStatus, handle, policy)
            for name, policy in _VIOLATIONS.items()
        }
        return {name: None if one is None else int(one.violationTime) for name, one in times.items()}

    def temperature(self, index: str) -> int:
        """Degrees Celsius of the GPU."""
        return int(self._nvml().nvmlDeviceGetTemperature(self._handle(index), 0))

    def memory_temperature(self, index: str) -> int:
        """Degrees Celsius of the memory."""
        return int(self._field(index, 82))

    def temperature_margin(self, index: str) -> int:
        """Degrees that are left before the GPU slows itself down."""
        return int(self._nvml().nvmlDeviceGetMarginTemperature(self._handle(index)))

    def slowdown_temperature(self, index: str) -> int:
        """Degrees Celsius at which the GPU slows itself down."""
        return int(self._nvml().nvmlDeviceGetTemperatureThreshold(self._handle(index), _SLOWDOWN))

    def power_draw(self, index: str) -> int:
        """Milliwatts."""
        return int(self._nvml().nvmlDeviceGetPowerUsage(self._handle(index)))

    def power_limit(self, index: str) -> int:
        """Milliwatts that it may draw: the lowest of all limits that somebody has set."""
        return int(self._nvml().nvmlDeviceGetEnforcedPowerLimit(self._handle(index)))

    def power_default(self, index: str) -> int:
        """Milliwatts that it may draw where nobody has set a limit."""
        return int(self._nvml().nvmlDeviceGetPowerManagementDefaultLimit(self._handle(index)))

    def persistence_mode(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetPersistenceMode(self._handle(index)))

    def compute_mode(self, index: str) -> int:
        """0 default, 2 prohibited, 3 one process at a time."""
        return int(self._nvml().nvmlDeviceGetComputeMode(self._handle(index)))

    def display_active(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetDisplayActive(self._handle(index)))

    def performance_state(self, index: str) -> int:
        """0 is the fastest."""
        return int(self._nvml().nvmlDeviceGetPerformanceState(self._handle(index)))

    def utilization(self, index: str) -> int:
        """Per cent of the last while in which something ran on it."""
        return int(self._nvml().nvmlDeviceGetUtilizationRates(self._handle(index)).gpu)

    def clocks(self, index: str) -> Dict[str, Optional[int]]:
        """MHz of the graphics clock: now, at most, as applications set it, as they would by default."""
        nvml, handle = self._nvml(), self._handle(index)
        calls = {
            "now": nvml.nvmlDeviceGetClockInfo,
            "most": nvml.nvmlDeviceGetMaxClockInfo,
            "applications": nvml.nvmlDeviceGetApplicationsClock,
            "applications_default": nvml.nvmlDeviceGetDefaultApplicationsClock,
        }
        found = {name: self._or_none(call, handle, _GRAPHICS_CLOCK) for name, call in calls.items()}
        return {name: None if clock is None else int(clock) for name, clock in found.items()}

    def memory(self, index: str) -> Dict[str, Optional[int]]:
        """Bytes: all, used, and what the driver keeps for itself, which older drivers count as used."""
        nvml, handle = self._nvml(), self._handle(index)
        newer = self._or_none(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
        told = nvml.nvmlDeviceGetMemoryInfo(handle) if newer is None else newer
        reserved = None if newer is None else int(newer.reserved)
        return {"total": int(told.total), "used": int(told.used), "reserved": reserved}

    def holders(self, index: str) -> List[int]:
        """The ids of all processes that have a context on it: computing, drawing, and through MPS."""
        nvml, handle = self._nvml(), self._handle(index)
        computing = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        others: Tuple[Any, ...] = (
            self._or_none(nvml.nvmlDeviceGetGraphicsRunningProcesses, handle),
            self._or_none(nvml.nvmlDeviceGetMPSComputeRunningProcesses, handle),
        )
        return sorted({int(one.pid) for listed in (computing, *others) for one in listed or ()})

    def inforom(self, index: str) -> int:
        """1 where the board's own records are sound; the library raises where they are not."""
        self._nvml().nvmlDeviceValidateInforom(self._handle(index))
        return 1

    def nvlink_errors(self, index: str) -> List[Dict[str, Optional[int]]]:
        """By link, what it has counted since the driver was loaded; None where it has no such counter."""
        nvml, handle = self._nvml(), self._handle(index)
        count = self._or_none(self._field, index, 91) or 0
        found = []
        for link in range(min(int(count), _MOST_LINKS)):
            old = {
                name: self._or_none(nvml.nvmlDeviceGetNvLinkErrorCounter, handle, link, counter)
                for name, counter in _LINK_ERRORS.items()
            }
            new = {name: self._or_none(self._field, index, field, link) for name, field in _LINK_FIELDS.items()}
            told = {**old, **{name: value for name, value in new.items() if value is not None}}
            found.append({name: None if value is None else int(value) for name, value in told.items()})
        return found

    def event_samples(self, *indexes: str) -> Dict[str, Any]:
        """Why clocks were held down, five times in a second: by device the bits of each time, and by how much the
        driver's own clocks of it (nanoseconds) went on in between."""
        begun = time.monotonic()
        before = [self._counters(index) for index in indexes]
        bits: List[List[int]] = [[] for _ in indexes]
        for number in range(_SAMPLES):
            if number:
                time.sleep(_BETWEEN_SECONDS)
            for place, index in enumerate(indexes):
                now = self._or_none(self.clocks_event_reasons, index)
                bits[place] += [] if now is None else [int(now)]
        grown = [_grown(old, self._counters(index)) for old, index in zip(before, indexes)]
        return {"seconds": round(time.monotonic() - begun, 3), "bits": bits, "grown": grown}

    def _counters(self, index: str) -> Dict[str, Optional[int]]:
        return {name: self._or_none(self._field, index, field) for name, field in _COUNTERS.items()}


def _grown(before: Dict[str, Optional[int]], after: Dict[str, Optional[int]]) -> Dict[str, Optional[int]]:
    return {
        name: None if old is None or after[name] is None else int(after[name] or 0) - int(old)
        for name, old in before.items()
    }
