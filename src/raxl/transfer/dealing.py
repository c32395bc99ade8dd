"""Which trainer holds which tensors of a list: about as many bytes each."""

from __future__ import annotations

from collections.abc import Sequence


def deal(sizes: Sequence[int], hands: int) -> list[list[int]]:
    """By hand the places of its tensors in the list, in their order: the largest first, each to whoever has least.

    No hand has more than another by more than the size of one tensor.
    """
    dealt: list[list[int]] = [[] for _ in range(hands)]
    held = [0] * hands
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        least = held.index(min(held))
        dealt[least].append(place)
        held[least] += sizes[place]
    return [sorted(places) for places in dealt]
