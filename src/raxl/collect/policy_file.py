"""The policy file of an operator: YAML, and every word of it checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raxl.errors import UnreadableInput
from raxl.model import codec
from raxl.model.policy import Policy

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LARGEST = 1 << 20


def read(path: Path) -> Policy:
    """What the file says. Raises UnreadableInput for what is no policy, and names the place."""
    import yaml

    try:
        content = path.read_bytes()[:_LARGEST]
        told = yaml.safe_load(content) if content.strip() else {}
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableInput(f"{path} is no YAML", " ".join(str(error).split())[:200]) from error
    return _policy(path, told)


def _policy(path: Path, told: Any) -> Policy:
    if not isinstance(told, dict):
        raise UnreadableInput(f"{path} is no policy", "it is to have thresholds, expected, suppressions")
    for name in told:
        if name not in ("thresholds", "expected", "suppressions"):
            raise UnreadableInput(
                f"{path} is no policy", f"it has {name!r} beside thresholds, expected and suppressions"
            )
    try:
        policy: Policy = codec.converted(
            {name: _plain(value) for name, value in told.items() if value is not None}, Policy
        )
    except ValueError as error:
        raise UnreadableInput(f"{path} is no policy", str(error)) from error
    for one in policy.suppressions:
        if not _DAY.fullmatch(one.until):
            raise UnreadableInput(f"{path} is no policy", f"until is to be a day like 2026-12-31, not {one.until!r}")
        if not one.reason.strip():
            raise UnreadableInput(f"{path} is no policy", f"the suppression of {one.check} gives no reason")
    return policy


def _plain(value: Any) -> Any:
    """YAML reads a bare day as a date."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
