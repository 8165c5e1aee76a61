"""Draft first scenarios for any tools: a call that was made becomes a request, and a value in its answer the fact to find.

Everything is mechanical: the facts are true because the tool answered them twice, and a person improves the wording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from talm_sim.common.credentials import REDACTED
from talm_sim.language.leaks import find_leak, mentions, tokens
from talm_sim.language.sentences import split_sentences
from talm_sim.tasks.talm.making.check import LOOKS_SECRET, MASK, check_scenarios
from talm_sim.tasks.talm.making.giveaways import choices_of, find_giveaway
from talm_sim.types import Fact, Facts, GoldCall, JsonObject, Missing, MissingKind, Scenario, Source, ToolSpec, Turn

MOST_OFFERED = 8
"""Tools that a scenario offers: the one it needs, and those that follow it."""
LONGEST_FACT = 200
_LONGEST_LEAD = 240
_INSTANCE = re.compile(
    r"(?<![\s,;(])[\s,;(]*(?:\be\.?g\.?|\bfor example|\bsuch as|\blike|\bexamples?:)[\s,:(]*"
    r"(['\"`])[^\n]*?\1(?:(?:,|\s+or|\s+and)\s*(['\"`])[^\n]*?\2)*\)?",
    re.IGNORECASE,
)
"""An example in a description, from which a reader knows an argument."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
NOTHING_STABLE = "its answer contains no stable value that a question could ask for"
NO_FACT_LOST = "no fact is lost with tools that act"
_IDS = frozenset({"id", "number", "reference"})
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that was called.

    Attributes:
        arguments: Its arguments.
        answers: Its answers, each time to the same call.
        kept: Names of arguments that get no other value.
        instead_of: The values in the descriptions, for arguments that got other values.
        acts: Whether it may change data, so that making the call is all that can be asked of it.
    """

    spec: ToolSpec
    arguments: JsonObject
    answers: Sequence[Any]
    source: str = ""
    kept: frozenset[str] = frozenset()
    instead_of: JsonObject = field(default_factory=dict)
    acts: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """The scenarios drafted for a tool.

    Attributes:
        scenarios: The perfect one and its variants; none if nothing can be asked of the tool.
        left_out: Why a scenario, or a variant of it, is missing.
        given_away: Arguments that could have been left out if a description did not say their values.
        choices: How many values the argument that was left out may have; None if nothing lists them.
    """

    tool: str
    scenarios: tuple[Scenario, ...]
    left_out: tuple[str, ...]
    given_away: tuple[str, ...] = ()
    choices: int | None = None

    @property
    def lost(self) -> bool:
        """Whether the descriptions give away everything that could be missing, although there is a scenario."""
        return bool(self.given_away) and bool(self.scenarios) and all(one.group != "underspecified" for one in self.scenarios)


class _Leaf(NamedTuple):
    """A value in an answer."""

    keys: tuple[str | int, ...]
    value: Any

    @property
    def pointer(self) -> str:
        return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in self.keys)

    @property
    def name(self) -> str:
        return "_".join(tokens(" ".join(_words(key) for key in self.keys if isinstance(key, str)) or "result"))

    @property
    def subject(self) -> str:
        """What a request calls it, and "is" or "are"."""
        words, of = "", ""
        for key in self.keys:
            if isinstance(key, int):
                words, of = "", f" of the first entry{f' in {words}' if words else ''}{of}"
            else:
                words = f"{words} {_words(key)}".strip()
        return _subject(words, self.value, of) if words else f"{of.removeprefix(' of the ') or 'result'} is"

    @property
    def question(self) -> str:
        subject, _, verb = self.subject.rpartition(" ")
        return f"What {verb} the {subject}?"


@dataclass(frozen=True, slots=True)
class _Request:
    """What a user says, sentence by sentence: what should be done, a sentence per argument, and the question."""

    lead: str
    said: Mapping[str, str]
    leaf: _Leaf | None

    def query(self, without: str = "") -> str:
        asked = [self.leaf.question] if self.leaf else []
        return " ".join([self.lead, *(text for name, text in self.said.items() if name != without), *asked])


def draft_scenarios(tried: Sequence[CalledTool], specs: Mapping[str, ToolSpec], now: datetime | None = None) -> list[Draft]:
    """Draft scenarios of tools that were called, an entry per tool; what `check_scenarios` finds fault with is left out, with the reason."""
    now = now or datetime.now(UTC)
    asked = set[tuple[str, ...]]()
    drafts = [_draft(one, _offered_tools(tried, place), now, asked) for place, one in enumerate(tried)]
    answers = {one.spec.name: one.answers[0] for one in tried}
    scenarios = [scenario for draft in drafts for scenario in draft.scenarios]
    problems = {problem.scenario: problem.what for problem in check_scenarios(scenarios, specs, lambda tool, _: answers[tool])}
    return [_keep_proved(draft, problems) for draft in drafts]


def can_leave_out(tried: CalledTool, others: Sequence[CalledTool]) -> bool:
    """Return whether an argument of a call can be left out of its request without its value being given away by the request or the tools."""
    place = next(number for number, one in enumerate(others) if one.spec.name == tried.spec.name)
    offered = _offered_tools(others, place)
    return any(_leave_argument_out(tried, request, offered)[0] for request in _requests(tried, datetime.now(UTC)))


def _offered_tools(tried: Sequence[CalledTool], place: int) -> tuple[ToolSpec, ...]:
    """Return the tools that the scenarios of the tool at `place` offer: it and those that follow."""
    # In their own order: the place of the needed one must not give it away.
    places = sorted((place + after) % len(tried) for after in range(min(len(tried), MOST_OFFERED)))
    return tuple(tried[one].spec for one in places)


def _keep_proved(draft: Draft, problems: Mapping[str, str]) -> Draft:
    wrong = [scenario for scenario in draft.scenarios if scenario.id in problems]
    base_is_wrong = any(not scenario.source.base for scenario in wrong)
    kept = () if base_is_wrong else tuple(scenario for scenario in draft.scenarios if scenario not in wrong)
    told = [scenario for scenario in wrong if not base_is_wrong or not scenario.source.base]
    return replace(draft, scenarios=kept, left_out=(*draft.left_out, *(f"{scenario.group}: {problems[scenario.id]}" for scenario in told)))


def _draft(tried: CalledTool, offered: Sequence[ToolSpec], now: datetime, asked: set[tuple[str, ...]]) -> Draft:
    spec = tried.spec
    if not (requests := [one for one in _requests(tried, now) if tuple(tokens(one.query())) not in asked]):
        return Draft(spec.name, (), (NOTHING_STABLE,))
    request = next((one for one in requests if _leave_argument_out(tried, one, offered)[0]), requests[0])
    asked.add(tuple(tokens(request.query())))
    leaf = request.leaf
    facts = (Fact(name=leaf.name, value=leaf.value, call=0, pointer=leaf.pointer),) if leaf else ()
    perfect = Scenario(
        id=spec.name,
        group="perfect",
        turns=_turns(request.query(), GoldCall(name=spec.name, arguments=tried.arguments)),
        tools=tuple(one.name for one in offered),
        target=Facts(required=facts),
        source=Source(name="talm-sim scenarios init"),
    )
    name, told = _leave_argument_out(tried, request, offered)
    less = [_underspecified(perfect, name, tried, request)] if name else []
    hidden = [_unavailable(perfect, spec, fact, leaf) for fact in facts if leaf]
    left_out = [] if name else [f"underspecified: {_explain_left_out(tried, told)}"]
    left_out += [] if hidden else [f"{_hidden(spec)}: {NO_FACT_LOST}"]
    return Draft(spec.name, (perfect, *less, *hidden), tuple(left_out), tuple(told), choices_of(spec, name) if name else None)


def _explain_left_out(tried: CalledTool, told: Mapping[str, str]) -> str:
    if told:
        return f"given away by the description ({'; '.join(f'{_text(tried.arguments[name])} in {place}' for name, place in told.items())})"
    if tried.spec.required:
        return "no required argument can be left out of the request without being given away"
    return "it requires no argument"


def _requests(tried: CalledTool, now: datetime) -> Iterator[_Request]:
    """Yield what a user could ask for by the call: introduced by the tool's description, or by its name."""
    said = {name: f"The {_subject(_words(name), value)} {_text(value)}." for name, value in tried.arguments.items()}
    leads = (_first_sentence(tried.spec), f"{_words(tried.spec.name).capitalize()}.")
    leaves = [(lead, _fact(tried.answers, [lead, *said.values()], now)) for lead in leads]
    yield from (_Request(lead, said, leaf) for lead, leaf in leaves if leaf is not None)
    if tried.acts and leaves[0][1] is leaves[1][1] is None and differ_in_ids_alone(tried.answers):
        yield _Request(leads[0], said, None)


