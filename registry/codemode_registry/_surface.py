"""What `Registry` and `Scope` offer alike: tools and hooks, on the layer that each of them stands for.

Rules
- Whatever is registered here is seen by this layer and the layers below it, and by no other.
- A change of the tool set is told to `on_change` observers. One that raises during a registration takes it back.
- Policies, wrappers and reviews are async functions; guards, observers and shapers are sync. A hook that can never be
  called as its kind is called is refused here, and so are a sync policy and an async observer of changes. Another async
  hook of a sync kind is treated like one that merely returns an awaitable, at each call: a guard fails it closed, an
  observer or a shaper is contained.
"""

# pyright: reportUnnecessaryIsInstance=false
# Callers need not be type-checked: what comes in is looked at.

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, cast, overload, runtime_checkable

from ._annotations import is_async_callable
from ._callback import answer, check_fits
from ._errors import RegistrationError
from ._layers import Hook, Layer
from ._logging import LOGGER
from ._registration import Registration
from ._tool import ConcurrencySafe, Tool, ToolAnnotations

_F = TypeVar("_F", bound=Callable[..., Any])
_APPROVAL_POLICIES = ("ask", "never")


@runtime_checkable
class Toolset(Protocol):
    """Tools that belong together. An iterable of tools (or of functions) will do as well."""

    def tools(self) -> Iterable[Tool]:
        """The tools, fresh or shared."""
        ...


def _function_tool(function: Any, **options: Any) -> Tool:
    from ._typed import function_tool  # with pydantic, which a host of raw tools never loads

    return function_tool(function, **options)


class _Kind(NamedTuple):
    """A kind of hook: where it stands and how it is called."""

    what: str
    table: str
    """The layer's list of them."""
    parameters: tuple[str, ...]
    is_async: bool | None
    """What it must be; None: looked at when it is asked (`answer`)."""


_POLICY = _Kind("a policy", "policies", ("call", "next"), True)
_GUARD = _Kind("a guard", "guards", ("call",), None)
_WRAPPER = _Kind("a wrapper", "wrappers", ("call", "next"), True)
_REVIEW = _Kind("a review", "reviews", ("call", "result", "next"), True)
_ON_RESULT = _Kind("an on_result observer", "results", ("call", "result"), None)
_ON_CHANGE = _Kind("an on_change observer", "changes", (), False)
_ON_PROGRESS = _Kind("an on_progress observer", "progress", ("call", "done", "total", "message"), None)
_SHAPER = _Kind("a shaper", "shapers", ("dispatch",), None)


def _items(toolset: Any) -> Any:
    """What a toolset holds.

    Raises:
        RegistrationError: it is none.
    """
    given: Any = toolset
    if not isinstance(given, Iterable) and callable(getattr(given, "tools", None)):
        given = given.tools()
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise RegistrationError(f"a toolset is an iterable of tools or has tools(), not {toolset!r:.80}")
    return cast("Any", given)


