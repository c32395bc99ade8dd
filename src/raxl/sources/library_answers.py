"""Answers of a vendor's library, held against the shapes that its calls give: a recording may have been edited.

Standard library, Python 3.8: plug-ins run on bare nodes.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from raxl.host import Answer, Host
from raxl.model.problem import FAILED


def asker(name: str, shapes: Mapping[str, Any], least: Mapping[str, int]) -> Callable[..., Answer]:
    """How a library is asked: `asked(host, call, *devices)`.

    `shapes`: by call, a type, a list of one shape, or a mapping of keys to shapes, of which each may lack; a number
    where nothing is said. `least`: by call, how long its list is at least.
    """

    def asked(host: Host, call: str, *devices: int) -> Answer:
        answer = host.library(name, call, *devices)
        if not answer.known:
            return answer
        if _fits(answer.value, shapes.get(call, int)) and (call not in least or len(answer.value) >= least[call]):
            return answer
        return Answer(None, FAILED, f"{call} gave {str(answer.value)[:40]!r}")

    return asked


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(entry, shape[0]) for entry in value)
    if isinstance(shape, dict):
        known = value if isinstance(value, dict) else {}
        return isinstance(value, dict) and all(known.get(key) is None or _fits(known[key], shape[key]) for key in shape)
    return isinstance(value, shape) and not isinstance(value, bool)


def string(answer: Answer) -> Optional[str]:
    """The text without blanks around it; None for an empty one, and for none."""
    return answer.value.strip() or None if isinstance(answer.value, str) else None
