"""What was made of a text, kept for the next machine that has the same one.

Machines of one kind differ in a few dozen files of a thousand. Standard library, Python 3.8.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

_MOST = 1 << 15
_LARGEST = 1 << 14
"""A longer text is a tool's, and seldom the same on two machines."""


class Known:
    """Results by the function and the two texts that they were made of; equal texts give the very same object.

    Those of the last `most` texts, or a few more, are kept; a text of more than `largest` bytes is not.
    """

    def __init__(self, most: int = _MOST, largest: int = _LARGEST) -> None:
        self._most, self._largest = most, largest
        self._new: Dict[Tuple[Any, str, bytes], Any] = {}
        self._old: Dict[Tuple[Any, str, bytes], Any] = {}

    def get(self, make: Callable[[str, bytes], Any], name: str, content: bytes) -> Any:
        """What `make` gives for `name` and `content`, which has to be the same each time and never be changed."""
        key = (make, name, content)
        found = self._new.get(key)
        if found is not None:
            return found
        found = self._old.get(key)
        if found is None:
            found = make(name, content)
        if len(content) <= self._largest:
            if len(self._new) >= self._most:
                self._old, self._new = self._new, {}
            self._new[key] = found
        return found
