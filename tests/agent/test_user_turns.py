"""A scenario of several turns is played as it is written: what the user says next follows the agent's answer, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from talm_sim.agent.checkpoints import durable_saver
from talm_sim.agent.episode import Agent, Waiting, run_episode
from talm_sim.agent.humans import HumanReply
from talm_sim.agent.prompts import load_prompts
from talm_sim.judges.prompts import request_sections
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.models.anthropic_messages import open_anthropic
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.request import ModelRequest
from talm_sim.models.sim import SimModel
from talm_sim.scenarios.dialogue import as_dicts, as_text
from talm_sim.tasks import find_task
from talm_sim.tasks.talm.groups import GROUPS
from talm_sim.types import (
    AwarenessValue,
    Episode,
    Fact,
    Facts,
    GoldCall,
    ModelTurn,
    Scenario,
    Termination,
    ToolCall,
    ToolSpec,
    Turn,
    Usage,
)
from tests.agent.own.playing import Client, Script, talm_agent
from tests.models.loopback import anthropic_answer, loopback

OURS = load_prompts().system
CALLED = {"id": "h1", "name": "airport_info", "arguments": {"code": "VIE"}}
BEFORE: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": "Speak of metres."},
    {"role": "user", "content": "How high is VIE?"},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [CALLED]},
    {"role": "tool", "content": '{"m": 183}', "tool_call_id": "h1"},
    {"role": "assistant", "content": "183 m."},
)
FIRST: tuple[dict[str, Any], ...] = ({"role": "user", "content": "And HAN?"},)
LAST: tuple[dict[str, Any], ...] = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "And LHR?"})
GOLD = tuple(GoldCall(name="airport_info", arguments={"code": code}) for code in ("HAN", "LHR"))
FACTS = tuple(
    Fact(name=f"path_{gold.arguments['code']}", value=f"http://tools.invalid/t/{gold.arguments['code']}", call=place, pointer="/path")
    for place, gold in enumerate(GOLD)
)
LONG = Scenario(
    id="long",
    group="perfect",
    turns=(Turn(messages=BEFORE), Turn(messages=FIRST, gold_calls=GOLD[:1]), Turn(messages=LAST, gold_calls=GOLD[1:])),
    tools=("airport_info",),
    target=Facts(required=FACTS),
)
"""A turn that was answered before, and two that the agent answers."""


def _said(text: str) -> ModelTurn:
    return ModelTurn(raw_text=text, text=text, usage=Usage(input_tokens=10, output_tokens=1))


def _called(code: str, call_id: str = "c1") -> ModelTurn:
    return ModelTurn(tool_calls=(ToolCall(id=call_id, name="airport_info", arguments={"code": code}),), stop="tool_calls")


ASK = ModelTurn(tool_calls=(ToolCall(id="q", name="ask_human", arguments={"question": "Which one?"}),), stop="tool_calls")


def _agent(model: Model, *, human: bool = False, saver: Any = None, **rules: Any) -> Agent:
    return talm_agent(model, human="terminal" if human else "none", saver=saver, rules=rules, control=find_task("talm").control)


async def _play(model: Model, scenario: Scenario = LONG, **rules: Any) -> Episode:
    result = await run_episode(_agent(model, **rules), scenario)
    assert isinstance(result, Episode)
    return result


async def test_a_tool_that_a_later_turn_adds_is_shown_from_then_on_and_runs_before_if_it_is_called_by_name() -> None:
    class Shown(Script):
        shown: list[list[str]]

        async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
            if settings.choices:
                assert "airport_info" in messages[-1].text, "the awareness questions come before the last turn, with its tools"
            else:
                self.shown.append([tool.name for tool in tools])
            return await super().generate(messages, tools, settings)

    model = Shown(_called("HAN"), _said("16 m."), _said("25 m."))
    model.shown = []
    first, second, third = LONG.turns
    later = LONG.model_copy(update={"turns": (first, second, third.model_copy(update={"tools_added": ("airport_info",)}))})
    episode = await _play(model, later)
    assert model.shown == [[], [], ["airport_info"]]
    assert [event.ok for event in episode.tool_events] == [True]
    assert Scenario.model_validate_json(later.model_dump_json()) == later and "tools_added" not in LONG.model_dump_json()


async def test_the_steps_of_each_turn_are_limited_apart() -> None:
    model = Script(_called("HAN", "a"), _called("HAN", "b"), _said("16 m."), _called("LHR", "c"), _called("LHR", "d"), _called("LHR", "e"))
    episode = await _play(model, steps=3)
    assert (episode.termination, [turn.user_turn for turn in episode.model_turns]) == (Termination.TURN_LIMIT, [0, 0, 0, 1, 1, 1])


async def test_a_turn_that_was_answered_in_between_is_told_with_the_next_one() -> None:
    between = LONG.model_copy(update={"turns": (LONG.turns[1], Turn(messages=BEFORE), LONG.turns[2])})
    model = Script(_said("16 m."), _said("25 m."))
    episode = await _play(model, between)
    assert as_dicts(model.seen[1][1:]) == [*FIRST, {"role": "assistant", "content": "16 m."}, *BEFORE, *LAST]
    assert episode.model_turns[1].raw_prompt.startswith("[system] Speak of metres.\n\n[human] How high is VIE?\n\n[ai] Let me look.")


async def test_awareness_is_asked_before_the_last_turn_over_the_conversation_so_far() -> None:
    model = Script(_called("HAN"), _said("16 m."), _said("25 m."))
    episode = await _play(model)
    assert [question.partition(" ")[0] for question in model.asked] == ["2"] * len(GROUPS["perfect"].asked)
    result = episode.tool_events[0].result
    called = ({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "airport_info", "arguments": {"code": "HAN"}}]},)
    told = as_text([*BEFORE, *FIRST, *called, {"role": "tool", "content": result}, {"role": "assistant", "content": "16 m."}, *LAST])
    assert all(f"Request: {told}\n\nTools:" in answer.question for answer in episode.awareness)
    assert told.splitlines()[-2:] == ["System: Be brief.", "User: And LHR?"]


async def test_the_question_about_a_single_request_is_worded_as_ever() -> None:
    """Recordings are found by it, to the letter."""
    scenario = LONG.model_copy(update={"turns": (Turn(messages=FIRST),)})
    model = Script(_said("16 m."))
    await _play(model, scenario)
    wanted = load_prompts().awareness_question(GROUPS["perfect"].asked[0], "And HAN?", [Client().specs["airport_info"]])
    assert model.asked[0] == f"0 {wanted}"
    assert model.seen == [[SystemMessage(OURS), HumanMessage("And HAN?")]]


async def test_a_no_skips_the_last_turn_alone() -> None:
    episode = await _play(Script(_said("16 m."), awareness="No."))
    assert (episode.termination, episode.answer, len(episode.model_turns)) == (Termination.SKIPPED, "", 1)
    assert episode.awareness[0].value is AwarenessValue.NO


@pytest.mark.parametrize(
    ("rules", "end"), [({"turn_limit": 1}, Termination.TURN_LIMIT), ({"token_limit": 5}, Termination.TOKEN_LIMIT), ({"turn_limit": 2}, None)]
)
async def test_limits_count_over_the_episode(rules: dict[str, Any], end: Termination | None) -> None:
    episode = await _play(Script(_said("16 m."), _said("25 m.")), **rules)
    assert (episode.termination, episode.answer) == ((end, "") if end else (Termination.ANSWERED, "25 m."))


async def test_an_episode_that_waits_in_its_last_turn_goes_on_in_another_process(tmp_path: Path) -> None:
    async with durable_saver(tmp_path / "c.db") as saver:
        waiting = await run_episode(_agent(Script(_said("16 m."), ASK), human=True, saver=saver), LONG)
    assert isinstance(waiting, Waiting)
    kept = json.loads(json.dumps(waiting.state))
    model = Script(_said("25 m."))
    async with durable_saver(tmp_path / "c.db") as saver:
        replies = {waiting.questions[0].interrupt_id: HumanReply("Heathrow.", "terminal")}
        episode = await run_episode(_agent(model, human=True, saver=saver), LONG, resume=replies, state=kept)
    assert isinstance(episode, Episode)
    assert (episode.termination, episode.answer) == (Termination.ANSWERED, "25 m.")
    assert as_dicts(model.seen[0])[-5:-2] == [{"role": "assistant", "content": "16 m."}, *LAST]
    assert model.asked == []
    assert [turn.user_turn for turn in episode.model_turns] == [0, 1, 1]


# --- on the wire --------------------------------------------------------------------------------------------------------------------------

ANSWERS = ("16 m.", *["Yes."] * len(GROUPS["perfect"].asked), "25 m.")


async def test_it_reaches_a_server_of_the_anthropic_protocol_whole() -> None:
    answers = [anthropic_answer({"type": "text", "text": text}) for text in ANSWERS]
    with loopback(*answers) as server:
        environ = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.url}
        model = open_anthropic(ModelRequest("anthropic/m", "m", environ=environ))
        async with aclosing(model):
            await _play(model)
    sent = [seen.body for seen in server.seen if "tools" in seen.body]
    assert [body["system"] for body in sent] == [f"{OURS}\n\nSpeak of metres."] * 2
    history = [
        {"role": "user", "content": [_block("How high is VIE?")]},
        {
            "role": "assistant",
            "content": [_block("Let me look."), {"type": "tool_use", "id": "h1", "name": "airport_info", "input": {"code": "VIE"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "h1", "content": '{"m": 183}'}]},
        {"role": "assistant", "content": [_block("183 m.")]},
        {"role": "user", "content": [_block("And HAN?")]},
    ]
    more = [{"role": "assistant", "content": [_block("16 m.")]}, {"role": "user", "content": [_block("Be brief."), _block("And LHR?")]}]
    assert [body["messages"] for body in sent] == [history, [*history, *more]]


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# --- controls and judges ------------------------------------------------------------------------------------------------------------------


async def test_the_oracle_makes_the_gold_calls_of_each_turn_in_it_and_answers_it() -> None:
    episode = await _play(SimModel("oracle"))
    calls = [(turn.user_turn, [call.arguments["code"] for call in turn.tool_calls], turn.text) for turn in episode.model_turns]
    han, lhr = (f"path {code}: http://tools.invalid/t/{code}" for code in ("HAN", "LHR"))
    assert calls == [(0, ["HAN"], ""), (0, [], han), (1, ["LHR"], ""), (1, [], f"{han}\n{lhr}")]
    assert ReferenceJudge.judge(ReferenceJudge.__new__(ReferenceJudge), episode, LONG)[0] is True


async def test_facts_are_judged_on_the_last_answer_and_gold_calls_over_all_turns() -> None:
    judge = ReferenceJudge.__new__(ReferenceJudge)
    said = " ".join(str(fact.value) for fact in FACTS)
    early = await _play(Script(_called("HAN"), _said(said), _called("LHR"), _said("As I said.")))
    value, why = judge.judge(early, LONG)
    assert value is False and "is not in the answer" in why
    undone = await _play(Script(_said("16 m."), _called("LHR"), _said(said)))
    assert judge.judge(undone, LONG) == (False, "gold call airport_info(code='HAN') was not made")
    done = await _play(Script(_called("HAN"), _said("16 m."), _called("LHR"), _said(said)))
    assert judge.judge(done, LONG)[0] is True


async def test_a_judges_model_is_shown_the_conversation_before_the_last_request() -> None:
    episode = await _play(Script(_said("16 m."), _said("25 m.")))
    before = as_text([*BEFORE, *FIRST, {"role": "assistant", "content": "16 m."}, LAST[0]])
    assert request_sections(LONG, episode) == [("Conversation before", before), ("Request", "And LHR?")]
    single = LONG.model_copy(update={"turns": (Turn(messages=FIRST),)})
    assert request_sections(single, episode) == [("Request", "And HAN?")]


async def test_calls_of_the_history_are_not_the_controls_own() -> None:
    taken = [{**one, "tool_calls": [{**CALLED, "id": "gold-0"}]} if "tool_calls" in one else one for one in BEFORE]
    taken = [{**one, "tool_call_id": "gold-0"} if one["role"] == "tool" else one for one in taken]
    scenario = LONG.model_copy(update={"turns": (Turn(messages=tuple(taken)), *LONG.turns[1:])})
    episode = await _play(SimModel("oracle"), scenario)
    assert [event.arguments["code"] for event in episode.tool_events] == ["HAN", "LHR"]
