"""Decide whether a question is about the thing that is missing: one rule for the simulated person and for the judge of questions.

The rule takes what a question asks *for*: the words after "which", "what" or "please provide", up to the next preposition; where a question
has none of these, all its words. It compares them with the words of the missing thing: its name, its value, the text taken out of the query,
a description, the person's answer, and a small table of concepts ("which airport" asks for `iata`). A generic request ("could you give more
details?") is about nothing in particular and does not count: an agent that knows what it lacks can name it. What a question asks for is
looked for in 60 words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from talm_sim.language.question_words import GENERIC, STOP, concept_words, content_stems, name_stems, stem
from talm_sim.types import Facts, Missing, MissingKind, Scenario, ToolSpec

_SENTENCE_END = re.compile(r"(?<![.?!;:])[.?!;:]++(?=\s|$)|\n")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_LISTED = re.compile(rf"{_WORD.pattern}|,")
_CONFIRMS = re.compile(r"\b(?:did|do) you (?:\w+ )?mean\b(?!.{0,80}\bor\b)|\bam I right\b|, (?:right|correct|yes|true)$", re.IGNORECASE)
"""What only wants a yes: it asks for nothing that a person's answer would name beside the value, as carats beside 137."""
_WHAT = frozenset({"which", "what", "what's", "whats", "whose"})
_ADVERBS = frozenset({"where", "when", "who", "whom"})
_LEADS_IN = frozenset({"and", "or", "me", "know", "specify", "clarify", "is", "from", "to"})
"""Words after which "where", "when" and "who" ask rather than join clauses; they also ask when they open the sentence."""
_QUANTITY = frozenset({"many", "much", "long", "far", "large", "tall", "high", "heavy"})
_REQUESTS = frozenset(
    [
        *("provide", "tell", "specify", "give", "share", "supply", "clarify", "confirm", "enter", "indicate"),
        *("state", "mention", "choose", "select", "pick", "need", "know", "require", "name", "identify"),
    ]
)
_MOST_WORDS = 60
"""Words behind "which" or "please provide" that are read as what it asks for."""
_FOCUS_ENDS = frozenset({"for", "at", "in", "on", "to", "from", "with", "by", "about", "when", "where", "if", "because", "so", "that"})


def question_is_about(question: str, missing: Missing, description: str = "") -> bool:
    """Tell whether `question` asks for what is missing.

    Args:
        question: What the agent asked the person.
        missing: What was taken away from the scenario.
        description: What the tool specification says of the missing argument or tool, where the caller has it.

    >>> iata = Missing(kind=MissingKind.ARGUMENT, name="iata", value="HAN", removed_text="at Hanoi airport")
    >>> question_is_about("Which airport do you mean?", iata)
    True
    >>> question_is_about("Which unit should I use at the airport?", iata)
    False
    >>> question_is_about("Could you give more details?", iata)
    False
    """
    # A tool's name is full of generic words ("get_airport_details"); an argument may be called by one ("code").
    names = name_stems(missing.name) if missing.kind is MissingKind.ARGUMENT else frozenset[str]()
    wanted = _words_of(missing, description, missing.human_answer or "")
    own = _words_of(missing, description) if missing.kind is MissingKind.ARGUMENT else wanted
    for sentence in _SENTENCE_END.split(question.replace("\u2019", "'")):
        sought = own if _CONFIRMS.search(sentence) else wanted
        for phrase in _asked_stems([word.lower() for word in _WORD.findall(sentence)]):
            named = phrase - GENERIC
            if named & sought or (not named and phrase & names):
                return True
        if names & GENERIC and any(names & one and not one - GENERIC for one in _listed_stems(sentence)):
            return True
    return False


def describe_missing(scenario: Scenario, missing: Missing, specs: Mapping[str, ToolSpec]) -> str:
    """Return what the tool specifications say of a missing tool or argument of the scenario; empty where they say nothing.

    Of an argument that is also what its tool is said to be about, with the word before it: a `part` of a tool for spare parts is a spare part.
    """
    if missing.kind is MissingKind.TOOL:
        return specs[missing.name].description if missing.name in specs else ""
    called = [specs[call.name] for call in scenario.gold_calls if call.name in specs]
    spec = next((one for one in called if missing.name in one.parameters["properties"]), None)
    if spec is None:
        return ""
    own = re.findall(rf"\b([^\W\d_]+ {re.escape(missing.name)})s?\b", spec.description.partition("\n")[0], re.IGNORECASE)
    return " ".join([str(spec.parameters["properties"][missing.name].get("description", "")), *own]).strip()


