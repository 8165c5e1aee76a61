"""The tool `Finish`: what ends an episode where it is offered, who answers a turn without a call, and what is graded at a limit."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from talm_sim.agent.checkpoints import memory_saver
from talm_sim.agent.episode import run_episode
from talm_sim.agent.humans import SimulatedResponder
from talm_sim.agent.prompts import load_prompts
from talm_sim.judges.prompts import request_sections
from talm_sim.models.base import GenerationSettings
from talm_sim.types import (
    AwarenessValue,
    Episode,
    ModelTurn,
    Scenario,
    Termination,
    ToolCall,
    Turn,
    UnparsableCall,
    Usage,
)
from tests.agent.own.playing import SCENARIO, SPEC, Script, talm_agent

PROMPTS = load_prompts()


def said(text: str) -> ModelTurn:
    return ModelTurn(raw_text=text, text=text, usage=Usage(input_tokens=10, output_tokens=1))


def called(name: str, text: str = "", **arguments: Any) -> ModelTurn:
    return ModelTurn(text=text, tool_calls=(ToolCall(id="c", name=name, arguments=arguments),), usage=Usage(input_tokens=10, output_tokens=1))


LOOK = called("airport_info", code="HAN")
ANSWER = called("Finish", final_answer="12 m")


async def play(model: Script, scenario: Scenario = SCENARIO, *, human: bool = False, settings: Any = None, **rules: Any) -> Episode:
    agent = talm_agent(
        model,
        human="simulated" if human else "none",
        saver=memory_saver(),
        rules=rules,
        finish_tool=PROMPTS.finish_tool(),
        alone=frozenset({"no-tools"}),
        responder=(lambda scenario, epoch: SimulatedResponder(scenario, {"airport_info": SPEC})) if human else None,
        settings=settings or GenerationSettings(),
    )
    result = await run_episode(agent, scenario)
    assert isinstance(result, Episode)
    return result


async def test_calls_beside_the_answer_are_not_made() -> None:
    both = ModelTurn(tool_calls=(*LOOK.tool_calls, ToolCall(id="f", name="Finish", arguments={"final_answer": "12 m"})))
    episode = await play(Script(both))
    assert (episode.answer, episode.events) == ("12 m", ())


@pytest.mark.parametrize(("given", "answer"), [(12, "12"), ({"m": 12}, '{"m": 12}'), ("", "")])
async def test_an_answer_of_another_type_is_written_as_json(given: Any, answer: str) -> None:
    episode = await play(Script(called("Finish", final_answer=given)))
    assert (episode.termination, episode.answer) == (Termination.ANSWERED, answer)


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (called("Finish", answer="12 m"), "invalid_arguments"),
        (called("Finish", final_answer=None), "invalid_arguments"),
        (ModelTurn(unparsable_calls=(UnparsableCall(id="x", name="Finish", raw="{", reason="malformed JSON"),)), "unparsable_arguments"),
    ],
)
async def test_a_call_of_finish_without_an_answer_is_the_models_mistake(broken: ModelTurn, error: str) -> None:
    model = Script(broken, ANSWER)
    episode = await play(model)
    assert [(event.name, event.error, event.ok) for event in episode.tool_events] == [("Finish", error, False)]
    assert isinstance(model.seen[1][-1], ToolMessage) and '"error"' in model.seen[1][-1].text
    assert episode.answer == "12 m"


async def test_a_turn_without_a_call_is_reminded_and_costs_one_of_the_turns() -> None:
    model = Script(said("Let me look that up."), LOOK, said("It is 12 m."), said(""), ANSWER)
    episode = await play(model)
    assert [message.type for message in model.seen[1]] == ["system", "human", "ai", "human"]
    assert [message.text for message in model.seen[1][-2:]] == ["Let me look that up.", PROMPTS.reminder]
    assert [turn.reminded for turn in episode.model_turns] == [True, False, True, True, False]
    assert PROMPTS.reminder in episode.model_turns[1].raw_prompt
    assert (episode.termination, episode.answer, len(episode.model_turns)) == (Termination.ANSWERED, "12 m", 5)


@pytest.mark.parametrize(
    ("last", "end", "answer"),
    [
        (said("It is 12 m."), Termination.TURN_LIMIT, "It is 12 m."),
        (called("airport_info", "I look once more.", code="HAN"), Termination.TURN_LIMIT, ""),
        (called("Finish", "So:", final_answer="12 m"), Termination.ANSWERED, "12 m"),
    ],
)
async def test_at_the_last_turn_its_text_is_the_answer_unless_it_calls(last: ModelTurn, end: Termination, answer: str) -> None:
    episode = await play(Script(*[LOOK] * 4, last))
    assert (episode.termination, episode.answer, episode.answered) == (end, answer, bool(answer))
    assert len(episode.tool_events) == 4
    assert not episode.model_turns[-1].reminded


async def test_a_text_that_reaches_the_token_limit_is_the_answer_too() -> None:
    episode = await play(Script(said("Let me look."), said("It is 12 m.")), token_limit=31)
    assert (episode.termination, episode.answer) == (Termination.TOKEN_LIMIT, "It is 12 m.")


async def test_a_question_in_words_is_put_to_the_person() -> None:
    model = Script(said("Sure. Which airport do you mean?"), ANSWER)
    episode = await play(model, human=True)
    assert model.offered[0] == ("airport_info", "ask_human", "Finish")
    (asked,) = episode.human_events
    assert (asked.question, asked.answer, asked.by, asked.turn) == ("Which airport do you mean?", "It is HAN.", "words", 0)
    assert model.seen[1][-1] == HumanMessage("It is HAN.")
    assert not episode.model_turns[0].reminded


async def test_after_the_last_round_a_question_in_words_is_reminded() -> None:
    ask = said("Which airport do you mean?")
    episode = await play(Script(ask, ask, ask, ANSWER), human=True, rounds=2)
    assert [event.call_id for event in episode.human_events] == ["words-1", "words-2"]
    assert [turn.reminded for turn in episode.model_turns] == [False, False, True, False]


async def test_with_nobody_to_ask_a_question_in_words_is_reminded() -> None:
    model = Script(said("Which airport do you mean?"), ANSWER)
    episode = await play(model)
    assert model.seen[1][-1] == HumanMessage(PROMPTS.reminder)
    assert episode.human_events == ()


async def test_each_turn_of_the_users_is_answered_by_a_call() -> None:
    turns = tuple(Turn(messages=({"role": "user", "content": text},)) for text in ("How high is HAN?", "And LHR?"))
    scenario = SCENARIO.model_copy(update={"turns": turns})
    both = ModelTurn(tool_calls=(ToolCall(id="f", name="Finish", arguments={"final_answer": "16 m"}), *LOOK.tool_calls))
    model = Script(said("Well."), both, called("Finish", final_answer="25 m"))
    episode = await play(model, scenario)
    last = model.seen[-1]
    assert [message.type for message in last] == ["system", "human", "ai", "human", "ai", "tool", "tool", "human"]
    assert isinstance(last[4], AIMessage) and [message.tool_call_id for message in last[5:7] if isinstance(message, ToolMessage)] == ["f", "c"]
    assert last[-1] == HumanMessage("And LHR?")
    assert [turn.user_turn for turn in episode.model_turns] == [0, 0, 1]
    assert episode.model_turns[-1].raw_prompt == "[human] And LHR?"
    assert episode.answer == "25 m"
    assert request_sections(scenario, episode)[0] == ("Conversation before", "User: How high is HAN?\nAI: 16 m")


# --- awareness answers that cannot be read -------------------------------------------------------------------------------------------------


async def test_an_awareness_answer_that_cannot_be_read_is_asked_again_and_kept() -> None:
    model = Script(ANSWER, awareness=("Well...", "It depends.", "IDK, which one?"))
    episode = await play(model, retries=3, settings=GenerationSettings(seed=7))
    (answer,) = episode.awareness
    assert (answer.value, answer.raw, answer.unread) == (AwarenessValue.IDK, "IDK, which one?", ("Well...", "It depends."))
    assert answer.usage == Usage(input_tokens=30, output_tokens=3)
    assert len(set(model.seeds[:3])) == 3, "each try is drawn by a seed of its own"
    assert Episode.model_validate_json(episode.model_dump_json()) == episode


async def test_after_three_more_tries_the_answer_stays_unread() -> None:
    (answer,) = (await play(Script(ANSWER, awareness=["1.", "2.", "3.", "4.", "5."]), retries=3)).awareness
    assert (answer.value, answer.raw, answer.unread) == (AwarenessValue.UNPARSED, "4.", ("1.", "2.", "3."))


async def test_at_temperature_0_nothing_is_asked_again() -> None:
    settings = GenerationSettings(temperature=0.0)
    (answer,) = (await play(Script(ANSWER, awareness=["1.", "Yes."]), retries=3, settings=settings)).awareness
    assert (answer.value, answer.unread) == (AwarenessValue.UNPARSED, ())
