"""Put a scenario to a model: one template writes the raw prompt, or the messages of a chat.

| template | tools stand | calls are |
|---|---|---|
| `chat` | where the tokenizer's chat template puts them; of a provider's model, in the request | as the model was taught |
| `injected` | in a system message | JSON in `<tool_call>` blocks |
| `pythonic` | in a system message | `[f(a=1), g(b=2)]`, as in BFCL's prompt mode |
| a style, a file | where it writes them | as it says |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from talm_sim.config import is_constrained
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Model, TextModel
from talm_sim.models.messages import merge_neighbours
from talm_sim.scenarios.dialogue import as_messages, as_text, dialogue
from talm_sim.tasks.asking import Asking
from talm_sim.tasks.refusal.tools import functions, tool_texts
from talm_sim.tasks.refusal.wording import TOLD, insert_tools
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.agent.templates import Template
    from talm_sim.models.base import GenerationSettings
    from talm_sim.types import ModelTurn

__all__ = ["CHAT", "asking"]

CHAT, AUTO = "chat", "auto"
_MARK = "who says this"


def asking(model: Model, template: str, texts: Mapping[str, str]) -> Asking:
    """Return how a template puts scenarios to an opened model.

    Args:
        model: The model.
        template: Its name, or a file.
        texts: The wording of the templates that show tools in a system message.

    Raises:
        PrerequisiteError: There is no such template, or it cannot be used with this model.
    """
    if isinstance(model, TextModel):
        return _raw_prompts(model, template, texts)
    return _as_chat(_default_style(model.name) if template == AUTO else template, texts)


# --- models that take raw text ------------------------------------------------------------------------------------------------------------


def _raw_prompts(model: TextModel, template: str, texts: Mapping[str, str]) -> Asking:
    from talm_sim.agent.templates.chat import shows_tools

    shown = shows_tools(model.chat_template)
    name = (CHAT if shown else TOLD[0] if model.chat_template.strip() else "default") if template == AUTO else template
    wording = {}
    if name == CHAT and not shown:
        raise PrerequisiteError(f"template 'chat': the chat template of {model.name} shows no tools; give --template {TOLD[0]}.")
    if name in (CHAT, *TOLD):
        wording[f"the chat template of {model.name}"] = model.chat_template
    if name == CHAT:
        write = _native_prompt(model)
    elif name in TOLD:
        wording[f"prompt {name}"] = texts[name]
        write = _described_tools_prompt(model, name, texts[name])
    else:
        write, wording[f"template {name}"] = _style_prompt(name, model)

    async def ask(model: TextModel, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn] = ()) -> ModelTurn | None:
        if turns:
            return None
        prompt = write(scenario)
        turn = await model.complete(prompt, settings)
        return turn.model_copy(update={"raw_prompt": turn.raw_prompt or prompt})

    return Asking(ask, write, wording, name)


def _native_prompt(model: TextModel) -> Callable[[Scenario], str]:
    heard = _message_converter(model)
    return lambda scenario: model.render_chat(heard(dialogue(scenario)), functions(tool_texts(scenario)))


def _described_tools_prompt(model: TextModel, name: str, text: str) -> Callable[[Scenario], str]:
    if not model.chat_template.strip():
        raise PrerequisiteError(f"template '{name}': the tokenizer of {model.name} has no chat template; give --template default.")
    heard = _message_converter(model)

    def write(scenario: Scenario) -> str:
        told = {"role": "system", "content": insert_tools(text, "\n".join(tool_texts(scenario)))}
        return model.render_chat(heard([told, *dialogue(scenario)]), [])

    return write


def _message_converter(model: TextModel) -> Callable[[Sequence[Mapping[str, Any]]], list[dict[str, Any]]]:
    """Return a function that adapts messages to the chat template: if it refuses or drops system messages, the user says them."""
    try:
        system = _MARK in model.render_chat([{"role": "system", "content": _MARK}, {"role": "user", "content": "-"}], [])
    except PrerequisiteError:
        system = False
    return lambda messages: merge_neighbours(
        messages if system else [{**one, "role": "user"} if one["role"] == "system" else one for one in messages]
    )


def _style_prompt(name: str, model: TextModel | None) -> tuple[Callable[[Scenario], str], str]:
    """Return a style's prompt of a scenario, and the style's text."""
    from talm_sim.agent.templates import load_template

    template: Template = load_template(name, model, TOLD)
    return lambda scenario: template.prompt(_question(scenario), tool_texts(scenario)), template.source


# --- models that take messages ------------------------------------------------------------------------------------------------------------


def _default_style(model: str) -> str:
    """Return what `auto` means without a chat template: native tools; for a model known to lack them, a system message."""
    return TOLD[0] if is_constrained(model, AUTO) else CHAT


def _as_chat(name: str, texts: Mapping[str, str]) -> Asking:
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

    from talm_sim.agent.shown_tools import tool_specs
    from talm_sim.models.messages import openai_messages, openai_tools

    def parts(scenario: Scenario) -> tuple[list[BaseMessage], list[Any]]:
        if name == CHAT:
            return as_messages(merge_neighbours(dialogue(scenario))), tool_specs(tool_texts(scenario))
        if name in TOLD:
            told = SystemMessage(insert_tools(texts[name], "\n".join(tool_texts(scenario))))
            return [told, *as_messages(merge_neighbours(dialogue(scenario)))], []
        return [HumanMessage(styled(scenario))], []

    wording = {f"prompt {name}": texts[name]} if name in TOLD else {}
    if name not in (CHAT, *TOLD):
        styled, wording[f"template {name}"] = _style_prompt(name, None)

    async def ask(model: Model, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn] = ()) -> ModelTurn | None:
        if turns:
            return None
        messages, specs = parts(scenario)
        turn = await model.generate(messages, specs, settings)
        sent = {"messages": openai_messages(messages), **({"tools": openai_tools(specs)} if specs else {})}
        names = dict(zip((one.name for one in specs), (one["name"] for one in functions(scenario.shown_tools)), strict=False))
        called = tuple(call.model_copy(update={"name": names.get(call.name, call.name)}) for call in turn.tool_calls)
        return turn.model_copy(update={"raw_prompt": json.dumps(sent, ensure_ascii=False), "tool_calls": called})

    return Asking(ask, parts, wording, name)


# --- conversations ------------------------------------------------------------------------------------------------------------------------


def _question(scenario: Scenario) -> str:
    """Return the request as one text: what the user says or, if there is more, the conversation with its speakers."""
    said = merge_neighbours(dialogue(scenario))
    return str(said[0]["content"]) if len(said) == 1 else as_text(said)
