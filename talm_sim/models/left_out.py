"""Leave out of a model's requests the sampling fields that it refuses: known by its name, told by the user, or learned from its server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from talm_sim.models.failures import Failure

SAMPLING = ("temperature", "top_p", "top_k", "seed", "stop", "stop_sequences")
"""Fields that some models take no value of, or only their own."""
_BAD_REQUEST = 400
_NAMES = re.compile("|".join(rf"\b{field}\b" for field in SAMPLING))
_REFUSING: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    # OpenAI's guide to reasoning: the o-series, GPT-5 and later, but for chat models, take no temperature, top_p or stop.
    (re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*chat))"), ("temperature", "top_p", "stop")),
    # Anthropic's notes on migrating to Claude Opus 4.7: from it on, and for Opus 5 and Sonnet 5, any value but the default is an error.
    (re.compile(r"claude-(?:opus-(?:4[.-](?:[7-9]|\d\d)\b|[5-9])|(?:sonnet|haiku)-[5-9]\b)"), ("temperature", "top_p", "top_k")),
)


def refused_fields(model: str) -> tuple[str, ...]:
    """Return the fields that a model is known to refuse, by the last part of its name.

    >>> refused_fields("anthropic/claude-opus-4.7"), refused_fields("gpt-5-chat-latest")
    (('temperature', 'top_p', 'top_k'), ())
    """
    name = model.rpartition("/")[2].lower()
    return next((fields for pattern, fields in _REFUSING if pattern.match(name)), ())


def without_none(options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return a user's `-M` options, and apart from them the fields that are to be left out: `-M temperature=none`."""
    told = tuple(field for field in SAMPLING if options.get(field) == "none")
    return {key: value for key, value in options.items() if key not in told}, told


class LeftOut:
    """The fields that a model's requests leave out.

    Args:
        known: Those that are known from the start.
        learned: Those that its server has turned out to refuse, to which more are added.
    """

    def __init__(self, known: Iterable[str] = (), learned: set[str] | None = None) -> None:
        self._known = frozenset(known)
        self._learned = set() if learned is None else learned

    def strip(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a request's body without them."""
        fields = self._known | self._learned
        return {key: value for key, value in body.items() if key not in fields} if fields else body

    def named_by(self, failure: Failure, body: Mapping[str, Any]) -> set[str]:
        """Return the fields of a request that a failure names, as the reason why it was refused."""
        if failure.status != _BAD_REQUEST or failure.blocked:
            return set()
        return set(_NAMES.findall(failure.message)) & self.strip(body).keys()

    def learn(self, fields: Iterable[str]) -> None:
        """Leave these out from now on."""
        self._learned.update(fields)
