"""What of ACS is on at each port, whoever told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.intake.foreign import Foreign
from raxl.model.facts import Reading


def ports(kernel: Mapping[str, Reading], told: Sequence[Foreign]) -> dict[str, Reading]:
    """From the kernel where it let raxl read that, else from a document."""
    found = dict(kernel)
    for address, reading in (item for document in told for item in document.ports.items()):
        known = found.get(address)
        if known is None or (known.reason is not None and reading.reason is None):
            found[address] = reading
    return found
