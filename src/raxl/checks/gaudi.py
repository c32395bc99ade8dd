"""Intel Gaudi: whether its tool and its driver are of one release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.checks import P1, Case, Verdict, absent, check, evidence, ok, skip, unread
from raxl.model.facts import NOT_READ
from raxl.model.finding import STANDARD
from raxl.model.problem import NOT_SUPPORTED


@check("gaudi.version-skew", "The releases of hl-smi and of the driver", P1, STANDARD, "config")
def version_skew(case: Case) -> Iterator[Verdict]:
    """Driver, firmware and tools of Gaudi come in one release.

    Read: the versions that hl-smi prints of itself and of the driver, else the module's. That they differ is told,
    and is no fault by itself: no public page says which pairs work, and a newer container on an older host is usual.

    Not to be confused: the part of a driver's version behind the dash is its build.
    """
    if (verdict := absent(case, "gaudi")) is not None:
        yield verdict
        return
    driver, tool = (case.facts.drivers.get(name, NOT_READ) for name in ("habanalabs", "hl-smi"))
    if not driver.known:
        yield unread("node", "the driver's version", driver)
    elif not tool.known:
        yield skip(
            "node", f"driver {driver.value}; what was asked of hl-smi does not tell its own release", NOT_SUPPORTED
        )
    elif _release(driver.value) == _release(tool.value):
        yield ok("node", f"hl-smi and the driver are of {_release(tool.value)}", evidence(driver), evidence(tool))
    else:
        words = f"hl-smi is of {_release(tool.value)}, the driver of {_release(driver.value)}: read the support matrix"
        yield ok("node", words, evidence(driver), evidence(tool))


def _release(version: str) -> str:
    """`1.20.1` of `1.20.1-366eb9c`."""
    found = re.match(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}", version)
    return found[0] if found else version[:40]
