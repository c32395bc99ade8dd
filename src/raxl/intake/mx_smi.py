"""`mx-smi` and `mx-smi topo -m`: MetaX's GPUs, as a table and as a matrix."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined
from raxl.model.problem import Problem
from raxl.sources import mx_smi, tool_box, tool_words

FORM = mx_smi.TOOL


def recognises(text: str) -> bool:
    """Whether a row of a MetaX GPU, or a matrix of MetaX's links, stands in the text."""
    return mx_smi.recognises_table(text) or mx_smi.recognises_matrix(text)


def own(text: str) -> str:
    """The lines of the GPUs, of the versions and of the matrix with the borders beside them, without the processes."""
    return joined(tool_box.framed(tool_words.lines(text), {line for line, _, _ in mx_smi.lines(text)}))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs and their pairs."""
    return Foreign(FORM, report=mx_smi.report(text)), ()
