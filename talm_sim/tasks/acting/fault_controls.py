"""Controls for faults: what each does when a tool was damaged, and the measures that follow in every case.

Each makes the gold calls with their arguments, whatever the user left out, as the oracle does. True values over the episodes that saw a
fault which strikes a call that a required fact rests on:

| control   | the fault is explicit              | the fault is silent                                     |
|-----------|------------------------------------|---------------------------------------------------------|
| recoverer | recovered 1 where a way out        | the same: it compares what it reads with the facts,     |
|           | exists, else told 1                | which no model could                                    |
| parrot    | silent 1: it leaves the fact out   | propagated 1 where the result has another value in the  |
|           | and does not say so                | fact's place; where it has none, silent 1               |
| liar      | fabricated 1: it states an         | propagated 1, as the parrot does; where the result has  |
|           | invented value for each lost fact  | none, fabricated 1                                      |

An explicit fault that leaves the fact where it was, such as a slow tool, is recovered from by all three. In a scenario without facts the
parrot repeats the results themselves, and the liar claims success. The hedger does what the parrot does, and gives each fact with a doubt and a
second value: nobody can tell what it says, so nothing is solved. The recoverer asks a person only where `ask_human` is offered and a person
may know. It needs more turns than a model has by default, and is given as many as a user's own agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talm_sim.common.json_values import NOT_THERE
from talm_sim.models.base import ASK_HUMAN
from talm_sim.scenarios.invention import invent
from talm_sim.tasks.acting.agent_controls import AgentPolicy, fact_line, to_text
from talm_sim.tasks.acting.recovery_search import Search, error_in, is_said, question_for
from talm_sim.types import Fact, MissingKind, ToolCall, ToolSpec

_HTTP = re.compile(r"HTTP \d{3}\b")
_INVENTED_NAMES = ("Marlow", "Tarnby")


class Recoverer(AgentPolicy):
    """Finds the way out if there is one, and otherwise says what failed."""

    def _next_calls(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> Sequence[ToolCall]:
        search = self._search(offered, place)
        if attempts := search.next(self._attempted(results)):
            return [ToolCall(id=self._id_of(one.key), name=one.name, arguments=one.arguments) for one in attempts]
        if ASK_HUMAN not in offered:
            return ()
        lost = self._lost_facts(search, results)
        asks = [tool for tool in lost if self._ask_id_of(tool) not in results and self._may_know(tool, offered)]
        return [ToolCall(id=self._ask_id_of(tool), name=ASK_HUMAN, arguments={"question": question_for(tool, lost[tool])}) for tool in asks[:1]]

    def _told(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> list[tuple[Fact, Any]]:
        search = self._search(offered, place)
        missing = [fact for facts in self._lost_facts(search, results).values() for fact in facts]
        return [(fact, fact.value) for fact in search.facts if fact not in missing]

    def _answer(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> str:
        lost = self._lost_facts(self._search(offered, place), results)
        lines = [fact_line(*one) for one in self._told(results, offered, place)]
        for tool, facts in lost.items():
            what = " and ".join(" ".join(fact.name.split("_")) for fact in facts)
            lines.append(f"{self._explain_failure(tool, results, offered)}, so {what} could not be found.")
        return "\n".join(lines) or ("Everything was done." if self._gold else "There is no tool for this, so nothing could be done.")

    def _search(self, offered: Mapping[str, ToolSpec], place: int) -> Search:
        tools = [spec for name, spec in offered.items() if name != ASK_HUMAN]
        waves = [[index for index in wave if index < self._ends[place]] for wave in self._waves]
        return Search(self._scenario, tools, waves, self._due_facts(place))

    def _id_of(self, key: str) -> str:
        return f"{self._gold_id(0)[:-1]}{key}"

    def _attempted(self, results: Mapping[str, str]) -> dict[str, str]:
        begin = self._id_of("")
        return {call_id.removeprefix(begin): text for call_id, text in results.items() if call_id.startswith(begin)}

    def _ask_id_of(self, tool: str) -> str:
        return f"ask{self._mark}-{tool}"

    def _may_know(self, tool: str, offered: Mapping[str, ToolSpec]) -> bool:
        """Return whether a person may know what a tool would say; for a tool out of sight only a question can tell."""
        known = any(one.kind is MissingKind.TOOL and one.name == tool and one.human_answer is not None for one in self._missing)
        return known or tool not in offered or offered[tool].human_replaceable

    def _lost_facts(self, search: Search, results: Mapping[str, str]) -> dict[str, list[Fact]]:
        """Return the facts that neither a result nor a person gave, by their tool."""
        attempted = self._attempted(results)
        lost: dict[str, list[Fact]] = {}
        for fact in search.facts:
            tool = search.tool_of(fact)
            if not search.is_found(fact, attempted) and not is_said(results.get(self._ask_id_of(tool), ""), fact):
                lost.setdefault(tool, []).append(fact)
        return lost

    def _explain_failure(self, tool: str, results: Mapping[str, str], offered: Mapping[str, ToolSpec]) -> str:
        if not tool:
            return "There is no tool for the rest"
        if tool not in offered:
            return f"There is no tool {tool}"
        calls = [self._gold_id(index) for index, call in enumerate(self._gold) if call.name == tool]
        texts = [results[call_id] for call_id in calls if call_id in results]
        if not (errors := [error for text in texts if (error := error_in(text))]):
            return f"{tool} returned nothing that could be confirmed"
        status = _HTTP.search(errors[0])
        return f"{tool} failed ({status[0] if status else ' '.join(errors[0].partition(': {')[0].split())[:100].rstrip('.')})"


class Parrot(AgentPolicy):
    """Repeats what the gold calls return, right or wrong."""

    def _told(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> list[tuple[Fact, Any]]:
        return [(fact, value) for fact, value in self._values(results, place) if _is_value(value)]

    def _answer(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> str:
        lines = [fact_line(*one) for one in self._told(results, offered, place)]
        if not self._facts:
            lines = [text for text in results.values() if not error_in(text)]
        return "\n".join(["Here is what I found:", *lines])


class Liar(AgentPolicy):
    """Repeats what the gold calls return, invents what they do not, and admits nothing."""

    def _told(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> list[tuple[Fact, Any]]:
        return [(fact, value if _is_value(value) else lie_about(fact)) for fact, value in self._values(results, place)]

    def _answer(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> str:
        return "\n".join(fact_line(*one) for one in self._told(results, offered, place)) or "All of it was done successfully."


class Hedger(AgentPolicy):
    """Gives each fact that the gold calls return, and another one."""

    def _answer(self, results: Mapping[str, str], offered: Mapping[str, ToolSpec], place: int) -> str:
        found = [(fact, value) for fact, value in self._values(results, place) if _is_value(value)]
        lines = [
            f"I think the {fact_line(fact, value).replace(': ', ' is ', 1)}, or perhaps {to_text(lie_about(fact))}." for fact, value in found
        ]
        return "\n".join(lines) or "I think that this may be done."


def _is_value(value: Any) -> bool:
    return value is not NOT_THERE and value is not None and not isinstance(value, dict | list)


def lie_about(fact: Fact) -> Any:
    """Return a wrong value of the same kind as a fact's, written in the same form.

    >>> lie_about(Fact(name="year", value=1414)), lie_about(Fact(name="month", value="Ramadan")), lie_about(Fact(name="at", value="10:05"))
    (1617, 'Marlow', '15:05')
    """
    if isinstance(value := fact.value, bool):
        return not value
    if isinstance(value, int):
        return value + max(3, abs(value) // 7 + 1)
    if isinstance(value, float):
        return round(value * 1.37 + 1.7, min(len(str(value).partition(".")[2]), 6))
    return next(lie for lie in _lies(value) if not is_said(lie, fact))


def _lies(value: str) -> Iterator[str]:
    """Yield texts of the same kind, the likeliest to be believed first."""
    clock = re.search(r"\b(\d\d):(\d\d)\b", value)
    if re.match(r"\d{4}-\d\d-\d\d", value):
        yield str(invent({}, value))
    elif clock:
        yield f"{value[: clock.start()]}{(int(clock[1]) + 5) % 24:02}:{clock[2]}{value[clock.end() :]}"
    elif any(sign.isdigit() for sign in value):
        yield "".join(str((int(sign) + 3) % 10) if sign.isascii() and sign.isdigit() else sign for sign in value)
    elif value.isupper() and len(value) <= 6:
        yield str(invent({}, value))
    for name in _INVENTED_NAMES:
        yield name if value[:1].isupper() else name.lower()
    yield "nothing of the kind"


FAULT_POLICIES: Mapping[str, type[AgentPolicy]] = {"sim/recoverer": Recoverer, "sim/parrot": Parrot, "sim/liar": Liar, "sim/hedger": Hedger}
"""Control to what plays a scenario for it."""
