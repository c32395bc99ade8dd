"""`neuron-ls` as somebody pasted it: a table of any release, with processes, with its drawing, or JSON."""

from __future__ import annotations

import re

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import json_text, neuron_ls, tool_box

FORM = neuron_ls.NAME
_TABLE = re.compile(
    r"^[ \t]*\|[ \t]*NEURON[ \t]*\|[ \t]*NEURON[ \t]*\|"
    r"|^[ \t]*\|[ \t]*[0-9]{1,3}[ \t]*\|[ \t]*[0-9]{1,3}[ \t]*\|[^\n]{0,80}\b[0-9]{1,4} GB[ \t]*\|",
    re.MULTILINE,
)
_JSON = re.compile(r'"neuron_device"[ \t]*:')
_COMMAND = ("PID", "COMMAND")


def recognises(text: str) -> bool:
    """Whether it has the title or a row of the table, or a device in JSON."""
    return _TABLE.search(text) is not None or _JSON.search(text) is not None


def own(text: str) -> str:
    """The table and what stands above it, or the JSON; processes are left out of both."""
    every = lines(text)
    kept = tool_box.framed(every, {line for line in every if neuron_ls.is_own(line)})
    told = json_text.own(text) if _JSON.search(text) else ""
    return joined(_without_processes(kept)) + told


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices, how they are joined, and the instance type where it is told."""
    held = json_text.documents(text)
    output = neuron_ls.joined(neuron_ls.of_lines(lines(text)), neuron_ls.of_values([one.value for one in held]))
    links, problems = neuron_ls.links(output)
    damage = [problem for one in held for problem in one.problems(FORM, FORM)]
    report = Report(tuple(neuron_ls.claims(output)), tuple(links), placement=neuron_ls.placement(output))
    return Foreign(FORM, report=report), (*damage, *output.problems, *problems)


def _without_processes(kept: list[str]) -> list[str]:
    """The table's rows without what stands from the column of process numbers on."""
    titles: list[str] = []
    told = []
    for line in kept:
        if line.lstrip().startswith("|"):
            found = neuron_ls.cells(line)
            if found[0] == "NEURON":
                titles = found
            place = next((at for at, title in enumerate(titles) if title in _COMMAND), None)
            if place is not None:
                closed = " |" if line.endswith("|") or len(found) > place else ""
                line = "| " + " | ".join(found[:place]) + closed
        told.append(line)
    return told
