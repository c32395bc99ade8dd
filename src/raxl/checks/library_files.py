"""Files that set variables of NCCL, or of RCCL, beside the environment: what counts of them for Ray's processes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from raxl.checks import Case
from raxl.checks.raylets import environments, raylets
from raxl.model.facts import Reading
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED, NOT_PRESENT

NAMED = "NCCL_CONF_FILE"
"""The variable that names another file of the user's."""
_HOME = "~/"
_OWN = re.compile(r"(NCCL|RCCL)_[A-Z0-9_]+")


def is_own(name: str) -> bool:
    """Whether such a file can set this variable to any effect."""
    return _OWN.fullmatch(name) is not None and name != NAMED


def library_files(case: Case) -> Sequence[Reading]:
    """The user's file, then the system's, in the order in which they count: RCCL's where AMD's accelerators are, else
    NCCL's; none where nothing of them was recorded. A file that is not there says `not-present`."""
    vendors = {one.vendor for one in case.node.accelerators}
    user, *others = case.facts.library_files.get("rccl" if vendors == {"amd"} else "nccl", ()) or (None,)
    return [] if user is None else [_of_ray(case, user), *others]


def setting(case: Case, name: str) -> Reading | None:
    """What such a file sets a variable to that no environment has; or why that is not known; None where none does."""
    if not is_own(name):
        return None
    for one in library_files(case):
        if one.known and name in one.value:
            return Reading(one.value[name], one.source)
        if one.reason not in (None, NOT_PRESENT, NOT_ASKED):
            return Reading(None, one.source, one.reason, one.message or f"{one.source} could not be read")
    return None


def _of_ray(case: Case, user: Reading) -> Reading:
    """The user's file as Ray's processes take it: it was read for the user, and with the environment, of who asked."""
    named = next((one.variables[NAMED] for one in environments(case) if one.variables.get(NAMED)), None)
    if named is not None and named != user.source:
        return Reading(None, named, NOT_ASKED, f"{NAMED} names it for Ray, not for who asked")
    if named is None and not user.source.startswith(_HOME):
        return Reading(None, "~/.nccl.conf", NOT_ASKED, f"{NAMED} names {user.source} for who asked, not for Ray")
    if case.ray is None and not all(one.get("is_ours", True) for one in raylets(case)):
        return Reading(None, user.source, NOT_PERMITTED, "Ray runs as another user, whose home was not looked into")
    return user
