"""Mobilint NPUs: PCI and the nodes of its drivers, by which Ray counts and types them where there is no qb Runtime.

Vendor 209f (pci.ids names no device ids). /dev/aries<n> is an ARIES, /dev/regulus-npu<n> a REGULUS; /dev/regulus and
/dev/regulus-usb are no devices of their own. There is no link between devices but PCIe.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional, Sequence

from raxl.host import Answer
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.report import Claim, Report
from raxl.sources.families import Family
from raxl.sources.plain_family import Answers, PlainFamily, numbered

_ARIES, _REGULUS = r"aries([0-9]{1,5})", r"regulus-npu([0-9]{1,5})"
_TYPES = {_ARIES: ("ARIES", "MOBILINT_ARIES"), _REGULUS: ("REGULUS", "MOBILINT_REGULUS")}
"""By the driver's nodes, the model and Ray's type, the one that Ray looks for first before the other."""


class Mobilint(PlainFamily):
    """Mobilint NPUs."""

    vendor = "mobilint"
    family = "Mobilint"
    described = Family(
        vendor="mobilint",
        name="Mobilint",
        kind="npu",
        vendor_id="209f",
        models={},
        resource="MBLT",
        visible_env="QBRUNTIME_VISIBLE_DEVICES",
        drivers=(),
        classes=("12",),
    )
    node = r"(?:aries|regulus-npu)([0-9]{1,5})"
    is_node_alone_enough = True

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """As for every plain family; the nodes tell the model where all of them are of one kind, and Ray's type."""
        report = super().parse(answers, functions)
        kinds = [told for pattern, told in _TYPES.items() if numbered(answers.nodes, pattern)]
        if not kinds:
            return report
        model = kinds[0][0] if len(kinds) == 1 else None
        return replace(report, claims=tuple(_told(claim, model, kinds[0][1]) for claim in report.claims))


def ray_type(nodes: Answer) -> Optional[str]:
    """What Ray calls the node's NPUs: one type for all."""
    return next((told[1] for pattern, told in _TYPES.items() if numbered(nodes, pattern)), None)


def _told(claim: Claim, model: Optional[str], type: str) -> Claim:
    silent = {field: why for field, why in claim.silent.items() if field != "model" or model is None}
    return replace(claim, model=model, ray=RayView("MBLT", type), silent=silent)
