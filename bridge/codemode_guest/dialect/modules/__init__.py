"""The modules that programs may import, each as a facade over an explicit list of names.

One file per family.  Most facades are immutable and shared by all runs of a process; those that hold something of one
run (its random numbers, its text) are made when that run first imports them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from .._facade import facade_class, make_facade
from .._messages import module_attribute
from .._names import words
from .._tables import GETTERS, TABLE
from . import (
    _concurrent,
    _declaring,
    _errors,
    _identity,
    _logging,
    _numeric,
    _structures,
    _surroundings,
    _textual,
    _timing,
)
from ._numeric import RANDOM_NAMES, random_members
from ._output import Output, Target
from ._pick import Members

_FAMILIES: Final = (_numeric, _structures, _textual, _timing, _identity, _concurrent, _declaring, _surroundings)

_RUN_NAMES: Final[dict[str, frozenset[str]]] = {
    "random": RANDOM_NAMES,
    "sys": _surroundings.SYS_NAMES,
    "logging": _logging.NAMES,
    "pprint": words("pformat pprint pp"),
    "traceback": words(
        "format_exc format_exception format_exception_only print_exc print_exception format_tb print_tb"
    ),
    "contextlib": frozenset([*_concurrent.CONTEXTLIB, "redirect_stdout", "redirect_stderr"]),
}
"""Modules that are made for each run -> their names."""


def _shared_facades() -> dict[str, Any]:
    members: dict[str, Members] = {}
    for family in _FAMILIES:
        members.update(family.modules())
    made: dict[str, Any] = {}
    for name in sorted(members, key=lambda each: -each.count(".")):
        own = dict(members[name])
        for other, facade in made.items():
            parent, _, child = other.rpartition(".")
            if parent == name:
                own[child] = facade
        made[name] = make_facade(facade_class(name, frozenset(own)), own)
    return made


_SHARED: Final = _shared_facades()
_RUN_CLASSES: Final = {name: facade_class(name, names) for name, names in _RUN_NAMES.items()}

MODULES: Final[Mapping[str, frozenset[str]]] = {
    **{name: TABLE[type(facade)] for name, facade in sorted(_SHARED.items())},
    **_RUN_NAMES,
}
"""Listed modules -> the names that a program may use of them."""


def shared_members() -> list[Any]:
    """All that the shared facades hold."""
    return [getattr(facade, name) for facade in _SHARED.values() for name in TABLE[type(facade)]]


REAL_MODULES: Final = (*MODULES, "codecs", "_strptime", "posixpath", "contextlib", "weakref", "enum", "inspect")
"""The host modules behind the facades, where the search for host names starts."""


class Imports:
    """The imports of one run: the `<import>` and `<from>` hooks."""

    def __init__(self, stdout: Target, *, tools: object, tool_call_error: type[Exception]) -> None:
        self.output = Output(stdout)
        self._tools = tools
        self._tool_call_error = tool_call_error
        self._made: dict[str, Any] = {}

    def module(self, name: str) -> Any:
        """`import name`."""
        found = _SHARED.get(name)
        if found is None:
            found = self._made.get(name)
        if found is None:
            found = self._own(name)
        return found

    def _own(self, name: str) -> Any:
        if name in ("tools", "codemode"):
            return self._tools
        members = self._members(name)
        if members is None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        made = self._made[name] = make_facade(_RUN_CLASSES[name], members)
        return made

    def _members(self, name: str) -> Members | None:
        output = self.output
        makers: dict[str, Callable[[], Members]] = {
            "random": random_members,
            "sys": lambda: _surroundings.sys_members(output),
            "logging": lambda: _logging.members(output),
            "pprint": lambda: {"pformat": output.pformat, "pprint": output.pprint, "pp": output.pp},
            "traceback": lambda: _errors.members(output),
            "contextlib": lambda: {
                **_concurrent.CONTEXTLIB,
                "redirect_stdout": output.redirect,
                "redirect_stderr": output.redirect_errors,
            },
        }
        maker = makers.get(name)
        return None if maker is None else maker()

    def member(self, module: str, name: str) -> Any:
        """`from module import name`."""
        if module in ("tools", "codemode"):
            return self._from_tools(module, name)
        found = self.module(module)
        if name in TABLE[type(found)]:
            return getattr(found, name)
        inner = _SHARED.get(f"{module}.{name}")
        if inner is not None:
            return inner
        raise ImportError(
            f"cannot import name '{name}' from '{module}': {module_attribute(module, name, MODULES[module])}",
            name=module,
        )

    def _from_tools(self, module: str, name: str) -> Any:
        if name == "ToolCallError":
            return self._tool_call_error
        if name == "tools":
            return self._tools
        getter = GETTERS.get(type(self._tools), getattr)
        try:
            return getter(self._tools, name)
        except AttributeError as error:
            raise ImportError(f"cannot import name '{name}' from '{module}': {error}", name=module) from None


def preload() -> None:
    """Load what listed functions import or read lazily, so that it is there after the seal."""
    import codecs

    from .._direct import common_names, host_names, learn, mutable_names

    for encoding in _ENCODINGS.split():
        try:
            codecs.lookup(encoding)
        except LookupError:
            continue
    _timing.preload_zones()
    _concurrent.hide_paths()
    if sys.platform == "linux":
        learn()
    common_names()
    host_names()
    mutable_names()


_ENCODINGS: Final = """
ascii utf_8 utf_8_sig utf_7 utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be latin_1 iso8859_2
iso8859_5 iso8859_7 iso8859_9 iso8859_15 cp437 cp850 cp1250 cp1251 cp1252 cp1253 cp1254 cp1257 koi8_r koi8_u mac_roman
idna punycode unicode_escape raw_unicode_escape"""
"""Encodings that programs may use; the others are LookupErrors in a sealed child."""
