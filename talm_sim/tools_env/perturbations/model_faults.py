"""Perturbations of a model's answers, which fail, are empty, are cut, or are not the model's."""

from __future__ import annotations

import json
from typing import NoReturn

from talm_sim.models.parsing import parse_call
from talm_sim.tools_env.perturbations.model_side import ModelCall, ModelPerturbation, ModelRequestError
from talm_sim.types import ModelTurn, ToolCall, UnparsableCall

_ERROR = "the model answered HTTP 500: internal server error"
_REFUSAL = "I'm sorry, but this is not something I can help you with."
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><title>502 Bad Gateway</title></head>
<body>
<h1>Bad Gateway</h1>
<p>The proxy got no valid answer from the server behind it.</p>
</body>
</html>
"""


class Model500(ModelPerturbation):
    """The request to the model fails with HTTP 500, after all retries. The model is not asked.

    The built-in agent ends there: its episode is an `agent_error` that names the fault, and not a failure of the run. An agent of your own
    that takes the model gets an exception, as of any provider; only if it lets that pass does its episode end.
    """

    name = "model-500"
    summary = "let the request to the model fail with HTTP 500"

    async def instead(self, call: ModelCall) -> NoReturn:
        """Fail."""
        raise ModelRequestError(_ERROR, 500)

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show the error."""
        return [("What the agent's code gets, as an exception", f"ModelRequestError: {_ERROR}")]


class ModelEmpty(ModelPerturbation):
    """The model answers with nothing: no text and no call. It is not asked."""

    name = "model-empty"
    summary = "let the model answer with nothing"

    async def instead(self, call: ModelCall) -> ModelTurn:
        """Say nothing."""
        return ModelTurn()

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show the answer."""
        return [("What the agent gets in place of the model's answer", "(no text, no call)")]


class ModelRefusal(ModelPerturbation):
    """The model refuses, as its provider's filter would: a polite sentence, and the reason `refusal` for its end. It is not asked."""

    name = "model-refusal"
    summary = "let the model refuse"
    origin = "a fixed sentence"

    async def instead(self, call: ModelCall) -> ModelTurn:
        """Refuse."""
        return ModelTurn(raw_text=_REFUSAL, text=_REFUSAL, stop="refusal")

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show the answer."""
        return [("What the agent gets in place of the model's answer, with the reason 'refusal' for its end", _REFUSAL)]


class ModelHtml(ModelPerturbation):
    """A proxy's error page comes as the text of the answer. The model is not asked."""

    name = "model-html"
    summary = "put a proxy's HTML error page in place of the model's text"
    origin = "a fixed page"

    async def instead(self, call: ModelCall) -> ModelTurn:
        """Answer with the page."""
        return ModelTurn(raw_text=_PAGE, text=_PAGE)

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show the page."""
        return [("What the agent gets in place of the model's answer", _PAGE)]


class ModelRepeat(ModelPerturbation):
    """The previous answer comes again: its text, and its calls under new ids. The model is not asked.

    Not applicable to the first generation of an episode.
    """

    name = "model-repeat"
    summary = "give the model's previous answer again"
    origin = "the previous answer"

    def can_hit(self, call: ModelCall) -> bool:
        """Return whether there is a previous answer."""
        return call.previous is not None

    async def instead(self, call: ModelCall) -> ModelTurn | None:
        """Say the same again."""
        if (last := call.previous) is None:
            return None
        calls = tuple(one.model_copy(update={"id": _id(call, place)}) for place, one in enumerate(last.tool_calls))
        broken = tuple(one.model_copy(update={"id": _id(call, len(calls) + place)}) for place, one in enumerate(last.unparsable_calls))
        kept = {name: getattr(last, name) for name in ("raw_text", "text", "reasoning", "stop")}
        return ModelTurn(**kept, tool_calls=calls, unparsable_calls=broken)

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show it."""
        return [("What the agent gets in place of the model's answer", "(the model's previous text and calls, under new ids)")]


class ModelCut(ModelPerturbation):
    """The model's answer is cut in the middle, as at a limit of its length.

    Half of its text is left, and half of the arguments of each of its calls, which cannot be read then.
    Not applicable to an answer without text and calls.
    """

    name = "model-cut"
    summary = "cut the model's answer in the middle"
    origin = "the model's answer"

    async def spoil(self, call: ModelCall, turn: ModelTurn) -> ModelTurn | None:
        """Cut it."""
        if not (turn.text or turn.tool_calls or turn.unparsable_calls):
            return None
        halves = {name: _half(getattr(turn, name)) for name in ("raw_text", "text")}
        calls = [*map(_cut_call, turn.tool_calls), *map(_cut_call, turn.unparsable_calls)]
        # Which tokens are left is not known, nor how likely they were.
        changed = {"tool_calls": (), "unparsable_calls": tuple(calls), "stop": "length", "logprobs": None}
        return turn.model_copy(update=halves | changed)

    @classmethod
    def example(cls) -> list[tuple[str, str]]:
        """Show a cut call."""
        cut = _cut_call(ToolCall(id="", name="get_weather", arguments={"city": "Lisbon", "days": 2}))
        return [("What the agent gets of a call, with the reason 'length' for the end of the answer", f"{cut.name} {cut.raw}: {cut.reason}")]


def _id(call: ModelCall, place: int) -> str:
    return f"again-{call.number}-{place}"


def _half(text: str) -> str:
    return text[: len(text) // 2]


def _cut_call(call: ToolCall | UnparsableCall) -> UnparsableCall:
    """Return a call without the second half of its arguments."""
    whole = json.dumps(call.arguments, ensure_ascii=False) if isinstance(call, ToolCall) else call.raw
    if isinstance(cut := parse_call(call.id, call.name, _half(whole)), UnparsableCall):
        return cut
    assert isinstance(call, UnparsableCall)  # half of an object is none
    return call
