"""What a program can reach, crawled for the running Python: no object without a row, no attribute past the table."""

# ruff: noqa: E501
from __future__ import annotations

import functools
import importlib
import types
from typing import Any

from codemode_guest.dialect import MODULES as LISTED
from codemode_guest.dialect import allow_type, compile_program, make_globals
from codemode_guest.dialect._builtins import SHARED_BUILTINS
from codemode_guest.dialect._direct import (
    common_names,
    forget,
    host_names,
    instance_names,
    is_direct,
    is_foreign,
)
from codemode_guest.dialect._facade import FACADES
from codemode_guest.dialect._guards import guarded_getattr
from codemode_guest.dialect._names import CLASS_MAGIC, FRAME_NAMES, READ_MAGIC
from codemode_guest.dialect._policy import CLASS_NAMES, POLICY
from codemode_guest.dialect._tables import OVERRIDES, TABLE
from codemode_guest.dialect.modules import MODULES, Imports
from tests.dialect.driver import Text, ToolCallError, Tools

FORBIDDEN = (
    types.ModuleType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.CellType,
    types.MappingProxyType,
)


def _facades() -> list[Any]:
    imports = Imports(Text(), tools=Tools(), tool_call_error=ToolCallError)
    return [imports.module(name) for name in MODULES if name not in ("tools", "codemode")]


def _samples() -> list[Any]:
    """Objects that a program can make without calling anything dangerous."""
    program = compile_program(
        "import re, csv, io, datetime, decimal, fractions, uuid, collections, zoneinfo, hashlib, random, asyncio\n"
        "def g(): yield 1\nasync def ag(): yield 1\nasync def co(): pass\nc = co(); c.close()\n"
        "class A:\n    def m(self): pass\n"
        "try: 1 / 0\nexcept Exception as e: err = e\n"
        "return [re.compile('(?P<a>.)'), re.match('a', 'a'), csv.reader([]), io.StringIO(), datetime.datetime.now(),\n"
        "  decimal.Decimal(1), decimal.getcontext(), fractions.Fraction(1), uuid.uuid4(), collections.Counter('a'),\n"
        "  collections.deque(), collections.OrderedDict(), hashlib.sha256(), random.Random(1), g(), ag(), c, A, A(), A().m,\n"
        "  err, {}.items(), {}.keys(), iter([]), map(str, []), lambda: 0, len, str, asyncio.Lock(), asyncio.Queue(), range(3),\n"
        "  1, 1.5, 1j, 'x', b'x', bytearray(), None, ..., NotImplemented, True, (), [], {}, set(), frozenset(), slice(1)]"
    )
    from codemode_guest.dialect import start
    from tests.dialect.driver import run_async

    names = make_globals(program, tools=Tools(), tool_call_error=ToolCallError, stdout=Text())
    found: list[Any] = run_async(start(program, names)).value
    return found


@functools.cache
def _crawl() -> list[tuple[str, Any]]:
    """Follow every attribute that the guard gives, a few steps deep, calling nothing; one object of each type."""
    names = sorted({name for row in TABLE.values() for name in row} | READ_MAGIC | CLASS_MAGIC | FRAME_NAMES)
    queue: list[tuple[str, Any, int]] = [(type(each).__name__, each, 0) for each in _samples()]
    queue += [(FACADES[type(each)], each, 0) for each in _facades()]
    queue += [(name, each, 0) for name, each in SHARED_BUILTINS.items() if not name.startswith("__")]
    seen: set[int] = set()
    kept: list[Any] = []
    found: list[tuple[str, Any]] = []
    while queue:
        path, value, depth = queue.pop()
        mark = id(value) if isinstance(value, type) or type(value) in FACADES else id(type(value))
        if mark in seen:
            continue
        seen.add(mark)
        kept.append(value)
        found.append((path, value))
        if depth < 3:
            for name in names:
                try:
                    inner = guarded_getattr(value, name)
                except (AttributeError, TypeError, ValueError, RuntimeError):
                    continue
                queue.append((f"{path}.{name}", inner, depth + 1))
    return found


def test_no_attribute_leads_to_the_insides_of_the_interpreter() -> None:
    bad = [path for path, value in _crawl() if isinstance(value, FORBIDDEN) or value is type]
    assert bad == []


