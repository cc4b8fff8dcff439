"""Stages 5 to 7: wrappers, the body, and what makes its value canonical.

Rules
- A result of an inner stage of THIS call is trusted by identity. Anything else that a wrapper returns, a changed copy
  of such a result too, is validated and rendered again; its content is dropped, its added contexts stay.
- Every `next()` of a wrapper runs the whole inner chain again. A replaced cancel signal is fused with the caller's.
- Cancellation takes the place of a success only; a failure that came first keeps its own code.
"""

# pyright: reportPrivateUsage=false, reportUnnecessaryIsInstance=false
# The modules of this package are one unit; what is private is private to it.
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from pydantic_core import to_json

from ._annotations import is_async_callable
from ._body import BodyOutcome, run_async, run_thread
from ._call import ToolCall
from ._callback import answer
from ._cancel import CancelSignal, LoopDoor
from ._errors import CodeModeError, ToolError, describe, leaves
from ._explain import did_you_mean, shown
from ._json import MAX_DEPTH, FrozenDict, NotJsonError, freeze, json_text
from ._keys import with_decimal_keys
from ._layers import Hook
from ._loops import sync_failures
from ._result import CallError, ToolFailure, ToolResult, ToolSuccess, as_content, as_contexts, text_content
from ._run import Run, with_contexts
from ._tool import RUN_CODE, Tool, ToolContext
from ._typed_body import OutputError, TypedBody


class PipelineError(CodeModeError):
    """Internal: the pipeline fails the call, with this failure where it has one. No review sees it."""

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(failure.error.message)
        self.failure = failure


# ---- stage 1, and again where the tool changed under the call ----


def check_arguments(run: Run, tool: Tool) -> ToolFailure | None:
    """Whether the arguments fit the tool; prepares a typed body's arguments."""
    name, arguments = run.call.name, run.call.arguments
    if type(arguments) is not FrozenDict:
        return ToolFailure.of(
            f'invalid arguments for tool "{name}": expected an object with the arguments, got {shown(arguments)}',
            code="INVALID_ARGS",
        )
    schema = tool.input_schema
    problems = [] if schema.is_valid(arguments) else schema.violations(arguments)
    body = tool.execute
    if not problems and isinstance(body, TypedBody):
        converted, problems = body.convert(arguments)
        run.prepared = (tool, converted)
    if not problems:
        return None
    listed = "; ".join(map(str, problems))
    return ToolFailure.of(f'invalid arguments for tool "{name}": {listed}', code="INVALID_ARGS")


# ---- stage 5: around ----


async def dispatch(run: Run) -> ToolResult:
    """Run the wrappers around the body."""
    wrappers = run.hooks("wrappers")
    if not wrappers:
        return await _inner(run, run.call)
    try:
        result = await _around(run, list(wrappers), 0, run.call)
    except PipelineError as error:
        run.hard = True
        return error.failure
    if run.call.cancel.cancelled and type(result) is ToolSuccess:
        return aborted_success(run, result)
    return result


async def _around(run: Run, wrappers: list[Hook], index: int, call: ToolCall) -> ToolResult:
    if index == len(wrappers):
        return await _inner(run, call)

    async def inside(*, cancel: CancelSignal | None = None) -> ToolResult:
        inner = call
        if cancel is not None and cancel is not call.cancel:
            inner = replace(call, cancel=CancelSignal.any(call.cancel, cancel))
        return await _around(run, wrappers, index + 1, inner)

    result: Any = await wrappers[index].fn(call, inside)
    if any(result is own for own in run.own):
        return cast("ToolResult", result)
    return _normalised(run, result)


def _normalised(run: Run, result: Any) -> ToolResult:
    """A wrapper's own result, made trustworthy."""
    if isinstance(result, ToolFailure):
        if not isinstance(result.error, CallError):
            raise TypeError(f"a wrapper's failure must hold a CallError, not {result.error!r:.80}")
        content = (
            text_content(f"Error: {result.error.message}") if result.content is None else as_content(result.content)
        )
        made: ToolResult = ToolFailure(result.error, content, freeze(result.meta), _merged(run, result.contexts))
    elif isinstance(result, ToolSuccess):
        tool = run.resolve()
        if tool is None:
            raise PipelineError(unknown(run))
        made = canonical(run, tool, result.value, dump=False)
        if isinstance(made, ToolFailure):
            raise PipelineError(made)
        concludes = run.concludes or result.concludes_turn
        made = replace(made, contexts=_merged(run, result.contexts), concludes_turn=concludes)
    else:
        raise TypeError(f"a wrapper returned {result!r:.80}; it must be a ToolSuccess or a ToolFailure")
    run.own.append(made)
    return made


def _merged(run: Run, contexts: object) -> tuple[FrozenDict, ...]:
    """The body's contexts, then those that the wrapper added."""
    added = as_contexts(contexts)
    deferred = run.deferred
    return (*deferred, *(context for context in added if not any(context is known for known in deferred)))


def aborted_success(run: Run, result: ToolSuccess) -> ToolFailure:
    """The failure that takes a cancelled success's place; its contexts survive."""
    return with_contexts(run.aborted(), result.contexts)


# ---- stage 6: the body ----


async def _inner(run: Run, call: ToolCall) -> ToolResult:
    result = await _body(run, call)
    run.own.append(result)
    return result


