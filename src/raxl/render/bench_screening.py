"""What is told of a screening beside its tables: by what it went, who took no part, and how to measure more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raxl.model.measurement import Bench
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.naming import counted
from raxl.render.node_names import short
from raxl.render.text import Line, Page
from raxl.render.unknown import REMARK

_MOST = 6


def _screen(document: Bench) -> Mapping[str, Any]:
    told = document.environment.get("screen")
    return told if isinstance(told, Mapping) else {}


def is_screening(document: Bench) -> bool:
    """Whether all nodes were measured by one transport, in a few rounds."""
    return bool(_screen(document))


def absent(page: Page, document: Bench) -> list[Line]:
    """Nodes that took no part to the end."""
    lost = list((_screen(document).get("lost") or {}).items())
    lines: list[Line] = []
    for node, why in lost[:_MOST]:
        text = f"took no part to the end: {clean(str(why)).strip()}"
        lines += page.fold(text, 3, lead=(f"{REMARK}  node {short(str(node))} ", "warn"))
    if len(lost) > _MOST:
        lines += page.fold(f"{counted(len(lost) - _MOST, 'more node')} in the JSON", 3, "dim", ("   ", ""))
    return lines


def screened(document: Bench) -> str:
    """`Screened 4 nodes with tcp alone`; empty where it was no screening."""
    if not is_screening(document):
        return ""
    nodes = {node for run in document.runs for node in (run.source.node, run.target.node)}
    transport = bench_names.transport(str(_screen(document).get("transport")))
    return f"Screened {counted(len(nodes), 'node')} with {transport} alone"


def further(document: Bench) -> str:
    """The command that measures a pair of those screened with all transports."""
    if not is_screening(document) or not document.runs:
        return ""
    pair = clean(f"{document.runs[0].source.node}:{document.runs[0].target.node}")
    return f"All transports of one pair: raxl bench-transport --cluster --pairs {pair}."
