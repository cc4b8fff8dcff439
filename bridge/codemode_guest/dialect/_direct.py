"""The direct set: attribute names that generated code may load natively, and those it may store natively.

A native load of `x.name` is as safe as a guarded one if every object that a program can reach either lacks the name or
has it in its row of the table.  Two kinds of names qualify:

- names of `_COMMON`, a fixed list, less those that some reachable type has and the table does not allow;
- names that no host object has at all: no name in a module that the facades are made from or that those modules can
  reach, no attribute of any of their classes, and nothing that their code ever stores in an instance.  Our own code is
  host code too: the child's modules, and the module of every class that `allow_type` was given.  Such a name can only
  be the program's own.

Native stores are for names that this host code does not mention in any role (attribute, global, constant), and for
common names that no host object which takes new attributes has or mentions: nothing is changed for host code.
A test crawls what programs can reach and proves both for the running version.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import functools
import marshal
import opcode
import os
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ._facade import FACADES
from ._names import FRAME_NAMES, words
from ._policy import EXCEPTION_POLICY, POLICY
from ._tables import TABLE
from ._user_types import USER_METACLASSES

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
    push peek delete set options option stack pos search parse load validate root category categories lookup match
    apply execute dispatch emit fire connect fetch save build make create show display render compute calculate evaluate
    enqueue dequeue empty peek traverse walk depth breadth cost weight weights distance dist graph edges edge nodes
    neighbors neighbours source target start_date end_date due created_at updated_at duration deadline timeout interval
    retries attempts max_retries delay backoff total_count per_page has_more next_cursor next_page token tokens
    users items_per_page product products order orders customer customers employee employees department salary
    inventory stock sku unit units rate tax discount subtotal account accounts transactions transaction history
    log logs events event handlers handler listeners callback callbacks observers state_name transitions current
    previous initial final visited seen cache hits misses capacity maxsize queue heap matrix grid cells cell board
    player players points wins losses team teams members member role roles permissions profile group_name
    author authors content contents summary titles topic topics keyword keywords_found lang language locale country_code
    lat lng lon latitude longitude altitude radius area perimeter volume color colour shape shapes side sides
    min_value max_value average avg minimum maximum ratio percent percentage rank ranking rating ratings reviews
    is_active is_valid is_done is_open active enabled visible deleted archived completed finished started failed passed
    add_item remove_item get_item to_dict from_dict to_json as_dict summarize report reports format_row
    issue issues repo repos branch commit commits pull_request labels assignee assignees reviewer milestone severity
    subject sender recipient recipients to cc bcc attachments folder folders size_bytes mime_type extension
    """
)
"""Names that programs load all the time."""

_HIDDEN: Final[tuple[Any, ...]] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.TracebackType,
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
"""Types whose instances a program holds or might hold, of which the table allows nothing.

Frames, code objects, cells, real modules and mapping proxies are not here: nothing hands them out (the crawl test looks
for them), and the names that lead to or from them are in `FRAME_NAMES`, which are never loaded at all."""


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


@functools.cache
def common_names() -> frozenset[str]:
    """`_COMMON`, less what some reachable type has without allowing it."""
    unsafe: set[str] = set(FRAME_NAMES)
    for cls in _reachable():
        unsafe |= set(dir(cls)) - TABLE.get(cls, frozenset())
    return _COMMON - unsafe


def _reachable() -> set[type]:
    """The classes of host objects that programs hold: what the tables know, tools and modules among it."""
    return {cls for cls in (*POLICY, *TABLE, *_HIDDEN) if type(cls) not in USER_METACLASSES}


_STORE_ATTR: Final = opcode.opmap["STORE_ATTR"]


def _stored_names(code: types.CodeType) -> Iterator[str]:
    """The attributes that a code object, or one inside it, stores: what its instances may come to have."""
    stack = [code]
    while stack:
        each = stack.pop()
        operations = each.co_code[::2]
        at = operations.find(_STORE_ATTR)
        if at >= 0:
            # An operand over 255 is extended; rather than decode it, take every name of such a function.
            if len(each.co_names) > 255:
                yield from each.co_names
            else:
                while at >= 0:
                    yield each.co_names[each.co_code[2 * at + 1] % len(each.co_names)]
                    at = operations.find(_STORE_ATTR, at + 1)
        stack.extend(constant for constant in each.co_consts if isinstance(constant, types.CodeType))


_LEAVES: Final[frozenset[type]] = frozenset(
    (str, int, float, bool, bytes, tuple, list, dict, set, frozenset, types.NoneType)
) | frozenset((types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType))
"""Types of module and class members in which no name of code is."""