def replaceable_tools(scenario: Scenario, specs: Mapping[str, ToolSpec]) -> list[Missing]:
    """Return the tools of the gold calls that a person can replace, as if each were missing, with what a person would say in its place."""
    facts = scenario.target.required if isinstance(scenario.target, Facts) else ()
    found = []
    for tool in dict.fromkeys(call.name for call in scenario.gold_calls):
        calls = [index for index, call in enumerate(scenario.gold_calls) if call.name == tool]
        said = [f"The {' '.join(fact.name.split('_'))} is {_write_value(fact.value)}." for fact in facts if fact.call in calls]
        if said and tool in specs and specs[tool].human_replaceable:
            found.append(Missing(kind=MissingKind.TOOL, name=tool, human_answer=" ".join(said)))
    return found


def user_knowledge(scenario: Scenario) -> str:
    """Return what the user of a scenario knows beyond the request, in plain words, one line per blocker; empty if that is nothing.

    Whoever answers for a hidden tool is told that a person may give what it would say (Fail-TaLMs, section 5.1: information or solutions).

    >>> from talm_sim.types import Turn
    >>> gone = Missing(kind=MissingKind.ARGUMENT, name="start_date", value="2025-01-06", removed_text="6 January 2025")
    >>> user_knowledge(Scenario(id="a", group="b", turns=(Turn(messages=()),), missing=(gone,)))
    'the start date: 6 January 2025 (2025-01-06)'
    """
    return "\n".join(dict.fromkeys(filter(None, map(_known_of, scenario.missing))))


def _known_of(missing: Missing) -> str:
    if missing.human_answer:
        return missing.human_answer.strip()
    if missing.kind is MissingKind.TOOL:
        return f"The agent lacks the tool {missing.name}. You may do its work: say what it would find, if you know it or can find it out."
    if missing.value is None:
        return missing.removed_text.strip()
    value = _write_value(missing.value)
    said = missing.removed_text.strip()
    words = f"{said} ({value})" if said and value.casefold() not in said.casefold() else said or value
    return f"the {' '.join(missing.name.split('_'))}: {words}"


def _write_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _words_of(missing: Missing, description: str, answer: str = "") -> frozenset[str]:
    """Return the stems that name the missing thing; generic words never do on their own."""
    core = name_stems(missing.name) | content_stems(missing.removed_text)
    aside = content_stems(description)
    # A description and an answer may mention anything; they decide the concept only where the thing's own name says nothing.
    concepts = concept_words(core) or concept_words(aside)
    if missing.kind is MissingKind.TOOL:
        concepts |= concept_words(aside)
    said = content_stems(" ".join([answer, *_texts_in(missing.value)]))
    return ((core | aside | said) - GENERIC) | concepts | _concept_of_value(missing.value)


def _texts_in(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)


def _concept_of_value(value: Any) -> frozenset[str]:
    """Return the words that ask for a value of this form: numbers, dates and clock times show what they are."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return concept_words({"amount"})
    if not isinstance(value, str):
        return frozenset()
    if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", value):
        return concept_words({"time"})
    try:
        date.fromisoformat(value[:10])
    except ValueError:
        return frozenset()
    return concept_words({"date"})


def _asked_stems(words: Sequence[str]) -> list[frozenset[str]]:
    """Return the things a sentence asks for: a set of stems for each interrogative, else for each request verb, else one of all its words."""
    phrases: list[frozenset[str]] = []
    for index, word in enumerate(words):
        rest = words[index + 1 : index + 1 + _MOST_WORDS]
        if word in _WHAT:
            phrases.append(_focus_stems(rest))
        elif word in _ADVERBS and (index < 2 or words[index - 1] in _LEADS_IN):
            phrases.append(frozenset({stem(word)}))
        elif word == "how" and rest and rest[0] in _QUANTITY:
            phrases.append(_focus_stems(rest))
    if not phrases:
        phrases = [_focus_stems(words[index + 1 : index + 1 + _MOST_WORDS]) for index, word in enumerate(words) if word in _REQUESTS]
    return phrases or [frozenset(map(stem, words)) - STOP]


def _listed_stems(sentence: str) -> Iterator[frozenset[str]]:
    """Yield the things in a list that a sentence asks for: "I need the name, the part or the day"."""
    words = [word.lower() for word in _LISTED.findall(sentence)]
    first = next((place for place, word in enumerate(words) if word in _WHAT or word in _REQUESTS), len(words))
    for is_mark, items in groupby(words[first + 1 : first + 1 + _MOST_WORDS], {",", "and", "or"}.__contains__):
        if not is_mark:
            yield _focus_stems([*items])


def _focus_stems(words: Sequence[str]) -> frozenset[str]:
    """Return the stems up to the first preposition after a word that names something; an "and" opens the next part of a double question."""
    found: set[str] = set()
    listening = True
    for word in words:
        if word in _WHAT:
            break
        if word in {"and", "or"}:
            listening = True
        elif word in _FOCUS_ENDS and found - GENERIC:
            listening = False
        elif listening and stem(word) not in STOP:
            found.add(stem(word))
    return frozenset(found)
