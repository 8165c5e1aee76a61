"""`sim/writer`: the writer that needs no model: fixed phrasings, and requests out of reach written by hand. A control, and labelled as one.

The phrasings of an option are the same whichever option is right, so that the form gives nothing away (`scripts/form_check.py`). Every row
names it as its source ("talm-sim rules").
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
from talm_sim.tasks.when2call.making.checks import follow_up_asks_for_nothing_given
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.tasks.when2call.making.writers import tool_use_of_call
from talm_sim.types import Behaviour, Fact, Missing

__all__ = ["RuleWriter"]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FOLLOW_UPS = (
    "Could you tell me the {name}?",
    "What is the {name}?",
    "Which {name} do you mean?",
    "Please give me the {name}.",
    "What {name} should I go by?",
    "May I ask for the {name}?",
    "I still need the {name}. Which one is it?",
    "Can you also give me the {name}, please?",
    "Before I start: what is the {name}?",
    "Could you specify the {name} for me?",
    "Which {name} is it about, please?",
    "To be exact, I would need the {name}. Could you add it?",
)
"""The same whatever is right, so that the wording does not give it away: only what is asked for does."""
_REFUSALS = (
    "I'm sorry, but I can't find that out for you.",
    "Unfortunately I'm unable to help with this request, as I have no way to look it up.",
    "I'm afraid I can't answer that with what is open to me.",
    "That is something I can't do here, sorry.",
    "I don't have a way to find this, so I can't give you an answer.",
    "Sorry, this is beyond what I can look up.",
    "I can't help you with that: the information is not available to me.",
    "I'm not able to get this for you, I'm sorry.",
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
        by_hand = item.gold is Behaviour.CANNOT_ANSWER and not item.removed
        known = _handwritten_requests().get(item.source.spec.name, {}) if by_hand else {}
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
                return WrittenText(_follow_up(item.missing.name, draw))
            case _:
                return _needless_follow_up(item, draw)

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


def _follow_up(parameter: str, draw: random.Random) -> str:
    return draw.choice(_FOLLOW_UPS).format(name=parameter.replace("_", " "))


def _needless_follow_up(item: Item, draw: random.Random) -> WrittenText:
    """Ask for a parameter that the request need not give: an optional one of the tool, or one of a tool beside it."""
    own = item.source.spec.parameters.get("properties", {})
    optional = [name for name in own if name not in item.source.spec.required and name not in item.given]
    others = [name for spec in item.source.others for name in spec.required if name not in own]
    names = [*dict.fromkeys(others), *optional]
    draw.shuffle(names)
    for name in names:
        text = _follow_up(name, draw)
        if not follow_up_asks_for_nothing_given(text, item):
            return WrittenText(text)
    return WrittenText("", "the rules know no parameter to ask for that is not given")


@lru_cache(maxsize=1)
def _handwritten_requests() -> dict[str, dict[str, str]]:
    return packaged_toml("talm_sim.tasks.when2call.making", "unanswerable.toml")
