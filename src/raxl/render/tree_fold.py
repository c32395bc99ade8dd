"""Branches of one shape, told once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from raxl.render.naming import Names, counted
from raxl.render.tree_shape import Branch

Shape = Hashable


class Fold:
    """Folds the branches of one node; what it has shown before is not shown in full again."""

    def __init__(self, names: Names, alike: Mapping[str, Shape]) -> None:
        """`alike` says of each device what it has to share with another to be of one shape with it."""
        self._names = names
        self._alike = alike
        self._seen: set[Shape] = set()

    def fold(self, branches: Sequence[Branch]) -> list[Branch]:
        """The branches, those of one shape together, and most of many replaced by a note."""
        groups: dict[Shape, list[Branch]] = {}
        for branch in branches:
            groups.setdefault(self._shape(branch), []).append(branch)
        shown: list[Branch] = []
        for shape, group in groups.items():
            kept = self._kept(group, shape in self._seen)
            self._seen.add(shape)
            shown += [Branch(branch.kind, branch.id, tuple(self.fold(branch.children))) for branch in group[:kept]]
            if kept < len(group):
                shown.append(self._note(group[kept:], kept > 0))
        return shown

    def _shape(self, branch: Branch) -> Shape:
        if branch.kind == "device":
            return self._alike[branch.id]
        return (branch.kind, tuple(map(self._shape, branch.children)))

    def _kept(self, group: Sequence[Branch], seen: bool) -> int:
        """How many are shown in full. A note has to save lines: one for a single device saves none."""
        least = 2 if group[0].kind == "device" else 1
        if seen and len(group) > least:
            return 0
        return 2 if len(group) >= 2 + least else len(group)

    def _note(self, group: Sequence[Branch], more: bool) -> Branch:
        names = self._names.all(id for branch in group for id in branch.devices)
        if group[0].kind == "device":
            text = f"… {len(group)} more like these" if more else f"{len(group)} more like those above"
        else:
            number, things = counted(len(group), group[0].kind).split(" ", 1)
            text = f"… {number} more {things} of the same shape" if more else f"{number} {things} of the same shape"
        return Branch("note", f"{text} ({names})")
