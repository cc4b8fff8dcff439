"""The front door of the command line: `codemode` and `python -m codemode`.

Here is only what must work without the extra [cli]: saying how to get it; and what goes before any other file is
opened or imported, the start of the children's zygote among it.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys

_NEEDED = ("typer", "rich", "pydantic_settings")
_RUN_A_PROGRAM = ("run", "demo")
"""Commands whose children's zygote comes up while this process imports what it needs."""
_YOUNG_OBJECTS = 50_000
"""Objects between two looks for garbage: with Python's 700, a command looks a hundred times while it only imports."""


def _open_closed_streams() -> None:
    """Who starts us may have closed standard streams: no other file may get their numbers, and nothing is None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)  # The lowest free number: the one that is missing.
            os.set_inheritable(nothing, True)
            setattr(sys, name, open(nothing, mode, encoding="utf-8"))  # noqa: SIM115 - it stays open


def main() -> None:
    """Run the command line and exit with its code."""
    _open_closed_streams()
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"codemode: the command line needs {', '.join(missing)}: pip install 'codemode-runtime[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    gc.set_threshold(_YOUNG_OBJECTS)
    if sys.argv[1:2] and sys.argv[1] in _RUN_A_PROGRAM and os.environ.get("CODEMODE_START") != "late":
        from codemode_bridge._zygotes import begin

        begin()
    from codemode._cli._app import run_app

    sys.exit(run_app())


if __name__ == "__main__":
    main()
