"""JSON as the registry holds it: copied once, checked, and frozen to the bottom.

Rules
- `freeze` is the ONE way in: arguments, canonical values, content, contexts, metadata and event data all pass it.
- Accepted: None, bool, int (exact at any size), finite float (-0.0 included), str, list, dict with str keys, and frozen
  JSON itself. With `loose=True` (arguments that a host passes) tuples and mappings too, as lists and objects.
  Everything else is refused with its path and type: NaN, infinities, bytes, sets, enums, subclasses, other keys,
  cycles, depth over 500.
- The fast path does not build paths. When it refuses, `_locate` walks once more to find the first offence and names it.
- A frozen container IS a dict or a list, so `==`, `json.dumps`, pydantic and jsonschema-rs take it as it is; only its
  mutators raise. Freezing what is frozen already is free.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportPrivateUsage=false
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, SupportsIndex, TypeAlias, cast

from ._errors import CodeModeError

if TYPE_CHECKING:
    JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
else:

    class _AnyJson:
        """Makes pydantic take an annotation as its own `JsonValue`: a recursive alias of ours could not be resolved
        where a tool names it, and importing pydantic's would load pydantic for hosts that have no typed tool."""

        def __get_pydantic_core_schema__(self, source: object, handler: Any) -> Any:
            from pydantic import JsonValue

            return handler.generate_schema(JsonValue)

        def __repr__(self) -> str:
            return "JsonValue"

    JsonValue = Annotated[Any, _AnyJson()]

MAX_DEPTH = 500
"""Containers inside containers. Python stands 1,000 frames; json.dumps and jsonschema-rs stand this depth too."""

_PLAIN = frozenset({str, int, bool, type(None)})
_FLAT = _PLAIN | {float}


def _frozen(*_: object, **__: object) -> NoReturn:
    raise TypeError("this JSON value is frozen; copy it first (codemode_registry.thaw)")


class FrozenList(list[Any]):
    """A list that never changes."""

    __slots__ = ("_levels", "_text")
    _levels: int
    """How deep it is, where that is known: on what `freeze` gave out, so that passing it on costs nothing."""
    _text: str
    """Its JSON text, where `json_text` wrote it: what never changes need not be written twice."""

    append = clear = extend = insert = pop = remove = reverse = sort = _frozen
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _frozen

    def copy(self) -> list[Any]:
        """A shallow, plain copy."""
        return list(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return cast("list[Any]", thaw(self))

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (freeze, (thaw(self),))


class FrozenDict(dict[str, Any]):
    """A dict that never changes."""

    __slots__ = ("_levels", "_text")
    _levels: int
    _text: str

    clear = pop = popitem = setdefault = update = _frozen
    __setitem__ = __delitem__ = __ior__ = _frozen

    def copy(self) -> dict[str, Any]:
        """A shallow, plain copy."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return cast("dict[str, Any]", thaw(self))

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return (freeze, (thaw(self),))


class NotJsonError(CodeModeError, TypeError):
    """A value that is not JSON. `path` is where ("" for the root), `reason` what is wrong there."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path or 'the value'}: {reason}")
        self.path = path
        self.reason = reason


class _Refused(Exception):
    """Internal: the fast path met something that is not JSON."""


def freeze(value: object, *, loose: bool = False, levels: int = MAX_DEPTH) -> Any:
    """A deep-frozen copy of a JSON value, detached from its source.

    Args:
        value: Any object.
        loose: Take tuples as lists and any mapping as an object.
        levels: Containers that may stand in one another.

    Raises:
        NotJsonError: the value is not JSON; it names the path and the type.
    """
    kind = type(value)
    if kind in _PLAIN or kind is FrozenDict or kind is FrozenList:
        return value
    try:
        if kind is float:
            return _finite(value)
        return _copy(value, loose, levels)
    except _Refused:
        pass
    except Exception as error:  # a hostile mapping, or one that another thread changes under our hands
        raise NotJsonError("", f"cannot be read: {type(error).__name__}: {error}") from error
    raise _locate(value, loose, levels)


