"""Faults of the model's answers, met by the built-in agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.tool import tool_call

from talm_sim.agent.faulty_model import ModelFaults
from talm_sim.errors import ProviderError
from talm_sim.models.base import GenerationSettings
from talm_sim.tools_env.perturbations import PERTURBATIONS, ModelRequestError, open_perturbations
from talm_sim.types import Episode, ModelTurn, PerturbationLog, Termination, ToolCall
from tests.agent.own.playing import Script
from tests.agent.test_episode import ANSWER, LOOK, PROMPTS, _episode
from tests.offered import bring_along

FINISH = ModelTurn(tool_calls=(ToolCall(id="f", name="Finish", arguments={"final_answer": "12 m"}),))
STRANGER = '''
from talm_sim import ModelCall, ModelPerturbation, ModelRequestError, register_perturbation
from talm_sim.types import ModelTurn

@register_perturbation
class Shouting(ModelPerturbation):
    """The model shouts."""

    name = "shouting"
    summary = "let the model shout"

    async def spoil(self, call: ModelCall, turn: ModelTurn) -> ModelTurn | None:
        return turn.model_copy(update={"text": turn.text.upper()}) if turn.text else None

@register_perturbation
class Busy(ModelPerturbation):
    """The model is busy."""

    name = "busy"
    summary = "let the model be busy"

    async def instead(self, call: ModelCall) -> ModelTurn | None:
        raise ModelRequestError("the model is overloaded", 529)
'''


def total(episode: Episode) -> dict[str, tuple[int, ...]]:
    return {log.name: (log.armed, log.fired, log.seen, log.not_applicable) for log in episode.perturbations}


async def test_a_failed_request_ends_as_data_with_the_fault_named() -> None:
    model = Script(LOOK, ANSWER)
    episode = await _episode(model, perturb=("model-500:call=2",))
    assert (episode.termination, episode.injected, episode.crashed) == (Termination.AGENT_ERROR, "model-500:call=2", False)
    assert episode.error == "injected fault model-500:call=2: the model answered HTTP 500: internal server error"
    assert episode.termination.completed  # it is scored
    assert len(episode.model_turns) == 1
    assert model.turns == [ANSWER]  # the model was not asked
    (log,) = episode.perturbations
    assert total(episode) == {"model-500:call=2": (2, 1, 1, 0)}
    assert log.injected == "the model answered HTTP 500: internal server error"
    assert Episode.model_validate_json(episode.model_dump_json()) == episode


async def test_an_error_of_the_provider_itself_is_no_injected_fault() -> None:
    episode = await _episode(Script(ProviderError("no route")), perturb=("model-500:call=2", "model-cut"))
    assert (episode.termination, episode.injected, episode.crashed) == (Termination.INFRASTRUCTURE_ERROR, "", False)
    assert total(episode) == {"model-500:call=2": (0, 0, 0, 0), "model-cut": (0, 0, 0, 0)}


@pytest.mark.parametrize(
    ("fault", "text"), [("model-empty", ""), ("model-refusal", "I'm sorry"), ("model-html", "<!DOCTYPE html>"), ("model-cut", "12")]
)
async def test_where_a_text_is_the_answer_it_is_the_injected_one(fault: str, text: str) -> None:
    episode = await _episode(Script(LOOK, ANSWER), perturb=(f"{fault}:after=1",))
    assert episode.termination is Termination.ANSWERED
    assert episode.answer.startswith(text)
    assert episode.answer != ANSWER.text
    assert total(episode) == {f"{fault}:after=1": (2, 1, 1, 0)}
    log = episode.model_turns[1].perturbations[0]
    assert log.injected == episode.answer
    assert log.replaced == (ANSWER.text if fault == "model-cut" else None)
    assert [one.fired for turn in episode.model_turns for one in turn.perturbations] == [0, 1]


async def test_where_only_a_call_answers_the_agent_is_reminded_and_goes_on() -> None:
    for fault in ("model-empty", "model-refusal", "model-html"):
        episode = await _episode(Script(LOOK, FINISH), perturb=(f"{fault}:call=1",), finish_tool=PROMPTS.finish_tool())
        assert [turn.reminded for turn in episode.model_turns] == [True, False, False]
        assert (episode.termination, episode.answer) == (Termination.ANSWERED, "12 m")


async def test_cut_calls_are_answered_as_the_models_mistakes() -> None:
    episode = await _episode(Script(LOOK, LOOK, ANSWER), perturb=("model-cut:call=1",))
    assert [event.error for event in episode.tool_events] == ["unparsable_arguments", ""]
    assert episode.model_turns[0].stop == "length"
    log = episode.model_turns[0].perturbations[0]
    assert (log.injected, log.replaced) == ('[call] airport_info({"code"', '[call] airport_info({"code": "HAN"})')
    assert episode.answer == "12 m"


async def test_the_previous_answer_comes_again_under_new_ids() -> None:
    episode = await _episode(Script(LOOK, ANSWER), perturb=("model-repeat:times=2",))
    assert total(episode) == {"model-repeat:times=2": (2, 1, 1, 1)}
    first, again = episode.tool_events
    assert (first.name, first.arguments) == (again.name, again.arguments)
    assert first.call_id != again.call_id
    assert [log.armed for turn in episode.model_turns for log in turn.perturbations] == [0, 1, 1]
    assert len({call.id for turn in episode.model_turns for call in turn.tool_calls}) == 2


async def test_faults_compose_and_one_that_is_wiped_out_was_not_seen() -> None:
    # The first answers; the second is then not armed. Where the answer is real, the later damage stands on the earlier.
    episode = await _episode(Script(ANSWER), perturb=("model-html", "model-empty"))
    assert total(episode) == {"model-html": (1, 1, 1, 0), "model-empty": (0, 0, 0, 0)}
    twice = await _episode(Script(ANSWER), perturb=("model-cut", "model-cut"))
    assert twice.answer == "1"
    assert [(log.replaced, log.injected, log.seen) for log in twice.model_turns[0].perturbations] == [("12 m", "12", 1), ("12", "1", 1)]
    nothing = await _episode(Script(ModelTurn()), perturb=("model-cut",))
    assert total(nothing) == {"model-cut": (0, 0, 0, 1)}


async def test_a_strangers_fault_is_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, STRANGER) as load:
        load()
        episode = await _episode(Script(LOOK, ANSWER), perturb=("shouting", "busy:call=3"))
        assert episode.answer == "12 M"
        assert total(episode) == {"shouting": (1, 1, 1, 1), "busy:call=3": (2, 0, 0, 0)}
        failed = await _episode(Script(), perturb=("busy",))
        assert (failed.error, failed.injected) == ("injected fault busy: the model is overloaded", "busy")


async def test_a_killed_process_is_counted_by_its_turns() -> None:
    faults = ModelFaults(open_perturbations(("model-repeat:call=3",), seed=0, episode="s@1"))
    faults.recall([LOOK, ANSWER])
    turn = await faults.generate(Script(), [HumanMessage("x")], (), GenerationSettings())
    assert turn.text == ANSWER.text


async def test_a_draw_knows_the_conversation_and_not_the_ids_of_calls() -> None:
    def said(name: str) -> list[Any]:
        return [HumanMessage("x"), AIMessage("", tool_calls=[tool_call(id=name, name="f", args={"a": 1})])]

    async def drawn(messages: list[Any], seed: int, times: int = 1) -> list[int]:
        faults = ModelFaults(open_perturbations(("model-empty:p=.5",), seed=seed, episode="s@1"))
        turns = [await faults.generate(Script(*[ANSWER] * times), messages, (), GenerationSettings()) for _ in range(times)]
        return [turn.perturbations[0].fired for turn in turns]

    for seed in range(20):
        assert await drawn(said("a"), seed) == await drawn(said("b"), seed)
    assert len({tuple(await drawn(said("a"), seed, 4)) for seed in range(20)}) > 5  # asked again, it is drawn again
    assert [await drawn(said("a"), seed) for seed in range(20)] != [await drawn([HumanMessage("y")], seed) for seed in range(20)]


async def test_an_error_keeps_what_the_others_did_in_its_generation() -> None:
    perturbations = open_perturbations(("model-repeat", "model-500"), seed=0, episode="s@1")
    faults = ModelFaults(perturbations)
    with pytest.raises(ModelRequestError) as caught:
        await faults.generate(Script(), [HumanMessage("x")], (), GenerationSettings())
    assert caught.value.fault == "model-500"
    state = faults.state()
    assert state["errors"] == {"1": str(caught.value)}
    assert [one.log(place) for place, one in enumerate(perturbations)] == [
        PerturbationLog(name="model-repeat", not_applicable=1),
        PerturbationLog(name="model-500", place=1, armed=1, fired=1, seen=1, injected=str(caught.value)),
    ]
    later = open_perturbations(("model-repeat", "model-500"), seed=0, episode="s@1")
    ModelFaults(later, state)
    assert later[1].log(1).injected == str(caught.value)
