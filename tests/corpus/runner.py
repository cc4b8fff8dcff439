"""The corpus: ordinary programs in text files, one after the other, each under a line `=== title`."""

from __future__ import annotations

from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def load() -> list[tuple[str, str]]:
    """Every program of the corpus: (file/title, text)."""
    found: list[tuple[str, str]] = []
    for path in sorted(PROGRAMS.glob("*.txt")):
        title, lines = "", list[str]()
        for line in [*path.read_text().split("\n"), "=== "]:
            if line.startswith("=== "):
                if title:
                    found.append((f"{path.stem}/{title}", "\n".join(lines)))
                title, lines = line[4:], []
            else:
                lines.append(line)
    return found
