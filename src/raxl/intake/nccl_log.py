"""A debug log of NCCL or RCCL (`NCCL_DEBUG=INFO` or WARN): what was used, and what it complained of.

    host:71:90 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>
    host:71:90 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
    host:71:90 [0] misc/socket.cc:49 NCCL WARN Bootstrap: no socket interface found

Written for NCCL 2.4 to 2.30. Logs in tickets lose the part before `NCCL INFO`, carry other tools' marks before it, and
hold the lines of several processes and hosts. A line `Using [0]…` lists candidates; which of them carried data the
channels say.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.machine import NcclLog
from raxl.model.node import Software
from raxl.model.problem import Problem
from raxl.model.report import Report

FORM = "nccl-log"
_MARKED = re.compile(r".*?\b(?:NCCL|RCCL) (INFO|WARN|TRACE|ABORT|VERSION)\s?(.*)")
_HOST = re.compile(r"(?:^|[\s(])([A-Za-z0-9][\w.-]{0,80}):[0-9]{1,8}:[0-9]{1,8} \[[0-9]{1,4}\] ")
_VERSION = re.compile(r"\b(NCCL|RCCL) version (?:: )?([0-9][0-9.]{0,20})")
_VARIABLE = re.compile(r"((?:NCCL|RCCL)_[A-Z0-9_]{1,60}) (?:set by environment to|set to) (.{0,400}?)\.?$")
_NETWORK = re.compile(r"Using network (\S.{0,60}?)\s*$")
_INITIALIZED = re.compile(r"Initialized NET plugin (\S.{0,60}?)\s*$")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (\S{1,60})")
_LISTED = re.compile(r"NET/(\w{1,20}) ?: Using (.{1,4000})")
_SOCKET = re.compile(
    r"(?:\[[0-9]{1,3}\]|Using |OOB )([a-zA-Z][\w.@-]{0,15}):([0-9a-fA-F.:]{3,45}|\[[0-9a-fA-F:]{2,45}\])<[0-9]+>"
)
_DEVICE = re.compile(r"\[[0-9]{1,3}\]([a-z][\w.-]{0,40}:[0-9]{1,2}/\w{1,10})")
_CHANNEL = re.compile(
    r"Channel [0-9]+(?:/[0-9]+)? : [0-9]+\[[0-9a-f]+\] -> [0-9]+\[[0-9a-f]+\] (?:\[(?:send|receive)\] )?via (\S{1,80})"
)
_RANK = re.compile(r"\([0-9]+\)")
_DIRECT = re.compile(r"GPU Direct RDMA (Enabled|Disabled) for HCA [0-9]{1,3} '([^']{1,60})'")
_REFUSED = (
    re.compile(r"NET/OFI No eligible providers"),
    re.compile(r"NET/IB ?: No device found"),
    re.compile(r"Failed to initialize NET plugin"),
    re.compile(r"NET/Plugin ?: .*(?:version `GLIBC|cannot open shared object|undefined symbol)"),
    re.compile(r"NET/Plugin ?: Could not find"),
)
_FAILED = re.compile(
    r".*\b(?:ibv_(?:modify_qp|reg_mr\w{0,10}|create_\w{1,10}|poll_cq) failed with (?:error )?.{1,80}"
    r"|[Nn]o socket interface found.{0,80}|Error while creating shared memory segment .{1,160})"
)
"""What counts as a warning where the mark before it is lost."""
_BARE = (_VARIABLE, _NETWORK, _INITIALIZED, _LISTED, _CHANNEL, _DIRECT, _VERSION, _PROVIDER, _FAILED, *_REFUSED)
_BARE_STARTS = re.compile(
    r"\s*(?:NET/|P2P plugin |Bootstrap: Using|cudaDriverVersion |=== System : maxBw|[+] (?:PCI|NET|NVL|SYS|GPU)\[)"
)
_TREE = re.compile(r"^\s*=== System : maxBw [0-9.]+", re.MULTILINE)
_NOISE = re.compile(r"0x[0-9a-fA-F]+|<[0-9]+>|/dev/shm/nccl-\w+|\[cite: ?[0-9]+\]")
_MOST = 64
_LONGEST = 4096


def recognises(text: str) -> bool:
    """Whether a line of it is NCCL's: by its mark, or by words that nothing else prints."""
    if re.search(r"\b[NR]CCL (?:INFO|WARN|TRACE|ABORT)\b", text) or _TREE.search(text):
        return True
    if not re.search(r"NET/|NCCL|GPU Direct RDMA", text):
        return False
    clear = (_CHANNEL, _DIRECT, _LISTED, _INITIALIZED, *_REFUSED)
    return any(pattern.search(line) for line in lines(text) for pattern in clear if len(line) < _LONGEST)


