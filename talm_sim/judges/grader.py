"""One vote of a model that grades."""

from __future__ import annotations

from langchain_core.messages import HumanMessage, SystemMessage

from talm_sim.models.base import GenerationSettings, Model

__all__ = ["ask_grader"]

_TEMPERATURE = 1.0
"""The published graders vote at the provider's default; at 0 five votes would be one."""
_MAX_NEW_TOKENS = 512


async def ask_grader(model: Model, system: str, question: str, choices: tuple[str, ...], seed: int) -> str:
    """Ask the model once, in a conversation of its own, and return what it wrote.

    Args:
        model: The grader.
        system: What it is told to do.
        question: The material.
        choices: Labels the answer opens with; constrained models are held to them.
        seed: Tells votes apart where the provider honours a seed.
    """
    settings = GenerationSettings(temperature=_TEMPERATURE, max_new_tokens=_MAX_NEW_TOKENS, seed=seed, choices=choices)
    turn = await model.generate([SystemMessage(system), HumanMessage(question)], (), settings)
    return turn.text or turn.raw_text
