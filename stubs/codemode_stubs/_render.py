"""The stub module's text, from one source in three forms.

What lives here: `render_stubs`, the spine: read all tools, choose and write the types, write the classes of namespaces
and of `tools`. The forms:
- `pyi`: a module. It parses, executes and passes mypy --strict, pyright strict and ty, as .pyi and as .py (so each
  method ends in `...`). Exotic names have a `__getitem__` overload as well as the underscore method.
- `prompt`: the same without what only a checker needs.
- `check`: for the checker that reads a program against it: every form of a call that runs is an overload, every tool
  answers to its subscript, no documentation. Same tools, same bytes, whatever the order they are given in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from ._convert import Converter
from ._declare import NO_NAMES, UNKNOWN_TOOL, Declarations
from ._documentation import class_documentation, documentation, shared_notes
from ._literals import string_literal
from ._marking import CLASSES, Marker
from ._methods import Method, read_method
from ._names import join_names, pascal
from ._owners import Owner
from ._prose import docstring
from ._shapes import Ref, Shape
from ._spelling import Spelling, method_spellings
from ._tool import ToolLike, tool_key

Form: TypeAlias = Literal["pyi", "prompt", "check"]
Forms: TypeAlias = Literal["all", "names", "dict"]
_FORMS = ("pyi", "prompt", "check")

_ERROR = """\
class ToolCallError(Exception):
    name: str
    tool_name: str
    message: str"""


def render_stubs(tools: Sequence[ToolLike], *, form: Form = "pyi") -> str:
    """The tools as the text of a Python module.

    Args:
        tools: what a scope sees, in any order.
        form: `"pyi"`, `"prompt"` or `"check"` (see the module's rules).

    Returns:
        Source text that ends with a line end.
    """
    if form not in _FORMS:
        raise ValueError(f"form must be one of {', '.join(_FORMS)}, not {form!r}")
    return Module(tools, form).text()


class Module:
    """One stub module.

    Args:
        tools: what it shows, in any order.
        form: see the module's rules.
        forms: of the form `check`: which forms of a call it has.
    """

    def __init__(self, tools: Sequence[ToolLike], form: Form, forms: Forms = "all") -> None:
        self._form = form
        self._forms = forms
        ordered = sorted(tools, key=tool_key)
        self._tools = {tool.full_name: tool for tool in ordered}
        converter = Converter()
        spelled = zip(ordered, method_spellings(ordered), strict=True)
        self._methods = [read_method(tool, spelling, converter) for tool, spelling in spelled]
        self._marker = Marker()
        if form == "check":
            self._methods = [replace(one, returns=self._marker.mark(one.returns)) for one in self._methods]
        self._groups: dict[str | None, list[Method]] = {None: []}
        for method in self._methods:
            self._groups.setdefault(method.spelling.namespace, []).append(method)
        self._spaces = {
            space: methods[0].spelling.namespace_attribute
            for space, methods in self._groups.items()
            if space is not None
        }
        members = {method.spelling.method for method in self._methods} | set(self._spaces.values())
        fields = (field.name for shape in converter.records() for field in shape.fields)
        self._types = Declarations({name for name in members if name} | set(fields), converter.hints)
        self._classes = {space: self._types.allocate(join_names(pascal(space), "Tools")) for space in self._spaces}
        self._callables: dict[str, str] = {}

    def text(self) -> str:
        """The module's source."""
        for method in self._methods:
            if self._needs_callable(method):
                self._callables[method.spelling.full_name] = self._types.allocate(join_names(method.hint, "Tool"))
        self._types.collect(list(self._roots()))
        blocks = self._types.write()
        for method in self._methods:
            if method.spelling.full_name in self._callables:
                blocks.append(self._callable(method))
        if self._form == "check":
            blocks.append(f"class {UNKNOWN_TOOL}: ...\n{CLASSES}")
        blocks += [self._class(name, self._groups[space], {}) for space, name in sorted(self._classes.items())]
        blocks.append(self._class("Tools", self._groups[None], self._spaces))
        blocks.append("tools: Tools")
        blocks.append(_ERROR)
        parts = ["\n".join(self._types.header()), *blocks]
        separator = "\n" if self._form == "prompt" else "\n\n"
        return separator.join(part for part in parts if part) + "\n"

    def _roots(self) -> Iterable[Shape]:
        for method in self._methods:
            if method.spelling.dict_form or self._form == "check":
                yield Ref(method.record)
            if not method.spelling.dict_form:
                yield from (parameter.shape for parameter in method.parameters)
            if method.extra is not None:
                yield method.extra
            yield method.returns

    # -- entries ----------------------------------------------------------------------------------------------------

    def _needs_callable(self, method: Method) -> bool:
        if self._form == "check":
            return True
        return method.spelling.method is None or (
            self._form == "pyi" and method.spelling.method != method.spelling.name
        )

    def _parameters(self, method: Method, shadowed: frozenset[str]) -> str:
        if method.spelling.dict_form:
            optional = "" if method.spelling.required else " = ..."
            return f"self, args: {self._types.spell(Ref(method.record), shadowed)}{optional}"
        parts = ["self"]
        for parameter in method.parameters:
            text = f"{parameter.name}: {self._types.spell(parameter.shape, shadowed)}"
            parts.append(text if parameter.default is None else f"{text} = {parameter.default}")
        if method.extra is not None:
            parts.append(self._extra(method, shadowed))
        return ", ".join(parts)

    def _extra(self, method: Method, shadowed: frozenset[str]) -> str:
        taken = {parameter.name for parameter in method.parameters}
        name = "arguments"
        while name in taken:
            name += "_"
        shape = method.extra
        return f"**{name}: {self._types.spell(shape, shadowed) if shape else ''}"

    def _entry(self, method: Method, name: str, shadowed: frozenset[str], lines: list[str]) -> list[str]:
        returns = self._types.spell(method.returns, shadowed)
        if self._form == "check":
            return self._overloads(method, name, shadowed, returns)
        head = f"    async def {name}({self._parameters(method, shadowed)}) -> {returns}:"
        if not lines:
            return [head + " ..."]
        entry = [head, docstring(lines, "        ")]
        return entry if self._form == "prompt" else [*entry, "        ..."]

    def _overloads(self, method: Method, name: str, shadowed: frozenset[str], returns: str) -> list[str]:
        record = self._types.spell(Ref(method.record), shadowed)
        optional = "" if method.spelling.required else " = ..."
        by_names: list[str] = []
        by_dict = [f"self, args: {record}{optional}, /"]
        if method.spelling.dict_form:
            places = [
                f"p{index}: {self._types.spell(parameter.shape, shadowed)}"
                + ("" if parameter.default is None else " = ...")
                for index, parameter in enumerate(method.parameters)
            ]
            by_names.append(f"self, /, **arguments: {self._types.name('Unpack', shadowed)}[{record}]")
            by_names.append(f"self, {', '.join(places)}, /")
        else:
            by_names.append(self._parameters(method, shadowed))
        if method.extra is not None:
            value = self._types.spell(method.extra, shadowed)
            text, mapping = self._types.name("str", shadowed), self._types.name("dict", shadowed)
            by_dict.append(f"self, args: {mapping}[{text}, {value}], /")
        forms = {"all": by_names + by_dict, "names": by_names, "dict": by_dict}[self._forms]
        mark = f"    @{self._types.name('overload', shadowed)}\n" if len(forms) > 1 else ""
        return [f"{mark}    async def {name}({form}) -> {returns}: ..." for form in forms]

    def _callable(self, method: Method) -> str:
        name = self._callables[method.spelling.full_name]
        words = documentation(method, {}, name_tag=False) if method.spelling.method is None else []
        lines = self._entry(method, "__call__", NO_NAMES, words)
        return "\n".join([f"class {name}({self._types.name('Protocol')}):", *lines])

    def _class(self, name: str, methods: list[Method], spaces: dict[str, str | None]) -> str:
        members = {method.spelling.method for method in methods} | set(spaces.values())
        shadowed = frozenset(member for member in members if member)
        lines = [f"    {attribute}: {self._classes[space]}" for space, attribute in sorted(spaces.items()) if attribute]
        shared = {} if self._form == "check" else shared_notes(methods)
        if shared:
            lines.insert(0, docstring(class_documentation(shared), "    "))
        for method in methods:
            if method.spelling.method is not None:
                words = documentation(method, shared, name_tag=self._form == "prompt")
                lines += self._entry(method, method.spelling.method, shadowed, words)
        lines += self._subscripts(name, methods, spaces, shadowed)
        return "\n".join([f"class {name}({self._types.name('Protocol')}):", *(lines or ["    pass"])])

    def _subscripts(
        self, owner: str, methods: list[Method], spaces: dict[str, str | None], shadowed: frozenset[str]
    ) -> list[str]:
        check = self._form == "check"
        targets: dict[str, str] = {}
        for space, attribute in sorted(spaces.items()):
            if check or attribute is None or (self._form == "pyi" and attribute != space):
                targets[space] = self._classes[space]
        for method in methods:
            if method.spelling.full_name in self._callables:
                targets[method.spelling.name] = self._callables[method.spelling.full_name]
        if check and owner == "Tools":
            targets.update(self._callables)
        text = self._types.name("str", shadowed)
        head = "    def __getitem__(self, name: "
        entries = [
            f"{head}{self._types.name('Literal', shadowed)}[{string_literal(key)}], /) -> {target}: ..."
            for key, target in targets.items()
        ]
        if check:
            literal, anything = self._types.name("LiteralString", shadowed), self._types.name("Any", shadowed)
            entries.append(f"{head}{literal}, /) -> {UNKNOWN_TOOL}: ...")
            entries.append(f"{head}{text}, /) -> {anything}: ...")
        if len(entries) > 1:
            mark = f"    @{self._types.name('overload', shadowed)}\n"
            entries = [mark + entry for entry in entries]
        if check:
            truth, value = self._types.name("bool", shadowed), self._types.name("object", shadowed)
            entries.append(f"    def __contains__(self, name: {value}, /) -> {truth}: ...")
        return entries

    # -- for the words of a diagnostic --------------------------------------------------------------------------------

    def owners(self) -> dict[str, Owner]:
        """Class name -> what it stands for in a program; once the text is made."""
        found = {
            name: Owner(name, tuple(field.name for field in record.fields), record=True, open=record.open)
            for name, record in self._types.records()
        }
        for method in self._methods:
            name = self._types.declared(method.record)
            if name is not None:
                found[name] = replace(found[name], path=self._path(method.spelling))
        for plain, twin in self._marker.twins.items():  # a message calls a result what the other forms call it
            name, known = self._types.declared(twin), self._types.declared(plain)
            if name in found and known is not None:
                found[name] = replace(found[name], path=known)
        top = [method.spelling.method for method in self._groups[None]] + list(self._spaces.values())
        found["Tools"] = Owner("tools", tuple(name for name in top if name))
        for space, name in self._classes.items():
            members = (method.spelling.method for method in self._groups[space])
            found[name] = Owner(self._space_path(space), tuple(member for member in members if member))
        for full_name, name in self._callables.items():
            found[name] = Owner(f"tools[{string_literal(full_name)}]", ())
        return found

    def paths(self) -> dict[str, ToolLike]:
        """What a program can write -> the tool that it means."""
        found: dict[str, ToolLike] = {}
        for method in self._methods:
            spelling = method.spelling
            tool = self._tools[spelling.full_name]
            found[f"tools[{string_literal(spelling.full_name)}]"] = tool
            found[self._path(spelling)] = tool
        return found

    def _path(self, spelling: Spelling) -> str:
        if spelling.method is None:
            return f"tools[{string_literal(spelling.full_name)}]"
        base = "tools" if spelling.namespace is None else self._space_path(spelling.namespace)
        return f"{base}.{spelling.method}"

    def _space_path(self, space: str) -> str:
        attribute = self._spaces[space]
        return f"tools.{attribute}" if attribute else f"tools[{string_literal(space)}]"
