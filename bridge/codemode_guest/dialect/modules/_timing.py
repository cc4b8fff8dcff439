"""Dates and times: datetime, time, calendar, zoneinfo.  What they import lazily is imported here."""

from __future__ import annotations

import calendar
import datetime
import importlib
import io
import os
import re
import time
import zoneinfo
from typing import Any, Final

from .._tables import register_type
from ._pick import Members, pick

importlib.import_module("_strptime")  # which C code imports when a program first parses a date

_ZONE_KEY: Final = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,3}")


_DATA: Final[dict[str, bytes]] = {}
"""Zone key -> the bytes of its file, read before the seal: 0.5 MB for all of them."""

_SAME: Final[dict[bytes, bytes]] = {}
"""Each file once: many keys are links to one zone."""

_MADE: Final[dict[str, zoneinfo.ZoneInfo]] = {}
"""Zones that programs of this process have asked for."""


def _directories() -> list[str]:
    """Where zone files may be: the system's, then those of the tzdata package."""
    found = list(zoneinfo.TZPATH)
    try:
        package = importlib.import_module("tzdata")
    except ImportError:
        return found
    return [*found, *(os.path.join(path, "zoneinfo") for path in package.__path__)]


def _zone_bytes(key: str) -> bytes | None:
    data = _DATA.get(key)
    if data is not None:
        return data
    for directory in _directories():
        try:
            with open(os.path.join(directory, *key.split("/")), "rb") as file:
                data = file.read()
        except OSError:
            continue
        if data.startswith(b"TZif"):
            data = _DATA[key] = _SAME.setdefault(data, data)
            return data
    return None


def preload_zones() -> None:
    """Read the zone files while they can be read; they are parsed when a program asks."""
    for key in _zone_keys():
        _zone_bytes(key)


def _zone_keys() -> list[str]:
    """The keys that the tzdata package, or the system, lists."""
    for directory in reversed(_directories()):
        for name in ("../zones", "tzdata.zi", "tzzones"):
            path = os.path.join(directory, name)
            if name == "../zones" and os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    return file.read().split()
    return sorted(zoneinfo.available_timezones())


class ZoneClass:
    """`zoneinfo.ZoneInfo` as a program has it: a callable that checks the key, and a class to `isinstance`."""

    __slots__ = ()

    def __call__(self, key: Any) -> zoneinfo.ZoneInfo:
        if type(key) is not str:
            raise TypeError("ZoneInfo() needs the name of a zone")
        made = _MADE.get(key)
        if made is None:
            if _ZONE_KEY.fullmatch(key) is None:
                raise ValueError(f"ZoneInfo keys must be normalized relative paths, got: {key}")
            data = _zone_bytes(key)
            if data is None:
                raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
            made = _MADE[key] = zoneinfo.ZoneInfo.from_file(io.BytesIO(data), key=key)
        return made

    def __instancecheck__(self, value: object) -> bool:
        return type(value) is zoneinfo.ZoneInfo

    def __repr__(self) -> str:
        return "<class 'zoneinfo.ZoneInfo'>"


register_type(ZoneClass, ())


def available_timezones() -> set[str]:
    """`zoneinfo.available_timezones`."""
    return set(_DATA) or set(_zone_keys())


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
