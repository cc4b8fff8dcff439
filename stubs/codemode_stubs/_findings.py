"""From what ty says of the framed text to diagnostics of the program.

What lives here: which of ty's findings are ours, where they are in the program, and in which words they are told.
Rules:
- A program is untyped Python. Only findings about a tool or its result count (see `_marking`), and names that do not
  exist. What ty thinks of a program's own classes and values does not.
- Syntax belongs to the dialect: ty's opinion of it is dropped.
- An argument that runs in spite of its type is none (see `_would_run`).
- What else runs in spite of ty is dropped (`_HARMLESS`).
- ty's rule names differ between its versions; each kind lists all that are known.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ._declare import UNKNOWN_TOOL
from ._diagnostic import Diagnostic, DiagnosticCode
from ._marking import is_marked, unmarked
from ._owners import Owner
from ._program_text import ProgramText
from ._would_run import would_run

#: Most findings that are told; a program with more has one mistake that is repeated.
MAX_FINDINGS = 100

_KINDS: dict[str, DiagnosticCode] = {
    "missing-argument": "missing-argument",
    "missing-typed-dict-key": "missing-argument",
    "unknown-argument": "surplus-argument",
    "too-many-positional-arguments": "surplus-argument",
    "positional-only-parameter-as-kwarg": "surplus-argument",
    "parameter-already-assigned": "surplus-argument",
    "invalid-argument-type": "wrong-argument",
    "no-matching-overload": "wrong-argument",
    "unknown-typed-dict-constructor-key": "surplus-argument",
    "unresolved-attribute": "wrong-use",
    "missing-attribute": "wrong-use",
    "invalid-key": "wrong-use",
    "invalid-typed-dict-key": "wrong-use",
    "not-iterable": "wrong-use",
    "not-subscriptable": "wrong-use",
    "non-subscriptable": "wrong-use",
    "call-non-callable": "wrong-use",
    "not-callable": "wrong-use",
    "unsupported-operator": "wrong-use",
    "invalid-await": "wrong-use",
    "unused-awaitable": "missing-await",
    "unresolved-reference": "unknown-name",
    "invalid-return-type": "missing-await",
    "invalid-explicit-return": "missing-await",
}
_COROUTINE = "CoroutineType[Any, Any, "
_METHOD = re.compile(r"(?:bound method|method|function) `(\w+)\.(\w+)`")
_NO_ATTRIBUTE = re.compile(r"^(?:Object of type )?`(\w+)` has no attribute `(\w+)`")
_ANNOTATED = re.compile(r"\s*(?!(?:else|try|finally)\b)[\w.]+\s*:[^=]*$")
_SIGNATURE = re.compile(r"\s*(?:async\s+)?def\b.*(?::|->)[^=]*$")
_WORD = re.compile(r"\w+")
_SUBSCRIPTED = re.compile(
    r"^Method `__getitem__` of type .* cannot be called with key of type `(.*?)` on object of type `(.*)`"
)
_DICT_CALL = re.compile(r"""tools(?:\.\w+|\[\s*(["']).*?\1\s*\])+\(\s*(?:\{|dict\()""")
_FOUND_DICT = re.compile(r"found `dict\[")
_RECORD = re.compile(r"(in|on|for) TypedDict `(\w+)`(?: constructor)?")
_UNKNOWN_KEYS = frozenset(("invalid-key", "invalid-typed-dict-key", "unknown-typed-dict-constructor-key"))
_SUBSCRIPT = re.compile(r"tools(?:\.\w+|\[[^\]]*\])?\[\s*[rR]?([\"'])(.*?)\1\s*\]")
#: What ty minds and Python does not, or minds in a way that a program may well have meant.
_HARMLESS = (
    re.compile(r"`object`"),  # ty lost the type
    re.compile(r"objects of type `(list|dict|set|frozenset|tuple)\[.*` and `\1\["),  # {"a": 1} | {"b": "x"}
    re.compile(r"^Argument expression after \*"),
    re.compile(r"^Module `[\w.]+` has no member `_"),  # the dialect's own refusal says it better
)
_DETAIL = frozenset(("missing-typed-dict-key", "unknown-typed-dict-constructor-key", "invalid-key"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnostic of ty, moved into the program."""

    code: str
    message: str
    start: tuple[int, int]
    """Line and column, both 0-based, in the program."""
    end: tuple[int, int]

    def inside(self, other: Finding) -> bool:
        """Whether this finding lies in the other one's range."""
        return other.start <= self.start and self.end <= other.end


def read_findings(items: Sequence[Mapping[str, Any]], program: ProgramText) -> list[Finding]:
    """ty's diagnostics that lie in the program and are of a known kind."""
    found: list[Finding] = []
    for item in items:
        code = item.get("code")
        line = item["range"]["start"]["line"] - program.offset
        if code not in _KINDS or not 0 <= line < len(program.lines):
            continue
        end = item["range"]["end"]
        column = max(0, item["range"]["start"]["character"] - 1)
        message = str(item["message"]).split("\n\n")[0].replace("\n", " ")
        found.append(
            Finding(str(code), message, (line, column), (end["line"] - program.offset, max(0, end["character"] - 1)))
        )
    return found


def _is_detail(finding: Finding) -> bool:
    """Whether a finding is about one key of a dictionary that is written in a call."""
    return finding.code in _DETAIL or finding.message.startswith("Invalid argument to key")


def _is_detailed(finding: Finding, all_of_them: Sequence[Finding]) -> bool:
    """Whether another finding says more exactly what is wrong inside this one's range."""
    return any(
        other.inside(finding) and (other.start, other.end) != (finding.start, finding.end) and _is_detail(other)
        for other in all_of_them
    ) or any(
        _is_detail(other) and not _is_detail(finding) and (other.start, other.end) == (finding.start, finding.end)
        for other in all_of_them
    )


def passes_a_dict(finding: Finding, program: ProgramText) -> bool:
    """Whether a call's only words are one dictionary, or something that ty found to be one."""
    first = program.lines[finding.start[0]][finding.start[1] :]
    rest = program.lines[finding.start[0] + 1 : finding.end[0] + 1]
    return bool(_DICT_CALL.match("\n".join([first, *rest])))


def expects_a_dict(findings: Sequence[Finding]) -> bool:
    """Whether the call passes a dictionary where the form by names wants something else."""
    return any(_FOUND_DICT.search(finding.message) for finding in findings)


class Teller:
    """Tells findings in the program's words."""

    def __init__(
        self, owners: Mapping[str, Owner], signature: Callable[[str], str | None], program: ProgramText
    ) -> None:
        self._owners = owners
        self._signature = signature
        self._program = program
        self._records = {name for name, owner in owners.items() if owner.record}

    def tell(self, findings: Sequence[Finding]) -> list[Diagnostic]:
        """The diagnostics, in the order of the text, each once."""
        told = {self._one(finding, findings) for finding in findings}
        return sorted(one for one in told if one is not None)[:MAX_FINDINGS]

    def _one(self, finding: Finding, findings: Sequence[Finding]) -> Diagnostic | None:
        if finding.code == "unresolved-reference":
            return self._unknown_name(finding)
        if _COROUTINE in finding.message:
            return self._missing_await(finding)
        if f"`{UNKNOWN_TOOL}`" in finding.message:
            return self._unknown_subscript(finding)
        ours = is_marked(finding.message) or not self._owners.keys().isdisjoint(_WORD.findall(finding.message))
        if not ours or _KINDS[finding.code] == "missing-await":
            return None
        finding = replace(finding, message=unmarked(finding.message))
        if any(pattern.search(finding.message) for pattern in _HARMLESS):
            return None
        absent = _NO_ATTRIBUTE.match(finding.message)
        if absent:
            return self._no_attribute(finding, absent[1], absent[2])
        if _is_detail(finding) or finding.code in _UNKNOWN_KEYS:
            if _is_detailed(finding, findings) or would_run(finding.message, self._records):
                return None
            return self._key(finding)
        if finding.code == "invalid-argument-type" and (
            _is_detailed(finding, findings)
            or self._source(finding).startswith("*")  # ty takes each value of `**d` for each parameter
            or would_run(finding.message, self._records)
        ):
            return None
        return self._argument(finding)

    def _argument(self, finding: Finding) -> Diagnostic | None:
        code, message = _KINDS[finding.code], finding.message
        subscripted = _SUBSCRIPTED.match(message)
        if subscripted:
            return self._at(finding, f"`{subscripted[2]}` has no key `{subscripted[1]}`", "wrong-use")
        called = _METHOD.search(message)
        path = self._path(called[1], called[2]) if called else None
        if called and path:
            message = message.replace(called[0], f"`{path}`")
            if code in ("missing-argument", "surplus-argument", "wrong-argument"):
                message += self._takes(path)
        elif finding.code == "no-matching-overload":
            return None  # a function of the standard library: its overloads are finer than what runs
        else:
            code = "wrong-use"
        return self._at(finding, message, code)

    def _takes(self, path: str) -> str:
        signature = self._signature(path)
        return f"; it takes {signature}" if signature else ""

    def _key(self, finding: Finding) -> Diagnostic | None:
        """A key that is missing, unknown or wrong, in a dictionary that a call is given or a result."""
        code, message = _KINDS[finding.code], finding.message
        record = _RECORD.search(message)
        if record is None:
            return self._at(finding, message, code)
        owner = self._owners.get(record[2])
        if owner is not None and owner.open and finding.code in _UNKNOWN_KEYS:
            return None
        if finding.code == "missing-typed-dict-key" and "**" in self._source(finding):
            return None  # ty does not look into `{**d}`
        path = owner.path if owner else record[2]
        message = message.replace(record[0], f"{record[1]} `{path}`") + self._takes(path)
        return self._at(finding, message, code)

    def _unknown_subscript(self, finding: Finding) -> Diagnostic | None:
        """A subscript with a name that no tool has; a name that is computed may be any."""
        line = self._program.lines[finding.start[0]]
        match = _SUBSCRIPT.match(line, finding.start[1])
        if match is None:
            return None
        names = [path for owner in self._owners.values() for path in (owner.path,) if path.startswith("tools[")]
        near = difflib.get_close_matches(f'tools["{match[2]}"]', names, 2, 0.7)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return self._at(finding, f"there is no tool `{match[0]}`{hint}", "unknown-tool")

    def _unknown_name(self, finding: Finding) -> Diagnostic | None:
        name = re.search(r"`(\w+)`", finding.message)
        if name is None or name[1] in self._program.rebound or self._is_annotation(finding):
            return None
        return self._at(finding, f"the name `{name[1]}` is not defined", "unknown-name")

    def _is_annotation(self, finding: Finding) -> bool:
        """Whether a name stands in an annotation, which a function's body never evaluates."""
        before = self._program.lines[finding.start[0]][: finding.start[1]]
        return bool(_ANNOTATED.match(before) or _SIGNATURE.match(before))

    def _missing_await(self, finding: Finding) -> Diagnostic:
        text = self._source(finding).strip()
        call = f"`{text}`" if text and len(text) <= 80 else "this call"
        if finding.code == "unused-awaitable":
            message = f"{call} is never awaited, so it does not run: write `await` before it"
        else:
            message = f"{call} is a call that was not awaited, not its result: `await` it first"
        return self._at(finding, message, "missing-await")

    def _no_attribute(self, finding: Finding, kind: str, name: str) -> Diagnostic | None:
        owner = self._owners.get(kind)
        if owner is not None and not owner.record:
            near = difflib.get_close_matches(name, owner.members, 3, 0.6)
            hint = f"; did you mean {' or '.join(f'{owner.path}.{one}' for one in near)}?" if near else ""
            return self._at(finding, f"there is no tool `{owner.path}.{name}`{hint}", "unknown-tool")
        hint = f'; it is a dict: use ["{name}"]' if owner is not None and name in owner.members else ""
        if owner is not None and not hint:
            near = difflib.get_close_matches(name, owner.members, 1, 0.6)
            hint = f'; it is a dict: use ["{near[0]}"]' if near else "; it is a dict"
        return self._at(finding, f"`{kind}` has no attribute `{name}`{hint}", "wrong-use")

    def _path(self, owner: str, member: str) -> str | None:
        known = self._owners.get(owner)
        if known is None:
            return None
        return known.path if member == "__call__" else f"{known.path}.{member}"

    def _source(self, finding: Finding) -> str:
        line = self._program.lines[finding.start[0]]
        return line[finding.start[1] : finding.end[1]] if finding.start[0] == finding.end[0] else ""

    def _at(self, finding: Finding, message: str, code: DiagnosticCode) -> Diagnostic:
        for name, owner in self._owners.items():
            if owner.record and owner.path != name:
                message = re.sub(rf"\b{name}\b", owner.path, message)
        return Diagnostic(finding.start[0] + 1, finding.start[1] + 1, message, code)
