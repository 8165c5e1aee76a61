"""An agent of LangChain whose calls a person approves, edits, rejects or answers (pip install langchain).

What the middleware asks is put to the run's person as what it is, a call to approve, and the decision goes back in the middleware's own form.

talm-sim run --agent approved_agent:build --split perfect --limit 5 --human simulated --model sim/oracle
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

ASKS = "ask_human"
"""The tool that asks the person; nobody has to approve a question."""


def build(tools: Sequence[BaseTool], model: BaseChatModel) -> Any:
    """Return the agent of one episode, whose every call of the episode's tools waits for a decision."""
    gate = HumanInTheLoopMiddleware({tool.name: True for tool in tools if tool.name != ASKS})
    return create_agent(model, list(tools), middleware=[gate])
