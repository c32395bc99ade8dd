"""`npu-smi info -t topo`: how Ascend NPUs are joined. Its words for PCIe are those of the field; HCCS and SIO are the
vendor's fabric between packages, and between the two dies of one package.

A container shows the NPUs that it was given; a manual's excerpt lacks rows. The tool never counts links.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

from raxl.model.accelerator import RayView
from raxl.model.link import PCIE_CLASSES
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Claim, LinkClaim
from raxl.sources import kernel_list, tool_matrix
from raxl.sources.ascend import ASCEND, VISIBLE_IDS
from raxl.sources.tool_matrix import Matrix, Shape

FORM = "npu-smi info -t topo"
COMMAND = ("npu-smi", "info", "-t", "topo")
SHAPE = Shape(
    name=re.compile(r"(?<![A-Za-z])NPU ?[0-9]{1,4}"),
    cell=re.compile(r"HCCS_SW|HCCS|SIO|SYS|NODE|PHB|PXB|PIX|N/A|NA|X"),
    own="X",
)
_FABRICS = {"HCCS": "hccs", "HCCS_SW": "hccs", "SIO": "sio"}
"""HCCS through a switch is HCCS too."""


def recognises(text: str) -> bool:
    """Whether such a matrix stands in the text."""
    return "NPU" in text and tool_matrix.recognises(text, SHAPE)


def own(text: str) -> str:
    """The lines of the matrix."""
    return tool_matrix.own(text, SHAPE)


def read(text: str) -> Matrix:
    """The matrix; empty where the text holds none."""
    return tool_matrix.read(text, SHAPE)


def claims(matrix: Matrix) -> List[Claim]:
    """The NPUs by their numbers, each with the CPUs that the tool calls near."""
    made = []
    for name in matrix.names:
        near = next((word for word in matrix.beside.get(name, "").split() if kernel_list.parse(word)), None)
        made.append(
            Claim(
                vendor=ASCEND.vendor,
                kind=ASCEND.kind,
                evidence=FORM,
                index=_number(name),
                ray=RayView(resource=ASCEND.resource),
                visible_env=ASCEND.visible_env,
                attributes={"visible_env_ids": VISIBLE_IDS, **({"cpu_affinity": near} if near else {})},
            )
        )
    return made


def links(matrix: Matrix) -> Tuple[List[LinkClaim], List[Problem]]:
    """A claim for each pair that a row gives; two rows that contradict each other are told."""
    found: Dict[Tuple[str, str], LinkClaim] = {}
    problems = (
        [Problem("links", FAILED, f"the matrix is incomplete: {matrix.damage}", (FORM,))] if matrix.damage else []
    )
    for (a, b), word in matrix.cells.items():
        fabric = _FABRICS.get(word)
        if a == b or (fabric is None and word not in PCIE_CLASSES):
            continue
        link_class = word if fabric is None else word.split("_")[0]
        first, second = sorted((a, b), key=lambda name: (_number(name) is None, _number(name), name))
        made = LinkClaim(_end(first), _end(second), link_class, fabric or "pcie", evidence=FORM)
        known = found.setdefault((first, second), made)
        if known.link_class != link_class:
            message = f"the matrix calls {first}–{second} {known.link_class} in one row and {link_class} in the other"
            problems.append(Problem("links", DISAGREEMENT, message, (FORM,)))
    return list(found.values()), problems


def _number(name: str) -> "int | None":
    found = re.fullmatch(r"NPU([0-9]{1,4})", name)
    return int(found[1]) if found else None


def _end(name: str) -> str:
    number = _number(name)
    return name if number is None else f"{ASCEND.vendor}#{number}"
