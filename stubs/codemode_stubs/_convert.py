"""JSON Schema -> shapes.

What lives here: `Converter`, which reads the schemas of all tools of one text and shares what is the same. How it
works: `convert` looks through references and combinators (`_flatten`, `_merge`) and then dispatches on `type`. Rules:
- Nothing raises: what cannot be said is `Any` with a remark, and only that part of the tree.
- A `$ref` becomes a `Declaration` keyed by what it means (`Document.identity`), made before its target is read: so
  recursion ends. An inline object becomes one keyed by its record: identical objects are declared once.
- The path is the hint for a name; a record's title is better, where it looks like a class name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._document import REFERENCES, Document
from ._flatten import STRUCTURE, flatten, mappings, reference_of, texts
from ._literals import value_literal
from ._merge import Schema, merge, types_of
from ._names import join_names, pascal
from ._prose import one_line, paragraphs
from ._remarks import MAX_VALUE, default_remark, note, remarks
from ._shapes import (
    ANY,
    ANY_OBJECT,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NONE,
    STR,
    Declaration,
    DictOf,
    Field,
    ListOf,
    Literals,
    OneOf,
    Record,
    Ref,
    Shape,
    brief,
    union,
)

#: Deepest nesting of schemas that is typed; a registry accepts 200 JSON levels, which are at most this many objects.
MAX_DEPTH = 80
#: Largest integer that is a literal: mypy reads no larger ones in an annotation.
MAX_LITERAL = 2**63 - 1
_SCALARS: dict[str, Shape] = {"string": STR, "integer": INT, "number": FLOAT, "boolean": BOOL, "null": NONE}
_OBJECT_KEYWORDS = ("properties", "required", "additionalProperties", "patternProperties", "propertyNames")
_ARRAY_KEYWORDS = ("items", "prefixItems")
_CATCH_ALL = frozenset((".*", "^.*$", "", ".+", "^.+$", "^"))


@dataclass(frozen=True, slots=True)
class Typed:
    """A shape and what its owner should say beside it."""

    shape: Shape
    remarks: tuple[str, ...] = ()
    text: str = ""
    """The description of a referenced type that is no record, for owners without one of their own."""


@dataclass(slots=True)
class _Named:
    declaration: Declaration
    typed: Typed | None = None


class Converter:
    """Reads schemas; one for all tools of a text."""

    def __init__(self) -> None:
        self.hints: dict[Shape, str] = {}
        """Where each union or set of literals was first seen: the name it gets if it is worth one."""
        self._named: dict[tuple[object, ...], _Named] = {}
        self._records: dict[Record, Declaration] = {}
        self._expanding: set[tuple[object, ...]] = set()

    def convert(self, document: Document, schema: object, hint: str, depth: int = 0, *, own: bool = False) -> Typed:
        """The shape of one schema.

        Args:
            own: the schema stands for itself (a definition, an output), so that a record carries its description.
        """
        if schema is True or schema is None or schema == {}:
            return Typed(ANY)
        if schema is False:
            return Typed(NEVER, ("never valid",))
        if not isinstance(schema, Mapping):
            return Typed(ANY, ("malformed schema",))
        if depth > MAX_DEPTH:
            return Typed(ANY, ("nested too deep",))
        if not document.spend():
            return Typed(ANY, ("schema too large",))
        node = cast("Schema", schema)
        typed = self._combined(document, node, hint, depth, own)
        if node.get("nullable") is True:
            typed = Typed(union([typed.shape, NONE]), typed.remarks, typed.text)
        if isinstance(typed.shape, (Literals, OneOf)):
            self.hints.setdefault(typed.shape, hint)
        return typed

    def records(self) -> list[Record]:
        """Every record read so far."""
        return list(self._records)

    # -- combinators ------------------------------------------------------------------------------------------------

    def _combined(self, document: Document, schema: Schema, hint: str, depth: int, own: bool) -> Typed:
        reference = reference_of(schema)
        if reference is not None:
            beside = schema.keys() & STRUCTURE
            if not beside:
                return self._reference(document, reference, hint, depth)
            key = (reference, document.identity(reference))
            if key in self._expanding:
                return self._reference(document, reference, hint, depth)
            self._expanding.add(key)
            try:
                return self.convert(document, _plain(flatten(document, schema)), hint, depth + 1, own=own)
            finally:
                self._expanding.discard(key)
        if "allOf" in schema:
            parts = mappings(schema["allOf"])
            if len(parts) == 1 and not (schema.keys() & STRUCTURE) - {"allOf"}:
                return self._with_remarks(self.convert(document, parts[0], hint, depth + 1, own=own), schema)
            return self.convert(document, _plain(flatten(document, schema)), hint, depth + 1, own=own)
        if "const" in schema or "enum" in schema:
            return self._values(schema)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), (list, tuple)) and schema[keyword]:
                return self._union(document, schema, keyword, hint, depth)
        return self._by_type(document, schema, hint, depth, own)

    def _with_remarks(self, typed: Typed, schema: Schema) -> Typed:
        return Typed(typed.shape, (*typed.remarks, *remarks(schema)), typed.text)

    def _reference(self, document: Document, reference: str, hint: str, depth: int) -> Typed:
        target = document.resolve(reference)
        if not (target is True or target is False or isinstance(target, Mapping)):
            return Typed(ANY, ("unresolved reference",))
        target = cast("object", target)
        key = document.identity(reference)
        named = self._named.get(key)
        if named is None:
            head, _, last = reference.rpartition("/")
            name = pascal(last) if head.endswith(("$defs", "definitions", "schemas")) else ""
            named = _Named(Declaration(name or hint))
            self._named[key] = named
            typed = self.convert(document, target, named.declaration.hint, depth + 1, own=True)
            text = "" if isinstance(typed.shape, Ref) else _description(target)
            named.typed = Typed(typed.shape, typed.remarks, text or typed.text)
            body = ANY if _only_itself(named.declaration, typed.shape) else typed.shape
            named.declaration.body = body
        known = named.typed
        shape = Ref(named.declaration)
        return Typed(shape, known.remarks, known.text) if known else Typed(shape)

    def _union(self, document: Document, schema: Schema, keyword: str, hint: str, depth: int) -> Typed:
        branches = cast("list[object]", schema[keyword])
        base = {key: value for key, value in schema.items() if key != keyword}
        structure = base.keys() & STRUCTURE
        if structure and not any(_says_type(branch) for branch in branches):
            wanted = list(dict.fromkeys(" + ".join(texts(one.get("required"))) for one in mappings(branches)))
            typed = self.convert(document, base, hint, depth + 1)
            extra = ["needs " + " or ".join(wanted)] if all(wanted) and len(wanted) > 1 else []
            return Typed(typed.shape, (*typed.remarks, *extra), typed.text)
        if structure - {"type"} or (structure and not all(_says_type(branch) for branch in branches)):
            core = {key: value for key, value in base.items() if key in STRUCTURE}
            branches = [_with_base(document, core, branch) for branch in branches]
        shapes: list[Shape] = []
        notes: list[str] = []
        for branch in branches:
            typed = self.convert(document, branch, _branch_hint(hint, branch), depth + 1, own=True)
            shapes.append(typed.shape)
            text = "" if typed.shape == NONE or isinstance(typed.shape, Ref) else _description(branch)
            text = text or typed.text
            if text and len(brief(typed.shape)) <= MAX_VALUE:
                text = f"{brief(typed.shape)}: {text}"
            notes.extend([text, *typed.remarks] if text else typed.remarks)
        return Typed(union(shapes), (*dict.fromkeys(notes), *remarks(base)))

    # -- plain schemas ----------------------------------------------------------------------------------------------

    def _by_type(self, document: Document, schema: Schema, hint: str, depth: int, own: bool) -> Typed:
        types = types_of(schema)
        if types is None:
            if any(keyword in schema for keyword in _OBJECT_KEYWORDS):
                types = ["object"]
            elif any(keyword in schema for keyword in _ARRAY_KEYWORDS):
                types = ["array"]
            else:
                return Typed(ANY, ("malformed schema",) if "type" in schema else tuple(remarks(schema)))
        shapes: list[Shape] = []
        notes: list[str] = []
        for name in types:
            if name in _SCALARS:
                shapes.append(_SCALARS[name])
            elif name in ("array", "object"):
                typed = (
                    self._array(document, schema, hint, depth)
                    if name == "array"
                    else self._object(document, schema, hint, depth, own)
                )
                shapes.append(typed.shape)
                notes.extend(typed.remarks)
            else:
                shapes.append(ANY)
                notes.append("unknown type")
        return Typed(union(shapes) if shapes else ANY, (*notes, *remarks(schema)))

    def _values(self, schema: Schema) -> Typed:
        declared = [schema["const"]] if "const" in schema else schema["enum"]
        if not isinstance(declared, (list, tuple)):
            return Typed(ANY, ("malformed schema",))
        types = types_of(schema)
        values = [value for value in cast("list[object]", declared) if types is None or _is_of(value, types)]
        shapes: list[Shape] = []
        unsaid: list[str] = []
        for value in values:
            text = value_literal(value)
            if isinstance(value, float) and not value.is_integer():
                shapes.append(FLOAT)
                unsaid.append(text or "")
            elif isinstance(value, (int, float)) and abs(value) > MAX_LITERAL:
                shapes.append(INT if text else FLOAT)
                unsaid.append(text or "")
            elif text is None or isinstance(value, (list, tuple, Mapping)):
                shapes.append(ANY)
                unsaid.append(text or "")
            else:
                shapes.append(NONE if value is None else Literals((text,)))
        if not shapes:
            return Typed(ANY, ("no value is valid",))
        listed = ", ".join(unsaid)
        notes = [f"one of {listed}" if len(values) > 1 else listed] if unsaid and len(listed) <= 2 * MAX_VALUE else []
        return Typed(union(shapes), (*notes, *remarks(schema)))

    def _array(self, document: Document, schema: Schema, hint: str, depth: int) -> Typed:
        prefix: object = schema.get("prefixItems")
        rest: object = schema.get("items")
        if isinstance(rest, (list, tuple)):  # up to draft 2019-09 a tuple was written as a list of items
            prefix, rest = cast("list[object]", rest), schema.get("additionalItems")
        if not isinstance(prefix, (list, tuple)):
            return Typed(ListOf(ANY)) if rest is None else self._items(document, schema["items"], hint, depth)
        places = [self.convert(document, item, hint, depth + 1) for item in cast("list[object]", prefix)]
        shapes = [place.shape for place in places]
        if isinstance(rest, Mapping):
            shapes.append(self.convert(document, cast("Schema", rest), hint, depth + 1).shape)
        order = "in order: " + ", ".join(brief(place.shape) for place in places)
        remark = (order,) if len(order) <= 2 * MAX_VALUE else ()
        return Typed(ListOf(union(shapes) if shapes else ANY), remark)

    def _items(self, document: Document, items: object, hint: str, depth: int) -> Typed:
        typed = self.convert(document, items, hint, depth + 1)
        text = _description(items) or typed.text
        each = note(text, list(typed.remarks))
        return Typed(ListOf(typed.shape), (f"each: {each}",) if each else ())

    def _object(self, document: Document, schema: Schema, hint: str, depth: int, own: bool) -> Typed:
        declared = schema.get("properties", {})
        if not isinstance(declared, Mapping):
            return Typed(ANY_OBJECT, ("malformed schema",))
        properties = cast("Schema", declared)
        required = texts(schema.get("required"))
        rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        patterns = schema.get("patternProperties")
        others = self._others(document, cast("Schema", patterns) if isinstance(patterns, Mapping) else {}, hint, depth)
        names = [*properties, *(name for name in required if name not in properties)]
        if not names and rest is not False:
            return self._open_object(document, rest, others, hint, depth)
        if not names and others:
            return Typed(DictOf(union([shape for _, shape in others])), _pattern_remarks(others))
        title = schema.get("title")
        if isinstance(title, str) and title.isascii() and title.isidentifier() and title[0].isupper():
            hint = title
        fields = tuple(
            self._field(document, name, properties.get(name, True), name in required, hint, depth) for name in names
        )
        remark = list(_pattern_remarks(others))
        if rest is True:
            remark.append("other keys allowed")
        elif isinstance(rest, Mapping):
            remark.append(f"other keys: {brief(self.convert(document, cast('Schema', rest), hint, depth + 1).shape)}")
        doc = tuple(paragraphs(schema.get("description"))) if own else ()
        invites = "additionalProperties" in schema and rest is not False
        record = Record(fields, "; ".join(remark), doc, invites or bool(others) or "" in names)
        declaration = self._records.get(record)
        if declaration is None:
            declaration = self._records[record] = Declaration(hint, record)
        return Typed(Ref(declaration))

    def _open_object(
        self, document: Document, rest: object, others: list[tuple[str, Shape]], hint: str, depth: int
    ) -> Typed:
        if rest is True and others and all(pattern in _CATCH_ALL for pattern, _ in others):
            return Typed(DictOf(union([shape for _, shape in others])))
        typed = self.convert(document, rest, hint, depth + 1)
        each = note(_description(rest) or typed.text, list(typed.remarks))
        shape = union([*(shape for _, shape in others), typed.shape])
        return Typed(DictOf(shape), (*_pattern_remarks(others), *((f"each value: {each}",) if each else ())))

    def _others(self, document: Document, patterns: Schema, hint: str, depth: int) -> list[tuple[str, Shape]]:
        return [(key, self.convert(document, value, hint, depth + 1).shape) for key, value in patterns.items()]

    def _field(self, document: Document, name: str, schema: object, required: bool, hint: str, depth: int) -> Field:
        typed = self.convert(document, schema, join_names(hint, pascal(name)), depth + 1)
        text = _description(schema) or typed.text
        extra = list(typed.remarks)
        if isinstance(schema, Mapping) and not required:
            extra.extend(default_remark(cast("Schema", schema)))
        return Field(name, typed.shape, required, note(text, extra))


def _only_itself(declaration: Declaration, shape: Shape) -> bool:
    """Whether a reference leads back to itself with no list, dict or record in between: it then says nothing."""
    if isinstance(shape, OneOf):
        return any(_only_itself(declaration, part) for part in shape.parts)
    if not isinstance(shape, Ref):
        return False
    body = shape.target.body
    return shape.target is declaration or (
        body is not None and not isinstance(body, Record) and _only_itself(declaration, body)
    )


def _description(schema: object) -> str:
    return one_line(cast("Schema", schema).get("description")) if isinstance(schema, Mapping) else ""


def _plain(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key != "allOf" and key not in REFERENCES}


def _says_type(branch: object) -> bool:
    """Whether an alternative says what its values are, by itself."""
    if not isinstance(branch, Mapping):
        return False
    keys = cast("Schema", branch).keys()
    return bool(keys & (STRUCTURE - {"required", "additionalProperties"})) or any(key in keys for key in REFERENCES)


def _with_base(document: Document, base: Schema, branch: object) -> object:
    if not isinstance(branch, Mapping):
        return base if branch is True else branch
    flat = dict(flatten(document, cast("Schema", branch)))
    return merge(flat, base)


def _branch_hint(hint: str, branch: object) -> str:
    """Alternatives of a tagged union are named by their tag."""
    properties = cast("Schema", branch).get("properties") if isinstance(branch, Mapping) else None
    for schema in cast("Schema", properties).values() if isinstance(properties, Mapping) else ():
        if isinstance(schema, Mapping):
            node = cast("Schema", schema)
            values: Any = [node["const"]] if "const" in node else node.get("enum")
            if isinstance(values, list) and len(cast("list[object]", values)) == 1 and isinstance(values[0], str):
                return join_names(hint, pascal(values[0]))
    return hint


def _pattern_remarks(others: list[tuple[str, Shape]]) -> tuple[str, ...]:
    return tuple(f"keys matching {one_line(pattern)[:MAX_VALUE]}: {brief(shape)}" for pattern, shape in others)


def _is_of(value: object, types: list[str]) -> bool:
    """Whether a JSON value has one of the types; names that JSON Schema does not know accept everything."""
    for name in types:
        if name == "number":
            found = isinstance(value, (int, float)) and not isinstance(value, bool)
        elif name == "integer":
            found = (isinstance(value, int) and not isinstance(value, bool)) or (
                isinstance(value, float) and value.is_integer()
            )
        else:
            kinds: Any = {"string": str, "boolean": bool, "null": type(None), "array": (list, tuple), "object": Mapping}
            found = isinstance(value, kinds[name]) if name in kinds else True
        if found:
            return True
    return False
