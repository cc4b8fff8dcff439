"""What a program may read of an object, by the object's exact type: one table.

Rules of this module: names are listed, never computed from `dir()`, so that a new Python version adds nothing by
itself; a test holds the table against the running version.  A type that is not here (or registered by `allow_type`)
has no attribute at all for a program.  Left out on purpose is whatever hands out an object of the interpreter
(`Task.get_coro`, `Match.re` is fine, `dict_keys.mapping` is a mappingproxy) or another way to a class.

Classes: a program that has the class itself (`str`, `datetime`) may read from it what it may read from an instance,
and the names of `CLASS_NAMES`.
"""

# Objects of programs have no static type, so what is found in them is unknown by nature.
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import calendar
import collections
import contextlib
import csv
import datetime
import decimal
import difflib
import fractions
import functools
import hashlib
import hmac
import io
import itertools
import json
import operator
import random
import re
import statistics
import string
import struct
import time
import types
import urllib.parse
import uuid
import zoneinfo
from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any, Final

from ._names import words

# ruff: noqa: E501


def _coroutine_type() -> type[Coroutine[Any, Any, Any]]:
    async def probe() -> None:
        return None

    made = probe()
    made.close()
    return type(made)


def _generator_types() -> tuple[type[Generator[Any, Any, Any]], type[AsyncGenerator[Any, Any]]]:
    def probe() -> Generator[None, None, None]:
        yield

    async def async_probe() -> AsyncGenerator[None, None]:
        yield

    return type(probe()), type(async_probe())


COROUTINE: Final = _coroutine_type()
GENERATOR, ASYNC_GENERATOR = _generator_types()
FUNCTION: Final = types.FunctionType
LRU_CACHE: Final = type(functools.lru_cache(lambda: None))

_INTEGER = words("bit_length bit_count conjugate real imag numerator denominator to_bytes as_integer_ratio is_integer")
_STRING = words(
    """capitalize casefold center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit
    isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition removeprefix
    removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title
    translate upper zfill format format_map maketrans"""
)
_BYTES = words(
    """capitalize center count decode endswith expandtabs find hex index isalnum isalpha isascii isdigit islower isspace
    istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition
    rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill"""
)
_LIST = words("append clear copy count extend index insert pop remove reverse sort")
_DICT = words("clear copy get items keys pop popitem setdefault update values")
_FROZENSET = words("copy difference intersection isdisjoint issubset issuperset symmetric_difference union")
_SET = _FROZENSET | words(
    "add clear difference_update discard intersection_update pop remove symmetric_difference_update update"
)
_DATE = words("""day month year ctime isocalendar isoformat isoweekday replace strftime timetuple toordinal weekday""")
_TIME = words("dst fold hour isoformat microsecond minute replace second strftime tzinfo tzname utcoffset")
_HASH = words("block_size copy digest digest_size hexdigest name update")
_LOCK = words("acquire release locked")
_QUEUE = words("put get put_nowait get_nowait qsize empty full task_done join maxsize shutdown")
_FUTURE = words("done result exception cancel cancelled remove_done_callback add_done_callback")
_URL = words(
    "scheme netloc path params query fragment username password hostname port geturl count index encode _replace _asdict _fields"
)
_CONTEXT_FLAGS = words("prec rounding Emin Emax capitals clamp")
_STREAM = words(
    "write read readline readlines getvalue seek tell truncate close writelines closed readable seekable writable flush"
)
_NAMED_TUPLE = words("_asdict _replace _fields _make _field_defaults count index")

