"""When and where a line of a kernel's log was written: what stands before its text, in every way that tools print it.

`dmesg` (with -T, --iso, -x, -r, -d, -e), /dev/kmsg, netconsole, `journalctl` (short, -iso, -precise, -full, -monotonic,
-unix), and syslog's files, also behind a parallel shell's `host: `. Standard library, Python 3.8.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

_LEVEL = r"(?:<\d{1,3}>|[a-z]{2,8}\d?\s{0,6}:[a-z]{3,6}\s{0,6}:\s)?"
_SHELL = r"(?:(?P<host>[A-Za-z0-9][\w.-]{0,252}): ?)?"
_FETCHED = r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z )?"
"""What `kubectl logs --timestamps` puts before a line."""
_CALLER = r"(?:\[\s{0,9}[TC]\d{1,9}\])?"
_SINCE = r"(?: ?<\s{0,9}\d{1,9}\.\d{1,9}>)?"
_MONOTONIC = rf"\[\s{{0,9}}(?P<uptime>\d{{1,10}}\.\d{{3,9}}){_SINCE}\]{_CALLER} ?"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d\d:\d\d:\d\d"
_DATED = (
    rf"{_MONTH} [ \d]\d {_CLOCK}(?:\.\d{{1,9}})?"
    rf"|\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:[.,]\d{{1,9}})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
    rf"|{_DAY} \d{{4}}-\d\d-\d\d {_CLOCK}(?:\.\d{{1,9}})? [A-Z]{{2,5}}"
    r"|\d{10}\.\d{6}"
)
_FORMS = (
    re.compile(rf"{_FETCHED}{_SHELL}{_LEVEL}{_MONOTONIC}(?:(?P<host2>[\w.-]{{1,253}}) kernel: )?"),
    re.compile(
        rf"{_SHELL}(?:<\d{{1,3}}>)?(?:1 )?(?P<stamp>{_DATED}) (?P<host2>[\w.:-]{{1,253}}) "
        rf"(?:kernel(?:\[\d{{1,9}}\])?: |kernel - - (?:- |\[[^\]]{{0,200}}\] )|(?=\[\s{{0,9}}\d{{1,10}}\.\d{{6}}\]))"
        rf"(?:{_MONOTONIC})?"
    ),
    re.compile(r"(?P<level>\d{1,4}),(?P<number>\d{1,20}),(?P<microseconds>\d{1,20}),(?P<flags>[^;\s]{1,80});"),
    re.compile(rf"{_SHELL}{_LEVEL}\[(?P<stamp>{_DAY} {_MONTH} [ \d]\d {_CLOCK} \d{{4}}){_SINCE}\]{_CALLER} ?"),
    re.compile(rf"{_SHELL}{_LEVEL}(?P<stamp>\d{{4}}-\d\d-\d\dT{_CLOCK},\d{{1,9}}(?:Z|[+-]\d\d:?\d\d)?) "),
    re.compile(rf"{_SHELL}{_LEVEL}\[(?:(?P<stamp>{_MONTH}\s?\d{{1,2}} \d\d:\d\d)|\s{{0,9}}\+\d{{1,9}}\.\d{{3,9}})\] "),
)
_UCX = re.compile(r"\[[\w.-]{1,253}:\d{1,10}:\d{1,10}\s?\]")
"""What UCX prints behind a stamp that looks like the kernel's."""
_BARE = re.compile(
    r"\s{0,40}(?=NVRM: |nvidia-nvswitch\d|nvidia-peermem |nvidia [0-9a-f]|amdgpu[ :]|\[drm|mlx[45]_core |pcieport |"
    r"neuron|NEURON_HW_ERR=|INFO: task |watchdog: |NMI watchdog: |mce: |(?:\{\d{1,6}\})?\[Hardware Error\]|EDAC |"
    r"AER: |rcu: INFO: |INFO: rcu|BUG: (?:soft|unable|work)|Oops: [0-9g]|Out of memory: Kill|"
    r"Memory cgroup out of memory: |Memory failure: 0x|(?:end_request: |Buffer )?I/O error,? (?:on )?dev|BTRFS|"
    r"blk_update_request: |Aborting journal on |"
    r"oom-kill:|Kernel panic - |EXT4-fs |XFS |nvme\d|Linux version \d|[\w:./-]{1,40}\[\d{1,10}\]: segfault at )"
)
"""How the lines of the kernel begin that tell something, where a tool or a person took the stamps off."""


class Stamped(NamedTuple):
    """A line of the kernel's, in its parts."""

    text: str
    host: Optional[str] = None
    stamp: Optional[str] = None
    """As it is written; of one that counts from the boot, that count in seconds. Empty where it counts from the line
    before."""
    uptime_seconds: Optional[float] = None
    number: Optional[int] = None
    """Of a record of /dev/kmsg: how many were written before it since the boot."""
    begins: int = 0
    """How many characters stood before the text."""


HOSTS = re.compile(
    rf"^(?:(?:<\d{{1,3}}>)?(?:1 )?(?:{_DATED}) ([\w.:-]{{1,253}}) (?:kernel\b|\[)"
    rf"|([A-Za-z0-9][\w.-]{{0,252}}): ?{_LEVEL}\["
    r"|\[\s{0,9}\d{1,10}\.\d{3,9}\] ([\w.-]{1,253}) kernel: )",
    re.MULTILINE,
)
"""The hosts that a log's lines name, in one of the groups."""


class Splitter:
    """Takes lines apart; the form of the last one is tried first."""

    def __init__(self) -> None:
        self._form = _FORMS[0]

    def split(self, line: str) -> Optional[Stamped]:
        """The parts of a line; None for one that is not the kernel's."""
        found = self._form.match(line)
        if found is None:
            for form in _FORMS:
                found = form.match(line)
                if found is not None:
                    self._form = form
                    break
        if found is not None and not (line.startswith("[", found.end()) and _UCX.match(line, found.end())):
            return _stamped(found, line)
        bare = _BARE.match(line)
        return Stamped(line[bare.end() :]) if bare is not None else None


def _stamped(found: "re.Match[str]", line: str) -> Stamped:
    text = line[found.end() :]
    if found.re is _FORMS[0]:  # the most common one, and the longest logs
        host, uptime, behind = found.groups()
        return Stamped(text, behind or host, uptime, float(uptime), None, found.end())
    told = found.groupdict()
    if "microseconds" in told:
        seconds = int(told["microseconds"]) / 1e6
        return Stamped(_unescaped(text), None, f"{seconds:.6f}", seconds, int(told["number"]), found.end())
    uptime = told.get("uptime")
    host = told.get("host2") or told.get("host")
    stamp = told.get("stamp") or uptime or ""
    return Stamped(text, host, stamp, float(uptime) if uptime else None, None, found.end())


def _unescaped(text: str) -> str:
    """The text of a record; /dev/kmsg writes a line's end within it as `\\x0a`."""
    return text.replace("\\x0a", " ") if "\\x0a" in text else text
