"""Attempts from inside a program, in the dialect: the table.

Each row is a program over the canary's tools. What must never happen is the same for all of them (`_checks`); a row
says besides what the program must have come to, so that an attempt which never got as far as trying fails as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from codemode._result import RunResult
from codemode_bridge import Limits


@dataclass(frozen=True, slots=True)
class ProgramAttempt:
    """One program that tries to get past something."""

    name: str
    aims_at: str
    about: str
    program: str
    came_to: Callable[[RunResult], bool]
    """What shows that the program did try."""
    limits: Limits | None = None


PRELUDE = """\
import asyncio
async def tried(make):
    try:
        return ["got", await make()]
    except Exception as error:
        return [type(error).__name__, str(error)]
"""


def _refused(times: int) -> Callable[[RunResult], bool]:
    """Each of the program's tries was refused, and there were that many."""

    def came_to(result: RunResult) -> bool:
        outcomes = cast("list[list[Any]]", result.value or [])
        return result.ok and len(outcomes) == times and all(outcome[0] != "got" for outcome in outcomes)

    return came_to


def _got(*expected: Any) -> Callable[[RunResult], bool]:
    return lambda result: result.ok and result.value == list(expected)


def _ok(result: RunResult) -> bool:
    return result.ok


def _row(
    name: str,
    aims_at: str,
    about: str,
    body: str,
    came_to: Callable[[RunResult], bool],
    limits: Limits | None = None,
) -> ProgramAttempt:
    return ProgramAttempt(name, aims_at, about, PRELUDE + body, came_to, limits)


