"""The direct set: attribute names that generated code may load natively, and those it may store natively.

A native load of `x.name` is as safe as a guarded one if every object that a program can reach either lacks the name or
has it in its row of the table.  Two kinds of names qualify:

- names of `_COMMON`, a fixed list, less those that some reachable type has and the table does not allow;
- names that no host object has at all: not a name, attribute, identifier or string constant of any module that the
  facades are made from, or that those modules can reach.  Such a name can only be the program's own.

Native stores are for names of the second kind only: host code never reads them, so nothing is changed for it.
A test crawls what programs can reach and proves both for the running version.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ._names import FRAME_NAMES, words
from ._policy import POLICY
from ._tables import TABLE

_COMMON: Final = words(
    """
    append extend insert pop remove clear copy sort reverse index count
    get items keys values update setdefault popitem elements most_common total subtract move_to_end
    add discard union intersection difference issubset issuperset isdisjoint symmetric_difference
    appendleft popleft extendleft rotate maxlen
    split rsplit splitlines strip lstrip rstrip join replace startswith endswith lower upper title capitalize casefold
    swapcase find rfind rindex partition rpartition ljust rjust center zfill expandtabs translate encode decode
    isdigit isalpha isalnum isspace isupper islower istitle isdecimal isnumeric isidentifier isascii isprintable
    removeprefix removesuffix maketrans fromkeys hex
    real imag conjugate numerator denominator bit_length bit_count is_integer as_integer_ratio to_bytes from_bytes
    group groups groupdict start end span lastgroup lastindex findall finditer fullmatch sub subn
    year month day hour minute second microsecond days seconds microseconds total_seconds isoformat strftime strptime
    date time timestamp weekday isoweekday isocalendar toordinal now today utcnow fromtimestamp fromisoformat combine
    astimezone tzinfo utcoffset timetuple timedelta datetime timezone utc
    name value args data id title status price qty score text body label kind result done exception cancel cancelled
    put put_nowait get_nowait qsize task_done empty full is_set release acquire locked
    write read readline readlines getvalue writerow writerows writeheader
    quantize to_integral_value limit_denominator normalize sqrt exp ln log10 copy_abs
    loads dumps gather sleep create_task wait_for as_completed Semaphore Lock Queue Event TaskGroup timeout
    floor ceil pi e sin cos tan atan atan2 log log2 hypot gcd lcm isclose isnan isinf inf nan factorial comb perm prod
    fsum radians degrees pow fabs trunc fmod
    mean median mode stdev pstdev variance pvariance fmean quantiles
    choice choices shuffle sample randint randrange uniform gauss seed random
    chain islice groupby accumulate product permutations combinations count cycle repeat zip_longest starmap takewhile
    dropwhile pairwise tee from_iterable
    reduce partial lru_cache wraps cache cmp_to_key itemgetter attrgetter
    Counter defaultdict OrderedDict deque namedtuple
    heappush heappop heapify heappushpop heapreplace nlargest nsmallest bisect_left bisect_right insort
    monotonic perf_counter strftime message errors state size left right next prev parent children key node head tail
    x y z width height first last email address city country amount currency balance tags priority owner user users
    item rows columns row column page pages cursor limit offset path url query fragment scheme hostname port params
    level info debug warning error critical tool_name code method version description results records config settings
    created updated author comment comments content meta type types field fields filename line lines length
    visit run step steps reset close open handle process send flush
    """
)
"""Names that programs load all the time."""

_HIDDEN: Final[tuple[type, ...]] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    types.CellType,
    types.ModuleType,
    types.MappingProxyType,
    types.GenericAlias,
    types.UnionType,
    types.AsyncGeneratorType,
    types.CoroutineType,
    types.GeneratorType,
    type,
    super,
    staticmethod,
    classmethod,
    property,
    object,
    zip,
    map,
    filter,
    enumerate,
    reversed,
)
"""Types whose instances a program holds or might hold, of which the table allows nothing."""


def _code_names(code: types.CodeType) -> Iterator[str]:
    """Every name and identifier-like string in a code object and those inside it."""
    stack = [code]
    while stack:
        each = stack.pop()
        yield from each.co_names
        for constant in each.co_consts:
            if isinstance(constant, types.CodeType):
                stack.append(constant)
            elif type(constant) is str and constant.isidentifier():
                yield constant
            elif type(constant) is tuple:
                yield from (item for item in constant if type(item) is str)


def _plain_function(value: Any) -> types.FunctionType | None:
    """The function inside a static, class or wrapped method or a property, if there is one."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    return value if isinstance(value, types.FunctionType) else None


def instance_names(cls: type) -> set[str]:
    """The names that an instance of a class may have: of its classes, and those its methods mention."""
    found = set(dir(cls))
    for each in cls.__mro__:
        for value in list(each.__dict__.values()):
            function = _plain_function(value)
            if function is not None:
                found.update(_code_names(function.__code__))
    return found


def reachable_types() -> set[type]:
    """The types of host objects that a program can hold, as far as the tables know."""
    return set(TABLE) | set(POLICY) | set(_HIDDEN)


@functools.cache
def common_names() -> frozenset[str]:
    """`_COMMON`, less what some reachable type has without allowing it."""
    unsafe: set[str] = set(FRAME_NAMES)
    for cls in set(POLICY) | set(_HIDDEN):
        unsafe |= set(dir(cls)) - TABLE.get(cls, frozenset())
    return _COMMON - unsafe


def _walk_modules(roots: Iterable[str]) -> set[str]:
    names: set[str] = set()
    seen: set[int] = set()
    stack: list[Any] = [sys.modules[root] for root in roots if root in sys.modules]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.ModuleType):
            members = vars(value)
            names.update(name for name in members if type(name) is str)
            stack.extend(list(members.values()))
        elif isinstance(value, type):
            names.update(dir(value))
            stack.extend(list(value.__dict__.values()))
            stack.extend(value.__mro__)
        else:
            function = _plain_function(value)
            if function is not None:
                names.update(_code_names(function.__code__))
    return names


@functools.cache
def host_names() -> frozenset[str]:
    """Every name that host code which programs can reach knows in any role; computed once per process."""
    from .modules import REAL_MODULES

    names = _walk_modules(["builtins", "types", *REAL_MODULES])
    for cls in object.__subclasses__():
        names.update(dir(cls))
    for cls in [*POLICY, *_HIDDEN]:
        names.update(dir(cls))
    return frozenset(names) | FRAME_NAMES


@functools.lru_cache(maxsize=65536)
def is_foreign(name: str) -> bool:
    """Whether some host object may have this attribute: then a store must pass the guard."""
    return name.startswith("__") or "<" in name or name in host_names()


@functools.lru_cache(maxsize=65536)
def is_direct(name: str) -> bool:
    """Whether a native load is as safe as a guarded one."""
    return name in common_names() or not is_foreign(name)
