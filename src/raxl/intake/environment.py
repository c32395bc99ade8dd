"""Environment variables in a file: `NAME=value` lines, and Google's metadata attribute `tpu-env`, `NAME: 'value'`.

A file may begin its lines with `export` or docker's `-e`, and hold anything else; what no allow-list names is dropped
here already.
"""

from __future__ import annotations

import re

from raxl.host import allowed
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import tpu_chips, tpu_slice

FORM = tpu_slice.EVIDENCE
_LINE = re.compile(
    r"[ \t]*(?:export[ \t]+|set[ \t]+|(?:-e|--env)[ \t=]+)?([A-Za-z_][A-Za-z0-9_]{0,99})(?:=|:[ \t]+)(.*)"
)
_QUOTED = re.compile(r"""(["'])(.*)\1[,;]?""")
_OF_SLICE = frozenset(name for names in tpu_slice.NAMES.values() for name in names)
_LIBRARIES = "(?:NCCL|RCCL|UCX|GLOO)_[A-Z]|FI_[A-Z]|(?:CUDA|NVIDIA|HIP|ROCR)_VISIBLE_DEVICES"
_MARK = re.compile(
    r"^[ \t]*(?:export[ \t]+|set[ \t]+|(?:-e|--env)[ \t=]+)?"
    rf"(?:TPU_[A-Z]|ACCELERATOR_TYPE|CHIPS_PER_HOST_BOUNDS|{_LIBRARIES})",
    re.MULTILINE,
)
_PLAIN = {name for name in _OF_SLICE if name.startswith("TPU_")} | {"ACCELERATOR_TYPE", "CHIPS_PER_HOST_BOUNDS"}
"""Names that say by themselves that a text is about TPUs."""
_OF_LIBRARY = re.compile(rf"(?:{_LIBRARIES})[A-Z0-9_]*")


def recognises(text: str) -> bool:
    """Whether a variable of a TPU slice or of a library that moves data is set in it."""
    if _MARK.search(text) is None:
        return False
    return any(name in _PLAIN or _OF_LIBRARY.fullmatch(name) for name, _ in _assignments(text))


def own(text: str) -> str:
    """The variables that the allow-list names, one a line."""
    told = dict(_assignments(text))
    kept = {**allowed.environment(told), **{name: told[name] for name in told if name in _OF_SLICE}}
    return joined([f"{name}={value}" for name, value in kept.items()])


def variables(text: str) -> dict[str, str]:
    """The variables by name; the last line of a name counts."""
    return dict(_assignments(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The chips that the environment of a TPU's host gives it, and the slice that they belong to."""
    told = variables(text)
    if _PLAIN.isdisjoint(told):
        return Foreign(FORM), ()
    slice_ = tpu_slice.parse(told)
    claims = tpu_chips.from_environment(slice_, told)
    links, problems = tpu_chips.links(slice_, claims)
    report = Report(claims=tuple(claims), links=tuple(links), placement=tpu_slice.placement(slice_))
    return Foreign(FORM, report=report), (*problems, *tpu_chips.uncounted(slice_), *slice_.problems)


def _assignments(text: str) -> list[tuple[str, str]]:
    found = []
    for line in lines(text):
        match = _LINE.fullmatch(line)
        if match:
            value = match[2].strip()
            quoted = _QUOTED.fullmatch(value)
            found.append((match[1], quoted[2] if quoted else value))
    return found
