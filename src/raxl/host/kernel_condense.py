"""A kernel's log made short: only lines of the catalogue, each once with the count of its copies, first and last stamp.

A log of any length comes out bounded. The result is plain data: it is what a recording holds of a log.
Standard library, Python 3.8.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from raxl.host.kernel_lines import MARKS, XID_HEAD, Line, open_ended, telling, xid_share
from raxl.host.kernel_stamps import HOSTS, Splitter, Stamped

MOST_KEPT = 4096
"""Lines of one host's log that are kept. Where there are more different ones, those of which there are fewest stay."""
_LEAST_OF_SHARE = 8
"""Light lines of a sort that stay however much there is of what weighs more."""
MOST_OF_FAMILY = 24
"""Lines of one fault of one device that differ in processes and links alone."""
_MOST_HOSTS = 1024
_MOST_TOGETHER = 1 << 14
"""Lines that are kept of all hosts; light ones may take half of them."""
_REMEMBERED, _LEAST_REMEMBERED = 1 << 14, 64
"""Texts that were seen lately, of all hosts; and of each of many."""
_LONGEST = 1024
"""Characters of a line that are looked at."""
_BACK_SECONDS, _YOUNG_SECONDS = 10.0, 60.0
"""A boot's stamps begin at 0: they go back by this much, to this little. Those of logs that were joined need not."""
_BOOTS = ("-- Boot ", "-- Reboot")
"""What journalctl prints between two boots."""
_FIRST = "Linux version "
_BOOT_MARKS = (_FIRST, "[    0.", "-- Boot ", "-- Reboot")
_SAMPLE = 1 << 12
_REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(?:\[\s{0,9}\d{1,10}\.\d{3,9}\] )?(.*)\]")
"""What syslog writes in place of copies."""
_DIGITS = dict.fromkeys(map(ord, "0123456789"), "0")
_HEAD = "NVRM: The NVIDIA GPU "
_XID, _CHANNEL = "NVRM: Xid (", ", Ch "
"""Behind its channel an Xid tells nothing that makes it another event."""
_HEAD_LINES = 4
_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_SEVERITY = re.compile(r"(?:event severity|Error \d{1,4}, type): (\w{1,20})")
_SECTION = re.compile(r"section_type: (.{1,60})")
_RECORD = "[Hardware Error]"
"""In each line of an error record, which is told over several."""
_DEVICE = re.compile(r"device_id: ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
Log = Dict[str, Any]


class Condenser:
    """Is fed with lines in their order, and gives what is kept of them, by host."""

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._hosts: Dict[Optional[str], _Host] = {}
        self._like: Optional[Tuple[_Host, int, str, str]] = None
        """Of the last line that was taken apart: whose it is, and what stood before its text, digits apart."""
        self._bounds = _Bounds()
        self._number = 0
        self.stamped = 0
        """How many lines had the kernel's stamp."""
        self.bare = 0
        """How many had none, and are the kernel's by their words."""

    def feed(self, line: str, is_open: bool = False) -> None:
        """Takes one line; an open one lacks its end, and may have been cut off."""
        self._number += 1
        if is_open:
            line = open_ended(line)
        if "\x1b" in line:
            line = _ESCAPE.sub("", line)
        if line.startswith(_BOOTS):
            for host in self._hosts.values():
                host.boots()
            return
        stamped = self._splitter.split(line)
        if stamped is None:
            return
        if stamped.stamp is None:
            self.bare += 1
        else:
            self.stamped += 1
        host = self._host(stamped.host)
        host.take(stamped, self._number)
        before = line[: stamped.begins]
        self._like = (host, len(before), before.translate(_DIGITS), stamped.host or "")

    def _is_copy(self, line: str) -> bool:
        """Whether the line is a copy of one that is kept, or of one that is not; counts it then. Its stamp has the
        shape of the last one's, and is not taken apart: a flood has a million of them."""
        if self._like is None:
            return False
        host, size, shape, name = self._like
        before = line[:size]
        return (
            before.translate(_DIGITS) == shape and name in before and host.again(line[size:], before, self._number + 1)
        )

    def take(self, text: str) -> None:
        """Takes whole lines at once, and looks only at those that may be of the catalogue: for long logs."""
        if "\x1b" in text:
            text = _ESCAPE.sub("", text)
        before = {name: host.lines for name, host in self._hosts.items()}
        marked = _marked(text)
        base, counted = self._number, 0
        for start in sorted(marked):
            self._number += text.count("\n", counted, start)
            counted = start
            line = text[start : marked[start]]
            is_open = marked[start] == len(text)
            if is_open or not self._is_copy(line):
                self.feed(line, is_open)
                self._number -= 1
        self._number = base + text.count("\n")
        named = Counter(map("".join, HOSTS.findall(text))) if HOSTS.search(text, 0, _SAMPLE) else {}
        for name, count in named.items() or {None: text.count("\n")}.items():
            host = self._host(name)
            host.lines = before.get(name, 0) + count

    def _host(self, name: Optional[str]) -> "_Host":
        """The log of that host; of more hosts than are kept apart, one for all the others."""
        if name not in self._hosts and len(self._hosts) >= _MOST_HOSTS:
            name = None
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(self._bounds)
            self._bounds.remembered = max(_REMEMBERED // len(self._hosts), _LEAST_REMEMBERED)
        return host

    def logs(self) -> List[Log]:
        """What is kept, one for each host that the lines name; lines that name none are of the first."""
        named = [name for name in self._hosts if name is not None]
        if len(named) == 1 and None in self._hosts:
            self._hosts[named[0]].absorb(self._hosts.pop(None))
        return [{"host": name, **host.log()} for name, host in self._hosts.items()]

    def log(self) -> Log:
        """What is kept of the log of one host; an empty one where there was no line."""
        return next(iter(self.logs()), {"host": None, **_Host(_Bounds()).log()})

    @property
    def tells(self) -> bool:
        """Whether a line of the catalogue was among them."""
        return any(host.kept for host in self._hosts.values())


class _Bounds:
    """What all hosts have together."""

    def __init__(self) -> None:
        self.left = _MOST_TOGETHER
        """Lines that may still be kept."""
        self.remembered = _REMEMBERED
        """Texts that each host may remember."""


class _Host:
    """The log of one host."""

    def __init__(self, bounds: _Bounds) -> None:
        self._bounds = bounds
        self.kept: Dict[Tuple[Any, ...], Log] = {}
        self.lines = 0
        self._number = 0
        self._families: Dict[Tuple[Any, ...], int] = {}
        self._shares: Dict[Tuple[bool, str], List[Tuple[Any, ...]]] = {}
        """By what lines share their room with, the keys of those that are kept of this boot."""
        self._heads: Set[str] = set()
        """How the Xids of this boot begin that are kept, or were."""
        self._largest: Optional[Tuple[bool, str]] = None
        self._left_out: Counter[str] = Counter()
        self._gone: List[Tuple[str, Log]] = []
        """Lines of this boot that made room, with their kind; copies of them still count."""
        self._left_before = 0
        self._boot = 0
        self._in_boot = 0
        self._oldest: Optional[str] = None
        self._newest: Optional[str] = None
        self._whole: Optional[bool] = None
        self._uptime: Optional[float] = None
        self._seen: Dict[str, Optional[Log]] = {}
        self._head, self._head_left = "", 0
        self._severity, self._is_pcie = "", False

    def take(self, line: Stamped, number: int) -> None:
        """Takes a line that the kernel wrote, which is so many lines down its file."""
        self._number = number
        text = line.text[:_LONGEST].rstrip()
        if line.uptime_seconds is not None or text.startswith(_FIRST):
            self._place(line, text)
        self.lines += 1
        self._in_boot += 1
        if line.stamp:
            self._newest = line.stamp
            if self._oldest is None:
                self._oldest = line.stamp
        copies = 1
        repeated = _REPEATED.fullmatch(text) if text.startswith("message repeated ") else None
        if repeated:
            copies, text = int(repeated[1]), repeated[2]
        if text.startswith("NVRM: "):
            text = self._of_driver(text)
        elif _RECORD in text:
            text = self._of_firmware(text)
        known = text.partition(_CHANNEL)[0] if _XID in text else text
        if known not in self._seen:
            self._new(line, text, known, copies)
            return
        entry = self._seen[known]
        if entry is not None:
            self._again(entry, line, copies)

    def again(self, text: str, before: str, number: int) -> bool:
        """Counts the line if its text was seen lately; whether it was."""
        text = text.rstrip()
        known = text.partition(_CHANNEL)[0] if _XID in text else text
        if known not in self._seen and self._is_left_out(text):
            self.lines += 1
            self._in_boot += 1
            return True
        if known not in self._seen or _RECORD in text:
            return False
        self.lines += 1
        self._in_boot += 1
        entry = self._seen[known]
        if entry is not None:
            entry["count"] += 1
            entry["ends"] = number
            entry["last"] = before or entry["last"]
        return True

    def boots(self) -> None:
        """Says that the lines before are of an earlier boot."""
        if self._in_boot:
            self._boot += 1
            self._in_boot = 0
            self._seen.clear()
            self._families.clear()
            self._shares.clear()
            self._heads.clear()
            self._largest = None
            self._left_before += self._left()
            self._left_out.clear()
            self._gone.clear()

    def log(self) -> Log:
        """What is kept of it."""
        splitter = Splitter()
        kept = [
            {**entry, "boot": self._boot - entry["boot"], "last": _stamp(splitter, entry["last"])}
            for entry in self.kept.values()
        ]
        return {
            "lines": self.lines,
            "oldest": self._oldest,
            "newest": self._newest,
            "whole": self._whole,
            "left_out": self._left_before + self._left(),
            "left_out_kinds": dict(sorted(self._counted_out().items())),
            "kept": sorted(kept, key=lambda entry: int(entry["order"])),
        }

    def _counted_out(self) -> "Counter[str]":
        """By kind, how many lines of this boot are not kept."""
        counts = Counter(self._left_out)
        for kind, entry in self._gone:
            counts[kind] += entry["count"]
        return counts

    def _left(self) -> int:
        return sum(self._counted_out().values())

    def absorb(self, other: "_Host") -> None:
        """Takes over what is kept of another one's lines."""
        for key, entry in other.kept.items():
            self.kept.setdefault(("bare", *key), {**entry, "boot": self._boot})
        self.lines += other.lines
        self._left_before += other._left_before
        self._left_out.update(other._counted_out())

    def _place(self, line: Stamped, text: str) -> None:
        """Tells boots apart, and whether the log reaches back to one."""
        now, before = line.uptime_seconds, self._uptime
        young = now is not None and now < 1.0
        went_back = now is not None and before is not None and before - now > _BACK_SECONDS and now < _YOUNG_SECONDS
        if went_back or (text.startswith(_FIRST) and not (young and (before is None or before < 1.0))):
            self.boots()
        if young or text.startswith(_FIRST) or line.number == 0:
            self._whole = True
        elif self._whole is None or went_back:
            self._whole = False
        if now is not None:
            self._uptime = now

    def _new(self, line: Stamped, text: str, known: str, copies: int) -> None:
        """Keeps a text that was not seen lately, where it is of the catalogue."""
        if len(self._seen) >= self._bounds.remembered:
            self._seen.clear()
        found = telling(text)
        entry = None if found is None else self._entry(line, found, copies)
        if found is None or entry is not None:  # one that was left out is counted each time
            self._seen[known] = entry

    def _again(self, entry: Log, line: Stamped, copies: int) -> None:
        entry["count"] += copies
        entry["ends"] = self._number
        if line.stamp:
            entry["last"] = line.stamp

    def _entry(self, line: Stamped, found: Line, copies: int) -> Optional[Log]:
        key: Tuple[Any, ...] = (self._boot, *found.key)
        family = (self._boot, *found.family)
        entry = self.kept.get(key)
        if entry is None and self._families.get(family, 0) >= MOST_OF_FAMILY:
            key = (self._boot, "others", *family)
            entry = self.kept.get(key)
        if entry is not None:
            self._again(entry, line, copies)
            return entry
        if not self._has_room(found.share):
            self._left_out[found.kind] += copies
            return None
        self._bounds.left -= 1
        self._families[family] = self._families.get(family, 0) + 1
        self._shares.setdefault(found.share, []).append(key)
        head = XID_HEAD.match(found.text) if found.kind == "xid" else None
        if head is not None:
            self._heads.add(head[0])
        entry = self.kept[key] = {
            "text": found.text,
            "first": line.stamp or None,
            "last": line.stamp or None,
            "count": copies,
            "boot": self._boot,
            "order": self._number,
            "ends": self._number,
            "uptime": line.uptime_seconds,
        }
        return entry

    def _is_left_out(self, text: str) -> bool:
        """Whether the text is an Xid for which there is no room and of which no copy is kept; counts it then. A flood
        of them has a million devices and codes, and is not taken apart."""
        if len(self.kept) < MOST_KEPT or not text.startswith(_XID):
            return False
        head = XID_HEAD.match(text)
        if head is None or head[0] in self._heads or self._may_have_room(xid_share(head[1])):
            return False
        self._left_out["xid"] += 1
        return True

    def _has_room(self, share: Tuple[bool, str]) -> bool:
        """Whether one more line may be kept of its sort; makes room for it at the cost of light ones, and of sorts of
        which more are kept."""
        least = _MOST_TOGETHER // 2 if share[0] else 0
        if len(self.kept) < MOST_KEPT and self._bounds.left > least:
            return True
        if not self._may_have_room(share) or self._largest is None:
            return False
        key = self._shares[self._largest].pop()
        self._gone.append((self._kind(key), self.kept.pop(key)))
        self._largest = None
        self._bounds.left += 1
        return True

    def _may_have_room(self, share: Tuple[bool, str]) -> bool:
        """Whether the largest sort has to make room for one more line of this sort."""
        if self._largest is None and self._shares:
            self._largest = max(
                self._shares,
                key=lambda one: (one[0] and len(self._shares[one]) > _LEAST_OF_SHARE, len(self._shares[one])),
            )
        if self._largest is None:
            return False
        has_less = len(self._shares.get(share, ())) + 1 < len(self._shares[self._largest])
        is_lighter = self._largest[0] and not share[0] and len(self._shares[self._largest]) > _LEAST_OF_SHARE
        return has_less or is_lighter

    def _kind(self, key: Tuple[Any, ...]) -> str:
        """The kind of the lines that have this key."""
        return str(key[3] if key[1] == "others" else key[1])

    def _of_driver(self, text: str) -> str:
        """A line of NVIDIA's driver; the last of those over which a lost GPU is told holds all of them."""
        if text.startswith(_HEAD):
            self._head, self._head_left = text, _HEAD_LINES
        elif self._head_left:
            self._head_left -= 1
            if "fallen off the bus" in text and " GPU " not in text:
                self._head_left = 0
                return f"{self._head} has {text[len('NVRM: ') :]}"
        return text

    def _of_firmware(self, text: str) -> str:
        """A line of an error record of the firmware's; the one that names a PCIe device holds how severe it is."""
        if not text.startswith("{"):  # of the boot before, which is told once at the start
            return text
        severity, section, device = _SEVERITY.search(text), _SECTION.search(text), _DEVICE.search(text)
        if severity:
            self._severity, self._is_pcie = severity[1], False
        elif section:
            self._is_pcie = section[1].startswith("PCIe")
            if not self._is_pcie:
                return f"[Hardware Error]: firmware's record of a {self._severity} error: {section[1]}"
        elif device and self._is_pcie and self._severity:
            return f"[Hardware Error]: {self._severity} PCIe error of {device[1]}"
        return text


def _stamp(splitter: Splitter, last: Optional[str]) -> Optional[str]:
    """The stamp of a last line, of which all may be kept that stood before its text."""
    whole = splitter.split(last) if last else None
    return last if whole is None or whole.stamp is None else whole.stamp or None


def _marked(text: str) -> Dict[int, int]:
    """Where lines begin and end that may be of the catalogue or tell of a boot; the first and the last one in any
    case."""
    last = text.rfind("\n", 0, len(text) - 1) + 1
    found = {0: text.find("\n") if "\n" in text else len(text), last: len(text.rstrip("\n"))}
    for mark in (*MARKS, *_BOOT_MARKS):
        at = text.find(mark)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found[text.rfind("\n", 0, at) + 1] = end
            at = text.find(mark, end)
    return found


def condensed(lines: Iterable[str]) -> Log:
    """What is kept of the log of one host."""
    condenser = Condenser()
    for line in lines:
        condenser.feed(line)
    return condenser.log()


def whole_lines(chunks: Iterable[str]) -> Iterator[str]:
    """A text that comes in pieces, in pieces that end with a line. Of a line without end a mebibyte is given, for what
    a line tells stands at its start."""
    left, is_within = "", False
    for chunk in chunks:
        if is_within:
            begins = chunk.find("\n") + 1
            if not begins:
                continue
            chunk, is_within = chunk[begins:], False
        left += chunk
        end = left.rfind("\n") + 1
        if not end and len(left) > 1 << 20:
            yield f"{left[: 1 << 20]}\n"
            left, is_within = "", True
        if end:
            yield left[:end]
            left = left[end:]
    if left:
        yield left
