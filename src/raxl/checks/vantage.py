"""From where a node was looked at, and what cannot be seen from there."""

from __future__ import annotations

from dataclasses import replace

from raxl.checks import Case, Check, Verdict
from raxl.model.finding import ANYWHERE, ROOT, SKIP, UNKNOWN
from raxl.model.problem import NOT_PERMITTED, NOT_PRESENT

FROM_FILE = "from a file"
_HIDDEN = (NOT_PERMITTED, NOT_PRESENT)
"""Reasons that a container and a user without rights meet."""


def words(case: Case) -> str:
    """`as root on the host`, `in a docker container` …; `from a file` where no machine was asked."""
    container, root = case.node.os.container, case.facts.vantage.is_root
    if case.node.recorded_by is None:
        return FROM_FILE
    who = "" if root.value is None else "as root " if root.value else "without root "
    where = f"in a {container} container" if container and container != "none" else "on the host"
    if container in (None, "none") and case.node.os.virtualization not in (None, "none"):
        where = "in a virtual machine"
    return who + where


def ruled_out(check: Check, case: Case, verdict: Verdict) -> tuple[Verdict, bool]:
    """The verdict, skipped where only the vantage keeps it from being read; whether it does."""
    if verdict.status != UNKNOWN or verdict.reason not in _HIDDEN or check.vantage == ANYWHERE:
        return verdict, False
    container = case.node.os.container
    if container not in (None, "none") and not case.facts.vantage.sees_host_processes.value:
        return replace(verdict, status=SKIP, message=f"not to be seen from inside a container: {verdict.message}"), True
    if check.vantage == ROOT and case.facts.vantage.is_root.value is False:
        return replace(verdict, status=SKIP, message=f"for root alone: {verdict.message}"), True
    return verdict, False
