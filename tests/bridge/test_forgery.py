"""A child that writes what it likes to its bridge: nothing it forges works, and the host stays responsive."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest

from codemode_bridge import Binding, CodeRunRequest, CodeRunResult, Limits, ProcessRuntime

# ruff: noqa: E501 - the texts are programs

HELPERS = """\
import json, os, time
def raw(data):
    data = memoryview(data)
    while data:
        data = data[os.write(3, data):]
def put(*frames):
    raw(b"".join(len(t).to_bytes(4, "big") + t for t in [f if isinstance(f, bytes) else json.dumps(f).encode() for f in frames]))
def call(i, name="echo", **args):
    return {"type": "call", "id": i, "name": name, "args": args}
done = {"type": "done", "ok": True, "has_value": True, "value": "forged", "error": None, "notes": []}
"""


async def forge(runtime: ProcessRuntime, code: str, calls: list[Any] | None = None, **limits: Any) -> CodeRunResult:
    heard = calls if calls is not None else []

    async def same(arguments: dict[str, Any]) -> Any:
        return arguments

    def echo(arguments: dict[str, Any]) -> Any:
        heard.append(arguments)  # In the order of the frames; tasks may start in any.
        return same(arguments)

    request = CodeRunRequest(HELPERS + code, {"echo": Binding("echo", (), echo)}, Limits(**limits))
    return await runtime._run(request, unrestricted=True)


async def test_a_forged_end_is_only_the_child_ending_its_own_run(runtime: ProcessRuntime) -> None:
    result = await forge(runtime, "put(done)\ntime.sleep(60)")
    assert (result.value, result.error) == ("forged", None)


@pytest.mark.parametrize("kind", ["timeout", "abort", "worker-exit", "denied", "nonsense"])
async def test_the_hosts_own_kinds_cannot_be_forged(runtime: ProcessRuntime, kind: str) -> None:
    end = f"put({{'type': 'done', 'ok': False, 'error': {{'kind': {kind!r}, 'message': 'forged'}}}})\nreturn 'honest'"
    assert (await forge(runtime, end)).value == "honest"


async def test_forged_calls_are_calls_and_nothing_else(runtime: ProcessRuntime) -> None:
    calls: list[Any] = []
    code = """
put(call(1, a=1), call(1, a="again"), call(0, a=0), call(2, "__class__"), call(3, "echo.__call__"), call(4, a=4), call(3, a=3),
    {"type": "call", "id": "5", "name": "echo", "args": {}}, {"type": "call", "id": 6, "name": "echo", "args": "x"})
replies = b""
while replies.count(b'"reply"') < 4:
    replies += os.read(3, 65536)
return sorted(json.loads(part[part.index(b"{"):])["id"] for part in replies.split(b"\\x00\\x00\\x00")[1:])
"""
    result = await forge(runtime, code, calls)
    assert result.error is None, result.error
    assert result.value == [1, 2, 3, 4]
    assert calls == [{"a": 1}, {"a": 4}]


NOISE = {
    "random bytes": "raw(os.getrandom(100_000) if hasattr(os, 'getrandom') else b'x' * 100_000)",
    "a length without a body": "raw(b'\\x00\\x10\\x00\\x00')\ntime.sleep(60)",
    "the longest length": "raw(b'\\xff' * 8)\ntime.sleep(60)",
    "half a frame and away": "raw(b'\\x00\\x00\\x00\\x50{')\nos._exit(0)",
    "empty frames": "raw(bytes(4_000))\ntime.sleep(60)",
    "replies": "put(*[{'type': 'reply', 'id': n, 'ok': True, 'value': 1} for n in range(200)])\ntime.sleep(60)",
    "ready again": "put(*[{'type': 'ready', 'pid': 1, 'sealed': True}] * 200)\ntime.sleep(60)",
    "run": "put(*[{'type': 'run', 'program': 'x'}] * 200)\ntime.sleep(60)",
    "deep nesting": "put(*[b'[' * 60_000] * 200)\ntime.sleep(60)",
    "wide nesting": "put(*[b'[' + b'[],' * 10_000_000 + b'0]'] * 1)\nput(*[b'{'] * 200)\ntime.sleep(60)",
    "long integers": "put(*[b'{\"type\":' + b'9' * 50_000 + b'}'] * 200)\ntime.sleep(60)",
    "not numbers": 'put(*[b\'{"type":"log","text":NaN}\'] * 200)\ntime.sleep(60)',
}


@pytest.mark.parametrize("title", NOISE)
async def test_noise_ends_the_child_and_no_one_else(runtime: ProcessRuntime, title: str) -> None:
    result = await forge(runtime, NOISE[title], wall_seconds=2, memory_bytes=256 << 20)
    assert result.error is not None
    assert result.error.kind in ("worker-exit", "output-limit", "timeout"), result.error
    assert (await runtime.run(CodeRunRequest("return 1"))).value == 1


FLOODS = {
    "logs": ("while True: put(*[{'type': 'log', 'text': 'x' * 100}] * 500)", "output-limit"),
    "one huge log": ("put({'type': 'log', 'text': 'x' * 20_000_000})", "output-limit"),
    "calls": (
        "n = 0\nwhile True:\n    put(*[call(n + i, 'nobody') for i in range(1, 1001)])\n    n += 1000",
        "timeout",
    ),
    "cancels": ("put(call(1))\nwhile True: put(*[{'type': 'cancel', 'id': 1}] * 5000)", "timeout"),
    "a huge value": ("put({**done, 'value': 'x' * 20_000_000})", "output-limit"),
    "a huge error": (
        "put({'type': 'done', 'error': {'kind': 'exception', 'message': 'x' * 20_000_000}})",
        "output-limit",
    ),
}


@pytest.mark.parametrize("title", FLOODS)
async def test_a_flood_ends_and_the_host_stays_responsive(runtime: ProcessRuntime, title: str) -> None:
    code, kind = FLOODS[title]
    gaps: list[float] = []

    async def watch() -> None:
        last = time.process_time()  # What the host itself did; others may have the processor meanwhile.
        while True:
            await anyio.sleep(0.005)
            gaps.append(time.process_time() - last)
            last = time.process_time()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        result = await forge(runtime, code, output_bytes=1_000_000, compute_seconds=20, wall_seconds=1.5)
        tasks.cancel_scope.cancel()
    assert result.error is not None
    assert result.error.kind == kind, result.error
    assert max(gaps, default=0) < 1.0


async def test_a_child_that_asks_and_never_listens_fills_no_memory_of_the_host(runtime: ProcessRuntime) -> None:
    code = "n = 0\nwhile True:\n    n += 1\n    put(call(n, blob='x' * 1_000_000))"
    calls: list[Any] = []
    result = await forge(runtime, code, calls, wall_seconds=1.0)
    assert result.error is not None
    assert result.error.kind == "timeout"
    assert len(calls) < 30


async def test_fifty_megabytes_cross_in_one_reply_and_in_one_value(runtime: ProcessRuntime) -> None:
    blob = "0123456789" * 5_000_000

    async def get(_: dict[str, Any]) -> str:
        return blob

    request = CodeRunRequest("text = await tools.get()\nreturn text[::-1]", {"get": Binding("get", (), get)})
    result = await runtime.run(request)
    assert result.value == blob[::-1]


async def test_a_hundred_thousand_small_frames_cross_in_order(runtime: ProcessRuntime) -> None:
    result = await runtime.run(CodeRunRequest("for n in range(100_000): print(n)"))
    assert result.logs == tuple(map(str, range(100_000)))
