"""`amd-smi list|static|metric --csv`: the keys of its JSON as columns, with their section before them or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.intake import amd_claims, amd_csv, amd_smi_fields
from raxl.intake.amd_words import translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "amd-smi --csv"
_READ = (
    "hip_id hip_uuid unit serial model vendor_id device_id subvendor_id oam_id subsystem_id architecture "
    "compute_partition partition_id hive"
)


def _spellings(names: Sequence[str]) -> tuple[str, ...]:
    """`asic.market_name` as a column: with its section before it, or alone."""
    return tuple(dict.fromkeys(one for name in names for one in (name.replace(".", "_"), name.split(".")[-1])))


_NAMES = {
    "address": ("gpu_bdf", "bdf", "bus_bdf"),
    "uuid": ("gpu_uuid", "uuid"),
    **{field: _spellings(amd_smi_fields.FIELDS[field]) for field in _READ.split()},
}
"""Columns by field. A size stands there without its unit, and is left unread."""
_TELLING = frozenset(name for names in _NAMES.values() for name in names) - {
    "uuid",
    "device_id",
    "vendor_id",
}


def recognises(text: str) -> bool:
    """Whether a header of amd-smi's stands in the text, with a GPU's row beneath."""
    return "gpu" in text and any(_number(row) is not None for row in amd_csv.rows(text, _is_header))


def own(text: str) -> str:
    """The tables, without what stands around them."""
    return amd_csv.own(text, _is_header)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs by amd-smi's number."""
    told, cut = amd_csv.told(text, _is_header, _number, lambda row: translated(row, _NAMES))
    found = amd_claims.claims(FORM, told, cut)
    return Foreign(FORM, report=Report(claims=found.claims)), found.problems


def _is_header(names: Sequence[str]) -> bool:
    return names[:1] == ["gpu"] and bool(_TELLING & set(names))


def _number(row: Mapping[str, str]) -> int | None:
    return whole(row.get("gpu"), MOST_PLACES)
