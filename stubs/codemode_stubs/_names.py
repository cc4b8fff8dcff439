"""Which names Python can carry, and how a new one is made.

What lives here: the tests for identifiers in each position (method, parameter, field), PascalCase, and the table that
hands out class names. What must not: anything about schemas or text.

Why so strict: Python normalises identifiers to NFKC while compiling, mangles `__x` inside a class, and reserves
keywords. A name that would be changed by any of these is never written as an identifier, because the stub would then
name another thing than the schema does. The tables are those of the running interpreter (`str.isidentifier`,
`keyword`, `unicodedata`), so there is no skew between the renderer and the Python that reads its text.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable

#: Longest class name before its number. Names grow by one field at each level of nesting; without a bound the text of a
#: deep schema would be quadratic.
MAX_NAME = 60

_WORD = re.compile(r"\w+", re.UNICODE)


def is_stable_identifier(name: str) -> bool:
    """Whether `name` can be written in a program and still means itself."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def _is_mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def is_method_name(name: str) -> bool:
    """Whether a program can write `tools.<name>`: the dialect keeps names with a leading underscore to itself."""
    return is_stable_identifier(name) and not name.startswith("_")


def is_parameter_name(name: str) -> bool:
    """Whether `name` can be a parameter of a stub method and a keyword of a call."""
    return is_stable_identifier(name) and name not in ("self", "__debug__") and not _is_mangled(name)


def is_field_name(name: str) -> bool:
    """Whether `name` can be a field of a TypedDict in class syntax."""
    return is_stable_identifier(name) and name != "__debug__" and not _is_mangled(name)


def underscored(name: str) -> str | None:
    """The attribute that stands for an exotic name, `get-data` -> `get_data`.

    Returns:
        The name in NFKC with every character that no identifier has replaced by an underscore, or None where that is
        no method name either (`2fa`, `class`, `_x`).
    """
    normal = unicodedata.normalize("NFKC", name)
    spelled = "".join(char if ("a" + char).isidentifier() else "_" for char in normal)
    return spelled if is_method_name(spelled) else None


def pascal(text: str) -> str:
    """`create_issue` -> `CreateIssue`; anything at all -> an identifier that starts with no underscore, or ''."""
    joined = ""
    for word in _WORD.findall(text):
        for part in word.split("_"):
            kept = "".join(char for char in part if ("a" + char).isidentifier())
            joined += kept[:1].upper() + kept[1:]
    joined = unicodedata.normalize("NFKC", joined)
    if joined and not joined.isidentifier():
        joined = "T" + joined
    return joined if joined.isidentifier() else ""


def join_names(*parts: str) -> str:
    """A class name from parts that are class names already: cut to `MAX_NAME`, normalised again."""
    joined = unicodedata.normalize("NFKC", "".join(parts)[:MAX_NAME])
    return joined if joined.isidentifier() else "T"


class NameTable:
    """Hands out each name once: the first comer keeps the bare name, later ones are numbered from 2."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}

    def allocate(self, base: str) -> str:
        """Takes `base`, or `base2`, `base3`, ... if it is gone."""
        name = base or "T"
        number = self._next.get(base, 2)
        while name in self._taken or keyword.iskeyword(name):
            name = f"{base or 'T'}{number}"
            number += 1
        self._next[base] = number
        self._taken.add(name)
        return name
