"""The conformance suite of `CodeRuntime`: what any runtime must do, whoever wrote it.

Rules of this module: a list of small checks over the public protocol; each raises AssertionError with a sentence.
`runtime_self_check` runs them all, and tells all that fail at once. The programs use nothing but the language, `tools`
and `ToolCallError`, so a runtime that is not a child process can pass as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from codemode_bridge._contract import Binding, BindingError, CodeRunRequest, CodeRunResult, CodeRuntime
from codemode_bridge._limits import Limits
from codemode_registry import CancelSignal, CodeModeError

# Nothing here takes a second on an idle machine; a runtime that hangs is told so after this.
_PATIENCE_SECONDS = 60.0


class SelfCheckFailed(CodeModeError):
    """A runtime does not keep the contract; `failures` says where."""

    def __init__(self, failures: list[str]) -> None:
        super().__init__("the runtime fails its self-check:\n" + "\n".join(f"- {one}" for one in failures))
        self.failures = failures


Check = Callable[[CodeRuntime], Awaitable[None]]


async def _echo(arguments: dict[str, Any]) -> Any:
    return arguments.get("value")


async def _refuse(arguments: dict[str, Any]) -> Any:
    raise BindingError("refused for the check")


async def _never(arguments: dict[str, Any]) -> Any:
    await anyio.sleep_forever()


_BINDINGS = {
    "echo": Binding("echo", ("value",), _echo),
    "refuse": Binding("refuse", (), _refuse),
    "never": Binding("never", (), _never),
}


async def _run(runtime: CodeRuntime, program: str, **options: Any) -> CodeRunResult:
    return await runtime.run(CodeRunRequest(program, bindings=_BINDINGS, **options))


def _expect(result: CodeRunResult, kind: str | None, what: str) -> None:
    found = result.error.kind if result.error is not None else None
    message = result.error.message if result.error is not None else result.value
    assert found == kind, f"{what}: expected {kind or 'success'}, got {found or 'success'} ({message!r})"


async def _says_what_it_is(runtime: CodeRuntime) -> None:
    assert runtime.language == "python", f"language is {runtime.language!r}"
    assert runtime.isolation, "isolation is not named"
    assert isinstance(runtime, CodeRuntime), "the protocol's members are not all there"


async def _returns_values(runtime: CodeRuntime) -> None:
    wanted: dict[str, object] = {"list": [1, 2.5, None, True, "ä😀"], "big": 2**80, "empty": {}}
    result = await _run(runtime, f"return {wanted!r}")
    _expect(result, None, "a program that returns a value")
    assert (result.has_value, result.value) == (True, wanted), f"returned {result.value!r}"


async def _tells_nothing_from_none(runtime: CodeRuntime) -> None:
    nothing, none = await _run(runtime, "x = 1"), await _run(runtime, "return None")
    assert not nothing.has_value, "a program that returns nothing has a value"
    assert (none.has_value, none.value) == (True, None), "`return None` has no value"


async def _keeps_logs(runtime: CodeRuntime) -> None:
    heard: list[str] = []
    result = await _run(runtime, "print('a')\nprint('b', end='')\nprint('c\\nd')", on_log=heard.append)
    assert result.logs == ("a", "bc", "d"), f"logs are {result.logs!r}"
    assert "".join(heard) == "a\nbc\nd\n", f"on_log heard {heard!r}"


async def _calls_bindings(runtime: CodeRuntime) -> None:
    result = await _run(runtime, "return [await tools.echo(value=n) for n in range(5)]")
    _expect(result, None, "a program that calls")
    assert result.value == [0, 1, 2, 3, 4], f"calls gave {result.value!r}"
    assert result.usage is None or result.usage.calls == 5, f"counted {result.usage and result.usage.calls} calls"


async def _refuses_to_the_program(runtime: CodeRuntime) -> None:
    program = (
        "try:\n    await tools.refuse()\nexcept ToolCallError as error:\n    return [error.tool_name, error.message]"
    )
    result = await _run(runtime, program)
    assert result.value == ["refuse", "refused for the check"], f"the program caught {result.value!r}"


async def _reports_exceptions(runtime: CodeRuntime) -> None:
    result = await _run(runtime, "print('before')\nraise ValueError('broken on purpose')")
    _expect(result, "exception", "a program that raises")
    assert result.error is not None
    assert result.error.type == "ValueError", "the exception's class is lost"
    assert "broken on purpose" in result.error.message, "the exception's text is lost"
    assert result.logs == ("before",), "what was printed before is lost"


async def _reports_syntax(runtime: CodeRuntime) -> None:
    _expect(await _run(runtime, "return ("), "syntax", "a program that does not compile")


async def _starts_fresh(runtime: CodeRuntime) -> None:
    await _run(runtime, "import json\nleft_behind = 1\nreturn 1")
    result = await _run(runtime, "try:\n    return left_behind\nexcept NameError:\n    return 'fresh'")
    assert result.value == "fresh", "one run sees what another left"


async def _ends_what_computes(runtime: CodeRuntime) -> None:
    result = await _run(runtime, "print('on')\nwhile True:\n    pass", limits=Limits(compute_seconds=0.3))
    _expect(result, "timeout", "a program that computes for ever")
    assert result.logs == ("on",), "the logs of an ended run are lost"


async def _ends_what_waits(runtime: CodeRuntime) -> None:
    _expect(await _run(runtime, "await tools.never()", limits=Limits(wall_seconds=0.3)), "timeout", "an endless wait")


async def _waiting_is_no_compute(runtime: CodeRuntime) -> None:
    result = await _run(
        runtime, "import asyncio\nawait asyncio.sleep(0.4)\nreturn 1", limits=Limits(compute_seconds=0.3)
    )
    _expect(result, None, "a program that only waits")


async def _bounds_output(runtime: CodeRuntime) -> None:
    exact = Limits(output_bytes=8)  # ["a"] has 5 bytes, "b" has 3.
    _expect(await _run(runtime, "print('a')\nreturn 'b'", limits=exact), None, "output that fits to the byte")
    over = await _run(runtime, "print('a')\nreturn 'b'", limits=Limits(output_bytes=7))
    _expect(over, "output-limit", "output of one byte too many")


async def _obeys_cancel(runtime: CodeRuntime) -> None:
    signal = CancelSignal()

    async def cancel(_: dict[str, Any]) -> None:
        signal.cancel("enough")

    bindings = {"stop": Binding("stop", (), cancel)}
    result = await runtime.run(CodeRunRequest("await tools.stop()\nwhile True:\n    pass", bindings, cancel=signal))
    _expect(result, "abort", "a cancelled run")
    assert result.error is not None
    assert result.error.message == "enough", "the reason is lost"
    again = await runtime.run(CodeRunRequest("return 1", cancel=signal))
    _expect(again, "abort", "a run that was cancelled before it began")


async def _ends_calls_with_the_run(runtime: CodeRuntime) -> None:
    ended: list[str] = []

    async def wait(_: dict[str, Any]) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")

    program = "import asyncio\nt = asyncio.create_task(tools.wait())\nawait asyncio.sleep(0.05)\nreturn 1"
    result = await runtime.run(CodeRunRequest(program, {"wait": Binding("wait", (), wait)}))
    assert (result.value, ended) == (1, ["ended"]), "a call outlives its run"


async def _survives_a_raising_binding(runtime: CodeRuntime) -> None:
    async def fall(_: dict[str, Any]) -> None:
        raise RuntimeError("a host's bug")

    program = "try:\n    await tools.fall()\nexcept ToolCallError:\n    return 'caught'"
    result = await runtime.run(CodeRunRequest(program, {"fall": Binding("fall", (), fall)}))
    assert result.value == "caught", f"a raising binding gave {result!r}"


async def _runs_side_by_side(runtime: CodeRuntime) -> None:
    results: dict[int, CodeRunResult] = {}

    async def one(number: int) -> None:
        results[number] = await _run(runtime, f"print({number})\nreturn await tools.echo(value={number})")

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(one, number)
    for number, result in results.items():
        assert (result.value, result.logs) == (number, (str(number),)), "runs side by side are mixed up"


CHECKS: tuple[Check, ...] = (
    _says_what_it_is,
    _returns_values,
    _tells_nothing_from_none,
    _keeps_logs,
    _calls_bindings,
    _refuses_to_the_program,
    _reports_exceptions,
    _reports_syntax,
    _starts_fresh,
    _ends_what_computes,
    _ends_what_waits,
    _waiting_is_no_compute,
    _bounds_output,
    _obeys_cancel,
    _ends_calls_with_the_run,
    _survives_a_raising_binding,
    _runs_side_by_side,
)


async def runtime_self_check(runtime: CodeRuntime) -> None:
    """Hold a runtime against the contract.

    Args:
        runtime: entered already; it is used for a few dozen short runs.

    Raises:
        SelfCheckFailed: with one line for each check that fails.
    """
    failures: list[str] = []
    for check in CHECKS:
        title = check.__name__.strip("_").replace("_", " ")
        with anyio.move_on_after(_PATIENCE_SECONDS) as scope:
            try:
                await check(runtime)
            except Exception as error:
                failures.append(f"{title}: {error or type(error).__name__}")
        if scope.cancelled_caught:
            failures.append(f"{title}: no result within {_PATIENCE_SECONDS:g} s")
    if failures:
        raise SelfCheckFailed(failures)
