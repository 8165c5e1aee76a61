"""Check whether a manipulated scenario really cannot be served (appendix A.2): its two and five criteria, as far as text shows them.

They look at what was made, not at who made it: a rule, a model or a person. Each is a small function, and says in a line what it looks
for. What only a person can decide is a failure marked `review`: the scenario may be right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from talm_sim.language.question_words import STOP, stem
from talm_sim.language.sentences import split_sentences
from talm_sim.retrieval import SERVES_LIMIT
from talm_sim.scenarios.item_tools import required_of, spec_of
from talm_sim.tasks.awareness.making.cutting import find_unnatural
from talm_sim.tasks.awareness.making.pool import UNSURE_LIMIT, Api, Pool, api_of, is_other_action
from talm_sim.tasks.awareness.making.remove import BY_PEOPLE, readable_texts
from talm_sim.tasks.awareness.making.value_spellings import gives_value_away
from talm_sim.types import Scenario, YesNo


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A manipulated scenario that a check does not let pass."""

    check: str
    words: str
    review: bool = False


@dataclass(frozen=True, slots=True)
class _Pair:
    """What is checked: a scenario, its manipulated version, and what compares APIs."""

    original: Scenario
    changed: Scenario
    pool: Pool | None
    limit: float

    @property
    def needed(self) -> list[Api]:
        target = self.original.target
        names = target.relevant if isinstance(target, YesNo) else ()
        return [api for api in self.shown_apis(self.original) if api.name in names]

    @staticmethod
    def shown_apis(scenario: Scenario) -> list[Api]:
        return [api_of(text, scenario) for text in scenario.shown_tools]

    def likeness(self, api: Api, needed: Api) -> float:
        """Return how well an API can do a needed one's work: 1 for one of the same name, 0 for one with another action in its name."""
        if api.own_name == needed.own_name:
            return 1.0
        return self.pool.cosine(needed, api) if self.pool and not is_other_action(api, needed) else 0.0

    @property
    def said(self) -> list[tuple[str, str]]:
        """Return what the user said before and says now, message by message; only for conversations of equal length."""
        pairs = zip(_messages(self.original), _messages(self.changed), strict=False)
        return [(before["content"], after["content"]) for before, after in pairs if before["role"] == "user"]


@dataclass(frozen=True, slots=True)
class Check:
    """A criterion.

    Attributes:
        group: `replaced` or `removed`: what it applies to.
        find: Looks at a pair; yields what it finds and whether a person must look.
    """

    name: str
    about: str
    group: str
    find: Callable[[_Pair], Iterator[tuple[str, bool]]]


def check_manipulated(original: Scenario, changed: Scenario, pool: Pool | None = None, limit: float = SERVES_LIMIT) -> list[FailedCheck]:
    """Return what is wrong with a manipulated scenario; empty if nothing is found."""
    pair = _Pair(original, changed, pool, limit)
    written = isinstance(changed.target, YesNo) and changed.target.made_by == BY_PEOPLE
    return [
        FailedCheck(check.name, words, review)
        for check in _CHECKS
        if check.group == changed.group and not (written and check.name in _OF_CUTTING)
        for words, review in dict.fromkeys(check.find(pair))
    ]


def _conversation_changed(pair: _Pair) -> Iterator[tuple[str, bool]]:
    if pair.original.turns != pair.changed.turns:
        yield "the conversation is another one", False


def _check_needed_hidden(pair: _Pair) -> Iterator[tuple[str, bool]]:
    left = {api.name for api in pair.shown_apis(pair.changed)}
    for api in pair.needed:
        if api.name in left or api.text in pair.changed.shown_tools:
            yield f"'{api.name}' is still shown", False


def _list_changed(pair: _Pair) -> Iterator[tuple[str, bool]]:
    before, after = pair.original.shown_tools, pair.changed.shown_tools
    needed = {api.text for api in pair.needed}
    if len(before) != len(after):
        yield f"{len(before)} APIs became {len(after)}", False
    elif any(old != new for old, new in zip(before, after, strict=True) if old not in needed):
        yield "an API was changed that the request does not need", False
    if len(set(after)) < len(after) or len({api.name for api in pair.shown_apis(pair.changed)}) < len(after):
        yield "an API is shown twice", False


