"""Every runtime that ships passes the conformance suite, and the suite finds what is wrong with one that does not."""

from __future__ import annotations

import pytest

from codemode_bridge import CodeRunRequest, CodeRunResult, ProcessRuntime, SelfCheckFailed, Usage, runtime_self_check
from codemode_registry import CodeModeError, RuntimeUnavailableError


async def test_forked_children_pass_the_self_check(runtime: ProcessRuntime) -> None:
    await runtime_self_check(runtime)


async def test_children_forked_when_they_are_needed_pass_the_self_check() -> None:
    async with ProcessRuntime(warm=0) as cold:
        await runtime_self_check(cold)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # A new interpreter for each of its runs: once is enough.
async def test_spawned_children_pass_the_self_check() -> None:
    async with ProcessRuntime(start="spawn", warm=1) as spawned:
        await runtime_self_check(spawned)


async def test_the_self_check_tells_all_that_is_wrong_with_a_broken_runtime() -> None:
    class Broken(ProcessRuntime):
        async def run(self, request: CodeRunRequest) -> CodeRunResult:
            return CodeRunResult(value="always this", has_value=True, usage=Usage())

    async with Broken(warm=0) as broken:
        with pytest.raises(SelfCheckFailed) as caught:
            await runtime_self_check(broken)
    failed = "\n".join(caught.value.failures)
    for title in ("returns values", "keeps logs", "reports syntax", "bounds output", "obeys cancel"):
        assert title in failed


async def test_a_closed_runtime_refuses_to_run(runtime: ProcessRuntime) -> None:
    await runtime.aclose()
    with pytest.raises(CodeModeError, match="closed"):
        await runtime.run(CodeRunRequest("return 1"))
    await runtime.aclose()


async def test_a_missing_interpreter_is_unavailable_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    async with ProcessRuntime(warm=0, start="spawn") as spawned:
        with pytest.raises(RuntimeUnavailableError, match=r"/nonexistent/python|cannot be started"):
            await spawned.run(CodeRunRequest("return 1"))


async def test_a_guest_that_cannot_import_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["-I", "-S", "-c", "import missing_module_of_the_test"]
    monkeypatch.setattr("codemode_bridge._zygotes.guest_command", lambda mode: [__import__("sys").executable, *command])
    async with ProcessRuntime(warm=0, start="spawn") as spawned:
        with pytest.raises(RuntimeUnavailableError, match="missing_module_of_the_test"):
            await spawned.run(CodeRunRequest("return 1"))


async def test_the_report_names_each_layer_and_how_it_was_tried(runtime: ProcessRuntime) -> None:
    layers = {layer.name: layer for layer in await runtime.report()}
    for name in ("resource-limits", "no-new-privileges", "not-dumpable", "seccomp", "seccomp-kill"):
        assert layers[name].holds, layers[name]
        assert layers[name].tried
    assert runtime.isolation == "sealed-process"


@pytest.mark.parametrize(
    ("options", "name"), [({"warm": -1}, "warm"), ({"seal": "maybe"}, "seal"), ({"start": "clone"}, "start")]
)
def test_a_bad_option_names_itself(options: dict[str, object], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ProcessRuntime(**options)  # type: ignore[arg-type]
