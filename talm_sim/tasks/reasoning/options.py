"""The option of tasks whose model may think before it answers."""

from __future__ import annotations

from typing import Literal

from talm_sim.config import GEN, option
from talm_sim.tasks.options import PromptOptions

Reasoning = Literal["none", "free", "form", "random"]
NONE, FREE, FORM, RANDOM = "none", "free", "form", "random"
WORDED = (FREE, FORM)
"""Kinds with a text of their own in `prompts.toml`; `random` is asked for with that of `form`."""


class ReasoningOptions(PromptOptions):
    """Options of a task that writes its requests as text, and whose model may think first."""

    reasoning: Reasoning = option("none", GEN, "Thought first: free, form, random.", metavar="KIND")
    """`random` begins the form for the model, with decision fields drawn by seed."""
