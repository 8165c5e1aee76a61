from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import GenerationSettings
from talm_sim.models.constrained import action_schema, choice_schema, read_action, read_label
from talm_sim.models.openai_servers import open_compatible
from talm_sim.models.request import ModelRequest
from talm_sim.models.yes_no import YES_NO_IDK, read_yes_no
from talm_sim.types import ModelTurn, ToolCall, ToolSpec
from tests.models.loopback import Answer, Seen, chat_answer, loopback

AIRPORT = ToolSpec(
    name="airport",
    description="Look an airport up. It knows 7,000 of them.",
    parameters={
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "IATA code.", "pattern": "^[A-Z]{3}$", "maxLength": 3},
            "year": {"anyOf": [{"type": "integer", "minimum": 1900}, {"type": "null"}], "default": None},
            "units": {"type": "array", "items": {"enum": ["m", "ft"]}},
            "note": {"type": ["string", "null"]},
        },
        "required": ["code"],
    },
)
ASK = ToolSpec(
    name="ask_human",
    description="Ask the person.",
    parameters={"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
)
MESSAGES: list[BaseMessage] = [SystemMessage("Help."), HumanMessage("How high is HAN?")]


async def act(
    answer: Answer, messages: list[BaseMessage] = MESSAGES, tools: tuple[ToolSpec, ...] = (AIRPORT, ASK), **settings: Any
) -> tuple[ModelTurn, Seen]:
    options = settings.pop("options", {})
    with loopback(answer) as server:
        environ = {"S_BASE_URL": f"{server.url}/v1"}
        model = open_compatible(ModelRequest("openai-api/s/m", "s/m", environ=environ, constrained=True, options=options))
        turn = await model.generate(messages, tools, GenerationSettings(**settings))
        await model.aclose()
    return turn, server.seen[0]


def written(value: Any, finish: str = "stop") -> Answer:
    return chat_answer(value if isinstance(value, str) else json.dumps(value), finish=finish)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def test_the_schema_holds_one_action_for_each_tool_and_the_answer() -> None:
    schema = action_schema([AIRPORT, ASK])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert fits({"action": "airport", "arguments": {"code": "HAN"}}, schema)
    assert fits({"action": "airport", "arguments": {"code": "HAN", "year": 1999, "units": ["m"], "note": "x"}}, schema)
    assert fits({"action": "ask_human", "arguments": {"question": "Which airport?"}}, schema)
    assert fits({"action": "answer", "text": "39 ft."}, schema)
    for wrong in (
        {"action": "other", "arguments": {}},
        {"action": "airport", "arguments": {}},
        {"action": "airport", "arguments": {"code": "HANO"}},
        {"action": "airport", "arguments": {"code": "HAN", "year": None}},
        {"action": "airport", "arguments": {"code": "HAN", "units": ["m"] * 6}},
        {"action": "ask_human", "arguments": {"question": "x" * 200}},
        {"action": "answer", "text": "x" * 400},
        {"action": "answer", "text": "x", "arguments": {}},
    ):
        assert not fits(wrong, schema)


def test_without_tools_there_is_only_the_answer() -> None:
    schema = action_schema([])
    assert fits({"action": "answer", "text": "x"}, schema)
    assert "anyOf" not in schema


def test_every_string_and_array_of_the_schema_is_bounded() -> None:
    def unbounded(schema: Any) -> list[Any]:
        if isinstance(schema, list):
            return [one for part in schema for one in unbounded(part)]
        if not isinstance(schema, dict):
            return []
        own = schema.get("type") in {"string", "array"} and not {"maxLength", "maxItems"} & schema.keys()
        return ([schema] if own else []) + [one for part in schema.values() for one in unbounded(part)]

    assert unbounded(action_schema([AIRPORT, ASK])) == []
    assert unbounded(choice_schema(YES_NO_IDK)) == []


async def test_the_request_shows_tools_and_format_in_plain_roles() -> None:
    calling = AIMessage(
        "",
        tool_calls=[tool_call(id="a", name="airport", args={"code": "HAN"})],
        invalid_tool_calls=[invalid_tool_call(id="b", name="airport", args='{"action":"airport","argu', error="cut")],
    )
    results = [ToolMessage('{"error":"cut"}', tool_call_id="b", name="airport"), ToolMessage('{"ft":39}', tool_call_id="a", name="airport")]
    _, request = await act(written({"action": "answer", "text": "39"}), [*MESSAGES, calling, *results], max_new_tokens=50, seed=3)
    body = request.body
    assert body["messages"] == [
        {
            "role": "system",
            "content": "Help.\n\nWrite one JSON action at a time:\n"
            '- Look an airport up\n  {"action": "airport", "arguments": {"code": "<IATA code>"}}\n'
            '- Ask the person\n  {"action": "ask_human", "arguments": {"question": "<string>"}}\n'
            '- Answer the person, once you know.\n  {"action": "answer", "text": "<your answer>"}',
        },
        {"role": "user", "content": "How high is HAN?"},
        {"role": "assistant", "content": '{"action":"airport","arguments":{"code":"HAN"}}\n{"action":"airport","argu'},
        {"role": "user", "content": 'Result of airport: {"error":"cut"}\nResult of airport: {"ft":39}\nIs that enough to answer?'},
    ]
    assert body["response_format"]["json_schema"]["schema"] == action_schema([AIRPORT, ASK])
    assert "tools" not in body
    assert (body["max_tokens"], body["seed"]) == (50, 3)


async def test_an_earlier_conversation_is_shown_whole_and_in_its_order() -> None:
    looked = AIMessage("Let me look.", tool_calls=[tool_call(id="a", name="airport", args={"code": "HAN"})])
    said = [SystemMessage("Speak of feet."), looked, ToolMessage('{"ft":39}', tool_call_id="a", name="airport"), AIMessage("39 ft.")]
    _, request = await act(
        written({"action": "answer", "text": "82"}), [MESSAGES[0], *said, SystemMessage("Be brief."), HumanMessage("And LHR?")]
    )
    system, *rest = request.body["messages"]
    assert system["content"].startswith("Help.\n\nSpeak of feet.\n\nWrite one JSON action at a time:")
    assert [(one["role"], one["content"]) for one in rest] == [
        ("assistant", 'Let me look.\n{"action":"airport","arguments":{"code":"HAN"}}'),
        ("user", 'Result of airport: {"ft":39}'),
        ("assistant", '{"action":"answer","text":"39 ft."}'),
        ("user", "Be brief.\nAnd LHR?"),
    ]


async def test_a_call_and_a_question_are_calls() -> None:
    turn, _ = await act(written({"action": "airport", "arguments": {"code": "HAN"}}))
    assert turn.tool_calls == (ToolCall(id="call-0-0", name="airport", arguments={"code": "HAN"}),)
    assert (turn.text, turn.stop) == ("", "tool_calls")
    turn, _ = await act(written({"action": "ask_human", "arguments": {"question": "Which?"}}), [*MESSAGES, AIMessage("x"), HumanMessage("y")])
    assert turn.tool_calls == (ToolCall(id="call-1-0", name="ask_human", arguments={"question": "Which?"}),)


async def test_an_answer_is_text_after_any_reasoning() -> None:
    turn, _ = await act(chat_answer('<think>hm</think>{"action":"answer","text":"39 ft"}'))
    assert (turn.text, turn.reasoning, turn.stop, turn.tool_calls) == ("39 ft", "hm", "stop", ())


async def test_an_answer_cut_short_keeps_its_text() -> None:
    turn, _ = await act(written(r'{"action":"answer","text":"It is \"high\": 39 f\u00', "length"))
    assert turn.stop == "length"
    assert turn.text == r"It is \"high\": 39 f\u00"
    turn, _ = await act(written('{"action": "answer", "text": "It is 39\\n f', "length"))
    assert (turn.text, turn.stop) == ("It is 39\n f", "length")


async def test_a_call_cut_short_is_unparsable() -> None:
    turn, _ = await act(written('{"action":"airport","arguments":{"code":"HA', "length"))
    assert turn.tool_calls == ()
    assert [(call.id, call.name) for call in turn.unparsable_calls] == [("call-0-0", "airport")]
    assert turn.stop == "length"


@given(st.text() | st.text(alphabet='{"action":"swertx,[]\\ud80}'), st.integers(0, 3))
def test_nothing_a_model_writes_raises(text: str, turn: int) -> None:
    said, calls, broken = read_action(text, turn)
    assert len(calls) + len(broken) <= 1
    assert not (said and (calls or broken))
    read_label(text)


@given(
    st.dictionaries(st.sampled_from(["action", "arguments", "text", "answer", "reason"]), st.none() | st.text() | st.integers() | st.just({}))
)
def test_no_json_object_raises(value: dict[str, Any]) -> None:
    read_action(json.dumps(value), 0)
    read_label(json.dumps(value))


async def test_a_label_is_asked_for_with_a_reason_and_without_tools() -> None:
    turn, request = await act(written({"answer": "IDK", "reason": "no date"}), choices=YES_NO_IDK)
    assert turn.text == "IDK. Reason: no date"
    assert turn.raw_text == '{"answer": "IDK", "reason": "no date"}'
    schema = request.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["answer"] == {"enum": ["Yes", "No", "IDK"]}
    assert request.body["messages"][0]["content"] == 'Help.\n\nWrite JSON: {"answer": "...", "reason": "..."}'


@given(st.sampled_from(YES_NO_IDK), st.text(max_size=80))
def test_the_label_chosen_is_the_label_read_whatever_the_reason(choice: str, reason: str) -> None:
    text = read_label(json.dumps({"answer": choice, "reason": reason}))
    assert read_yes_no(text).value == choice.lower()


@pytest.mark.parametrize("reason", ["No", "or No", ", IDK", "/no", "Yes or no"])
def test_a_reason_that_is_a_label_is_no_second_label(reason: str) -> None:
    assert read_yes_no(read_label(json.dumps({"answer": "Yes", "reason": reason}))).value == "yes"


def test_a_label_cut_short_is_kept() -> None:
    assert read_label('{"answer": "No", "reason": "beca') == "No"
    assert read_label('{"ans') == '{"ans'


async def test_the_longest_answer_can_be_set() -> None:
    _, request = await act(written({"action": "answer", "text": "x"}), tools=(), options={"answer_chars": "900"})
    assert request.body["response_format"]["json_schema"]["schema"]["properties"]["text"]["maxLength"] == 900
    assert "answer_chars" not in request.body
    with pytest.raises(PrerequisiteError, match="answer_chars"):
        await act(written({}), options={"answer_chars": "many"})
