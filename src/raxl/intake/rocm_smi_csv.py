"""`rocm-smi --csv`: the keys of its JSON as columns, a row a card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from raxl.intake import amd_claims, amd_csv, rocm_smi_fields
from raxl.intake.amd_words import translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report

FORM = "rocm-smi --csv"
_CARD = re.compile(r"card([0-9]{1,5})")


def recognises(text: str) -> bool:
    """Whether a header that begins with `device` stands in the text, with a card's row beneath."""
    return "device" in text and any(_number(row) is not None for row in amd_csv.rows(text, _is_header))


def own(text: str) -> str:
    """The tables, without what stands around them."""
    return amd_csv.own(text, _is_header)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The cards by their number."""
    told, cut = amd_csv.told(text, _is_header, _number, _fields)
    found = amd_claims.claims(FORM, rocm_smi_fields.with_units(told), cut)
    return Foreign(FORM, report=Report(claims=found.claims)), found.problems


def _fields(row: amd_csv.Row) -> dict[str, str]:
    return translated({rocm_smi_fields.key(name): words for name, words in row.items()}, rocm_smi_fields.FIELDS)


def _is_header(names: Sequence[str]) -> bool:
    return names[:1] == ["device"] and len(names) > 1


def _number(row: Mapping[str, str]) -> int | None:
    found = _CARD.fullmatch(row.get("device", ""))
    return int(found[1]) if found else None
