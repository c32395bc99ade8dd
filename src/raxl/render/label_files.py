"""Labels as `ray start` takes them: a file for `--labels-file`, arguments for the command line.

Values hold nothing that a shell or YAML acts on, but for digits that YAML would take for numbers: those are quoted.
"""

from __future__ import annotations

import json
import shlex

from raxl.model.label import FIXED, LabelsDocument, NodeLabels
from raxl.model.printable import clean


def ray_file(document: LabelsDocument) -> str:
    """YAML for `ray start --labels-file=FILE`. Of several nodes, a document each: Ray takes a file of one."""
    several = len(document.nodes) > 1
    use = "Each part is a file of its own, for its node: " if several else "For "
    head = f"{comment(f'{use}ray start --labels-file=FILE')}\n{comment(FIXED)}\n"
    parts = [_part(node) for node in document.nodes]
    return head + "---\n".join(parts)


def _part(node: NodeLabels) -> str:
    lines = [comment(node.node), *([no_answer(node)] if node.refusal else mapping(node, ""))]
    return "".join(f"{line}\n" for line in lines)


def no_answer(node: NodeLabels) -> str:
    """A comment: nothing is known of the node, which is not the same as a node without labels."""
    return comment(f"{node.node} did not answer, hence nothing is known of its labels: {node.refusal}")


def mapping(node: NodeLabels, indent: str) -> list[str]:
    """`raxl/accelerators: "8"`, a line a label; `{}` where there is none."""
    return pairs({one.key: one.value for one in node.labels}, indent)


def pairs(labels: dict[str, str], indent: str) -> list[str]:
    """The same of plain labels."""
    return [f"{indent}{key}: {json.dumps(value)}" for key, value in labels.items()] or [f"{indent}{{}}"]


def ray_args(document: LabelsDocument) -> str:
    """`--labels=key=value,key=value`, a line a node; of several, each after its name as a comment."""
    lines = []
    for node in document.nodes:
        if len(document.nodes) > 1:
            lines.append(comment(node.node))
        if node.labels:
            lines.append(shlex.quote("--labels=" + ",".join(f"{one.key}={one.value}" for one in node.labels)))
        elif node.refusal:
            lines.append(no_answer(node))
    return "".join(f"{line}\n" for line in lines)


def comment(text: str) -> str:
    """A line that neither YAML nor a shell reads."""
    return f"# {clean(text)}"
