"""Recover what Fail-TaLMs took away from its queries, which the release does not say, by comparing them with the perfect queries.

A masked tool is the one that the perfect query of the same text has and this one lacks. The words of an under-specified query that were
removed are those of the only perfect query with the same set of tools.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TypeVar

from talm_sim.language.question_words import STOP, stem
from talm_sim.types import Missing, MissingKind, Scenario

SOURCE = "fail-talms"
"""What `Scenario.source` calls the release."""
_DERIVED = ("underspecified", "replaceable", "non-replaceable")
NOTHING_REMOVED = "nothing removed"
"""What is said of a query that has all tools and words of its perfect query."""
_KNOWLEDGE = ("knows the removed words", "does not know what the masked tool would say", NOTHING_REMOVED, "what was removed is not known")
_SENTENCE_ENDS = ".?!"
_ENDS = " .,;:!?"
_PARTNERS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "“": "”", "‘": "’"}
_OUTER_MARKS = _ENDS + "".join({*_PARTNERS, *_PARTNERS.values()})
_K = TypeVar("_K")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class PublishedQuery:
    """A query of the release."""

    id: str
    text: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The known facts about a query that was derived from a perfect one.

    Attributes:
        base: Id of the perfect query's scenario; empty where it was not found.
        missing: What was taken away; None where that is not known, and where nothing was.
        unchanged: Whether nothing was taken away.
    """

    base: str = ""
    missing: Missing | None = None
    unchanged: bool = False


class PerfectQueries:
    """The perfect queries, to find the one that another query was derived from."""

    def __init__(self, queries: Iterable[PublishedQuery]) -> None:
        self._by_text: dict[str, list[PublishedQuery]] = {}
        self._by_tools: dict[frozenset[str], list[PublishedQuery]] = {}
        for query in queries:
            self._by_text.setdefault(query.text, []).append(query)
            self._by_tools.setdefault(frozenset(query.tools), []).append(query)

    def find_masked_tool(self, query: PublishedQuery) -> Recovered:
        """Find the tool that a query with unavailable tools lacks."""
        if (base := _only(self._by_text, query.text)) is None:
            return Recovered()
        if not (gone := [name for name in base.tools if name not in query.tools]):
            return Recovered(base.id, unchanged=set(base.tools) == set(query.tools))
        return Recovered(base.id, Missing(kind=MissingKind.TOOL, name=gone[0]) if len(gone) == 1 else None)

    def find_removed_words(self, query: PublishedQuery) -> Recovered:
        """Find the words that an under-specified query lacks. A person who is asked for them says them as they stood there."""
        if (base := _only(self._by_tools, frozenset(query.tools))) is None:
            return Recovered()
        if _plain(base.text) == _plain(query.text):
            return Recovered(base.id, unchanged=True)
        if not (lacking := lacking_words(base.text, query.text)):
            return Recovered(base.id)
        words, about = zip(*lacking, strict=True)
        name, removed, answer = ", ".join(about), " ... ".join(words), ", ".join(words)
        return Recovered(base.id, Missing(kind=MissingKind.UTTERANCE, name=name, removed_text=removed, human_answer=answer))


