"""What the requests of a model are like: the sampling fields that it refuses, the tokens that its thought needs, and its protocol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.models.failures import Failure

Api = Literal["chat", "responses"]
SAMPLING = frozenset({"temperature", "top_p", "top_k", "seed", "stop", "stop_sequences"})
"""Fields that some models take no value of, or only their own."""
_BAD_REQUEST = 400
_NAMES = re.compile("|".join(rf"\b{field}\b" for field in SAMPLING))
_BUDGETS = frozenset({"budget_tokens", "thinking_budget", "thinking_token_budget"})
"""Names under which providers take a number of tokens for thought: Anthropic; DashScope, Gemini, SiliconFlow; vLLM."""


@dataclass(slots=True)
class RequestFacts:
    """How a model is asked, as far as its server or a recording decides it."""

    left_out: set[str] = field(default_factory=set)
    """Fields that its server has turned out to refuse; more are added while it is used."""
    out_of_range: set[str] = field(default_factory=set)
    """Values that its protocol does not take, in words; its default is used in their place."""
    room: int | None = None
    """Tokens for thought, beside the limit of an answer; None until the model is opened."""
    told: bool = False
    """Whether the user has said the room: then a recording has it among its settings, and need not say it."""
    api: Api | None = None
    """Protocol; None until the model is opened."""


class Known(NamedTuple):
    """What is known of a model by its name."""

    refuses: tuple[str, ...] = ()
    room: int = 0
    """Tokens to add to the limit of an answer, as no budget for thought can be named."""
    api: Api = "chat"
    """OpenAI's protocol for it, at OpenAI."""


_BY_NAME = (
    # OpenAI's guide to reasoning: no temperature, top_p or stop; at least 25,000 tokens for thought and answer; only the Responses API takes
    # a model's thought back, and some of these models have no other.
    (re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*chat)"), Known(("temperature", "top_p", "stop"), 25_000, "responses")),
    # Anthropic's notes on migrating to Claude Opus 4.7: from it on, and for Opus 5 and Sonnet 5, any value but the default is an error.
    (re.compile(r"claude-(?:opus-(?:4[.-](?:[7-9]|\d\d)\b|[5-9])|(?:sonnet|haiku)-[5-9]\b)"), Known(("temperature", "top_p", "top_k"))),
    # DeepSeek's reference: max_tokens includes the thought, 32K by default.
    (re.compile(r"deepseek-reasoner"), Known(room=32_768)),
    # Gemini's guide to thinking: it thinks by default, in up to 32,768 tokens, which its limit of tokens includes.
    (re.compile(r"gemini-(?:2\.5|[3-9])"), Known(room=32_768)),
)


def known_of(model: str) -> Known:
    """Return what is known of a model, by the last part of its name.

    >>> known_of("anthropic/claude-opus-4.7").refuses, known_of("gpt-5-chat-latest").refuses
    (('temperature', 'top_p', 'top_k'), ())
    """
    name = model.rpartition("/")[2].lower()
    return next((known for pattern, known in _BY_NAME if pattern.match(name)), Known())


def room_for(model: str, fields: Mapping[str, Any], facts: RequestFacts, told: str | None = None) -> int:
    """Decide, and note among the facts, how many tokens are added to an answer's limit so that a thought does not eat the answer."""
    if told is not None:
        if not told.isdecimal():
            raise PrerequisiteError(f"-M room={told}: is not a whole number; write the tokens for thought, as in -M room=8000.")
        facts.room, facts.told = int(told), True
    elif facts.room is None:
        budget = _budget_in(fields)
        facts.room = known_of(model).room if budget is None else budget
    return facts.room


def _budget_in(value: Any) -> int | None:
    """Return the budget for thought that fields name, at any depth; `reasoning.max_tokens` is OpenRouter's."""
    if not isinstance(value, Mapping):
        return None
    reasoning = value.get("reasoning")
    named = [value.get(name) for name in _BUDGETS] + ([reasoning.get("max_tokens")] if isinstance(reasoning, Mapping) else [])
    found = [one for one in (*named, *map(_budget_in, value.values())) if type(one) is int and one > 0]
    return max(found, default=None)


def without_none(options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return a user's `-M` options, and apart from them the fields that are to be left out: `-M temperature=none`."""
    told = tuple(field for field in SAMPLING if options.get(field) == "none")
    return {key: value for key, value in options.items() if key not in told}, told


class LeftOut:
    """The fields that a model's requests leave out."""

    def __init__(self, known: Iterable[str], facts: RequestFacts) -> None:
        self._known = frozenset(known)
        self._facts = facts

    def strip(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request's body without them."""
        fields = self._known | self._facts.left_out
        return {key: value for key, value in body.items() if key not in fields} if fields else body

    def learn(self, fields: set[str]) -> bool:
        """Leave these out from now on; return whether one of them is new: requests in flight together are all refused for the same ones."""
        new = not fields <= self._facts.left_out
        self._facts.left_out |= fields
        return new


def named_by(failure: Failure, sent: Mapping[str, Any]) -> set[str]:
    """Return the fields of a request, as it was sent, that a failure names as the reason why it was refused."""
    return set(_NAMES.findall(failure.message)) & sent.keys() if failure.status == _BAD_REQUEST and not failure.blocked else set()