POLICY: Final[dict[type, frozenset[str]]] = {
    bool: _INTEGER,
    int: _INTEGER,
    float: words("as_integer_ratio conjugate hex imag is_integer real"),
    complex: words("conjugate imag real"),
    str: _STRING,
    bytes: _BYTES,
    bytearray: _BYTES | words("append clear copy extend insert pop remove reverse"),
    list: _LIST,
    tuple: words("count index"),
    dict: _DICT,
    set: _SET,
    frozenset: _FROZENSET,
    range: words("start stop step count index"),
    slice: words("start stop step indices"),
    type({}.keys()): words("isdisjoint"),
    type({}.values()): frozenset(),
    type({}.items()): words("isdisjoint"),
    collections.Counter: _DICT | words("elements most_common subtract total"),
    collections.defaultdict: _DICT | words("default_factory"),
    collections.OrderedDict: _DICT | words("move_to_end"),
    collections.deque: _LIST - words("sort") | words("appendleft extendleft maxlen popleft rotate"),
    collections.ChainMap: _DICT | words("maps new_child parents"),
    datetime.date: _DATE,
    datetime.time: _TIME,
    datetime.datetime: _DATE | _TIME | words("astimezone date time timestamp timetz utctimetuple"),
    datetime.timedelta: words("days seconds microseconds total_seconds"),
    datetime.timezone: words("utcoffset tzname dst fromutc"),
    type(datetime.date(2000, 1, 1).isocalendar()): words("year week weekday count index"),
    zoneinfo.ZoneInfo: words("key utcoffset dst tzname fromutc"),
    time.struct_time: words(
        "tm_year tm_mon tm_mday tm_hour tm_min tm_sec tm_wday tm_yday tm_isdst tm_zone tm_gmtoff count index"
    ),
    decimal.Decimal: words(
        """adjusted as_integer_ratio as_tuple canonical compare compare_signal compare_total compare_total_mag conjugate
        copy_abs copy_negate copy_sign exp fma imag is_canonical is_finite is_infinite is_nan is_normal is_qnan
        is_signed is_snan is_subnormal is_zero ln log10 logb logical_and logical_invert logical_or logical_xor max
        max_mag min min_mag next_minus next_plus next_toward normalize number_class quantize radix real remainder_near
        rotate same_quantum scaleb shift sqrt to_eng_string to_integral to_integral_exact to_integral_value"""
    ),
    decimal.DecimalTuple: words("sign digits exponent") | _NAMED_TUPLE,
    decimal.Context: _CONTEXT_FLAGS
    | words(
        """abs add clear_flags compare compare_total copy copy_abs copy_negate copy_sign rotate shift create_decimal create_decimal_from_float divide divide_int divmod exp fma
        is_finite is_infinite is_nan is_zero ln log10 max min minus multiply normalize plus power quantize remainder
        sqrt subtract to_eng_string to_integral_value to_sci_string"""
    ),
    fractions.Fraction: words(
        "numerator denominator limit_denominator as_integer_ratio conjugate real imag is_integer"
    ),
    statistics.NormalDist: words("mean median mode stdev variance cdf inv_cdf overlap pdf quantiles samples zscore"),
    uuid.UUID: words(
        """bytes bytes_le clock_seq clock_seq_hi_variant clock_seq_low fields hex int node time time_hi_version time_low
        time_mid urn variant version is_safe"""
    ),
    re.RegexFlag: _INTEGER | words("name value"),
    re.Pattern: words("findall finditer flags fullmatch groupindex groups match pattern search split sub subn"),
    re.Match: words("end endpos expand group groupdict groups lastgroup lastindex pos re regs span start string"),
    GENERATOR: words("send throw close"),
    ASYNC_GENERATOR: words("asend athrow aclose"),
    COROUTINE: words("close"),
    asyncio.Task: _FUTURE | words("get_name set_name cancelling uncancel"),
    asyncio.Future: _FUTURE,
    asyncio.tasks._GatheringFuture: _FUTURE,  # type: ignore[attr-defined]
    asyncio.Semaphore: _LOCK,
    asyncio.BoundedSemaphore: _LOCK,
    asyncio.Lock: _LOCK,
    asyncio.Event: words("set clear is_set wait"),
    asyncio.Condition: _LOCK | words("wait wait_for notify notify_all"),
    asyncio.Barrier: words("wait reset abort parties n_waiting broken"),
    asyncio.Queue: _QUEUE,
    asyncio.PriorityQueue: _QUEUE,
    asyncio.LifoQueue: _QUEUE,
    asyncio.TaskGroup: words("create_task"),
    asyncio.Timeout: words("reschedule when expired"),
    property: words("getter setter deleter"),
    functools.cached_property: frozenset(),
    LRU_CACHE: words("cache_clear cache_info cache_parameters"),
    functools.partial: frozenset(),
    type(functools.lru_cache(len).cache_info()): words("hits misses maxsize currsize") | _NAMED_TUPLE,
    operator.itemgetter: frozenset(),
    itertools.chain: words("from_iterable"),
    io.StringIO: _STREAM | words("errors newlines line_buffering"),
    io.BytesIO: _STREAM,
    random.Random: words(
        """betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits lognormvariate
        normalvariate paretovariate randbytes randint random randrange sample seed shuffle triangular uniform
        vonmisesvariate weibullvariate"""
    ),
    hmac.HMAC: _HASH,
    difflib.SequenceMatcher: words(
        """ratio quick_ratio real_quick_ratio get_matching_blocks get_opcodes get_grouped_opcodes find_longest_match
        set_seqs set_seq1 set_seq2"""
    ),
    difflib.Match: words("a b size") | _NAMED_TUPLE,
    difflib.Differ: words("compare"),
    string.Template: words("substitute safe_substitute template is_valid get_identifiers"),
    struct.Struct: words("pack unpack unpack_from iter_unpack size format"),
    type(csv.writer(io.StringIO())): words("writerow writerows"),
    type(csv.reader([])): words("line_num"),
    csv.DictReader: words("fieldnames line_num"),
    csv.DictWriter: words("writerow writerows writeheader fieldnames"),
    urllib.parse.ParseResult: _URL,
    urllib.parse.SplitResult: _URL,
    urllib.parse.DefragResult: words("url fragment geturl count index encode"),
    contextlib.AsyncExitStack: words(
        "enter_async_context enter_context push_async_callback callback aclose pop_all push push_async_exit"
    ),
    contextlib.ExitStack: words("enter_context callback close pop_all push"),
}
"""Exact type -> the attributes of an instance."""

