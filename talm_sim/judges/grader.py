"""Ask a model that grades for one vote."""

from __future__ import annotations

from langchain_core.messages import HumanMessage, SystemMessage

from talm_sim.models.base import GenerationSettings, Model

_TEMPERATURE = 1.0
"""Temperature of the published graders, the provider's default; at 0 five votes would be one."""
_MAX_NEW_TOKENS = 512


async def ask_grader(model: Model, system: str, question: str, choices: tuple[str, ...], seed: int) -> str:
    """Ask the model once, in a separate conversation, and return what it wrote.

    Args:
        model: The grader.
        system: What it is told to do.
        question: The material.
        choices: Labels the answer begins with; constrained models are held to them.
        seed: Makes votes differ if the provider honours a seed.
    """
    settings = GenerationSettings(temperature=_TEMPERATURE, max_new_tokens=_MAX_NEW_TOKENS, seed=seed, choices=choices)
    turn = await model.generate([SystemMessage(system), HumanMessage(question)], (), settings)
    return turn.text or turn.raw_text
