"""traceback for programs: the type and message of errors, and the program's own lines; no frames, no files.

`format_exc()` is the last line of CPython's text: what a program prints of an error it has caught.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import sys
from typing import Any, Final

from .._guards import guarded_getattr
from .._user_types import exact_type
from ._output import Output
from ._pick import Members

_MISSING: Final = object()


def describe(error: BaseException | None) -> str:
    """The type and message of an error, as the last line of a traceback has them."""
    if error is None:
        return "NoneType: None"
    kind = exact_type(error)
    module = kind.__module__
    name = kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"
    text = str(error)
    lines = [f"{name}: {text}" if text else name]
    notes = getattr(error, "__notes__", None)
    if type(notes) is list:
        lines += [str(note) for note in notes]
    return "\n".join(lines)


def format_exc(limit: Any = None, chain: bool = True) -> str:
    """`traceback.format_exc`."""
    return describe(sys.exc_info()[1])


def _given(kind: Any, value: Any) -> BaseException | None:
    error = value if isinstance(value, BaseException) else kind
    return error if isinstance(error, BaseException) else None


def format_exception(kind: Any = None, /, value: Any = None, tb: Any = None, **options: Any) -> list[str]:
    """`traceback.format_exception`: of an error, or of (type, error, traceback)."""
    return [describe(_given(kind, value)) + "\n"]


def exc_info() -> tuple[Any, Any, None]:
    """`sys.exc_info`, without the traceback."""
    error = sys.exc_info()[1]
    return (None, None, None) if error is None else (type(error), error, None)


def members(output: Output) -> Members:
    """The traceback module of one run."""

    def show(text: str, file: Any) -> None:
        if file is None:
            output.write(text)
        else:
            guarded_getattr(file, "write")(text)

    def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
        show(format_exc() + "\n", file)

    def print_exception(
        kind: Any, /, value: Any = None, tb: Any = None, limit: Any = None, file: Any = None, chain: bool = True
    ) -> None:
        show("".join(format_exception(kind, value)), file)

    return {
        "format_exc": format_exc,
        "format_exception": format_exception,
        "format_exception_only": format_exception,
        "print_exc": print_exc,
        "print_exception": print_exception,
        "format_tb": lambda tb, limit=None: [],
        "print_tb": lambda tb, limit=None, file=None: None,
    }