for _algorithm in ("md5", "sha1", "sha256", "sha512", "sha3_256", "shake_128", "blake2b", "blake2s"):
    POLICY[type(getattr(hashlib, _algorithm)())] = _HASH
for _hash in ("sha224", "sha384", "sha3_224", "sha3_384", "sha3_512", "shake_256"):
    POLICY[type(getattr(hashlib, _hash)())] = _HASH
for _enumeration in ("Day", "Month"):
    if hasattr(calendar, _enumeration):
        POLICY[getattr(calendar, _enumeration)] = _INTEGER | words("name value")
if hasattr(statistics, "LinearRegression"):
    POLICY[statistics.LinearRegression] = words("slope intercept") | _NAMED_TUPLE

CLASS_NAMES: Final[dict[type, frozenset[str]]] = {
    str: words("maketrans"),
    bytes: words("fromhex maketrans"),
    bytearray: words("fromhex maketrans"),
    bool: words("from_bytes"),
    int: words("from_bytes"),
    float: words("fromhex from_number"),
    complex: words("from_number"),
    dict: words("fromkeys"),
    collections.Counter: words("fromkeys"),
    collections.defaultdict: words("fromkeys"),
    collections.OrderedDict: words("fromkeys"),
    collections.ChainMap: words("fromkeys"),
    datetime.date: words("fromisocalendar fromisoformat fromordinal fromtimestamp today strptime min max resolution"),
    datetime.time: words("fromisoformat strptime min max resolution"),
    datetime.datetime: words(
        """fromisocalendar fromisoformat fromordinal fromtimestamp today min max resolution combine now strptime utcnow
        utcfromtimestamp"""
    ),
    datetime.timedelta: words("min max resolution"),
    datetime.timezone: words("utc min max"),
    decimal.Decimal: words("from_float from_number"),
    fractions.Fraction: words("from_float from_decimal from_number"),
    statistics.NormalDist: words("from_samples"),
    itertools.chain: words("from_iterable"),
    zoneinfo.ZoneInfo: frozenset(),
    uuid.UUID: frozenset(),
}
"""Class -> attributes that only the class has."""

EXCEPTION_POLICY: Final[dict[type, frozenset[str]]] = {
    BaseException: words("args add_note"),
    OSError: words("errno strerror filename filename2"),
    StopIteration: words("value"),
    StopAsyncIteration: words("value"),
    SystemExit: words("code"),
    SyntaxError: words("msg lineno offset text end_lineno end_offset filename"),
    UnicodeDecodeError: words("encoding object start end reason"),
    UnicodeEncodeError: words("encoding object start end reason"),
    UnicodeTranslateError: words("encoding object start end reason"),
    AttributeError: words("name"),
    NameError: words("name"),
    ImportError: words("msg name"),
    BaseExceptionGroup: words("exceptions message split subgroup derive"),
    json.JSONDecodeError: words("msg doc pos lineno colno"),
    re.error: words("msg pattern pos lineno colno"),
    asyncio.IncompleteReadError: words("partial expected"),
}
"""Exception class -> what it adds for itself and its subclasses.  Not `AttributeError.obj` (a host object, when host
code raised it), not `with_traceback`, nothing of tracebacks."""

WRITABLE: Final[dict[type, frozenset[str]]] = {
    decimal.Context: _CONTEXT_FLAGS,
    csv.DictReader: words("fieldnames"),
    csv.DictWriter: words("fieldnames"),
    collections.defaultdict: words("default_factory"),
    collections.ChainMap: words("maps"),
}
"""Host type -> the attributes that may be assigned."""

EXPOSED_CLASSES: Final[frozenset[type]] = frozenset(POLICY) - {
    property,
    FUNCTION,
    GENERATOR,
    ASYNC_GENERATOR,
    COROUTINE,
    LRU_CACHE,
    asyncio.Task,
    asyncio.Future,
    asyncio.tasks._GatheringFuture,  # type: ignore[attr-defined]
    asyncio.Timeout,
    functools.partial,
    functools.cached_property,
    operator.itemgetter,
    itertools.chain,
    hmac.HMAC,
    type(csv.writer(io.StringIO())),
    type(csv.reader([])),
    decimal.Context,
    random.Random,
    re.RegexFlag,
    string.Template,
    csv.DictReader,
    csv.DictWriter,
    contextlib.ExitStack,
    contextlib.AsyncExitStack,
    difflib.SequenceMatcher,
    difflib.Differ,
    difflib.Match,
    struct.Struct,
    asyncio.Queue,
    asyncio.PriorityQueue,
    asyncio.LifoQueue,
    asyncio.TaskGroup,
} | {object, type(None), type(NotImplemented), type(Ellipsis)}
"""Classes that `type(x)` hands out as themselves; of every other type it gives an opaque stand-in."""
