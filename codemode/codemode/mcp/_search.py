"""Ranks tools by a query: the words of their names, namespaces, descriptions and parameters.

Rules
- Pure and deterministic: the same tools and query give the same order; ties stand in the order of names.
- BM25 over weighted fields: a word in a tool's name says more than one in its description; a word that many tools have
  says little. A query word also meets words that begin with it, for less (`repo` finds `repository`).
- An exact name is first, always.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), the simple BM25F.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemode_registry import Tool

from ._json import object_or_empty

_NAME, _NAMESPACE, _DESCRIPTION, _PARAMETER = 4.0, 2.0, 1.0, 1.0
"""Weights of the fields."""

_SATURATION = 1.2
_LENGTH = 0.5
"""BM25's k1 as usual; b below the usual 0.75, since tool descriptions are long for good reasons."""

_PREFIX_SHARE = 0.5
_SHORTEST_PREFIX = 3
"""A query word of this length and up counts half for each word that it begins."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are by for from how i in is it me my of on or that the this to tool tools use what which
    with you""",
    )
)


@dataclass(frozen=True, slots=True)
class Match:
    """A tool and how well it fits."""

    tool: Tool
    score: float


def search(query: str, tools: Sequence[Tool], *, limit: int) -> list[Match]:
    """The tools that fit `query` best, best first; all of them by name for a query without words.

    Args:
        query: words, in any case or spelling of names.
        tools: what to search.
        limit: most matches.
    """
    by_name = sorted(tools, key=lambda tool: tool.full_name)
    words = [word for word in _words(query) if word not in _STOP_WORDS] or _words(query)
    if not words:
        return [Match(tool, 0.0) for tool in by_name[:limit]]
    documents = [_document(tool) for tool in by_name]
    average = sum(sum(document.values()) for document in documents) / max(len(documents), 1)
    exact = query.strip().casefold()
    matches: list[Match] = []
    weights = {word: _rarity(word, documents) for word in words}
    for tool, document in zip(by_name, documents, strict=True):
        score = sum(weights[word] * _saturated(word, document, average) for word in words)
        if exact in (tool.full_name.casefold(), tool.name.casefold()):
            score += 1000.0
        if score > 0.0:
            matches.append(Match(tool, score))
    matches.sort(key=lambda match: -match.score)
    return matches[:limit]


def _document(tool: Tool) -> Mapping[str, float]:
    counts: dict[str, float] = {}
    for text, weight in (
        (tool.name, _NAME),
        (tool.namespace or "", _NAMESPACE),
        (tool.annotations.title or "", _NAMESPACE),
        (tool.description, _DESCRIPTION),
        *((f"{name} {text}", _PARAMETER) for name, text in _parameters(tool)),
    ):
        for word in _words(text):
            counts[word] = counts.get(word, 0.0) + weight
    return counts


def _parameters(tool: Tool) -> list[tuple[str, str]]:
    described: list[tuple[str, str]] = []
    for name, schema in object_or_empty(tool.parameters.get("properties")).items():
        text = object_or_empty(schema).get("description", "")
        described.append((name, text if isinstance(text, str) else ""))
    return described


def _frequency(word: str, document: Mapping[str, float]) -> float:
    found = document.get(word, 0.0)
    if len(word) >= _SHORTEST_PREFIX:
        found += _PREFIX_SHARE * sum(
            count for other, count in document.items() if other != word and other.startswith(word)
        )
    return found


def _rarity(word: str, documents: Sequence[Mapping[str, float]]) -> float:
    having = sum(1 for document in documents if _frequency(word, document))
    return math.log(1.0 + (len(documents) - having + 0.5) / (having + 0.5))


def _saturated(word: str, document: Mapping[str, float], average: float) -> float:
    frequency = _frequency(word, document)
    length = 1.0 - _LENGTH + _LENGTH * sum(document.values()) / average if average else 1.0
    return frequency * (_SATURATION + 1.0) / (frequency + _SATURATION * length) if frequency else 0.0


def _words(text: str) -> list[str]:
    """The words of a text or a name, lower case, plural and verb endings cut."""
    return [_stem(word.casefold()) for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if len(word) >= least and word.endswith(ending):
            if ending == "ies":
                return f"{word[:-3]}y"
            if ending == "es" and not word.endswith(("ses", "xes", "ches", "shes", "zes")):
                return word[:-1]
            if ending == "s" and word.endswith("ss"):
                return word
            return word[: -len(ending)]
    return word
