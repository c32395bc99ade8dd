"""What an end says of itself, so that a figure can be understood later: versions, variables, interfaces, load."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import socket
import struct
import subprocess
from contextlib import suppress
from typing import Any, Mapping

from raxl.transfer import memory_left

_PREFIXES = ("UCX_", "NCCL_", "RCCL_", "GLOO_", "FI_", "TP_SOCKET_IFNAME")
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|KEY|CREDENTIAL", re.IGNORECASE)
_PACKAGES = ("ray", "torch", "numpy", "nixl", "cupy")
_SIOCGIFADDR = 0x8915
_SPEED_UNKNOWN = (-1, 0, 65535, 4294967295)
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is asked how much is free
_BUCKET = re.compile(r"\btbf\b.*?\brate ([0-9.]+)([KMGT]?)bit burst ([0-9.]+)([KMG]?)b")
_TC = ("/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc")


def read(state: dict[str, Any], address: str) -> dict[str, Any]:
    """All of it; `address` is the one that peers use, whose interface is `interface`."""
    interfaces = {name: _interface(name) for name in sorted(os.listdir("/sys/class/net"))}
    owner = next((name for name, one in interfaces.items() if one["address"] == address), None)
    return {
        "hostname": socket.gethostname(),
        "kernel": platform.release(),
        "versions": {"python": platform.python_version(), **_packages()},
        "hardware": {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gib": _memory(), "nics": _nics(interfaces)},
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_PREFIXES) and not _SECRET.search(name)
        },
        "interface": owner,
        "interfaces": interfaces,
        "rdma": sorted(os.listdir("/sys/class/infiniband")) if os.path.isdir("/sys/class/infiniband") else [],
        "congestion_control": _line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "cores": len(os.sched_getaffinity(0)),
        "load": _load(),
        "steal_seconds": _steal(),
        "governor": _line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "cpu_hertz": _hertz(),
        "memory_available_bytes": memory_left.available(),
        "shared_memory_bytes": _free(_SHARED_MEMORY),
    }


def _interface(name: str) -> dict[str, Any]:
    folder = f"/sys/class/net/{name}"
    speed = _integer(f"{folder}/speed")
    is_real = os.path.exists(f"{folder}/device")
    return {
        "address": _address(name),
        "mtu": _integer(f"{folder}/mtu"),
        # A veth says 10 Gbit/s whatever it is: only what has a device says its own speed.
        "speed_bits_per_second": speed * 1_000_000 if is_real and speed not in (None, *_SPEED_UNKNOWN) else None,
        "is_virtual": not is_real,
        "is_tun": os.path.exists(f"{folder}/tun_flags"),
        **_shaped(name),
    }


def _address(name: str) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            told = fcntl.ioctl(one.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            return None
    return socket.inet_ntoa(told[20:24])


def _shaped(name: str) -> dict[str, int | None]:
    """The rate of a token bucket on the interface, and the burst that is free: `tc qdisc show dev eth0`."""
    tool = next((path for path in _TC if os.path.exists(path)), None)
    printed = ""
    if tool is not None:
        command = [tool, "qdisc", "show", "dev", name]
        with suppress(OSError, subprocess.SubprocessError):
            printed = subprocess.run(command, capture_output=True, text=True, timeout=2).stdout  # noqa: S603 - trusted
    found = _BUCKET.search(printed)
    if found is None:
        return {"shaped_bits_per_second": None, "shaped_burst_bytes": None}
    return {
        "shaped_bits_per_second": int(float(found[1]) * 1000 ** " KMGT".index(found[2] or " ")),
        "shaped_burst_bytes": int(float(found[3]) * 1024 ** " KMG".index(found[4] or " ")),
    }


def _packages() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", file.read(1 << 16), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else platform.machine()


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))


def _nics(interfaces: Mapping[str, Mapping[str, Any]]) -> list[dict[str, int | None]]:
    """Kinds, not names: a class of hardware has many machines."""
    real = [one for one in interfaces.values() if not one["is_virtual"]]
    kinds = [{name: one[name] for name in ("speed_bits_per_second", "mtu")} for one in real]
    return sorted(kinds, key=repr)


def _load() -> float:
    return os.getloadavg()[0]


def _steal() -> float | None:
    line = _line("/proc/stat") or ""
    words = line.split()
    return int(words[8]) / os.sysconf("SC_CLK_TCK") if len(words) > 8 and words[8].isdigit() else None


def _hertz() -> int | None:
    kilohertz = _integer("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    return kilohertz * 1000 if kilohertz else None


def _free(folder: str) -> int | None:
    try:
        told = os.statvfs(folder)
    except OSError:
        return None
    return told.f_bavail * told.f_frsize


def _line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip() or None
    except OSError:
        return None


def _integer(path: str) -> int | None:
    text = _line(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
