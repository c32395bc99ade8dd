"""Google Cloud's `physical_host` of many VMs: a line each with the host's name and `/block/subblock/host`.

https://github.com/GoogleCloudPlatform/cluster-toolkit prints such a table, `pdsh` and `clush` put the name before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake.foreign import Foreign
from raxl.intake.placed_hosts import short_name
from raxl.intake.text_lines import joined, lines
from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.sources import gcp_places

FORM = gcp_places.EVIDENCE
_TITLE = "physical_host"
_HEADING = re.compile(rf"\b{_TITLE}\b")
_ROW = re.compile(r"(?:.{0,300}[ \t=:\"'])?(/?[A-Za-z0-9_-]{1,80}/[A-Za-z0-9_-]{1,80}/[A-Za-z0-9_-]{1,80})[\"']?")
_ID = re.compile(r"/[A-Za-z0-9]{32}/[A-Za-z0-9]{32}/[A-Za-z0-9]{32}")
_NAME = re.compile(r"(?:\d{1,9}[ \t]{1,40})?([A-Za-z][\w.<>-]{0,252}):?[ \t]")


def recognises(text: str) -> bool:
    """Whether a line gives a place as Google writes it, or a heading says so."""
    return (_HEADING.search(text) is not None or _ID.search(text) is not None) and any(True for _ in _rows(text))


def own(text: str) -> str:
    """The hosts and their places, one a line, without the host below the sub-block that each is on."""
    return joined([f"{name or ''}\t{_TITLE} /{block}/{rack}/-".strip() for name, block, rack in _rows(text)])


def machines(text: str) -> list[str]:
    """The text by host."""
    return text.splitlines(keepends=True) or [text]


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """Where the first host stands."""
    rows = list(_rows(text))
    if not rows:
        return Foreign(FORM), (Problem("placement", FAILED, "no line gives a place", (FORM,)),)
    problems = []
    if len(rows) > 1:
        message = f"the text holds {len(rows)} hosts, of which the first is read"
        problems.append(Problem("placement", DISAGREEMENT, message, (FORM,)))
    name, block, rack = rows[0]
    place = Placement(provider=gcp_places.PROVIDER, rack=rack, block=block, evidence=(FORM,))
    return Foreign(FORM, hostname=name, placements=(place,)), tuple(problems)


def _rows(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Each host's name, block and sub-block."""
    for line in lines(text):
        row = _ROW.fullmatch(line.strip())
        block, rack = gcp_places.of_host(row[1]) if row else (None, None)
        if block and rack:
            found = _NAME.match(line.strip())
            name = found[1].rstrip(":") if found else _TITLE
            yield (None if name == _TITLE else short_name(name)), block, rack
