"""No attack gets anything: neither those given nor our own, one file of them per class."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.dialect.fuzz import corpus, is_wrong, mutate
from tests.escapes.jail import attack
from tests.escapes.judge import own_attacks

HERE = Path(__file__).parent


def _given() -> list[tuple[str, str]]:
    return [(path.stem, path.read_text()) for path in sorted((HERE / "given").glob("*.txt"))]


def _source(text: str) -> str:
    """The program of a given attack; some describe how to generate it."""
    _, found, recipe = text.partition("# GENERATE: ")
    return str(eval(recipe)) if found else text


# Attacks on time, memory or the C stack, which the process's limits end, not the dialect.
ENDED_BY_LIMITS = ("liveness", "resources", "output")


@pytest.mark.parametrize(("name", "text"), _given(), ids=[name for name, _ in _given()])
def test_a_given_attack_gets_nothing(name: str, text: str) -> None:
    kind = text.partition("# CLASS: ")[2].partition("\n")[0]
    outcome = attack(_source(text), 1.5 if kind in ENDED_BY_LIMITS else 10.0)
    assert not outcome.startswith(("breach", "internal")), outcome
    if kind not in ENDED_BY_LIMITS and name != "046_evil_str_loop":
        assert not outcome.startswith(("killed", "crashed")), outcome


@pytest.mark.parametrize(("name", "text"), own_attacks(guest=False), ids=[name for name, _ in own_attacks(guest=False)])
def test_an_attack_of_our_own_gets_nothing(name: str, text: str) -> None:
    outcome = attack(text, 20.0)
    assert not outcome.startswith(("breach", "internal", "killed", "crashed")), outcome


@pytest.mark.parametrize(("name", "text"), own_attacks(guest=True), ids=[name for name, _ in own_attacks(guest=True)])
def test_an_attack_of_our_own_gets_nothing_of_the_real_tools(name: str, text: str) -> None:
    outcome = attack(text, 20.0, guest=True)
    assert not outcome.startswith(("breach", "internal", "killed", "crashed")), outcome


def test_a_mutated_program_is_never_an_internal_error() -> None:
    chosen = random.Random(20240501)
    programs = corpus()
    for _ in range(60):
        source = mutate(chosen.choice(programs), chosen)
        outcome = attack(source, 3.0)
        assert not is_wrong(outcome), f"{outcome}\n{source}"
