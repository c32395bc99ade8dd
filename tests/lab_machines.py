"""What the hosts of the lab are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import recordings


@dataclass(frozen=True)
class Machine:
    """What one host of the lab is."""

    recording: str | Path | None
    """A name of `tests/recordings`, or a snapshot file; None: the machine itself."""
    num_gpus: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    num_cpus: int = 1
    name: str | None = None
    """The host's name; None: that of the recorded machine."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """More variables of all that runs there, the raylet among it."""


MACHINES = (
    Machine("nvidia-hgx-h100", num_gpus=8, resources={"accelerator_type:H100": 1}),
    Machine("amd-mi300x-spx", num_gpus=8, resources={"accelerator_type:AMD-Instinct-MI300X-OAM": 1}),
    Machine("neuron-trn2-ultraserver", resources={"neuron_cores": 64, "accelerator_type:aws-neuron-core": 1}),
    Machine("tpu-v6e-8", resources={"TPU": 8, "accelerator_type:TPU-V6E": 1, "TPU-v6e-8-head": 1}),
)
"""The head first. What Ray would have counted on such a machine is given to it by hand."""


def recorded(recording: str | Path | None) -> tuple[str | None, str, bytes]:
    """The recorded machine's name (None: not known), the snapshot's, and its bytes."""
    if recording is None:
        return None, "", b""
    if isinstance(recording, Path):
        return None, recording.name, recording.read_bytes()
    return recordings.recording(recording).name, f"{recording}.tar.gz", recordings.snapshot(recording)
