"""How tools are shown, template by template, to models of each kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.tasks.refusal.prompts import asking
from talm_sim.tasks.refusal.shown_tools import tool_texts
from talm_sim.tasks.refusal.tool_wording import load_wording
from talm_sim.types import AcceptedCall, Calls, JsonObject, ModelTurn, Scenario, ToolCall, ToolSpec
from tests.tables import labelled
from tests.tasks.refusal.crafted import CLOCK, case

SHOWS_TOOLS = "{% for tool in tools %}{{ tool }}{% endfor %}{{ messages }}"
SHOWS_NONE = "{{ messages }}"


class Raw:
    """A model that takes raw text; its chat template is made up."""

    name = "hf/raw"

    def __init__(self, chat_template: str, *, system: bool = True) -> None:
        self.chat_template = chat_template
        self._system = system

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        return ModelTurn(raw_text="Noon.", text="Noon.")

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        raise AssertionError("nothing is scored")

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        raise AssertionError("the prompt is written to the letter")

    async def aclose(self) -> None:
        """Nothing to close."""

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        if not self._system and any(one["role"] == "system" for one in messages):
            raise PrerequisiteError("system role not supported")
        return json.dumps({"tools": list(tools), "messages": list(messages)}, ensure_ascii=False)


class Chat:
    """A provider's model."""

    name = "openai/some"

    def __init__(self, *calls: ToolCall) -> None:
        self.calls = calls
        self.asked: list[tuple[list[str], list[str]]] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.asked.append(([one.type for one in messages], [one.name for one in tools]))
        return ModelTurn(tool_calls=self.calls, stop="tool_calls")

    async def aclose(self) -> None:
        """Nothing to close."""


async def turn_of(model: Any, template: str, scenario: Scenario) -> tuple[str, ModelTurn]:
    way = asking(model, template, load_wording())
    way.check(scenario)
    turn = await way.ask(model, scenario, GenerationSettings())
    assert turn is not None
    return way.template, turn


async def prompt_of(model: Any, template: str, scenario: Scenario) -> Any:
    return json.loads((await turn_of(model, template, scenario))[1].raw_prompt)


async def test_a_chat_template_is_given_each_function_to_the_letter() -> None:
    """Name, description and parameters, with the types of JSON Schema: without the descriptions AST and H-I move."""
    told = await prompt_of(Raw(SHOWS_TOOLS), "chat", case("a"))
    parameters = {"type": "object", "properties": {"city": {"type": "string", "description": "The city"}}, "required": ["city"]}
    assert told["tools"] == [{"name": "world.clock", "description": "Tells.", "parameters": parameters}]


@pytest.mark.parametrize(("source", "picked"), [(SHOWS_TOOLS, "chat"), (SHOWS_NONE, "injected"), ("", "default")])
async def test_auto_is_the_tokenizers_own_wherever_it_shows_tools(source: str, picked: str) -> None:
    template, turn = await turn_of(Raw(source), "auto", case("a"))
    assert template == picked
    assert "world.clock" in turn.raw_prompt and "What time is it in Hue?" in turn.raw_prompt
    assert turn.raw_text == "Noon."


@pytest.mark.parametrize("template", ["injected", "pythonic"])
async def test_told_tools_stand_in_front_of_the_rows_own_system_message_to_the_letter(template: str) -> None:
    prompt = await prompt_of(Raw(SHOWS_NONE), template, case("a", said=[("system", "Be {tools} brief."), ("user", "What time is it?")]))
    system, user = prompt["messages"]
    assert (system["role"], user) == ("system", {"role": "user", "content": "What time is it?"})
    assert CLOCK in system["content"] and system["content"].endswith("\n\nBe {tools} brief.")
    assert system["content"].count("world.clock") == 1
    assert prompt["tools"] == []


async def test_where_no_system_message_is_taken_the_user_says_it() -> None:
    row = case("a", said=[("system", "Be brief."), ("user", "What time is it?"), ("user", "In Hue.")])
    (message,) = (await prompt_of(Raw(SHOWS_NONE, system=False), "injected", row))["messages"]
    assert message["role"] == "user"
    assert message["content"].endswith("\n\nBe brief.\n\nWhat time is it?\n\nIn Hue.")


@labelled
def test_a_template_that_cannot_be_used_is_refused(source: str, template: str, message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        asking(Raw(source), template, load_wording())


async def test_a_provider_is_given_native_tools_and_their_names_are_turned_back() -> None:
    model = Chat(ToolCall(id="1", name="world_clock", arguments={"city": "Hue"}))
    template, turn = await turn_of(model, "auto", case("a"))
    assert (template, model.asked) == ("chat", [(["human"], ["world_clock"])])
    assert turn.tool_calls[0].name == "world.clock"
    sent = json.loads(turn.raw_prompt)
    assert sent["messages"][0]["content"] == "What time is it in Hue?" and sent["tools"][0]["function"]["name"] == "world_clock"


@pytest.mark.parametrize(("template", "roles"), [("injected", ["system", "human"]), ("pythonic", ["system", "human"]), ("hermes", ["human"])])
async def test_a_provider_is_sent_the_same_templates_as_messages(template: str, roles: list[str]) -> None:
    model = Chat()
    _, turn = await turn_of(model, template, case("a"))
    assert model.asked == [(roles, [])]
    assert "world.clock" in turn.raw_prompt


def test_java_values_are_asked_for_as_source_code() -> None:
    items = {"type": "ArrayList", "description": "Who.", "items": {"type": "String"}}
    shown = json.dumps(
        {"name": "greet", "description": "", "parameters": {"type": "dict", "properties": {"who": items, "n": {"type": "long"}}}}
    )
    target = Calls(expected="calls", accepted=(AcceptedCall(name="greet"),), syntax="java")
    (text,) = tool_texts(case("a", "simple_java", target, tools=[shown]))
    assert json.loads(text)["parameters"]["properties"] == {
        "who": {"type": "string", "description": "Who. Java source code of type ArrayList of String, as a string."},
        "n": {"type": "string", "description": "Java source code of type long, as a string."},
    }
    assert tool_texts(case("b", tools=[shown])) == (shown,), "of Python functions every letter stays"
