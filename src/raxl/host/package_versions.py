"""Which versions of Ray, and of what collectives and transfers go through, lie in a Python: by names of folders and
files, without importing anything.

`torch-2.9.0+cu128.dist-info` is the name that a wheel leaves:
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, List

_WANTED = re.compile(
    r"ray|torch|jax|jaxlib|libtpu|numpy|pyarrow|cloudpickle|vllm|sglang|amdsmi|torch-xla|torch-neuronx|neuronx-cc"
    r"|nvidia-nccl(-cu\d+)?|nvidia-cuda-runtime(-cu\d+)?|nvidia-nvshmem-cu\d+|cupy-cuda\d+x"
    r"|nixl(-cu\d+)?|libucx-cu\d+|ucx-py-cu\d+|ucxx-cu\d+|libfabric"
)
_FOLDER = re.compile(r"([A-Za-z0-9][\w.]{0,60})-([0-9][\w.+!]{0,40})\.dist-info")
_LIBRARY = re.compile(
    r"lib(nccl|rccl|nccl-net[\w-]{0,20}|ucp|fabric|cudart)\.so\.(\d[\d.]{0,20})|(libnccl-net[\w-]{0,20})\.so"
)
_PLACES = (
    "/opt/amazon/ofi-nccl/lib",
    "/opt/amazon/ofi-nccl/lib64",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu",
    "/opt/aws-ofi-nccl/lib",
    "/opt/amazon/efa/lib",
    "/opt/amazon/efa/lib64",
    "/opt/rocm/lib",
    "/usr/local/cuda/lib64",
    "/usr/local/lib",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/var/lib/tcpxo/lib64",
    "/usr/local/gib/lib64",
)
"""Where system packages and the clouds' images put them; the loader's order."""
_MOST = 20_000


def versions(root: str = "") -> Dict[str, Any]:
    """Of this Python and its folders, in their order; and the libraries beside it."""
    found: Dict[str, Any] = {"python": ".".join(map(str, sys.version_info[:3])), "packages": {}, "commit": None}
    for folder in dict.fromkeys(sys.path):
        if folder and os.path.isdir(folder):
            told = beside(folder)
            found["packages"] = {**told["packages"], **found["packages"]}
            found["commit"] = found["commit"] or told["commit"]
    return {**found, "libraries": libraries(root)}


def beside(folder: str, root: str = "") -> Dict[str, Any]:
    """Of one folder of packages; its Python as far as its name tells it (`python3.11`)."""
    packages: Dict[str, str] = {}
    for name in _names(root + folder):
        match = _FOLDER.fullmatch(name)
        plain = re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""
        if match is not None and _WANTED.fullmatch(plain):
            packages[plain] = match[2]
    python = re.search(r"/python(\d\.\d+)/", folder)
    commit = _commit(f"{root}{folder}/ray/_version.py") if "ray" in packages else None
    return {"python": python[1] if python else None, "packages": packages, "commit": commit}


def libraries(root: str = "") -> Dict[str, List[str]]:
    """By name, the versions in the order in which the loader would find them; without one, of what has none."""
    found: Dict[str, List[str]] = {}
    for place in _PLACES:
        for name in _names(root + place):
            match = _LIBRARY.fullmatch(name) if name.startswith("lib") else None
            if match is not None:
                told = found.setdefault(f"lib{match[1]}" if match[1] else match[3], [])
                if match[2] and match[2] not in told:
                    told.append(match[2])
    return found


def _commit(path: str) -> Any:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            match = re.search(r"^commit = ['\"]([0-9a-f]{40})['\"]", file.read(4096), re.MULTILINE)
    except OSError:
        return None
    return match[1] if match else None


def _names(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST]
    except OSError:
        return []
