"""The stub module that a program is checked against, and what its class names stand for.

What lives here: `CheckStub`, rendered once for a set of tools. It has every form of a call as an overload; for words
that explain a wrong call there are two more modules, with one form each, rendered only when they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._owners import Owner
from ._render import Forms, Module
from ._signature import signature
from ._tool import ToolLike, tool_key

#: What the frame around a program imports besides the tools: a `print` and a result that mind a forgotten await.
_EXTRA = """
from collections.abc import Coroutine as __Coroutine
from types import CoroutineType as __CoroutineType
from typing import Any as __Any, TypeAlias as __TypeAlias
from ty_extensions import Not as __Not
__NotCall: __TypeAlias = __Not[__CoroutineType[__Any, __Any, __Any]]
def print(*values: __NotCall, sep: __Any = " ", end: __Any = "", file: __Any = None, flush: __Any = False) -> None: ...
"""


class CheckStub:
    """One set of tools, in any order, ready to be checked against."""

    def __init__(self, tools: Sequence[ToolLike]) -> None:
        self._tools = sorted(tools, key=tool_key)
        self._texts: dict[Forms, str] = {}
        module = Module(self._tools, "check")
        self._texts["all"] = module.text() + _EXTRA
        self.owners: dict[str, Owner] = module.owners()
        self._by_path = module.paths()
        self._signatures: dict[str, str] = {}

    def text(self, forms: Forms) -> str:
        """The module's text with some forms of calls."""
        if forms not in self._texts:
            self._texts[forms] = Module(self._tools, "check", forms).text() + _EXTRA
        return self._texts[forms]

    def signature(self, path: str) -> str | None:
        """The one-line signature of what a program spells `path`, `tools.search`; made when it is asked for."""
        tool = self._by_path.get(path)
        if tool is None:
            return None
        if path not in self._signatures:
            self._signatures[path] = signature(tool)
        return self._signatures[path]
