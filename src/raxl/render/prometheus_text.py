"""Prometheus' text exposition format: families of gauges with labels.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from raxl.model.printable import clean

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_HELP_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n"})


class Families:
    """Gauges by name, each with the help that says what it is; a series that comes twice keeps its last value."""

    def __init__(self, helps: Mapping[str, str]) -> None:
        self._helps = helps
        self._series: dict[str, dict[str, float]] = {}

    def add(self, name: str, labels: Mapping[str, str], value: float | None) -> None:
        """A value of the family of that name; None, which is not known, makes no series."""
        if value is not None:
            self._series.setdefault(name, {})[_labels(labels.items())] = value

    def text(self) -> str:
        """All families that have a series, in the order of their helps."""
        lines: list[str] = []
        for name, help in self._helps.items():
            series = self._series.get(name, {})
            if series:
                lines += [f"# HELP {name} {help.translate(_HELP_ESCAPES)}", f"# TYPE {name} gauge"]
            lines += [f"{name}{labels} {_number(value)}" for labels, value in series.items()]
        return "".join(f"{line}\n" for line in lines)


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    told = ",".join(f'{name}="{clean(value).translate(_ESCAPES)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value)
