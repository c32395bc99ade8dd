"""Huawei Ascend: its models, and what Ray calls them.

Ids: the driver's own log script and public captures; names: `npu-smi`. Ray: `ray/_private/accelerators/npu.py`.
"""

from __future__ import annotations

import re
from typing import Dict, Optional, Union

from raxl.model.problem import NOT_SUPPORTED
from raxl.model.report import Silence
from raxl.sources.families import Family

ASCEND = Family(
    vendor="ascend",
    name="Huawei Ascend",
    kind="npu",
    vendor_id="19e5",
    models={
        "d100": "Ascend 310",
        "d500": "Ascend 310P",
        "d801": "Ascend 910A",
        "d802": "Ascend 910B",
        "d803": "Ascend 910C",
    },
    resource="NPU",
    visible_env="ASCEND_RT_VISIBLE_DEVICES",
    drivers=("devdrv_device_driver", "drv_pcie_host", "ascend"),
    classes=("12",),
)
"""The vendor makes storage and network adapters too: an unknown id counts in class 12 alone."""
VISIBLE_IDS = "logical id; /dev/davinci<n> and ASCEND_VISIBLE_DEVICES count physical ids"
RAY_TYPE = Silence(NOT_SUPPORTED, "Ray names the type by acl.get_soc_name, which this name does not give")
_SOC = re.compile(r"(?:Ascend ?)?((?:910[A-Z][0-9]?|310P[0-9]?|310B[0-9]?|310))")

Attributes = Dict[str, Union[str, int, float, bool, None]]


def ray_type(model: Optional[str]) -> Optional[str]:
    """`Ascend910B4` of `910B4`; None for a name that several chips share (`Ascend910`)."""
    found = _SOC.fullmatch((model or "").strip())
    return f"Ascend{found[1]}" if found else None
