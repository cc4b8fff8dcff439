"""`str.format` and `str.format_map` without their attribute access past the guard.

A template whose fields have no attribute access is given to the real `str.format`, so that its result is CPython's
own.  One that has is formatted here, field by field, with each attribute through the guard; special attributes are
never read from a template, not even those that the dot allows (CVE-2023-41039 and its kin).

Source: CPython `Objects/stringlib/unicode_format.h` for the order of things and the automatic numbering.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

_STRING: Final[Any] = importlib.import_module("_string")
_parse: Final[Callable[[str], Iterable[tuple[str, str | None, str | None, str | None]]]] = _STRING.formatter_parser
_split: Final[Callable[[str], tuple[Any, Iterable[tuple[bool, Any]]]]] = _STRING.formatter_field_name_split
"""What the library's own Formatter is built on: the parser of `str.format`."""

_MAX_DEPTH: Final = 2
"""How deep format specs nest; CPython's own limit."""


@functools.lru_cache(maxsize=512)
def _reads_attributes(template: str) -> bool:
    """Whether any field of a template, or of its format specs, reads an attribute; a broken template does not."""
    try:
        return any(_field_reads(name, spec) for _, name, spec, _ in _parse(template))
    except ValueError:
        return False


def _field_reads(name: str | None, spec: str | None) -> bool:
    if name is None:
        return False
    return "." in name or (spec is not None and "{" in spec and _reads_attributes(spec))


def is_plain_template(node: ast.expr) -> bool:
    """Whether an expression is a literal template that reads no attribute: then `.format` may be native."""
    return isinstance(node, ast.Constant) and type(node.value) is str and not _reads_attributes(node.value)


def safe_format(template: Any, /, *arguments: Any, **keywords: Any) -> str:
    """The program's `str.format`."""
    if not isinstance(template, str):
        raise TypeError(f"descriptor 'format' for 'str' objects doesn't apply to a '{type(template).__name__}' object")
    text: str = str.__str__(template)
    if not _reads_attributes(text):
        return text.format(*arguments, **keywords)
    return _Formatter(arguments, keywords).text(text, _MAX_DEPTH)


def safe_format_map(template: Any, mapping: Mapping[str, Any], /) -> str:
    """The program's `str.format_map`."""
    if not isinstance(template, str):
        raise TypeError(
            f"descriptor 'format_map' for 'str' objects doesn't apply to a '{type(template).__name__}' object"
        )
    text: str = str.__str__(template)
    if not _reads_attributes(text):
        return text.format_map(mapping)
    return _Formatter(None, mapping).text(text, _MAX_DEPTH)


safe_format.__name__ = safe_format.__qualname__ = "format"
safe_format_map.__name__ = safe_format_map.__qualname__ = "format_map"


class _Formatter:
    """One formatting, with its automatic numbering."""

    def __init__(self, arguments: tuple[Any, ...] | None, keywords: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._keywords = keywords
        self._next: int | None = 0
        self._manual = False

    def text(self, template: str, depth: int) -> str:
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        out: list[str] = []
        for literal, name, spec, conversion in _parse(template):
            if literal:
                out.append(literal)
            if name is not None:
                value = self._field(name)
                if conversion:
                    value = _convert(value, conversion)
                out.append(format(value, self.text(spec, depth - 1) if spec else ""))
        return "".join(out)

    def _field(self, name: str) -> Any:
        from ._guards import guarded_getattr

        first, rest = _split(name)
        value = self._first(first)
        for is_attribute, key in rest:
            if not is_attribute:
                value = value[key]
            elif key.startswith("__"):
                raise AttributeError(f"a format template cannot read '{key}'")
            else:
                value = guarded_getattr(value, key)
        return value

    def _first(self, first: Any) -> Any:
        if first == "":
            if self._manual:
                raise ValueError("cannot switch from manual field specification to automatic field numbering")
            index, self._next = self._next, (self._next or 0) + 1
            return self._positional(index or 0)
        if isinstance(first, int):
            if self._next:
                raise ValueError("cannot switch from automatic field numbering to manual field specification")
            self._manual = True
            return self._positional(first)
        return self._keywords[first]

    def _positional(self, index: int) -> Any:
        if self._arguments is None:
            raise ValueError("Format string contains positional fields")
        if index >= len(self._arguments):
            raise IndexError(f"Replacement index {index} out of range for positional args tuple")
        return self._arguments[index]


def _convert(value: Any, conversion: str) -> str:
    if conversion == "s":
        return str(value)
    if conversion == "r":
        return repr(value)
    if conversion == "a":
        return ascii(value)
    raise ValueError(f"Unknown conversion specifier {conversion!r}")
