"""Shapes as Python source: which of them get a name, which name, in which order, and how an annotation is spelled.

What lives here: `Declarations`, which is given everything a module needs and then writes the type section. Rules:
- Only what is used is declared, what is used comes before its users, and a cycle is closed by quoting just the name.
- A union or a set of literals gets a name only where that makes the text shorter. A record always has one.
- No declared name equals a member of any class of the module, a builtin or a name of `typing`: so an annotation means
  the same in every scope. Where a member is called `list` or `Any`, that class spells `builtins.list` or `typing.Any`.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Iterator

from ._literals import string_literal
from ._marking import MARKS
from ._names import NameTable, is_field_name
from ._prose import comment, docstring
from ._shapes import ANY, Atom, Declaration, DictOf, ListOf, Literals, OneOf, Record, Ref, Shape, brief, children

#: Deepest brackets in one annotation. CPython's tokenizer stops at 200, pyright's parser at 256; nobody reads 50.
MAX_BRACKETS = 50
#: What a union counts against it. ty's time grows fast with unions inside unions: 0.1 s at 12 levels, 2 s at 30.
UNION_COST = 3
#: Longest union that is written with `|`: each bar is a level of the compiler's and the checkers' recursion.
MAX_BARS = 40
TYPING = (
    "Any",
    "Literal",
    "LiteralString",
    "Never",
    "NotRequired",
    "Protocol",
    "TypeAlias",
    "TypedDict",
    "Union",
    "Unpack",
    "overload",
)
_BUILTINS = frozenset(dir(builtins))
#: The class of `tools["name"]` for a name that no tool has, in the form that programs are checked against.
UNKNOWN_TOOL = "UnknownTool"
_OWN = ("Tools", "ToolCallError", "tools", UNKNOWN_TOOL, *MARKS)
NO_NAMES: frozenset[str] = frozenset()


class Declarations:
    """The types of one module."""

    def __init__(self, members: Iterable[str], hints: dict[Shape, str]) -> None:
        self._members = frozenset(members)
        self._hints = hints
        self._names: dict[Declaration, str] = {}
        self._aliases: dict[Shape, Declaration] = {}
        self._order: list[Declaration] = []
        self._written: set[Declaration] = set()
        self._inlined: set[Declaration] = set()
        self._table = NameTable(self._members | _BUILTINS | frozenset(TYPING) | frozenset(_OWN))
        self._modules = {name: self._table.allocate(name) for name in ("builtins", "typing")}
        self.imports: set[str] = set()
        """Names of `typing`, and modules, that the text has used so far."""

    def allocate(self, base: str) -> str:
        """A class name of the module."""
        return self._table.allocate(base)

    # -- choosing ---------------------------------------------------------------------------------------------------

    def collect(self, roots: list[Shape]) -> None:
        """Decides what is declared, in which order and under which name; once, before anything is spelled."""
        uses: Counter[Shape] = Counter()
        reached: dict[Declaration, None] = {}  # in order: which of two equal types gives its name must not vary
        waiting: list[Shape | Record] = list(reversed(roots))
        while waiting:
            shape = waiting.pop()
            if isinstance(shape, (Literals, OneOf, Ref)):
                uses[shape] += 1
            if isinstance(shape, Ref):
                body = shape.target.body
                if body is not None and shape.target not in reached:
                    reached[shape.target] = None
                    waiting.append(body)
            else:
                waiting.extend(reversed(children(shape)))
        self._choose_references(uses, reached)
        self._choose_aliases(uses, Literals)
        self._choose_aliases(uses, OneOf)
        for root in roots:
            self._place(root)

    def _choose_references(self, uses: Counter[Shape], reached: Iterable[Declaration]) -> None:
        """A referenced type that is no record is written out where it is used, unless it is recursive or long."""
        for declaration in reached:
            body = declaration.body
            if isinstance(body, Record) or body is None:
                continue
            length = len(brief(body))
            saved = (uses[Ref(declaration)] - 1) * length - 2 * len(declaration.hint)
            simple = isinstance(body, (Ref, Atom)) or length < 30 or saved < 20
            if simple and not _reaches_itself(declaration):
                self._inlined.add(declaration)
            elif isinstance(body, (Literals, OneOf)):
                self._aliases.setdefault(body, declaration)

    def _choose_aliases(self, uses: Counter[Shape], kind: type[Literals] | type[OneOf]) -> None:
        for shape, count in uses.items():
            if isinstance(shape, kind) and count > 1 and shape not in self._aliases:
                hint = self._hints.get(shape, "Choice")
                length = len(brief(shape)) + (9 if isinstance(shape, Literals) else 0)
                if (count - 1) * length - (count + 1) * len(hint) > 20:
                    self._aliases[shape] = Declaration(hint, shape)

    def _place(self, root: Shape) -> None:
        """Adds what a shape needs, users after what they use (an iterative walk: chains of records can be long)."""
        done: set[Declaration] = set(self._order)
        entered: set[Declaration] = set(done)
        stack: list[tuple[Declaration | None, Iterator[Shape]]] = [(None, iter((root,)))]
        while stack:
            declaration, rest = stack[-1]
            shape = next(rest, None)
            if shape is None:
                stack.pop()
                if declaration is not None and declaration not in self._inlined:
                    self._order.append(declaration)
                    self._names[declaration] = self._table.allocate(declaration.hint)
                continue
            target = shape.target if isinstance(shape, Ref) else self._aliases.get(shape)
            if target is None:
                stack.append((None, iter(children(shape))))
            elif target not in entered and target.body is not None:
                entered.add(target)
                inner = target.body
                below = iter((inner,)) if isinstance(inner, Ref) else iter(children(inner))
                stack.append((target, below))

    # -- spelling ---------------------------------------------------------------------------------------------------

    def name(self, name: str, shadowed: frozenset[str] = NO_NAMES) -> str:
        """A builtin or a name of `typing`, qualified where a member of the class has taken it."""
        if name in TYPING:
            if name in shadowed:
                self.imports.add("typing")
                return f"{self._modules['typing']}.{name}"
            self.imports.add(name)
            return name
        if name in shadowed and name in MARKS:
            return self.name("Any", shadowed)
        if name in shadowed:
            self.imports.add("builtins")
            return f"{self._modules['builtins']}.{name}"
        return name

    def spell(self, shape: Shape, shadowed: frozenset[str] = NO_NAMES, depth: int = 0) -> str:
        """An annotation."""
        if isinstance(shape, Atom):
            return shape.name if shape.name == "None" else self.name(shape.name, shadowed)
        if depth > MAX_BRACKETS:
            return self.name("Any", shadowed)
        if isinstance(shape, Ref):
            return self._spell_reference(shape.target, shadowed, depth)
        alias = self._aliases.get(shape)
        if alias is not None:
            return self._spell_reference(alias, shadowed, depth)
        return self._spell_out(shape, shadowed, depth)

    def _spell_out(self, shape: Shape, shadowed: frozenset[str], depth: int) -> str:
        if isinstance(shape, ListOf):
            item = self.spell(shape.item, shadowed, depth + 1)
            return f"{self.name('ToolList' if shape.marked else 'list', shadowed)}[{item}]"
        if isinstance(shape, DictOf):
            value = self.spell(shape.value, shadowed, depth + 1)
            if shape.marked:
                return f"{self.name('ToolDict', shadowed)}[{value}]"
            text = self.name("str", shadowed)
            return f"{self.name('dict', shadowed)}[{text}, {value}]"
        if isinstance(shape, Literals):
            return f"{self.name('Literal', shadowed)}[{', '.join(shape.values)}]"
        if isinstance(shape, OneOf):
            if any(self._is_any(part) for part in shape.parts):
                return self.name("Any", shadowed)
            parts = list(dict.fromkeys(self.spell(part, shadowed, depth + UNION_COST) for part in shape.parts))
            if len(parts) > MAX_BARS or any(part.startswith('"') for part in parts):
                return f"{self.name('Union', shadowed)}[{', '.join(parts)}]"
            return " | ".join(parts)
        return self.spell(shape, shadowed, depth)

    def _spell_reference(self, target: Declaration, shadowed: frozenset[str], depth: int) -> str:
        body = target.body
        if target in self._names:
            name = self._names[target]
            return name if target in self._written else f'"{name}"'
        if body is None or isinstance(body, Record) or depth > MAX_BRACKETS:
            return self.name("Any", shadowed)
        return self.spell(body, shadowed, depth + 1)

    def _is_any(self, shape: Shape) -> bool:
        while isinstance(shape, Ref) and shape.target not in self._names:
            body = shape.target.body
            if body is None or isinstance(body, Record):
                return body is None
            shape = body
        return shape == ANY

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self) -> list[str]:
        """The type section, one block of lines for each declaration."""
        blocks: list[str] = []
        for declaration in self._order:
            body = declaration.body
            if isinstance(body, Record):
                blocks.append(self._record(declaration, body))
            elif body is not None:
                blocks.append(self._alias(declaration, body))
            self._written.add(declaration)
        return blocks

    def _alias(self, declaration: Declaration, body: Shape) -> str:
        text = self._spell_out(body, NO_NAMES, 0)
        name = self._names[declaration]
        return f"{name}: {self.name('TypeAlias')} = {text}"

    def _record(self, declaration: Declaration, record: Record) -> str:
        name = self._names[declaration]
        fields = [field for field in record.fields if field.name]  # pyright has no place for a key without a name
        notes = [record.note] if record.note else []
        notes += [f'also the key "": {field.note or "any"}' for field in record.fields if not field.name]
        remarks = [f"    # {comment(note)}" for note in notes]
        if all(is_field_name(field.name) for field in fields):
            shadowed = frozenset(field.name for field in fields)
            lines = [docstring(list(record.doc), "    ")] if record.doc else []
            for field in fields:
                text = self._field_type(field.shape, field.required, shadowed)
                lines.append(f"    {field.name}: {text}{_remark(field.note)}")
            if not fields and not record.doc:
                lines.append("    pass")
            return "\n".join([f"class {name}({self.name('TypedDict')}):", *lines, *remarks])
        lines = [f"# {comment(line)}" if line else "#" for line in record.doc]
        lines.append(f"{name} = {self.name('TypedDict')}({string_literal(name)}, {{")
        for field in fields:
            text = self._field_type(field.shape, field.required, NO_NAMES)
            lines.append(f"    {string_literal(field.name)}: {text},{_remark(field.note)}")
        return "\n".join([*lines, *remarks, "})"])

    def _field_type(self, shape: Shape, required: bool, shadowed: frozenset[str]) -> str:
        text = self.spell(shape, shadowed)
        return text if required else f"{self.name('NotRequired', shadowed)}[{text}]"

    def records(self) -> list[tuple[str, Record]]:
        """The declared records by name."""
        return [(name, target.body) for target, name in self._names.items() if isinstance(target.body, Record)]

    def declared(self, declaration: Declaration) -> str | None:
        """The name of a declaration, if it is used."""
        return self._names.get(declaration)

    def header(self) -> list[str]:
        """The import lines for what has been used."""
        lines: list[str] = []
        for module in ("builtins", "typing"):
            if module in self.imports:
                alias = self._modules[module]
                lines.append(f"import {module}" if alias == module else f"import {module} as {alias}")
        names = sorted(name for name in self.imports if name in TYPING)
        if names:
            lines.append(f"from typing import {', '.join(names)}")
        return lines


def _remark(note: str) -> str:
    return f"  # {comment(note)}" if note else ""


def _reaches_itself(declaration: Declaration) -> bool:
    """Whether a type that is no record contains itself without a record in between."""
    seen: set[Declaration] = set()
    waiting: list[Shape] = [declaration.body] if declaration.body and not isinstance(declaration.body, Record) else []
    while waiting:
        shape = waiting.pop()
        if isinstance(shape, Ref):
            if shape.target is declaration:
                return True
            body = shape.target.body
            if shape.target not in seen and body is not None and not isinstance(body, Record):
                seen.add(shape.target)
                waiting.append(body)
        else:
            waiting.extend(children(shape))
    return False
