"""Runs one attack in this process, and judges what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codemode_guest.dialect import ProgramRefused, is_module, is_user_class, is_user_instance, preload
from tests.dialect import driver
from tests.run_code.guest import drive, spec

HERE = Path(__file__).parent

OF_THE_GUEST = ("guest", "report")
"""Classes of attacks on what stands around the dialect in a child."""


def own_attacks(*, guest: bool) -> list[tuple[str, str]]:
    """Our own attacks: title and program, those on the child's runner if `guest`."""
    found: list[tuple[str, str]] = []
    for path in sorted((HERE / "own").glob("*.txt")):
        if path.stem in OF_THE_GUEST and not guest:
            continue
        for part in path.read_text().split("=== ")[1:]:
            title, _, body = part.partition("\n")
            found.append((f"{path.stem}/{title}", body))
    return found


_DATA = (str, bytes, int, float, bool, type(None), list, tuple, dict, set, frozenset, range, bytearray)


def suspicious(value: Any, depth: int = 0) -> str | None:
    """Say what in a value no program should have got hold of."""
    kind: type[Any] = type(value)
    if depth > 20:
        return None
    if kind is str:
        return "an attack reports success" if value.startswith("PWNED") else None
    if kind in (list, tuple, set, frozenset):
        return next((found for item in value if (found := suspicious(item, depth + 1))), None)
    if kind is dict:
        if "__builtins__" in value or "<getattr>" in value:
            return "a globals dict"
        return next((found for item in value.values() if (found := suspicious(item, depth + 1))), None)
    if kind in _DATA or is_module(value) or is_user_class(value) or is_user_instance(value):
        return None
    if kind.__name__ in ("OpaqueType", "Environment", "coroutine", "_TypeMeta") or isinstance(value, BaseException):
        return None
    return f"an object of type {kind.__name__}"


def in_dialect(source: str) -> str:
    """Run it under the dialect alone, with tools of the tests, and judge the value itself."""
    try:
        outcome = driver.run(source)
    except ProgramRefused as error:
        return f"refused: {error}"
    found = suspicious(outcome.value)
    if found is None and "PWNED" in outcome.text:
        found = "an attack printed success"
    if found is not None:
        return f"breach: {found}: {outcome.value!r}"
    if outcome.error is not None:
        return f"error: {outcome.error}: {outcome.message}"
    return f"value: {str(outcome.value)[:300] if type(outcome.value) is str else ''}"


def in_guest(source: str) -> str:
    """Run it by the child's own runner, with the real tools, and judge the frames."""
    preload()
    tools = [spec("get_user", "user_id"), spec("github.create", "title")]
    run = drive(source, {str(each["name"]): lambda arguments: arguments for each in tools}, tools=tools)
    error = run.done["error"]
    known = {"log", "call", "cancel", "done"}
    told = json.dumps([run.done["value"], run.printed, run.calls, None if error is None else error["message"]])
    if not {frame["type"] for frame in run.frames} <= known or "PWNED" in told:
        return f"breach: {told}"
    return "value: " if error is None else f"error: {error['type']}: {error['message']}"
