"""Running the real command line, through pipes and on a terminal of its own."""

from __future__ import annotations

import errno
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 60
"""How long any command may take here before the test fails: a bound, not an expectation."""

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A small environment whose state folder is the test's own."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "LANG": "C.UTF-8",
        "COLUMNS": "120",
        **more,
    }


def codemode(*words: str, cwd: Path, input: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, through pipes."""
    home = cwd / ".home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "codemode", *words],
        cwd=cwd,
        env=environment(home, **more),
        input=input,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


class Terminal:
    """A command on a terminal of its own, with somebody who reads and types."""

    def __init__(self, *words: str, cwd: Path, **more: str) -> None:
        home = cwd / ".home"
        home.mkdir(exist_ok=True)
        env = environment(home, TERM="xterm-256color", **more)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # the child: nothing but exec
            try:
                os.chdir(cwd)
                os.execve(sys.executable, [sys.executable, "-m", "codemode", *words], env)
            finally:
                os._exit(127)
        self.raw = ""
        self.code: int | None = None

    @property
    def text(self) -> str:
        """What stood on the screen so far, without colours and cursor movements."""
        return _CONTROLS.sub("", self.raw).replace("\r\n", "\n")

    def expect(self, text: str) -> None:
        """Read until a text is there."""
        deadline = time.monotonic() + SECONDS
        while text not in self.text:
            if not self._read(deadline):
                raise AssertionError(f"the command ended, or said nothing more; {text!r} is not in:\n{self.text}")

    def send(self, text: str) -> None:
        """Type."""
        os.write(self._fd, text.encode())

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the command alone."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Read to the end; -> the exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline):
            pass
        os.close(self._fd)
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                return self.code
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"the command did not end:\n{self.text}")

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError as error:
            if error.errno == errno.EIO:  # the last one who had the terminal open is gone
                return False
            raise
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
