"""Put a scenario to a model: one template writes the raw prompt, or the messages of a chat; docs/refusal.md lists the templates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talm_sim.config import is_constrained
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Model, TextModel
from talm_sim.models.formats import FORMATS, CallToWrite, format_of_template
from talm_sim.models.local.prompting import template_messages
from talm_sim.models.wire_messages import merge_neighbours
from talm_sim.scenarios.dialogue import as_messages, as_text, dialogue
from talm_sim.tasks.model_task import Asking
from talm_sim.tasks.refusal.shown_tools import functions, tool_texts
from talm_sim.tasks.refusal.tool_wording import TOLD, insert_tools
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import GenerationSettings
    from talm_sim.tasks.templates import Template
    from talm_sim.types import ModelTurn

CHAT, AUTO = "chat", "auto"
_FORMS = {"injected": "hermes", "pythonic": "pythonic"}
"""The formats of calls that the templates ask for which show tools in a system message."""
_MARK = "who says this"


@dataclass(frozen=True, slots=True)
class PromptWriter:
    """How scenarios are written as raw text.

    Attributes:
        name: The template, with `auto` settled.
    """

    name: str
    prompt: Callable[[Scenario], str]
    calls: Callable[[Sequence[CallToWrite]], str]
    wording: Mapping[str, str]


def asking(model: Model, template: str, texts: Mapping[str, str]) -> Asking:
    """Return how a template puts scenarios to an opened model."""
    if isinstance(model, TextModel):
        return _raw_prompts(model, template, texts)
    return _as_chat(_default_style(model.name) if template == AUTO else template, texts)


# --- models that take raw text ------------------------------------------------------------------------------------------------------------


def prompt_writer(model: TextModel | None, template: str, texts: Mapping[str, str]) -> PromptWriter:
    """Return what writes scenarios as raw text."""
    from talm_sim.tasks.templates.chat_template import shows_tools

    source = "" if model is None else model.chat_template
    shown = shows_tools(source)
    name = (CHAT if shown else TOLD[0] if source.strip() else "default") if template == AUTO else template
    if model is None and name in (CHAT, *TOLD):
        raise PrerequisiteError(f"template '{name}': is written by a model's chat template; name the model with --model hf/DIR.")
    if model is None or name not in (CHAT, *TOLD):
        return _style_writer(name, model)
    wording = {f"the chat template of {model.name}": source}
    if name == CHAT:
        if not shown:
            raise PrerequisiteError(f"template 'chat': the chat template of {model.name} shows no tools; give --template {TOLD[0]}.")
        form = format_of_template(source) or FORMATS["json"]
        return PromptWriter(name, _native_prompt(model), form.write, wording)
    wording[f"prompt {name}"] = texts[name]
    return PromptWriter(name, _described_tools_prompt(model, name, texts[name]), FORMATS[_FORMS[name]].write, wording)


def _raw_prompts(model: TextModel, template: str, texts: Mapping[str, str]) -> Asking:
    written = prompt_writer(model, template, texts)

    async def ask(model: TextModel, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn] = ()) -> ModelTurn | None:
        if turns:
            return None
        prompt = written.prompt(scenario)
        turn = await model.complete(prompt, settings)
        return turn.model_copy(update={"raw_prompt": turn.raw_prompt or prompt})

    return Asking(ask, written.prompt, written.wording, written.name)


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

    def convert(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        known = template_messages(as_messages(messages)) if any(one["role"] == "tool" or "tool_calls" in one for one in messages) else messages
        return merge_neighbours(known if system else [{**one, "role": "user"} if one["role"] == "system" else one for one in known])

    return convert


def _style_writer(name: str, model: TextModel | None) -> PromptWriter:
    from talm_sim.tasks.templates import load_template

    template: Template = load_template(name, model, TOLD)

    def write(scenario: Scenario) -> str:
        return template.prompt(_question(scenario), tool_texts(scenario))

    return PromptWriter(name, write, template.calls, {f"template {name}": template.source})


# --- models that take messages ------------------------------------------------------------------------------------------------------------


def _default_style(model: str) -> str:
    """Return what `auto` means without a chat template: native tools; for a model known to lack them, a system message."""
    return TOLD[0] if is_constrained(model, AUTO) else CHAT


def _as_chat(name: str, texts: Mapping[str, str]) -> Asking:
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

    from talm_sim.agent.shown_tools import tool_specs
    from talm_sim.models.wire_messages import openai_messages, openai_tools

    def parts(scenario: Scenario) -> tuple[list[BaseMessage], list[Any]]:
        if name == CHAT:
            return as_messages(merge_neighbours(dialogue(scenario))), tool_specs(tool_texts(scenario))
        if name in TOLD:
            told = SystemMessage(insert_tools(texts[name], "\n".join(tool_texts(scenario))))
            return [told, *as_messages(merge_neighbours(dialogue(scenario)))], []
        return [HumanMessage(styled(scenario))], []

    wording: Mapping[str, str] = {f"prompt {name}": texts[name]} if name in TOLD else {}
    if name not in (CHAT, *TOLD):
        style = _style_writer(name, None)
        styled, wording = style.prompt, style.wording

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
