"""Count the requests that models are sent and the tokens that they take, for a budget.

Requests over HTTP are counted where they leave the machine (`ServerClient`), so that every retry counts, and an answer from a recording does
not. A model that makes no such request is counted by the generation (`count_generations`). What a server does not report counts at its upper
bound.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from talm_sim.errors import PrerequisiteError
from talm_sim.models.answers import MOST_TEXT, reported_usage
from talm_sim.types import ModelTurn, Usage

AGENT, JUDGE, PERSON = "agent", "judge", "person"
"""The parts of a run that ask models."""
_BYTES = 2
"""Fewest bytes of UTF-8 per token: English prose has four, JSON three, Chinese two or more."""
_MOST_WRITTEN = ("max_completion_tokens", "max_tokens", "max_output_tokens")
"""Names of the field of a request that limits the answer, in the protocols in use."""

_part: ContextVar[str] = ContextVar("talm_sim_part", default=AGENT)
_seen: ContextVar[list[None] | None] = ContextVar("talm_sim_requests_seen", default=None)
"""Gets an item for each HTTP request, sent or played, while a generation is counted."""


def max_tokens_of(*texts: str) -> int:
    """Return the most tokens that texts have, whatever the tokenizer."""
    return sum(_most_tokens(len(text.encode("utf-8", "replace"))) for text in texts)


def _most_tokens(size: int) -> int:
    return -(-size // _BYTES)


@dataclass(slots=True)
class Count:
    """The requests to one model for one part of a run, with their tokens.

    Attributes:
        bounded: Requests whose tokens are an upper bound, as no server reported them.
    """

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    bounded: int = 0


@dataclass(slots=True)
class Sent:
    """A request that is being answered."""

    usage: Usage | None = None
    received: int = 0


class Meter:
    """Counts the requests of one command to its models."""

    def __init__(self, admit: Callable[[str], None] = lambda model: None) -> None:
        self.admit = admit
        self.counts: dict[tuple[str, str], Count] = {}
        """Counts by part and model."""
        self._lock = threading.Lock()  # an agent's own code may ask from any thread

    def add_turn(self, model: str, turn: object, bound: Usage, *, requests: int = 1) -> None:
        """Count what a model was asked for a turn.

        Args:
            model: Its name.
            turn: The `ModelTurn`, whose usage counts if it is reported; anything else, for example None if the model failed, reports none.
            bound: The most tokens that the model can have read, and those that it was allowed to write.
            requests: How many requests it was.
        """
        usage = None
        if isinstance(turn, ModelTurn):
            usage = credible(turn.usage)
            bound = bound.model_copy(update={"output_tokens": max(bound.output_tokens, max_tokens_of(turn.model_dump_json()))})
        with self._lock:
            count = self.counts.setdefault((_part.get(), model), Count())
            count.requests += requests
            count.usage += bound if usage is None else usage
            count.bounded += requests if usage is None else 0

    @contextmanager
    def sending(self, model: str, bound: Usage) -> Iterator[Sent]:
        """Count a request that the block sends: at once, and its tokens once it is answered.

        Args:
            model: The model's name.
            bound: The most tokens that it can take, which count unless the block reports others. If it allows the answer any length, the
                answer counts as long as it is.
        """
        self.admit(model)
        sent, place = Sent(), (_part.get(), model)
        with self._lock:
            count = self.counts.setdefault(place, Count())
            count.requests += 1
        try:
            yield sent
        finally:
            if not bound.output_tokens:
                bound = bound.model_copy(update={"output_tokens": _most_tokens(sent.received)})
            with self._lock:
                count.usage += bound if sent.usage is None else sent.usage
                count.bounded += sent.usage is None


current_meter: ContextVar[Meter | None] = ContextVar("talm_sim_meter", default=None)
"""The meter of the running command; None if nothing is counted."""


@contextmanager
def asking_as(part: str) -> Iterator[None]:
    """Count what models are asked in the block as one part of the run; the default is the agent's."""
    token = _part.set(part)
    try:
        yield
    finally:
        _part.reset(token)


def note_http_request() -> None:
    """Note that an HTTP request is made, which is counted or played from a recording: the generation around it is not counted again."""
    if (seen := _seen.get()) is not None:
        seen.append(None)


def request_bound(body: bytes) -> Usage:
    """Return the most tokens that a request can take: those of its whole body, and those that it allows the answer."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = {}
    given = [fields.get(name) for name in _MOST_WRITTEN] if isinstance(fields, dict) else []
    written = next((one for one in given if type(one) is int and one > 0), 0)
    return Usage(input_tokens=_most_tokens(len(body)), output_tokens=written)


def response_usage(status: int, body: bytes) -> Usage | None:
    """Return the tokens that a server reports; None if it reports none, although it may have asked its model."""
    if 300 <= status < 500:
        return Usage()  # it turned the request away
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return credible(reported_usage(answer.get("usage"))) if isinstance(answer, dict) else None


def credible(usage: Usage) -> Usage | None:
    """Return token counts, or None if they are missing: no model reads a prompt without a token."""
    return None if usage.uncounted or not usage.input_tokens else usage


def count_generations(model: Any, meter: Meter) -> None:
    """Count the generations of a model, except those whose HTTP requests are counted or played. A control asks nobody and counts nothing.

    Args:
        model: An open model; its methods are replaced, so that it stays what it is.
        meter: What counts if the command that runs then has no meter in its context.
    """
    if hasattr(model, "play"):
        return
    for name in ("generate", "complete", "score"):
        if (own := getattr(model, name, None)) is None:
            continue
        try:
            object.__setattr__(model, name, _counted(model.name, own, meter))
        except AttributeError:
            fix = "its class has __slots__; add '__dict__' to them, or limit minutes alone"
            raise PrerequisiteError(f"--budget: what {model.name} asks cannot be counted, because {fix}.") from None


def _counted(name: str, own: Callable[..., Awaitable[Any]], meter: Meter) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(own)
    async def counted(*args: Any, **kwargs: Any) -> Any:
        if _seen.get() is not None:  # part of a generation that is being counted
            return await own(*args, **kwargs)
        now, seen, result = current_meter.get() or meter, list[None](), None
        now.admit(name)
        token = _seen.set(seen)
        try:
            result = await own(*args, **kwargs)
        finally:
            _seen.reset(token)
            if not seen:
                requests = len(result) if isinstance(result, list) else 1  # a list has a score for each text
                now.add_turn(name, result, generation_bound([*args, *kwargs.values()]), requests=requests)
        return result

    return counted


def generation_bound(given: Sequence[Any]) -> Usage:
    """Return the most tokens that a generation can take: those of all that the model is given, and those that it is allowed to write."""
    try:
        size = len(json.dumps(given, default=_plain, skipkeys=True))
    except Exception:  # what a user's own agent gives its model may be anything, and its class may refuse to be written
        size = MOST_TEXT
    allowed = (one.get(name) if isinstance(one, Mapping) else getattr(one, "max_new_tokens", None) for one in given for name in _MOST_WRITTEN)
    return Usage(input_tokens=_most_tokens(size), output_tokens=next((one for one in allowed if type(one) is int), 0))


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else str(value)
