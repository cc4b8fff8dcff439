"""How a program spells each tool and its arguments: the one home of that question.

What lives here: attribute names, the order of parameters, the dict form. The stub's text, the one-line signatures of
error messages and the dispatcher that binds a program's calls all read it here, so they cannot disagree. Rules:
- An exact name beats an underscore spelling; an underscore spelling exists only where it is unique. Names of tools
  without a namespace and names of namespaces compete with each other; tools in a namespace compete among themselves.
- Any name at all answers to a subscript: `tools["name"]`, `tools["ns.name"]`, `tools.ns["name"]`.
- Parameters: required ones first, then optional ones, each in declared order.
- One parameter that Python cannot take as a name (keyword, `self`, `__x`, changed by NFKC, ...) puts the tool in the
  dict form: its stub takes one dictionary, `args`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._document import Document
from ._flatten import ParametersRoot, parameters_root
from ._names import is_method_name, is_parameter_name, underscored
from ._tool import ToolLike


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a program reaches one tool and passes its arguments."""

    full_name: str
    """The tool's exact name, `namespace.name` or `name`: valid in `tools[...]`."""
    namespace: str | None
    """The namespace's exact name."""
    namespace_attribute: str | None
    """What to write after `tools.` for the namespace; None: only `tools["namespace"]` reaches it."""
    name: str
    """The tool's exact name inside its namespace."""
    method: str | None
    """What to write after `tools.` or `tools.ns.`; None: only a subscript reaches the tool."""
    parameters: tuple[str, ...]
    """Names of all parameters in the order of positional values."""
    required: int
    """How many of `parameters`, from the left, are required."""
    dict_form: bool
    """Whether the stub takes one dictionary because Python cannot carry some parameter as a name."""
    extra: bool
    """Whether the schema invites arguments beyond `parameters`."""


def attributes(names: Iterable[str]) -> dict[str, str | None]:
    """The attribute for each of some names that live side by side, or None."""
    unique = list(dict.fromkeys(names))
    exact = {name for name in unique if is_method_name(name)}
    spelled = {name: underscored(name) for name in unique if name not in exact}
    uses = Counter(spelled.values())
    found: dict[str, str | None] = {name: name for name in exact}
    for name, attribute in spelled.items():
        free = attribute is not None and attribute not in exact and uses[attribute] == 1
        found[name] = attribute if free else None
    return found


def is_dict_form(root: ParametersRoot) -> bool:
    """Whether Python cannot carry some parameter as a name."""
    return not all(is_parameter_name(name) for name in root.properties)


def method_spellings(tools: Sequence[ToolLike]) -> list[Spelling]:
    """The spelling of each tool, in the order given; it depends on the set of tools, not on their order."""
    top: list[str] = []
    inside: dict[str, list[str]] = {}
    for tool in tools:
        if tool.namespace is None:
            top.append(tool.name)
        else:
            top.append(tool.namespace)
            inside.setdefault(tool.namespace, []).append(tool.name)
    top_attributes = attributes(top)
    inner_attributes = {namespace: attributes(names) for namespace, names in inside.items()}
    found: list[Spelling] = []
    for tool in tools:
        root = parameters_root(Document(tool.parameters))
        space = tool.namespace
        found.append(
            Spelling(
                full_name=tool.full_name,
                namespace=space,
                namespace_attribute=None if space is None else top_attributes[space],
                name=tool.name,
                method=(top_attributes if space is None else inner_attributes[space])[tool.name],
                parameters=root.order,
                required=len(root.required),
                dict_form=is_dict_form(root),
                extra=root.extra is not None,
            )
        )
    return found
