from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from talm_sim.agent.checkpoints import durable_saver, memory_saver
from talm_sim.agent.episode import Agent, Waiting, run_episode
from talm_sim.agent.humans import HumanReply, RecordedResponder, question_digest
from talm_sim.agent.prompts import load_prompts
from talm_sim.errors import CassetteMissError, ContextOverflowError, ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.recordings import RecordedAnswer
from talm_sim.types import (
    Episode,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Termination,
    ToolCall,
    Usage,
)
from tests.agent.own.playing import SCENARIO, Script, talm_agent

PROMPTS = load_prompts()


def _calls(*calls: tuple[str, Mapping[str, object]]) -> ModelTurn:
    tool_calls = tuple(ToolCall(id=f"c{number}", name=name, arguments=dict(arguments)) for number, (name, arguments) in enumerate(calls))
    return ModelTurn(tool_calls=tool_calls, usage=Usage(input_tokens=100, output_tokens=10))


def _ask(*questions: str) -> ModelTurn:
    return _calls(*(("ask_human", {"question": question}) for question in questions))


ANSWER = ModelTurn(raw_text="12 m", text="12 m")
LOOK = _calls(("airport_info", {"code": "HAN"}))


def _agent(model: Script, *, turn_limit: int = 5, token_limit: int | None = None, **more: Any) -> Agent:
    rules = {"turn_limit": turn_limit, "token_limit": token_limit}
    return talm_agent(model, rules=rules, most_steps=2 * turn_limit + 5, **more)


async def _episode(model: Script, **options: Any) -> Episode:
    result = await run_episode(_agent(model, **options), SCENARIO)
    assert isinstance(result, Episode)
    return result


async def test_an_episode_keeps_everything_that_happened() -> None:
    episode = await _episode(Script(LOOK, ANSWER))
    assert (episode.termination, episode.answer) == (Termination.ANSWERED, "12 m")
    assert [answer.value for answer in episode.awareness] == ["yes"]
    assert [(event.name, event.ok, event.result) for event in episode.tool_events] == [
        ("airport_info", True, '{"path":"http://tools.invalid/t/HAN"}')
    ]
    assert episode.usage == Usage(input_tokens=110, output_tokens=11)
    assert "How high is the airport?" in episode.model_turns[0].raw_prompt
    assert Episode.model_validate_json(episode.model_dump_json()) == episode


async def test_a_no_skips_before_anything_is_done() -> None:
    model = Script(awareness="No, the airport is not named.")
    episode = await _episode(model)
    assert episode.termination is Termination.SKIPPED
    assert not model.seen


async def test_perfect_scenarios_are_asked_both_questions() -> None:
    model = Script(ANSWER)
    result = await run_episode(_agent(model), SCENARIO.model_copy(update={"group": "perfect", "missing": ()}))
    assert isinstance(result, Episode)
    assert [answer.kind for answer in result.awareness] == ["information", "tool"]


async def test_no_tools_is_asked_none() -> None:
    model = Script(ANSWER)
    result = await run_episode(_agent(model), SCENARIO.model_copy(update={"group": "no-tools", "tools": (), "missing": ()}))
    assert isinstance(result, Episode)
    assert result.awareness == ()
    assert model.offered == [()]


async def test_each_episode_draws_with_a_seed_of_its_own() -> None:
    seeds = set()
    for scenario_id, epoch in (("s", 1), ("s", 2), ("t", 1)):
        model = Script(ANSWER)
        scenario = SCENARIO.model_copy(update={"id": scenario_id})
        await run_episode(_agent(model, settings=GenerationSettings(seed=0)), scenario, epoch=epoch)
        seeds |= set(model.seeds)
    assert len(seeds) == 3


async def test_parallel_calls_are_answered_in_the_order_they_were_made() -> None:
    model = Script(_calls(("airport_info", {"code": "A"}), ("nothing", {}), ("airport_info", {"code": 3})), ANSWER)
    episode = await _episode(model)
    assert [(event.call_id, event.error) for event in episode.tool_events] == [("c0", ""), ("c1", "unknown_tool"), ("c2", "invalid_arguments")]
    assert [message.type for message in model.seen[1]] == ["system", "human", "ai", "tool", "tool", "tool"]


async def test_the_turn_limit_ends_a_loop() -> None:
    episode = await _episode(Script(*[LOOK] * 9), turn_limit=3)
    assert (episode.termination, len(episode.model_turns), len(episode.tool_events)) == (Termination.TURN_LIMIT, 3, 2)


async def test_the_token_limit_ends_a_loop() -> None:
    episode = await _episode(Script(*[LOOK] * 9), token_limit=200)
    assert (episode.termination, len(episode.model_turns)) == (Termination.TOKEN_LIMIT, 2)


