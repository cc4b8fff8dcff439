"""Real servers for the tests of this room: some ours, some from npm and PyPI, started as processes."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SERVERS = Path(__file__).parent / "servers"

NPM_SERVERS = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
"""Pinned: a test of ours must not change with somebody's release."""

LEFT_STREAMS = "ignore:Async generator 'http(x|core)2:ResourceWarning"
"""The SDK's HTTP client leaves its response streams to the garbage collector, which trio remarks."""

INSTALL_SECONDS = 240.0
"""`npm install` takes about five; a cold or crowded machine needs more."""


def _required(reason: str) -> None:
    """Skips, or fails where the servers have to be there (CI)."""
    if os.environ.get("CODEMODE_REQUIRE_SERVERS"):
        pytest.fail(reason)
    pytest.skip(reason)


def _cache_folder() -> Path:
    base = os.environ.get("CODEMODE_TEST_CACHE") or os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base else Path(tempfile.gettempdir())
    key = hashlib.sha256(json.dumps(NPM_SERVERS, sort_keys=True).encode()).hexdigest()[:12]
    return folder / f"codemode-test-servers-{os.getuid()}-{key}"


def _install(folder: Path) -> None:
    """Installs into a folder of its own and moves it into place whole, so that workers never see half of it."""
    npm = shutil.which("npm")
    if npm is None:
        _required("npm is not installed: the MCP servers from npm cannot be tested")
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="codemode-npm-") as staging:
        names = [f"{name}@{version}" for name, version in NPM_SERVERS.items()]
        command = [npm, "install", "--prefix", staging, "--ignore-scripts", "--no-audit", "--no-fund", *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        if done.returncode:
            _required(f"npm could not install the MCP servers: {done.stderr.strip()[-300:]}")
        try:
            os.rename(staging, folder)
        except OSError:
            return  # another worker was first
        Path(staging).mkdir()


@pytest.fixture(scope="session")
def npm_servers() -> Path:
    """The folder with the commands of the npm servers."""
    folder = _cache_folder()
    commands = folder / "node_modules" / ".bin"
    if not commands.exists():
        _install(folder)
    if not commands.exists():
        _required("the MCP servers from npm are not installed")
    return commands


@pytest.fixture(scope="session")
def python_server() -> Callable[[str], str]:
    """The command of a server that is installed beside this Python."""

    def find(name: str) -> str:
        command = Path(sys.executable).parent / name
        if not command.exists():
            _required(f"{name} is not installed (extra dev)")
        return str(command)

    return find


@pytest.fixture
def collected_streams() -> Iterator[None]:
    """Collects what the SDK's HTTP client left, so that the remark comes in the test that expects it."""
    yield
    gc.collect()


@pytest.fixture
def odd() -> Callable[..., dict[str, Any]]:
    """The configuration of a server that does odd things."""

    def configure(*features: str, **fields: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(SERVERS / "odd.py"), *features], **fields}

    return configure


@pytest.fixture
def modern() -> dict[str, Any]:
    """The configuration of a server of the 2026-07-28 protocol, over stdio."""
    return {"command": sys.executable, "args": [str(SERVERS / "modern.py")]}


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class HttpServer:
    """`modern.py` over HTTP, which can be stopped and started again at the same address."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it takes connections."""
        self._process = subprocess.Popen([sys.executable, str(SERVERS / "modern.py"), "http", str(self.port)])
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
            except OSError:
                if self._process.poll() is not None:
                    raise RuntimeError("the HTTP server ended at once") from None
                time.sleep(0.02)  # a process that starts can only be asked
            else:
                return
        raise TimeoutError("the HTTP server does not listen")

    def stop(self) -> None:
        """Kills it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def http_server(free_port: int) -> Iterator[HttpServer]:
    """A server over HTTP."""
    server = HttpServer(free_port)
    server.start()
    yield server
    server.stop()
