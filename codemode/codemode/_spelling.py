"""What a program is given: the visible tools with the spelling of their stubs, so that stub and binding agree.

Spelling a tool means reading its schema, which is the same for every run over the same tools; so the last few sets are
kept. Without tools there is nothing to spell, and what reads schemas is not loaded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from codemode_bridge import VisibleTool, VisibleTools
from codemode_registry import Tool

__all__ = ["visible_tools"]

_KEPT = 16
"""Sets of tools: one a scope that is in use, with room for changes."""

_NOTHING = VisibleTools(())

_known: OrderedDict[tuple[int, ...], tuple[tuple[Tool, ...], VisibleTools]] = OrderedDict()
_lock = threading.Lock()


def visible_tools(tools: Sequence[Tool]) -> VisibleTools:
    """Spell each tool as its stub does, in the order given."""
    if not tools:
        return _NOTHING
    key = tuple(map(id, tools))
    with _lock:
        known = _known.get(key)
        if known is not None:
            _known.move_to_end(key)
            return known[1]
    from codemode_stubs import method_spellings, signature

    spelled = VisibleTools(
        VisibleTool(
            name=tool.full_name,
            namespace=tool.namespace,
            method=spelling.method or "",
            parameters=spelling.parameters,
            signature=signature(tool),
        )
        for tool, spelling in zip(tools, method_spellings(tools), strict=True)
    )
    with _lock:
        _known[key] = (tuple(tools), spelled)  # the tools are held, so that their ids stay theirs
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return spelled
