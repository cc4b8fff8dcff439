"""The front door of the command line: `codemode` and `python -m codemode`.

Here is only what must work without the extra [cli]: saying how to get it.
"""

from __future__ import annotations

import importlib.util
import sys

_NEEDED = ("typer", "rich", "pydantic_settings")


def main() -> None:
    """Run the command line and exit with its code."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"codemode: the command line needs {', '.join(missing)}: pip install 'codemode-runtime[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from codemode._cli._app import run_app

    sys.exit(run_app())


if __name__ == "__main__":
    main()