async def _body(run: Run, call: ToolCall) -> ToolResult:
    if call.cancel.cancelled:
        return run.aborted()
    tool = run.resolve()
    if tool is None:
        return unknown(run)
    if run.tool is not tool or (run.prepared is not None and run.prepared[0] is not tool):
        run.tool = tool
        problem = check_arguments(run, tool)
        if problem is not None:
            return problem
    timeout = tool.timeout
    if timeout is None and call.name != RUN_CODE:  # a program has limits of its own
        timeout = run.core.default_timeout
    run.began = True
    run.failure = None
    ended = BodyOutcome()
    try:
        await _run_body(run, tool, call, timeout, ended)
    except BaseException:
        if ended.error is not None:
            run.failure = with_contexts(_failed(ended.error), tuple(run.deferred))
        raise
    finally:
        run.prepared = None
    contexts = tuple(run.deferred)
    if ended.stuck:
        run.stuck = True
        await run.warn("tool", f'the thread of tool "{call.name}" {run.left_behind()}')
    result = _ended(run, tool, call, ended, timeout)
    if contexts and type(result) is ToolFailure:
        return with_contexts(result, contexts)
    return result


def _ended(run: Run, tool: Tool, call: ToolCall, ended: BodyOutcome, timeout: float | None) -> ToolResult:
    if ended.timed_out:
        text = f'tool "{call.name}" timed out after {timeout:g}s'
        if ended.stuck:
            text += f"; its thread {run.left_behind()}"
        return ToolFailure.of(text, code="TOOL_TIMEOUT")
    if ended.error is not None:
        return _failed(ended.error)
    if ended.cancelled or ended.stuck or call.cancel.cancelled:
        return run.aborted()
    return canonical(run, tool, ended.value, dump=True)


def _failed(error: BaseException) -> ToolFailure:
    found = leaves(error)
    leaf = found[0] if len(found) == 1 else error
    if isinstance(leaf, ToolError):
        return ToolFailure.of(describe(leaf), code=leaf.code, name=leaf.name or type(leaf).__name__)
    message = describe(error)
    if type(leaf) is RuntimeError and message == _NO_ASYNCIO:
        message += "; the tool needs asyncio's, and this host runs trio's (choose it where the loop is started)"
    return ToolFailure.of(message, code="TOOL_ERROR", name=type(leaf).__name__)


_NO_ASYNCIO = "no running event loop"
"""What asyncio's own functions say where another loop runs; it tells nobody what to do."""


async def _run_body(run: Run, tool: Tool, call: ToolCall, seconds: float | None, ended: BodyOutcome) -> None:
    execute = tool.execute
    if isinstance(execute, TypedBody):
        is_async = execute.is_async
        converted = run.prepared[1] if run.prepared is not None else execute.convert(call.arguments)[0]
        first: Any = converted
        function: Callable[..., Any] = execute.call
    else:
        if tool._flavour is None or tool._flavour[0] is not execute:
            tool._flavour = (execute, is_async_callable(execute))
        is_async = tool._flavour[1]
        first, function = call.arguments, execute
    cancel = call.cancel if is_async else CancelSignal.any(call.cancel)
    run.door = None if is_async else LoopDoor()
    context = ToolContext(call, cancel, run)
    if is_async:
        await run_async(lambda: function(first, context), cancel, seconds, ended)
        return
    thread = f"codemode tool {call.name}"
    drain = run.core.drain_seconds
    await run_thread(lambda: function(first, context), cancel, seconds, drain, thread, ended)


def unknown(run: Run) -> ToolFailure:
    """The failure of a name that nobody here has, with a near one."""
    name = run.call.name
    return ToolFailure.of(f'unknown tool "{name}"{did_you_mean(name, run.layer.view())}', code="UNKNOWN_TOOL")


# ---- stage 7: canonical ----


def canonical(run: Run, tool: Tool, value: object, *, dump: bool) -> ToolSuccess | ToolFailure:
    """The success of a value: copied, validated, frozen, rendered; or INVALID_TOOL_OUTPUT."""
    name = run.call.name
    if dump and isinstance(tool.execute, TypedBody):
        try:
            value = tool.execute.dump(value)
        except OutputError as error:
            return _invalid(f'tool "{name}" returned invalid output: {error}')
    try:
        # The completion of a program has the depth of any value; its place in the outer value is one level more.
        frozen = _frozen(value, MAX_DEPTH + (name == RUN_CODE))
    except NotJsonError as error:
        return _invalid(f'tool "{name}" returned invalid output: {error}')
    schema = tool.output_schema
    if schema is not None and not schema.is_valid(frozen):
        listed = "; ".join(map(str, schema.violations(frozen)))
        return _invalid(f'tool "{name}" returned invalid output: {listed}')
    try:
        content = _rendered(tool, run.call, frozen)
    except sync_failures() as error:
        return _invalid(f'tool "{name}": its render failed: {describe(error)}')
    meta = None
    if tool.presentation_meta is not None and run.call.parent is None:
        try:
            meta = freeze(answer("presentation_meta", tool.presentation_meta, run.call.arguments, frozen))
        except sync_failures() as error:
            return _invalid(f'tool "{name}": its presentation_meta failed: {describe(error)}')
    return ToolSuccess(frozen, content, meta, tuple(run.deferred), run.concludes)


def _frozen(value: object, levels: int) -> Any:
    try:
        return freeze(value, levels=levels)
    except NotJsonError:
        return freeze(with_decimal_keys(value), levels=levels)


def _invalid(message: str) -> ToolFailure:
    return ToolFailure.of(message, code="INVALID_TOOL_OUTPUT")


def _rendered(tool: Tool, call: ToolCall, value: Any) -> Any:
    if tool.render is not None:
        return as_content(answer("render", tool.render, call.arguments, value))
    if type(value) is str:
        return text_content(value)
    try:
        return text_content(json_text(value))
    except ValueError:  # an integer of more digits than Python's own text conversion takes
        return text_content(to_json(value).decode())