def _substitute_serves(pair: _Pair) -> Iterator[tuple[str, bool]]:
    before = set(pair.original.shown_tools)
    for api in (api for api in pair.shown_apis(pair.changed) if api.text not in before):
        for one in pair.needed:
            cosine = pair.likeness(api, one)
            if cosine >= pair.limit:
                yield f"'{api.name}' is like '{one.name}' ({cosine:.2f})", False


def _check_no_part_served(pair: _Pair) -> Iterator[tuple[str, bool]]:
    """Call every tool that is shown, and look for a fact that is asked for."""
    for api in pair.shown_apis(pair.changed):
        if pair.pool and (words := pair.pool.find_served_part(pair.original, api)):
            yield words, False


def _check_no_substitute(pair: _Pair) -> Iterator[tuple[str, bool]]:
    """Check that not all needed APIs have one like them in the list: a request is only served if each of them does."""
    needed, left = {api.text for api in pair.needed}, set(pair.changed.shown_tools)
    kept = [api for api in pair.shown_apis(pair.original) if api.text not in needed and api.text in left]
    best = [max(((pair.likeness(api, one), api.name, one.name) for api in kept), default=(0.0, "", "")) for one in pair.needed]
    likest = max(best, default=(0.0, "", ""))
    words = f"'{likest[1]}' is like '{likest[2]}' ({likest[0]:.2f})"
    if best and min(best)[0] >= pair.limit:
        yield words, False
    elif best and (likest[0] >= pair.limit or min(best)[0] >= UNSURE_LIMIT):
        yield f"{words}, and may serve a part", True
    for api in kept:
        if api.is_general:
            yield f"'{api.name}' finds anything by a free text", True


def _check_changed(pair: _Pair) -> Iterator[tuple[str, bool]]:
    if pair.original.turns == pair.changed.turns:
        yield "nothing was removed", False


def _check_ending(pair: _Pair) -> Iterator[tuple[str, bool]]:
    if not (messages := _messages(pair.changed)) or messages[-1]["role"] != "user":
        yield "the conversation does not end with the user", False
    elif not re.search(r"\w", messages[-1]["content"]):
        yield "the user's last words are empty", False


def _check_rest_unchanged(pair: _Pair) -> Iterator[tuple[str, bool]]:
    if pair.original.shown_tools != pair.changed.shown_tools:
        yield "other APIs are shown", False
    before, after = _messages(pair.original), _messages(pair.changed)
    if [message["role"] for message in before] != [message["role"] for message in after]:
        yield "messages were added or taken away", False
    elif any(old != new for old, new in zip(before, after, strict=True) if old["role"] != "user"):
        yield "something was changed that the user did not say", False


def _words_added(pair: _Pair) -> Iterator[tuple[str, bool]]:
    for before, after in pair.said:
        if new := Counter(_content(after)) - Counter(_content(before)):
            yield f"new words: {', '.join(sorted(new)[:5])}", sum(new.values()) <= _MOST_NEW_WORDS


_MOST_NEW_WORDS = 3
"""Content words that a rewriting may add to a message before it counts as another message; a person looks at it anyway."""


def _check_value_unsaid(pair: _Pair) -> Iterator[tuple[str, bool]]:
    for value in (missing.value for missing in pair.changed.missing if missing.value is not None):
        for text in readable_texts(pair.changed.turns):
            if gives_value_away(text, value):
                yield f"'{value}' is still said", False


def _check_incomplete(pair: _Pair) -> Iterator[tuple[str, bool]]:
    if not pair.original.gold_calls:
        yield "the source has no gold arguments: whether what is left suffices must be read", True
        return
    if not (lost := _lost_arguments(pair)):
        yield "every argument that was said is said", False
    elif not any(name in required for _, _, name, required in lost):
        yield f"no API requires '{lost[0][2]}'", False


