"""Every text that says why a program does not compile, and what to do instead.

Written for a model that has one more turn: each names the thing, says why in a few words, and what works.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

GLOBAL_NAMES: Final = frozenset(["tools", "codemode"])
"""Modules that only stand for what a program has anyway."""

UNLISTED: Final = GLOBAL_NAMES | {"os", "os.path"}
"""Modules that lists do not mention: `os` is granted only where it is harmless (`_surroundings_rule`)."""

_MODULE_HINTS: Final = {
    "os": "there are no files and no environment: only os.environ.get, os.getenv and pure os.path functions work",
    "requests": "there is no network: call a tool",
    "httpx": "there is no network: call a tool",
    "aiohttp": "there is no network: call a tool",
    "urllib.request": "there is no network: call a tool (urllib.parse is available)",
    "http": "there is no network: call a tool",
    "socket": "there is no network: call a tool",
    "ssl": "there is no network: call a tool",
    "subprocess": "there are no processes: call a tool",
    "multiprocessing": "use asyncio.gather to overlap tool calls",
    "threading": "use asyncio.gather to overlap tool calls",
    "concurrent.futures": "use asyncio.gather to overlap tool calls",
    "concurrent": "use asyncio.gather to overlap tool calls",
    "queue": "use asyncio.Queue or collections.deque",
    "pathlib": "there is no file system: use tools for files; os.path and plain strings work for names",
    "tempfile": "there is no file system: keep the data in memory (io.StringIO)",
    "shutil": "there is no file system: use tools for files",
    "glob": "there is no file system: use tools for files",
    "pickle": "use json",
    "marshal": "use json",
    "shelve": "keep the data in a dict",
    "sqlite3": "use tools for data bases, or keep the data in dicts and lists",
    "pandas": "use lists and dicts, statistics and collections",
    "numpy": "use lists, math and statistics",
    "yaml": "use json, or parse the text with re",
    "toml": "use json, or parse the text with re",
    "tomllib": "use json, or parse the text with re",
    "bs4": "use re or str methods",
    "pydantic": "use dataclasses",
    "attr": "use dataclasses",
    "dateutil": "use datetime (fromisoformat, strptime)",
    "pytz": "use zoneinfo",
    "inspect": "read the stubs of the tools",
    "importlib": "write an import statement",
    "builtins": "use the built-in functions by their names",
    "ctypes": "there is no native code",
    "gc": "memory is managed for you",
    "weakref": "use ordinary references",
    "pickletools": "use json",
    "signal": "use asyncio.timeout for time limits",
    "locale": "use str.format and format specs",
    "platform": "programs see nothing of the machine",
    "getpass": "programs see nothing of the machine",
    "tabulate": "use str.ljust and f-strings",
    "tqdm": "use print",
    "array": "use lists",
    "xml": "use re or str methods",
    "zlib": "data is not compressed here",
    "gzip": "data is not compressed here",
}

SUPER_OUTSIDE: Final = "super() without arguments only means something inside a method"
RUN_IN_SYNC: Final = (
    "a coroutine cannot be run from a plain function, because the program runs inside an event loop already: "
    "make the function `async def` and write `await` instead of asyncio.run"
)
YIELD_AT_TOP: Final = "`yield` needs a function around it: put it into a `def`, and loop over the call"
RELATIVE_IMPORT: Final = "a program is no package, so there are no relative imports: name the module"
STARRED_BASES: Final = "`*bases` is not available: name the base classes"
METACLASS: Final = "metaclasses are not available: use a class decorator, or inherit from abc.ABC"


def node_refused(kind: str) -> str:
    """A construct that the dialect does not know (a newer Python's, say)."""
    return f"{kind} is not available in programs: write it with ordinary statements"


def reserved_name(name: str) -> str:
    """A name of the `_x_` form."""
    return f'"{name}" is a reserved name: choose one without the underscore at the end'


def dunder_name(name: str) -> str:
    """A `__x__` name."""
    return f'"{name}" is not available: names of the form __x__ are reserved; choose another name'


def magic_refused(name: str, instead: str) -> str:
    """A special method that cannot be defined."""
    return f'a class cannot define "{name}" here: {instead}'


def builtin_refused(name: str, instead: str) -> str:
    """A built-in that cannot be used."""
    return f'"{name}" is not available in programs: {instead}'


def frame_attribute(name: str) -> str:
    """An attribute of frames, tracebacks and code objects."""
    return f'attribute "{name}" is not available: programs cannot look into frames; use traceback.format_exc()'


def dunder_attribute(name: str) -> str:
    """A special attribute that cannot be read."""
    hints = {
        "__traceback__": "use traceback.format_exc()",
        "__subclasses__": "keep a list of your classes",
        "__bases__": "use isinstance or issubclass",
        "__base__": "use isinstance or issubclass",
        "__mro__": "use isinstance or issubclass",
        "__annotations__": "use dataclasses.fields",
        "__globals__": "use ordinary variables",
        "__code__": "programs cannot look into functions",
        "__self__": "keep the object in a variable",
        "__func__": "use the function itself",
        "__wrapped__": "keep the function in a variable",
    }
    return f'attribute "{name}" is not available in programs: {hints.get(name, "use an ordinary name or function")}'


def dunder_write(name: str) -> str:
    """A special attribute that cannot be written."""
    return f'attribute "{name}" cannot be assigned or deleted in programs: use an ordinary name'


def pattern_attribute(name: str) -> str:
    """A special attribute in a class pattern."""
    return f'a class pattern cannot read "{name}": match on the class itself, or on ordinary attributes'


def await_outside(kind: str, name: str) -> str:
    """`await` where it cannot stand."""
    if kind == "function":
        return (
            f"'await' outside async function: write `async def {name}(...)`, and `await {name}(...)` where it is called"
        )
    if kind == "lambda":
        return "'await' outside async function: a lambda cannot await; write an `async def` function"
    return "'await' outside async function: a class body cannot await; compute the value before the class"


def async_outside(what: str, name: str) -> str:
    """`async for` / `async with` where they cannot stand."""
    return f"'{what}' outside async function: write `async def {name}(...)`, and await its call"


def class_keyword(name: str | None) -> str:
    """A keyword in a class statement."""
    return f'class keyword "{name}" is not available: only the base classes can be given (total= for a TypedDict)'


def module_refused(module: str, modules: Iterable[str]) -> str:
    """An import of a module that is not listed."""
    root = module.partition(".")[0]
    hint = _MODULE_HINTS.get(module) or _MODULE_HINTS.get(root)
    offered = sorted(name for name in modules if name not in UNLISTED)
    text = f'module "{module}" is not available in programs'
    if hint is not None:
        text += f": {hint}"
    near = difflib.get_close_matches(module, offered, 1, 0.75)
    if near and hint is None:
        text += f": did you mean {near[0]}?"
    return f"{text}. Available modules: {', '.join(offered)}"


def module_attribute(module: str, name: str, names: Iterable[str]) -> str:
    """A name that a listed module does not offer."""
    near = difflib.get_close_matches(name, list(names), 3, 0.6)
    hints = {
        ("asyncio", "subprocess"): "there are no processes: call a tool",
        ("asyncio", "open_connection"): "there is no network: call a tool",
        ("asyncio", "Task"): "use asyncio.create_task",
        ("asyncio", "Future"): "use asyncio.Event or asyncio.Queue",
        ("string", "Formatter"): "use str.format or an f-string",
        ("uuid", "uuid1"): "use uuid4",
        ("uuid", "getnode"): "use uuid4",
        ("io", "open"): "there is no file system: use io.StringIO, or a tool",
        ("os", "system"): "there are no processes: call a tool",
        ("os", "listdir"): "there is no file system: call a tool",
    }
    hint = hints.get((module, name))
    if hint is None:
        hint = f"did you mean {', '.join(near)}?" if near else "it is not one of the names programs may use"
    return f'module "{module}" has no "{name}" here: {hint}'


def star_import(module: str, names: Iterable[str]) -> str:
    """`from module import *`."""
    some = ", ".join(sorted(names)[:6])
    return f"`from {module} import *` is not available: name what you need (such as {some}), or `import {module}`"


def implicit_import(module: str) -> str:
    """A note: a module was used without an import."""
    return f"`{module}` was used without `import {module}`; it was imported for you"


def main_not_called(name: str) -> str:
    """A note: the program defines a main function and nothing calls it."""
    return f"{name}() is defined but never called: end the program with `return await {name}()`"


def not_python(first: str) -> str:
    """The text is a shell command or another language."""
    return (
        f"this is no Python program (it starts with `{first}`): `code` must be the body of an async Python function; "
        "call tools with `await tools.<name>(...)`"
    )


MORE_THAN_CODE = "`code` must be the program alone: no words before or after it, and no second fence"
