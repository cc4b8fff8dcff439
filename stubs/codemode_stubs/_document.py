"""One tool's schema as a document: where its references lead, and what two references have in common.

What lives here: resolution of `$ref`, `$dynamicRef` and `$recursiveRef` inside one schema document (pointers, anchors,
embedded `$id`s). What must not: types. No reference ever opens a file or a connection: what is not in the document
does not exist.

Identity of a target: its text together with the text of everything it refers to. Two tools that both carry the same
`$defs` thus share one Python type, and two that use one name for different things do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""Keywords that lead to another place of the document."""
#: Deepest place that is searched for anchors and references: beyond the 200 levels that a registry accepts.
_DEPTH = 400


#: Most schema nodes that are read for one document. Real tools have hundreds (the largest known: 3,000); references can
#: be nested so that a short text unfolds into more nodes than anybody has time for.
MAX_STEPS = 20_000


class Document:
    """A root schema and its references."""

    __slots__ = ("_anchors", "_identities", "_reach", "_resolved", "root", "steps")

    def __init__(self, root: object) -> None:
        self.root = root
        self.steps = 0
        """How much work this document has caused: see `spend`."""
        self._anchors: dict[str, object] | None = None
        self._resolved: dict[str, object] = {}
        self._reach: dict[str, tuple[str, frozenset[str]]] = {}
        self._identities: dict[str, tuple[tuple[str, str], ...]] = {}

    def spend(self) -> bool:
        """Counts one step of work; False once a document has had its share and the rest of it is to be `Any`."""
        self.steps += 1
        return self.steps <= MAX_STEPS

    def resolve(self, reference: str) -> object:
        """The schema that a reference leads to, or None."""
        if reference not in self._resolved:
            self._resolved[reference] = self._find(reference)
        return self._resolved[reference]

    def identity(self, reference: str) -> tuple[object, ...]:
        """A key that is equal for targets that mean the same, in this document or in another one."""
        if reference not in self._identities:
            reached: dict[str, str] = {}
            waiting = [reference]
            while waiting:
                name = waiting.pop()
                if name not in reached:
                    if name not in self._reach:
                        target = self.resolve(name)
                        self._reach[name] = (_text(target), frozenset(_references(target)))
                    reached[name] = self._reach[name][0]
                    waiting.extend(self._reach[name][1])
            self._identities[reference] = tuple(sorted(reached.items()))
        return (reference, self._identities[reference])

    def _find(self, reference: str) -> object:
        if reference.startswith("#/") or reference == "#":
            return _pointer(self.root, reference[1:])
        if self._anchors is None:
            self._anchors = dict(_anchors(self.root))
        if reference in self._anchors:
            return self._anchors[reference]
        base, _, fragment = reference.partition("#")
        target = self._anchors.get(base)
        if fragment.startswith("/"):
            return _pointer(target, fragment)
        return target if not fragment else None


def _pointer(value: object, pointer: str) -> object:
    for raw in pointer.split("/")[1:]:
        token = unquote(raw).replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = cast("Mapping[str, object]", value).get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(cast("list[object]", value)):
            value = cast("list[object]", value)[int(token)]
        else:
            return None
    return value


def _walk(value: object) -> Iterator[Mapping[str, Any]]:
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > _DEPTH:
            continue
        if isinstance(item, Mapping):
            mapping = cast("Mapping[str, Any]", item)
            yield mapping
            waiting.extend((child, depth + 1) for child in mapping.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend((child, depth + 1) for child in cast("list[object]", item))


def _references(value: object) -> Iterator[str]:
    for mapping in _walk(value):
        for keyword in REFERENCES:
            reference = mapping.get(keyword)
            if isinstance(reference, str):
                yield reference


def _anchors(root: object) -> Iterator[tuple[str, object]]:
    for mapping in _walk(root):
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(mapping.get(keyword), str):
                yield "#" + mapping[keyword], mapping
        for keyword in ("$id", "id"):
            name = mapping.get(keyword)
            if isinstance(name, str):
                yield name, mapping
                if not name.startswith("#"):
                    yield name.rstrip("#"), mapping


def _text(value: object) -> str:
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return f"unreadable {id(value)}"