PROGRAMS: tuple[ProgramAttempt, ...] = (
    _row("names.dot", "restriction", "Calls a tool that the scope may not see by its plain name.",
         "return [await tried(lambda: tools.hidden())]", _refused(1)),
    _row("names.subscript", "restriction", "Asks for it by subscript, with and without made-up prefixes.",
         "names = ['hidden', 'canary.hidden', 'global.hidden', '../hidden', 'tools.hidden', '.hidden', 'hidden.']\n"
         "return [await tried(lambda: tools[name]()) for name in names]", _refused(7)),
    _row("names.getattr", "restriction", "Asks for it through getattr, with a default that would hide a failure.",
         "found = getattr(tools, 'hidden', None)\nreturn [['none', ''] if found is None else ['got', '']]", _refused(1)),
    _row("names.spelling", "restriction", "Spells it with look-alike, full-width, padded and cased characters.",
         "names = ['\\uff48idden', 'h\\u0456dden', 'hidden ', ' hidden', 'HIDDEN', 'hidden\\u200b', 'hidden\\x00']\n"
         "return [await tried(lambda: tools[name]()) for name in names]", _refused(7)),
    _row("names.other_scope", "scope", "Calls tools of a sibling scope and of a scope below.",
         "return [await tried(lambda: tools[name]()) for name in ('neighbour', 'below', 'neighbour.neighbour')]",
         _refused(3)),
    _row("names.import", "restriction", "Gets at tools through every import that a program may make of them.",
         "import tools as imported\nfrom codemode import tools as again\n"
         "return [await tried(lambda: imported.hidden()), await tried(lambda: again['neighbour']())]", _refused(2)),
    _row("names.run_code", "mode", "Calls run_code from inside run_code.",
         "return [await tried(lambda: tools['run_code'](code='return 1', description='again')),\n"
         "        await tried(lambda: tools.run_code(code='return 1', description='again'))]", _refused(2)),
    _row("tools.tamper", "guard", "Puts one tool in the place of another, on the tools object itself.",
         "outcomes = []\n"
         "for change in (lambda: setattr(tools, 'open', tools.guarded), lambda: vars(tools).update(hidden=tools.open),\n"
         "               lambda: delattr(tools, 'guarded')):\n"
         "    try:\n        change()\n        outcomes.append(['got', ''])\n"
         "    except Exception as error:\n        outcomes.append([type(error).__name__, ''])\n"
         "return outcomes", _refused(3)),
    _row("guard.direct", "guard", "Makes the denied call as it stands.",
         "return [await tried(lambda: tools.guarded(amount=99))]", _refused(1)),
    _row("guard.alias", "guard", "Makes it through an alias, a list, a dict, a partial and a lambda.",
         "import functools\nalias = tools.guarded\n"
         "ways = [lambda: alias(amount=99), lambda: [alias][0](amount=99), lambda: {'f': alias}['f'](amount=99),\n"
         "        functools.partial(alias, amount=99), lambda: (lambda f: f(amount=99))(alias)]\n"
         "return [await tried(way) for way in ways]", _refused(5)),
    _row("guard.forms", "guard", "Makes it in every form in which arguments can be given.",
         "return [await tried(lambda: tools.guarded({'amount': 99})), await tried(lambda: tools.guarded(99)),\n"
         "        await tried(lambda: tools['guarded'](amount=99)), await tried(lambda: tools.guarded(**{'amount': 99}))]",
         _refused(4)),
    _row("guard.numbers", "guard", "Makes it with numbers just over the line, huge, and in other types.",
         "from decimal import Decimal\nfrom fractions import Fraction\nimport enum\n"
         "class Level(enum.IntEnum):\n    HIGH = 99\n"
         "numbers = [50.000001, 10 ** 30, 1e308, Level.HIGH, Decimal('99'), Fraction(99), True, '99', [99], None]\n"
         "return [o for n in numbers if (o := await tried(lambda: tools.guarded(amount=n)))]", _refused(10)),
    _row("guard.retry", "guard", "Makes it thirty times in a row.",
         "return [await tried(lambda: tools.guarded(amount=99)) for _ in range(30)]", _refused(30)),
    _row("guard.gather", "guard", "Hides denied calls among allowed ones that run at the same time.",
         "calls = [tools.guarded(amount=99 if n % 2 else n) for n in range(20)]\n"
         "done = await asyncio.gather(*calls, return_exceptions=True)\n"
         "return [isinstance(item, ToolCallError) for item in done]", _got(*([False, True] * 10))),
    _row("guard.mutate", "guard", "Changes the arguments after the call was made, while it waits its turn.",
         "arguments = {'amount': 1}\ncall = tools.guarded(arguments)\narguments['amount'] = 99\n"
         "first = await tried(lambda: call)\n"
         "arguments = {'amount': 1}\ntask = asyncio.create_task(tools.guarded(arguments))\nawait asyncio.sleep(0)\n"
         "arguments['amount'] = 99\nsecond = await tried(lambda: task)\nreturn [first[0], second[0]]",
         _ok),
    _row("guard.two_faced", "guard", "Gives a dict that answers differently each time it is read.",
         "class Two(dict):\n    reads = 0\n    def __getitem__(self, key):\n        self.reads += 1\n"
         "        return 1 if self.reads < 2 else 99\n    def items(self):\n        self.reads += 1\n"
         "        return [('amount', 1 if self.reads < 2 else 99)]\n"
         "return [(await tried(lambda: tools.guarded(Two(amount=99))))[0],\n"
         "        (await tried(lambda: tools.guarded(**Two(amount=99))))[0]]", lambda result: True),
    _row("guard.body_calls_on", "guard", "Lets a tool's own body make the denied call.",
         "return [await tools.nesting()]", _got(True)),
    _row("guard.finally", "guard", "Makes it while an exception is on its way out.",
         "outcomes = []\ntry:\n    try:\n        raise ValueError('x')\n    finally:\n"
         "        outcomes.append(await tried(lambda: tools.guarded(amount=99)))\n"
         "except ValueError:\n    outcomes.append(await tried(lambda: tools.guarded(amount=98)))\nreturn outcomes",
         _refused(2)),
    _row("guard.late", "guard", "Starts it in a task that nobody awaits, and returns at once.",
         "asyncio.create_task(tools.guarded(amount=99))\nasyncio.create_task(tools.hidden_later()\n"
         "    if hasattr(tools, 'hidden_later') else tools.open(n=1))\nreturn [1]", _got(1)),
    _row("guard.shield", "guard", "Makes it under shield, wait_for, a task group and as_completed.",
         "async def group():\n    async with asyncio.TaskGroup() as tasks:\n"
         "        task = tasks.create_task(tools.guarded(amount=99))\n    return task.result()\n"
         "async def completed():\n    for item in asyncio.as_completed([tools.guarded(amount=99)]):\n        return await item\n"
         "return [await tried(lambda: asyncio.shield(tools.guarded(amount=99))),\n"
         "        await tried(lambda: asyncio.wait_for(tools.guarded(amount=99), 5)),\n"
         "        await tried(group), await tried(completed)]", _refused(4)),
    _row("guard.broken", "guard", "Calls tools whose guard raises, is async, or answers something odd.",
         "return [await tried(lambda: tools[name]()) for name in ('raising_guard', 'async_guard', 'odd_guard')]",
         _refused(3)),
    _row("guard.after_success", "guard", "Makes an allowed call first, then the denied one with the same tool.",
         "first = await tools.guarded(amount=5)\nreturn [await tried(lambda: tools.guarded(amount=99))]", _refused(1)),
    _row("policy.direct", "policy", "Makes a call that a policy denies, in three spellings of its argument.",
         "import enum\nclass Key(str, enum.Enum):\n    S = 'secret-3'\n"
         "return [await tried(lambda: tools.policed(key=key)) for key in ('secret', 'secret-2', Key.S)]", _refused(3)),
    _row("policy.broken", "policy", "Calls tools whose policy raises or answers something odd.",
         "return [await tried(lambda: tools[name]()) for name in ('raising_policy', 'odd_policy')]", _refused(2)),
    _row("policy.gather", "policy", "Hides a call that a policy denies among allowed ones.",
         "done = await asyncio.gather(*(tools.policed(key=key) for key in ('a', 'secret', 'b')), return_exceptions=True)\n"
         "return [isinstance(item, ToolCallError) for item in done]", _got(False, True, False)),
    _row("approval.rejected", "approval", "Makes a call that the human rejects, twice.",
         "return [await tried(lambda: tools.asked(key='no')) for _ in range(2)]", _refused(2)),
    _row("approval.reuse", "approval", "Uses a grant for another call of the same tool, and for the same call again.",
         "first = await tools.asked(key='yes')\nagain = await tools.asked(key='yes')\n"
         "return [await tried(lambda: tools.asked(key='no'))]", _refused(1)),
    _row("approval.gather", "approval", "Lets a rejected call run beside an approved one.",
         "done = await asyncio.gather(*(tools.asked(key=key) for key in ('yes', 'no', 'yes')), return_exceptions=True)\n"
         "return [isinstance(item, ToolCallError) for item in done]", _got(False, True, False)),
    _row("approval.overruled", "approval", "Has the human allow what a guard denies.",
         "return [await tried(lambda: tools.asked_guarded())]", _refused(1)),
    _row("review.block", "review", "Looks for a blocked value in the error, its attributes, its cause and its text.",
         "try:\n    await tools.blocked()\nexcept ToolCallError as error:\n    print(repr(error), error.args, error.message)\n"
         "    seen = [repr(getattr(error, '__dict__', None)), str(error.__cause__), str(error.__context__), repr(dir(error))]\n"
         "    return [['refused', item] for item in seen]", _refused(4)),
    _row("review.replace", "review", "Looks at a value that a review replaced, alone and in a gather.",
         "return [await tools.replaced(), *await asyncio.gather(tools.replaced(), tools.replaced())]",
         _got("clean", "clean", "clean")),
    _row("review.gather", "review", "Takes a blocked value out of a gather that returns exceptions.",
         "done = await asyncio.gather(tools.blocked(), tools.open(n=1), return_exceptions=True)\n"
         "return [['refused', repr(done[0]) + str(done[0].args)]]", _refused(1)),
    _row("output.mistyped", "output schema", "Takes a value that breaks its tool's output schema.",
         "return [await tried(lambda: tools.mistyped())]", _refused(1)),
    _row("timeout.slow", "timeout", "Waits for a body that is over its time, plainly and under a shield.",
         "return [await tried(lambda: tools.slow()), await tried(lambda: asyncio.shield(tools.slow()))]", _refused(2)),
    _row("args.schema", "argument schema", "Gives arguments that the schema refuses, in every way.",
         "values = ['5', 5.5, True, 10, -1, None, [], {}, 10 ** 40]\n"
         "outcomes = [await tried(lambda: tools.typed(n=value)) for value in values]\n"
         "outcomes += [await tried(lambda: tools.typed({})), await tried(lambda: tools.typed({'n': 1, 'more': 2}))]\n"
         "return outcomes", _refused(11)),
    _row("limit.calls", "limit", "Makes more calls than the run may.",
         "done = await asyncio.gather(*(tools.open(n=n) for n in range(40)), return_exceptions=True)\n"
         "return [sum(isinstance(item, ToolCallError) for item in done)]", _got(35), Limits(max_calls=5)),
    _row("log.order", "event log", "Makes calls one after the other and at once, and fails in between.",
         "for n in range(5):\n    await tools.open(n=n)\nawait asyncio.gather(*(tools.exclusive(n=n) for n in range(5)))\n"
         "return [await tried(lambda: tools.policed(key='secret'))]", _refused(1)),
    _row("log.crash", "event log", "Ends in an exception right after a call.",
         "await tools.open(n=1)\nraise ValueError('the end')", lambda result: not result.ok),
)  # fmt: skip
