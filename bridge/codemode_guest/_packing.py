"""Where things lie in the zygote's memory: what every run touches, together; and no gaps for a run to fill.

A child shares the zygote's pages until it writes to them, and CPython writes wherever it looks: to call a function is
to count a reference to its code. Each first write copies a page of 4 KiB, and these copies are most of what a child
costs. So there should be few pages with much on them.

Nothing here changes what any code does. It is done once, in the zygote, when all is loaded.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType

# CPython's small objects (Objects/obmalloc.c): sizes are multiples of 16 up to 512 bytes, each size in pools of 16 KiB
# (3.10 and later) that begin with a header of 48 bytes. What is larger is malloc's, which puts 16 bytes before it.
_STEP, _LARGEST_SMALL = 16, 512
_POOL, _POOL_HEADER = 16 * 1024, 48
_LARGEST, _LARGE_STEP, _CHUNK_HEADER = 4096, 256, 16
_BATCH, _MOST_BATCHES, _IN_A_ROW = 64, 200, 4
# A function is specialised after it was called or has looped a few times; a child has no time for that.
_WARM_UPS = 12


def pack(warm_up: Callable[[], object]) -> object:
    """Put the zygote's memory in order; -> what must be kept alive for it.

    Args:
        warm_up: does what every run does.
    """
    _move_together(_code_of(warm_up))
    for _ in range(_WARM_UPS):
        warm_up()
    gc.collect()
    small = [_fill(size, size) for size in range(_STEP, _LARGEST_SMALL + 1, _STEP)]
    large = [_fill(size, size + _CHUNK_HEADER) for size in range(_LARGEST, _LARGEST_SMALL, -_LARGE_STEP)]
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc: what it holds in reserve would be mapped in every child
        libc.malloc_trim(0)
    return small, large


def _code_of(warm_up: Callable[[], object]) -> list[CodeType]:
    """The code of all functions that are called, in the order of their first calls."""
    called: dict[int, CodeType] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.setdefault(id(frame.f_code), frame.f_code)

    sys.setprofile(note)
    try:
        warm_up()
    finally:
        sys.setprofile(None)
    return list(called.values())


def _move_together(codes: list[CodeType]) -> None:
    """Give the functions copies of their code that were made one after the other, and lie so."""
    copies = {id(code): code.replace() for code in codes}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and (copy := copies.get(id(thing.__code__))) is not None:
            thing.__code__ = copy


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
