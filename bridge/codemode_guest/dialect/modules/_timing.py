"""Dates and times: datetime, time, calendar, zoneinfo.  What they import lazily is imported here."""

from __future__ import annotations

import _strptime  # noqa: F401  # pyright: ignore  # datetime.strptime imports it from C
import calendar
import datetime
import re
import time
import zoneinfo
from typing import Any, Final

from .._tables import register_type
from ._pick import Members, pick

_ZONE_KEY: Final = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,3}")


class ZoneClass:
    """`zoneinfo.ZoneInfo` as a program has it: a callable that checks the key, and a class to `isinstance`."""

    __slots__ = ()

    def __call__(self, key: Any) -> zoneinfo.ZoneInfo:
        if type(key) is not str:
            raise TypeError("ZoneInfo() needs the name of a zone")
        if _ZONE_KEY.fullmatch(key) is None:
            raise ValueError(f"ZoneInfo keys must be normalized relative paths, got: {key}")
        return zoneinfo.ZoneInfo(key)

    def __instancecheck__(self, value: object) -> bool:
        return type(value) is zoneinfo.ZoneInfo

    def __repr__(self) -> str:
        return "<class 'zoneinfo.ZoneInfo'>"


register_type(ZoneClass, ())


def available_timezones() -> set[str]:
    """`zoneinfo.available_timezones`, known from before the seal."""
    return set(_zones())


_ZONES: list[frozenset[str]] = []


def _zones() -> frozenset[str]:
    if not _ZONES:
        _ZONES.append(frozenset(zoneinfo.available_timezones()))
    return _ZONES[0]


def preload_zones() -> None:
    """Read the zone files while they can be read; the library keeps what it has read."""
    for key in sorted(_zones()):
        try:
            _KEPT.append(zoneinfo.ZoneInfo(key))
        except (OSError, ValueError):
            continue


_KEPT: list[zoneinfo.ZoneInfo] = []


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "datetime": pick(datetime, "MAXYEAR MINYEAR UTC date datetime time timedelta timezone", tzinfo=datetime.tzinfo),
        "time": pick(
            time,
            """asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns process_time
            process_time_ns sleep strftime strptime struct_time time time_ns timezone tzname altzone daylight""",
        ),
        "calendar": pick(
            calendar,
            """FRIDAY IllegalMonthError IllegalWeekdayError MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY calendar
            day_abbr day_name firstweekday isleap leapdays month month_abbr month_name monthcalendar monthrange timegm
            weekday""",
        ),
        "zoneinfo": pick(
            zoneinfo,
            "ZoneInfoNotFoundError",
            ZoneInfo=ZoneClass(),
            available_timezones=available_timezones,
        ),
    }
