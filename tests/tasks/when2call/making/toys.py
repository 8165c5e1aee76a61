"""A small world to generate items in: one tool with three required parameters, another of its category, a writer that says what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.scenarios.making.prompts import WrittenText
from talm_sim.tasks.when2call.making import SourceQuestion
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.sources import Removal
from talm_sim.types import Behaviour, Fact, GoldCall, Missing, MissingKind, ToolSpec


def spec(name: str = "convert_money", required: tuple[str, ...] = ("amount", "from_currency", "to_currency")) -> ToolSpec:
    properties = {
        "amount": {"type": "number", "description": "Amount of money to convert."},
        "from_currency": {"type": "string", "description": "Currency to convert from."},
        "to_currency": {"type": "string", "description": "Currency to convert to."},
    }
    parameters = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolSpec(name=name, category="finance", description="Convert an amount of money between currencies.", parameters=parameters)


MISSING = Missing(kind=MissingKind.ARGUMENT, name="to_currency", value="francs", removed_text="francs", human_answer="In francs.")
QUESTION = "How much are 250 dollars in francs?"
REWRITTEN = "How much are 250 dollars at home?"


def source(number: int = 1, **changes: Any) -> SourceQuestion:
    values: dict[str, Any] = {
        "id": f"money-{number:02}",
        "question": QUESTION,
        "call": GoldCall(name="convert_money", arguments={"amount": 250, "from_currency": "dollars", "to_currency": "francs"}),
        "spec": spec(),
        "others": (spec("get_rate"), spec("find_bank"), spec("list_coins"), spec("get_fees")),
        "facts": (Fact(name="francs", value=221.5, call=0, pointer="/amount"),),
        "removal": Removal(REWRITTEN, MISSING),
        "licence": "Apache-2.0",
        "origin": "toy",
    }
    return SourceQuestion(**(values | changes))


def item(gold: Behaviour = Behaviour.TOOL_CALL, question: str = QUESTION, missing: Missing | None = None) -> Item:
    return Item(source(), gold, question, missing)


def lacking(question: str = REWRITTEN) -> Item:
    return item(Behaviour.REQUEST_FOR_INFO, question, MISSING)


GOOD: dict[str, str] = {
    "tool_use": "database",
    "rewrite": REWRITTEN,
    "unanswerable": "Which bank in Oslo gives students the best rate for dollars?",
    "direct": "You get 230 francs.",
    "request_for_info": "What do you need it for?",
    "request_for_info/lacking": "Which currency should it be converted to?",
    "cannot_answer": "I'm sorry, but I can't tell you that.",
}


class Teller:
    """A writer that says what it is told, and counts what it was asked."""

    name = "toy writer"

    def __init__(self, says: Mapping[str, str | list[str]] | None = None) -> None:
        self._says = {**GOOD, **(says or {})}
        self.asked: list[str] = []
        self.closed = False

    def _say(self, what: str, attempt: int = 0) -> WrittenText:
        self.asked.append(what)
        text = self._says[what]
        return WrittenText(text if isinstance(text, str) else text[min(attempt, len(text) - 1)])

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        return self._say("tool_use")

    async def rewrite(self, source: SourceQuestion, missing: Missing, attempt: int) -> WrittenText:
        return self._say("rewrite", attempt)

    async def unanswerable(self, source: SourceQuestion, attempt: int) -> WrittenText:
        return self._say("unanswerable", attempt)

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        lacks = "/lacking" if behaviour is Behaviour.REQUEST_FOR_INFO and item.missing else ""
        return self._say(behaviour.value + lacks, attempt)

    async def judge(self, item: Item, options: Mapping[Behaviour, str], tools: Sequence[str]) -> WrittenText | None:
        return self._say("judge") if "judge" in self._says else None

    async def aclose(self) -> None:
        self.closed = True
