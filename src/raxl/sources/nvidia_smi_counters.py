"""Errors of memory and link that `nvidia-smi` counts, in the names of the attributes, whichever output says them."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence, Union

from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_COUNT, whole

COUNTS = (
    "ecc_uncorrected",
    "remapped_rows_correctable",
    "remapped_rows_uncorrectable",
    "retired_pages_single_bit",
    "retired_pages_double_bit",
    "pcie_replays",
)
SWITCHES = ("remap_pending", "remap_failure", "retirement_pending")
_SWITCHED = {"No": False, "Yes": True}


def attributes(said: Mapping[str, str]) -> Dict[str, Union[int, bool]]:
    """The counters that the words tell; a word that is no count, such as the table's `Off`, tells none."""
    counts = {name: whole(said.get(name), MOST_COUNT) for name in COUNTS}
    switches = {name: _SWITCHED.get(said.get(name, "")) for name in SWITCHES}
    return {name: value for name, value in {**counts, **switches}.items() if value is not None}


def total(words: Sequence[str]) -> Optional[str]:
    """The words of one kind of error as one word: their sum, else one that is no count, a failure before
    `N/A`; None where none is."""
    counts = [whole(word, MOST_COUNT) for word in words]
    if None in counts:
        uncounted = [word for word, count in zip(words, counts) if count is None]
        return next(filter(values.is_failure, uncounted), uncounted[0])
    return str(sum(count or 0 for count in counts)) if counts else None
