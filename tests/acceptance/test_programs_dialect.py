"""sandbox.md, the construct table and the list of modules: what a program may say."""

# ruff: noqa: E501 - a program is quoted in one line, beside what it must give

from __future__ import annotations

from typing import Any

import pytest

from codemode import CodeMode, Registry

from .programs import run

ALLOWED: dict[str, tuple[str, Any]] = {
    "async generators and comprehensions": (
        "async def g():\n    for n in range(3):\n        yield n\nreturn [n async for n in g() if n] + [await f for f in []]",
        [1, 2],
    ),
    "async with": (
        "import asyncio\nlock = asyncio.Lock()\nasync with lock:\n    return lock.locked()",
        True,
    ),
    "asyncio.run in the body": ("import asyncio\nasync def main():\n    return 5\nreturn asyncio.run(main())", 5),
    "annotations never evaluated": ("x: NoSuchName[1 / 0] = 3\ndef f(a: Nope) -> Nada:\n    return a\nreturn f(x)", 3),
    "future import": ("from __future__ import annotations\nreturn 1", 1),
    "augmented targets": (
        "d = {'a': 1}\nd['a'] += 1\nclass A:\n    def __init__(self):\n        self.x = 1\n    def go(self):\n        self.x += 1\n        return self.x\nreturn [d, A().go()]",
        [{"a": 2}, 2],
    ),
    "each operand evaluated once": (
        "n = []\ndef f():\n    n.append(1)\n    return (1, 2)\na = b, c = f()\nreturn [list(a), b, c, len(n)]",
        [[1, 2], 1, 2, 1],
    ),
    "subscript evaluated once": (
        "n = []\ndef i():\n    n.append('i')\n    return 0\nx = [1]\nx[i()] += 5\nreturn [x, n]",
        [[6], ["i"]],
    ),
    "unpacking": ("(a, *b), {'x': c}['x'] if False else c = ([1, 2, 3], 4) if True else 0\nreturn [a, b, c]", None),
    "nested unpacking": ("(a, (b, *c)), d = (1, (2, 3, 4)), 5\nreturn [a, b, c, d]", [1, 2, [3, 4], 5]),
    "unpacking in for": ("return [a + b for a, (b, _) in [(1, (2, 3))]]", [3]),
    "star args": ("def f(*a, **k):\n    return [list(a), k]\nreturn f(*[1, 2], **{'x': 3})", [[1, 2], {"x": 3}]),
    "walrus": ("if (n := 5) > 3:\n    return n", 5),
    "nonlocal and global": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    g()\n    return g()\nreturn f()",
        2,
    ),
    "nonlocal of the program's own name": ("n = 0\ndef g():\n    nonlocal n\n    n += 1\ng()\nreturn n", 1),
    "global of the program's own name": ("n = 0\ndef g():\n    global n\n    n += 1\ng()\nreturn n", 1),
    "lambda and decorators": (
        "def deco(f):\n    return lambda x: f(x) + 1\n@deco\ndef f(x):\n    return x * 2\nreturn f(2)",
        5,
    ),
    "generators": ("def g():\n    x = yield 1\n    yield x\nit = g()\nreturn [next(it), it.send(7)]", [1, 7]),
    "yield from": ("def g():\n    yield from [1, 2]\nreturn list(g())", [1, 2]),
    "with": ("import contextlib\n@contextlib.contextmanager\ndef c():\n    yield 4\nwith c() as x:\n    return x", 4),
    "class based context": (
        "class C:\n    def __enter__(self):\n        return 3\n    def __exit__(self, *a):\n        return True\nwith C() as c:\n    1/0\nreturn c",
        3,
    ),
    "del": ("d = {'a': 1, 'b': 2}\ndel d['a']\nx = [1, 2, 3]\ndel x[:2]\ny = 1\ndel y\nreturn [d, x]", [{"b": 2}, [3]]),
    "slices": ("x = list(range(6))\nx[1:3] = [9]\nreturn [x, x[::-1][0]]", [[0, 9, 3, 4, 5], 5]),
    "f-strings": (
        "v = 3.14159\nw = 8\nreturn [f'{v:.2f}', f'{v!r:>{w}}', f'{v=:.1f}', f\"{'a'!s:^5}\"]",
        ["3.14", " 3.14159", "v=3.1", "  a  "],
    ),
    "underscore names": (
        "_x = 1\nclass A:\n    def __init__(self):\n        self._p = 2\n        self.__q = 3\n    def q(self):\n        return self.__q\na = A()\nreturn [_x, a._p, a.q()]",
        [1, 2, 3],
    ),
    "read-only dunders": (
        "def f():\n    'doc'\nclass A:\n    pass\na = A()\na.x = 1\nreturn [f.__name__, f.__doc__, A.__name__, a.__class__.__name__, a.__dict__, f.__qualname__]",
        ["f", "doc", "A", "A", {"x": 1}, "f"],
    ),
    "cause and context": (
        "try:\n    try:\n        1/0\n    except ZeroDivisionError as e:\n        raise ValueError('v') from e\nexcept ValueError as e:\n    return [type(e.__cause__).__name__, type(e.__context__).__name__]",
        ["ZeroDivisionError", "ZeroDivisionError"],
    ),
    "inheritance and super": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nclass B(A):\n    def __init__(self):\n        super().__init__(4)\n    @property\n    def y(self):\n        return self.x\n    @y.setter\n    def y(self, v):\n        self.x = v\n    @classmethod\n    def make(cls):\n        return cls()\n    @staticmethod\n    def s():\n        return 's'\nb = B.make()\nb.y = 6\nreturn [b.y, B.s()]",
        [6, "s"],
    ),
    "operator dunders": (
        "class V:\n    def __init__(self, x):\n        self.x = x\n    def __add__(self, o):\n        return V(self.x + o.x)\n    def __eq__(self, o):\n        return self.x == o.x\n    def __lt__(self, o):\n        return self.x < o.x\n    def __hash__(self):\n        return hash(self.x)\n    def __repr__(self):\n        return f'V({self.x})'\n    def __len__(self):\n        return self.x\n    def __getitem__(self, i):\n        return i\n    def __contains__(self, i):\n        return True\n    def __iter__(self):\n        return iter([self.x])\n    def __call__(self, y):\n        return y\n    def __bool__(self):\n        return True\nv = V(1) + V(2)\nreturn [repr(v), v == V(3), len({V(1), V(1)}), len(v), v['k'], 5 in v, list(v), v(8), repr(sorted([V(2), V(1)]))]",
        ["V(3)", True, 1, 3, "k", True, [3], 8, "[V(1), V(2)]"],
    ),
    "dataclass": (
        "from dataclasses import dataclass, field, asdict, replace\n@dataclass(order=True, frozen=True)\nclass P:\n    x: int\n    tags: list = field(default_factory=list, compare=False)\n    def double(self):\n        return self.x * 2\np = P(2)\ntry:\n    p.x = 5\n    r = 'set'\nexcept Exception as e:\n    r = type(e).__name__\nreturn [repr(p), p == P(2), p < P(3), p.double(), asdict(p), replace(p, x=9).x, r]",
        ["P(x=2, tags=[])", True, True, 4, {"x": 2, "tags": []}, 9, "FrozenInstanceError"],
    ),
    "enum": (
        "from enum import Enum, auto\nclass C(Enum):\n    RED = auto()\n    BLUE = auto()\nreturn [C.RED.name, C.BLUE.value, C(1).name, C['BLUE'].value, [c.name for c in C], C.RED is C.RED, C.RED == C.BLUE]",
        ["RED", 2, "RED", 2, ["RED", "BLUE"], True, False],
    ),
    "typed containers": (
        "from typing import NamedTuple, TypedDict, Protocol, Optional\nfrom abc import ABC, abstractmethod\nclass N(NamedTuple):\n    a: int\n    b: str = 'x'\nclass T(TypedDict, total=False):\n    a: int\nclass P(Protocol):\n    def f(self) -> int: ...\nclass Q(ABC):\n    @abstractmethod\n    def f(self): ...\nclass R(Q):\n    def f(self):\n        return 1\nt: T = {'a': 1}\nreturn [list(N(1)), N(1).b, t, R().f()]",
        [[1, "x"], "x", {"a": 1}, 1],
    ),
    "match": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\ndef m(v):\n    match v:\n        case 0 | 1:\n            return 'small'\n        case [a, *rest] if a:\n            return ['list', a, rest]\n        case {'k': k, **other}:\n            return ['map', k, other]\n        case P(x=1, y=y):\n            return ['p', y]\n        case P(x, 2):\n            return ['pp', x]\n        case str() as s:\n            return s\n        case None:\n            return 'none'\n        case _:\n            return 'other'\nreturn [m(1), m([1, 2]), m({'k': 1, 'z': 2}), m(P(1, 5)), m(P(3, 2)), m('s'), m(None), m(2.5)]",
        ["small", ["list", 1, [2]], ["map", 1, {"z": 2}], ["p", 5], ["pp", 3], "s", "none", "other"],
    ),
    "try forms": (
        "out = []\ntry:\n    1/0\nexcept (ValueError, ZeroDivisionError) as e:\n    out.append(str(e))\nelse:\n    out.append('else')\nfinally:\n    out.append('finally')\ntry:\n    raise KeyError('k')\nexcept:\n    out.append('bare')\nreturn out",
        ["division by zero", "finally", "bare"],
    ),
    "except star": (
        "try:\n    raise ExceptionGroup('g', [ValueError('a'), TypeError('b')])\nexcept* ValueError as g:\n    a = [str(e) for e in g.exceptions]\nexcept* TypeError:\n    b = 1\nreturn [a, b]",
        [["a"], 1],
    ),
    "format": (
        "return ['{0} {name} {1[0]} {x:>4}'.format('a', [5], name='n', x=3), '%s %d %(k)s' % () if False else '%s-%03d' % ('a', 7), '%(k)s' % {'k': 1}, '{a}'.format_map({'a': 2})]",
        ["a n 5    3", "a-007", "1", "2"],
    ),
    "reflection": (
        "class A:\n    x = 1\na = A()\nsetattr(a, 'y', 2)\nreturn [getattr(a, 'y'), getattr(a, 'z', 9), hasattr(a, 'x'), vars(a), 'y' in dir(a), isinstance(a, A), isinstance(1, int | str), type(a).__name__, type([]) is list, callable(a), issubclass(A, object)]",
        [2, 9, True, {"y": 2}, True, True, True, "A", True, False, True],
    ),
    "builtins": (
        "return [sum([1, 2]), max(1, 2), sorted([2, 1]), list(map(str, [1])), list(zip([1], [2])), any([0]), round(1.5), divmod(7, 2), pow(2, 3, 5), abs(-1), bin(2), hex(15), oct(8), chr(97), ord('a'), list(enumerate('a')), list(reversed([1, 2])), hash(1), len('a'), list(filter(None, [0, 1])), repr('a'), ascii('é'), int('5'), float('1.5'), str(1), bool(0), id(1) > 0, format(3.14159, '.2f'), next(iter([1])), bytes(2).hex(), complex(1, 2).real, slice(1, 2).start, frozenset([1]) == {1}]",
        None,
    ),
    "asyncio": (
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\na = await asyncio.gather(f(1), f(2))\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(f(3))\nq = asyncio.Queue()\nawait q.put(4)\ns = asyncio.Semaphore(1)\nasync with s:\n    b = await q.get()\nc = await asyncio.wait_for(f(5), 1)\nd = await asyncio.to_thread(lambda x: x + 1, 5)\ne = await asyncio.shield(f(7))\nreturn [a, t.result(), b, c, d, e, t.done(), t.cancelled()]",
        [[1, 2], 3, 4, 5, 6, 7, True, False],
    ),
    "type parameters as assignment": (
        "import typing\nT = typing.TypeVar('T')\ndef f(x: T) -> list[T]:\n    return [x]\nreturn f(1)",
        [1],
    ),
    "chained comparison and conditional": (
        "x = 5\nreturn [1 < x <= 5, 'a' if x else 'b', not x, x is None, x not in [1]]",
        [True, "a", False, False, True],
    ),
    "loops with else": (
        "for n in range(3):\n    if n == 5:\n        break\nelse:\n    r = 'else'\nwhile True:\n    break\nreturn r",
        "else",
    ),
    "assert": ("try:\n    assert 1 == 2, 'why'\nexcept AssertionError as e:\n    return str(e)", "why"),
}


