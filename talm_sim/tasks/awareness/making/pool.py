"""Find APIs that can replace a needed one, and whether one API can do another's work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from talm_sim.language.question_words import stem
from talm_sim.retrieval import Embedder, TextIndex
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.tasks.awareness.making.serving import Serving
from talm_sim.types import Scenario

UNSURE_LIMIT = 0.4
"""Cosine from which a person should look at an API that was not put there on purpose."""
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
_ACTIONS = tuple(
    frozenset(map(stem, words.split()))
    for words in (
        "add create register registration open book record set insert",
        "delete remove cancel",
        "modify update edit change rename",
        "query get search find list fetch check retrieve show",
    )
)
"""Actions of an API, by the words of its name: APIs with different ones cannot replace each other."""
_GENERAL = re.compile(r"\b(?:search engine|web search|google search|wiki(?:pedia)?)\b", re.IGNORECASE)
"""Words of APIs that find anything by a free text, and so answer most questions."""


@dataclass(frozen=True)
class Api:
    """An API as scenarios show it."""

    text: str
    source: str = ""

    @cached_property
    def name(self) -> str:
        """Name under which it is shown."""
        return str(spec_of(self.text).get("name", ""))

    @cached_property
    def tool(self) -> str:
        """The tool it belongs to, without case; empty if its source has no tools above APIs."""
        return str(spec_of(self.text).get("tool", "")).casefold()

    @cached_property
    def own_name(self) -> str:
        """Its name within its tool, as letters and digits without case."""
        return re.sub(r"[\W_]+", "", str(spec_of(self.text).get("api") or self.name).casefold())

    @cached_property
    def words(self) -> str:
        """Name and description, which are compared (section 3.2)."""
        spec = spec_of(self.text)
        title = f"{spec.get('tool', '')} {spec.get('api', '')}".strip() or self.name
        return " ".join(f"{_WORDS.sub(' ', title)}: {spec.get('description') or ''}".split())

    @cached_property
    def actions(self) -> frozenset[int]:
        """Which of `_ACTIONS` its name says it does."""
        words = {stem(word.casefold()) for word in _WORDS.split(str(spec_of(self.text).get("api") or self.name)) if word}
        return frozenset(number for number, known in enumerate(_ACTIONS) if words & known)

    @cached_property
    def is_general(self) -> bool:
        """Whether it finds anything by a free text, so that it serves most requests."""
        return _GENERAL.search(self.words) is not None


class Pool:
    """APIs of some sources, each listed and embedded once.

    Args:
        serving: Finds by calls whether one serves a part of a request; None if they cannot be called.
    """

    def __init__(self, apis: Iterable[Api], embedder: Embedder, serving: Serving | None = None) -> None:
        sources: dict[str, dict[str, Api]] = {}
        for api in apis:
            sources.setdefault(api.source, {}).setdefault(api.text, api)
        self.apis: Mapping[str, Sequence[Api]] = {source: tuple(known.values()) for source, known in sources.items()}
        """APIs by source: an API only replaces one of its own source, as others are written differently."""
        self._indices = {source: TextIndex([api.words for api in known], embedder) for source, known in self.apis.items()}
        self._embedder = embedder
        self._serving = serving

    def find_served_part(self, original: Scenario, api: Api) -> str:
        """Say what part of a request an API serves, found by calling it; empty if none is found, or it cannot be called."""
        return self._serving.find(original, api.name) if self._serving else ""

    def nearest(self, api: Api) -> Iterable[tuple[Api, float]]:
        """Return the APIs of the same source with their cosine to `api`, nearest first; equally near ones in the order of the pool."""
        if api.source not in self.apis:
            return
        for neighbour in self._indices[api.source].nearest(api.words):
            yield self.apis[api.source][neighbour.place], neighbour.cosine

    def cosine(self, one: Api, other: Api) -> float:
        """Return how near the names and descriptions of two APIs are; they need not be in the pool."""
        index = self._indices.get(one.source)
        place = self._places.get((one.source, one.text)) if index else None
        if index is None or place is None:
            index, place = TextIndex([one.words], self._embedder), 0
        return index.cosine(place, other.words)

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        return {(source, api.text): place for source, known in self.apis.items() for place, api in enumerate(known)}


def pool_of(scenarios: Iterable[Scenario], embedder: Embedder, serving: Serving | None = None) -> Pool:
    """Return all APIs that some scenarios show, in order of appearance."""
    return Pool((api_of(text, scenario) for scenario in scenarios for text in scenario.shown_tools), embedder, serving)


def api_of(text: str, scenario: Scenario) -> Api:
    """Return an API that a scenario shows."""
    return Api(text, scenario.source.name)


def is_other_action(one: Api, other: Api) -> bool:
    """Return whether the names of two APIs say that they do different things: one adds, the other deletes.

    >>> is_other_action(Api('{"name": "AddReminder"}'), Api('{"name": "DeleteReminder"}'))
    True
    """
    return bool(one.actions and other.actions) and not one.actions & other.actions
