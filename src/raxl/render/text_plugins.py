"""Plug-ins as text: a row each, or what was seen of one."""

from __future__ import annotations

from typing import Sequence

from raxl.model.plugin import Criterion, Plugin
from raxl.render.text import Line

NONE = "–"
UNKNOWN = "?"
_HEAD = ("plug-in", "package", "tier", "captures", "here")
_TRANSPORTS = "raxl.transports"
_GAP = "  "


def table(plugins: Sequence[Plugin]) -> list[Line]:
    """One row a plug-in, by group; what is known of none of a group is no column."""
    lines: list[Line] = []
    for group in dict.fromkeys(plugin.group for plugin in plugins):
        rows = [_row(plugin) for plugin in plugins if plugin.group == group]
        kept = [column for column in range(len(_HEAD)) if any(row[column] != UNKNOWN for row in rows)]
        widths = [max(len(row[column]) for row in (_HEAD, *rows)) for column in kept]
        told = [_joined([row[column] for column in kept], widths) for row in (_HEAD, *rows)]
        tried = "   tried by raxl bench-transport" if group == _TRANSPORTS else ""
        lines += [[(group, "bold"), (tried, "dim")], [(told[0], "dim")]]
        lines += [[(text, "")] for text in told[1:]]
    return lines


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _row(plugin: Plugin) -> tuple[str, ...]:
    found = plugin.found
    here = UNKNOWN
    if found is not None:
        words = ": ".join(word for word in (found.reason, found.message) if word)
        here = f"{found.state} ({words})" if words else found.state
    captures = UNKNOWN if plugin.captures is None else str(plugin.captures)
    return plugin.name, f"{plugin.package} {plugin.version}", plugin.tier or UNKNOWN, captures, here


def criteria(plugin: Plugin) -> list[Line]:
    """The tier that one plug-in reaches, and each criterion with what was seen."""
    lines: list[Line] = [
        [(f"{plugin.name} of {plugin.package} {plugin.version}: ", ""), (plugin.tier or "no tier", "bold")]
    ]
    widths = [max((len(text) for text in column), default=0) for column in zip(*map(_words, plugin.criteria))]
    for one in plugin.criteria:
        told = _GAP.join(word.ljust(width) for word, width in zip(_words(one), widths))
        lines.append([("  ok    " if one.is_met else "  not   ", "" if one.is_met else "warn"), (told, "")])
        lines[-1].append((f"{_GAP}{one.evidence}", "dim"))
    return lines


def _words(one: Criterion) -> tuple[str, str]:
    return one.tier, one.name