@pytest.mark.parametrize(
    ("error", "termination"),
    [
        (CassetteMissError("not recorded"), Termination.REPLAY_MISS),
        (ContextOverflowError("too long"), Termination.CONTEXT_OVERFLOW),
        (ProviderError("gone"), Termination.INFRASTRUCTURE_ERROR),
    ],
)
async def test_a_foreseen_failure_ends_the_episode_and_keeps_what_came_before(error: Exception, termination: Termination) -> None:
    episode = await _episode(Script(LOOK, error))
    assert (episode.termination, episode.error) == (termination, str(error))
    assert len(episode.tool_events) == 1


async def test_a_bug_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        await _episode(Script(ZeroDivisionError()))


def _recorded(question: str) -> Callable[[Scenario, int], RecordedResponder]:
    answer = RecordedAnswer(ask=1, question_digest=question_digest(question), question=question, answer="It is HAN.", responder="simulated")
    return lambda scenario, epoch: RecordedResponder(scenario.id, [answer])


async def test_a_question_without_a_text_is_the_models_mistake() -> None:
    model = Script(_ask(" "), ANSWER)
    episode = await _episode(model, human="recorded", saver=memory_saver(), responder=_recorded("x"))
    assert episode.human_events == ()
    assert episode.tool_events[0].error == "unknown_tool"


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
async def test_a_number_that_no_checkpoint_keeps_is_refused_and_the_episode_can_wait(number: int, tmp_path: Path) -> None:
    model = Script(_calls(("airport_info", {"code": [number]}), ("ask_human", {"question": "A?"})), ANSWER)
    async with durable_saver(tmp_path / "c.db") as saver:
        agent = _agent(model, human="terminal", saver=saver)
        waiting = await run_episode(agent, SCENARIO)
        assert isinstance(waiting, Waiting)
        replies = {waiting.questions[0].interrupt_id: HumanReply("a", "terminal")}
        episode = await run_episode(agent, SCENARIO, resume=replies, state=waiting.state)
    assert isinstance(episode, Episode)
    (event,) = episode.tool_events
    assert event.error == "unparsable_arguments" and "more than 64 bits" in event.result and episode.answer


async def test_what_perturbations_did_is_known_after_a_kill_just_before_the_episode_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    async def killed(*_: Any) -> None:
        raise KilledError

    perturb = ("http-500",)
    async with durable_saver(tmp_path / "c.db") as saver:
        waiting = await run_episode(
            _agent(Script(_calls(("ask_human", {"question": "A?"}))), human="terminal", saver=saver, perturb=perturb), SCENARIO
        )
        assert isinstance(waiting, Waiting)
        replies = {waiting.questions[0].interrupt_id: HumanReply("Hanoi", "terminal")}
        with monkeypatch.context() as patched, pytest.raises(KilledError):
            patched.setattr(saver, "adelete_thread", killed)
            agent = _agent(Script(LOOK, ANSWER), human="terminal", saver=saver, perturb=perturb)
            await run_episode(agent, SCENARIO, resume=replies, state=waiting.state)
        again = _agent(Script(), human="terminal", saver=saver, perturb=perturb)
        episode = await run_episode(again, SCENARIO, resume=replies, state=waiting.state)
    assert isinstance(episode, Episode)
    assert len(episode.tool_events) == 1
    assert episode.perturbations == (PerturbationLog(name="http-500", armed=1, fired=1, seen=1),)


async def test_a_paused_episode_goes_on_in_another_process(tmp_path: Path) -> None:
    """Two questions, answered one after the other, each through a fresh connection; the tool is not called twice."""
    first = Script(_calls(("airport_info", {"code": "HAN"}), ("ask_human", {"question": "A?"}), ("ask_human", {"question": "B?"})))
    async with durable_saver(tmp_path / "c.db") as saver:
        waiting = await run_episode(_agent(first, human="terminal", saver=saver), SCENARIO)
    assert isinstance(waiting, Waiting)
    assert [(question.ask, question.question) for question in waiting.questions] == [(1, "A?"), (2, "B?")]
    assert len(waiting.events) <= 1
    kept = json.loads(json.dumps(waiting.state))
    async with durable_saver(tmp_path / "c.db") as saver:
        replies = {waiting.questions[1].interrupt_id: HumanReply("b", "terminal"), "stale": HumanReply("z", "terminal")}
        again = await run_episode(_agent(Script(), human="terminal", saver=saver), SCENARIO, resume=replies, state=kept)
    assert isinstance(again, Waiting)
    assert [(question.ask, question.question) for question in again.questions] == [(1, "A?")]
    async with durable_saver(tmp_path / "c.db") as saver:
        replies = {again.questions[0].interrupt_id: HumanReply("a", "terminal")}
        episode = await run_episode(_agent(Script(ANSWER), human="terminal", saver=saver), SCENARIO, resume=replies, state=again.state)
        assert isinstance(episode, Episode)
    assert [(event.question, event.answer) for event in episode.human_events] == [("A?", "a"), ("B?", "b")]
    assert len(episode.tool_events) == 1
    assert episode.termination is Termination.ANSWERED
