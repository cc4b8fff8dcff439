"""Where things lie in the zygote's memory: what every run touches, together; what none does, in large pages; no gaps.

A child shares the zygote's pages until it writes to them, and CPython writes wherever it looks: to call a function is
to count a reference to its code. Each first write copies a page of 4 KiB, each fork and each exit goes through all
pages that are there, and this is most of what a child costs. So there should be few pages with much on them; and what
can be had as a page of 2 MiB counts as one page, until somebody writes to a part of it that is shared.

In order, once, in the zygote: `load_libraries` before anything else, `warm_up` when all is loaded, `settle` when
nothing more is made, and `apart` for the code that runs in the zygote from then on. Nothing here changes what any code
does.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader, PathFinder
from types import CodeType, FrameType, FunctionType
from typing import TypeVar, cast

# Modules of compiled code that come with what a child can import. What is not there, or built in, is passed over.
_LIBRARIES = (
    *("_asyncio", "_bisect", "_blake2", "_contextvars", "_csv", "_ctypes", "_datetime", "_decimal", "_hashlib"),
    *("_heapq", "_json", "_opcode", "_posixsubprocess", "_random", "_sha512", "_socket", "_statistics", "_struct"),
    *("_typing", "_uuid", "_zoneinfo", "array", "binascii", "cmath", "fcntl", "math", "resource", "select"),
    "unicodedata",
)
# CPython's small objects (Objects/obmalloc.c): sizes are multiples of 16 up to 512 bytes, each size in pools of 16 KiB
# (3.10 and later) that begin with a header of 48 bytes. What is larger is malloc's, which puts 16 bytes before it.
_STEP, _LARGEST_SMALL = 16, 512
_POOL, _POOL_HEADER = 16 * 1024, 48
_LARGEST, _LARGE_STEP, _CHUNK_HEADER = 4096, 256, 16
_BATCH, _MOST_BATCHES, _IN_A_ROW = 64, 200, 4
# A function is specialised after it was called or has looped a few times; a child has no time for that.
_WARM_UPS = 12
_FREED, _LONGEST_FREED = 20, 9
# What the zygote's loop makes is no larger.
_LARGEST_OF_LOOP = 128
_LARGE_PAGE = 2 * 1024 * 1024
_MADV_COLLAPSE = 25

_Function = TypeVar("_Function", bound=Callable[..., object])


def load_libraries() -> None:
    """Map all libraries side by side: objects come to lie in one piece, not in the gaps between them."""
    for name in _LIBRARIES:
        spec = PathFinder.find_spec(name)
        if spec is not None and spec.origin is not None and isinstance(spec.loader, ExtensionFileLoader):
            ctypes.CDLL(spec.origin)


def warm_up(run: Callable[[], object], *others: Callable[..., object]) -> None:
    """Specialise the code of what every run does, and put it together.

    Args:
        run: does what every run does.
        others: functions that are called in every child and cannot be called here.
    """
    called = _code_of(run)
    _move_together([*(cast("FunctionType", other).__code__ for other in others), *called])
    for _ in range(_WARM_UPS):
        run()


def settle() -> None:
    """Leave no gaps that a child would fill, and make the pages large."""
    _FILLINGS.append(_fill_gaps(_LARGEST))
    _FILLINGS.append(_fill_gaps(_LARGEST_OF_LOOP))  # Those that the first filling left behind.
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc: what it holds in reserve would be mapped in every child
        libc.malloc_trim(0)
    if sys.platform == "linux":
        for place in sorted({id(thing) // _LARGE_PAGE for thing in gc.get_objects()}):
            # Refused where other things are mapped too, and by kernels before 6.1: then small pages stay.
            libc.madvise(ctypes.c_void_p(place * _LARGE_PAGE), ctypes.c_size_t(_LARGE_PAGE), _MADV_COLLAPSE)


_FILLINGS: list[object] = []


def apart(function: _Function) -> _Function:
    """The same function, made anew: it, its code and what the code keeps lie where the newest things do."""
    old = cast("FunctionType", function)
    return cast("_Function", FunctionType(old.__code__.replace(), old.__globals__, old.__name__))


def _code_of(run: Callable[[], object]) -> list[CodeType]:
    """The code of all functions that are called, in the order of their first calls."""
    called: dict[int, CodeType] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.setdefault(id(frame.f_code), frame.f_code)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(called.values())


def _move_together(codes: list[CodeType]) -> None:
    """Give the functions copies of their code that were made one after the other, and lie so."""
    copies: dict[int, CodeType] = {}
    for code in codes:
        _copied(code, copies)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and (copy := copies.get(id(thing.__code__))) is not None:
            thing.__code__ = copy


def _copied(code: CodeType, copies: dict[int, CodeType]) -> CodeType:
    """A copy, made once; what is defined inside it (a comprehension, a closure) is copied with it."""
    if id(code) not in copies:
        inside = [_copied(each, copies) if isinstance(each, CodeType) else each for each in code.co_consts]
        copies[id(code)] = code.replace(co_consts=tuple(inside))
    return copies[id(code)]


def _fill_gaps(largest: int) -> object:
    """Up to this size."""
    gc.collect()  # Also empties the interpreter's lists of freed tuples and the like, which lie anywhere.
    small = [_fill(size, size) for size in range(_STEP, min(largest, _LARGEST_SMALL) + 1, _STEP)]
    large = [_fill(size, size + _CHUNK_HEADER) for size in range(largest, _LARGEST_SMALL, -_LARGE_STEP)]
    # Some that were freed meanwhile are kept by the interpreter for the next of their kind.
    freed = [([n], {"n": n}, float(n), [(n,) * size for size in range(1, _LONGEST_FREED)]) for n in range(_FREED)]
    return small, large, freed


def _fill(size: int, distance: int) -> list[object]:
    """Take the free places for things of one size until some lie in a row at the start of unused memory.

    Those that come next, in a child, will lie in a row as well.
    """
    taken: list[object] = []
    for _ in range(_MOST_BATCHES):
        batch = [_thing_of(size) for _ in range(_BATCH)]
        places = [id(thing) for thing in batch]
        for first in range(_BATCH - _IN_A_ROW):
            row = [places[first] + distance * n for n in range(_IN_A_ROW)]
            starts = size > _LARGEST_SMALL or places[first] % _POOL == _POOL_HEADER
            if starts and places[first : first + _IN_A_ROW] == row:
                return taken + batch[:first]
        taken += batch
    return []  # Not the allocator that we know.


def _thing_of(size: int) -> object:
    """An object of no more and no less than `size` bytes that nobody else has."""
    if size == _STEP:
        return object()
    if size == 2 * _STEP:
        return complex(1, 1)
    return bytes(size - sys.getsizeof(b""))
