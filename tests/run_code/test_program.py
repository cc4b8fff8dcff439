"""A program from its `run` frame to its `done` frame: calls, laziness, forgotten awaits, names, reports, output."""

from __future__ import annotations

import pytest

from tests.run_code.guest import HOLD, Driven, Refuse, drive, spec


def fail(message: str) -> Driven:
    raise Refuse(message)


def test_a_call_gives_its_value_and_carries_its_line() -> None:
    run = drive("x = 1\nreturn await tools.add(a=2, b=3)", {"add": lambda args: args["a"] + args["b"]})
    assert run.value == 5
    (call,) = run.of("call")
    assert call == {"type": "call", "id": 1, "name": "add", "args": {"a": 2, "b": 3}, "line": 2}


def test_exactly_one_done_is_the_last_frame() -> None:
    run = drive("print(1)\nreturn 2")
    assert [frame["type"] for frame in run.frames] == ["log", "done"]


@pytest.mark.parametrize(
    ("program", "has_value", "value"),
    [
        ("x = 1", False, None),
        ("return", False, None),
        ("return None", True, None),
        ("return 0", True, 0),
        ("1 + 1", True, 2),
        ("print(1)", False, None),
        ("", False, None),
        ("# nothing to do yet", False, None),
    ],
)
def test_no_value_differs_from_null(program: str, has_value: bool, value: object) -> None:
    done = drive(program).done
    assert (done["ok"], done["has_value"], done["value"]) == (True, has_value, value)


def test_a_failed_call_raises_with_name_and_message_only() -> None:
    run = drive(
        "try:\n    await tools.boom()\nexcept ToolCallError as e:\n"
        "    return [e.name, e.tool_name, e.message, str(e), hasattr(e, 'code')]",
        {"boom": lambda args: fail("deliberate")},
    )
    assert run.value == ["ToolCallError", "boom", "deliberate", "deliberate", False]


def test_an_uncaught_failed_call_is_reported_with_its_line() -> None:
    error = drive("x = 1\nawait tools.boom()", {"boom": lambda args: fail("deliberate")}).error
    assert (error["kind"], error["type"], error["line"]) == ("exception", "ToolCallError", 2)
    assert error["message"] == "deliberate"
    assert "tools.boom()" in error["traceback"]


class TestLaziness:
    def test_nothing_is_sent_before_the_first_await(self) -> None:
        run = drive(
            "p = tools.a()\nprint('before')\nawait p\nprint('after')",
            {"a": lambda args: 1},
        )
        assert [frame["type"] for frame in run.frames] == ["log", "call", "log", "done"]

    def test_ids_follow_the_order_of_awaiting(self) -> None:
        run = drive("p = tools.a()\nawait tools.b()\nawait p", {"a": lambda args: 1, "b": lambda args: 2})
        assert [name for name, _ in run.calls] == ["b", "a"]

    def test_arguments_are_a_snapshot_of_the_call(self) -> None:
        run = drive("items = [1]\np = tools.a(items=items)\nitems.append(2)\nawait p", {"a": lambda args: 1})
        assert run.calls == [("a", {"items": [1]})]

    def test_a_task_sends_at_its_first_step(self) -> None:
        run = drive(
            "import asyncio\nt = asyncio.create_task(tools.a())\nprint(1)\nawait asyncio.sleep(0)\nprint(2)\n"
            "return await t",
            {"a": lambda args: 5},
        )
        assert [frame["type"] for frame in run.frames] == ["log", "call", "log", "done"]
        assert run.value == 5

    @pytest.mark.parametrize(
        "form",
        [
            "await asyncio.gather(tools.a(), tools.a())",
            "[await asyncio.wait_for(tools.a(), 5), await asyncio.shield(tools.a())]",
            "[await t for t in asyncio.as_completed([tools.a(), tools.a()])]",
            "[await asyncio.create_task(tools.a()), await asyncio.ensure_future(tools.a())]",
        ],
    )
    def test_a_call_is_a_coroutine_to_asyncio(self, form: str) -> None:
        assert drive(f"import asyncio\nreturn {form}", {"a": lambda args: 1}).value == [1, 1]

    def test_a_task_group_takes_calls(self) -> None:
        program = (
            "import asyncio\nasync with asyncio.TaskGroup() as tg:\n    a = tg.create_task(tools.a())\n"
            "async with asyncio.timeout(5):\n    b = await tools.a()\nreturn [a.result(), b]"
        )
        assert drive(program, {"a": lambda args: 1}).value == [1, 1]

    def test_awaiting_twice_raises_and_calls_once(self) -> None:
        run = drive(
            "p = tools.a()\nfirst = await p\ntry:\n    await p\nexcept RuntimeError as e:\n    return [first, str(e)]",
            {"a": lambda args: 1},
        )
        assert run.value[0] == 1
        assert "awaited already" in run.value[1]
        assert len(run.calls) == 1


