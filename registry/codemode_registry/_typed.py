"""A Python function as a tool: its annotations are the schemas, its docstring the descriptions.

Rules
- Everything of pydantic proper is here, and nobody imports this module before a function is made a tool.
- The schema decides what JSON is accepted: the arguments are checked against it first, strictly (`true` is no integer,
  `"1"` is none, `1.0` is one). Only then does pydantic make the annotated types of them. So schema and stub are true.
- The function's own defaults are its defaults; an argument that did not come is not passed.
- What it returns is dumped by pydantic to JSON, as the return annotation says, and checked against that schema.
- Arguments for the function are plain objects of its own: it may change them. (`ctx.call.arguments` is frozen.)
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# What comes in is looked at, not trusted to a type.

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, PydanticUndefined

from ._annotations import is_async_callable, is_context, read_signature, unwrapped
from ._docstring import parse_docstring
from ._errors import RegistrationError
from ._json import freeze, thaw
from ._tool import Tool, ToolAnnotations
from ._typed_body import Parameter, TypedBody

_OPTIONS = frozenset(
    name
    for name, parameter in inspect.signature(Tool).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in ("parameters", "output")
)
_HINTS = frozenset(inspect.signature(ToolAnnotations).parameters)


class _Generator(GenerateJsonSchema):
    """JSON Schemas as short as they can be: no invented titles; what is always dumped is required."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        if self.mode == "serialization" and field["type"] in ("model-field", "dataclass-field"):
            return not field.get("serialization_exclude") and not field.get("serialization_exclude_if")
        return super().field_is_required(field, total)


