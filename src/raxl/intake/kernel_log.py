"""A kernel's log in a file: `dmesg` in all its ways, records of /dev/kmsg, the journal's and syslog's lines.

Of the file only the lines are kept that tell of a fault, made short: `raxl.host.kernel_condense`. A log server's file
is of many machines: each becomes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from raxl.host.kernel_condense import Condenser, whole_lines
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.sources import kernel_log as source

FORM = source.FORM
_CONDENSED = re.compile(r'\{"host": (?:null|"[^"\\]{1,253}"), "lines": \d')
_HOST = re.compile(r'\{"host": "([^"\\]{1,253})"')
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")
_MAYBE = re.compile(
    r"\]\s|kernel[:\[ ]|^\d{1,4},\d{1,20},\d{1,20},|^[a-z]{2,8}\d?\s{0,6}:[a-z]{3,6}\s{0,6}:|NVRM: |SXid|amdgpu"
    r"|mlx[45]_core|pcieport|T\d\d:\d\d:\d\d,\d|NEURON_HW|blocked (?:for more|in I)|Hardware Error|segfault"
    r"|AER: |EDAC |XFS \(|EXT4-fs |BTRFS|I/O error|rror, dev |rcu"
    r"|ut of memory|Memory failure|Aborting journal|Oops|BUG|Kernel panic|nvme|oom-kill",
    re.MULTILINE,
)
"""One of these stands in every such log; most other texts are told apart by it at once."""
_PROGRAM = re.compile(
    r"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S{8,25}) [\w.:-]{1,253} [^\s:]{1,60}: "
)
"""A line of syslog, whoever wrote it."""
_EXACT = 1 << 20
"""Characters of which every line is looked at; of a longer text only those that may tell something."""
_SHARE = 0.5
"""Of a file's lines, as many are the kernel's where none of them tells of a fault."""


def recognises(text: str) -> bool:
    """Whether lines of a kernel's log stand in it: one that tells of a fault, or so many that it is nothing else."""
    if _CONDENSED.match(text) or not _MAYBE.search(text):
        return False  # what is kept of a log is no log
    start = text[:_EXACT]
    condenser = _fed(start)
    lines = sum(1 for line in start.splitlines() if line.strip())
    if condenser.tells or (condenser.stamped > 0 and condenser.stamped >= _SHARE * lines):
        return True
    return len(text) > _EXACT and _fed(text).tells


def is_log(head: str) -> bool:
    """Whether a file that begins so is a log and nothing else: nearly all of its lines are the kernel's, or some are
    and the rest are those of syslog's other programs."""
    lines = [line for line in head.splitlines() if line.strip()]
    lines = lines[:-1] or lines  # the last one is cut off; where there is no other, its start tells
    condenser = _fed("\n".join(lines))
    own = condenser.stamped + condenser.bare
    if own > 0.9 * len(lines):
        return own > 0
    return own > 0 and sum(1 for line in lines if _PROGRAM.match(line)) > 0.9 * len(lines)


def own(text: str) -> str:
    """What is kept of the log: a line of JSON a host."""
    return told(_fed(text))


def condensed(chunks: Iterable[str]) -> list[str]:
    """What is kept of a log that comes in pieces, by host."""
    condenser = Condenser()
    for lines in whole_lines(chunks):
        condenser.take(lines)
    return machines(told(condenser))


def told(condenser: Condenser) -> str:
    """What a condenser kept, as the document that is recorded."""
    return "".join(json.dumps(log) + "\n" for log in condenser.logs())


def machines(text: str) -> list[str]:
    """The document by host."""
    return [f"{line}\n" for line in text.splitlines() if line] or [text]


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The host that its lines name; what they tell is for the checks."""
    found = _HOST.match(text)
    host = None if found is None or _ADDRESS.fullmatch(found[1]) else found[1].split(".", 1)[0]
    return Foreign(FORM, hostname=host), ()


def _fed(text: str) -> Condenser:
    condenser = Condenser()
    if len(text) > _EXACT:
        condenser.take(text)
        return condenser
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        condenser.feed(line, number == len(lines) and not text.endswith(("\n", "\r")))
    return condenser
