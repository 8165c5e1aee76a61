"""Conversations through a tokenizer's own chat template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models.messages import openai_messages

__all__ = ["chat_template_of", "render", "template_messages"]


def chat_template_of(tokenizer: Any) -> str:
    """The Jinja source of a tokenizer's chat template: the default one where it has several, empty where it has none."""
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        template = template.get("default")
    return template if isinstance(template, str) else ""


def render(tokenizer: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]], name: str) -> str:
    """Render a conversation, ready for the model's turn.

    Args:
        tokenizer: Of transformers.
        messages: Chat messages as templates know them.
        tools: Function specifications of the chat-completions protocol; may be empty.
        name: Of the model, for messages.

    Raises:
        PrerequisiteError: There is no template, or it cannot take these messages.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise PrerequisiteError(f"{name}: its tokenizer has no chat template; only prompts to the letter work with it.")
    try:
        text: str = tokenizer.apply_chat_template(messages, tools=tools or None, add_generation_prompt=True, tokenize=False)
    except Exception as err:  # a template is a program of the model's author and may fail in any way
        reason = " ".join(str(err).split())[:200]
        raise PrerequisiteError(f"{name}: its chat template cannot take this conversation ({type(err).__name__}: {reason}).") from err
    return text


def template_messages(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as templates want them: arguments as objects, every content a string, every result with its tool's name."""
    names: dict[str, str] = {}
    shown: list[dict[str, Any]] = []
    for message in openai_messages(messages):
        message["content"] = message["content"] or ""
        for call in message.get("tool_calls", ()):
            function = call["function"]
            names[call["id"]] = function["name"]
            function["arguments"] = json.loads(function["arguments"])
        if message["role"] == "tool":
            message["name"] = names.get(message["tool_call_id"], "")
        shown.append(message)
    return shown