class TestForgottenAwait:
    def test_a_note_names_the_call_and_the_line(self) -> None:
        run = drive("x = 1\ntools.write(key='a')\nreturn x", {"write": lambda args: None})
        assert run.calls == []
        (note,) = run.done["notes"]
        assert "tools.write(...)" in note
        assert "line 2" in note
        assert "await" in note

    def test_returning_the_call_says_await(self) -> None:
        error = drive("r = tools.greet()\nprint(r)\nreturn r", {"greet": lambda args: "x"}).error
        assert error["kind"] == "invalid-output"
        assert "await tools.greet(...)" in error["message"]
        assert "line 1" in error["message"]

    @pytest.mark.parametrize(
        ("use", "kind"),
        [
            ("r[0]", "TypeError"),
            ("[x for x in r]", "TypeError"),
            ("len(r)", "TypeError"),
            ("1 if r else 2", "TypeError"),
            ("'a' in r", "TypeError"),
            ("r.title", "AttributeError"),
            ("r + 1", "TypeError"),
            ("await tools.take(value=r)", "TypeError"),
        ],
    )
    def test_using_the_call_as_its_value_says_await(self, use: str, kind: str) -> None:
        run = drive(f"r = tools.users()\nreturn {use}", {"users": lambda args: [], "take": lambda args: None})
        assert run.error["type"] == kind
        assert run.error["line"] == 2
        assert "await tools.users(...)" in run.error["message"]
        assert run.calls == []

    def test_a_call_in_a_sort_key_is_an_ordinary_type_error(self) -> None:
        run = drive(
            "try:\n    sorted([2, 1], key=lambda i: tools.name(id=i))\nexcept TypeError as e:\n    return str(e)",
            {"name": lambda args: "x"},
        )
        assert "UnawaitedCall" in run.value
        assert run.calls == []

    def test_a_call_that_a_cancelled_task_never_made_is_not_forgotten(self) -> None:
        run = drive(
            "import asyncio\nt = asyncio.create_task(tools.a())\nt.cancel()\n"
            "try:\n    await t\nexcept asyncio.CancelledError:\n    return 'cancelled'",
            {"a": lambda args: 1},
        )
        assert run.value == "cancelled"
        assert run.done["notes"] == []
        assert run.calls == []


class TestCancellation:
    def test_a_timeout_in_the_program_sends_cancel_and_the_program_goes_on(self) -> None:
        run = drive(
            "import asyncio\ntry:\n    await asyncio.wait_for(tools.slow(), 0.01)\nexcept TimeoutError:\n"
            "    pass\nreturn await tools.fast()",
            {"slow": lambda args: HOLD, "fast": lambda args: 2},
        )
        assert run.value == 2
        assert [frame["id"] for frame in run.of("cancel")] == [1]

    def test_a_reply_that_comes_too_late_is_ignored(self) -> None:
        program = (
            "import asyncio\nt = asyncio.create_task(tools.a())\nawait asyncio.sleep(0)\nt.cancel()\n"
            "try:\n    await t\nexcept asyncio.CancelledError:\n    pass\nawait asyncio.sleep(0.01)\nreturn 1"
        )
        assert drive(program, {"a": lambda args: "late"}).value == 1


