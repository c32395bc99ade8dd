"""NVIDIA's management library as plain data: the one place where `pynvml` is imported, inside the asking process.

Methods are named after what they give and take a device's index as text. They raise what the binding raises;
`refusal` says what that means. Calls and structures after nvidia-ml-py 13.615 and
https://docs.nvidia.com/deploy/nvml-api/.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Callable, Dict, List, Tuple

from raxl.host import Answer
from raxl.sources.nvml_library_health import Health

_SONAME = "libnvidia-ml.so.1"
_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/home/kubernetes/bin/nvidia/lib64",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
    "/run/opengl-driver/lib",
)
"""Where the driver's installers put the library when the loader does not find it by name: distributions, WSL, GKE, the
GPU operator, NixOS."""
_REASONS = {
    3: "not-supported",
    4: "not-permitted",
    6: "not-present",
    10: "timed-out",
    12: "not-installed",
    13: "not-supported",
    25: "not-supported",
}
"""By `nvmlReturn_t`; every other code is `failed`."""
_WORDS = {
    13: "this driver's library does not have the call",
    18: "driver/library version mismatch, the loaded kernel module is of another version",
}
"""Where the binding's own words leave open what is meant."""
COUNTING = " (it starts, and does not count its devices)"
"""What is added to the words of an error that came after the library had started: Ray catches only those before."""
LOST = "NVML error 15:"
RESET_REQUIRED = "NVML error 16:"
_LINK_COUNT, _LINK_STATE, _C2C_LINKS, _RECOVERY_ACTION = 91, 165, 170, 230
_VALUES = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""By `nvmlValueType_t`."""
_P2P = {"read": 0, "write": 1, "nvlink": 2, "atomics": 3, "pci": 4}
"""`nvmlGpuP2PCapsIndex_t`; the binding's own constant for `read` is a tuple by mistake."""