def differ_in_ids_alone(answers: Sequence[Any]) -> bool:
    """Return whether answers are the same, but for what is called an id or a number, as of a booking."""
    read = [{leaf.keys: leaf.value for leaf in _answer_leaves(answer)} for answer in answers]
    places = {keys for one in read for keys in one if len({repr(other.get(keys)) for other in read}) > 1}
    return {_words(str(keys[-1] if keys else "")).rpartition(" ")[2] for keys in places} <= _IDS


def _leave_argument_out(tried: CalledTool, request: _Request, offered: Sequence[ToolSpec]) -> tuple[str, dict[str, str]]:
    """Leave out the first required argument whose value is gone without its sentence, from request and tools; guessable ones come last.

    Returns:
        Its name, empty if there is none; and the arguments that are gone from the request alone, with where the tools give their values.
    """
    spec, told = tried.spec, dict[str, str]()
    properties = spec.parameters.get("properties", {})
    for name in sorted(spec.required, key=lambda name: choices_of(spec, name) is not None):
        value = tried.arguments[name]
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not tokens(str(value)):
            continue
        described = [spec.description, name.replace("_", " "), str(properties.get(name, {}).get("description", ""))]
        if find_leak(request.query(without=name), value, request.said[name], described):
            continue
        if not (place := find_giveaway(value, name, [spec], offered, anywhere=True)):
            return name, told
        told[name] = place
    return "", told


