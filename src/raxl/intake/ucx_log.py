"""A log of UCX (`UCX_LOG_LEVEL=info`), or what `ucx_info -e` prints: which transports carry data, and what it warns of.

[1750940543.886091] [host:2816367:a]  ucp_worker.c:1855 UCX  INFO  0x30 intra-node cfg#5 tag(sysv/memory cuda_ipc/cuda)
[1750940538.409941] [host:2816369:0]  ucp_context.c:2119 UCX  INFO  Version 1.15.0 (loaded from /opt/ucx/lib/…)
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.machine import UcxLog
from raxl.model.node import Software
from raxl.model.problem import Problem
from raxl.model.report import Report

FORM = "ucx-log"
_MARKED = re.compile(r".*?\bUCX {1,2}(INFO|WARN|ERROR|DEBUG|DIAG|TRACE|FATAL)\s+(.*)")
_HOST = re.compile(r"^\[[0-9.]{3,24}\] \[([A-Za-z0-9][\w.-]{0,80}):[0-9]{1,8}\s*:\w{1,4}\]")
_VERSION = re.compile(
    r"\bVersion ([0-9][0-9.]{0,20}) \(loaded from|^# (?:Library version|UCT version=)[: ]*([0-9][0-9.]{0,20})"
)
_LANES = re.compile(r"\b(intra-node|inter-node) cfg#[0-9]+ (.{1,1000})")
_VARIABLES = re.compile(r"UCX_\* env variables?: (.{1,4000})")
_VARIABLE = re.compile(r"(UCX_[A-Z0-9_]{1,60})=(\S{0,400})")
_LANE = re.compile(r"(?<![\w/])([a-z][a-z0-9_]{1,20}/[\w.:-]{1,60})")
_INFO_LANE = re.compile(r"\s*lane\[[0-9]{1,3}\]:\s+[0-9]{1,3}:([a-z][a-z0-9_]{1,20}/[\w.:-]{1,60}?)(?:\.[0-9]+)? md\[")
_INFO_RESOURCE = re.compile(r"\s*resource [0-9]{1,3}\s+:\s+md [0-9]{1,3}\s+dev [0-9]{1,3}\s+flags")
_NOISE = re.compile(r"0x[0-9a-fA-F]+")
_MOST = 64
_LONGEST = 4096


def recognises(text: str) -> bool:
    """Whether a line of it is UCX's."""
    if re.search(r"\bUCX {1,2}(?:INFO|WARN|ERROR|DEBUG|DIAG|FATAL) ", text):
        return True
    return "lane[" in text and any(_INFO_LANE.match(line) for line in lines(text) if len(line) < _LONGEST)


def own(text: str) -> str:
    """UCX's own lines. Its command lines are left out."""
    kept = [line for line in lines(text) if _is_own(line[:_LONGEST]) and "cmd line:" not in line]
    return joined(kept)


def _is_own(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_MARKED, _INFO_LANE, _INFO_RESOURCE)) or bool(_VERSION.search(line))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The library's version, and the host where the log is of one alone."""
    log = said(text)
    software = (Software("ucx", log.version, FORM),) if log.version else ()
    hostname = log.hosts[0] if len(log.hosts) == 1 else None
    return Foreign(FORM, hostname=hostname, report=Report(software=software)), ()


@lru_cache(maxsize=8)
def said(text: str) -> UcxLog:
    """What the log says."""
    own_lines = [line[:_LONGEST] for line in lines(text)]
    versions = [found[1] or found[2] for line in own_lines if (found := _VERSION.search(line))]
    lanes: dict[str, dict[str, None]] = {"intra-node": {}, "inter-node": {}}
    for line in own_lines:
        told = _LANES.search(line)
        if told:
            lanes[told[1]].update(dict.fromkeys(_LANE.findall(told[2])))
        elif shown := _INFO_LANE.match(line):
            lanes["intra-node"][shown[1]] = None
    return UcxLog(
        version=versions[-1] if versions else None,
        hosts=tuple(dict.fromkeys(found[1].split(".")[0] for line in own_lines if (found := _HOST.match(line))))[
            :_MOST
        ],
        intra=tuple(lanes["intra-node"])[:_MOST],
        inter=tuple(lanes["inter-node"])[:_MOST],
        variables=dict(
            pair for line in own_lines if (found := _VARIABLES.search(line)) for pair in _VARIABLE.findall(found[1])
        ),
        warnings=dict(Counter(word for line in own_lines if (word := _warning(line))).most_common(_MOST)),
    )


def _warning(line: str) -> str | None:
    found = _MARKED.match(line)
    if found is None or found[1] not in ("WARN", "ERROR", "FATAL"):
        return None
    return f"{found[1]} {_NOISE.sub('…', found[2]).strip()[:300]}"
