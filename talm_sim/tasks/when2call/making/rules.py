"""`sim/writer`: the writer that needs no model: fixed phrasings, and requests out of reach written by hand. A control, and labelled as one.

Its items are made to be right, not to be varied: the same refusal and the same follow-up come again and again, so a model could learn to tell
the options apart by their wording. Every row names it as its source ("talm-sim rules"); what a benchmark should be judged by is written by a
model and read by a person.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.common.toml_files import packaged_toml
from talm_sim.scenarios.invention import invent
from talm_sim.scenarios.making.asking import WrittenText
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.tasks.when2call.making.writers import tool_use_of_call
from talm_sim.types import Behaviour, Fact, Missing

__all__ = ["RuleWriter"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FOLLOW_UPS = (
    "What would you like to do with the answer, so that I can put it the right way?",
    "What will you use my answer for?",
    "What would help you most about my answer: a plain reply, or one with reasons?",
)
_REFUSALS = (
    "I'm sorry, but I can't find that out for you.",
    "Unfortunately I'm unable to help with this request, as I have no way to look it up.",
    "I'm afraid I can't answer that with what is open to me.",
)


class RuleWriter:
    """Writes items by rule.

    Args:
        sources: All source questions: a made-up answer is another one's true answer where there is one.
        seed: Decides which of the fixed phrasings is taken.
    """

    name = "talm-sim rules"

    def __init__(self, sources: Sequence[SourceQuestion], seed: int) -> None:
        self._seed = seed
        self._values: dict[tuple[str, str, bool], list[Fact]] = defaultdict(list)
        for source in sources:
            for fact in source.facts:
                self._values[source.spec.name, fact.pointer, fact.complete].append(fact)

    async def tool_use(self, source: SourceQuestion) -> WrittenText:
        """By the gold call; see `tool_use_of_call`."""
        return tool_use_of_call(source)

    async def rewrite(self, source: SourceQuestion, missing: Missing, attempt: int) -> WrittenText:
        """Refuse: taking words out by rule would not leave a sentence."""
        return WrittenText("", "the rules cannot rewrite a question; only those with a human-checked rewriting have this item")

    async def unanswerable(self, source: SourceQuestion, attempt: int) -> WrittenText:
        """The request written by hand for this tool, for the first source question that calls it."""
        known = _handwritten_requests().get(source.spec.name)
        if known is None:
            return WrittenText("", "the rules know no request that is out of this tool's reach")
        if source.turn or attempt:
            return WrittenText("", "the rules know one request out of this tool's reach, and an earlier source question has it")
        return WrittenText(known["question"])

    async def option(self, behaviour: Behaviour, item: Item, attempt: int) -> WrittenText:
        """A fixed phrasing, the made-up answer apart."""
        known = _handwritten_requests().get(item.source.spec.name, {}) if item.gold is Behaviour.CANNOT_ANSWER else {}
        draw = random.Random(derive_seed(self._seed, item.source.id, item.gold.value, behaviour.value, attempt))
        match behaviour:
            case Behaviour.CANNOT_ANSWER:
                return WrittenText(draw.choice(_REFUSALS))
            case Behaviour.DIRECT if known:
                return WrittenText(known["answer"])
            case Behaviour.DIRECT:
                return self._write_invented(item.source, draw)
            case _ if known:
                return WrittenText(known["follow_up"])
            case _ if item.missing:
                name, about = item.missing.name.replace("_", " "), item.argument_description(item.missing.name)
                detail = f" ({about[0].lower()}{about[1:].rstrip('.')})" if about else ""
                return WrittenText(f"Could you tell me the {name}{detail}?")
            case _:
                return WrittenText(draw.choice(_FOLLOW_UPS))

    async def aclose(self) -> None:
        """Do nothing: the rules hold nothing."""

    def _write_invented(self, source: SourceQuestion, draw: random.Random) -> WrittenText:
        """A sentence for each fact, with a value that is not the true one."""
        if not source.facts:
            return WrittenText("", "the rules make up answers from a scenario's facts, and it has none")
        values = [(fact.name, self._wrong_value(source, fact, draw)) for fact in source.facts]
        unknown = [name for name, value in values if value is None]
        if unknown:
            return WrittenText("", f"the rules know no other value for '{unknown[0]}'")
        said = " ".join(f"{name.replace('_', ' ')}: {value}." for name, value in values)
        return WrittenText(said[0].upper() + said[1:])

    def _wrong_value(self, source: SourceQuestion, fact: Fact, draw: random.Random) -> Any:
        """Another question's value of the same kind, else one beside the true one; None where that would be no word."""
        true = {str(value).casefold() for value in (fact.value, *fact.accepted)}
        others = [one.value for one in self._values[source.spec.name, fact.pointer, fact.complete] if str(one.value).casefold() not in true]
        if others:
            return draw.choice(others)
        if isinstance(fact.value, bool):
            return None
        if isinstance(fact.value, float):
            return round(fact.value * 1.07, 2)
        if isinstance(fact.value, int):
            return fact.value + max(2, abs(fact.value) // 9)
        return invent({}, fact.value) if _DATE.match(fact.value) else None


@lru_cache(maxsize=1)
def _handwritten_requests() -> dict[str, dict[str, str]]:
    return packaged_toml("talm_sim.tasks.when2call.making", "unanswerable.toml")
