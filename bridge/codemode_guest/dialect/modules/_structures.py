"""Data structures and functional tools: collections, itertools, functools, operator, heapq, bisect, copy."""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import bisect
import collections
import collections.abc
import contextlib
import functools
import heapq
import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

from .._copying import copy_value, deep_copy, replace_value
from .._guards import guarded_getattr
from .._namedtuples import named_tuple
from .._tables import register_type
from .._user_types import is_program_function, is_user_class, mro
from ._pick import Members, pick

_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


def attrgetter(*paths: str) -> Callable[[Any], Any]:
    """`operator.attrgetter`, through the guard."""
    if not paths:
        raise TypeError("attrgetter expected 1 argument, got 0")
    for path in paths:
        if type(path) is not str:
            raise TypeError("attribute name must be a string")
    split = [path.split(".") for path in paths]

    def read(value: Any, names: list[str]) -> Any:
        for name in names:
            value = guarded_getattr(value, name)
        return value

    if len(split) == 1:
        only = split[0]
        if len(only) == 1:
            name = only[0]
            return lambda value: guarded_getattr(value, name)
        return lambda value: read(value, only)
    return lambda value: tuple(read(value, names) for names in split)


def methodcaller(name: str, /, *arguments: Any, **keywords: Any) -> Callable[[Any], Any]:
    """`operator.methodcaller`, through the guard."""
    if type(name) is not str:
        raise TypeError("method name must be a string")
    return lambda value: guarded_getattr(value, name)(*arguments, **keywords)


def update_wrapper(wrapper: Any, wrapped: Any, assigned: Any = (), updated: Any = ()) -> Any:
    """`functools.update_wrapper`, for functions of the program."""
    if not is_program_function(wrapper):
        return wrapper
    for name in ("__name__", "__qualname__", "__doc__"):
        with contextlib.suppress(AttributeError):
            setattr(wrapper, name, guarded_getattr(wrapped, name))
    if is_program_function(wrapped):
        wrapper.__dict__.update(wrapped.__dict__)
    return wrapper


def wraps(wrapped: Any, assigned: Any = (), updated: Any = ()) -> Callable[[Any], Any]:
    """`functools.wraps`."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def total_ordering(cls: Any) -> Any:
    """`functools.total_ordering`: the real one sets attributes on whatever it is given."""
    if not is_user_class(cls):
        raise TypeError("total_ordering needs a class of the program")
    if not any(name in each.__dict__ for each in mro(cls) if is_user_class(each) for name in _ORDER):
        raise ValueError("must define at least one ordering operation: < > <= >=")
    return functools.total_ordering(cls)


class SingleDispatch:
    """`functools.singledispatch`, registered by class (annotations are not evaluated in programs)."""

    __slots__ = ("_base", "_registry")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._base = function
        self._registry: list[tuple[Any, Callable[..., Any]]] = []

    def register(self, cls: Any, function: Callable[..., Any] | None = None) -> Any:
        """Register a function for a class."""
        if function is None:
            if is_program_function(cls):
                raise TypeError("give the class: @f.register(int)")
            return lambda later: self.register(cls, later)
        self._registry.append((cls, function))
        return function

    def dispatch(self, cls: Any) -> Any:
        """The function for a class."""
        for each in cls.__mro__:
            for known, function in reversed(self._registry):
                if known is each:
                    return function
        for known, function in reversed(self._registry):
            if issubclass(cls, known):
                return function
        return self._base

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not arguments:
            raise TypeError("a singledispatch function requires at least 1 positional argument")
        return self.dispatch(type(arguments[0]))(*arguments, **keywords)


register_type(SingleDispatch, ("register", "dispatch"))


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "collections": pick(collections, "ChainMap Counter OrderedDict defaultdict deque", namedtuple=named_tuple),
        "collections.abc": pick(
            collections.abc,
            """AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine
            Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence
            MutableSet Reversible Sequence Set Sized ValuesView""",
        ),
        "itertools": pick(
            itertools,
            """accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
            filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest""",
        ),
        "functools": pick(
            functools,
            "cache cached_property cmp_to_key lru_cache partial reduce",
            wraps=wraps,
            update_wrapper=update_wrapper,
            total_ordering=total_ordering,
            singledispatch=SingleDispatch,
        ),
        "operator": pick(
            operator,
            """abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv
            ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv
            ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth
            xor""",
            attrgetter=attrgetter,
            methodcaller=methodcaller,
        ),
        "heapq": pick(heapq, "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
        "bisect": pick(bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
        "copy": {"copy": copy_value, "deepcopy": deep_copy, "replace": replace_value, "Error": TypeError},
    }