def function_tool(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None, **options: Any
) -> Tool:
    """A `Tool` made of a function.

    Args:
        function: Any callable with annotated parameters; async or sync.
        name: The tool's name; the function's own by default.
        description: The docstring's first paragraph by default.
        options: The keyword arguments of `Tool` but the schemas.

    Raises:
        RegistrationError: a parameter or the result cannot be a schema.
    """
    if not callable(function):
        raise RegistrationError(f"a tool is made of a function, not of {function!r:.80}")
    own = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    name = name if name is not None else str(own or type(function).__name__)
    what = f"tool {name!r}"
    _check_options(options, what)
    plain = unwrapped(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise RegistrationError(f"{what}: a generator cannot be a tool; return a list")
    summary, described = parse_docstring(getattr(function, "__doc__", None) if _has_own_doc(function) else None)
    signature, hints = read_signature(function, what)
    body = _body(function, signature, hints, described, what)
    parameters = _parameters_schema(body, what)
    output = None if signature.return_annotation is inspect.Signature.empty else _output_schema(body.returns, what)
    body.returns_open = output is None or _lets_json_through(output, output.get("$defs", {}), frozenset())
    return Tool(
        name,
        description if description is not None else summary,
        body,
        parameters=parameters,
        output=output,
        **options,
    )


def _check_options(options: Mapping[str, Any], what: str) -> None:
    for option in options:
        if option in _HINTS:
            raise RegistrationError(f"{what}: {option} is a hint: annotations=ToolAnnotations({option}=...)")
        if option not in _OPTIONS:
            raise RegistrationError(f"{what}: there is no option {option!r}; there are {', '.join(sorted(_OPTIONS))}")


def _has_own_doc(function: Callable[..., Any]) -> bool:
    return not isinstance(function, functools.partial)


def _body(
    function: Callable[..., Any],
    signature: inspect.Signature,
    hints: Mapping[str, Any],
    described: Mapping[str, str],
    what: str,
) -> TypedBody:
    parameters: dict[str, Parameter] = {}
    positional: list[str] = []
    context: str | None = None
    for name, item in signature.parameters.items():
        if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
            raise RegistrationError(f"{what}: *{name} has no schema; name each parameter")
        annotation = hints.get(name, Any if item.annotation is item.empty else item.annotation)
        if item.kind is item.POSITIONAL_ONLY:
            positional.append(name)
        if is_context(annotation):
            context = name
            continue
        place = f"{what}: parameter {name!r}"
        parameters[name] = _parameter(name, annotation, item.default, described.get(name), place)
    returned = hints.get("return", Any)
    if signature.return_annotation is inspect.Signature.empty:
        returned = Any
    return TypedBody(
        function,
        parameters,
        tuple(positional),
        context,
        _adapter(returned, f"{what}: its return annotation"),
        is_async_callable(function),
    )


def _parameter(name: str, annotation: Any, default: Any, description: str | None, what: str) -> Parameter:
    if not isinstance(default, FieldInfo):
        required = default is inspect.Parameter.empty
        return Parameter(name, _adapter(annotation, what), required, description=description)
    adapter = _adapter(typing.Annotated[annotation, default], what)
    factory = cast("Callable[[], Any] | None", default.default_factory)
    given = default.default if default.default is not ... else PydanticUndefined
    required = factory is None and given is PydanticUndefined
    return Parameter(name, adapter, required, given, factory, description)


def _adapter(annotation: Any, what: str) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, ValueError, NameError) as error:
        raise RegistrationError(f"{what}: pydantic has no schema for {annotation!r}: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _parameters_schema(body: TypedBody, what: str) -> dict[str, Any]:
    for parameter in body.parameters.values():
        try:
            parameter.adapter.json_schema(schema_generator=_Generator)
        except PydanticUserError as error:
            reason = f"has no JSON Schema: {_first_line(error)}"
            raise RegistrationError(f"{what}: parameter {parameter.name!r} {reason}") from None
    inputs = [(parameter.name, "validation", parameter.adapter) for parameter in body.parameters.values()]
    made, shared = TypeAdapter.json_schemas(cast("Any", inputs), schema_generator=_Generator)
    schemas = {key[0]: dict(schema) for key, schema in made.items()}
    signature = inspect.signature(body.function)
    properties: dict[str, Any] = {}
    for name, parameter in body.parameters.items():
        entry = schemas[cast("Any", name)]
        if parameter.description and "description" not in entry:
            entry["description"] = parameter.description
        default = parameter.default
        if default is PydanticUndefined and not parameter.required and parameter.factory is None:
            default = signature.parameters[name].default
        if default is not PydanticUndefined and "default" not in entry:
            try:
                dumped = parameter.adapter.dump_python(default, mode="json", by_alias=True, warnings=False)
                entry["default"] = thaw(freeze(dumped))
            except (PydanticSerializationError, ValueError, TypeError):
                entry.pop("default", None)  # a default without a JSON form is not shown
        properties[name] = entry
        if not _lets_json_through(entry, shared.get("$defs", {}), frozenset()):
            body.parameters[name] = replace(parameter, is_open=False)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [parameter.name for parameter in body.parameters.values() if parameter.required]
    if required:
        schema["required"] = required
    if shared.get("$defs"):
        schema["$defs"] = shared["$defs"]
    return schema


def _lets_json_through(schema: Any, shared: Mapping[str, Any], above: frozenset[str]) -> bool:
    """Whether pydantic may hand some part of a value of this schema to the function as it came."""
    if not isinstance(schema, dict):
        return True
    parts: list[Any] = [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, ())]
    ref = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    kind = schema.get("type")
    if ref:
        parts += [shared.get(ref)] if ref not in above else []
        above = above | {ref}
    elif kind == "array":
        parts += [*schema.get("prefixItems", ())]
        parts += [schema.get("items")] if "items" in schema or not parts else []
    elif kind == "object":
        parts += [*schema.get("properties", {}).values()]
        rest = schema.get("additionalProperties", bool(not parts))
        parts += [rest] if rest is not False else []
    elif not parts and kind not in ("string", "integer", "number", "boolean", "null") and "enum" not in schema:
        return "const" not in schema
    return any(_lets_json_through(part, shared, above) for part in parts)


def _output_schema(returns: TypeAdapter[Any], what: str) -> dict[str, Any] | None:
    try:
        schema = returns.json_schema(mode="serialization", schema_generator=_Generator)
    except PydanticUserError as error:
        raise RegistrationError(f"{what}: its result has no JSON Schema: {_first_line(error)}") from None
    return schema or None