class TestNames:
    TOOLS = (
        spec("search", "query", "limit"),
        spec("github.create_issue", "title"),
        spec("github.list-issues", method="list_issues"),
        spec("get-time", method="get_time"),
        spec("keys"),
        spec("__class__"),
        spec("my-server.ping"),
    )

    def run(self, program: str) -> Driven:
        names = [str(tool["name"]) for tool in self.TOOLS]
        return drive(program, {name: lambda args, name=name: name for name in names}, tools=self.TOOLS)

    @pytest.mark.parametrize(
        ("form", "name"),
        [
            ("tools.search()", "search"),
            ("tools['search']()", "search"),
            ("tools.github.create_issue()", "github.create_issue"),
            ("tools['github.create_issue']()", "github.create_issue"),
            ("tools.github['create_issue']()", "github.create_issue"),
            ("tools['github']['list-issues']()", "github.list-issues"),
            ("tools.github.list_issues()", "github.list-issues"),
            ("tools.get_time()", "get-time"),
            ("tools['get-time']()", "get-time"),
            ("tools['get_time']()", "get-time"),
            ("tools.keys()", "keys"),
            ("tools['__class__']()", "__class__"),
            ("tools.my_server.ping()", "my-server.ping"),
            ("tools['my-server'].ping()", "my-server.ping"),
            ("getattr(tools, 'search')()", "search"),
        ],
    )
    def test_every_spelling_reaches_its_tool(self, form: str, name: str) -> None:
        assert self.run(f"return await {form}").value == name

    def test_a_tool_can_be_kept_and_passed_around(self) -> None:
        run = self.run("f = tools.search\nreturn [await f(), callable(f), await (lambda g: g())(tools.keys)]")
        assert run.value == ["search", True, "keys"]

    def test_an_unknown_tool_is_an_attribute_error_with_near_names(self) -> None:
        run = self.run("try:\n    tools.serch\nexcept AttributeError as e:\n    return str(e)")
        assert "'serch'" in run.value
        assert "tools.search" in run.value

    def test_a_tool_of_a_namespace_is_found_without_it_in_the_hint(self) -> None:
        run = self.run("try:\n    tools.create_issue\nexcept AttributeError as e:\n    return str(e)")
        assert "tools.github.create_issue" in run.value

    @pytest.mark.parametrize(
        ("program", "name"),
        [
            ("del tools", "tools"),
            ("x = await tools.search()\ndel tools", "tools"),
            (
                "async def f():\n    return await tools.search()\nif 0:\n    del tools\n    tools = 1\nawait f()",
                "tools",
            ),
            ("sum = sum([1, 2])", "sum"),
            (
                "try:\n    pass\nexcept ToolCallError as ToolCallError:\n    pass\nraise ToolCallError('x')",
                "ToolCallError",
            ),
        ],
    )
    def test_a_given_name_that_the_program_makes_its_variable_is_explained(self, program: str, name: str) -> None:
        message = self.run(program).error["message"]
        assert f"the program assigns or deletes `{name}` somewhere" in message

    def test_a_variable_of_the_program_without_a_value_needs_no_such_words(self) -> None:
        message = self.run("def f():\n    n += 1\nn = 1\nf()").error["message"]
        assert "local variable 'n'" in message
        assert "somewhere" not in message

    def test_an_unknown_name_in_brackets_is_a_key_error_with_near_names(self) -> None:
        run = self.run("try:\n    tools['serch']\nexcept KeyError as e:\n    return str(e)")
        assert "tools.search" in run.value

    def test_membership_hasattr_and_dir_work(self) -> None:
        run = self.run(
            "return ['search' in tools, 'nope' in tools, 'github.create_issue' in tools, hasattr(tools, 'search'), "
            "hasattr(tools, 'nope'), dir(tools.github), 'search' in dir(tools)]"
        )
        assert run.value == [True, False, True, True, False, ["create_issue", "list_issues"], True]

    def test_dir_lists_the_callable_names_and_nothing_else(self) -> None:
        run = drive("return sorted(dir(tools))", {"add": lambda args: 1, "slow": lambda args: 1})
        assert run.value == ["add", "slow"]

    def test_an_underscore_spelling_that_two_names_share_belongs_to_none(self) -> None:
        tools = [spec("a-b", method=""), spec("a.b.c", method="c"), spec("a_c"), spec("a-c", method="")]
        answers = {str(tool["name"]): lambda args, tool=tool: tool["name"] for tool in tools}
        run = drive("return [await tools.a_c(), await tools['a-c'](), 'a-b' in tools]", answers, tools=tools)
        assert run.value == ["a_c", "a-c", True]

    @pytest.mark.parametrize(
        "statement",
        ["tools.search = 1", "del tools.search", "setattr(tools, 'search', 1)", "tools['search'] = 1"],
    )
    def test_tools_cannot_be_changed(self, statement: str) -> None:
        done = self.run(f"try:\n    {statement}\nexcept Exception as e:\n    pass\nreturn await tools.search()").done
        assert not done["ok"] or done["value"] == "search"

    @pytest.mark.parametrize("name", ["__globals__", "__code__", "__self__", "__call__", "_calls", "_name", "_entries"])
    @pytest.mark.parametrize("owner", ["tools", "tools.search", "tools.github", "tools.search()"])
    def test_nothing_behind_the_objects_is_reachable(self, owner: str, name: str) -> None:
        done = self.run(f"return getattr({owner}, {name!r}, None) is None").done
        assert not done["ok"] or done["value"] is True

    @pytest.mark.parametrize("owner", ["tools", "tools.search", "tools.search()"])
    def test_no_second_one_can_be_made(self, owner: str) -> None:
        assert self.run(f"return type({owner})()").error["type"] == "TypeError"

    def test_calling_a_namespace_says_what_to_call(self) -> None:
        assert "create_issue" in self.run("tools.github()").error["message"]


