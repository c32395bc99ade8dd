"""AMD's management library as plain data: the one place where `amdsmi` is imported, inside the asking process.

Methods are named after what they give and take a device's number as text: its place among the library's processor
handles, of which each partition has its own. They raise what the binding raises; `refusal` says what that means. Calls
after amdsmi 7.0 and https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sys
from typing import Any, Dict, List

from raxl.host import Answer

_SONAME = "libamd_smi.so"
_REASONS = {
    2: "not-supported",
    3: "not-supported",
    5: "not-supported",
    8: "timed-out",
    10: "not-permitted",
    20: "not-supported",
    31: "not-present",
    34: "not-installed",
    40: "not-supported",
    52: "not-supported",
}
"""By `amdsmi_status_t`; every other code is `failed`."""
THROTTLES = ("prochot", "ppt", "socket_thm", "vr_thm", "hbm_thm")
"""Causes for which the firmware lowers the clocks, as its metrics call them."""
_RELEASE = re.compile(r"[0-9]+\.[0-9]+")


class AmdSmi:
    """The library, loaded and initialised at the first call."""

    def __init__(self, root: str) -> None:
        """`root`: where the host's file system is mounted, empty for this one."""
        self._root = root
        self._binding: Any = None
        self._handles: List[Any] = []

    def refusal(self, error: Exception) -> Answer:
        """The answer for what a call raised: the library's code and words, or the binding's own failure."""
        if isinstance(error, (ImportError, _NoLibrary)):
            return Answer(None, "not-installed", f"amdsmi: {error}")
        if isinstance(error, _NotTold):
            return Answer(None, "not-supported", str(error))
        code = getattr(error, "err_code", None)
        if not isinstance(code, int):
            words = f"{type(error).__name__}: {error}".replace(self._root or "\0", "")
            return Answer(None, "failed", " ".join(words.split())[:300])
        words = str(getattr(error, "err_info", "")).rpartition(" - ")[2].strip()
        return Answer(None, _REASONS.get(code, "failed"), f"AMD SMI error {code}: {words}")

    def start(self) -> int:
        """How many devices the library counts; in partitioned modes every partition is one."""
        self._smi()
        return len(self._handles)

    def address(self, device: str) -> str:
        """`0000:05:00.0`; the function numbers the partitions of a package."""
        return str(self._call("amdsmi_get_gpu_device_bdf", device))

    def unique_id(self, device: str) -> str:
        """The package's unique id as `0x` and hex digits, which the library calls ASIC serial: KFD's `unique_id`."""
        return _told(self._call("amdsmi_get_gpu_asic_info", device), "asic_serial")

    def uuid(self, device: str) -> str:
        """The library's own UUID, made of unique id, function and device id; ROCr takes another name."""
        return str(self._call("amdsmi_get_gpu_device_uuid", device))

    def name(self, device: str) -> str:
        """`AMD Instinct MI300X`."""
        return _told(self._call("amdsmi_get_gpu_asic_info", device), "market_name")

    def memory_bytes(self, device: str) -> int:
        """The library counts it in MiB."""
        return int(self._call("amdsmi_get_gpu_vram_info", device)["vram_size"]) << 20

    def asic(self, device: str) -> Dict[str, Any]:
        """PCI ids as hex words, target (`gfx942`), OAM number and compute units."""
        info = self._call("amdsmi_get_gpu_asic_info", device)
        names = ("vendor_id", "device_id", "subvendor_id", "subsystem_id", "target_graphics_version")
        numbers = ("oam_id", "num_compute_units")
        return {**{name: _word(info.get(name)) for name in names}, **{name: _int(info.get(name)) for name in numbers}}

    def ids(self, device: str) -> Dict[str, Any]:
        """Its number for HIP, which is its KFD node's distance from the first GPU's, and for the DRM devices."""
        info = self._call("amdsmi_get_gpu_enumeration_info", device)
        return {name: _int(info.get(name)) for name in ("hip_id", "drm_card", "drm_render")}

    def kfd(self, device: str) -> Dict[str, Any]:
        """The number of its KFD node, and which partition of its package it is."""
        info = self._call("amdsmi_get_gpu_kfd_info", device)
        return {"node": _int(info.get("node_id")), "partition": _int(info.get("current_partition_id"))}

    def serial(self, device: str) -> str:
        return _told(self._call("amdsmi_get_gpu_board_info", device), "product_serial")

    def board(self, device: str) -> Dict[str, Any]:
        """Model number, product and maker of the board."""
        info = self._call("amdsmi_get_gpu_board_info", device)
        return {name: _word(info.get(name)) for name in ("model_number", "product_name", "manufacturer_name")}

    def vbios(self, device: str) -> Dict[str, Any]:
        """The part number is what the kernel calls the version."""
        info = self._call("amdsmi_get_gpu_vbios_info", device)
        return {name: _word(info.get(name)) for name in ("part_number", "version")}

    def driver(self, device: str) -> str:
        """The version of amdgpu; of the kernel's own driver, which has none, the library gives the kernel's line."""
        return _told(self._call("amdsmi_get_gpu_driver_info", device), "driver_version")

    def pcie(self, device: str) -> Dict[str, Any]:
        """Speeds in MT/s or, from some releases for the maximum, GT/s; widths; replays; form factor."""
        info = self._call("amdsmi_get_pcie_info", device)
        now, most = info.get("pcie_metric", {}), info.get("pcie_static", {})
        return {
            "speed": _int(now.get("pcie_speed")),
            "width": _int(now.get("pcie_width")),
            "max_speed": _int(most.get("max_pcie_speed")),
            "max_width": _int(most.get("max_pcie_width")),
            "replays": _int(now.get("pcie_replay_count")),
            "slot": _word(most.get("slot_type")),
        }

    def numa_node(self, device: str) -> int:
        """The node that the driver gives: 0 also where it knows none."""
        return int(self._call("amdsmi_topo_get_numa_node_number", device))

    def numa_affinity(self, device: str) -> int:
        """The node that the kernel calls near; -1 where it knows none."""
        return int(self._call("amdsmi_get_gpu_topo_numa_affinity", device))

    def compute_partition(self, device: str) -> str:
        """`SPX`, `CPX` …"""
        return _told({"": self._call("amdsmi_get_gpu_compute_partition", device)}, "")

    def memory_partition(self, device: str) -> str:
        """`NPS1` …"""
        return _told({"": self._call("amdsmi_get_gpu_memory_partition", device)}, "")

    def hive(self, device: str) -> str:
        """The id of its XGMI hive in hex digits; `0` where it is in none."""
        return f"{int(self._call('amdsmi_get_xgmi_info', device)['xgmi_hive_id']):x}"

    def xgmi_node(self, device: str) -> int:
        """Its id within its hive."""
        return int(self._call("amdsmi_get_xgmi_info", device)["xgmi_node_id"])

    def link_states(self, device: str) -> List[str]:
        """Of each of its XGMI links: `U` up, `D` down, `X` switched off."""
        return [str(state) for state in self._call("amdsmi_get_gpu_xgmi_link_status", device)["status"]]

    def links(self, device: str) -> Dict[str, Any]:
        """How many XGMI links it has, and the address at the other end of each that the binding shows (at most 8).

        Releases that do not know the other end give an address that no device has.
        """
        smi, info = self._smi(), self._call("amdsmi_get_link_metrics", device)
        shown = info["links"][: int(info["num_links"])]
        ends = [str(link["bdf"]) for link in shown if _kind(smi.AmdSmiLinkType, link["link_type"]) == "xgmi"]
        return {"count": int(info["num_links"]), "shown": len(shown), "ends": ends}

    def ecc(self, device: str) -> Dict[str, int]:
        """Errors of all blocks since the driver was loaded."""
        info = self._call("amdsmi_get_gpu_total_ecc_count", device)
        kinds = ("correctable", "uncorrectable", "deferred")
        return {kind: int(info[f"{kind}_count"]) for kind in kinds}

    def bad_pages(self, device: str) -> List[int]:
        """`amdsmi_memory_page_status_t` of each page of its memory that went bad."""
        return [int(page["status"]) for page in self._call("amdsmi_get_gpu_bad_page_info", device)]

    def throttling(self, device: str) -> Dict[str, Any]:
        """Whether it is throttled now, and for how many of the firmware's samples it was, by cause.

        Out of the metrics that the firmware keeps: the library's own violation status sleeps 0.1 s a device.
        """
        info = self._call("amdsmi_get_gpu_metrics_info", device)
        now = info.get("throttle_status")
        counts = {cause: _int(info.get(f"{cause}_residency_acc")) for cause in THROTTLES}
        return {"now": now if isinstance(now, bool) else None, **counts}

    def virtualization(self, device: str) -> str:
        """`BAREMETAL`, `HOST`, `GUEST`, `PASSTHROUGH` or `UNKNOWN`."""
        mode = self._call("amdsmi_get_gpu_virtualization_mode", device)["mode"]
        return str(getattr(mode, "name", mode)).rpartition("_")[2]

    def processes(self, device: str) -> List[int]:
        """The ids of the processes that use it."""
        return sorted({int(process["pid"]) for process in self._call("amdsmi_get_gpu_process_list", device)})

    def link_type(self, a: str, b: str) -> str:
        """`xgmi`, `pcie`, or the library's own word for another."""
        smi = self._smi()
        told = self._call("amdsmi_topo_get_link_type", a, b)["type"]
        return _kind(getattr(smi, "AmdSmiIoLinkType", None) or smi.AmdSmiLinkType, told)

    def bandwidth(self, a: str, b: str) -> List[int]:
        """Of one link and of all links of the pair, in MB/s and one direction; 0 where the driver does not know."""
        info = self._call("amdsmi_get_minmax_bandwidth_between_processors", a, b)
        return [int(info["min_bandwidth"]), int(info["max_bandwidth"])]

    def _call(self, name: str, *devices: str) -> Any:
        smi = self._smi()
        if not hasattr(smi, name):
            raise _NotTold(f"this node's amdsmi has no {name}")
        return getattr(smi, name)(*(self._handles[int(device)] for device in devices))

    def _smi(self) -> Any:
        if self._binding is None:
            smi = _imported(self._root)
            smi.amdsmi_init()
            self._handles = list(smi.amdsmi_get_processor_handles())
            self._binding = smi
        return self._binding


