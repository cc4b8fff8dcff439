"""Concurrency-safe calls overlap, all others run alone, and the log tells them apart."""

from __future__ import annotations

from tests.cases.given import Case, given
from tests.cases.world import World, assert_same


@given("par-events-carry-call-identity")
def test_equal_calls_are_told_apart_and_end_as_they_finish(case: Case) -> None:
    world = World(case)
    assert world.value() == "ok"
    starts, settles = world.starts(), world.settles()
    assert len({data["sub_call_id"] for data in starts}) == 3
    world.assert_paired()
    by_id = {data["sub_call_id"]: data["arguments"]["ms"] for data in starts}
    # In the order in which the bodies ended; on a busy machine that need not be that of their sleeps.
    ended = sorted(world.visits, key=lambda visit: visit.ended or 0)
    assert [by_id[data["sub_call_id"]] for data in settles] == [visit.arguments["ms"] for visit in ended]
    starts_by_seq = {event.seq: event.data["sub_call_id"] for event in world.of("tool/code-dispatch-start")}
    for data in settles:
        assert starts_by_seq[data["start_seq"]] == data["sub_call_id"]
        assert data["timing"]["body"] >= by_id[data["sub_call_id"]] * 0.9


@given("par-exclusive-barrier")
def test_a_write_runs_alone_between_reads(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), ["r1", "r2", "ok:w", "r3"])
    first, second, write, last = world.visits
    assert [visit.name for visit in world.visits] == ["slow", "slow", "write", "slow"]
    assert second.started < first.ended
    assert write.started >= max(first.ended, second.ended)
    assert last.started >= write.ended
    order = [
        (event.type.rsplit("-", 1)[-1], event.data["name"])
        for event in world.of("tool/code-dispatch-start", "tool/code-dispatch")
    ]
    assert order[:2] == [("start", "slow"), ("start", "slow")]
    assert order.index(("start", "write")) == 4
    assert order[5] == ("dispatch", "write")


@given("par-overlap-window")
def test_no_more_calls_are_open_than_the_cap(case: Case) -> None:
    world = World(case)
    assert world.value() == 30
    assert world.peak == 10


@given("par-sequential-await-order")
def test_a_call_that_was_not_awaited_does_not_block_a_write(case: Case) -> None:
    world = World(case)
    assert_same(world.value(), ["x", "ok:k"])
    # Calls are lazy: the write was submitted first.
    assert [visit.name for visit in world.visits] == ["write", "slow"]
