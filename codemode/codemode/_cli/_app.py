"""The frame of the command line: the list of commands, loaded one at a time, and the end of the process.

Rules
- Exit codes: 0 done; 1 the program failed, a bypass, a dead upstream; 2 the user's mistake; 130 interrupted.
- A mistake of the user is words on stderr and no traceback; a traceback means a bug of ours.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterator, MutableMapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = (
    "demo",
    "run",
    "check",
    "stubs",
    "tools",
    "serve",
    "install",
    "doctor",
    "trace",
    "audit",
)
"""In the order of `--help`."""

HELP = """A language model writes one async Python program that calls many guarded tools; codemode runs it.

Start with [bold]codemode demo[/]: it looks through the current directory and needs nothing.
"""

EPILOG = """[bold]Examples[/]

$ codemode demo

$ codemode run program.py --fs .

$ codemode run -c 'return await tools.fs.glob("**/*.py")' --fs .

$ codemode tools --mcp mcp.json"""


class _Commands(MutableMapping[str, Any]):
    """The commands by name; each is imported when it is taken out."""

    def __init__(self) -> None:
        self._names: list[str] = list(COMMANDS)
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        if name not in self._names:
            self._names.append(name)
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        self._names.remove(name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names))

    def __len__(self) -> int:
        return len(self._names)


def _load(name: str) -> Any:
    module = importlib.import_module(f"codemode._cli.{name}")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.command(name, epilog=getattr(module, "EPILOG", None), context_settings={"help_option_names": ["-h", "--help"]})(
        module.command
    )
    command = get_command(app)
    command.name = name
    return command


class CommandGroup(TyperGroup):
    """typer's group over commands that are loaded one at a time."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """The order of `COMMANDS`, which help keeps."""
        return list(self.commands)


app = typer.Typer(
    name="codemode",
    cls=CommandGroup,
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from codemode import __version__

        typer.echo(f"codemode {__version__}")
        raise typer.Exit


@app.callback()
def _frame(  # pyright: ignore[reportUnusedFunction] (typer calls it)
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


class _Brief(logging.Formatter):
    """One line a record: what a person at a terminal can use. CODEMODE_DEBUG=1 brings the tracebacks back."""

    def formatException(self, ei: Any) -> str:
        return super().formatException(ei) if os.environ.get("CODEMODE_DEBUG") else ""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).rstrip("\n")


def _set_up_logging() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Brief("codemode: %(message)s"))
    handler.setLevel(logging.WARNING)
    logger = logging.getLogger("codemode")
    logger.handlers[:] = [handler]
    logger.propagate = False


def run_app(arguments: list[str] | None = None) -> int:
    """Run one command line; -> its exit code."""
    _set_up_logging()
    try:
        app(args=arguments, prog_name="codemode")
    except SystemExit as end:
        return _code(end.code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output is gone (`codemode tools | head`). Python would complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from codemode_registry import CodeModeError, RuntimeUnavailableError

        from ._terminal import complain

        if isinstance(error, RuntimeUnavailableError):  # not the user's mistake, and nothing that a traceback explains
            complain(
                f"{str(error).partition('Traceback')[0].strip().rstrip(':')}\ncodemode doctor says what holds here"
            )
            return 1
        if not isinstance(error, CodeModeError):
            raise
        complain(str(error))
        return 2
    return 0


def _code(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else 1