class _NoLibrary(Exception):
    """There is no library that this binding fits."""


class _NotTold(Exception):
    """The library has no such call, or says that it knows no value."""


def _imported(root: str) -> Any:
    """The binding. ROCm's own copy comes first, for it is of the library's version; else an installed package.

    The binding loads the library when it is imported, from `$ROCM_HOME` or `$ROCM_PATH` before the loader's own places;
    without it, it prints two lines and raises KeyError. Below another root the host's own library comes first: it fits
    the running kernel module.
    """
    rocm = next((one for one in _installations(root) if _is_trusted(f"{one}/lib/{_SONAME}")), None)
    broken = _use(rocm) if rocm is not None else None
    own = f"{rocm}/share/amd_smi"
    if rocm is None or not all(map(_is_trusted, (own, f"{own}/amdsmi", *glob.glob(f"{glob.escape(own)}/amdsmi/*.py")))):
        own = ""
    folders = [own] if own else []
    sys.path[:0] = folders
    try:
        import amdsmi
    except (KeyError, OSError) as error:
        if broken is not None:
            raise OSError(broken) from error
        raise _NoLibrary(f"{_SONAME} is not to be found") from error
    finally:
        del sys.path[: len(folders)]
    if rocm is not None and not own:
        _match(str(getattr(amdsmi, "__version__", "")), rocm)
    return amdsmi


