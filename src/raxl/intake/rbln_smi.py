"""`rbln-smi` and `rbln-stat`: Rebellions' NPUs, as JSON and as a table."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined
from raxl.model.problem import Problem
from raxl.sources import json_text, rbln_smi, tool_box, tool_words

FORM = rbln_smi.TOOL


def recognises(text: str) -> bool:
    """Whether its JSON, or a row of its table, stands in the text."""
    return rbln_smi.has_json(text) or rbln_smi.has_table(text)


def own(text: str) -> str:
    """The documents, without the contexts that processes hold, and the table's rows of devices with the borders that
    close them. Of JSON that cannot be read there stays what says so."""
    documents = json_text.own(tool_words.plain(text)) or '{"KMD_version"' if rbln_smi.has_json(text) else ""
    table = tool_box.framed(tool_words.lines(text), {line for line, _ in rbln_smi.rows(text)})
    return joined([*([documents] if documents else []), *table])


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The NPUs."""
    return Foreign(FORM, report=rbln_smi.report(text)), ()
