"""The program that `codemode demo` runs, as a text file: it is shown, and run in a sealed child, never imported."""

from __future__ import annotations

from importlib import resources

PROGRAM = "look_around.py"
"""The file's name in this package."""


def demo_program() -> str:
    """The text of the program."""
    return resources.files(__name__).joinpath(PROGRAM).read_text("utf-8")
