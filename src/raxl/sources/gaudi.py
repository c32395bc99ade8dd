"""Intel Gaudi: its models, and the claim that a tool's words make.

Names and ids: https://docs.habana.ai, the kernel's habanalabs driver. Ray: `ray/_private/accelerators/hpu.py`.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, Optional, Union

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED
from raxl.model.report import Claim, Silence
from raxl.sources import tool_silence
from raxl.sources.families import Family
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

GAUDI = Family(
    vendor="gaudi",
    name="Intel Gaudi",
    kind="hpu",
    vendor_id="1da3",
    models={
        "0001": "Goya",
        "1000": "Gaudi",
        "1001": "Gaudi HL-2000M",
        "1010": "Gaudi (secured)",
        "1011": "Gaudi HL-2000M (secured)",
        "1020": "Gaudi2",
        "1060": "Gaudi3",
        "1063": "Gaudi3 HL-338",
    },
    resource="HPU",
    visible_env="HABANA_VISIBLE_MODULES",
    drivers=("habanalabs",),
    classes=("12",),
)
NOMINAL_MEMORY_GB = {"1020": 96, "1060": 128, "1063": 128}
"""What the data sheet gives a model of this PCI device id; a reading comes from the tool alone."""
VISIBLE_IDS = "module_id"
"""HABANA_VISIBLE_MODULES counts slots of the base board; hl-smi's order and the bus's are others."""
RAY_TYPE = Silence(NOT_APPLICABLE, "Ray names the type of a Gaudi only once habana_frameworks has initialised it")
_NO_HEALTH = Silence(NOT_ASKED, "hl-smi tells no health of a device")
_ARCHITECTURES = {"HL-2[01]": "Gaudi", "HL-22": "Gaudi2", "HL-3[23]": "Gaudi3"}
_FIELDS = {"model": "model", "memory": "memory_bytes", "uuid": "uuid", "serial": "serial", "index": "index"}
_COUNTERS = ("module_id", "uncorrected_events", "uncorrected_ecc_errors")

Attributes = Dict[str, Union[str, int, float, bool, None]]


def architecture(model: Optional[str]) -> Optional[str]:
    """`Gaudi2` of `HL-225`; None for a name of no known card."""
    return next((name for start, name in _ARCHITECTURES.items() if re.match(start, model or "")), None)


def claim(form: str, words: Mapping[str, str], is_cut: bool = False) -> Claim:
    """What hl-smi's words say of one device.

    Neither the table nor the csv has a field of health: the state is not known from them, and the driver's own file
    `status` tells it on the machine. Uncorrected events are counted beside, and judged elsewhere.
    """
    said = {name: tool_silence.says(word) for name, word in words.items()}
    memory = mebibytes(said.get("memory"))
    silent = dict(tool_silence.silences(words, _FIELDS, "hl-smi", form, is_cut))
    if memory is None:
        silent.setdefault("memory_bytes", tool_silence.silence(words.get("memory", ""), "hl-smi", form))
    attributes: Attributes = {"visible_env_ids": VISIBLE_IDS}
    for name in _COUNTERS:
        count = whole(said.get(name), MOST_BYTES)
        if count is not None:
            attributes[name] = count
        elif name in words:
            silent[f"attributes.{name}"] = tool_silence.silence(words[name], "hl-smi", form)
    return Claim(
        vendor=GAUDI.vendor,
        kind=GAUDI.kind,
        evidence=form,
        address=pci_address(said.get("address")),
        uuid=said.get("uuid"),
        index=whole(said.get("index"), MOST_PLACES),
        model=said.get("model"),
        architecture=architecture(said.get("model")),
        serial=said.get("serial"),
        memory_bytes=memory,
        ray=RayView(resource=GAUDI.resource),
        visible_env=GAUDI.visible_env,
        attributes=attributes,
        silent={**silent, "state": _NO_HEALTH, "ray.type": RAY_TYPE},
    )


def mebibytes(text: Optional[str]) -> Optional[int]:
    """Bytes of `98304MiB` or `98304 MiB`; None for 0 and for a number without its unit."""
    found = re.fullmatch(r"([0-9]{1,15})\s?MiB", text or "")
    size = whole(found[1], MOST_BYTES >> 20) if found else None
    return size << 20 if size else None
