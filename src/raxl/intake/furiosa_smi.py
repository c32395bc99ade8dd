"""`furiosa-smi info|status|topo`: FuriosaAI's NPUs, as JSON and as tables."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined
from raxl.model.problem import Problem
from raxl.sources import furiosa_smi, json_text, tool_box, tool_words

FORM = furiosa_smi.TOOL


def recognises(text: str) -> bool:
    """Whether its JSON, or a head or a row of its tables, stands in the text."""
    return furiosa_smi.has_json(text) or (
        ("npu" in text or "PCI-BDF" in text) and any(True for _ in furiosa_smi.table(text))
    )


def own(text: str) -> str:
    """The documents, and the tables' lines with the borders beside them."""
    documents = json_text.own(tool_words.plain(text)) if furiosa_smi.has_json(text) else ""
    table = tool_box.framed(tool_words.lines(text), {line for line, _, _ in furiosa_smi.table(text)})
    return joined([*([documents] if documents else []), *table])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The NPUs and their pairs."""
    return Foreign(FORM, report=furiosa_smi.report(text)), ()
