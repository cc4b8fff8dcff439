"""The command line. One command a file: `codemode NAME` is `_cli/NAME.py`, found when it is asked for.

A command's module has `command`, a function with typer's annotations, and imports what is heavy (the registry, rich)
inside of it, so that help, completion and the other commands do not pay for it. Nothing is imported here.
"""