def _check_served_in_part(pair: _Pair) -> Iterator[tuple[str, bool]]:
    """Look for a call that can still be made, once one cannot."""
    stopped = {number for number, _, name, required in _lost_arguments(pair) if name in required}
    left = [call.name for number, call in enumerate(pair.original.gold_calls) if number not in stopped]
    if stopped and left:
        yield f"'{left[0]}' can still be called, so that part of the request is served", False


def _request_gone(pair: _Pair) -> Iterator[tuple[str, bool]]:
    asked = sum(_asks(before) for before, _ in pair.said), sum(_asks(after) for _, after in pair.said)
    if asked[0] <= asked[1]:
        return
    if len(pair.original.gold_calls) > 1:
        yield "one of several requests was removed; the others may still be served", False
    else:
        yield "a sentence that asks was removed: is a request left that needs the API?", True


def _check_natural(pair: _Pair) -> Iterator[tuple[str, bool]]:
    for before, after in pair.said:
        if before != after and (fault := find_unnatural(after, before)):
            yield fault, False


_CHECKS: tuple[Check, ...] = (
    Check("conversation changed", "the conversation is the original's to the letter", "replaced", _conversation_changed),
    Check("needed API shown", "no API that the request needs is left in the list", "replaced", _check_needed_hidden),
    Check("list changed", "each needed API has one substitute, and the other APIs stay as they are", "replaced", _list_changed),
    Check("substitute serves", "no substitute can serve the request (A.2, first criterion)", "replaced", _substitute_serves),
    Check("another API serves", "no API that was not replaced can serve the request (A.2, second criterion)", "replaced", _check_no_substitute),
    Check("part served", "no tool that is shown returns a fact that is asked for, where it can be called", "replaced", _check_no_part_served),
    Check("value still said", "what was removed can be read nowhere, in any spelling", "removed", _check_value_unsaid),
    Check("still complete", "something that a call requires is gone (A.2, first criterion)", "removed", _check_incomplete),
    Check("served in part", "no call that the request needs can still be made", "removed", _check_served_in_part),
    Check("request gone", "what was removed is not one request of several (A.2, second criterion)", "removed", _request_gone),
    Check("unnatural", "what is left are whole sentences (A.2, third criterion)", "removed", _check_natural),
    Check("identical", "something was removed (A.2, fourth criterion)", "removed", _check_changed),
    Check("ends otherwise", "the user speaks last (A.2, fifth criterion)", "removed", _check_ending),
    Check("rest changed", "only what the user said is changed", "removed", _check_rest_unchanged),
    Check("words added", "words are removed, not put in their place", "removed", _words_added),
)
"""All criteria, those of replaced tools first."""
_OF_CUTTING = frozenset({"unnatural", "words added"})
"""Criteria for words that were cut out: people write whole sentences, and something vague where a value was."""


def _messages(scenario: Scenario) -> list[dict[str, Any]]:
    return [message for turn in scenario.turns for message in turn.messages]


def _content(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"\w+", text.casefold()) if stem(word) not in STOP]


_REQUEST = re.compile(
    r"\?|\b(?:please|can you|could you|would like|i'd like|i want|i need|tell me|give me|show me|find|fetch|provide|help me)\b", re.IGNORECASE
)


def _asks(text: str) -> int:
    return sum(_REQUEST.search(sentence) is not None for sentence in split_sentences(text))


def _lost_arguments(pair: _Pair) -> list[tuple[int, str, str, tuple[str, ...]]]:
    """Yield call, tool, argument and required parameters for every gold argument that could be read before, and no longer can."""
    specs = {str(spec.get("name")): spec for spec in map(spec_of, pair.original.shown_tools)}
    before, after = list(readable_texts(pair.original.turns)), list(readable_texts(pair.changed.turns))
    return [
        (number, call.name, name, required_of(specs.get(call.name, {})))
        for number, call in enumerate(pair.original.gold_calls)
        for name, value in call.arguments.items()
        if any(gives_value_away(text, value) for text in before) and not any(gives_value_away(text, value) for text in after)
    ]