def json_text(value: Any) -> str:
    """The compact JSON text of a frozen value; that of a container is kept with it.

    Raises:
        ValueError: an integer of more digits than Python's own text conversion takes.
    """
    known = known_text(value)
    if known is not None:
        return known
    text = _compact(value)
    if type(value) is FrozenDict or type(value) is FrozenList:
        value._text = text
    return text


def known_text(value: object) -> str | None:
    """The JSON text of a frozen container, if `json_text` has written it."""
    if type(value) is FrozenDict or type(value) is FrozenList:
        text: str | None = getattr(value, "_text", None)
        return text
    return None


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode


def _finite(value: Any) -> Any:
    if isfinite(value):
        return value
    raise _Refused


def _copy(root: Any, loose: bool, levels: int) -> Any:
    """The frozen copy of a container. Depth first and iterative: neither the caller's stack nor the depth matters.

    A copy starts as a shallow one; while it is filled, its frame on the stack holds what is left to look at.
    """
    top = _shallow(root, type(root), loose)
    top._levels = 1
    if _is_flat(top):
        return top
    # What a copy is made of is not garbage, and a collector that looks at a growing copy again and again takes a third
    # of the time. Collecting begins anew when the copy is there.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _filled(root, top, loose, levels)
    finally:
        if collecting:
            gc.enable()


def _filled(root: Any, top: Any, loose: bool, levels: int) -> Any:
    active = {id(root)}
    stack: list[tuple[Any, Any, Any, Any]] = [(root, top, *_filling(top))]
    depth = deepest = 1
    plain = _PLAIN  # local names: this loop sees every item of every value
    while stack:
        source, target, put, items = stack[-1]
        for key, item in items:
            kind = type(item)
            if kind in plain:
                continue
            if kind is float:
                if isfinite(item):
                    continue
                raise _Refused
            if kind is list:  # as `_shallow` does, without the call: most containers are small lists and dicts
                child: Any = FrozenList(item)
            elif kind is dict:
                child = FrozenDict(item)
                for name in child:
                    if type(name) is not str:
                        raise _Refused
            elif kind is FrozenDict or kind is FrozenList:
                deepest = max(deepest, depth + _depth(item))
                if deepest > levels:
                    raise _Refused
                continue
            else:
                child = _shallow(item, kind, loose)
            if depth >= levels:
                raise _Refused
            put(target, key, child)
            if depth >= deepest:
                deepest = depth + 1
            if _is_flat(child):
                continue
            if id(item) in active:
                raise _Refused
            active.add(id(item))
            stack.append((item, child, *_filling(child)))
            depth += 1
            break
        else:
            stack.pop()
            depth -= 1
            active.discard(id(source))
    top._levels = deepest
    return top


def _shallow(value: Any, kind: type, loose: bool) -> FrozenDict | FrozenList:
    """A frozen copy of one container, its items as they are. Keys are checked, items are not."""
    if kind is dict:
        copy = FrozenDict(value)
    elif kind is list:
        return FrozenList(value)
    elif not loose:
        raise _Refused
    elif isinstance(value, (tuple, list)):
        return FrozenList(value)
    elif isinstance(value, Mapping):
        copy = FrozenDict({**value})
    else:
        raise _Refused
    for key in copy:
        if type(key) is not str:
            raise _Refused
    return copy


_SMALL = 12
"""Items up to which a loop beats `map` over a set; measured on CPython 3.11."""


def _is_flat(copy: FrozenDict | FrozenList) -> bool:
    """Whether nothing in it needs a look: no floats (which may be NaN) and no containers."""
    leaves: Any = copy.values() if type(copy) is FrozenDict else copy
    if len(copy) > _SMALL:
        return _PLAIN.issuperset(map(type, leaves))
    for leaf in leaves:  # noqa: SIM110 - a generator would cost more than the loop
        if type(leaf) not in _PLAIN:
            return False
    return True


