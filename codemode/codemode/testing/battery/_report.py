"""What a battery found: one finding for each attempt, with the events that prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["held", "bypass", "unexercised"]
"""`held`: the attempt got nothing. `bypass`: something ran, or was seen, that must not. `unexercised`: nothing that
the battery could think of made the rule speak, so nothing is known about it; give it `examples`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One attempt and what came of it."""

    attempt: str
    """The attempt's id, e.g. `names.alias`."""
    aims_at: str
    """What it tries to get past: a guard, policy, restriction, approval, mode, review, timeout, schema, or the log."""
    about: str
    """What it does, in one sentence."""
    tried: str
    """The program, the raw child's code, or the host's call."""
    verdict: Verdict
    happened: str
    """What was seen, in one sentence."""
    evidence: tuple[Mapping[str, Any], ...] = ()
    """The events of the attempt's own log, as `{"seq", "type", "data"}`."""


@dataclass(frozen=True, slots=True)
class BatteryReport:
    """All findings of one battery."""

    findings: tuple[Finding, ...]

    @property
    def bypasses(self) -> tuple[Finding, ...]:
        """The findings that show a way around a rule."""
        return tuple(finding for finding in self.findings if finding.verdict == "bypass")

    @property
    def unexercised(self) -> tuple[Finding, ...]:
        """The rules about which nothing could be learnt."""
        return tuple(finding for finding in self.findings if finding.verdict == "unexercised")

    @property
    def ok(self) -> bool:
        """True where there is no bypass."""
        return not self.bypasses

    @property
    def text(self) -> str:
        """A table for people: every bypass with its program, every unexercised rule, and a count of the rest."""
        return "\n".join(self._lines())

    def raise_for_bypass(self) -> None:
        """Fail a test on the first way around a rule.

        Raises:
            AssertionError: there is a bypass; the text names each.
        """
        if not self.ok:
            raise AssertionError(self.text)

    def to_json(self) -> dict[str, Any]:
        """`{"ok", "findings": [...]}`, ready for `json.dumps`."""
        return {"ok": self.ok, "findings": [asdict(finding) for finding in self.findings]}

    def _lines(self) -> Iterator[str]:
        counts = Counter(finding.verdict for finding in self.findings)
        yield (
            f"{len(self.findings)} attempts: {counts['held']} held, {counts['bypass']} got past, "
            f"{counts['unexercised']} rules never spoke"
        )
        for finding in (*self.bypasses, *self.unexercised):
            yield ""
            yield f"{finding.verdict.upper()}  {finding.attempt}  (aims at: {finding.aims_at})"
            yield f"  {finding.about}"
            yield f"  {finding.happened}"
            if finding.verdict == "bypass":
                yield from (f"    | {line}" for line in finding.tried.splitlines())


def evidence_of(events: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    """Events of a log as plain values."""
    return tuple({"seq": event.seq, "type": event.type, "data": dict(event.data)} for event in events)