def own(text: str) -> str:
    """NCCL's own lines: what a job prints beside them is nobody's business."""
    return joined([line for line in lines(text) if _is_own(line[:_LONGEST])])


def _is_own(line: str) -> bool:
    return bool(_MARKED.match(line) or _BARE_STARTS.match(line) or any(one.search(line) for one in _BARE))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The library's version, and the host where the log is of one alone."""
    log = said(text)
    software = (Software(log.library.lower(), log.version, FORM),) if log.version else ()
    hostname = log.hosts[0] if len(log.hosts) == 1 else None
    return Foreign(FORM, hostname=hostname, report=Report(software=software)), ()


@lru_cache(maxsize=8)
def said(text: str) -> NcclLog:
    """What the log says."""
    own_lines = [line[:_LONGEST] for line in lines(text)]
    versions = [found for line in own_lines if (found := _VERSION.search(line))]
    bodies = [_body(line) for line in own_lines]
    return NcclLog(
        library=versions[-1][1] if versions else "NCCL",
        version=versions[-1][2].rstrip(".") if versions else None,
        hosts=tuple(dict.fromkeys(host for line in own_lines if (host := _host(line))))[:_MOST],
        network=_network(bodies),
        provider=next((found[1] for line in bodies if (found := _PROVIDER.search(line))), None),
        interfaces=dict(list(_interfaces(bodies).items())[:_MOST]),
        devices=tuple(
            dict.fromkeys(
                device for line in bodies if (found := _LISTED.search(line)) for device in _DEVICE.findall(found[2])
            )
        )[:_MOST],
        direct={found[2]: found[1] == "Enabled" for line in bodies if (found := _DIRECT.search(line))},
        ways=dict(
            Counter(_RANK.sub("", found[1]) for line in bodies if (found := _CHANNEL.search(line))).most_common(_MOST)
        ),
        variables={found[1]: found[2] for line in bodies if (found := _VARIABLE.search(line))},
        refusals=tuple(
            dict.fromkeys(line.strip()[:200] for line in bodies if any(one.search(line) for one in _REFUSED))
        )[:_MOST],
        warnings=dict(Counter(word for line in own_lines if (word := _warning(line))).most_common(_MOST)),
    )


def _body(line: str) -> str:
    """What follows the mark."""
    found = _MARKED.match(line)
    return _NOISE.sub(lambda one: "" if one[0].startswith("[cite") else one[0], found[2]).rstrip() if found else line


def _host(line: str) -> str | None:
    found = _HOST.search(line) if _MARKED.match(line) else None
    return found[1].split(".")[0] if found else None


def _interfaces(bodies: list[str]) -> dict[str, str]:
    """Those that sockets go by, and those for the exchange of addresses before."""
    found = {}
    for line in bodies:
        if "NET/Socket" in line or "Bootstrap" in line or "OOB " in line:
            found.update(dict(_SOCKET.findall(line)))
    return found


def _network(bodies: list[str]) -> str | None:
    """The plug-in that carried data, or was assigned last; before 2.12 the one that found its devices."""
    for pattern in (_NETWORK, _INITIALIZED):
        named = [found[1] for line in bodies if (found := pattern.search(line))]
        if named:
            return named[-1]
    ways = [found[1] for line in bodies if (found := _CHANNEL.search(line)) and found[1].startswith("NET/")]
    if ways:
        return ways[-1].split("/")[1]
    listed = {found[1] for line in bodies if (found := _LISTED.search(line))}
    return next((name for name in sorted(listed, key=lambda name: name == "Socket")), None)


def _warning(line: str) -> str | None:
    found = _MARKED.match(line)
    if found and found[1] == "WARN":
        return _NOISE.sub("…", found[2]).strip()[:300] or None
    failed = _FAILED.match(line)
    return _NOISE.sub("…", _body(line)).strip()[:300] if failed else None
