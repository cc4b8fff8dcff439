"""Taking figures on a noisy machine: contenders in turn, medians, and one row for each.

Rules: all contenders of a measure are sampled in turn, repetition by repetition, so that whatever else the machine does
falls on all of them. A row keeps the median, the 99th percentile and the least of all readings; ratios are of medians.
Nothing here knows what is measured.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

Sample = Callable[[], Mapping[str, Sequence[float]]]
"""One repetition: readings by the name of what they are of; a contender may give several."""

BASELINE = "CPython"
OURS = "codemode"


@dataclass(slots=True)
class Row:
    """One line of the table."""

    measure: str
    subject: str
    unit: str
    median: float
    p99: float
    least: float
    readings: int
    to_baseline: float | None = None
    """This median over the median of plain CPython doing the same."""
    ours_to_it: float | None = None
    """codemode's median over this one: below 1, codemode is better (for times)."""
    target: float | None = None
    """What the median of codemode's own row is to reach."""
    at_least: bool = False
    """The target is a floor, not a ceiling."""
    target_p99: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the targets hold; None where there is none."""
        if self.target is None:
            return None
        holds = self.median >= self.target if self.at_least else self.median <= self.target
        return holds and (self.target_p99 is None or self.p99 <= self.target_p99)

    def as_json(self) -> dict[str, object]:
        """For the file."""
        return {**asdict(self), "reached": self.reached}


@dataclass(slots=True)
class Readings:
    """All readings of one measure, by subject."""

    measure: str
    unit: str
    of: dict[str, list[float]] = field(default_factory=dict)

    def add(self, found: Mapping[str, Sequence[float]]) -> None:
        """Keep one repetition's readings."""
        for subject, values in found.items():
            self.of.setdefault(subject, []).extend(values)

    def rows(
        self,
        *,
        target: float | None = None,
        target_p99: float | None = None,
        baseline: str = BASELINE,
        at_least: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> list[Row]:
        """A row for each subject; the targets are those of codemode's own."""
        medians = {subject: statistics.median(values) for subject, values in self.of.items()}
        plain, ours = medians.get(baseline), medians.get(OURS)
        rows: list[Row] = []
        for subject, values in self.of.items():
            own = subject == OURS
            rows.append(
                Row(
                    measure=self.measure,
                    subject=subject,
                    unit=self.unit,
                    median=medians[subject],
                    p99=percentile(values, 0.99),
                    least=min(values),
                    readings=len(values),
                    to_baseline=_ratio(medians[subject], plain) if subject != baseline else None,
                    ours_to_it=_ratio(ours, medians[subject]) if not own else None,
                    target=target if own else None,
                    target_p99=target_p99 if own else None,
                    at_least=at_least,
                    note=(notes or {}).get(subject, ""),
                )
            )
        return rows


def interleaved(measure: str, unit: str, samples: Iterable[Sample], repeats: int) -> Readings:
    """Sample all contenders in turn, `repeats` times."""
    contenders = list(samples)
    readings = Readings(measure, unit)
    for _ in range(repeats):
        for sample in contenders:
            readings.add(sample())
    return readings


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


def geometric_mean(values: Iterable[float]) -> float:
    """Of ratios."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def render(rows: Sequence[Row]) -> str:
    """The table as text, a block for each measure."""
    lines: list[str] = []
    measure = ""
    for row in rows:
        if row.measure != measure:
            measure = row.measure
            lines.append(f"\n{measure} [{row.unit}]")
            lines.append(f"  {'':<44}{'median':>11}{'p99':>11}{'least':>11}{'xCPython':>10}{'ours/it':>9}  target")
        target = ""
        if row.target is not None:
            bound = f"{'>=' if row.at_least else '<='} {row.target:g}"
            if row.target_p99 is not None:
                bound += f", p99 <= {row.target_p99:g}"
            target = f"{bound}  {'reached' if row.reached else 'NOT REACHED'}"
        lines.append(
            f"  {row.subject:<44}{_short(row.median):>11}{_short(row.p99):>11}{_short(row.least):>11}"
            f"{_times(row.to_baseline):>10}{_times(row.ours_to_it):>9}  {target}{row.note and '  ' + row.note}"
        )
    return "\n".join(lines)


def _short(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def _times(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}x" if value < 100 else f"{value:.0f}x"
