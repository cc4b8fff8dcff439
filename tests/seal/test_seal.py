"""The dialect is broken: plain CPython runs in a sealed child, and nothing it tries works."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codemode_bridge import CodeRunRequest, Limits, ProcessRuntime, run_unrestricted
from codemode_bridge._wire import Ready
from codemode_bridge._zygotes import HOUSE
from codemode_registry import RuntimeUnavailableError
from tests.seal.hostile import HELPERS, HOSTILE

# How a refused attempt shows: the kernel's no, what the standard library makes of it, or death (no type).
HELD_BY = {
    None, "PermissionError", "OSError", "FileNotFoundError", "ChildProcessError", "ModuleNotFoundError", "ImportError",
    "ValueError", "AttributeError", "LookupError", "gaierror", "herror", "itimer_error",
}  # fmt: skip
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the raw numbers of hostile.py are x86-64's")


@pytest.mark.parametrize("title", HOSTILE)
async def test_it_is_refused_to(runtime: ProcessRuntime, title: str) -> None:
    result = await run_unrestricted(HELPERS + HOSTILE[title], runtime=runtime, limits=Limits(wall_seconds=20))
    assert result.error is not None, f"{title}: worked"
    assert result.error.kind in ("exception", "worker-exit"), result.error
    assert result.error.type in HELD_BY, result.error


async def test_a_child_inherits_nothing(runtime: ProcessRuntime) -> None:
    code = (
        HELPERS
        + """
import resource
here = []
for number in range(256):
    try:
        os.read(number, 0)
        here.append(number)
    except OSError:
        pass
names = ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE")
limits = {name: resource.getrlimit(getattr(resource, name))[1] for name in names}
return {"environment": dict(os.environ), "arguments": sys.argv, "descriptors": here, "limits": limits}
"""
    )
    result = await run_unrestricted(code, runtime=runtime)
    assert result.error is None, result.error
    assert result.value == {
        "environment": {},
        "arguments": [""],
        "descriptors": [0, 1, 2, 3],
        "limits": {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 64},
    }


async def test_randomness_is_fresh_in_each_child(runtime: ProcessRuntime) -> None:
    code = "import random, uuid, secrets, os\nreturn [random.random(), str(uuid.uuid4()), secrets.token_hex(8)]"
    seen = [tuple((await run_unrestricted(code, runtime=runtime)).value) for _ in range(4)]  # type: ignore[arg-type]
    for column in zip(*seen, strict=True):
        assert len(set(column)) == len(seen)
    program = "import random, uuid\nreturn [random.random(), str(uuid.uuid4())]"
    seen = [tuple((await runtime.run(CodeRunRequest(program))).value) for _ in range(4)]  # type: ignore[arg-type]
    for column in zip(*seen, strict=True):
        assert len(set(column)) == len(seen)


async def test_nothing_of_one_run_is_visible_to_the_next(runtime: ProcessRuntime) -> None:
    spoil = "import builtins, json, sys\nbuiltins.len = None\njson.dumps = None\nsys.modules['codemode_left'] = 1"
    look = "import builtins, json, sys\nreturn [builtins.len([1]), json.dumps(1), 'codemode_left' in sys.modules]"
    await run_unrestricted(spoil, runtime=runtime)
    assert (await run_unrestricted(look, runtime=runtime)).value == [1, "1", False]


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


async def test_the_kernel_confirms_the_seal_of_a_waiting_child(runtime: ProcessRuntime) -> None:
    from codemode_bridge._children import become_ready

    child = await runtime._pool.take()
    try:
        await become_ready(child)
        status = status_of(child.pid)
        zygote = HOUSE._current
        assert zygote is not None
        assert status["Seccomp"] == "2"
        assert status["NoNewPrivs"] == "1"
        assert status["Threads"] == "1"
        assert int(status["PPid"]) == zygote.pid
        assert status["CapEff"].strip("0") == "" or os.geteuid() != 0
        assert os.getsid(child.pid) == child.pid
        if os.geteuid() == 0:
            assert "0" not in status["Uid"].split()
    finally:
        child.end()


async def test_a_child_that_is_not_sealed_gets_no_program_where_that_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ProcessRuntime(warm=0) as strict, ProcessRuntime(warm=0, seal="preferred") as lenient:

        def unsealed(_: object, frame: dict[str, object]) -> Ready:
            pid = frame["pid"]
            assert isinstance(pid, int)
            return Ready(pid, False)

        monkeypatch.setattr("codemode_bridge._wire.HostWire._ready", unsealed)
        with pytest.raises(RuntimeUnavailableError, match="cannot be sealed"):
            await strict.run(CodeRunRequest("return 1"))
        assert (await lenient.run(CodeRunRequest("return 1"))).value == 1
        assert lenient.isolation == "process"


_SAMPLE = ["open('/etc/passwd')", "import socket; socket.socket()", "import os; os.fork()", "import os; os.kill(1, 0)"]


def _as_ordinary_user(program: str) -> subprocess.CompletedProcess[str]:
    """Root runs it as another user, who keeps just the right to read what root can (the interpreter may lie there)."""
    capability = "+dac_read_search"
    command = ["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", f"--inh-caps={capability}",
               f"--ambient-caps={capability}", sys.executable, "-c", program]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd="/")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv to change the user"
)
def test_an_ordinary_user_has_the_same_seal() -> None:
    program = f"""
import os, sys
sys.path[:0] = {sys.path!r}
import anyio
from codemode_bridge import ProcessRuntime, run_unrestricted, runtime_self_check
assert os.getuid() == 61234
async def main():
    async with ProcessRuntime() as runtime:
        await runtime_self_check(runtime)
        layers = {{layer.name: layer for layer in await runtime.report()}}
        for name in ("no-new-privileges", "not-dumpable", "seccomp", "seccomp-kill"):
            assert layers[name].holds, layers[name]
        for code in {_SAMPLE!r}:
            assert (await run_unrestricted(code, runtime=runtime)).error is not None, code
        print("held")
anyio.run(main)
"""
    done = _as_ordinary_user(program)
    assert (done.stdout, done.returncode) == ("held\n", 0), done.stderr
