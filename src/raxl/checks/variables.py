"""Variables of the libraries that move data, and how NCCL reads a list of devices in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raxl.checks import Case, library_files
from raxl.checks.raylets import environments
from raxl.model.facts import Reading


def value(case: Case, name: str) -> str | None:
    """What a variable is set to: by a file that was given, else for the raylet, else in the environment, else by the
    log of a library that had it, else by one of the library's own files."""
    told = reading(case, name).value
    return None if told is None else str(told)


def reading(case: Case, name: str) -> Reading:
    """The same with its source. A value of None, which is known, means unset."""
    told = in_environment(case, name)
    return told if told.value is not None or not told.known else library_files.setting(case, name) or told


def in_environment(case: Case, name: str) -> Reading:
    """The same without the library's own files, over which the environment wins."""
    own, given = case.facts.environment, case.facts.given_variables
    if given.known and name in given.value:
        return Reading(str(given.value[name]), given.source)
    for one in environments(case):
        if name in one.variables:
            return Reading(str(one.variables[name]), one.source)
    if own.known and name in own.value:
        return Reading(str(own.value[name]), own.source)
    for log in case.facts.logs.values():
        told = getattr(log.value, "variables", {}) if log.known else {}
        if name in told:
            return Reading(str(told[name]), log.source)
    return Reading(None, own.source, own.reason, own.message)


class Wanted(NamedTuple):
    """A list of devices in NCCL's spelling: `^` excludes, `=` wants whole names, else names begin so."""

    names: tuple[str, ...]
    is_exclusion: bool
    is_exact: bool

    def takes(self, name: str) -> bool:
        """Whether it lets NCCL use the device."""
        hit = any(name == one if self.is_exact else name.startswith(one) for one in self.names)
        return hit != self.is_exclusion


def nccl_list(text: str) -> Wanted:
    """`eth0,ib`, `^docker,lo`, `=eth0`, `^=mlx5_1`. Of an RDMA device the port behind a colon is left out.

    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html (NCCL_SOCKET_IFNAME, NCCL_IB_HCA)
    """
    text = text.strip()
    is_exclusion = text.startswith("^")
    text = text.removeprefix("^")
    is_exact = text.startswith("=")
    names = (name.strip() for name in text.removeprefix("=").split(","))
    return Wanted(tuple(name.split(":")[0] for name in names if name), is_exclusion, is_exact)


def taken(wanted: Wanted, names: Sequence[str]) -> list[str]:
    """The names that it takes."""
    return [name for name in names if wanted.takes(name)]
