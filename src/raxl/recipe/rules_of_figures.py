"""Rules of the figures that a recipe expects, of the hardware that bounds them, and of the reports that show them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import chain

from raxl.model.recipe import KINDS, METRICS, OWN_BASELINE, Expectation, Hardware, Recipe
from raxl.recipe import bounds
from raxl.recipe.document import Keys
from raxl.recipe.rule import Wrong, first_day, one_of, twice
from raxl.recipe.rules_of_facts import citation, glob
from raxl.recipe.shape import did_you_mean

HELD_KINDS = ("observed", "vendor-floor")
"""Kinds of figures that a node is held against, beside its own baseline."""
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def wrong(recipe: Recipe) -> Iterator[Wrong]:
    """Everything that is wrong with them."""
    yield from chain(_hardware(recipe.hardware), _reports(recipe))
    yield from twice(("expect",), [one.id for one in recipe.expect], "id")
    known = [one.id for one in recipe.source]
    for place, one in enumerate(recipe.expect):
        keys: Keys = ("expect", place)
        yield from chain(_words(keys, one), _numbers(keys, one), _value(keys, one, known))
        if one.value is not None and one.metric in METRICS:
            yield from _bounded(keys, one, recipe.hardware)


def _hardware(hardware: Hardware) -> Iterator[Wrong]:
    known = (*bounds.LINKS, bounds.NONE)
    if hardware.link is not None and hardware.link not in known:
        yield Wrong(("hardware", "link"), f"is no link that raxl knows{did_you_mean(hardware.link, known)}")
    for name in ("accelerators", "nics"):
        count = getattr(hardware, name)
        if count is not None and count < 0:
            yield Wrong(("hardware", name), "is to be a number from 0 on")
    if hardware.nodes_in_fabric < 1:
        yield Wrong(("hardware", "nodes_in_fabric"), "is to be 1 at least")
    speed = hardware.nic_bits_per_second
    if speed is not None and not (math.isfinite(speed) and speed > 0):
        yield Wrong(("hardware", "nic_bits_per_second"), "is to be a number above 0")


def _words(keys: Keys, one: Expectation) -> Iterator[Wrong]:
    yield from one_of((*keys, "collective"), one.collective, bounds.COLLECTIVES)
    yield from one_of((*keys, "metric"), one.metric, METRICS)
    yield from one_of((*keys, "kind"), one.kind, KINDS)
    if one.date is not None and first_day(one.date) is None:
        yield Wrong((*keys, "date"), f"is to be a month like 2026-07, or a day, not {one.date[:40]!r}")
    for place, text in enumerate(one.path):
        yield from glob((*keys, "path", place), text)


def _numbers(keys: Keys, one: Expectation) -> Iterator[Wrong]:
    if one.nodes < 1:
        yield Wrong((*keys, "nodes"), "is to be 1 at least")
    elif one.ranks < one.nodes or one.ranks % one.nodes:
        yield Wrong((*keys, "ranks"), f"is to be as many on each of {one.nodes} nodes, not {one.ranks}")
    if one.size_bytes is not None and one.size_bytes < 1:
        yield Wrong((*keys, "size_bytes"), "is to be 1 at least")
    for name in ("warn_below", "fail_below"):
        share = getattr(one, name)
        if not (math.isfinite(share) and 0 < share <= 1):
            yield Wrong((*keys, name), "is to be a share: above 0, and 1 at most")
    if one.fail_below > one.warn_below:
        yield Wrong((*keys, "fail_below"), f"is above warn_below, {one.warn_below:g}")
    if one.value is not None and not (math.isfinite(one.value) and one.value > 0):
        yield Wrong((*keys, "value"), "is to be a number above 0")


def _value(keys: Keys, one: Expectation, known: list[str]) -> Iterator[Wrong]:
    """Where it comes from, and that all is told without which it compares with nothing."""
    if one.kind == OWN_BASELINE:
        if one.value is not None:
            yield Wrong((*keys, "value"), f"{OWN_BASELINE} has none: the first verify measures it")
        return
    yield from citation(keys, one.source, one.unverified, known)
    if one.value is None and not one.unverified:
        yield Wrong(keys, "has no value, and does not say in unverified why")
    missing = [name for name in ("size_bytes", "date") if getattr(one, name) is None]
    missing += [name for name in ("path", "software") if not getattr(one, name)]
    if one.value is not None and one.kind in HELD_KINDS and missing and not one.unverified:
        yield Wrong(keys, f"does not tell {', '.join(missing)}: say in unverified why it compares all the same")


def _bounded(keys: Keys, one: Expectation, hardware: Hardware) -> Iterator[Wrong]:
    found = bounds.bound(one, hardware)
    if isinstance(found, bounds.Unknown) and one.kind in HELD_KINDS:
        yield Wrong((*keys, "value"), f"no bound is known for it: {found.why}")
    elif isinstance(found, bounds.Bound) and one.value is not None and one.value > found.rate:
        told = bounds.words(one.value)
        yield Wrong((*keys, "value"), f"{told} is above what is possible, {bounds.words(found.rate)}: {found.why}")


def _reports(recipe: Recipe) -> Iterator[Wrong]:
    for place, one in enumerate(recipe.reports):
        keys: Keys = ("reports", place)
        if not one.file or one.file.startswith(("/", "~")) or ".." in one.file.split("/"):
            yield Wrong((*keys, "file"), "is to lie below the folder of the recipe")
        if not _SHA256.fullmatch(one.sha256):
            yield Wrong((*keys, "sha256"), "is to be the SHA-256 of the file: 64 of 0-9 a-f")
        if first_day(one.date) is None:
            yield Wrong((*keys, "date"), f"is to be a day like 2026-07-13, not {one.date[:40]!r}")
