"""JSON Schemas: checked once at registration, compiled, and used to validate frozen values.

Rules
- Any valid schema of drafts 4 to 2020-12; no `$schema` means 2020-12. `format` is an annotation, never an assertion.
- No schema makes the host open a file or a connection: jsonschema-rs gets a retriever that only refuses.
  A `$ref` that leads outside the document is refused at registration (the published meta-schemas are built in).
- Patterns are matched with a bound on backtracking; a pattern that would run away is a violation, not a hang.
- The schema is frozen: what was checked is what validates, whatever its author does to the original afterwards.
"""

# pyright: reportPrivateUsage=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# The modules of this package are one unit; what is private is private to it.
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

import re
from typing import Any, NoReturn, cast

import jsonschema_rs

from ._errors import RegistrationError
from ._explain import Violation, violations
from ._json import FrozenDict, NotJsonError, _depth, freeze, thaw
from ._sample import certain, is_big, sample

MAX_SCHEMA_DEPTH = 200
"""JSON levels of a schema; jsonschema-rs reads at most 255."""

_BACKTRACK_LIMIT = 100_000
"""Steps of the backtracking regex engine for one match: about a millisecond of work."""


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"schemas are never fetched: {uri}")


class Schema:
    """One compiled schema."""

    __slots__ = ("_has_unions", "_validator", "is_valid", "source")

    def __init__(self, source: object, what: str) -> None:
        """Check and compile.

        Args:
            source: The schema: a dict, or a bool.
            what: Whose schema, for messages: `tool "x": parameters`.

        Raises:
            RegistrationError: it is not a valid schema, or refers to what is not in it; the text names the place.
        """
        if not isinstance(source, (dict, bool)):
            raise RegistrationError(f"{what} must be a JSON Schema (a dict), not a {type(source).__name__}")
        try:
            frozen = freeze(cast("object", source), loose=True)
        except NotJsonError as error:
            if "deeper" in error.reason:
                raise RegistrationError(f"{what}: it is nested deeper than {MAX_SCHEMA_DEPTH} levels") from None
            raise RegistrationError(f"{what}: not JSON: {error}") from None
        if _depth(frozen) > MAX_SCHEMA_DEPTH:
            raise RegistrationError(f"{what}: it is nested deeper than {MAX_SCHEMA_DEPTH} levels")
        self.source: FrozenDict | bool = frozen
        self._validator = _compile(frozen, what)
        self._has_unions = _mentions(frozen, ("anyOf", "oneOf"))
        self.is_valid = self._validator.is_valid

    def violations(self, value: object) -> list[Violation]:
        """Everything that is wrong with a frozen value, worded for a model; empty where nothing is."""
        if self.is_valid(value):
            return []
        try:
            big = is_big(value)
            errors = self._errors_of_big(value) if big else self._validator.iter_errors(value)
            found = violations(errors, value, self.source if isinstance(self.source, dict) else {}, complete=not big)
        except ValueError:  # the value is deeper than the error objects can be
            return [Violation("", "does not fit the schema (it is too deeply nested to say where)")]
        return found or [Violation("", "does not fit the schema (it is too big to say where)")]

    def _errors_of_big(self, value: object) -> list[jsonschema_rs.ValidationError]:
        """Some errors of a big value, in bounded time: see `_sample`."""
        part, cut = sample(value)
        errors = [error for error in self._validator.iter_errors(part) if certain(error, cut)]
        if errors or self._has_unions:
            return errors
        try:
            self._validator.validate(value)  # stops at its first error; only a union's error holds all of its branches'
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


_OUTSIDE = re.compile(r"^Resource '(?P<uri>.*?)' is not present in a registry", re.DOTALL)


def _plainly(message: str) -> str:
    outside = _OUTSIDE.match(message)
    if outside is None:
        return message
    return f"the reference {outside['uri']!r} leads outside the schema, and schemas are never fetched"


def _mentions(schema: Any, words: tuple[str, ...]) -> bool:
    """Whether one of these keywords stands anywhere in it (or may: a published meta-schema is full of them)."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if any(word in node for word in words) or not str(node.get("$ref", "#")).startswith("#"):
                return True
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return False


_PROSE = ("title", "description", "$comment", "default")
"""Annotations whose text the validator never looks at."""


def _compilable(frozen: Any) -> Any:
    """A plain copy in which prose has no lone surrogates, which the validator cannot hold. The original keeps them."""
    top = thaw(frozen)
    stack = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for word in _PROSE:
                if isinstance(node.get(word), str):
                    node[word] = node[word].encode("utf-8", "replace").decode()
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return top


def _compile(frozen: Any, what: str) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(
            _compilable(frozen),
            validate_formats=False,
            retriever=_refuse,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
        )
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        raise RegistrationError(f"{what}{place}: invalid JSON Schema: {_plainly(error.message)}") from None
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        raise RegistrationError(f"{what}: invalid JSON Schema: {error}") from None
