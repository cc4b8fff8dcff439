"""The fuzzer: mutated programs of the corpus and of the attacks, through compile and a run in a limited child.

    python -m tests.dialect.fuzz [--seconds 600] [--seed 1]

Whatever a program is, its author sees a refusal, an error of its own, or a value: never an internal error of the
dialect, a tree that could not be checked, or a breach.  A bounded run is in the tests.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import random
import re
import time
from pathlib import Path

_TOKENS = re.compile(r"\w+|[^\w\s]|\s+")
_SPICE = (
    "__class__", "__globals__", "await ", "async ", "yield ", "lambda: ", "match x:", "case _:", "(", ")", "[", "]", ":=",
    "*", "**", "global x\n", "nonlocal x\n", ".format(", "{0.x}", "getattr(", "type(", "super()", "_x", "__x", "del ",
    "except:", "except*", "try:\n", "with ", "import os\n", "from json import dumps\n", "class A:\n    x: int = 1\n",
    "return ", "\n", "    ", "f'{x!r:>{w}}'", "tools.", "0x", "1e999", "\\", "'", '"', "\x0c", "é", "is ", "not ", "...",
)  # fmt: skip


def corpus() -> list[str]:
    """Programs to start from."""
    from tests.corpus.runner import load

    here = Path(__file__).parent.parent / "escapes"
    own = [
        part.partition("\n")[2] for path in (here / "own").glob("*.txt") for part in path.read_text().split("=== ")[1:]
    ]
    return [program for _, program in load()] + own


def mutate(source: str, chosen: random.Random) -> str:
    """Change a program in a few places."""
    tokens = _TOKENS.findall(source) or ["x"]
    for _ in range(chosen.randint(1, 4)):
        at = chosen.randrange(len(tokens))
        action = chosen.randrange(6)
        if action == 0:
            del tokens[at]
        elif action == 1:
            tokens.insert(at, chosen.choice(_SPICE))
        elif action == 2:
            tokens[at] = chosen.choice(tokens)
        elif action == 3:
            tokens[at] = chosen.choice(_SPICE)
        elif action == 4:
            other = chosen.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at:at] = tokens[at : at + chosen.randint(1, 12)]
        tokens = tokens or ["x"]
    return "".join(tokens)


def is_wrong(outcome: str) -> bool:
    """Whether an outcome is the dialect's fault; a mutation may well return an attack's own word for success."""
    if outcome.startswith("breach") and "success" not in outcome:
        return True
    return outcome.startswith(("internal", "crashed")) or "could not be checked" in outcome


def main() -> None:
    """Fuzz for a while and print what is wrong."""
    from tests.escapes.jail import attack

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    programs = corpus()
    end = time.monotonic() + options.seconds
    counts: dict[str, int] = {}
    while time.monotonic() < end:
        source = mutate(chosen.choice(programs), chosen)
        outcome = attack(source, 3.0)
        kind = outcome.partition(":")[0]
        counts[kind] = counts.get(kind, 0) + 1
        if is_wrong(outcome):
            print(f"--- {outcome}\n{source}\n")
    print(counts)


if __name__ == "__main__":
    main()
