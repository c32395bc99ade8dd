"""What Ray's own detection goes by, as it was read of one node. Not published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from raxl.model.facts import Reading
from raxl.model.problem import NOT_ASKED

NOT_READ = Reading(None, "/dev", NOT_ASKED)


@dataclass(frozen=True)
class RayReadings:
    """The answers to the questions that Ray 2.60 asks of a node when it starts there."""

    environment: Reading
    """The allowed variables, by name."""
    packages: Reading
    """Which of the Python packages that Ray imports lie beside it; None where no Ray is beside raxl."""
    nvml: Reading
    """How many boards NVML lists; a reason of `failed` means that it does not start."""
    amdsmi: Reading
    """How many devices amdsmi lists, partitions one by one."""
    neuron_tools: Reading
    """The names in the folder in which Ray looks for neuron-ls."""
    neuron_cores: Reading
    """The sum of `nc_count` that `neuron-ls --json-output` prints."""
    device_files: Reading
    """The names in `/dev`."""
    tenstorrent: Reading
    """The names in `/dev/tenstorrent`."""
    vfio: Reading
    """By numbered VFIO group in `/dev/vfio`, the PCI addresses of its devices."""
    render_nodes: Reading = NOT_READ
    """By render node in `/dev/dri`, the PCI address of its device: ROCm, Level Zero and MACA open these."""
    accel_nodes: Reading = NOT_READ
    """By name in the folder `/dev/accel`, the PCI address of its device."""
    accel_folders: frozenset[str] = frozenset()
    """Those names in `/dev` that begin with `accel` and are folders."""
    accel_owners: Mapping[str, str] = field(default_factory=dict)
    """By name of a file `/dev/accel…`, the PCI address of the device that the kernel lists for it."""
