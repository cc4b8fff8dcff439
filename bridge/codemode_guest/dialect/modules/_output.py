"""The text of one run: print, sys.stdout and sys.stderr, redirect_stdout, and what else prints."""

from __future__ import annotations

import contextlib
import pprint
from collections.abc import Generator, Iterable
from typing import Any, Final, NoReturn, Protocol

from .._guards import guarded_getattr
from .._tables import register_type


class Target(Protocol):
    """Whatever takes text."""

    def write(self, text: str, /) -> object:
        """Take some text."""


class Stream:
    """`sys.stdout` and `sys.stderr` of a program."""

    __slots__ = ("_label", "_output")
    _output: Output
    _label: str

    def __init__(self, output: Output, label: str) -> None:
        object.__setattr__(self, "_output", output)
        object.__setattr__(self, "_label", label)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a stream cannot be changed")

    def write(self, text: Any, /) -> int:
        """Print text as it is."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._output.write(str.__str__(text))
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Print several pieces."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Text is never kept back."""

    def isatty(self) -> bool:
        """There is no terminal."""
        return False

    def writable(self) -> bool:
        """Text can be written."""
        return True

    def __repr__(self) -> str:
        return f"<{self._label}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a stream cannot be copied")


register_type(Stream, ("write", "writelines", "flush", "isatty", "writable"))

_PPRINT: Final = frozenset(["indent", "width", "depth", "compact", "sort_dicts", "underscore_numbers"])


class Output:
    """Where one run's text goes; redirect_stdout changes it for a while."""

    def __init__(self, target: Target) -> None:
        self._targets: list[Any] = [target]
        self.stdout = Stream(self, "stdout")
        self.stderr = Stream(self, "stderr")

    def write(self, text: str) -> None:
        """Write to the present target."""
        target = self._targets[-1]
        if len(self._targets) == 1:
            target.write(text)
        else:
            guarded_getattr(target, "write")(text)

    def print(self, *objects: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False) -> None:
        """The program's `print`: one write per call."""
        if sep is None:
            sep = " "
        elif not isinstance(sep, str):
            raise TypeError(f"sep must be None or a string, not {type(sep).__name__}")
        if end is None:
            end = "\n"
        elif not isinstance(end, str):
            raise TypeError(f"end must be None or a string, not {type(end).__name__}")
        text = str.join(sep, map(str, objects)) + end
        if file is None:
            self.write(str.__str__(text))
        else:
            guarded_getattr(file, "write")(text)

    @contextlib.contextmanager
    def redirect(self, target: Any) -> Generator[Any, None, None]:
        """`contextlib.redirect_stdout` for this run."""
        guarded_getattr(target, "write")
        self._targets.append(target)
        try:
            yield target
        finally:
            # By identity: `remove` would show the run's own target to an `__eq__` of the program.
            last = max(index for index, each in enumerate(self._targets) if index and each is target)
            del self._targets[last]

    @contextlib.contextmanager
    def redirect_errors(self, target: Any) -> Generator[Any, None, None]:
        """`contextlib.redirect_stderr`: programs print errors to the same place as the rest."""
        guarded_getattr(target, "write")
        yield target

    def pformat(self, value: Any, *arguments: Any, **options: Any) -> str:
        """`pprint.pformat`."""
        for name in options:
            if name not in _PPRINT:
                raise TypeError(f"pformat() got an unexpected keyword argument '{name}'")
        return pprint.pformat(value, *arguments, **options)

    def pprint(self, value: Any, stream: Any = None, *arguments: Any, **options: Any) -> None:
        """`pprint.pprint`."""
        text = self.pformat(value, *arguments, **options) + "\n"
        if stream is None:
            self.write(text)
        else:
            guarded_getattr(stream, "write")(text)

    def pp(self, value: Any, *arguments: Any, sort_dicts: bool = False, **options: Any) -> None:
        """`pprint.pp`."""
        self.pprint(value, *arguments, sort_dicts=sort_dicts, **options)
