from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call

from talm_sim.models.wire_messages import anthropic_messages, model_turns_in, openai_messages, text_of

CONVERSATION: list[BaseMessage] = [
    SystemMessage("Help."),
    HumanMessage("How high is HAN?"),
    AIMessage(
        "Let me look.",
        tool_calls=[tool_call(id="a", name="airport", args={"code": "HAN", "größe": True})],
        invalid_tool_calls=[invalid_tool_call(id="b", name="distance", args='{"from', error="not valid JSON")],
    ),
    ToolMessage('{"elevation_ft":39}', tool_call_id="a", name="airport"),
    ToolMessage('{"error":"unreadable"}', tool_call_id="b", name="distance", status="error"),
]


def test_openai_messages_answer_every_call_even_an_unparsable_one() -> None:
    assert openai_messages(CONVERSATION) == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "How high is HAN?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "airport", "arguments": '{"code": "HAN", "größe": true}'}},
                {"id": "b", "type": "function", "function": {"name": "distance", "arguments": '{"unparsable_arguments": "{\\"from"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"elevation_ft":39}'},
        {"role": "tool", "tool_call_id": "b", "content": '{"error":"unreadable"}'},
    ]


def test_openai_assistant_without_text_says_null_only_beside_calls() -> None:
    calling = AIMessage("", tool_calls=[tool_call(id="a", name="now", args={})])
    assert [message["content"] for message in openai_messages([calling, AIMessage("")])] == [None, ""]


def test_anthropic_messages_alternate_and_hold_all_results_in_one_turn() -> None:
    system, turns = anthropic_messages([*CONVERSATION, HumanMessage("Well?")])
    assert system == "Help."
    assert turns == [
        {"role": "user", "content": [{"type": "text", "text": "How high is HAN?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "a", "name": "airport", "input": {"code": "HAN", "größe": True}},
                {"type": "tool_use", "id": "b", "name": "distance", "input": {"unparsable_arguments": '{"from'}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": '{"elevation_ft":39}'},
                {"type": "tool_result", "tool_use_id": "b", "content": '{"error":"unreadable"}', "is_error": True},
                {"type": "text", "text": "Well?"},
            ],
        },
    ]


def test_anthropic_leaves_out_empty_texts_and_merges_what_they_parted() -> None:
    system, turns = anthropic_messages([SystemMessage(""), HumanMessage("a"), AIMessage("  "), HumanMessage("b")])
    assert system == ""
    assert turns == [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]


def test_text_is_read_from_blocks_and_turns_are_counted() -> None:
    assert text_of(AIMessage([{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "a"}, "b"])) == "ab"
    assert model_turns_in(CONVERSATION) == 1