def _walk_modules(roots: Iterable[str]) -> tuple[set[str], set[str]]:
    """The names that the modules mention in any role, and those that are attributes of something in them."""
    mentioned: set[str] = set()
    attributes: set[str] = set()
    seen: set[int] = set()
    stack: list[Any] = [sys.modules[root] for root in roots if root in sys.modules]
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind in _LEAVES or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.ModuleType):
            members = vars(value)
            attributes.update(name for name in members if type(name) is str)
            stack.extend(members.values())
        elif isinstance(value, type):
            # Not `dir`, which gathers what the classes of its order have again for each class: they are visited too.
            attributes.update(value.__dict__)
            stack.extend(value.__dict__.values())
            stack.extend(value.__mro__)
        else:
            function = _plain_function(value)
            if function is not None:
                mentioned.update(_code_names(function.__code__))
                attributes.update(_stored_names(function.__code__))
    return mentioned, attributes


def learn() -> None:
    """Walk over the host code in a copy of this process that is thrown away.

    To read `co_code` leaves a copy of it in each code object (CPython 3.11 to 3.14): megabytes, of no further use.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with open(writer, "wb") as told:
                marshal.dump(_walk_host(), told)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as telling:
        text = telling.read()
    os.waitpid(pid, 0)
    _LEARNT[:] = [marshal.loads(text)]  # names that are interned come back as the objects they are


_LEARNT: Final[list[dict[str, bool]]] = []


@functools.cache
def host_names() -> dict[str, bool]:
    """Every name that host code which programs can reach knows in any role; once per process.

    True: an object of that code has it, or is given it, as an attribute. One dict: two sets of so many names would be
    a megabyte of every zygote.
    """
    return _LEARNT[0] if _LEARNT else _walk_host()


def _walk_host() -> dict[str, bool]:
    """One walk over that code, about 30 ms."""
    from .modules import REAL_MODULES

    own = _own_modules()
    mentioned, attributes = _walk_modules(["builtins", "types", *REAL_MODULES, *own])
    stack = list(object.__subclasses__())
    seen: set[type] = set()
    while stack:
        cls = stack.pop()
        if cls in seen:
            continue
        seen.add(cls)
        module: object = type.__dict__["__module__"].__get__(cls)
        known = not isinstance(module, str) or module in own or module.partition(".")[0] in sys.stdlib_module_names
        if known and cls not in USER_METACLASSES:
            attributes.update(cls.__dict__)  # the bases' names came with the bases
            stack.extend(type.__subclasses__(cls))
    for cls in [*POLICY, *_HIDDEN]:
        attributes.update(instance_names(cls))
    attributes |= FRAME_NAMES
    return {name: name in attributes for name in mentioned | attributes}


def _own_modules() -> set[str]:
    """The modules that are loaded of this package and beside it, and those that gave programs a class of theirs.

    A tool's object holds the calls of its run, and they hold the bridge: no name of those may be loaded natively.
    """
    package = __name__.partition(".")[0]
    found = {name for name in list(sys.modules) if name == package or name.startswith(f"{package}.")}
    return found | {str(cls.__module__) for cls in _reachable()}


@functools.cache
def mutable_names() -> frozenset[str]:
    """Every name that a reachable host object which takes new attributes, or its class, has or mentions."""
    names: set[str] = set()
    for cls in _reachable() | _handed_out() | set(EXCEPTION_POLICY):
        if (cls.__dictoffset__ or not cls.__flags__ & _IMMUTABLE_TYPE) and cls not in FACADES:
            names |= instance_names(cls)
    return frozenset(names)


def _handed_out() -> set[type]:
    """The classes that facades hand out as themselves, and those under them: `self` may be a class, too."""
    from .modules import shared_members

    found = {value for value in shared_members() if isinstance(value, type)}
    return {each for cls in found for each in cls.__mro__ if type(each) not in USER_METACLASSES}


_IMMUTABLE_TYPE: Final = 1 << 8
"""Py_TPFLAGS_IMMUTABLETYPE: CPython refuses to set attributes of such a class."""


def forget() -> None:
    """Walk again for the next program: a class of the host has come to what programs reach."""
    _LEARNT.clear()
    for known in (host_names, common_names, mutable_names, is_foreign, is_direct):
        known.cache_clear()


@functools.lru_cache(maxsize=65536)
def is_foreign(name: str) -> bool:
    """Whether host code may know this attribute of something that takes it: then a store must pass the guard."""
    if name.startswith("__") or "<" in name:
        return True
    return name in host_names() and (name not in common_names() or name in mutable_names())


@functools.lru_cache(maxsize=65536)
def is_direct(name: str) -> bool:
    """Whether a native load is as safe as a guarded one."""
    return name in common_names() or not (name.startswith("__") or "<" in name or host_names().get(name, False))