class Surface:
    """Registering tools and hooks on one layer."""

    _layer: Layer

    # ---- tools ----

    @overload
    def tool(self, function: _F, /) -> _F: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        namespace: str | None = None,
        description: str | None = None,
        concurrency_safe: ConcurrencySafe = False,
        timeout: float | None = None,
        render: Callable[..., Any] | None = None,
        presentation_meta: Callable[..., Any] | None = None,
        finalize_content: Callable[..., Any] | None = None,
        present_call: Callable[..., Any] | None = None,
        present_result: Callable[..., Any] | None = None,
        annotations: ToolAnnotations | None = None,
    ) -> Callable[[_F], _F]: ...

    def tool(
        self, function: Any = None, /, *, name: str | None = None, description: str | None = None, **options: Any
    ) -> Any:
        """Register a function as a tool; the function comes back unchanged.

        Its annotations give the schemas, its docstring the descriptions.

        Args:
            function: async, or sync, which runs in a thread. Without it, the decorator that takes it.
            name: the tool's name; the function's own by default.
            description: the docstring's first paragraph by default.
            **options: the other options of `Tool`: `namespace`, `concurrency_safe`, `timeout`, `render`, `annotations`
                and so on.

        Raises:
            RegistrationError: it cannot be a tool, there is no such option, or the name is taken.
        """
        if function is None:

            def decorate(decorated: _F) -> _F:
                self.register(_function_tool(decorated, name=name, description=description, **options))
                return decorated

            return decorate
        self.register(_function_tool(function, name=name, description=description, **options))
        return function

    def register(self, tool: Tool) -> Registration:
        """Register a tool in its raw form.

        Raises:
            RegistrationError: something is wrong with it, or the name is taken.
        """
        return self._register([tool])

    def add(self, toolset: Toolset | Iterable[Tool | Callable[..., Any]], namespace: str | None = None) -> Registration:
        """Register every tool of a toolset, all or none.

        Args:
            toolset: An object with `tools()`, or an iterable of tools and functions.
            namespace: Put them under this namespace; None leaves each where it is.

        Raises:
            RegistrationError: one of them cannot be registered; then none is.
        """
        tools: list[Tool] = []
        for item in _items(toolset):
            tool = item if isinstance(item, Tool) else _function_tool(item)
            tools.append(tool if namespace is None else tool.in_namespace(namespace))
        return self._register(tools)

    def _register(self, tools: list[Tool]) -> Registration:
        self._check_alive()
        layer = self._layer
        added: list[Tool] = []

        def undo() -> None:
            for tool in reversed(added):
                if layer.tools.get(names[id(tool)]) is tool:
                    del layer.tools[names[id(tool)]]
            layer.clock.ticks += 1

        names: dict[int, str] = {}
        try:
            for tool in tools:
                if not isinstance(tool, Tool):
                    raise RegistrationError(f"register() takes a Tool, not {tool!r:.80}")
                tool.ready()
                layer.check_free(tool)
                layer.tools[tool.full_name] = tool
                names[id(tool)] = tool.full_name
                added.append(tool)
            layer.clock.ticks += 1
            self._changed()
        except BaseException:
            undo()
            raise
        for tool in added:
            LOGGER.debug("registered tool %s", tool.full_name, extra={"tool": tool.full_name, "scope": layer.name})

        def dispose() -> None:
            undo()
            self._changed_quietly()

        return Registration(dispose)

    # ---- hooks ----

    def _hook(self, kind: _Kind, fn: Any, prepend: bool = False) -> Any:
        if fn is None:

            def decorate(decorated: Callable[..., Any]) -> Any:
                return self._hook(kind, decorated, prepend)

            return decorate
        self._check_alive()
        if not callable(fn):
            raise RegistrationError(f"{kind.what} must be a function, not {fn!r:.80}")
        if kind.is_async is not None and kind.is_async != is_async_callable(fn):
            flavour = "an async" if kind.is_async else "a sync"
            raise RegistrationError(f"{kind.what} must be {flavour} function: {fn!r:.80}")
        check_fits(kind.what, fn, kind.parameters)
        table: list[Hook] = getattr(self._layer, kind.table)
        hook = Hook(fn)
        table.insert(0 if prepend else len(table), hook)

        def undo() -> None:
            if hook in table:
                table.remove(hook)

        return Registration(undo, fn)

    def pre_execute(self, fn: Callable[..., Any] | None = None, /, prepend: bool = False) -> Registration:
        """Register a policy: `async policy(call, next) -> Allow() | Deny(reason) | Ask(reason)`.

        First registered is outermost; `prepend` puts it before all. `await next()` asks the policies inside.
        """
        return cast("Registration", self._hook(_POLICY, fn, prepend))

    def guard(self, fn: Callable[..., Any] | None = None, /) -> Registration:
        """Register a guard: sync `guard(call) -> str | None`. A string denies, and nothing undoes it."""
        return cast("Registration", self._hook(_GUARD, fn))

    def around_execute(self, fn: Callable[..., Any] | None = None, /, prepend: bool = False) -> Registration:
        """Register a wrapper: `async wrapper(call, next) -> ToolResult`.

        `await next()` runs what is inside and gives its result; it may be called again. `next(cancel=signal)` runs it
        under another cancel signal beside the caller's.
        """
        return cast("Registration", self._hook(_WRAPPER, fn, prepend))

    def post_execute(self, fn: Callable[..., Any] | None = None, /, prepend: bool = False) -> Registration:
        """Register a review: `async review(call, result, next) -> Accept(...) | Block(feedback)`."""
        return cast("Registration", self._hook(_REVIEW, fn, prepend))

    def on_result(self, fn: Callable[..., Any] | None = None, /) -> Registration:
        """Register an observer of final results: sync `fn(call, result)`. It can change nothing and fail nothing."""
        return cast("Registration", self._hook(_ON_RESULT, fn))

    def on_change(self, fn: Callable[[], Any] | None = None, /) -> Registration:
        """Register an observer of the tool set: sync `fn()`."""
        return cast("Registration", self._hook(_ON_CHANGE, fn))

    def on_progress(self, fn: Callable[..., Any] | None = None, /) -> Registration:
        """Register an observer of `ctx.progress`: sync `fn(call, done, total, message)`."""
        return cast("Registration", self._hook(_ON_PROGRESS, fn))

    def shape_dispatch_log(self, fn: Callable[..., Any] | None = None, /) -> Registration:
        """Register a shaper of the log's copy of a sub-call's content: sync `fn(dispatch) -> blocks | None`."""
        return cast("Registration", self._hook(_SHAPER, fn))

    def set_approval_policy(self, policy: str) -> None:
        """`"ask"` (the default) asks the approver; `"never"` denies without asking. The nearest declaration wins.

        Raises:
            RegistrationError: it is neither.
        """
        self._check_alive()
        if policy not in _APPROVAL_POLICIES:
            raise RegistrationError(f"an approval policy is one of {', '.join(_APPROVAL_POLICIES)}, not {policy!r}")
        self._layer.approval = policy

    # ---- changes ----

    def _check_alive(self) -> None:
        if self._layer.disposed:
            raise RegistrationError(f"scope {self._layer.name!r} was disposed")

    def _change_observers(self) -> list[Hook]:
        above = [hook for layer in self._layer.chain for hook in layer.changes]
        return above + [hook for layer in self._layer.descendants() for hook in layer.changes]

    def _changed(self) -> None:
        for hook in self._change_observers():
            answer("an on_change observer", hook.fn)

    def _changed_quietly(self) -> None:
        self._notify_quietly(self._change_observers())

    @staticmethod
    def _notify_quietly(observers: list[Hook]) -> None:
        for hook in observers:
            try:
                answer("an on_change observer", hook.fn)
            except Exception:
                LOGGER.warning("an on_change observer raised", exc_info=True)
