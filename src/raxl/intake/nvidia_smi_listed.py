"""The line that names a GPU in `nvidia-smi -L`, `nvlink -s` and `c2c -s`, and what stands beneath it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole

_GPU = re.compile(r"\s*GPU\s*([0-9]{1,5})\s*:\s*(.{0,200}?)\s*\(\s*UUID\s*:\s*([^()\s][^()]{0,99}?)?\s*\)?")
_CUT = re.compile(r"\s*GPU\s*([0-9]{1,5})\s*:\s*(\S.{0,200})")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COMMAND = re.compile(r"(^|[\s/])nvidia-smi(\.exe)?(\s|$)")
_LINK = re.compile(r"\s*(C2C\s+)?Link\s*([0-9]{1,5})\s*[:,]\s*(.*)", re.IGNORECASE)


class Link(NamedTuple):
    """One link's line. `word` is what stands after its number: `26.562 GB/s`, `<inactive>`."""

    is_c2c: bool
    number: int
    word: str


class Group(NamedTuple):
    """A GPU's line and the lines beneath it; without number, name and UUID where links stand beneath no such line."""

    number: int | None
    name: str | None
    uuid: str | None
    line: str
    beneath: tuple[str, ...]
    cut: tuple[str, ...] = ()
    """The words in or before which the text ends: `model`, `uuid`."""

    @property
    def words(self) -> dict[str, str]:
        """Name and UUID, as a claim reads them."""
        return {key: word for key, word in (("model", self.name), ("uuid", self.uuid)) if word is not None}

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that stand beneath."""
        return tuple(link for line in self.beneath if (link := link_of(line)) is not None)


def link_of(line: str) -> Link | None:
    """The link that a line tells; None for any other line."""
    found = _LINK.fullmatch(line)
    return Link(bool(found[1]), int(found[2]), found[3].strip()) if found else None


def groups(text: str) -> list[Group]:
    """Every GPU's line with what stands beneath it, in the text's order."""
    found: list[tuple[re.Match[str] | None, list[str]]] = []
    lines = values.lines(text)
    last = max((place for place, line in enumerate(lines) if line), default=0)
    for place, line in enumerate(lines):
        gpu = _GPU.fullmatch(line)
        if place == last and not gpu and found and found[-1][0]:
            gpu = _CUT.fullmatch(line)
        if gpu:
            found.append((gpu, []))
        elif _COMMAND.search(line):  # a prompt: what follows is another output
            found.append((None, []))
        elif line.strip():
            if not found:
                found.append((None, []))
            found[-1][1].append(line)
    return [_group(gpu, beneath) for gpu, beneath in found]


def told(text: str, is_own: Callable[[Link], bool], message: re.Pattern[str]) -> Iterator[Group]:
    """The GPUs of which links are told that are `is_own`, or a message beside them or in their place; each with those
    lines alone."""
    for group in groups(text):
        lines = [(line, link_of(line)) for line in group.beneath]
        told_of = [link for _, link in lines if link]
        heard = group.number is not None and (not told_of or any(map(is_own, told_of)))
        beneath = tuple(
            line for line, link in lines if (is_own(link) if link else heard and bool(message.fullmatch(line)))
        )
        if beneath:
            yield group._replace(beneath=beneath)


def _group(gpu: re.Match[str] | None, beneath: list[str]) -> Group:
    if gpu is None:
        return Group(None, None, None, "", tuple(beneath))
    number, line = whole(gpu[1], MOST_PLACES), gpu[0]
    if gpu.re is _CUT:
        return Group(number, None, None, line, tuple(beneath), ("model", "uuid"))
    if not line.endswith(")") and not _UUID.fullmatch(gpu[3] or ""):
        return Group(number, gpu[2] or "", None, line, tuple(beneath), ("uuid",))
    return Group(number, gpu[2] or "", gpu[3] or "", line, tuple(beneath))
