"""logging for programs: loggers that print to the run's text; no handlers, files, or shared state.

Source: CPython `Lib/logging/__init__.py` for levels, formats and which call shows what.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from .._names import words
from .._tables import register_type
from .._types_seen import opaque_type
from ._errors import describe
from ._output import Output
from ._pick import Members

_LEVELS: Final = {
    "CRITICAL": 50,
    "FATAL": 50,
    "ERROR": 40,
    "WARNING": 30,
    "WARN": 30,
    "INFO": 20,
    "DEBUG": 10,
    "NOTSET": 0,
}
_NAMES: Final = {50: "CRITICAL", 40: "ERROR", 30: "WARNING", 20: "INFO", 10: "DEBUG", 0: "NOTSET"}
_FORMAT: Final = "%(levelname)s:%(name)s:%(message)s"
_LOGGER_NAMES: Final = (
    "debug", "info", "warning", "warn", "error", "critical", "fatal", "exception", "log", "setLevel", "isEnabledFor",
    "getEffectiveLevel", "getChild", "addHandler", "removeHandler", "hasHandlers", "name", "level", "propagate",
    "handlers", "disabled",
)  # fmt: skip


def level_number(level: Any) -> int:
    """A level by number or name."""
    if isinstance(level, int):
        return int(level)
    if type(level) is str and level in _LEVELS:
        return _LEVELS[level]
    raise ValueError(f"Unknown level: {level!r}")


def level_name(level: Any) -> Any:
    """`logging.getLevelName`."""
    if type(level) is str:
        return _LEVELS.get(level, f"Level {level}")
    return _NAMES.get(level, f"Level {level}")


class Logger:
    """One named logger of a run."""

    __slots__ = ("_run", "disabled", "handlers", "level", "name", "propagate")

    def __init__(self, run: LogRun, name: str) -> None:
        self._run = run
        self.name = name
        self.level = 0
        self.propagate = True
        self.disabled = False
        self.handlers: list[Any] = []

    def setLevel(self, level: Any) -> None:
        """Set this logger's own level."""
        self.level = level_number(level)

    def getEffectiveLevel(self) -> int:
        """The level that counts."""
        return self.level or self._run.parent_level(self.name)

    def isEnabledFor(self, level: int) -> bool:
        """Whether a message of this level is shown."""
        return level >= self.getEffectiveLevel()

    def getChild(self, suffix: str) -> Logger:
        """A logger below this one."""
        return self._run.logger(suffix if self.name == "root" else f"{self.name}.{suffix}")

    def addHandler(self, handler: Any) -> None:
        """Remembered; all text goes to the run anyway."""
        self.handlers.append(handler)

    def removeHandler(self, handler: Any) -> None:
        """Forget a handler."""
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self) -> bool:
        """Text always has somewhere to go."""
        return True

    def log(self, level: Any, message: Any, *arguments: Any, exc_info: Any = None, **options: Any) -> None:
        """Show a message."""
        if not isinstance(level, int):
            raise TypeError("level must be an integer")
        if self.isEnabledFor(level) and not self.disabled:
            self._run.show(self.name, level, message, arguments, exc_info)

    def debug(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Show a message of level DEBUG."""
        self.log(10, message, *arguments, **options)

    def info(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Show a message of level INFO."""
        self.log(20, message, *arguments, **options)

    def warning(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Show a message of level WARNING."""
        self.log(30, message, *arguments, **options)

    warn = warning

    def error(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Show a message of level ERROR."""
        self.log(40, message, *arguments, **options)

    def critical(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Show a message of level CRITICAL."""
        self.log(50, message, *arguments, **options)

    fatal = critical

    def exception(self, message: Any, *arguments: Any, exc_info: Any = True, **options: Any) -> None:
        """Show a message of level ERROR with the error that is being handled."""
        self.log(40, message, *arguments, exc_info=exc_info, **options)


register_type(Logger, _LOGGER_NAMES)


class Handler:
    """Accepted where programs build handlers; what is logged goes to the run's text in any case."""

    __slots__ = ("_run",)

    def __init__(self, run: LogRun) -> None:
        self._run = run

    def setFormatter(self, formatter: Any) -> None:
        """Use a formatter's format."""
        if type(formatter) is Formatter:
            self._run.use_format(formatter.text, formatter.dates)

    def setLevel(self, level: Any) -> None:
        """Checked only: levels are the loggers'."""
        level_number(level)


class Formatter:
    """A format of log lines."""

    __slots__ = ("dates", "text")

    def __init__(self, fmt: str | None = None, datefmt: str | None = None, **options: Any) -> None:
        self.text = fmt or "%(message)s"
        self.dates = datefmt


register_type(Handler, ("setFormatter", "setLevel"))
register_type(Formatter, ())


class LogRun:
    """The logging of one run."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._format = _FORMAT
        self._dates: str | None = None
        self._loggers: dict[str, Logger] = {}
        self._disabled = 0
        self.root = self.logger("root")
        self.root.level = 30

    def logger(self, name: Any = None) -> Logger:
        """`logging.getLogger`."""
        name = str(name) if name else "root"
        found = self._loggers.get(name)
        if found is None:
            found = self._loggers[name] = Logger(self, name)
        return found

    def parent_level(self, name: str) -> int:
        """The level of the nearest logger above that has one."""
        while "." in name:
            name = name.rpartition(".")[0]
            if name in self._loggers and self._loggers[name].level:
                return self._loggers[name].level
        return self.root.level

    def use_format(self, text: str, dates: str | None) -> None:
        """Set the format of lines."""
        self._format, self._dates = text, dates

    def configure(self, **options: Any) -> None:
        """`logging.basicConfig`: level, format and datefmt count."""
        if options.get("level") is not None:
            self.root.setLevel(options["level"])
        if options.get("format") is not None:
            self.use_format(str(options["format"]), self._dates)
        if options.get("datefmt") is not None:
            self._dates = str(options["datefmt"])

    def disable(self, level: Any = 50) -> None:
        """`logging.disable`."""
        self._disabled = level_number(level)

    def show(self, name: str, level: int, message: Any, arguments: tuple[Any, ...], exc_info: Any) -> None:
        """Print one line."""
        if level <= self._disabled:
            return
        text = str(message)
        if arguments:
            only = arguments[0]
            values = only if len(arguments) == 1 and isinstance(only, Mapping) and only else arguments
            text = text % values
        now = time.time()
        stamp = time.strftime(self._dates or "%Y-%m-%d %H:%M:%S", time.localtime(now))
        fields = {
            "levelname": level_name(level),
            "levelno": level,
            "name": name,
            "message": text,
            "asctime": stamp if self._dates else f"{stamp},{int(now % 1 * 1000):03d}",
            "created": now,
            "msecs": now % 1 * 1000,
            "funcName": "<program>",
            "lineno": 0,
            "module": "program",
            "filename": "<program>",
            "pathname": "<program>",
            "process": 0,
            "thread": 0,
            "threadName": "MainThread",
            "processName": "MainProcess",
        }
        line = self._format % fields
        if exc_info:
            error = exc_info if isinstance(exc_info, BaseException) else sys.exc_info()[1]
            line += "\n" + describe(error)
        self._output.write(line + "\n")


_CALLS: Final = words("debug info warning warn error critical fatal exception log")
NAMES: Final = (
    words("basicConfig getLogger disable getLevelName Logger StreamHandler NullHandler Formatter root")
    | _CALLS
    | _LEVELS.keys()
)


def members(output: Output) -> Members:
    """The logging module of one run."""
    run = LogRun(output)
    found: Members = dict(_LEVELS)
    for name in _CALLS:
        found[name] = getattr(run.root, name)
    found.update(
        basicConfig=run.configure,
        getLogger=run.logger,
        disable=run.disable,
        getLevelName=level_name,
        Logger=opaque_type(Logger),
        StreamHandler=lambda stream=None: Handler(run),
        NullHandler=lambda: Handler(run),
        Formatter=Formatter,
        root=run.root,
    )
    return found