@pytest.mark.parametrize("name", ALLOWED)
async def test_a_construct_that_the_table_allows_works(name: str) -> None:
    program, expected = ALLOWED[name]
    if name == "unpacking":
        program, expected = "a, *b = [1, 2, 3]\n*c, d = 'xyz'\nreturn [a, b, c, d]", [1, [2, 3], ["x", "y"], "z"]
    result = await run(program)
    assert result.ok, result.text
    if expected is not None:
        assert result.value == expected


REFUSED = {
    "eval": "eval('1')",
    "exec": "exec('1')",
    "compile": "compile('1', '', 'eval')",
    "open": "open('x')",
    "input": "input()",
    "globals": "globals()",
    "locals": "locals()",
    "breakpoint": "breakpoint()",
    "memoryview": "memoryview(b'x')",
    "yield": "yield 1",
    "metaclass": "class A(metaclass=type):\n    pass",
    "__new__": "class A:\n    def __new__(cls):\n        pass",
    "__del__": "class A:\n    def __del__(self):\n        pass",
    "__getattr__": "class A:\n    def __getattr__(self, n):\n        pass",
    "__getattribute__": "class A:\n    def __getattribute__(self, n):\n        pass",
    "__setattr__": "class A:\n    def __setattr__(self, n, v):\n        pass",
    "__init_subclass__": "class A:\n    def __init_subclass__(cls):\n        pass",
    "__class_getitem__": "class A:\n    def __class_getitem__(cls, k):\n        pass",
    "__set_name__": "class A:\n    def __set_name__(self, o, n):\n        pass",
    "__get__": "class A:\n    def __get__(self, o, t):\n        pass",
    "__await__": "class A:\n    def __await__(self):\n        pass",
    "__reduce__": "class A:\n    def __reduce__(self):\n        pass",
    "os": "import os",
    "subprocess": "from subprocess import run",
    "socket": "import socket",
    "pathlib": "from pathlib import Path",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_construct_that_the_table_refuses_is_refused_at_compile_time(name: str) -> None:
    async def ran() -> None:
        """Ran."""

    result = await run("await tools.ran()\n" + REFUSED[name], ran)
    assert result.error is not None
    assert result.error.kind == "syntax", result.text
    assert name in result.text
    assert list(result.calls) == []
    assert result.error.line is not None
    assert result.error.line >= 2
    assert "^" in result.text


MODULES = [
    "math",
    "cmath",
    "statistics",
    "random",
    "decimal",
    "fractions",
    "numbers",
    "itertools",
    "functools",
    "operator",
    "collections",
    "heapq",
    "bisect",
    "copy",
    "string",
    "textwrap",
    "re",
    "json",
    "csv",
    "html",
    "base64",
    "hashlib",
    "hmac",
    "uuid",
    "secrets",
    "datetime",
    "time",
    "calendar",
    "zoneinfo",
    "dataclasses",
    "enum",
    "typing",
    "abc",
    "types",
    "contextlib",
    "io",
    "asyncio",
    "urllib.parse",
    "difflib",
    "unicodedata",
    "struct",
    "pprint",
    "traceback",
    "logging",
    "sys",
    "tools",
    "codemode",
]


async def test_every_listed_module_can_be_imported() -> None:
    async with CodeMode(Registry()) as cm:
        for module in MODULES:
            result = await cm.run(f"import {module}\nimport {module} as m\nreturn 1")
            assert result.ok, (module, result.text)
        stars = await cm.run("from math import *\nreturn floor(pi)")
    assert stars.value == 3 or (stars.error is not None and "*" in stars.text)


USES = {
    "re": (
        "import re\nm = re.match(r'(?P<a>\\d+)', '12x')\nreturn [m.group('a'), re.sub('x', 'y', 'axa'), re.findall('a', 'aba')]",
        ["12", "aya", ["a", "a"]],
    ),
    "json": (
        "import json\nreturn [json.loads('{\"a\": [1, null]}'), json.dumps({'b': 1, 'a': None}, sort_keys=True, indent=1)]",
        [{"a": [1, None]}, '{\n "a": null,\n "b": 1\n}'],
    ),
    "datetime": (
        "from datetime import datetime, timedelta, timezone\nd = datetime(2024, 1, 31, tzinfo=timezone.utc) + timedelta(days=1)\nreturn [d.isoformat(), d.strftime('%A %d %B %Y'), datetime.strptime('2024-05-06', '%Y-%m-%d').month, datetime.fromisoformat('2024-01-01T00:00:00+00:00').year]",
        ["2024-02-01T00:00:00+00:00", "Thursday 01 February 2024", 5, 2024],
    ),
    "zoneinfo": (
        "from zoneinfo import ZoneInfo\nfrom datetime import datetime\nreturn datetime(2024, 7, 1, 12, tzinfo=ZoneInfo('Europe/Berlin')).isoformat()",
        "2024-07-01T12:00:00+02:00",
    ),
    "collections": (
        "from collections import Counter, defaultdict, deque, namedtuple, ChainMap, OrderedDict\nc = Counter('abca')\nreturn [c.most_common(1), dict(c + Counter('a'))]",
        [[["a", 2]], {"a": 3, "b": 1, "c": 1}],
    ),
    "itertools": (
        "import itertools as it\nreturn [list(it.chain([1], [2])), [list(p) for p in it.permutations([1, 2])], [[k, len(list(g))] for k, g in it.groupby('aab')], list(it.islice(it.count(), 3)), [list(b) for b in it.pairwise([1, 2, 3])]]",
        [[1, 2], [[1, 2], [2, 1]], [["a", 2], ["b", 1]], [0, 1, 2], [[1, 2], [2, 3]]],
    ),
    "functools": (
        "import functools\n@functools.lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n@functools.wraps(fib)\ndef w():\n    pass\nreturn [fib(30), functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.partial(max, 5)(3), w.__name__]",
        [832040, 6, 5, "fib"],
    ),
    "csv": (
        "import csv, io\nrows = list(csv.DictReader(io.StringIO('a,b\\n1,2\\n')))\nout = io.StringIO()\nw = csv.writer(out)\nw.writerow([1, 'x,y'])\nreturn [rows, out.getvalue()]",
        [[{"a": "1", "b": "2"}], '1,"x,y"\r\n'],
    ),
    "hashlib": (
        "import hashlib, hmac, base64\nreturn [hashlib.sha256(b'a').hexdigest()[:8], hmac.new(b'k', b'm', 'sha256').hexdigest()[:4], base64.b64encode(b'ab').decode()]",
        ["ca978112", None, "YWI="],
    ),
    "statistics": (
        "import statistics\nreturn [statistics.mean([1, 2, 3]), statistics.median([1, 3]), round(statistics.stdev([1, 2, 3]), 3)]",
        [2, 2.0, 1.0],
    ),
    "decimal": (
        "from decimal import Decimal, getcontext, ROUND_HALF_UP\nreturn [str(Decimal('0.1') + Decimal('0.2')), str(Decimal('2.345').quantize(Decimal('0.01'), rounding=ROUND_HALF_UP))]",
        ["0.3", "2.35"],
    ),
    "urllib": (
        "from urllib.parse import urlparse, urlencode, quote, parse_qs\nreturn [urlparse('http://h/p?q=1').netloc, urlencode({'a': 'b c'}), quote('a/b c'), parse_qs('a=1&a=2')]",
        ["h", "a=b+c", "a/b%20c", {"a": ["1", "2"]}],
    ),
    "textwrap and string": (
        "import textwrap, string\nreturn [textwrap.dedent('  a\\n  b'), textwrap.shorten('a b c d', 5), string.ascii_lowercase[:3], string.Template('$x').substitute(x=1)]",
        ["a\nb", None, "abc", "1"],
    ),
    "difflib": (
        "import difflib\nreturn [difflib.get_close_matches('appel', ['ape', 'apple']), list(difflib.unified_diff(['a'], ['b'], lineterm=''))[-1]]",
        None,
    ),
    "time": (
        "import time\na = time.time()\nreturn [a > 1e9, time.monotonic() > 0, time.perf_counter() > 0]",
        [True, True, True],
    ),
    "random": (
        "import random\nr = random.Random(1)\nrandom.seed(5)\na = random.random()\nrandom.seed(5)\nreturn [a == random.random(), random.choice([1]), sorted(random.sample([1, 2], 2)), r.randint(1, 1)]",
        [True, 1, [1, 2], 1],
    ),
    "contextlib": (
        "import contextlib\nwith contextlib.suppress(KeyError):\n    {}['a']\n@contextlib.asynccontextmanager\nasync def c():\n    yield 5\nasync with c() as x:\n    return x",
        5,
    ),
    "sys": ("import sys\nreturn [sys.version[:2], sys.maxsize > 2**31]", ["3.", True]),
    "operator and heapq": (
        "import heapq, operator, bisect\nh = [3, 1, 2]\nheapq.heapify(h)\nreturn [heapq.heappop(h), operator.itemgetter('a')({'a': 1}), sorted([{'n': 2}, {'n': 1}], key=operator.itemgetter('n')), bisect.bisect([1, 3], 2)]",
        [1, 1, [{"n": 1}, {"n": 2}], 1],
    ),
    "typing names": (
        "from typing import Any, Optional, List, Dict, Union, Callable, cast, TYPE_CHECKING\nx: Optional[List[int]] = None\nreturn [cast(int, 5), TYPE_CHECKING]",
        [5, False],
    ),
    "struct": (
        "import struct\nreturn [struct.pack('>I', 5).hex(), list(struct.unpack('>HH', b'\\x00\\x01\\x00\\x02'))]",
        ["00000005", [1, 2]],
    ),
    "copy": ("import copy\na = [[1]]\nb = copy.deepcopy(a)\nb[0].append(2)\nreturn [a, b]", [[[1]], [[1, 2]]]),
}


@pytest.mark.parametrize("name", USES)
async def test_what_programs_do_with_the_modules(name: str) -> None:
    program, expected = USES[name]
    result = await run(program)
    assert result.ok, result.text
    if isinstance(expected, list):
        assert len(result.value) == len(expected)
        for got, wanted in zip(result.value, expected, strict=True):
            assert wanted is None or got == wanted
    elif expected is not None:
        assert result.value == expected


async def test_bare_except_and_base_exception_do_not_swallow_cancellation() -> None:
    program = """
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(10)
        except:
            pass
t = asyncio.create_task(stubborn())
await asyncio.sleep(0)
t.cancel()
try:
    await asyncio.wait_for(t, 1)
except asyncio.CancelledError:
    return "cancelled"
except TimeoutError:
    return "swallowed"
"""
    result = await run(program)
    assert result.value == "cancelled", result.text


@pytest.mark.parametrize("base", ["dict", "list", "str"])
async def test_a_subclass_of_a_container_is_allowed_or_refused_with_a_hint(base: str) -> None:
    result = await run(f"class D({base}):\n    def extra(self):\n        return len(self)\nreturn D().extra()")
    if result.ok:
        assert result.value == 0
    else:
        assert result.error is not None
        assert result.error.line == 1
        assert f"keep a {base} in an attribute" in result.error.message


async def test_a_refusal_says_what_to_use_instead() -> None:
    result = await run("x = open('a.txt').read()")
    assert result.error is not None
    assert "tool" in result.text


async def test_all_builtin_exception_names_exist() -> None:
    import builtins

    names = sorted(n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException))
    result = await run("return len([" + ", ".join(names) + "])")
    assert result.value == len(names)


@pytest.mark.parametrize(
    "program",
    [
        "return ().__class__.__bases__",
        "return (lambda: 0).__globals__",
        "return (lambda: 0).__code__",
        "return getattr((), '__class__').__subclasses__()",
        "return '{0.__class__.__mro__}'.format(1)",
        "return f'{(1).__class__.__mro__}'",
        "import json\nreturn json.codecs",
        "return print.__self__",
        "async def f(): pass\nc = f()\nreturn c.cr_frame",
        "def g(): yield\nreturn g().gi_frame",
        "try:\n    1/0\nexcept Exception as e:\n    return e.__traceback__.tb_frame",
        "return type('X', (), {})",
        "import asyncio\nreturn asyncio.get_event_loop()",
        "return tools.__class__.__init__",
        "return ToolCallError.__init__.__globals__",
        "return __builtins__",
        "return __import__('os')",
    ],
)
async def test_no_way_out_of_the_dialect(program: str) -> None:
    result = await run(program)
    # What is no way out may be there, as long as nothing real comes back.
    assert result.error is not None, result.value
    assert result.error.kind in {"syntax", "exception", "invalid-output"}
