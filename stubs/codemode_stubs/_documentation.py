"""What a stub says in words of each method: its docstring.

What lives here: the order of a docstring's parts, and arguments that are described once for many methods. Tools of one
server repeat the same parameters (`owner`, `repo`, `page`) with the same text; where a name is described in one way
only, by several methods of a class, the class says it once and the methods do not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ._methods import Method
from ._prose import one_line

#: How many methods must agree before their class speaks for them: with two, hovering one method in an editor loses more
#: than the text gains.
MIN_SHARED = 3


def shared_notes(methods: Iterable[Method]) -> dict[str, str]:
    """Name -> note of the parameters that a class describes for all its methods."""
    notes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for method in methods:
        if not method.spelling.dict_form:
            for parameter in method.parameters:
                notes[parameter.name][parameter.note] += 1
    shared: dict[str, str] = {}
    for name, counted in sorted(notes.items()):
        text, count = max(counted.items(), key=lambda item: (item[1], item[0]))
        if count >= MIN_SHARED and text and "" not in counted:
            shared[name] = text
    return shared


def class_documentation(shared: Mapping[str, str]) -> list[str]:
    """The docstring's lines of a class that describes arguments for its methods."""
    if not shared:
        return []
    return ["Args, unless a method says otherwise:", *(f"    {name}: {text}" for name, text in shared.items())]


def documentation(method: Method, shared: Mapping[str, str], *, name_tag: bool) -> list[str]:
    """The docstring's lines of a method.

    Args:
        name_tag: whether to say the tool's exact name where the method is spelled otherwise.
    """
    lines = list(method.lines)
    tags = [f"[{tag}]" for tag in method.tags]
    spelling = method.spelling
    if name_tag and spelling.method is not None and spelling.method != spelling.name:
        tags.append(f"[name: {one_line(spelling.name)}]")
    if tags:
        first = lines[:1] if lines and lines[0] else []
        lines[:1] = [" ".join([*first, *tags])]
    parts: list[list[str]] = [lines] if lines else []
    if not spelling.dict_form:
        noted = [
            f"    {parameter.name}: {parameter.note}"
            for parameter in method.parameters
            if parameter.note and shared.get(parameter.name) != parameter.note
        ]
        if noted:
            parts.append(["Args:", *noted])
    if method.result_note:
        parts.append([f"Returns: {method.result_note}"])
    joined: list[str] = []
    for part in parts:
        joined += ["", *part] if joined else part
    return joined
