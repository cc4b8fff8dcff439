"""Programs that try to get out: none gets anything, each ends within its limits, and the next run works.

An attack that works returns or prints PWNED. Beyond that, the table says how each must end: as a refusal (`syntax`),
as an exception, as a kill, or with one of the harmless values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from codemode import Limits, RunResult
from tests.cases.given import read_rows
from tests.cases.lab import lab

ATTACKS = read_rows("attacks.jsonl")

LIMITS = Limits(compute_seconds=0.5, wall_seconds=8.0, memory_bytes=256 * 2**20, output_bytes=1_000_000, max_calls=500)

SPECIAL = {
    # These only wait: the wall clock is what ends them.
    "110_swallow_cancel": replace(LIMITS, wall_seconds=0.8),
    "111_bare_except_cancel": replace(LIMITS, wall_seconds=0.8),
    "116_sleep_forever": replace(LIMITS, wall_seconds=0.8),
    "172_sleep_nan": replace(LIMITS, wall_seconds=0.8),
    # It is the size that ends it, and a text of that size costs a busy machine more than half a second.
    "140_print_huge": replace(LIMITS, compute_seconds=5.0),
    # A hundred thousand calls are made, and none awaited: no limit is what ends it.
    "145_never_awaited": replace(LIMITS, compute_seconds=5.0),
}

FAILED = {"syntax", "exception"}
ENDED = {"timeout", "worker-exit", "exception", "output-limit"}
PARSED = {"syntax", "ok"}

Check = Callable[[Any], bool]


def _names(value: Any) -> bool:
    """A list of exception names, codec results and the like: plain short texts."""
    return isinstance(value, list) and all(isinstance(item, str) and len(item) < 60 for item in value)


# id -> the kinds of end that are sound, and the values that are, where the program may end well.
SOUND: dict[str, tuple[set[str], Check | None]] = {
    "012_type_function_ctor": (FAILED, _names),
    "017_coroutine_frame": (FAILED, lambda v: v == []),
    "022_traceback_returned": (FAILED, lambda v: _names(v) and not any("/" in item for item in v)),
    "028_str_format_unbound": (FAILED, lambda v: v == ["denied"] * 6),
    "033_string_template": (FAILED, lambda v: v == "1"),
    "037_attributeerror_obj_host": (FAILED, lambda v: v == []),
    "038_exception_context_chain": (FAILED, lambda v: v[0] in {"NoneType", "StopIteration"} and v[1] is None),
    "039_exception_reduce": (FAILED, lambda v: v == []),
    "042_raise_systemexit": ({"exception"}, None),
    "044_raise_nonexception": ({"exception"}, None),
    "046_evil_str_loop": ({"timeout", "exception"}, None),
    "048_match_class_format": (FAILED, lambda v: v is None),
    "051_match_args_list_mutate": (FAILED, lambda v: v == "no"),
    "052_match_value_attr": (FAILED, lambda v: v is None),
    "059_hook_unspellable_probe": (FAILED, lambda v: v == [["<getattr>", "_getattr_"], 5]),
    "063_annotation_eval": (FAILED, lambda v: v == []),
    "066_metaclass_inherit": (FAILED, lambda v: v == "all refused"),
    "074_super_tricks": (FAILED, lambda v: v == "refused"),
    "075_property_host_descriptor": (FAILED, lambda v: v == []),
    "077_slots_getset": (FAILED, lambda v: v == "refused"),
    "079_module_poison_targets": (FAILED, lambda v: v == "refused"),
    "080_tools_poison": (FAILED, lambda v: v == "refused"),
    "083_mappingproxy_eq_leak": (FAILED, lambda v: v == "only own dict"),
    "085_copy_reduce": (FAILED, lambda v: v is True),
    "086_copy_facade": (FAILED, lambda v: set(v) <= {"ValueError"}),
    "087_namedtuple_eval": (FAILED, lambda v: v <= 3),
    "088_dataclass_exec": (FAILED, lambda v: v == []),
    "089_enum_functional": (FAILED, lambda v: isinstance(v, str)),
    "090_partial_attrs": (FAILED, lambda v: v == "refused"),
    # `collections.abc` is a listed module, and a module is no value.
    "093_module_attr_leaks": (FAILED | {"invalid-output"}, lambda v: v == []),
    "094_import_forbidden": ({"syntax"}, None),
    "096_import_from_fallback": (FAILED, None),
    "099_json_hooks": (FAILED, lambda v: all(set(keys) <= {"default", "indent", "separators"} for keys in v)),
    "100_event_loop": (FAILED, lambda v: v == "refused"),
    "103_task_fake_loop": (FAILED, lambda v: v == "refused"),
    "104_task_fake_context": (FAILED, lambda v: v == "refused"),
    "106_await_protocol": (FAILED, lambda v: isinstance(v, str)),
    "107_coroutine_drive": (FAILED, lambda v: isinstance(v, str) and "0x" not in v),
    "110_swallow_cancel": ({"timeout"}, None),
    "111_bare_except_cancel": ({"timeout"}, None),
    "113_orphan_tasks": (set(), lambda v: v == "done"),
    "115_await_loop": ({"timeout"}, None),
    "116_sleep_forever": ({"timeout", "exception"}, None),
    "119_c_stack_filter_chain": (ENDED, None),
    "120_c_stack_deep_dealloc": (ENDED, lambda v: set(v) <= {"ok", "RecursionError", "ValueError"}),
    "126_mul_square_bomb": (ENDED, None),
    "130_regex_redos": ({"timeout"}, None),
    "131_int_digits": (FAILED, lambda v: v == ["ValueError"] * 5),
    "132_hash_collisions": ({"timeout"}, lambda v: v == 200000),
    "133_json_deep": (ENDED, lambda v: set(v) <= {"RecursionError", "ValueError", "JSONDecodeError"}),
    "134_result_deep": ({"invalid-output"}, None),
    "135_result_cycle": ({"invalid-output"}, None),
    "136_result_huge": ({"invalid-output", "output-limit"}, None),
    "137_result_evil_objects": ({"invalid-output"}, None),
    "139_print_flood": ({"output-limit", "timeout"}, None),
    "140_print_huge": ({"output-limit", "exception", "worker-exit"}, None),
    "142_print_protocol_forgery": (set(), lambda v: v == 1),
    "143_task_flood": (ENDED, None),
    "144_tool_call_flood": ({"exception"}, None),
    "145_never_awaited": ({"invalid-output"}, None),
    "146_format_width_bomb": (ENDED, lambda v: set(v) <= {"MemoryError", "ValueError", "OverflowError"}),
    "147_decimal_bomb": (ENDED, None),
    "148_itertools_bomb": ({"timeout"}, None),
    "149_difflib_bomb": (ENDED, None),
    "153_uuid_getnode": (FAILED, None),
    "154_env_secret": ({"syntax"}, None),
    "155_lazy_stdlib_import": (FAILED, _names),
    "160_dict_kwargs_class": (FAILED, lambda v: isinstance(v, str)),
    "163_chained_assign_double_eval": (set(), lambda v: v == 1),
    "164_crash_tee": (ENDED, lambda v: isinstance(v, str)),
    "169_base_eq_spoof": (FAILED, lambda v: v == "refused"),
    "170_match_range_bomb": (ENDED, lambda v: v in {"rest", "no match"}),
    "172_sleep_nan": ({"timeout", "exception"}, None),
    "173_tool_arg_evil": (FAILED, _names),
    "179_walrus_in_comprehension_scope": (FAILED, lambda v: v == 2),
    "185_gen_finally_bomb": (set(), lambda v: v == [1]),
    "187_syntaxerror_filename": (FAILED, None),
    "188_namedtuple_unicode": (FAILED, _names),
}


def program_of(row: dict[str, Any]) -> str:
    """The attack's text; long ones are written as an expression."""
    return str(eval(row["generate"], {})) if "generate" in row else str(row["program"])


