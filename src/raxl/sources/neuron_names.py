"""How AWS calls its accelerators, and what is alike for them whoever names one.

PCI ids: the PCI ID repository and AWS's driver. Instance types: https://aws.amazon.com/ec2/instance-types.
"""

from __future__ import annotations

import re
from typing import Optional

from raxl.model.accelerator import RayView
from raxl.model.placement import Placement
from raxl.sources.families import Family

FAMILY = Family(
    vendor="neuron",
    name="AWS Neuron",
    kind="neuron",
    vendor_id="1d0f",
    models={
        "7064": "Inferentia",
        "7065": "Inferentia",
        "7066": "Inferentia",
        "7067": "Inferentia",
        "7164": "Trainium1",
        "7264": "Inferentia2",
        "7364": "Trainium2",
        "7564": "Trainium3",
        "7565": "Trainium3",
    },
    resource="neuron_cores",
    visible_env="NEURON_RT_VISIBLE_CORES",
    drivers=("neuron",),
    classes=("12",),
)
"""Amazon's other functions (network adapters, EFA, disks, FPGAs) are no Neuron devices."""
RAY = RayView(resource="neuron_cores", type="aws-neuron-core")
"""Ray counts NeuronCores, not devices, and has one type for every generation."""
_CHIPS = {"inf1": "Inferentia", "inf2": "Inferentia2", "trn1": "Trainium1", "trn2": "Trainium2", "trn3": "Trainium3"}
_INSTANCE = re.compile(r"(inf1|inf2|trn1|trn2|trn3)[a-z]{0,3}\.[a-z0-9-]{1,20}")
_SERVER = re.compile("[0-9a-f]{16}", re.IGNORECASE)


def model_of_instance(instance_type: Optional[str]) -> Optional[str]:
    """`Trainium2` for `trn2n.48xlarge`: an instance type has one kind of chip."""
    found = _INSTANCE.fullmatch(instance_type or "")
    return _CHIPS[found[1]] if found else None


def ultraserver(text: Optional[str]) -> Optional[str]:
    """The id that the nodes of an UltraServer share, 16 hex digits; None for zeros, `busy` and anything else."""
    word = (text or "").strip().lower()
    return word if _SERVER.fullmatch(word) and word.strip("0") else None


def placement(instance_type: Optional[str], domain: Optional[str], evidence: str) -> Placement:
    """Where the node stands, of what a Neuron tool or driver says of it."""
    known = instance_type if _INSTANCE.fullmatch(instance_type or "") else None
    if known is None and domain is None:
        return Placement()
    return Placement(provider="aws" if known else None, instance_type=known, fabric_domain=domain, evidence=(evidence,))