def lacking_words(base: str, query: str) -> list[tuple[str, str]]:
    """Return the words that `base` has and `query` lacks, as they stand there: each run of them with what it is about.

    At both ends of a run, words that `query` has elsewhere and words that say nothing are left out. A run is about what stands right before
    and after it, and about what `query` says in its place.

    >>> lacking_words("Who is character 3 in the Rick and Morty universe?", "Who is character 3?")
    [('Rick and Morty universe', 'character 3')]
    >>> lacking_words("Is it raining? List jobs in 'support' in the US.", "Is it raining? List jobs in my favorite category in my country.")
    [('support', 'List jobs favorite category'), ('US', 'jobs support country')]
    """
    words, said = base.split(), query.split()
    plain, plain_said = [_plain(word) for word in words], [_plain(word) for word in said]
    more = Counter(plain) - Counter(plain_said)
    found: dict[str, str] = {}
    for kind, start, end, begin, stop in SequenceMatcher(None, plain, plain_said, autojunk=False).get_opcodes():
        if kind in {"replace", "delete"}:
            kept = [place for place in range(start, end) if more[plain[place]] and _says_something(words, place)]
            if kept:
                run = _strip_marks(" ".join(words[kept[0] : kept[-1] + 1]))
                before = [*takewhile(lambda word: word[-1] not in _SENTENCE_ENDS, reversed(words[:start]))]
                after = words[end:] if words[end - 1][-1] not in _SENTENCE_ENDS else []
                around = [*reversed(_near(before, 2)), *_near(after, 1), *_near(said[begin:stop], stop - begin)]
                found.setdefault(run, " ".join(dict.fromkeys(around)))
    return [(run, about) for run, about in found.items() if run]


def _near(words: Sequence[str], most: int) -> list[str]:
    """Return the first `most` of the words that say something."""
    plain = (word.strip(_OUTER_MARKS) for word in words)
    return [word for word in plain if word and stem(word) not in STOP][:most]


def _says_something(words: Sequence[str], place: int) -> bool:
    """Return whether a word is more than a function word; one with a capital is ("US"), unless it begins a sentence."""
    word = words[place].strip(_OUTER_MARKS)
    begins = place == 0 or words[place - 1][-1] in _SENTENCE_ENDS
    return bool(word) and (stem(word) not in STOP or (not begins and not word.islower()))


def _strip_marks(text: str) -> str:
    """Strip punctuation at both ends, and a quotation mark or bracket that has no partner or surrounds all."""
    text = text.strip(_ENDS)
    first, last = text[:1], text[-1:]
    opens, closes = first in _PARTNERS, last in _PARTNERS.values()
    around = opens and closes and _PARTNERS[first] == last
    if opens and (around or _PARTNERS[first] not in text[1:]):
        text = text[1:]
    if closes and (around or not any(_PARTNERS.get(mark) == last for mark in text[:-1])):
        text = text[:-1]
    return text.strip(_ENDS)


def recovered_lines(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Say of how many queries of each group it is known what is missing; of a group that lacks nothing, say nothing."""
    groups: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(scenario.group, []).append(scenario)
    for group, members in groups.items():
        if group in _DERIVED:
            known, unchanged = sum(bool(one.missing) for one in members), sum(one.source.unchanged for one in members)
            nothing = f"; nothing was removed from {unchanged:,}" if unchanged else ""
            yield f"{group}: what is missing is known of {known:,} of {len(members):,}{nothing}"


def knowledge_notes(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Say, group by group, what a simulated person knows of the queries of the release; nothing of scenarios from elsewhere."""
    counts: dict[str, Counter[str]] = {}
    for scenario in scenarios:
        if scenario.source.name == SOURCE and scenario.group in _DERIVED:
            counts.setdefault(scenario.group, Counter())[_knowledge(scenario)] += 1
    for group, found in counts.items():
        said = "; ".join(f"{what} in {found[what]:,}" for what in _KNOWLEDGE if found[what])
        yield f"simulated person, {group}, of {found.total():,} scenarios: {said}"


def _knowledge(scenario: Scenario) -> str:
    knows, does_not_know, nothing_removed, not_recovered = _KNOWLEDGE
    if not scenario.missing:
        return nothing_removed if scenario.source.unchanged else not_recovered
    return knows if all(one.human_answer for one in scenario.missing) else does_not_know


def _plain(text: str) -> str:
    return _GAP.sub(" ", text).strip(_OUTER_MARKS).casefold()


def _only(queries: Mapping[_K, list[PublishedQuery]], key: _K) -> PublishedQuery | None:
    found = queries.get(key, [])
    return found[0] if len(found) == 1 else None