class TestBindingErrors:
    def test_a_bad_call_raises_where_it_stands_with_the_signature_and_takes_no_number(self) -> None:
        signature = "search(query: str, limit: int = 10)"
        run = drive(
            "try:\n    tools.search('x', query='y')\nexcept TypeError as e:\n    bad = str(e)\n"
            "await tools.search('x')\nreturn bad",
            {"search": lambda args: 1},
            tools=[spec("search", "query", "limit", signature=signature)],
        )
        assert signature in run.value
        assert [frame["id"] for frame in run.of("call")] == [1]


class TestOutput:
    def test_text_leaves_as_it_was_printed(self) -> None:
        run = drive(
            'print("a", 1, None, [1, "x"], sep="|", end="!\\n")\nprint()\nprint("no newline", end="")\n'
            'print(" then", flush=True)\nprint("Zoë 😀")'
        )
        assert run.printed == "a|1|None|[1, 'x']!\n\nno newline then\nZoë 😀\n"

    def test_each_print_is_sent_at_once(self) -> None:
        run = drive("print('a', 'b')\nawait tools.x()\nprint('c')", {"x": lambda args: 1})
        assert [frame["type"] for frame in run.frames] == ["log", "call", "log", "done"]

    def test_a_huge_print_leaves_in_pieces(self) -> None:
        run = drive("print('x' * 1_000_000)")
        assert len(run.of("log")) > 1
        assert run.printed == "x" * 1_000_000 + "\n"

    def test_standard_error_is_captured_too(self) -> None:
        assert "oops" in drive("import sys\nprint('oops', file=sys.stderr)").printed


