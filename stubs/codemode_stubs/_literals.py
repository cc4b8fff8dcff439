"""JSON values as Python source text, exactly.

What lives here: literals for annotations, defaults and remarks. Rules: integral numbers print their exact digits
whatever their JSON spelling (1e21, 1.0); strings keep printable characters and escape every other one, lone surrogates
and bidi marks included, so that what a reader sees is what the value is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Generator


def string_literal(text: str) -> str:
    """`text` as a double-quoted Python string."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    known = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if known:
        return known
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@contextmanager
def _digits_of_any_length() -> Generator[None]:
    """CPython refuses to print integers over 4,300 digits; a schema's own value is printed whatever its length."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def number_literal(value: int | float) -> str | None:
    """The number's digits, or None for NaN and the infinities, which Python has no literal for."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if not value.is_integer():
            return repr(value)
        value = int(value)
    try:
        return str(int(value))
    except ValueError:
        with _digits_of_any_length():
            return str(int(value))


def value_literal(value: object, depth: int = 8) -> str | None:
    """Any JSON value as Python source, or None where it has none (not JSON, not finite, deeper than `depth`)."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, (int, float)):
        return number_literal(value)
    if depth == 0:
        return None
    parts: list[str | None]
    if isinstance(value, (list, tuple)):
        parts = [value_literal(item, depth - 1) for item in cast("list[object]", value)]
        return None if None in parts else "[" + ", ".join(cast("list[str]", parts)) + "]"
    if isinstance(value, Mapping):
        parts = []
        for key, item in cast("Mapping[object, object]", value).items():
            text = value_literal(item, depth - 1)
            parts.append(None if text is None or not isinstance(key, str) else f"{string_literal(key)}: {text}")
        return None if None in parts else "{" + ", ".join(cast("list[str]", parts)) + "}"
    return None