class Nvml(Health):
    """The library, loaded and initialised at the first call."""

    def __init__(self, root: str) -> None:
        """`root`: where the host's file system is mounted, empty for this one."""
        self._root = root
        self._handles: Dict[int, Any] = {}
        self._binding: Any = None
        self._is_counting = False

    def refusal(self, error: Exception) -> Answer:
        """The answer for what a call raised: NVML's code and words, or the binding's own failure."""
        if isinstance(error, ImportError):
            return Answer(None, "not-installed", f"pynvml: {error}")
        code = getattr(error, "value", None)
        if not isinstance(code, int):
            return Answer(None, "failed", f"{type(error).__name__}: {error}"[:300])
        words = f"NVML error {code}: {_WORDS.get(code) or error}{COUNTING if self._is_counting else ''}"
        return Answer(None, _REASONS.get(code, "failed"), words)

    def start(self) -> int:
        """How many devices the library counts."""
        begun = time.monotonic()
        library = self._nvml()
        self._is_counting = True
        count = int(library.nvmlDeviceGetCount())
        self._is_counting = False
        self._start_seconds = round(time.monotonic() - begun, 3)
        return count

    def driver(self) -> str:
        """`570.133.20`."""
        return _text(self._nvml().nvmlSystemGetDriverVersion())

    def cuda(self) -> str:
        """The newest CUDA that the driver serves: `12.8`."""
        version = int(self._nvml().nvmlSystemGetCudaDriverVersion_v2())
        return f"{version // 1000}.{version % 1000 // 10}"

    def address(self, index: str) -> str:
        """`00000000:19:00.0`."""
        return _text(self._nvml().nvmlDeviceGetPciInfo(self._handle(index)).busId)

    def pci_ids(self, index: str) -> List[int]:
        """Device and vendor in one number (device above), and the subsystem likewise."""
        info = self._nvml().nvmlDeviceGetPciInfo(self._handle(index))
        return [int(info.pciDeviceId), int(info.pciSubSystemId)]

    def name(self, index: str) -> str:
        return _text(self._nvml().nvmlDeviceGetName(self._handle(index)))

    def uuid(self, index: str) -> str:
        return _text(self._nvml().nvmlDeviceGetUUID(self._handle(index)))

    def serial(self, index: str) -> str:
        return _text(self._nvml().nvmlDeviceGetSerial(self._handle(index)))

    def minor(self, index: str) -> int:
        """The N of `/dev/nvidiaN`."""
        return int(self._nvml().nvmlDeviceGetMinorNumber(self._handle(index)))

    def memory_bytes(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetMemoryInfo(self._handle(index)).total)

    def architecture(self, index: str) -> int:
        """`nvmlDeviceArchitecture_t`."""
        return int(self._nvml().nvmlDeviceGetArchitecture(self._handle(index)))

    def vbios(self, index: str) -> str:
        return _text(self._nvml().nvmlDeviceGetVbiosVersion(self._handle(index)))

    def pcie_generation(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetCurrPcieLinkGeneration(self._handle(index)))

    def pcie_width(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetCurrPcieLinkWidth(self._handle(index)))

    def pcie_max_generation(self, index: str) -> int:
        """What device and slot can do together."""
        return int(self._nvml().nvmlDeviceGetMaxPcieLinkGeneration(self._handle(index)))

    def pcie_max_width(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetMaxPcieLinkWidth(self._handle(index)))

    def pcie_replays(self, index: str) -> int:
        return int(self._nvml().nvmlDeviceGetPcieReplayCounter(self._handle(index)))

    def memory_numa_node(self, index: str) -> int:
        """The NUMA node that the device's own memory is (GH200, GB200)."""
        return int(self._nvml().nvmlDeviceGetNumaNodeId(self._handle(index)))

    def numa_nodes(self, index: str) -> List[int]:
        """The host's NUMA nodes that are nearest."""
        words = self._nvml().nvmlDeviceGetMemoryAffinity(self._handle(index), 16, 0)
        return [64 * place + bit for place, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]

    def virtualization(self, index: str) -> int:
        """0 none, 1 passthrough, 2 guest of a vGPU, 3 host of vGPUs, 4 host of vSGA."""
        return int(self._nvml().nvmlDeviceGetVirtualizationMode(self._handle(index)))

    def addressing_mode(self, index: str) -> int:
        """0 none, 1 HMM, 2 ATS."""
        return int(self._nvml().nvmlDeviceGetAddressingMode(self._handle(index)))

    def ecc_mode(self, index: str) -> List[int]:
        """Whether ECC is on, and after the next reset."""
        return [int(mode) for mode in self._nvml().nvmlDeviceGetEccMode(self._handle(index))]

    def ecc_uncorrected(self, index: str) -> int:
        """Uncorrected memory errors since the driver was loaded."""
        return int(self._nvml().nvmlDeviceGetTotalEccErrors(self._handle(index), 1, 0))

    def remapped_rows(self, index: str) -> List[int]:
        """Rows remapped for corrected and for uncorrected errors, whether a remap is pending, whether one failed."""
        return [int(value) for value in self._nvml().nvmlDeviceGetRemappedRows(self._handle(index))]

    def recovery_action(self, index: str) -> int:
        """0 none, 1 GPU reset, 2 node reboot, 3 drain P2P, 4 drain and reset, 5 IMEX domain, 6 bus, 7 system."""
        return int(self._field(index, _RECOVERY_ACTION))

    def c2c_links(self, index: str) -> int:
        """How many chip-to-chip links lead to the CPU."""
        return int(self._field(index, _C2C_LINKS))

    def clocks_event_reasons(self, index: str) -> int:
        """A bit for each reason why the clocks are lower than they could be."""
        nvml, handle = self._nvml(), self._handle(index)
        try:
            return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                raise
        return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))  # its name before driver 535

    def processes(self, index: str) -> List[int]:
        """The ids of the processes that compute on it."""
        found = self._nvml().nvmlDeviceGetComputeRunningProcesses(self._handle(index))
        return sorted({int(process.pid) for process in found})

    def mig_mode(self, index: str) -> List[int]:
        """Whether MIG is on, and after the next reset."""
        return [int(mode) for mode in self._nvml().nvmlDeviceGetMigMode(self._handle(index))]

    def mig_devices(self, index: str) -> List[Dict[str, Any]]:
        """Name, UUID, memory and slices of each MIG device; what one of them does not tell is None."""
        nvml, handle = self._nvml(), self._handle(index)
        found = []
        for place in range(int(nvml.nvmlDeviceGetMaxMigDeviceCount(handle))):
            try:
                mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
            except nvml.NVMLError as error:
                if error.value in (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                    continue  # the numbers have gaps
                raise
            slices = self._or_none(nvml.nvmlDeviceGetAttributes, mig)
            found.append(
                {
                    "index": place,
                    "name": _text(self._or_none(nvml.nvmlDeviceGetName, mig) or b""),
                    "uuid": _text(self._or_none(nvml.nvmlDeviceGetUUID, mig) or b""),
                    "memory_mib": int(slices.memorySizeMB) if slices else None,
                    "gpu_slices": int(slices.gpuInstanceSliceCount) if slices else None,
                    "compute_slices": int(slices.computeInstanceSliceCount) if slices else None,
                }
            )
        return found

    def fabric(self, index: str) -> Dict[str, Any]:
        """State, status, cluster UUID, clique and health of the NVLink fabric, in the newest layout that is known."""
        nvml, handle = self._nvml(), self._handle(index)
        tried: Tuple[Tuple[Any, int | None], ...] = (
            (nvml.c_nvmlGpuFabricInfo_v3_t(), nvml.nvmlGpuFabricInfo_v3),
            (nvml.c_nvmlGpuFabricInfo_v2_t(), nvml.nvmlGpuFabricInfo_v2),
            (nvml.c_nvmlGpuFabricInfo_t(), None),
        )
        for info, version in tried:
            try:
                if version is None:
                    nvml.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
                else:
                    info.version = version
                    nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(info))
                break
            except nvml.NVMLError as error:
                if error.value not in (13, 25) or version is None:
                    raise
        digits = bytes(info.clusterUuid).hex()
        return {
            "state": int(info.state),
            "status": int(info.status),
            "cluster": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
            "clique": int(info.cliqueId),
            "health": int(info.healthSummary) if hasattr(info, "healthSummary") else None,
            "health_mask": int(info.healthMask) if hasattr(info, "healthMask") else None,
        }

    def platform(self, index: str) -> Dict[str, int]:
        """Where in its rack the device sits."""
        place = bytes(self._platform(index))[36:41]
        return dict(zip(("slot", "tray", "host", "peer_type", "module"), place))

    def chassis_serial(self, index: str) -> str:
        return _text(bytes(self._platform(index))[20:36])

    def nvlinks(self, index: str) -> List[Dict[str, Any]]:
        """Every NVLink: whether it is up, and what is at its other end (0 GPU, 1 NPU, 2 NVSwitch, 255 unknown)."""
        nvml, handle = self._nvml(), self._handle(index)
        count = self._or_none(self._field, index, _LINK_COUNT)
        found: List[Dict[str, Any]] = []
        for link in range(int(nvml.NVML_NVLINK_MAX_LINKS) if count is None else min(int(count), 64)):
            try:
                state = self._link_state(index, link)
            except nvml.NVMLError as error:
                if found and error.value in (nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.NVML_ERROR_NOT_SUPPORTED):
                    break  # beyond the last link
                raise
            is_up = state in (1, 2, 3)
            remote = self._or_none(nvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link) if is_up else None
            kind = self._or_none(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link) if is_up else None
            version = self._or_none(nvml.nvmlDeviceGetNvLinkVersion, handle, link) if is_up else None
            found.append(
                {
                    "link": link,
                    "state": state,
                    "remote": _text(remote.busId) if remote is not None else None,
                    "remote_type": None if kind is None else int(kind),
                    "version": None if version is None else int(version),
                }
            )
        return found

    def ancestor(self, a: str, b: str) -> int:
        """`nvmlGpuTopologyLevel_t` of two devices."""
        return int(self._nvml().nvmlDeviceGetTopologyCommonAncestor(self._handle(a), self._handle(b)))

    def p2p(self, a: str, b: str) -> Dict[str, int | None]:
        """`nvmlGpuP2PStatus_t` by what is asked for: 0 ok, 1 chipset, 2 GPU, 3 topology, 4 switched off, 5 never."""
        call = self._nvml().nvmlDeviceGetP2PStatus
        pair = self._handle(a), self._handle(b)
        return {name: self._or_none(call, *pair, number) for name, number in _P2P.items()}

    def _nvml(self) -> Any:
        if self._binding is None:
            import pynvml

            _load(self._root)
            try:
                pynvml.nvmlInit()
            except pynvml.NVMLError as error:
                if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                    raise
                code = pynvml.nvmlLib.nvmlInit_v2()  # before driver 396
                if code:
                    raise pynvml.NVMLError(code) from error
            self._binding = pynvml
        return self._binding

    def _handle(self, index: str) -> Any:
        number = int(index)
        if number not in self._handles:
            self._handles[number] = self._nvml().nvmlDeviceGetHandleByIndex(number)
        return self._handles[number]

    def _field(self, index: str, field: int, scope: int = 0) -> Any:
        nvml = self._nvml()
        (value,) = nvml.nvmlDeviceGetFieldValues(self._handle(index), [(field, scope)])
        if value.nvmlReturn:
            raise nvml.NVMLError(value.nvmlReturn)
        return getattr(value.value, _VALUES[value.valueType])

    def _link_state(self, index: str, link: int) -> int:
        """0 down, 1 up, 2 asleep, 3 up without traffic: as a field from Hopper on, before it only up or down."""
        nvml = self._nvml()
        try:
            return int(self._field(index, _LINK_STATE, link))
        except nvml.NVMLError:
            return int(nvml.nvmlDeviceGetNvLinkState(self._handle(index), link))

    def _platform(self, index: str) -> Any:
        """The structure; its `char` fields end at the first NUL when read by name, so its bytes are taken."""
        nvml = self._nvml()
        info = nvml.c_nvmlPlatformInfo_v2_t()
        info.version = nvml.nvmlPlatformInfo_v2
        nvml.nvmlDeviceGetPlatformInfo(self._handle(index), ctypes.byref(info))
        return info

    def _or_none(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What the call gives; None where NVML refuses it."""
        try:
            return call(*arguments)
        except self._nvml().NVMLError:
            return None


def _load(root: str) -> None:
    """Loads the library where the loader does not find it by its name, which is how the binding asks for it.

    Below another root the host's own library comes first: it fits the running kernel module.
    """
    own = [f"{root}{folder}/{_SONAME}" for folder in _FOLDERS]
    for path in (*own, _SONAME) if root else (_SONAME, *own):
        if path != _SONAME and not _is_trusted(path):
            continue
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return


def _is_trusted(path: str) -> bool:
    """Whether there is such a file, and not everybody may write it."""
    try:
        return not os.stat(path).st_mode & 0o002
    except OSError:
        return False


def _text(value: Any) -> str:
    """The library's bytes as text, to the first NUL."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return data.split(b"\0", 1)[0].decode("utf-8", "replace")
