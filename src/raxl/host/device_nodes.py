"""The device files through which accelerators and RDMA adapters are used: stat(2) and access(2), none is opened.

But for one: whether /dev/nvidiactl can be opened tells whether a container was robbed of its devices, which neither
stat nor access sees. Standard library, Python 3.8.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import Any, Dict

_PLACES = (
    ("/dev", re.compile(r"nvidia\d+|nvidiactl|nvidia-uvm(-tools)?|nvidia-nvswitch(ctl|\d+)|kfd|neuron\d+|accel\d+")),
    ("/dev/nvidia-caps", re.compile(r"nvidia-cap\d+")),
    ("/dev/nvidia-caps-imex-channels", re.compile(r"channel\d+")),
    ("/dev/dri", re.compile(r"renderD\d+")),
    ("/dev/accel", re.compile(r"accel\d+")),
    ("/dev/vfio", re.compile(r"\d+|vfio")),
    ("/dev/infiniband", re.compile(r"(uverbs|umad|issm)\d+|rdma_cm")),
)
_MOST = 256
"""Of one folder: a machine with many MIG devices has hundreds of capabilities."""
CONTROL = "/dev/nvidiactl"


def device_nodes() -> Dict[str, Any]:
    """By path: permissions, owner, group, major, minor, and whether this process may read and write it."""
    found: Dict[str, Any] = {}
    for folder, pattern in _PLACES:
        try:
            names = sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))
        except OSError:
            continue  # it is not there, as most of them on most machines
        for name in names[:_MOST]:
            told = _of(f"{folder}/{name}")
            if told is not None:
                found[f"{folder}/{name}"] = told
    return found


def _of(path: str) -> Any:
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISCHR(status.st_mode):
        return None
    device = status.st_rdev
    return [
        stat.S_IMODE(status.st_mode),
        status.st_uid,
        status.st_gid,
        os.major(device),
        os.minor(device),
        os.access(path, os.R_OK | os.W_OK),
    ]


def control() -> Dict[str, Any]:
    """The errno of opening NVIDIA's control file: 0 where it opens, ENOENT where it is not there."""
    try:
        descriptor = os.open(CONTROL, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        number = error.errno or errno.EIO
        return {"errno": number, "name": errno.errorcode.get(number, str(number))}
    os.close(descriptor)
    return {"errno": 0, "name": ""}
