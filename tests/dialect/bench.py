"""How fast programs compute under the dialect, against plain CPython.

    python -m tests.dialect.bench [--repeat 7]

Prints one line per workload (the best of the repeats on each side, taken alternately), the geometric mean, and what
compiling a 30-line program and making the globals of a run cost.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import math
import time
from typing import Any

from codemode_guest.dialect import compile_program, make_globals, start
from tests.dialect.driver import Text, ToolCallError, Tools

WORKLOADS: dict[str, str] = {
    "arithmetic": """
total = 0
for i in range(200000):
    total += i * i % 7 - (i >> 3)
return total""",
    "function calls": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
return fib(20)""",
    "list comprehension": """
rows = [[i * j % 10 for j in range(60)] for i in range(300)]
return sum(sum(r) for r in rows)""",
    "dict grouping": """
groups = {}
for i in range(60000):
    groups.setdefault(i % 17, []).append(i)
return {k: len(v) for k, v in groups.items()}""",
    "defaultdict and counter": """
from collections import Counter, defaultdict
d = defaultdict(int)
words = ("the quick brown fox jumps over the lazy dog " * 1500).split()
for w in words:
    d[w] += 1
return Counter(words).most_common(2), len(d)""",
    "string building": """
parts = []
for i in range(30000):
    parts.append(f"{i:05d}:{'x' * (i % 5)}".upper().strip().replace("X", "y"))
return len("".join(parts))""",
    "str.format": """
out = []
for i in range(20000):
    out.append("{:>6} {name}={v:.2f}".format(i, name="n", v=i / 3))
return len(out)""",
    "class attributes": """
class Account:
    def __init__(self, owner, opening):
        self.owner = owner
        self.balance = opening
        self.moves = []
    def deposit(self, amount):
        self.balance += amount
        self.moves.append(amount)
        return self.balance
    def average(self):
        return self.balance / len(self.moves)
a = Account("x", 0)
for i in range(30000):
    a.deposit(i % 13)
return a.average()""",
    "method dispatch": """
class Shape:
    def area(self): return 0
class Rect(Shape):
    def __init__(self, width, height):
        self.width, self.height = width, height
    def area(self): return self.width * self.height
class Circle(Shape):
    def __init__(self, radius): self.radius = radius
    def area(self): return 3 * self.radius * self.radius
shapes = [Rect(i % 7, 3) if i % 2 else Circle(i % 5) for i in range(400)]
total = 0
for _ in range(60):
    for s in shapes:
        total += s.area()
return total""",
    "dataclasses": """
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
    label: str = ""
pts = [Point(i, i * 2) for i in range(20000)]
return sum(p.x + p.y for p in pts), pts[3] == Point(3, 6)""",
    "private attributes": """
class Stack:
    def __init__(self):
        self._stack_items = []
        self.__size = 0
    def push(self, v):
        self._stack_items.append(v)
        self.__size += 1
    def pop(self):
        self.__size -= 1
        return self._stack_items.pop()
s = Stack()
for i in range(30000):
    s.push(i)
    if i % 3 == 0:
        s.pop()
return len(s._stack_items)""",
    "json": """
import json
d = {"rows": [{"id": i, "name": "n%d" % i, "tags": ["a", "b"]} for i in range(200)]}
n = 0
for _ in range(40):
    n += len(json.loads(json.dumps(d))["rows"])
return n""",
    "regex": """
import re
rx = re.compile(r"(?P<k>\\w+)=(?P<v>\\d+)")
text = "alpha=1 beta=22 gamma=333 " * 20
n = 0
for _ in range(100):
    for m in rx.finditer(text):
        n += int(m.group("v")) + len(m["k"])
return n""",
    "sorting": """
rows = [{"name": f"n{i * 7919 % 1000}", "score": i * 31 % 97} for i in range(6000)]
rows.sort(key=lambda r: (-r["score"], r["name"]))
return rows[0], sorted(range(20000), key=lambda v: -v)[0]""",
    "generators": """
def numbers(n):
    for i in range(n):
        yield i
def even(src):
    for x in src:
        if x % 2 == 0:
            yield x * x
return sum(even(numbers(80000)))""",
    "exceptions": """
n = 0
for i in range(40000):
    try:
        if i % 4 == 0:
            raise ValueError(i)
        n += 1
    except ValueError:
        n -= 1
return n""",
    "matrix": """
size = 45
a = [[i + j for j in range(size)] for i in range(size)]
b = [[i - j for j in range(size)] for i in range(size)]
c = [[0] * size for _ in range(size)]
for i in range(size):
    for j in range(size):
        s = 0
        for k in range(size):
            s += a[i][k] * b[k][j]
        c[i][j] = s
return c[3][4]""",
    "math": """
import math
total = 0.0
for i in range(1, 60000):
    total += math.sqrt(i) * math.sin(i) + math.floor(i / 3)
return round(total, 6)""",
    "dates": """
from datetime import date, timedelta, datetime
d = date(2020, 1, 1)
n = 0
for i in range(15000):
    d += timedelta(days=1)
    if d.weekday() < 5:
        n += d.day + len(d.isoformat())
return n""",
    "match": """
def kind(e):
    match e:
        case {"type": "push", "n": int(n)} if n > 3:
            return n
        case [a, b]:
            return a + b
        case "x" | "y":
            return 1
        case _:
            return 0
events = [{"type": "push", "n": 5}, [1, 2], "y", 7]
total = 0
for i in range(3000):
    for e in events:
        total += kind(e)
return total""",
    "unknown names through the guard": """
class Node:
    def __init__(self, mapping, register):
        self.mapping = mapping
        self.register = register
nodes = [Node(i, i + 1) for i in range(20000)]
total = 0
for n in nodes:
    total += n.mapping * 2 + n.register % 5 + (n.mapping & 3)
    total -= len(str(total)) + sum((1, 2, 3))
return total""",
}

