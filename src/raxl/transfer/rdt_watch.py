"""When a tensor transport of Ray's received: noted inside the process where it does.

The methods of its manager are Ray's public contract for transports of others (2.60,
`ray.experimental.TensorTransportManager`); what a manager does not have is not noted, and the caller's own clock
stands in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_RECEIVING = ("fetch_multiple_tensors", "wait_fetch_complete", "recv_multiple_tensors")


class Watch:
    """Notes of one manager, from `reset` on."""

    def __init__(self, manager: Any) -> None:
        self.settle: Callable[[], object] | None = None
        """Waits until the device has done what was begun on it, where a call may come back before."""
        self._depth = 0
        self.reset()
        for name in _RECEIVING:
            self._wrap(manager, name, self._received)

    def reset(self) -> None:
        """Forgets what was noted."""
        self._begun: float | None = None
        self._ended = 0.0
        self.spent: dict[str, float] = {}
        """Seconds by phase, of what was taken apart."""
        self.seen: dict[str, int] = {}
        """How often a call gave the value that was counted."""

    @property
    def seconds(self) -> float | None:
        """From the beginning of the first call to the end of the last one, less what was taken apart in between; None
        where nothing was received."""
        return None if self._begun is None else self._ended - self._begun - sum(self.spent.values())

    def apart(self, owner: Any, name: str, phase: str) -> None:
        """Takes the time of a call as a phase of its own."""

        def noted(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self.spent[phase] = self.spent.get(phase, 0.0) + time.perf_counter() - begun

        self._wrap(owner, name, noted)

    def count(self, owner: Any, name: str, value: object) -> None:
        """Counts how often a call gives a value."""

        def noted(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
            given = call(*arguments, **named)
            if given == value:
                self.seen[name] = self.seen.get(name, 0) + 1
            return given

        self._wrap(owner, name, noted)

    def _received(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if self._begun is None:
            self._begun = time.perf_counter()
        self._depth += 1
        try:
            return call(*arguments, **named)
        finally:
            self._depth -= 1
            if not self._depth:
                if self.settle is not None:
                    self.settle()
                self._ended = time.perf_counter()

    def _wrap(self, owner: Any, name: str, noted: Callable[..., Any]) -> None:
        call = getattr(owner, name, None)
        if call is None:
            return

        def wrapped(*arguments: Any, **named: Any) -> Any:
            return noted(call, *arguments, **named)

        setattr(owner, name, wrapped)
