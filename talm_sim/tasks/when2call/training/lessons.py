"""The training rows of task `when2call`: written by the template that also writes what is scored, or as published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from talm_sim.scenarios.dialogue import dialogue
from talm_sim.tasks.when2call.training.sets import build_set, option_answer
from talm_sim.training.lessons.lesson import Lessons
from talm_sim.training.lessons.outputs import Output, PlayedRun, outputs_to_examples, read_answer
from talm_sim.training.lessons.training_examples import Answer, Example, Kind, TrainingSet
from talm_sim.training.lessons.writing import RowWriter
from talm_sim.types import Behaviour, Choice, Episode, JsonObject, Row, Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import TextModel

CHOSEN_REWARD, REJECTED_REWARD = 1.0, 0.0
"""Of every preference row, for reward-aware preference optimization (section 3.3.2)."""


def published_row(example: Example) -> JsonObject:
    """Write one example."""
    said = [{"role": message["role"], "content": message["content"]} for message in example.scenario.turns[0].messages]
    row: JsonObject = {"tools": list(example.scenario.shown_tools), "messages": said}
    if example.rejected is None:
        said.append(_message(example.chosen))
        return row
    row |= {"chosen_response": _message(example.chosen), "rejected_response": _message(example.rejected)}
    return row | {"chosen_reward": CHOSEN_REWARD, "rejected_reward": REJECTED_REWARD}


def _message(answer: Answer) -> dict[str, str]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    calls = [{"name": call.name, "arguments": call.arguments} for call in answer]
    return {"role": "assistant", "content": f"<TOOLCALL>{json.dumps(calls, ensure_ascii=False)}</TOOLCALL>"}


class ChoiceLessons(Lessons):
    """Right options, and wrong ones next to them (When2Call, section 3.3)."""

    balances = ("natural", "paper", "calls")
    published: ClassVar = {"when2call": published_row}

    def of_scenarios(self, scenarios: Sequence[Scenario], kind: Kind, *, seed: int, balance: str) -> TrainingSet:
        """See `build_set`."""
        return build_set(scenarios, kind, seed=seed, balance=balance)

    def of_run(self, run: PlayedRun, kind: Kind, *, seed: int) -> TrainingSet:
        """Take the options that the model chose, or its free answers as they were judged."""
        return outputs_to_examples(run, kind, seed, read=_read, is_right=run.succeeded, known=_known)

    def writer(self, model: TextModel | None, template: str) -> RowWriter:
        """Write the prompts and options that the task scores."""
        from talm_sim.tasks.templates import load_template

        name = "default" if template == "auto" and model is None else template
        found = load_template(name, model)
        return RowWriter(
            found.name,
            {f"template {found.name}": found.source},
            lambda scenario: found.conversation(dialogue(scenario), scenario.shown_tools),
            found.calls,
        )


def _read(episode: Episode, scenario: Scenario, row: Row) -> Output | None:
    chosen = row.labels["chosen"]
    if episode.model_turns:
        return read_answer(episode, scenario.shown_tools, chosen)
    return Output(option_answer(scenario, Behaviour(chosen)), chosen)


def _known(scenario: Scenario) -> Output | None:
    assert isinstance(scenario.target, Choice)
    gold = scenario.target.gold
    return Output(option_answer(scenario, gold), gold.value)
