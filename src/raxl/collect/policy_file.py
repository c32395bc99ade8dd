"""The policy file of an operator: YAML, and every word of it checked."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from raxl.errors import UnreadableInput
from raxl.model import codec
from raxl.model.policy import Policy, Suppression

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LARGEST = 1 << 20
_DEEPEST, _MOST_VALUES = 8, 100_000
"""An alias within YAML can hold itself, or unfold to any size."""


def read(path: Path) -> Policy:
    """What the file says. Raises UnreadableInput for what is no policy, and names the place."""
    import yaml

    try:
        content = _content(path)
        told = yaml.safe_load(content) if content.strip() else {}
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableInput(f"{path} is no YAML", " ".join(str(error).split())[:200]) from error
    return _policy(path, told)


def _content(path: Path) -> bytes:
    """All of a regular file: a pipe or a device may never end."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnreadableInput(f"{path} is no policy", "it is no regular file")
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UnreadableInput(f"{path} is no policy", "it is larger than 1 MiB")
    return content


def _policy(path: Path, told: Any) -> Policy:
    if not isinstance(told, dict):
        raise UnreadableInput(f"{path} is no policy", "it is to have thresholds, expected, suppressions")
    for name in told:
        if name not in ("thresholds", "expected", "suppressions"):
            raise UnreadableInput(
                f"{path} is no policy", f"it has {name!r} beside thresholds, expected and suppressions"
            )
    try:
        _bounded(told)
        policy: Policy = codec.converted(
            {name: _plain(value) for name, value in told.items() if value is not None}, Policy
        )
        for fault in _faults(policy):
            raise ValueError(fault)
    except ValueError as error:
        raise UnreadableInput(f"{path} is no policy", str(error)) from error
    return policy


def _bounded(told: Any) -> None:
    """Raises ValueError for what is nested without end, and for a switch: no key takes one, and Python counts with
    them."""
    level, seen = [told], 0
    for _ in range(_DEEPEST):
        seen += len(level)
        if seen > _MOST_VALUES:
            raise ValueError(f"it has more than {_MOST_VALUES} values")
        below = []
        for one in level:
            for part in one.values() if isinstance(one, Mapping) else one if isinstance(one, (list, set)) else ():
                if isinstance(part, bool):
                    raise ValueError(f"it has {str(part).lower()} where text or a number is to be: quote it as text")
                below.append(part)
                if len(below) > _MOST_VALUES:
                    raise ValueError(f"it has more than {_MOST_VALUES} values")
        level = below
    if level:
        raise ValueError(f"it is nested deeper than {_DEEPEST}")


def _faults(policy: Policy) -> Iterator[str]:
    for check, values in policy.thresholds.items():
        for name, value in values.items():
            if not math.isfinite(value) or value < 0:
                yield f"{name} of {check} is to be a number from 0 on, not {value:g}"
    for one in policy.suppressions:
        if not _is_day(one):
            yield f"until is to be a day like 2026-12-31, not {one.until[:60]!r}"
        if not one.reason.strip():
            yield f"the suppression of {one.check} gives no reason"


def _is_day(one: Suppression) -> bool:
    try:
        return _DAY.fullmatch(one.until) is not None and date.fromisoformat(one.until) is not None
    except ValueError:
        return False


def _plain(value: Any) -> Any:
    """YAML reads a bare day as a date."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
