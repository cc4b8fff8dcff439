"""One `ty server` process and the few messages of the language server protocol that a check needs.

What lives here: starting the process, framing, waiting with a bound, ending it. What must not: programs and stubs as
such (see `_checker`). Rules:
- The process gets no environment but a PATH, works in a private directory, and ends by itself when its standard input
  closes: so it never outlives this process, however that one ends.
- A message that does not come in time ends the process; the next check starts another one.
- Not thread-safe; the checker holds a lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

from ._diagnostic import CheckUnavailableError

#: How long one answer may take, in seconds. A check takes milliseconds; a program that makes the checker think for
#: longer than this is not checked rather than waited for.
ANSWER_SECONDS = 10.0
#: How long the process may take to end after its input closed, in seconds (measured: 0.02), before it is killed.
EXIT_SECONDS = 1.0


def find_ty() -> str:
    """The path of the ty executable that pip installed."""
    try:
        from ty import find_ty_bin
    except ImportError:
        raise CheckUnavailableError(
            "checking programs needs ty, which is not installed: pip install 'codemode-runtime[check]'"
        ) from None
    try:
        return find_ty_bin()
    except FileNotFoundError as error:
        raise CheckUnavailableError(
            f"checking programs needs the ty executable: {str(error).splitlines()[0]}"
        ) from None


class TyServer:
    """A running language server with one workspace folder."""

    def __init__(self, folder: str) -> None:
        self.pid = os.getpid()
        """The process that owns the pipes: a fork of it must not use them."""
        try:
            self._process = subprocess.Popen(
                [find_ty(), "server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={"PATH": os.defpath, "HOME": folder, "RAYON_NUM_THREADS": "2"},
                start_new_session=True,  # a terminal's Ctrl-C is for the program, not for its checker
            )
        except OSError as error:
            raise CheckUnavailableError(f"ty does not start: {error}") from error
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, name="codemode-ty-reader", daemon=True)
        self._reader.start()
        try:
            self._initialize(folder)
        except BaseException:
            self.close()
            raise

    def _initialize(self, folder: str) -> None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        uri = file_uri(folder)
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": "program"}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-32", "utf-16"]},
                    "textDocument": {"diagnostic": {}},
                },
                "initializationOptions": {
                    "diagnosticMode": "openFilesOnly",
                    "configuration": {"environment": {"python-version": version}},
                },
            },
        )
        self.notify("initialized", {})

    @property
    def alive(self) -> bool:
        """Whether the process runs and is ours."""
        return self.pid == os.getpid() and self._process.poll() is None

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Sends a message that has no answer."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a message and waits for its answer.

        Raises:
            CheckUnavailableError: no answer in time, an error for an answer, or the process ended.
        """
        self._number += 1
        number = self._number
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            try:
                answer = self._answers.get(timeout=ANSWER_SECONDS)
            except queue.Empty:
                self.close()
                raise CheckUnavailableError(f"ty did not answer within {ANSWER_SECONDS:g} s") from None
            if answer is None:
                self.close()
                raise CheckUnavailableError("ty ended while it was checking")
            if "method" in answer:
                if "id" in answer:  # a question from the server: we have no opinion
                    self._send({"jsonrpc": "2.0", "id": answer["id"], "result": None})
            elif answer.get("id") == number:
                if "error" in answer:
                    raise CheckUnavailableError(f"ty cannot check this: {answer['error'].get('message')}")
                return answer.get("result")

    def close(self) -> None:
        """Ends the process, and waits until it is gone. In a fork it does nothing: the process is the parent's."""
        process = self._process
        if self.pid != os.getpid():
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._reader is not threading.current_thread():
            self._reader.join(EXIT_SECONDS)
        if process.stdout is not None:
            process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        stdin = self._process.stdin
        try:
            if stdin is None or stdin.closed:
                raise BrokenPipeError
            stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            stdin.flush()
        except OSError:
            self.close()
            raise CheckUnavailableError("ty ended before it could check") from None

    def _read(self) -> None:
        stdout = self._process.stdout
        try:
            while stdout is not None:
                length = 0
                while line := stdout.readline().strip():
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                if not length:
                    break
                answer = json.loads(stdout.read(length))
                if isinstance(answer, dict):
                    self._answers.put(cast("dict[str, Any]", answer))
        except (OSError, ValueError):
            pass
        finally:
            self._answers.put(None)


def file_uri(path: str) -> str:
    """An absolute path as a `file:` URI."""
    return Path(path).as_uri()
