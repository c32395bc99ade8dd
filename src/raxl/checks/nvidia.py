"""What the checks of NVIDIA's GPUs share: which of them are made for servers, and what a lost one was seen by."""

from __future__ import annotations

import re

from raxl.checks import Case
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ
from raxl.model.problem import NOT_ASKED

VENDOR = "nvidia"
MEMORY_GUIDE = "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/"
XID_GUIDE = "https://docs.nvidia.com/deploy/xid-errors/"
NVML = "https://docs.nvidia.com/deploy/nvml-api/"
_SERVER = re.compile(r"(?:Tesla|(?:NVIDIA )?(?:[ABHLVPTR][0-9]{1,3}[A-Z]?|G[BH][0-9]{3})(?![0-9A-Za-z]))\b.*")
"""Names of boards without a display's use: `Tesla V100-SXM2-32GB`, `NVIDIA H100 80GB HBM3`, `NVIDIA GB200`,
`A100-SXM4`."""
_GUEST = ("VGPU", "vGPU", "Vgpu")


def is_for_servers(device: Accelerator) -> bool:
    """Whether the model is a data-centre part, by its name; workstation and consumer cards are not."""
    return bool(_SERVER.fullmatch(device.model or ""))


def is_guest(virtualization: object) -> bool:
    """Whether a hypervisor gives this machine a part of a GPU, and rules over its settings."""
    return virtualization in _GUEST


def refusals(case: Case, *words: str) -> str:
    """The words with which the library or the tool failed as a whole, where any of `words` stands in them."""
    told = [
        one.message
        for one in case.node.problems
        if one.subject == "accelerators" and {"nvml", "nvidia-smi message", "nvidia-smi -q -x"} & set(one.evidence)
    ]
    drivers = (case.facts.drivers.get(f"nvidia.{name}", NOT_READ) for name in ("start", "tool"))
    told += [one.message for one in drivers if one.reason not in (None, NOT_ASKED)]
    return "; ".join(dict.fromkeys(one for one in told if any(word in one for word in words)))