TYPICAL = """import asyncio
import json
from collections import defaultdict
from datetime import datetime

async def fetch_all(query):
    items, cursor = [], None
    while True:
        page = await tools.search(query=query, cursor=cursor)
        items.extend(page["items"])
        cursor = page.get("next")
        if not cursor:
            return items

rows = await fetch_all("open issues")
users = await asyncio.gather(*(tools.get_user(user_id=r["owner"]) for r in rows))
by_team = defaultdict(list)
for row, user in zip(rows, users):
    created = datetime.fromisoformat(row["created"])
    by_team[user["team"]].append({**row, "age": (datetime(2024, 1, 1) - created).days})
report = []
for team, members in sorted(by_team.items(), key=lambda kv: -len(kv[1])):
    oldest = max(members, key=lambda m: m["age"])
    avg = sum(m["age"] for m in members) / len(members)
    report.append(f"{team}: {len(members)} open, average {avg:.1f} days, oldest {oldest['title']!r}")
    if avg > 30:
        try:
            await tools.notify(team=team, text=f"{avg:.0f} days")
        except ToolCallError as error:
            print("could not notify", team, error.message)
return {"report": report, "teams": len(by_team), "raw": json.dumps(rows)[:200]}
"""


def _plain(source: str) -> Any:
    tree = ast.parse("async def main():\n    pass")
    main = tree.body[0]
    assert isinstance(main, ast.AsyncFunctionDef)
    main.body = ast.parse(source).body
    ast.fix_missing_locations(tree)
    names: dict[str, Any] = {"__builtins__": builtins, "__name__": "__main__"}
    exec(compile(tree, "<plain>", "exec", dont_inherit=True), names)
    return names["main"]


def _drive(coroutine: Any) -> tuple[float, Any]:
    """Seconds of a coroutine that never really waits."""
    began = time.thread_time()
    try:
        coroutine.send(None)
    except StopIteration as done:
        return time.thread_time() - began, done.value
    raise RuntimeError("the workload waits")


def measure(source: str, repeat: int) -> tuple[float, float]:
    """Best seconds in plain CPython and under the dialect."""
    program = compile_program(source)
    main = _plain(source)
    best = [math.inf, math.inf]
    for _ in range(repeat):
        spent, expected = _drive(main())
        best[0] = min(best[0], spent)
        names = make_globals(program, tools=Tools(), tool_call_error=ToolCallError, stdout=Text())
        spent, done = _drive(start(program, names))
        best[1] = min(best[1], spent)
        if done.value != expected:
            raise RuntimeError(f"{done.value!r} is not {expected!r}")
    return best[0], best[1]


def once(action: Any, repeat: int = 30) -> float:
    """Best seconds of an action."""
    best = math.inf
    for _ in range(repeat):
        began = time.thread_time()
        action()
        best = min(best, time.thread_time() - began)
    return best


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    ratios: list[float] = []
    for name, source in WORKLOADS.items():
        plain, dialect = measure(source, repeat)
        ratios.append(dialect / plain)
        print(f"{name:<34}{plain * 1e3:8.2f} ms {dialect * 1e3:8.2f} ms  {dialect / plain:5.2f}x")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{'geometric mean':<54}  {mean:5.2f}x   worst {max(ratios):.2f}x")
    program = compile_program(TYPICAL)
    spent = once(lambda: compile_program(TYPICAL))
    print(f"compile, {len(program.lines) - 1} lines: {spent * 1e3:.2f} ms")
    spent = once(lambda: make_globals(program, tools=Tools(), tool_call_error=ToolCallError, stdout=Text()), 200)
    print(f"make_globals: {spent * 1e6:.0f} us")


if __name__ == "__main__":
    main()
