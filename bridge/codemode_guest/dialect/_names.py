"""Which names a program may spell, as tables.

Rules of this module: data only, no behaviour beyond set membership.  Everything that refuses or allows a *name* reads
it from here; what a *type* allows stands in `_policy`.

Hook names and temporaries are no identifiers (they contain `<`), so no construct of a program can bind, shadow or read
one: not an argument, an alias, a capture, a global or a walrus.
"""

from __future__ import annotations

import re
from typing import Final

PROGRAM_FILENAME: Final = "<program>"
"""`co_filename` of every frame of a program."""

MAIN_NAME: Final = "<main>"
"""The name of the one function that a compiled program defines."""


def words(text: str) -> frozenset[str]:
    """Split a table written as text into a set of names."""
    return frozenset(text.split())


HOOKS: Final = words(
    """
    <getattr> <write> <import> <from> <super> <class> <type-of> <last> <catch> <catch-star> <match-sequence>
    <match-mapping> <match-class> <isinstance> <type-stand-in> <async-run>
    """
)
"""Every global that generated code may call."""

CLASS_MAGIC: Final = words(
    """
    __init__ __post_init__ __repr__ __str__ __bytes__ __format__ __bool__ __len__ __length_hint__ __contains__
    __iter__ __next__ __reversed__ __getitem__ __setitem__ __delitem__ __missing__ __call__ __hash__
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__
    __and__ __or__ __xor__ __lshift__ __rshift__
    __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ __rpow__
    __rand__ __ror__ __rxor__ __rlshift__ __rrshift__
    __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__
    __iand__ __ior__ __ixor__ __ilshift__ __irshift__
    __neg__ __pos__ __abs__ __invert__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__ __ceil__
    __enter__ __exit__ __aenter__ __aexit__ __aiter__ __anext__
    """
)
"""The special methods that a class of a program may define, and that may be called by name on it."""

CLASS_SETTINGS: Final = words("__slots__ __match_args__")
"""Special names that a class body may assign, besides `CLASS_MAGIC`."""

CLASS_BOOKKEEPING: Final = words(
    """
    __module__ __qualname__ __doc__ __classcell__ __annotations__ __static_attributes__ __firstlineno__
    __classdictcell__ __orig_bases__ __annotate__ __annotate_func__ __conditional_annotations__ __type_params__
    """
)
"""What CPython itself puts into a class namespace."""

ENUM_SETTINGS: Final = words("_missing_ _generate_next_value_ _ignore_ _order_ _value_ _name_")
"""Names of the `_x_` form that the enum protocol gives a meaning."""

ENUM_READABLE: Final = ENUM_SETTINGS - {"_generate_next_value_"}
"""Those of them that may be read from an enum or its members."""

DATA_MAGIC: Final = CLASS_MAGIC - words("__init__ __post_init__ __call__ __enter__ __exit__ __aenter__ __aexit__")
"""Operators that may be called by name on plain data (`d.__getitem__` as a sort key)."""

OBJECT_MAGIC: Final = words("__init__ __repr__ __str__ __eq__ __ne__ __hash__ __format__ __lt__ __le__ __gt__ __ge__")
"""What `object` itself offers to `super()` and to an explicit `object.__repr__(self)`."""

READ_MAGIC: Final = words(
    """
    __name__ __qualname__ __doc__ __module__ __class__ __dict__ __cause__ __context__ __suppress_context__ __notes__
    __members__ __match_args__ __setattr__
    """
)
"""Special attributes that may be read; by `_guards.read_magic` only, each with its own rule."""

FRAME_NAMES: Final = words(
    """
    tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_globals f_locals f_trace f_lasti f_lineno
    f_trace_lines f_trace_opcodes f_generator co_code gi_frame gi_code gi_yieldfrom gi_running gi_suspended
    cr_await cr_frame cr_code cr_origin cr_running cr_suspended ag_await ag_frame ag_code ag_running ag_suspended
    func_code func_globals func_closure im_func im_self im_class
    """
)
"""Names that only the interpreter's own frames, tracebacks and code objects have: refused while compiling."""

REFUSED_MAGIC: Final = {
    "__new__": "set the fields in __init__, or write a classmethod that builds the object",
    "__del__": "use a `with` block, or `try: ... finally: ...`",
    "__getattr__": "keep the values in a dict and read them with obj[key] or a method",
    "__getattribute__": "write ordinary properties",
    "__setattr__": "use a property with a setter",
    "__delattr__": "write a method that removes the value",
    "__get__": "use @property or a method",
    "__set__": "use a property with a setter",
    "__delete__": "use a property with a deleter",
    "__set_name__": "use @property or a method",
    "__init_subclass__": "use a class decorator",
    "__class_getitem__": "inherit from typing.Generic",
    "__await__": "write an `async def` method and await its call",
    "__reduce__": "use dataclasses.asdict, or a method that returns plain data",
    "__reduce_ex__": "use dataclasses.asdict, or a method that returns plain data",
    "__getstate__": "write a method that returns plain data",
    "__setstate__": "write a classmethod that builds the object",
    "__copy__": "write a method that builds the copy",
    "__deepcopy__": "write a method that builds the copy",
    "__prepare__": "metaclasses are not available: use a class decorator",
    "__instancecheck__": "metaclasses are not available: write a function that checks",
    "__subclasscheck__": "metaclasses are not available: write a function that checks",
    "__subclasshook__": "write a function that checks",
    "__mro_entries__": "name the base classes themselves",
}
"""Special methods that a program may not define -> what to do instead."""

REFUSED_BUILTINS: Final = {
    "eval": "use json.loads or ast.literal_eval for data, and ordinary code for the rest",
    "exec": "write the code in the program itself",
    "compile": "write the code in the program itself",
    "open": "there is no file system: use a tool, or io.StringIO for text in memory",
    "input": "there is nobody to ask: put the value into the program, or use a tool",
    "globals": "use ordinary variables, or a dict of your own",
    "locals": "use ordinary variables, or a dict of your own",
    "breakpoint": "use print",
    "memoryview": "use bytes or bytearray slices",
    "help": "the stubs of the tools are in the instructions",
    "exit": "use `return`",
    "quit": "use `return`",
    "__import__": "write an import statement",
    "__builtins__": "use the built-in functions by their names",
    "__loader__": "write an import statement",
    "__spec__": "write an import statement",
    "__file__": "a program has no file",
    "reload": "each run starts fresh",
    "unicode": "use str",
    "raw_input": "there is nobody to ask: put the value into the program, or use a tool",
}
"""Built-in names that are refused while compiling (unless the program binds them itself) -> what to use instead."""

_RESERVED = re.compile(r"_[a-z][a-zA-Z0-9_]*_|_print")


def is_dunder(name: str) -> bool:
    """Whether the name has the form that Python reserves for itself (`__x__`)."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_reserved(name: str) -> bool:
    """Whether the name has the `_x_` form of guards (`_getattr_`, `_print_`), which no program may bind or read."""
    return name.endswith("__roles__") or (not name.startswith("__") and _RESERVED.fullmatch(name) is not None)


def mangle(name: str, class_name: str | None) -> str:
    """Return what the compiler makes of a private name (`__x`) inside a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name