def test_every_native_load_is_allowed_by_the_table_wherever_the_name_exists() -> None:
    wrong: list[tuple[str, str]] = []
    for path, value in _crawl():
        kind = type(value)
        for name in common_names():
            if (name in dir(kind) or name in getattr(value, "__dict__", ())) and name not in TABLE.get(kind, ()):
                if isinstance(value, type) or path == "A" or kind.__module__ == "__main__":
                    continue
                wrong.append((path, name))
    assert wrong == []


def test_native_loads_of_classes_give_what_the_guard_gives() -> None:
    wrong: list[tuple[str, str]] = []
    for path, value in _crawl():
        if isinstance(value, type) and value in POLICY:
            for name in common_names():
                if hasattr(value, name) and name not in POLICY[value] and name not in CLASS_NAMES.get(value, ()):
                    wrong.append((path, name))
    assert wrong == []


def test_names_with_a_stand_in_are_never_loaded_natively() -> None:
    assert [name for _, name in OVERRIDES if is_direct(name)] == []


def test_every_name_of_the_interpreters_insides_goes_through_the_guard() -> None:
    secret = [
        "gi_frame",
        "cr_frame",
        "f_globals",
        "tb_frame",
        "func",
        "mapping",
        "gen",
        "kwds",
        "_loop",
        "_run_once",
        "__dict__",
        "obj",
        "mro",
    ]
    assert [name for name in [*FRAME_NAMES, *secret] if is_direct(name)] == []
    known = [
        "run_in_executor",
        "_selector",
        "_scheduled",
        "get_coro",
        "with_traceback",
        "register",
        "scanner",
        "system",
        "popen",
    ]
    assert [name for name in known if not host_names()[name] or is_direct(name)] == []


def test_no_store_that_host_code_could_notice_is_native() -> None:
    for cls in POLICY:
        if cls.__dictoffset__ or not cls.__flags__ & (1 << 8):
            assert [name for name in instance_names(cls) if not is_foreign(name)] == [], cls


def test_the_table_names_only_what_this_python_has_somewhere() -> None:
    later = {"is_integer", "shutdown", "binomialvariate", "from_number", "cache_parameters", "strptime"}
    own = {
        "name",
        "value",
        "maps",
        "acquire",
        "release",
        "locked",
        "template",
        "line_num",
        "fieldnames",
        "params",
        "from_iterable",
    }
    missing = {name for cls, names in POLICY.items() for name in names if not hasattr(cls, name)}
    assert missing - later - own == set()


def test_every_listed_name_of_a_module_is_there() -> None:
    for facade in _facades():
        for name in MODULES[FACADES[type(facade)]]:
            assert hasattr(facade, name), (facade, name)


def test_facades_cannot_be_changed_copied_or_made() -> None:
    import copy

    for facade in _facades():
        for action in (
            lambda each=facade: setattr(each, "x", 1),
            lambda each=facade: delattr(each, "x"),
            lambda each=facade: copy.copy(each),
        ):
            try:
                action()
            except (AttributeError, TypeError):
                continue
            raise AssertionError(facade)


def test_the_listing_says_what_the_facades_have() -> None:
    assert set(LISTED) == set(MODULES)
    for module, names in MODULES.items():
        assert names <= LISTED[module], (module, names - LISTED[module])


def test_the_host_can_list_the_modules_without_the_compiler() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from codemode_guest.dialect import MODULES, read_source; "
        "assert 'json' in MODULES; print([m for m in sys.modules if m.startswith(('RestrictedPython', 'decimal', 'asyncio'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_name_of_our_own_classes_is_loaded_natively_unless_every_host_class_allows_it() -> None:
    importlib.import_module("codemode_guest._program")
    classes = [cls for cls in _all_classes(object) if str(cls.__module__).startswith("codemode_guest.")]
    assert len(classes) > 30
    wrong = {
        (cls.__name__, name) for cls in classes for name in dir(cls) if is_direct(name) and name not in common_names()
    }
    assert wrong == set()


def test_a_class_that_is_allowed_later_keeps_its_names_to_itself() -> None:
    assert is_direct("_zebra_of_the_test")
    late = type("Late", (), {"__slots__": ("_zebra_of_the_test",)})
    try:
        allow_type(late, ())
        assert not is_direct("_zebra_of_the_test")
        assert is_foreign("_zebra_of_the_test")
    finally:
        TABLE.pop(late)
        forget()


def _all_classes(cls: type) -> list[type]:
    below: list[type] = type.__subclasses__(cls)
    return [*below, *(each for one in below for each in _all_classes(one))]
