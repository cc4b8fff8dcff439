"""The peers, where they are installed: other ways to let a model's Python call tools.

Rules: each peer does the same work by its own documented means, and says None for what it cannot do. Their promises
differ, and the table says so: pydantic-monty is an interpreter of its own in a reused worker process, smolagents
interprets the syntax tree in the host, RestrictedPython runs compiled code in the host. None has a pipeline, a log, or
a sealed process for each program.
"""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

ADD = "def add(a, b): return a + b"


class Peer(Protocol):
    """One peer, open."""

    name: str
    in_host: bool
    """Whether programs run in this process, so that its CPU time is theirs."""
    cold: str
    """A script from a fresh interpreter to the value 3 of `add(1, 2)` in `value`."""

    def run(self, program: str) -> Any:
        """Run a program without tools, in a state as fresh as the peer has; the value of its last expression."""
        ...

    def calls(self, count: int) -> None:
        """One program that calls a host function so often, one after the other."""
        ...

    def receive(self, value: Any) -> int:
        """A program gets a list of rows from a host function and adds up their field `n`."""
        ...

    def compile(self, source: str) -> Callable[[], object] | None:
        """What turns a text into something that can run, if that is a step of its own."""
        ...


_LOOP = "total = 0\nfor i in range({count}):\n    total = add(total, 1)\ntotal"
_SUM = "rows = fetch()\ntotal = 0\nfor row in rows:\n    total = total + row['n']\ntotal"


class Monty:
    """pydantic-monty: a pool of worker processes; a fresh session for each program."""

    name = "pydantic-monty"
    in_host = False
    cold = (
        "import pydantic_monty\n"
        "with pydantic_monty.Monty() as pool, pool.checkout() as session:\n"
        "    value = session.feed_run('add(1, 2)', external_lookup={'add': lambda a, b: a + b})\n"
        "    told(value)\n"
    )

    def __init__(self, stack: ExitStack) -> None:
        import pydantic_monty

        self._pool: Any = stack.enter_context(pydantic_monty.Monty())

    def run(self, program: str) -> Any:
        with self._pool.checkout() as session:
            return session.feed_run(program)

    def calls(self, count: int) -> None:
        with self._pool.checkout() as session:
            value = session.feed_run(_LOOP.format(count=count), external_lookup={"add": lambda a, b: a + b})
        assert value == count

    def receive(self, value: Any) -> int:
        with self._pool.checkout() as session:
            return int(session.feed_run(_SUM, external_lookup={"fetch": lambda: value}))

    def compile(self, source: str) -> Callable[[], object] | None:
        return None


class Smolagents:
    """smolagents' LocalPythonExecutor: the syntax tree is interpreted in the host."""

    name = "smolagents"
    in_host = True
    cold = (
        "from smolagents.local_python_executor import LocalPythonExecutor\n"
        "executor = LocalPythonExecutor([])\n"
        "executor.send_tools({'add': lambda a, b: a + b})\n"
        "told(executor('add(1, 2)').output)\n"
    )

    def __init__(self, stack: ExitStack) -> None:
        # The limit on operations guards against endless loops; a compute workload is over it.
        from smolagents import local_python_executor

        local_python_executor.MAX_OPERATIONS = 10**12
        local_python_executor.MAX_WHILE_ITERATIONS = 10**12
        self._make: Any = local_python_executor.LocalPythonExecutor

    def _executor(self, **tools: Any) -> Any:
        executor = self._make(["json", "re", "collections", "math", "datetime", "dataclasses"], timeout_seconds=None)
        executor.send_tools(tools)
        return executor

    def run(self, program: str) -> Any:
        return self._executor()(program).output

    def calls(self, count: int) -> None:
        assert self._executor(add=lambda a, b: a + b)(_LOOP.format(count=count)).output == count

    def receive(self, value: Any) -> int:
        return int(self._executor(fetch=lambda: value)(_SUM).output)

    def compile(self, source: str) -> Callable[[], object] | None:
        return None


class Restricted:
    """RestrictedPython as its documentation shows it: guards, in the host, no limits."""

    name = "RestrictedPython"
    in_host = True
    cold = (
        "from RestrictedPython import compile_restricted, safe_globals\n"
        "names = {**safe_globals, 'add': lambda a, b: a + b}\n"
        "exec(compile_restricted('value = add(1, 2)', '<program>', 'exec'), names)\n"
        "told(names['value'])\n"
    )

    def __init__(self, stack: ExitStack) -> None:
        from RestrictedPython import compile_restricted, limited_builtins, safe_globals, utility_builtins
        from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
        from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence, safer_getattr

        self._compile: Any = compile_restricted
        inplace: dict[str, Callable[[Any, Any], Any]] = {
            "+=": lambda a, b: a + b,
            "-=": lambda a, b: a - b,
            "*=": lambda a, b: a * b,
        }
        # Its own `range` stops at a thousand; what is measured is its compiler and its guards.
        allowed = {**safe_globals["__builtins__"], **limited_builtins, **utility_builtins, "range": range}
        allowed |= {name: getattr(builtins, name) for name in ("sum", "min", "max", "dict", "list", "set", "enumerate")}
        allowed |= {name: getattr(builtins, name) for name in ("reversed", "map", "filter", "any", "all", "property")}
        self._names: dict[str, Any] = {
            "__builtins__": allowed,
            "__name__": "program",
            "__metaclass__": type,
            "_getattr_": safer_getattr,
            "_getitem_": default_guarded_getitem,
            "_getiter_": default_guarded_getiter,
            "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
            "_unpack_sequence_": guarded_unpack_sequence,
            "_write_": lambda value: value,
            "_inplacevar_": lambda operator, a, b: inplace[operator](a, b),
        }

    def _value(self, program: str, **tools: Any) -> Any:
        *before, last = program.strip().split("\n")
        text = "\n".join([*before, f"result = {last}"])
        names = {**self._names, **tools}
        exec(self._compile(text, "<program>", "exec"), names)
        return names["result"]

    def run(self, program: str) -> Any:
        return self._value(program)

    def calls(self, count: int) -> None:
        assert self._value(_LOOP.format(count=count), add=lambda a, b: a + b) == count

    def receive(self, value: Any) -> int:
        return int(self._value(_SUM, fetch=lambda: value))

    def compile(self, source: str) -> Callable[[], object] | None:
        return lambda: self._compile(source, "<program>", "exec")


_PEERS: tuple[tuple[str, Callable[[ExitStack], Peer]], ...] = (
    ("pydantic_monty", Monty),
    ("smolagents", Smolagents),
    ("RestrictedPython", Restricted),
)


def installed(stack: ExitStack) -> tuple[tuple[Peer, ...], tuple[str, ...]]:
    """Those that are here, open until the stack is closed; and why the others are not."""
    found: list[Peer] = []
    missing: list[str] = []
    for module, make in _PEERS:
        if importlib.util.find_spec(module) is None:
            missing.append(f"{module} is not installed")
            continue
        try:
            found.append(make(stack))
        except (ImportError, FileNotFoundError) as why:
            missing.append(f"{module}: {why}")
    return tuple(found), tuple(missing)
