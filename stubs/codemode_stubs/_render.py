"""The stub module's text, from one source in three forms.

What lives here: `render_stubs`, the spine: read all tools, choose and write the types, write the classes of namespaces and
of `tools`. The forms:
- `pyi`: a module. It parses, executes and passes mypy --strict, pyright strict and ty, as .pyi and as .py (so each method
  ends in `...`). Exotic names have a `__getitem__` overload as well as the underscore method.
- `prompt`: the same without what only a checker needs.
- `check`: for the checker that reads a program against it: every form of a call that runs is an overload, every tool
  answers to its subscript, no documentation.
Same tools, same bytes, whatever the order they are given in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from ._convert import Converter
from ._declare import NO_NAMES, Declarations
from ._documentation import class_documentation, documentation, shared_notes
from ._literals import string_literal
from ._methods import Method, read_method
from ._names import join_names, pascal
from ._prose import docstring
from ._shapes import Ref, Shape
from ._spelling import method_spellings
from ._tool import ToolLike, tool_key

Form: TypeAlias = Literal["pyi", "prompt", "check"]
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
    return _Module(tools, form).text()


class _Module:
    def __init__(self, tools: Sequence[ToolLike], form: Form) -> None:
        self._form = form
        ordered = sorted(tools, key=tool_key)
        converter = Converter()
        spelled = zip(ordered, method_spellings(ordered), strict=True)
        self._methods = [read_method(tool, spelling, converter) for tool, spelling in spelled]
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
        for method in self._methods:
            if self._needs_callable(method):
                self._callables[method.spelling.full_name] = self._types.allocate(join_names(method.hint, "Tool"))
        self._types.collect(list(self._roots()))
        blocks = self._types.write()
        for method in self._methods:
            if method.spelling.full_name in self._callables:
                blocks.append(self._callable(method))
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
        forms: list[str] = []
        if method.spelling.dict_form:
            places = [
                f"p{index}: {self._types.spell(parameter.shape, shadowed)}"
                + ("" if parameter.default is None else " = ...")
                for index, parameter in enumerate(method.parameters)
            ]
            forms.append(f"self, args: {record}{optional}, /")
            forms.append(f"self, **arguments: {self._types.name('Unpack', shadowed)}[{record}]")
            forms.append(f"self, {', '.join(places)}, /")
        else:
            forms.append(self._parameters(method, shadowed))
            forms.append(f"self, args: {record}{optional}, /")
        if method.extra is not None:
            value = self._types.spell(method.extra, shadowed)
            text, mapping = self._types.name("str", shadowed), self._types.name("dict", shadowed)
            forms.append(f"self, args: {mapping}[{text}, {value}], /")
        mark = f"    @{self._types.name('overload', shadowed)}"
        return [line for form in forms for line in (mark, f"    async def {name}({form}) -> {returns}: ...")]

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
        literal, text = self._types.name, self._types.name("str", shadowed)
        entries = [
            f"    def __getitem__(self, name: {literal('Literal', shadowed)}[{string_literal(key)}], /) -> {target}: ..."
            for key, target in targets.items()
        ]
        if check:
            entries.append(f"    def __getitem__(self, name: {text}, /) -> {literal('Any', shadowed)}: ...")
        if len(entries) > 1:
            mark = f"    @{literal('overload', shadowed)}"
            entries = [line for entry in entries for line in (mark, entry)]
        if check:
            entries.append(
                f"    def __contains__(self, name: {self._types.name('object', shadowed)}, /)"
                f" -> {self._types.name('bool', shadowed)}: ..."
            )
        return entries
