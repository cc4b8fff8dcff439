"""The modules and names that programs may use, as data: for whoever lists them without running any of it.

The facades in `modules` decide what is really there; a test holds this table against them.  Some names exist only in
newer Pythons.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ._names import words

LISTED: Final[Mapping[str, frozenset[str]]] = {
    "abc": words("ABC ABCMeta abstractmethod"),
    "ast": words("literal_eval"),
    "asyncio": words(
        """
        ALL_COMPLETED Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event
        FIRST_COMPLETED FIRST_EXCEPTION Future IncompleteReadError InvalidStateError LifoQueue
        LimitOverrunError Lock PriorityQueue Queue QueueEmpty QueueFull QueueShutDown Semaphore Task
        TaskGroup TimeoutError as_completed create_task ensure_future gather get_event_loop get_running_loop
        iscoroutine iscoroutinefunction isfuture run shield sleep timeout timeout_at to_thread wait wait_for
        """
    ),
    "base64": words(
        """
        a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode
        b64encode b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode
        urlsafe_b64decode urlsafe_b64encode
        """
    ),
    "binascii": words("Error Incomplete a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 hexlify unhexlify"),
    "bisect": words("bisect bisect_left bisect_right insort insort_left insort_right"),
    "calendar": words(
        """
        FRIDAY IllegalMonthError IllegalWeekdayError MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY
        calendar day_abbr day_name firstweekday isleap leapdays month month_abbr month_name monthcalendar
        monthrange timegm weekday
        """
    ),
    "cmath": words(
        """
        acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan
        nanj phase pi polar rect sin sinh sqrt tan tanh tau
        """
    ),
    "collections": words("ChainMap Counter OrderedDict abc defaultdict deque namedtuple"),
    "collections.abc": words(
        """
        AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container
        Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping
        MutableSequence MutableSet Reversible Sequence Set Sized ValuesView
        """
    ),
    "contextlib": words(
        """
        AbstractAsyncContextManager AbstractContextManager AsyncExitStack ExitStack aclosing
        asynccontextmanager closing contextmanager nullcontext redirect_stderr redirect_stdout suppress
        """
    ),
    "copy": words("Error copy deepcopy replace"),
    "csv": words(
        """
        DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC QUOTE_NOTNULL
        QUOTE_STRINGS reader writer
        """
    ),
    "dataclasses": words(
        """
        Field FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields is_dataclass
        make_dataclass replace
        """
    ),
    "datetime": words("MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo"),
    "decimal": words(
        """
        Clamped Context Decimal DecimalException DecimalTuple DivisionByZero FloatOperation Inexact
        InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR
        ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext
        localcontext setcontext
        """
    ),
    "difflib": words("Differ SequenceMatcher context_diff get_close_matches ndiff restore unified_diff"),
    "enum": words("Enum Flag IntEnum IntFlag StrEnum auto unique"),
    "fractions": words("Fraction"),
    "functools": words(
        """
        cache cached_property cmp_to_key lru_cache partial reduce singledispatch total_ordering
        update_wrapper wraps
        """
    ),
    "hashlib": words(
        """
        algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac sha1 sha224 sha256
        sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256
        """
    ),
    "heapq": words("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest"),
    "hmac": words("compare_digest digest new"),
    "html": words("escape unescape"),
    "io": words("BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation"),
    "itertools": words(
        """
        accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile
        filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
        """
    ),
    "json": words("JSONDecodeError JSONEncoder dump dumps load loads"),
    "logging": words(
        """
        CRITICAL DEBUG ERROR FATAL Formatter INFO Logger NOTSET NullHandler StreamHandler WARN WARNING
        basicConfig critical debug disable error exception fatal getLevelName getLogger info log root warn
        warning
        """
    ),
    "math": words(
        """
        acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp
        exp2 expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan
        isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder
        sin sinh sqrt sumprod tan tanh tau trunc ulp
        """
    ),
    "numbers": words("Complex Integral Number Rational Real"),
    "operator": words(
        """
        abs add and_ attrgetter call concat contains countOf delitem eq floordiv ge getitem gt iadd iand
        iconcat ifloordiv ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not
        isub itemgetter itruediv ixor le length_hint lshift lt matmul methodcaller mod mul ne neg not_ or_
        pos pow rshift setitem sub truediv truth xor
        """
    ),
    "os": words("curdir environ extsep getenv linesep name pardir path sep"),
    "os.path": words("basename commonpath commonprefix dirname isabs join normpath sep split splitext"),
    "pprint": words("pformat pp pprint"),
    "random": words(
        """
        Random SystemRandom betavariate binomialvariate choice choices expovariate gammavariate gauss
        getrandbits lognormvariate normalvariate paretovariate randbytes randint random randrange sample
        seed shuffle triangular uniform vonmisesvariate weibullvariate
        """
    ),
    "re": words(
        """
        A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError RegexFlag S U
        UNICODE VERBOSE X compile error escape findall finditer fullmatch match purge search split sub subn
        """
    ),
    "secrets": words("choice compare_digest randbelow randbits token_bytes token_hex token_urlsafe"),
    "statistics": words(
        """
        NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean
        linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance
        quantiles stdev variance
        """
    ),
    "string": words(
        """
        Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable
        punctuation whitespace
        """
    ),
    "struct": words("Struct calcsize error iter_unpack pack unpack unpack_from"),
    "sys": words(
        """
        argv byteorder exc_info exit float_info getdefaultencoding getrecursionlimit getsizeof hash_info
        int_info maxsize maxunicode platform stderr stdout version version_info
        """
    ),
    "textwrap": words("dedent fill indent shorten wrap"),
    "time": words(
        """
        altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter
        perf_counter_ns process_time process_time_ns sleep strftime strptime struct_time time time_ns
        timezone tzname
        """
    ),
    "traceback": words(
        "format_exc format_exception format_exception_only format_tb print_exc print_exception print_tb"
    ),
    "types": words(
        """
        AsyncGeneratorType BuiltinFunctionType CoroutineType EllipsisType FunctionType GeneratorType
        LambdaType MethodType ModuleType NoneType SimpleNamespace TracebackType
        """
    ),
    "typing": words(
        """
        AbstractSet Annotated Any AnyStr AsyncGenerator AsyncIterable AsyncIterator Awaitable BinaryIO
        Callable ChainMap ClassVar Collection Concatenate Container Coroutine Counter DefaultDict Deque Dict
        Final ForwardRef FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator KeysView List
        Literal LiteralString Mapping MappingView MutableMapping MutableSequence MutableSet NamedTuple Never
        NewType NoReturn NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs Protocol
        ReadOnly Required Reversible Self Sequence Set Sized SupportsAbs SupportsFloat SupportsIndex
        SupportsInt TYPE_CHECKING Text TextIO Tuple Type TypeAlias TypeAliasType TypeGuard TypeIs TypeVar
        TypeVarTuple TypedDict Union Unpack ValuesView assert_never assert_type cast dataclass_transform
        final no_type_check overload override reveal_type runtime_checkable
        """
    ),
    "unicodedata": words(
        """
        bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup
        mirrored name normalize numeric unidata_version
        """
    ),
    "urllib": words("parse"),
    "urllib.parse": words(
        """
        parse_qs parse_qsl quote quote_from_bytes quote_plus unquote unquote_plus unquote_to_bytes urldefrag
        urlencode urljoin urlparse urlsplit urlunparse urlunsplit
        """
    ),
    "uuid": words(
        """
        NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 RESERVED_FUTURE RFC_4122 UUID uuid3 uuid4
        uuid5
        """
    ),
    "zoneinfo": words("ZoneInfo ZoneInfoNotFoundError available_timezones"),
}
"""Module -> its names, in any supported Python."""
