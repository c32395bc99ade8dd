"""What checks know of Ray on a node: whether it was asked, and with which environment it runs there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raxl.checks import Case, Verdict, skip, unknown
from raxl.model.cluster import DEAD
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import Evidence
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED, UNREAD, Problem


class Environment(NamedTuple):
    """The variables that a raylet, or a process in its place, was started with."""

    variables: Mapping[str, str]
    source: str

    def evidence(self, *names: str) -> tuple[Evidence, ...]:
        """Those of these variables that are set."""
        return tuple(
            Evidence(self.source, f"{name}={self.variables[name]}") for name in names if name in self.variables
        )


def unasked(case: Case) -> Verdict | None:
    """Why nothing can be said of Ray's view of the node; None where it is alive, and the node was read."""
    if case.ray is None:
        return skip("node", "no Ray was asked", NOT_ASKED)
    if case.ray.state == DEAD:
        return skip("node", "Ray has the node as dead")
    return unheard(case)


def unregistered(case: Case) -> Verdict | None:
    """Why nothing can be said of what Ray registered on the node: every raylet registers memory at least, and a dump
    may hold nothing of it."""
    why = unasked(case)
    if why is None and case.ray is not None and not case.ray.resources:
        return unknown("node", NOT_ASKED, "what Ray registered on this node: what was given does not say it")
    return why


def unheard(case: Case) -> Verdict | None:
    """That the node did not answer; None where it did."""
    told = silence(case)
    return unknown("node", told.reason, f"the node was not read: {told.message}") if told else None


def silence(case: Case) -> Problem | None:
    """Why the node as a whole was not read; None where it was."""
    return next((one for one in case.node.problems if one.subject == "node" and one.reason in UNREAD), None)


def process(case: Case, name: str) -> Reading:
    """A reading of processes."""
    return case.facts.processes.get(name, NOT_READ)


def raylets(case: Case) -> Sequence[Mapping[str, Any]]:
    """The raylets that were seen; none where nobody could look."""
    return process(case, "raylets").value or ()


def environments(case: Case) -> list[Environment]:
    """Those of the raylets, else that of the process that asked: in a cluster it has its raylet's. And that of a file
    that was given beside them."""
    given = case.facts.given_variables
    found = started(case)
    if given.known and given.source not in {one.source for one in found}:
        found.append(Environment(given.value, given.source))
    return found


def started(case: Case) -> list[Environment]:
    """The same without a file beside them."""
    found = [
        Environment(one["environment"], f"/proc/{one['pid']}/environ")
        for one in raylets(case)
        if one["environment"] is not None
    ]
    if found and (case.ray is None or len(found) == 1):  # of several, nothing says which one Ray's view is of
        return found
    own = case.facts.environment
    return [Environment(own.value, own.source)] if own.known else []


def unseen(case: Case) -> str | None:
    """Why what was read of the asking process may not be what a raylet here has; None where no raylet is kept from
    sight. In a cluster a raylet's own child asks, with its environment and its Python."""
    reading = process(case, "raylets")
    if case.ray is not None or reading.reason == NOT_ASKED:
        return None
    if not reading.known:
        return reading.reason
    return NOT_PERMITTED if any(one["environment"] is None for one in reading.value) else None


def versions(case: Case) -> Reading:
    """The versions in the Python that Ray runs in: beside the raylet, else beside who asked."""
    own = process(case, "versions")
    for one in raylets(case):
        told = one["versions"]
        if told is not None and "ray" in told["packages"]:
            python = own.value["python"] if own.known else None
            whole = python if python and python.startswith(f"{told['python']}.") else told["python"]
            known = own.value["libraries"] if own.known else {}
            return Reading({**told, "python": whole, "libraries": known}, f"/proc/{one['pid']}/exe")
    if own.known and (reason := unseen(case)) is not None:
        return Reading(None, "/proc", reason, "the raylet's own Python could not be looked into")
    return own
