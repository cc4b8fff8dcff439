"""`tools`: how a program reaches the tools it was given.

- `tools.search`, `tools.github.create_issue`, `tools["exotic-name"]`, `tools["github.create_issue"]`,
  `tools.github["create_issue"]`, `name in tools`, `dir(tools)`, `hasattr`, iteration over names.
- The exact name wins, then the underscore spelling where it is unique. What neither is: AttributeError (KeyError in
  brackets) that names near ones.
- These objects are immutable and have no attribute but tools: the guard of the dialect asks `attribute` here for
  every name, so a tool called `keys`, `get` or `__class__` collides with nothing.
- Making one by hand (`type(tools)(...)`) is refused; it could do nothing but send a frame, yet it should not look as
  if it could.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportPrivateUsage=false
# The objects of a program keep their fields private to this room, and its functions read them.

from __future__ import annotations

import difflib
import json
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn, TypeVar

from codemode_guest import dialect
from codemode_guest._binding import bind
from codemode_guest._calls import Calls, ToolCallError, UnawaitedCall, program_line
from codemode_guest._json import encode_arguments

__all__ = ["BoundTool", "Namespace", "Tools", "make_tools"]

_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)
_N = TypeVar("_N", bound="Namespace")

_NEAR = 3
"""How many near names a message offers at most."""


class BoundTool:
    """One tool that can be called: `await tools.search(query="x")`."""

    __slots__ = ("_calls", "_name", "_parameters", "_shown", "_signature")

    _calls: Calls
    _name: tuple[str, bytes]
    _shown: str
    _parameters: tuple[str, ...]
    _signature: str

    def __new__(cls, *_args: object, **_kwargs: object) -> BoundTool:
        raise TypeError("a tool cannot be made in a program; use those of `tools`")

    def __call__(self, /, *args: object, **kwargs: object) -> UnawaitedCall:
        arguments = bind(self._shown, self._signature, self._parameters, args, kwargs)
        return self._calls.prepare(self._shown, self._name, encode_arguments(arguments, self._shown), program_line())

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{self._shown} is read-only; `{name}` cannot be set on a tool")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._shown} is read-only; `{name}` cannot be deleted from a tool")

    def __getitem__(self, _key: object) -> NoReturn:
        raise TypeError(f"{self._shown} is a tool: call it first, `await {self._shown}(...)`, then index the result")

    def __dir__(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return f"<tool {self._signature}>"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a tool cannot be copied")


class Namespace:
    """The tools of one namespace: `tools.github`."""

    __slots__ = ("_aliases", "_entries", "_listed", "_prefix", "_where")

    _where: str
    """How the program writes it: `tools.github`."""
    _prefix: str
    """What full names have in front: `github.`."""
    _entries: dict[str, BoundTool | Namespace]
    """By exact name."""
    _listed: dict[str, BoundTool | Namespace]
    """By the spelling that stub and `dir` show."""
    _aliases: dict[str, BoundTool | Namespace] | None
    """By underscore spelling, unique ones only; made when first needed."""

    def __new__(cls, *_args: object, **_kwargs: object) -> Namespace:
        raise TypeError("`tools` cannot be made in a program; use the one there is")

    def __getitem__(self, name: object) -> BoundTool | Namespace:
        found = _find(self, name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(_unknown(self, str(name)))
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _find(self, name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __dir__(self) -> list[str]:
        return sorted(self._listed)

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{self._where} is read-only; `{self._where}.{name}` cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._where} is read-only; `{self._where}.{name}` cannot be deleted")

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(f"{self._where} is no tool; call one of its tools: {_some(self)}")

    def __repr__(self) -> str:
        return f"<{self._where}: {_some(self)}>"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(f"{self._where} cannot be copied")


class Tools(Namespace):
    """All tools of a program: `tools`."""

    __slots__ = ()


def make_tools(specs: Sequence[Mapping[str, object]], calls: Calls) -> Tools:
    """Build `tools` from the `run` frame.

    Args:
        specs: one object a tool: `name` (full), `namespace` or None, `method` (the stub's spelling), `parameters` in
            the stub's order, `signature` (optional, for messages).
        calls: where calls go.

    Returns:
        The object that a program knows as `tools`.
    """
    tools = _empty(Tools, "tools", "")
    spaces = _namespaces(tools, specs)
    for spec in specs:
        name = str(spec["name"])
        home: Namespace = spaces.get(str(spec.get("namespace") or ""), tools)
        local = name.removeprefix(home._prefix)
        method = str(spec.get("method") or "")
        if not method.isidentifier() or keyword.iskeyword(method):
            method = ""
        shown = f"{home._where}.{method}" if method else f'{home._where}["{local}"]'
        tool = _bound(calls, name, shown, spec)
        home._entries[local] = tool
        home._listed[method or local] = tool
    return tools


def attribute(owner: Namespace, name: str) -> BoundTool | Namespace:
    """What `tools.<name>` is; for the guard of the dialect."""
    found = _find(owner, name)
    if found is None:
        raise AttributeError(_unknown(owner, name))
    return found


def tool_attribute(tool: BoundTool, name: str) -> object:
    """What `tools.search.<name>` is: its name, or nothing."""
    if name in ("__name__", "__qualname__"):
        return tool._name[0]
    if name == "__doc__":
        return tool._signature
    raise AttributeError(f"{tool._shown} is a tool and has no attribute '{name}'; call it: await {tool._shown}(...)")


def call_attribute(call: UnawaitedCall, name: str) -> NoReturn:
    """What `tools.search(...).<name>` is: an await that is missing."""
    where = "" if call._line is None else f" (line {call._line})"
    raise AttributeError(
        f"{call._shown}(...){where} was not awaited, so its result has no attribute '{name}' yet: "
        f"write `await {call._shown}(...)`"
    )


def _bound(calls: Calls, name: str, shown: str, spec: Mapping[str, object]) -> BoundTool:
    listed = spec.get("parameters")
    parameters = tuple(str(parameter) for parameter in listed) if isinstance(listed, (list, tuple)) else ()
    tool: BoundTool = object.__new__(BoundTool)
    put = object.__setattr__
    put(tool, "_calls", calls)
    put(tool, "_name", (name, json.dumps(name).encode("ascii")))
    put(tool, "_shown", shown)
    put(tool, "_parameters", parameters)
    put(tool, "_signature", str(spec.get("signature") or f"{shown}({', '.join(parameters)})"))
    return tool


def _empty(kind: type[_N], where: str, prefix: str) -> _N:
    space: _N = object.__new__(kind)
    put = object.__setattr__
    put(space, "_where", where)
    put(space, "_prefix", prefix)
    put(space, "_entries", {})
    put(space, "_listed", {})
    put(space, "_aliases", None)
    return space


def _namespaces(tools: Tools, specs: Sequence[Mapping[str, object]]) -> dict[str, Namespace]:
    """Make the namespaces; one is an attribute by its own name, or by its underscore spelling where that is free."""
    names = dict.fromkeys(str(spec["namespace"]) for spec in specs if spec.get("namespace"))
    taken = Counter(_NOT_IN_NAMES.sub("_", name) for name in names)
    taken.update(str(spec.get("method") or spec["name"]) for spec in specs if not spec.get("namespace"))
    spaces: dict[str, Namespace] = {}
    for name in names:
        spelled = _NOT_IN_NAMES.sub("_", name)
        free = spelled.isidentifier() and not keyword.iskeyword(spelled) and (spelled == name or taken[spelled] == 1)
        space = _empty(Namespace, f"tools.{spelled}" if free else f'tools["{name}"]', f"{name}.")
        tools._entries[name] = spaces[name] = space
        tools._listed[spelled if free else name] = space
    return spaces


def _find(owner: Namespace, name: str) -> BoundTool | Namespace | None:
    """By exact name, then by the stub's spelling, then (in `tools`) by full name, then by underscore spelling."""
    found = owner._entries.get(name) or owner._listed.get(name)
    if found is not None:
        return found
    aliases = owner._aliases
    if aliases is None:
        aliases = _spellings(owner)
        object.__setattr__(owner, "_aliases", aliases)
    return aliases.get(name)


def _spellings(owner: Namespace) -> dict[str, BoundTool | Namespace]:
    exact: dict[str, BoundTool | Namespace] = {}
    spelled: dict[str, BoundTool | Namespace | None] = {}
    for name, entry in owner._entries.items():
        inner = entry._entries.items() if isinstance(entry, Namespace) else ()
        for full, tool in ((name, entry), *((f"{name}.{local}", tool) for local, tool in inner)):
            exact.setdefault(full, tool)
            spelling = _NOT_IN_NAMES.sub("_", full)
            spelled[spelling] = None if spelling in spelled else tool
    return {name: tool for name, tool in spelled.items() if tool is not None} | exact


def _unknown(owner: Namespace, name: str) -> str:
    names = _all_names(owner)
    near = [names[match] for match in difflib.get_close_matches(name, names, n=_NEAR, cutoff=0.6)]
    kind = "no tool" if owner._where == "tools" else f"{owner._where} has no tool"
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}?" if near else f"there are: {_some(owner)}"
    return f"{kind} named '{name}'; {hint}"


def _all_names(owner: Namespace) -> dict[str, str]:
    """Every name that could have been meant, and how the program writes it."""
    names: dict[str, str] = {}
    for listing in (owner._entries, owner._listed):
        for name, entry in listing.items():
            if isinstance(entry, BoundTool):
                names.setdefault(name, entry._shown)
            else:
                names.setdefault(name, entry._where)
                for inner, tool in entry._entries.items():
                    shown = tool._shown if isinstance(tool, BoundTool) else tool._where
                    names.setdefault(inner, shown)
                    names.setdefault(f"{name}.{inner}", shown)
    return names


def _some(owner: Namespace) -> str:
    """A few of the names, for a message that must stay short."""
    names = sorted(owner._listed)
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") if names else "none"


dialect.allow_type(Tools, None, getattr=attribute)
dialect.allow_type(Namespace, None, getattr=attribute)
dialect.allow_type(BoundTool, None, getattr=tool_attribute)
dialect.allow_type(UnawaitedCall, None, getattr=call_attribute)
dialect.allow_type(ToolCallError, ("name", "tool_name", "message", "args", "add_note"))
