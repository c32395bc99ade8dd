"""raxl's own recipes as one file: each with its layers joined, and its hash. To read them costs a command nothing.

`shipped.json` beside this file is made of the YAML by a command (`make generated`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from raxl.model import codec
from raxl.model.recipe import Shelved

FILE = Path(__file__).parent / "shipped.json"


@cache
def read() -> tuple[Shelved, ...]:
    """All of them, in the order in which they were written. Every field stands in the file, so that each has the hash
    that stands beside it."""
    return codec.decode(FILE.read_text("utf-8"), tuple[Shelved, ...])


def forget() -> None:
    """Has the file read again: it was written."""
    read.cache_clear()


def written(recipes: Sequence[Shelved]) -> str:
    """What the file is to hold: a line for each."""
    lines = [json.dumps(json.loads(codec.encode(one)), ensure_ascii=False, separators=(",", ":")) for one in recipes]
    return "[\n" + ",\n".join(lines) + "\n]\n"