def outcome_of(result: RunResult) -> str:
    return "ok" if result.error is None else result.error.kind


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ATTACKS])
def test_an_attack_gets_nothing(row: dict[str, Any]) -> None:
    program = program_of(row)
    world = lab(program)
    result = world.run(limits=SPECIAL.get(row["id"], LIMITS))
    outcome = outcome_of(result)
    value = "a number" if isinstance(result.value, int) else json.dumps(result.value)
    gained = value + json.dumps(result.logs)
    assert "PWNED" not in gained, gained[:500]
    for leak in ("root:x", "<class", "<module", "built-in", "site-packages"):
        assert leak not in gained
    if not result.ok and result.error.kind != "syntax":
        assert "root:x" not in result.text
    kinds, harmless = (
        (PARSED | {"exception"}, lambda v: True) if "generate" in row else SOUND.get(row["id"], (FAILED, None))
    )
    if outcome == "ok":
        assert harmless is not None, f"ended well with {result.value!r}, but must be refused"
        assert harmless(result.value), result.value
    else:
        assert outcome in kinds, result.text[:800]
    # The clock covered all of it.
    assert result.usage is None or result.usage.compute_seconds < SPECIAL.get(row["id"], LIMITS).compute_seconds + 0.3
    # Nothing is left of it.
    after = world.run("return await tools.echo(value='alive')")
    assert after.value == "alive"


def test_no_tool_is_called_twice_or_faked_by_the_attacks_on_the_bridge() -> None:
    world = lab(next(row["program"] for row in ATTACKS if row["id"] == "080_tools_poison"))
    world.run(limits=LIMITS)
    assert world.visits == []
    evil = lab(next(row["program"] for row in ATTACKS if row["id"] == "173_tool_arg_evil"))
    value = evil.value()
    sent = [visit.arguments["value"] for visit in evil.visits]
    # A cycle, an object, NaN, bytes, a tuple as key, a lambda, the tools, a module: none is sent.
    assert [name == "sent" for name in value] == [
        False, False, False, False, True, False, value[6] == "sent", False, False, False,
    ]  # fmt: skip
    assert sent[0] == {"1": 2}
    flood = lab(next(row["program"] for row in ATTACKS if row["id"] == "144_tool_call_flood"))
    assert flood.run(limits=LIMITS).error.type == "ToolCallError"
    assert len(flood.visits) == 500