def _filling(copy: FrozenDict | FrozenList) -> tuple[Any, Any]:
    """(how to replace an item of it, the items to look at). Replacing keeps keys and size, so iterating may go on."""
    if type(copy) is FrozenDict:
        return dict.__setitem__, iter(copy.items())
    return list.__setitem__, enumerate(copy)


def _depth(value: object) -> int:
    """How many containers deep a frozen value is; a leaf is 0."""
    known: int | None = getattr(value, "_levels", None)
    if known is not None:
        return known
    deepest = 0
    stack: list[tuple[object, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if type(item) is FrozenDict:
            children: Iterable[object] = item.values()
        elif type(item) is FrozenList:
            children = item
        else:
            continue
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children if type(child) not in _FLAT)
    return deepest


def thaw(value: object) -> Any:
    """A plain, deep copy (dict and list) of a frozen JSON value; the caller may change it."""
    top = _plain(value)
    stack: list[Any] = [top]
    while stack:
        node = stack.pop()
        for key, item in node.items() if type(node) is dict else enumerate(node) if type(node) is list else ():
            if type(item) not in _FLAT:
                node[key] = child = _plain(item)
                stack.append(child)
    return top


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {**value}
    if isinstance(value, list):
        return [*value]
    return value


def join_path(path: str, key: str | int) -> str:
    """One step further down a path, as a model reads it: `rows[0].name`, `rows["odd key"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not key.isidentifier():
        return f"{path}[{shown_string(key)}]"
    return f"{path}.{key}" if path else key


def shown_string(text: str, limit: int = 80) -> str:
    """A string in JSON spelling, shortened in the middle where it is long."""
    if len(text) > limit:
        text = text[: limit - 20] + "…" + text[-10:]
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


_HINTS = {
    "tuple": "use a list",
    "set": "use a sorted list",
    "frozenset": "use a sorted list",
    "bytes": "decode it, or send base64 text",
    "bytearray": "decode it, or send base64 text",
    "datetime": "use .isoformat()",
    "date": "use .isoformat()",
    "time": "use .isoformat()",
    "Decimal": "use str() or float()",
    "UUID": "use str()",
    "Path": "use str()",
    "PosixPath": "use str()",
    "coroutine": "await it",
}


def _reason(value: object) -> str:
    if type(value) is float:
        return f"{value} is not JSON (no NaN and no infinities)"
    kind = type(value).__name__
    hint = _HINTS.get(kind)
    return f"a {kind} is not JSON" + (f" ({hint})" if hint else "")


def _locate(root: object, loose: bool, levels: int) -> NotJsonError:
    """The first offence in a value that the fast path refused. Iterative: the value may be as deep as it likes."""
    stack: list[tuple[object, str, frozenset[int], int]] = [(root, "", frozenset(), 1)]
    while stack:
        value, path, above, depth = stack.pop()
        kind = type(value)
        if kind in _PLAIN or (kind is float and isfinite(cast("float", value))):
            continue
        container = kind in (dict, list, FrozenDict, FrozenList)
        if loose and not container:
            container = isinstance(value, (tuple, list, Mapping))
        if not container:
            return NotJsonError(path, _reason(value))
        if id(value) in above:
            return NotJsonError(path, "contains itself")
        if depth > levels:
            return NotJsonError(path[:60] + "…", f"is nested deeper than {levels} levels")
        inside = above | {id(value)}
        steps: list[tuple[str | int, object]]
        if isinstance(value, Mapping):
            steps = []
            for key, item in cast("Mapping[Any, object]", value).items():
                if type(key) is not str:
                    return NotJsonError(path, f"the key {key!r:.60} is a {type(key).__name__}; keys are strings")
                steps.append((key, item))
        else:
            steps = list(enumerate(cast("list[object]", value)))
        stack.extend((item, join_path(path, key), inside, depth + 1) for key, item in reversed(steps))
    return NotJsonError("", "is not JSON")
