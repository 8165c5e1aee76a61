"""Render with the tokenizer's own chat template, and choose a style by its source."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import TextModel
from talm_sim.models.formats import CallToWrite, format_of_template
from talm_sim.models.local.prompting import check_tools_shown, template_messages
from talm_sim.models.wire_messages import merge_neighbours
from talm_sim.scenarios.dialogue import as_messages
from talm_sim.scenarios.item_tools import json_schema
from talm_sim.tasks.templates.jinja import JinjaTemplate
from talm_sim.tasks.templates.template_values import ShownTool, read_call
from talm_sim.types import Behaviour, JsonObject, Option

log = logging.getLogger(__name__)
_MARK = "what is said"
_THINKING = ("enable_thinking", "thinking")
"""Variables that tell chat templates whether the model should think."""
_OPEN_THOUGHT = re.compile(r"(?:<(?!/|\|end)[^<>]*think[^<>]*>|\[think\])\s*\Z", re.IGNORECASE)


class ChatTemplate:
    """Writes raw prompts with the tokenizer's chat template.

    Tools go through the chat template if it can show them; otherwise they are, in the default style, in the system message, or at the
    head of the user's message if the chat template takes no system message.

    Args:
        default: The default style, with its macro `system(tools)`.
        bare: Whether a call is written as the data has it, a JSON object, in place of the form that the chat template's source shows.
    """

    def __init__(self, model: TextModel | None, default: JinjaTemplate, *, bare: bool = False) -> None:
        self.name = "chat-bare" if bare else "chat"
        if model is None:
            raise PrerequisiteError(
                f"template '{self.name}': needs a local model's tokenizer; give an hf/ or vllm/ model, -M tokenizer=DIR with an "
                "openai-api/ one, or another --template."
            )
        source = model.chat_template
        if not source.strip():
            raise PrerequisiteError(f"template '{self.name}': the tokenizer of {model.name} has no chat template; give another --template.")
        self._model = model
        self._default = default
        self._form = None if bare else format_of_template(source)
        self._shows_tools = shows_tools(source)
        if not self._shows_tools:
            _check_user_is_heard(model)
        elif self._form is None and not bare:
            log.warning(
                "template 'chat': the chat template of %s uses no tool-call format that talm-sim knows; calls are scored as JSON", model.name
            )
        self._takes_system = self._shows_tools or _takes_system(model)
        self.source = source if self._shows_tools else f"{source}\n{default.source}"

    def prompt(self, question: str, tools: Sequence[str]) -> str:
        """See `Template.prompt`."""
        return self.conversation([{"role": "user", "content": question}], tools)

    def conversation(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> str:
        """See `Template.conversation`."""
        shown = [ShownTool(tool) for tool in tools]
        said = [dict(messages[0])] if len(messages) == 1 else template_messages(as_messages(messages))
        if self._shows_tools:
            prompt = self._model.render_chat(said, [_function(tool) for tool in shown])
            mentioned = any(tool.name in str(one["content"]) for tool in shown for one in said)
            bare = self._model.render_chat(said, []) if mentioned else ""
            fix = "give another --template, or -M chat_template=FILE with one that does"
            where = f"template '{self.name}': the chat template of {self._model.name}"
            check_tools_shown(prompt, bare, (tool.name for tool in shown), where, fix)
            return prompt
        system = self._default.call("system", tools=shown)
        if self._takes_system:
            said = merge_neighbours([{"role": "system", "content": system}, *said])
        else:
            said = merge_neighbours([{**one, "role": "user"} if one["role"] == "system" else one for one in said])
            said[0] = {**said[0], "content": f"{system}\n\n{said[0]['content']}"}
        return self._model.render_chat(said, [])

    def option(self, option: Option) -> str:
        """See `Template.option`."""
        return self.calls([read_call(option.text)]) if option.behaviour is Behaviour.TOOL_CALL else option.text

    def calls(self, calls: Sequence[CallToWrite]) -> str:
        """See `Template.calls`."""
        return self._form.write(calls) if self._form is not None else "\n".join(call.json for call in calls)


def pick(source: str) -> str:
    """Return the template that `auto` chooses for a tokenizer's chat template.

    It is `chat`, the model's own, wherever it shows tools (When2Call, section 3.1 and Table 8); else `default` (Table 7). The other styles,
    whose wording is not the models' own, are taken by name only.
    """
    return "chat" if shows_tools(source) else "default"


def shows_tools(source: str) -> bool:
    """Return whether a chat template uses the variable `tools`; text that only mentions the word does not count."""
    return _uses_variable(source, "tools")


def check_thought_ended(prompt: str, model: TextModel) -> None:
    """Check that a prompt does not end in an open thought, where options would be scored as its first words."""
    if not _OPEN_THOUGHT.search(prompt):
        return
    name = next((one for one in _THINKING if _uses_variable(model.chat_template, one)), None)
    fix = f"-M chat_template_kwargs='{{\"{name}\": false}}'" if name else "-M chat_template=FILE with one that does not, or another --template"
    raise PrerequisiteError(f"the prompt of {model.name} ends inside an open thinking block, so no answer can be scored; give {fix}.")


def _uses_variable(source: str, variable: str) -> bool:
    from jinja2 import TemplateSyntaxError

    from talm_sim.models.local.template_sandbox import environment

    before = ""
    try:
        for _, kind, value in environment().lex(source):
            if kind == "name" and value == variable and before != ".":
                return True
            before = value if kind != "whitespace" else before
    except TemplateSyntaxError:
        return False  # the tokenizer will say what is wrong with it
    return False


def _check_user_is_heard(model: TextModel) -> None:
    """Check that the template shows the user's text: those of vision models expect a message in parts, and skip one that is a text."""
    if _MARK not in model.render_chat([{"role": "user", "content": _MARK}], []):
        raise PrerequisiteError(
            f"template 'chat': the chat template of {model.name} does not show the user's message; give another --template."
        )


def _takes_system(model: TextModel) -> bool:
    """Return whether the template takes a system message: some refuse it, others drop it silently."""
    try:
        return _MARK in model.render_chat([{"role": "system", "content": _MARK}, {"role": "user", "content": "-"}], [])
    except PrerequisiteError:
        return False


def _function(tool: ShownTool) -> JsonObject:
    parameters = json_schema(tool.parameters)
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    return {"name": tool.name, "description": tool.description, "parameters": parameters}
