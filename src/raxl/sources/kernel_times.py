"""The stamps of kernel logs as times."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import NamedTuple, Optional

_ISO = re.compile(
    r"(?:[A-Z][a-z]{2} )?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?: ?(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?(?: [A-Z]{2,5})?"
)
_C_TIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})")
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_UPTIME = re.compile(r"\d{1,10}\.\d{3,9}")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEAP_YEAR = 2000
"""Stands in for the year that syslog does not write."""


class Time(NamedTuple):
    """One stamp."""

    words: str
    """UTC ISO 8601 where the log gives day and zone, without `Z` where it gives no zone, else the stamp as it is."""
    seconds: Optional[float]
    """On the log's own clock; None where the stamp says no time."""


def time(stamp: str) -> Time:
    """What a stamp means. Never raises."""
    if _UPTIME.fullmatch(stamp):
        return Time(stamp, float(stamp))
    try:
        return _iso(stamp) or _c_time(stamp) or _syslog(stamp) or Time(stamp, None)
    except (ValueError, OverflowError):  # no such day
        return Time(stamp, None)


def _iso(stamp: str) -> Optional[Time]:
    found = _ISO.fullmatch(stamp)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(one) for one in found.groups()[:6])
    told = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    sign, hours, minutes = found[9], found[10], found[11]
    if sign:
        away = timedelta(hours=int(hours), minutes=int(minutes))
        told += -away if sign == "+" else away
    fraction = float(f"0.{found[7] or 0}")
    return Time(f"{told:%Y-%m-%dT%H:%M:%S}{'Z' if found[8] or sign else ''}", told.timestamp() + fraction)


def _c_time(stamp: str) -> Optional[Time]:
    found = _C_TIME.fullmatch(stamp)
    if not found or found[1] not in _MONTHS:
        return None
    hour, minute, second, year = (int(one) for one in found.groups()[2:])
    told = datetime(year, _MONTHS.index(found[1]) + 1, int(found[2]), hour, minute, second, tzinfo=timezone.utc)
    return Time(f"{told:%Y-%m-%dT%H:%M:%S}", told.timestamp())


def _syslog(stamp: str) -> Optional[Time]:
    found = _SYSLOG.fullmatch(stamp)
    if not found or found[1] not in _MONTHS:
        return None
    hour, minute, second = (int(one) for one in found.groups()[2:5])
    told = datetime(_LEAP_YEAR, _MONTHS.index(found[1]) + 1, int(found[2]), hour, minute, second, tzinfo=timezone.utc)
    return Time(stamp, told.timestamp() + float(f"0.{found[6] or 0}"))
