"""Documents that say where hosts stand: one host or many, each a line of JSON once it is read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raxl.intake.foreign import Foreign
from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, FAILED, Problem

MOST_HOSTS = 1 << 15
HOST, DAMAGE = "host", "damage"
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*")
_LONGEST = 512


class Record(NamedTuple):
    """What a document says of one host."""

    host: str | None
    said: Mapping[str, Any]
    """The parts that are read, by the document's own names."""
    damage: str | None = None
    """Why the document ends early."""


def lines(records: Sequence[Record]) -> str:
    """One line a host. Hosts go by their short names where these tell them apart."""
    short = Counter(one.host and short_name(one.host) for one in records)
    return "".join(_line(one, short) for one in records[:MOST_HOSTS])


def _line(one: Record, short: Mapping[str | None, int]) -> str:
    name = one.host and short_name(one.host)
    kept: dict[str, Any] = {HOST: name if short[name] == 1 else one.host} if one.host else {}
    kept.update(one.said)
    if one.damage:
        kept[DAMAGE] = one.damage
    return json.dumps(kept) + "\n"


def short_name(host: str) -> str:
    """`n1` of `n1.example.net`; an address stays whole."""
    return host if _ADDRESS.fullmatch(host) else host.split(".", 1)[0]


def read(text: str) -> Iterator[Record]:
    """The lines again."""
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict) and (host := host_of(said)):
            damage = said.get(DAMAGE)
            yield Record(host, said, damage if isinstance(damage, str) else None)


def machines(text: str) -> list[str]:
    """The text by host."""
    return text.splitlines(keepends=True) or [text]


def texts(said: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The named texts of an object: no list, no object, nothing longer than a name is."""
    return {name: said[name] for name in names if isinstance(said.get(name), str) and len(said[name]) <= _LONGEST}


def inner(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of that name; an empty one where there is none."""
    value = said.get(name)
    return value if isinstance(value, dict) else {}


def host_of(said: Mapping[str, Any]) -> str | None:
    """The host that a line names."""
    host = said.get(HOST)
    return host.strip()[:_LONGEST] or None if isinstance(host, str) else None


def foreign(
    form: str, records: Sequence[Record], placements: Sequence[Placement], problems: Sequence[Problem] = ()
) -> tuple[Foreign, tuple[Problem, ...]]:
    """The first record's host and where it stands: `machines` gives each host a text of its own."""
    found = list(problems)
    if not records:
        return Foreign(form), (Problem("placement", FAILED, "no host's record is whole", (form,)),)
    first = records[0]
    if first.damage:
        found.append(Problem("placement", FAILED, f"the document is damaged: {first.damage}", (form,)))
    if len(records) > 1:
        message = f"the text holds {len(records)} hosts, of which the first is read"
        found.append(Problem("placement", DISAGREEMENT, message, (form,)))
    return Foreign(form, hostname=first.host, placements=tuple(placements)), tuple(found)