def _installations(root: str) -> List[str]:
    """ROCm's folders, the chosen one first: a link that is absolute leads nowhere below another root."""
    return [f"{root}/opt/rocm", *sorted(glob.glob(f"{glob.escape(root)}/opt/rocm-*"), reverse=True)]


def _use(rocm: str) -> str | None:
    """Lets the binding find this folder's library; why it cannot be loaded, if so."""
    for name in ("ROCM_HOME", "ROCM_PATH"):
        os.environ[name] = rocm
    try:
        ctypes.CDLL(f"{rocm}/lib/{_SONAME}")
    except OSError as error:
        return str(error)
    return None


def _match(version: str, rocm: str) -> None:
    """Refuses an installed package that is of another release than the library: it would misread its structures."""
    try:
        with open(f"{rocm}/.info/version", encoding="ascii", errors="replace") as file:
            own = _RELEASE.match(file.read(64))
    except OSError:
        return
    package = _RELEASE.match(version)
    if own and package and own[0] != package[0]:
        raise _NoLibrary(f"the installed package is of ROCm {package[0]}, the library of ROCm {own[0]}")


def _is_trusted(path: str) -> bool:
    """Whether there is such a file or folder, and not everybody may write it."""
    try:
        return not os.stat(path).st_mode & 0o002
    except OSError:
        return False


def _kind(kinds: Any, number: int) -> str:
    """The link's kind by the binding's own names: their numbers were swapped from one release to the next."""
    name = next((kind.name for kind in kinds if int(kind) == int(number)), "unknown")
    words = {"XGMI": "xgmi", "PCIE": "pcie", "PCIEXPRESS": "pcie"}
    last = name.replace("AMDSMI_LINK_TYPE_", "")
    return words.get(last, last.lower())


def _told(info: Dict[str, Any], name: str) -> str:
    word = _word(info.get(name))
    if word is None:
        raise _NotTold("the library gives none")
    return word


def _word(value: Any) -> str | None:
    """Text; None for what the binding writes where it has none."""
    word = str(value).split("\0", 1)[0].strip()
    return None if value is None or word in ("", "N/A") else word


def _int(value: Any) -> int | None:
    """A number; None for what the binding writes where it has none."""
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
