"""JSON values as Python source text, exactly.

What lives here: literals for annotations, defaults and remarks. Rules: integral numbers print their exact digits
whatever their JSON spelling (1e21, 1.0); strings keep printable characters and escape every other one, lone surrogates
and bidi marks included, so that what a reader sees is what the value is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast


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


def number_literal(value: int | float) -> str | None:
    """The number's digits, or None for NaN and the infinities, which Python has no literal for."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        if not value.is_integer():
            return repr(value)
        value = int(value)
    # CPython neither prints nor reads decimal integers over 4,300 digits; hexadecimal ones have no bound.
    return str(value) if abs(value) < 10**4000 else hex(value)


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
