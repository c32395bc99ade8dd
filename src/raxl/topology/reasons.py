"""Why a value of a node is not known."""

from __future__ import annotations

from typing import NamedTuple

from raxl.model.label import Unlabelled
from raxl.model.node import Node
from raxl.model.problem import NOT_ASKED, REASONS, UNREAD, Problem

UNASKED_FABRIC = "links.scale_up"
"""The subject of the problem that nobody asked whether a fabric joins pairs, whose PCIe paths are given instead."""


class Why(NamedTuple):
    """A reason of the model's, its words, and what was asked."""

    reason: str
    message: str
    evidence: tuple[str, ...] = ()

    def unlabelled(self, key: str) -> Unlabelled:
        """No label, for this reason."""
        return Unlabelled(key, *self)


def why(node: Node, *subjects: str, otherwise: str) -> Why:
    """The first subject's most telling problem that there is; `otherwise` says what nobody said anything of."""
    for subject in subjects:
        told = [problem for problem in node.problems if problem.subject == subject]
        if told:
            return of(min(told, key=lambda problem: REASONS.index(problem.reason)))
    return Why(NOT_ASKED, otherwise)


def of(problem: Problem) -> Why:
    """What a problem says."""
    return Why(problem.reason, problem.message, problem.evidence)


def unread(node: Node, *subjects: str) -> Why | None:
    """Why one of these subjects could not be read; None where none was refused."""
    told = [problem for problem in node.problems if problem.subject in subjects and problem.reason in UNREAD]
    return of(told[0]) if told else None
