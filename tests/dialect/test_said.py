"""What messages and reprs say to a program: names of its own and of Python, never ours, and no place of the machine."""

from __future__ import annotations

import pytest

from codemode import Registry, run_sync
from codemode_guest.dialect import MODULES
from tests.run_code.guest import drive

BEFORE = """\
import abc, asyncio, contextlib, copy, enum, typing
class A: pass
class E(enum.Enum):
    X = 1
class P(typing.Protocol): pass
class B(abc.ABC): pass
"""

SAID = [
    ("asyncio.sleep()", "sleep() missing 1 required positional argument: 'delay'"),
    ("contextlib.suppress(x=1)", "suppress() got an unexpected keyword argument 'x'"),
    ("copy.deepcopy()", "deepcopy() missing 1 required positional argument: "),
    ("asyncio.run()", "run() missing 1 required positional argument: 'main'"),
    ("getattr(1)", "getattr() missing 1 required positional argument: "),
    ("hasattr()", "hasattr() missing 2 required positional arguments: "),
    ("setattr(1)", "setattr() missing 2 required positional arguments: "),
    ("vars(1, 2)", "vars() takes from 0 to 1 positional arguments but 2 were given"),
    ("print(nope=1)", "print() got an unexpected keyword argument 'nope'"),
    ("str.format()", "format() missing 1 required positional argument: "),
    ("'{}'.format_map()", "format_map() missing 1 required positional argument: "),
    ("A + 1", "unsupported operand type(s) for +: 'type' and 'int'"),
    ("len(A)", "object of type 'type' has no len()"),
    ("E + 1", "unsupported operand type(s) for +: 'EnumType' and 'int'"),
    ("P + 1", "unsupported operand type(s) for +: '_ProtocolMeta' and 'int'"),
    ("B + 1", "unsupported operand type(s) for +: 'ABCMeta' and 'int'"),
]


@pytest.mark.parametrize(("expression", "message"), SAID, ids=[expression for expression, _ in SAID])
def test_a_message_names_what_the_program_wrote(expression: str, message: str) -> None:
    error = drive(BEFORE + expression).error
    assert error["type"] == "TypeError"
    assert error["message"].startswith(message)


def test_no_message_of_any_listed_function_names_our_code_or_a_file() -> None:
    modules = [name for name in MODULES if name not in ("os", "os.path")]  # those two are a harmless program's only
    program = "".join(f"import {name}\n" for name in modules) + (
        f"said = []\n"
        f"for module in [{', '.join(modules)}]:\n"
        "    for name in dir(module):\n"
        "        value = getattr(module, name)\n"
        "        if not callable(value):\n"
        "            continue\n"
        "        for given in [(), (1,) * 9, (object(),), (None, None)]:\n"
        "            try:\n"
        "                made = value(*given)\n"
        "                if asyncio.iscoroutine(made):\n"
        "                    await asyncio.wait_for(made, 0.01)\n"
        "            except (Exception, SystemExit) as error:\n"
        "                said.append(f'{module} {name}{given}: {error} {error!r}')\n"
        "return said\n"
    )
    said = run_sync(Registry(), program).value
    assert isinstance(said, list)
    assert len(said) > 500
    assert [
        text for text in said if "codemode" in str(text) or ".py" in str(text) or "site-packages" in str(text)
    ] == []


def test_reprs_of_tasks_and_futures_name_no_file() -> None:
    program = """\
async def work(value):
    await asyncio.sleep(value)
    return value
async def fail():
    raise ValueError("no")
running, failing = asyncio.create_task(work(9)), asyncio.create_task(fail())
running.add_done_callback(lambda task: None)
running.add_done_callback(print)
group = asyncio.gather(work(0), return_exceptions=True)
said = [repr(running)]
await asyncio.wait([failing])
said += [repr(running), repr(failing), repr(group), repr(asyncio.shield(group)), str(asyncio.Event())]
failing.exception()
running.cancel()
await group
try:
    await running
except asyncio.CancelledError:
    said.append(repr(running))
return said
"""
    said = run_sync(Registry(), "import asyncio\n" + program).value
    assert isinstance(said, list)
    assert len(said) == 7
    assert "work()" in str(said[0])
    assert "<lambda>()" in str(said[0])
    for text in said:
        assert not any(part in str(text) for part in ("/", ".py", "codemode")), text


@pytest.mark.parametrize("slots", ["", "(slots=True)", "(slots=True, frozen=True)"])
def test_private_fields_of_a_dataclass_are_those_of_its_class(slots: str) -> None:
    program = f"""\
from dataclasses import asdict, dataclass, fields
@dataclass{slots}
class Account:
    owner: str
    __pin: int = 1234
    def check(self, pin):
        return self.__pin == pin
@dataclass{slots}
class Joint(Account):
    __pin: int = 99
    def both(self):
        return [self.__pin, self._Account__pin]
one, two = Account("a", 5), Joint("b", 6, 7)
def tried(read):
    try:
        return read()
    except AttributeError:
        return "none"
return [
    repr(one), one.check(5), asdict(one), [each.name for each in fields(two)], two.both(), one == Account("a", 5),
    Account(owner="c", _Account__pin=8).check(8), tried(lambda: one.__pin),
]
"""
    # Python's own answer; a private name is mangled where the class is written.
    names: dict[str, object] = {}
    exec("def main():\n" + "".join(f"    {line}\n" for line in program.splitlines()), names)
    expected = names["main"]()  # type: ignore[operator]
    expected[0] = expected[0].removeprefix("main.<locals>.")
    assert drive(program).value == expected
    assert expected[1:3] == [True, {"owner": "a", "_Account__pin": 5}]


@pytest.mark.parametrize(
    ("line", "hinted"),
    [
        ("value = None\nvalue.name", True),
        ("raise AttributeError('it is gone', name='name')", False),
        ("raise AttributeError('it is gone', name='name', obj=None)", False),
        (
            "class A:\n    @property\n    def name(self):\n        raise AttributeError('no', name='name')\nA().name",
            False,
        ),
    ],
)
def test_only_a_value_that_is_none_is_called_none(line: str, hinted: bool) -> None:
    assert ("the value is None" in drive(line).error["message"]) is hinted
