"""A writing model asked for one text; what is cut off is asked for once more, with twice as many tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from talm_sim.errors import ContextOverflowError
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.scenarios.making.options import MakingOptions

__all__ = ["ASKED_AGAIN", "WrittenText", "ask"]

ASKED_AGAIN = 2
"""Requests a text may take, the second one with so many times the tokens."""


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text, or why there is none.

    Attributes:
        text: What was written.
        problem: Why it cannot be used, whatever the checks say: it was cut off, the rules know nothing.
    """

    text: str
    problem: str = ""


async def ask(model: Model, messages: Sequence[BaseMessage], options: MakingOptions, seed: int, choices: tuple[str, ...] = ()) -> WrittenText:
    """Ask a model for one text.

    Args:
        model: The model.
        messages: The conversation.
        options: How it is sampled.
        seed: Seed of the sampling.
        choices: Texts one of which it has to write; any text where there are none.
    """
    text = ""
    for tokens in (options.max_new_tokens, ASKED_AGAIN * options.max_new_tokens):
        settings = GenerationSettings(options.temperature, tokens, seed, choices, {"top_p": options.top_p})
        try:
            turn = await model.generate(messages, (), settings)
        except ContextOverflowError:
            return WrittenText("", "the prompt does not fit the model's context")
        text = turn.text
        if turn.stop != "length":
            return WrittenText(text)
    return WrittenText(text, f"it was cut off after {ASKED_AGAIN * options.max_new_tokens} tokens")
