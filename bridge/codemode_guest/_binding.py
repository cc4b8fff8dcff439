"""From the arguments of a Python call to the arguments object of a tool.

The forms, and nothing else:

    tools.search(query="x", limit=3)      keywords alone: the arguments object as it is
    tools.search({"query": "x"})          one positional dict: the arguments object
    tools.search("x", 3)                  positional values fill the parameters in the order of the stub
    tools.search("x", limit=3)            and keywords add to them, of names that the signature has
    tools.echo({"any": "thing"})          one parameter, and the dict does not name it: the dict is its value

Whatever is ambiguous, surplus or given twice raises TypeError here, in the program, at the call, with the signature
in its text; no number is taken and nothing is sent. Whether the arguments are right for the tool is for the schema
in the host to say: a missing or unknown name is an ordinary failed call.
"""

# Values of programs have no types that a checker could know.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["bind"]


def bind(
    shown: str,
    signature: str,
    parameters: Sequence[str],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> dict[object, object]:
    """Make the arguments object of one call.

    Args:
        shown: the tool as the program writes it, `tools.search`.
        signature: one line that says how it is called, for the texts.
        parameters: its parameters in the order of the stub.
        args: the positional values of the call.
        kwargs: the keyword values of the call.

    Returns:
        The arguments object, not yet checked to be JSON.

    Raises:
        TypeError: the call can be read in no way or in two ways.
    """
    if not args:
        return {name: value for name, value in kwargs.items()}  # noqa: C416 - the keys' type is wider
    first = args[0]
    if len(args) == 1 and isinstance(first, dict) and _is_arguments_object(first, parameters, bool(kwargs)):
        if kwargs:
            raise TypeError(
                f"{shown}() got an arguments dict and keywords as well: put all into one; signature: {signature}"
            )
        return dict(dict.items(first))
    if len(args) > len(parameters):
        raise TypeError(_surplus(shown, signature, parameters, args))
    bound: dict[object, object] = dict(zip(parameters, args, strict=False))
    for name, value in kwargs.items():
        if name in bound:
            raise TypeError(f"{shown}() got multiple values for argument '{name}'; signature: {signature}")
        if name not in parameters and "**" not in signature:
            raise TypeError(f"{shown}() got an unexpected keyword argument '{name}'; signature: {signature}")
        bound[name] = value
    return bound


def _is_arguments_object(value: Mapping[object, object], parameters: Sequence[str], mixed: bool) -> bool:
    """Whether a single positional dict is the whole arguments object rather than the first parameter's value."""
    if mixed:
        return all(key in parameters for key in value)
    if len(parameters) == 1:
        return not value or parameters[0] in value
    return True


def _surplus(shown: str, signature: str, parameters: Sequence[str], args: tuple[object, ...]) -> str:
    most = len(parameters)
    takes = "no positional arguments" if not most else f"at most {most} positional argument{'s' * (most != 1)}"
    given = f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
    return f"{shown}() takes {takes} but {given}; signature: {signature}"
