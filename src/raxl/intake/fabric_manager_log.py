"""The log of NVIDIA's fabric manager: of it the lines are kept that warn or tell of an error, each once with its count.

`[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 …`
"""

from __future__ import annotations

import json
import re
from typing import Any

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import lines
from raxl.model.problem import Problem
from raxl.sources.fabric_manager_log import FORM

_LINE = re.compile(
    r"\[(?P<stamp>[A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d)\] \[(?P<level>[A-Z]{4,9})\] \[tid \d{1,10}\] (?P<text>.*)"
)
_TOLD = ("WARNING", "ERROR", "CRITICAL", "FATAL")
_MOST = 256
_LONGEST = 400


def recognises(text: str) -> bool:
    """Whether lines of such a log stand in it."""
    return "] [tid " in text and any(_LINE.fullmatch(line) for line in lines(text))


def own(text: str) -> str:
    """What is kept of the log, as one line of JSON."""
    found = [match for line in lines(text) if (match := _LINE.fullmatch(line))]
    kept: dict[str, dict[str, Any]] = {}
    for match in found:
        if match["level"] not in _TOLD:
            continue
        words = match["text"][:_LONGEST]
        if words in kept:
            kept[words]["count"] += 1
            kept[words]["last"] = match["stamp"]
        elif len(kept) < _MOST:
            stamps = {"first": match["stamp"], "last": match["stamp"]}
            kept[words] = {"text": words, "level": match["level"], "count": 1, **stamps}
    told = {"lines": len(found), "oldest": found[0]["stamp"] if found else None, "kept": list(kept.values())}
    return json.dumps(told) + "\n"


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Nothing of the machine; what it tells is for the checks."""
    return Foreign(FORM), ()
