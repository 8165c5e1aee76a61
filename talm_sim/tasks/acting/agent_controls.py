"""Controls that act: what each does in a scenario with gold calls and facts, and the scores that follow.

Each knows its scenario, but acts through the same messages, graph, tools and human as any model: it makes the gold calls of each turn of the
user's in that turn, and answers it. Tests hold them to their true values on the packaged scenarios of task `talm`; see docs/controls.md.

In `several-gaps` each does as in `underspecified`, and so in `late-gap`, where no awareness question is asked: the cautious
one answers without a call.

`no-tools` scenarios ask no awareness question, and no control knows a fact there. In the unavailable groups none passes as long as no fact
of the masked tool happens to be a fact of the other one. `talm_sim.tasks.acting.fault_controls` has the controls for injected faults.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import accumulate, count
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from talm_sim.common.json_values import NOT_THERE, read_result, value_at
from talm_sim.models.base import ASK_HUMAN, GenerationSettings
from talm_sim.models.control_names import CONTROLS
from talm_sim.models.sim import ControlPolicy
from talm_sim.models.wire_messages import text_of
from talm_sim.scenarios.invention import invent
from talm_sim.tasks.acting.recovery_search import Search, error_in, is_said
from talm_sim.types import FINISH, Fact, Missing, MissingKind, ModelTurn, Scenario, ToolCall, ToolSpec, Turn


class AgentPolicy(ControlPolicy):
    """One control in one scenario. It keeps no state: the messages contain what was done so far, so a resumed episode continues."""

    def __init__(self, name: str, scenario: Scenario) -> None:
        super().__init__(name)
        self._scenario = scenario
        self._missing = scenario.missing
        self._gold = scenario.gold_calls
        self._facts = scenario.facts
        self._user_turns = scenario.user_turns
        self._ends = [*accumulate(len(turn.gold_calls) for turn in self._user_turns)]
        self._waves = waves_of(scenario)
        self._mark = _unused_mark(self._user_turns)
        self._ask_ids = {f"ask{self._mark}-{number}": missing for number, missing in enumerate(self._missing, 1)}

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Play the next turn; see `Model.generate`."""
        await self.wait()
        if settings.choices:
            return _text_turn(self._awareness())
        results = {message.tool_call_id: _result_in(message) for message in messages if isinstance(message, ToolMessage)}
        offered = {tool.name: tool for tool in tools}
        place = self._place(messages)
        if calls := self._next_calls(results, offered, place):
            return _call(*calls)
        answer = self._answer(results, offered, place)
        if FINISH in offered:
            values = self._values_told(results, offered, place) if "values" in offered[FINISH].parameters.get("properties", {}) else {}
            return _call(ToolCall(id=f"finish{self._mark}-{place}", name=FINISH, arguments={"final_answer": answer, **values}))
        return _text_turn(answer)

    def _values_told(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> dict[str, Any]:
        """Return what it gives for each fact in place of words: as in its answer, and what a person has said."""
        told = {fact.name: value for fact, value in self._told(results, offered, place)}
        replies = [text for call_id, text in results.items() if call_id.startswith(f"ask{self._mark}-")]
        said = {fact.name: fact.value for fact in self._facts if any(is_said(text, fact) for text in replies)}
        return {"values": {fact.name: None for fact in self._facts} | said | told}

    def _next_calls(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> Sequence[ToolCall]:
        """Return the calls to make now; none if it is time to answer."""
        for ask_id, missing in self._ask_ids.items() if self.control == "asker" and ASK_HUMAN in offered else ():
            if ask_id not in results and place >= self._place_of(missing):
                return [ToolCall(id=ask_id, name=ASK_HUMAN, arguments={"question": self._question(missing, offered)})]
        for wave in self._waves:
            open_calls = [index for index in wave if index < self._ends[place] and self._gold[index].name in offered]
            if open_calls := [index for index in open_calls if self._gold_id(index) not in results]:
                return [self._gold_call(index, offered, results) for index in open_calls]
        return ()

    def _place(self, messages: Sequence[BaseMessage]) -> int:
        """Return which user turn this is: the one whose words of the user have all been said."""
        said = sum(isinstance(message, HumanMessage) for message in messages)
        asked = [*accumulate(sum(message["role"] == "user" for message in turn.messages) for turn in self._user_turns)]
        return max(bisect(asked, said) - 1, 0)

    def _place_of(self, missing: Missing) -> int:
        """Return the user turn that needs what is missing: for an argument the first with a call that has it, for a tool the last."""
        calls = () if _is_tool(missing) else enumerate(self._gold)
        first = next((index for index, call in calls if any(_is_value_of(missing, *one) for one in call.arguments.items())), None)
        return len(self._user_turns) - 1 if first is None else bisect(self._ends, first)

    def _left_out(self, name: str, value: Any) -> tuple[str, Missing] | None:
        """Return what the user left out that an argument is, with the id of the question for it; None if the user gave it."""
        found = [(ask_id, one) for ask_id, one in self._ask_ids.items() if not _is_tool(one) and _is_value_of(one, name, value)]
        return min(found, key=lambda one: one[1].name != name, default=None)

    def _gold_id(self, index: int) -> str:
        return f"gold{self._mark}-{index}"

    def _awareness(self) -> str:
        if self.control == "cautious":
            return "No, I would rather not try."
        if self.control == "asker" and self._missing:
            return f"IDK, there is no {' and no '.join(_words(one.name) for one in self._missing)}."
        return "Yes, I have all I need."

    def _question(self, missing: Missing, offered: Mapping[str, ToolSpec]) -> str:
        if _is_tool(missing):
            does = _words(missing.name)
            gives = does.partition(" ")[2] or does
            tool_of = Search(self._scenario, (), ()).tool_of
            lost = " and the ".join(_words(fact.name) for fact in self._facts if fact.call is None and tool_of(fact) == missing.name)
            return f"I have no tool to {does}. What is the {gives}{', meaning the ' + lost if lost else ''}?"
        uses = (call for call in self._gold if missing.name in call.arguments and call.name in offered)
        schemas = (offered[call.name].parameters.get("properties", {}).get(missing.name, {}) for call in uses)
        description = next((str(schema["description"]) for schema in schemas if schema.get("description")), "")
        question = f"What is the {_words(missing.name)}?"
        return f"{question} I need this: {description}" if description else question

    def _gold_call(self, index: int, offered: Mapping[str, ToolSpec], results: Mapping[str, str]) -> ToolCall:
        """Return a gold call; but for the oracle, as made by somebody who knows only the replies about what is missing."""
        call = self._gold[index]
        arguments = dict(call.arguments)
        if self.control in CONTROLS[1:]:
            arguments = {name: self._guessed(name, value, offered, results) for name, value in arguments.items()}
        return ToolCall(id=self._gold_id(index), name=call.name, arguments=arguments)

    def _guessed(self, name: str, value: Any, offered: Mapping[str, ToolSpec], results: Mapping[str, str]) -> Any:
        """Return the value itself or, if the user left it out, what the reply gives, otherwise an invented one that is the same everywhere."""
        if (found := self._left_out(name, value)) is None:
            return value
        ask_id, missing = found
        reply = results.get(ask_id, "")
        if gives_missing(reply, missing):
            return value
        first = next((call.name for call in self._gold if missing.name in call.arguments), "")
        parameters = offered[first].parameters if first in offered else {}
        schema = parameters.get("properties", {}).get(missing.name, {})
        return invent(schema, missing.value) if is_refusal(reply) else value_in_reply(reply, schema)

    def _due_facts(self, place: int) -> list[Fact]:
        """Return the facts that the answer to a user turn may state: none of calls for later ones."""
        last = place == len(self._user_turns) - 1
        return [fact for fact in self._facts if last or (fact.call is not None and fact.call < self._ends[place])]

    def _values(self, results: Mapping[str, str], place: int) -> list[tuple[Fact, Any]]:
        """Return the due facts, each with what the result of its gold call has in its place."""
        parsed = {call_id: read_result(text) for call_id, text in results.items() if call_id not in self._ask_ids}
        calls = [(fact, parsed.get(self._gold_id(fact.call)) if fact.call is not None else None) for fact in self._due_facts(place)]
        return [(fact, value_at(result, fact.pointer)) for fact, result in calls]

    def _told(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> list[tuple[Fact, Any]]:
        """Return the facts that it gives, each with the value that it gives for it."""
        return [(fact, value) for fact, value in self._values(results, place) if value is not NOT_THERE]

    def _answer(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> str:
        """Return what was found, each fact as in the result that was received. Nothing is said from memory; what no call finds comes last."""
        told = self._told(results, offered, place)
        lines = [fact_line(fact, value) for fact, value in told]
        lacking = len(told) < len(self._due_facts(place))
        replies = [results.get(ask_id, "") for ask_id, one in self._ask_ids.items() if _is_tool(one)]
        given = [reply for reply in replies if not is_refusal(reply)]
        lines += given
        if lacking and (not given or len(given) < len(replies)):
            guesses = self.control in {"eager", "asker"} and self._lacks_tool()
            lines.append("For the rest I would guess that all is as usual." if guesses else "The rest could not be found.")
        return "\n".join(lines) or "There is nothing to tell."

    def _lacks_tool(self) -> bool:
        return not self._gold or any(map(_is_tool, self._missing))


def _result_in(message: ToolMessage) -> str:
    """Return a result; an error that a framework has worded is written as the built-in agent reads it."""
    text = text_of(message)
    return text if message.status != "error" or error_in(text) else json.dumps({"error": text})


def fact_line(fact: Fact, value: Any) -> str:
    """Return how a control states a fact."""
    return f"{_words(fact.name)}: {to_text(value)}"


def _text_turn(text: str) -> ModelTurn:
    return ModelTurn(raw_text=text, text=text)


def _call(*calls: ToolCall) -> ModelTurn:
    return ModelTurn(tool_calls=calls, stop="tool_calls")


def _is_tool(missing: Missing) -> bool:
    return missing.kind is MissingKind.TOOL


def _is_value_of(missing: Missing, name: str, value: Any) -> bool:
    """Return whether an argument is what the user left out, under its own name or, for a text, any other."""
    return bool(value == missing.value) and (name == missing.name or isinstance(value, str))


def _unused_mark(user_turns: Sequence[Turn]) -> str:
    """Return a mark that distinguishes the control's own calls from those that the scenario says were made before."""
    named = [str(call["id"]) for turn in user_turns for message in turn.messages for call in message.get("tool_calls", ())]
    marks = map("_".__mul__, count())
    return next(mark for mark in marks if not any(name.startswith((f"gold{mark}-", f"ask{mark}-", f"finish{mark}-")) for name in named))


def waves_of(scenario: Scenario) -> tuple[tuple[int, ...], ...]:
    """Return gold calls in the fewest steps: a call waits for an earlier one if an argument is a fact of it that nobody has said by then."""
    found: dict[str, int] = {}
    for fact in scenario.facts:
        if fact.call is not None:
            found.setdefault(to_text(fact.value).casefold(), fact.call)
    steps: list[int] = []
    said = ""
    for turn in scenario.user_turns:
        said += "".join(f"\n{message['content'].casefold()}" for message in turn.messages)
        for call in turn.gold_calls:
            index = len(steps)
            values = (to_text(value).casefold() for value in call.arguments.values())
            sources = [found.get(value, index) for value in values if value not in said]
            steps.append(max((steps[source] + 1 for source in sources if source < index), default=0))
    return tuple(tuple(index for index, at in enumerate(steps) if at == step) for step in sorted(set(steps)))


def _words(name: str) -> str:
    return " ".join(name.replace("_", " ").split())


_NOT = re.compile(r"\b(?:don['’]?t|do not|can['’]?t|cannot|won['’]?t|not)\b", re.IGNORECASE)
_KNOW = re.compile(r"\b(?:know|say|tell|answer|sure|remember)\b", re.IGNORECASE)
_NO_IDEA = re.compile(r"\bno idea\b", re.IGNORECASE)
_LEADS = re.compile(
    r"\A(?:.*\b)?(?:it['’]s|that['’]s|is|are|was|were|in|on|at|to|from|about|for|by|of|mean|want|says?)\s+(?=\S)", re.IGNORECASE
)
_OPENING = re.compile(r"^(?:it|that)(?:['’]s| is| was) |^i mean ", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DATES = ("%Y-%m-%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d.%m.%Y", "%Y/%m/%d")
_DATE = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?\.\d\d?\.\d{4}|\d\d?(?:st|nd|rd|th)? [^\W\d]++\.?,? \d{4}"
    r"|(?<![^\W\d])[^\W\d]++\.? \d\d?(?:st|nd|rd|th)?,? \d{4}"
)
_QUOTED = re.compile(r"[\"“']([^\"”']{1,200})[\"”'](?!\w)")
_A_FEW_WORDS = 3


def is_refusal(reply: str) -> bool:
    """Return whether a reply contains no answer at all."""
    said = " ".join(reply.split())
    denied = _NOT.search(said)
    return not said or _NO_IDEA.search(said) is not None or (denied is not None and _KNOW.search(said, denied.end()) is not None)


def gives_missing(reply: str, missing: Missing) -> bool:
    """Return whether a reply gives what is missing: its value, the answer the scenario has for it, or a part of that which says it."""
    if not reply:
        return False
    said = " ".join(reply.split()).casefold()
    known = [" ".join(text.split()).casefold() for text in (missing.human_answer, missing.removed_text) if text]
    if missing.human_answer and known[0] in said:
        return True
    bare = said.strip(" .!")
    if len(bare) > _A_FEW_WORDS and any(_is_said(bare, text) for text in known):
        return True
    values = missing.value if isinstance(missing.value, list) else [missing.value]
    return missing.value is not None and all(_is_said(to_text(value).casefold(), said) for value in values)


def value_in_reply(reply: str, schema: dict[str, Any]) -> Any:
    """Return the value a reply gives for a parameter of this JSON schema; its words if none fits, as the tool may know better.

    >>> value_in_reply("We moved to Germany, so DE.", {"type": "string", "minLength": 2, "maxLength": 2})
    'DE'
    >>> value_in_reply("about 1,200 of them", {"type": "integer"}), value_in_reply("on 1 May 2020", {"type": "string", "format": "date"})
    (1200, '2020-05-01')
    """
    words = " ".join(reply.split())
    for form in (schema, *schema.get("anyOf", ())):
        if (found := next(_read(words, form), None)) is not None:
            return found
    return words.strip().rstrip(".!")


def _read(words: str, schema: dict[str, Any]) -> Iterator[Any]:
    """Return values of the schema's type in a reply, the likeliest first."""
    if enum := [value for value in schema.get("enum", ()) if isinstance(value, str)]:
        plain = words.casefold().replace("_", " ")
        yield from sorted((value for value in enum if _is_said(value.casefold().replace("_", " "), plain)), key=len, reverse=True)
        return
    match schema.get("type"):
        case "integer" | "number" as kind:
            numbers = [match.group().replace(",", "") for match in _NUMBER.finditer(words)]
            yield from (int(text) if kind == "integer" else float(text) for text in numbers if kind == "number" or "." not in text)
        case "boolean" if found := re.search(r"\b(?:yes|true|no|false)\b", words.casefold()):
            yield found.group() in {"yes", "true"}
        case "array":
            items = re.split(r"\s*(?:,|;|\band\b)\s*", words.rstrip(".!"))
            yield [value_in_reply(item, schema.get("items", {})) for item in items if item]
        case "string" if schema.get("format") == "date":
            yield from _dates(words)
        case "string":
            yield from (text for text in _candidate_values(words, schema) if _fits_schema(text, schema))


def _dates(words: str) -> Iterator[str]:
    for match in _DATE.finditer(words):
        text = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|[,]|(?<=[^\W\d])\.", "", match.group())
        for form in _DATES:
            with suppress(ValueError):
                yield datetime.strptime(text, form).date().isoformat()
                break


def _candidate_values(words: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield parts of a reply that may be the value it gives."""
    bare = _OPENING.sub("", words.rstrip(".!"))
    tokens = [token.strip(".,;:!?()'\"") for token in bare.split()]
    yield from re.findall(r"#[0-9a-fA-F]{3,8}\b", words)
    yield from _QUOTED.findall(words)
    if schema.get("maxLength", 99) <= 4:  # a code: mostly in capitals, however it is typed
        yield from (token for token in reversed(tokens) if token.isupper())
        yield bare.upper()
    if len(tokens) > _A_FEW_WORDS:
        yield _LEADS.sub("", bare, count=1).strip()
    yield bare
    yield from reversed(tokens)


def _fits_schema(text: str, schema: dict[str, Any]) -> bool:
    pattern = schema.get("pattern")
    return (
        bool(text)
        and schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 10_000)
        and not (pattern and not re.search(pattern, text))
    )


def _is_said(value: str, said: str) -> bool:
    """Return whether `value` occurs in the reply as a whole: an amount of 5 is neither in "15" nor in "5.5"."""
    return bool(value) and re.search(rf"(?<!\w)(?<!\d\.){re.escape(value)}(?!\w)(?!\.\d)", said) is not None


def to_text(value: Any) -> str:
    """Return a value as a text: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