def _underspecified(perfect: Scenario, name: str, tried: CalledTool, request: _Request) -> Scenario:
    said = request.said[name]
    missing = Missing(kind=MissingKind.ARGUMENT, name=name, value=tried.arguments[name], removed_text=said, human_answer=said)
    return _variant(perfect, "underspecified", turns=_turns(request.query(without=name), *perfect.gold_calls), missing=(missing,))


def _unavailable(perfect: Scenario, spec: ToolSpec, fact: Fact, leaf: _Leaf) -> Scenario:
    """Mask the tool in the same request; a person knows the fact if one can replace the tool."""
    answer = f"The {leaf.subject} {_text(fact.value)}." if spec.human_replaceable else None
    return _variant(
        perfect,
        _hidden(spec),
        turns=_turns(perfect.query),
        target=Facts(required=(fact.model_copy(update={"call": None, "pointer": ""}),)),
        missing=(Missing(kind=MissingKind.TOOL, name=spec.name, human_answer=answer),),
        perturbations=(f"{MASK}{spec.name}",),
    )


def _hidden(spec: ToolSpec) -> str:
    """Return the group of scenarios without the tool."""
    return "replaceable" if spec.human_replaceable else "non-replaceable"


def _variant(perfect: Scenario, group: str, **fields: Any) -> Scenario:
    source = perfect.source.model_copy(update={"base": perfect.id})
    return perfect.model_copy(update={"id": f"{perfect.id}.{group}", "group": group, "source": source, **fields})


def _turns(query: str, *gold: GoldCall) -> tuple[Turn, ...]:
    return (Turn(messages=({"role": "user", "content": query},), gold_calls=gold),)


def _first_sentence(spec: ToolSpec) -> str:
    """Return the first sentence of the tool's description, or its name without one."""
    text = _INSTANCE.sub("", " ".join(spec.description.strip().partition("\n\n")[0].split()))
    first = re.split(r",? \(?e\.g\.", next(iter(split_sentences(text)), ""))[0]
    if not tokens(first) or len(first) > _LONGEST_LEAD:
        return f"{_words(spec.name).capitalize()}."
    return first if first[-1] in ".!?" else f"{first}."


def _words(name: str) -> str:
    return " ".join(part.lower() for part in _HUMP.split(name) if part) or name


def _subject(words: str, value: Any, of: str = "") -> str:
    """Return the words for a value, and "is" or "are": a number that is called "weeks" is one of weeks."""
    plural = re.search(r"(?<!\bnew)(?<![su])s$", words) and len(words.rpartition(" ")[2]) > 3 and not words.endswith("is")
    counted = plural and isinstance(value, int | float)
    return f"{'number of ' if counted else ''}{words}{of} {'are' if plural and not counted else 'is'}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) and "\n" not in value else json.dumps(value, ensure_ascii=False)


def _fact(answers: Sequence[Any], said: Sequence[str], now: datetime) -> _Leaf | None:
    """Return the simplest value that is the same in all answers and not in the request: near the top, not in a list, not a tiny number."""
    leaves = [*_answer_leaves(answers[0])]
    others = [{leaf.keys: leaf.value for leaf in _answer_leaves(answer)} for answer in answers[1:]]
    fit = [leaf for leaf in leaves if all(other.get(leaf.keys) == leaf.value for other in others) and not _is_of_now(leaf.value, now)]
    fit = [leaf for leaf in fit if not mentions(" ".join([*said, leaf.question]), leaf.value)]
    return min(fit, key=_obscurity, default=None)


def _obscurity(leaf: _Leaf) -> tuple[bool, bool, int, int]:
    listed = sum(isinstance(key, int) for key in leaf.keys)
    return len(str(leaf.value)) < 2, listed > 0, len(leaf.keys), len(str(leaf.value)) // 60


def _answer_leaves(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[_Leaf]:
    """Yield texts and numbers that an answer could state; of a list, its first element's."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _answer_leaves(part, (*keys, key))
    elif isinstance(value, list):
        yield from _answer_leaves(value[0], (*keys, 0)) if value else ()
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and could_be_stated(str(value)):
        yield _Leaf(keys, value)


def could_be_stated(text: str) -> bool:
    """Return whether a text is short, has words, and has nothing that looks like a credential."""
    return len(text) <= LONGEST_FACT and bool(tokens(text)) and REDACTED not in text and not LOOKS_SECRET.search(text)


def _is_of_now(value: Any, now: datetime) -> bool:
    """Return whether a value is a time: tomorrow it will be another one."""
    days = [now + timedelta(days=shift) for shift in (-1, 0, 1)]
    if isinstance(value, int | float):
        return any(abs(value - now.timestamp() * unit) < 2 * 86400 * unit for unit in (1, 1e3, 1e6, 1e9))
    if any("-".join(found) == f"{day:%Y-%m-%d}" for found in _MOMENT.findall(value) for day in days):
        return True
    return value.casefold() in {f"{day:{form}}".casefold() for day in days for form in ("%A", "%a", "%B", "%b", "%Y")}
