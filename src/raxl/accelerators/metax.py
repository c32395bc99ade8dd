"""MetaX GPUs: PCI, and where a device is here what `mx-smi` and `mx-smi topo -m` say.

Vendor 9999 is one that stray devices bear too: a display or processing class is required even of a known device.
Another maker's tool is called mx-smi as well: an output that does not bear MetaX's marks is not read. The runtime
reads `CUDA_VISIBLE_DEVICES`, so that on a machine with NVIDIA GPUs one variable hides devices of both; Ray calls the
resource GPU.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.component import PciFunction
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import FAILED, Problem
from raxl.model.report import LinkClaim, Report, Silence
from raxl.sources import families, mx_smi, pci, tool_words
from raxl.sources.families import Family
from raxl.sources.plain_family import NOT_SOUGHT

TABLE, MATRIX = ("mx-smi",), ("mx-smi", "topo", "-m")
MODULE = "/sys/module/metax/version"
CLASSES = ("03", "12")
FAMILY = Family(
    vendor=mx_smi.VENDOR,
    name="MetaX",
    kind="gpu",
    vendor_id="9999",
    models={"0a01": "MetaX C500"},
    resource=mx_smi.RESOURCE,
    visible_env=mx_smi.VISIBLE,
    drivers=("metax", "METAX"),
    classes=CLASSES,
)


class Answers(NamedTuple):
    """The driver's version, and the tool's two outputs."""

    version: Answer
    table: Answer
    matrix: Answer


class MetaX:
    """MetaX GPUs."""

    vendor = "metax"
    family = "MetaX"

    def probe(self, host: Host) -> Presence:
        """Looks on the bus."""
        return families.probe(FAMILY, host)

    def ask(self, host: Host) -> Answers:
        """Asks the tool where a device is on the bus."""
        here = any(
            stripped(host.text(f"{pci.FOLDER}/{name}/vendor")) == "0x" + FAMILY.vendor_id
            and (stripped(host.text(f"{pci.FOLDER}/{name}/class")) or "")[2:].startswith(CLASSES)
            for name in host.names(pci.FOLDER).value or ()
        )
        return Answers(
            version=host.text(MODULE) if here else NOT_SOUGHT,
            table=host.command(TABLE) if here else NOT_SOUGHT,
            matrix=host.command(MATRIX) if here else NOT_SOUGHT,
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """A claim a device of the bus and of the tool's table; the pairs of its matrix."""
        on_bus = [one for one in families.on_bus(FAMILY, functions) if (one.class_id or "").startswith(CLASSES)]
        table, matrix = tool_words.printed(answers.table), tool_words.printed(answers.matrix)
        told = mx_smi.report(table if mx_smi.recognises_table(table) else "")
        joined = mx_smi.report(matrix if told.claims and mx_smi.recognises_matrix(matrix) else "")
        listed = {claim.address for claim in told.claims}
        silence = _refusal(answers.table, table)
        links = joined.links
        problems = [*told.problems, *joined.problems]
        if on_bus and len(on_bus) > 1 and not links and on_bus[0].evidence in pci.BUS_ALONE:
            pairs = combinations([one.address for one in on_bus], 2)
            links = tuple(LinkClaim(a, b, None, None, evidence=on_bus[0].evidence) for a, b in pairs)
            unseen = tool_words.refusal(answers.matrix, mx_smi.TOPO)
            problems.append(Problem("links", unseen.reason, unseen.message, (unseen.evidence,)))
        version = stripped(answers.version)
        driver = [Software("metax", version, MODULE)] if version else []
        return Report(
            claims=(
                *(families.claim(FAMILY, one, None if one.address in listed else silence) for one in on_bus),
                *told.claims,
                *joined.claims,
            ),
            links=links,
            software=(*driver, *(one for one in told.software if not version or one.name != "metax")),
            problems=tuple(problems),
        )


def _refusal(answer: Answer, printed: str) -> Silence:
    if answer.known and answer.value.status == 0 and not mx_smi.recognises_table(printed):
        return Silence(FAILED, "the mx-smi that is installed is not MetaX's, or lists no GPU", mx_smi.TOOL)
    return tool_words.refusal(answer, mx_smi.TOOL)
