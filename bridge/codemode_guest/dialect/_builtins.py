"""The built-in names of a program.

Everything that `sandbox.md` does not refuse is there: real where it is harmless, guarded where it would read, write or
make attributes and classes.  `__import__` is what C code of the interpreter calls from a program's frame
(`datetime.strptime` imports `_strptime`); a program can neither spell nor reach it.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ._facade import own_name
from ._guards import dynamic_getattr, dynamic_hasattr
from ._magic import guarded_super
from ._names import words
from ._types_seen import TYPE
from ._writes import dynamic_delattr, dynamic_setattr, program_dir, program_vars

if TYPE_CHECKING:
    from .modules import Imports

_PLAIN: Final = words(
    """
    bool int float complex str bytes bytearray list tuple dict set frozenset range slice object enumerate zip map filter
    reversed sorted sum min max any all len abs round divmod pow repr ascii chr ord bin hex oct format isinstance
    issubclass callable iter next aiter anext hash id property staticmethod classmethod NotImplemented Ellipsis
    """
)
_GUARDED: Final[dict[str, Any]] = {
    "getattr": dynamic_getattr,
    "setattr": dynamic_setattr,
    "delattr": dynamic_delattr,
    "hasattr": dynamic_hasattr,
    "vars": program_vars,
    "dir": program_dir,
    "type": TYPE,
    "super": guarded_super,
}
_INTERNAL_IMPORTS: Final = words(
    "time _strptime datetime _datetime warnings collections.abc unicodedata operator numbers zoneinfo "
    "zoneinfo._common zoneinfo._tzpath encodings locale copyreg decimal _pydatetime calendar re types"
)


def internal_import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: tuple[str, ...] = (),
    level: int = 0,
) -> Any:
    """Give the interpreter's own C code a module that is loaded already."""
    module = sys.modules.get(name) if name in _INTERNAL_IMPORTS else None
    if module is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return module


def _shared() -> dict[str, Any]:
    names: dict[str, Any] = {name: getattr(builtins, name) for name in _PLAIN}
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            names[name] = value
    for name, value in _GUARDED.items():
        own_name(name, value)
    names.update(_GUARDED)
    names.update({"None": None, "True": True, "False": False, "__debug__": True})
    names["__build_class__"] = builtins.__build_class__
    names["__import__"] = internal_import
    return names


SHARED_BUILTINS: Final = _shared()
"""The built-ins that every run shares; nothing in them can be changed by a program."""


def run_builtins(imports: Imports) -> dict[str, Any]:
    """The built-ins that belong to one run."""
    own_name("print", imports.output.print)
    return {"print": imports.output.print}
