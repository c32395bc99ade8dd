"""Which devices a process here could open: a container sees the whole bus, and is given some of the files in /dev."""

from __future__ import annotations

import re
from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.topology.ray_counts import AMD, ASCEND, GAUDI, INTEL, METAX, MOBILINT, NEURON, RBLN, TENSTORRENT, Family, Here

_FILES = {
    NEURON.name: r"neuron[0-9]+",
    ASCEND.name: r"davinci[0-9]+",
    RBLN.name: r"rbln[0-9]+",
    MOBILINT.name: r"aries[0-9]+|regulus-npu.*",
    GAUDI.name: r"hl[0-9]+",
}
"""Files of which one is a device; which of the devices on the bus it is, the name does not say."""
WANTED = {
    AMD.name: "/dev/kfd and /dev/dri/renderD*",
    NEURON.name: "/dev/neuron*",
    ASCEND.name: "/dev/davinci*",
    RBLN.name: "/dev/rbln*",
    MOBILINT.name: "/dev/aries*",
    GAUDI.name: "/dev/accel",
    TENSTORRENT.name: "/dev/tenstorrent",
}
"""By family, what a container is to be given."""
_BY_RENDER_NODE = {AMD.vendor, INTEL.vendor, METAX.vendor}


def openable(family: Family, devices: Sequence[Accelerator], here: Here) -> list[Accelerator]:
    """The devices whose file is here; where files do not tell their devices, as many as there are files.

    All of them where /dev was not read, or where a family's files are not known.
    """
    if family is GAUDI and here.readings.accel_nodes.value:
        return _owned(devices, here.readings.accel_nodes)
    if family is TENSTORRENT:
        return _first(devices, here.readings.tenstorrent, "[0-9]+")
    if family.name in _FILES:
        return _first(devices, here.readings.device_files, _FILES[family.name])
    return [device for device in devices if _is_openable(device, here)]


def _is_openable(device: Accelerator, here: Here) -> bool:
    """Whether a GPU can be opened: ROCm needs the file of the KFD too."""
    files, nodes = here.readings.device_files, here.readings.render_nodes
    if device.vendor == AMD.vendor and files.reason is None and "kfd" not in files.value:
        return False
    return device.vendor not in _BY_RENDER_NODE or not nodes.value or bool(_owned([device], nodes))


def _owned(devices: Sequence[Accelerator], nodes: Reading) -> list[Accelerator]:
    owners = set(nodes.value.values())
    return [device for device in devices if device.pci is None or device.pci.address in owners]


def _first(devices: Sequence[Accelerator], listing: Reading, pattern: str) -> list[Accelerator]:
    if listing.reason is not None:
        return list(devices)
    return list(devices[: sum(bool(re.fullmatch(pattern, name)) for name in listing.value)])