class TestReport:
    def test_the_line_is_the_innermost_of_the_program(self) -> None:
        error = drive("def f(x):\n    return 1 / x\n\nf(1)\nf(0)").error
        assert (error["type"], error["line"]) == ("ZeroDivisionError", 2)
        assert error["traceback"].startswith("line 5\n    f(0)\nline 2, in f\n")
        assert "codemode_guest" not in error["traceback"]

    def test_carets_stand_under_what_failed(self) -> None:
        error = drive("d = {'a': 1}\nx = 1 + d['b']").error
        lines = error["traceback"].split("\n")
        at = lines.index("    x = 1 + d['b']")
        assert lines[at + 1].strip(" ") == "^" * len("d['b']")
        assert lines[at + 1].index("^") == lines[at].index("d['b']")

    @pytest.mark.parametrize(
        "name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "RecursionError", "MemoryError", "StopIteration"]
    )
    def test_any_exception_is_an_exception_with_type_and_line(self, name: str) -> None:
        error = drive(f"x = 1\nraise {name}('bye')").error
        assert (error["kind"], error["line"]) == ("exception", 2)
        assert error["type"] == name

    def test_a_giant_message_is_cut_and_says_so(self) -> None:
        error = drive("raise ValueError('x' * 5_000_000)").error
        assert len(error["message"]) < 30_000
        assert "characters left out" in error["message"]

    def test_a_text_that_cannot_be_made_is_reported_all_the_same(self) -> None:
        error = drive("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()").error
        assert error["type"] == "E"
        assert "__str__" in error["message"]

    def test_causes_are_told(self) -> None:
        error = drive("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('bad') from e").error
        assert error["traceback"].index("ZeroDivisionError") < error["traceback"].index("ValueError")
        assert error["line"] == 4

    def test_every_error_of_a_group_is_told(self) -> None:
        error = drive("raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])").error
        assert "ValueError: a" in error["traceback"]
        assert "TypeError: b" in error["traceback"]

    def test_a_syntax_error_has_line_and_caret(self) -> None:
        error = drive("x = 1\ntotal = = 3").error
        assert (error["kind"], error["line"]) == ("syntax", 2)
        assert "total = = 3" in error["traceback"]
        assert "^" in error["traceback"]

    @pytest.mark.parametrize("program", ["x = 1\ny = (", "x = 1\nimport subprocess", "x = 1\n1 / 0"])
    def test_the_lines_of_a_fenced_program_are_its_own(self, program: str) -> None:
        plain, fenced = drive(program).error, drive(f"```python\n{program}\n```\n").error
        assert fenced == plain
        assert program.split("\n")[1] in plain["traceback"]
        assert "x = 1" not in plain["traceback"]

    @pytest.mark.parametrize(
        "program",
        [
            "Here is the code:\n\n```python\nprint(1)\n```\n",
            "I'll do it.\n```\nprint(1)\n```\nThis prints 1.",
            "```python\nprint(1)\n```\n\n```python\nprint(2)\n```",
        ],
    )
    def test_words_or_fences_around_the_program_are_named(self, program: str) -> None:
        assert "`code` must be the program alone" in drive(program).error["message"]

    def test_a_mistake_after_a_string_with_a_fence_is_only_that(self) -> None:
        error = drive('text = """\n```\nx\n```\n"""\ny = )').error
        assert "alone" not in error["message"]

    def test_all_refusals_come_at_once(self) -> None:
        run = drive("import subprocess\nx = 1\neval('1')", {"a": lambda args: 1})
        assert run.error["kind"] == "syntax"
        assert "line 1" in run.error["message"]
        assert "line 3" in run.error["message"]
        assert [refusal[0] for refusal in run.done["refusals"]] == [1, 3]

    def test_the_list_of_modules_is_told_once(self) -> None:
        message = drive("import requests\nimport subprocess").error["message"]
        assert message.count("Available modules") == 1
        assert '"subprocess"' in message

    def test_a_forgotten_await_is_told_once(self) -> None:
        message = drive("r = tools.users()\nreturn r[0]", {"users": lambda args: []}).error["message"]
        assert message.count("await tools.users(...)") == 1
        message = drive("async def f():\n    return 1\nx = f()\nreturn x + 1").error["message"]
        assert message.count("await") == 2  # what is wrong, and what to write
        assert "f(...) on line 3" in message

    def test_checking_only_runs_nothing(self) -> None:
        run = drive("print(1)\nreturn 2", check_only=True)
        assert run.frames == [run.done]
        assert run.done["refusals"] == []
        assert drive("import subprocess", check_only=True).done["refusals"][0][0] == 1


class TestHints:
    @pytest.mark.parametrize(
        ("program", "says"),
        [
            ("r = {'title': 'x'}\nr.title", 'value["title"]'),
            ("r = {'name': 1, 'mail': 2}\nr['email']", "'mail'"),
            ("r = {'name': 1, 'mail': 2}\nr['email']", "'name'"),
            ("r = [{'id': 1}]\nr.get('data')", "list"),
            ("r = [{'id': 1}]\nr.get('data')", "'id'"),
            ("rows = await search(q='x')", "tools.search"),
            ("rows = await search_tool(q='x')", "tools.<name>"),
            ("a = SearchArgs(q='x')", "plain dicts"),
            ("import json\njson.loads({'id': 7})", "values already"),
            ("counts = 1\nprint(count)", "counts"),
            ("raise SystemExit(3)", "return"),
        ],
    )
    def test_a_turn_is_saved(self, program: str, says: str) -> None:
        assert says in drive(program, {"search": lambda args: 1}).error["message"]
