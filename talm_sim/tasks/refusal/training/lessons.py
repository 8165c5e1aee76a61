"""The training rows of task `refusal`: the right calls where a tool fits, and a refusal where none does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from talm_sim.agent.shown_tools import tool_specs
from talm_sim.common.digests import derive_seed
from talm_sim.common.toml_files import packaged_toml
from talm_sim.config import RunConfig
from talm_sim.models.formats import CallToWrite
from talm_sim.reasoning import read_form
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.tasks.reasoning import instruct, thought_text
from talm_sim.tasks.refusal.call_checks.all_calls import check_calls
from talm_sim.tasks.refusal.call_checks.calls_judge import tools_of
from talm_sim.tasks.refusal.controls import right_calls
from talm_sim.tasks.refusal.prompts import prompt_writer
from talm_sim.tasks.refusal.shown_tools import functions, tool_texts
from talm_sim.tasks.refusal.tool_wording import load_wording
from talm_sim.tasks.registry import job_of
from talm_sim.tools_env.trial_arguments import example_arguments
from talm_sim.training.lessons.damage import Damage, ValuePool, as_objects, damages
from talm_sim.training.lessons.lesson import Lessons
from talm_sim.training.lessons.outputs import Output, PlayedRun, outputs_to_examples, read_answer
from talm_sim.training.lessons.training_examples import Answer, Example, Kind, TrainingSet
from talm_sim.training.lessons.writing import RowWriter
from talm_sim.types import Behaviour, Calls, Episode, Row, Scenario, ToolCall

if TYPE_CHECKING:
    from talm_sim.models.base import TextModel

_CALL, _DECLINES = Behaviour.TOOL_CALL.value, Behaviour.CANNOT_ANSWER.value
_ANY = "any call is right here, so that none is known"
_Rejected = tuple[Answer, str, str]
"""A wrong answer, its class, and what is wrong with its call."""


class RefusalLessons(Lessons):
    """The right calls, and refusals."""

    reads_prompts = True

    def of_scenarios(self, scenarios: Sequence[Scenario], kind: Kind, *, seed: int, balance: str) -> TrainingSet:
        """Make an example of each scenario.

        In a preference set, a right call is preferred to a refusal, or to a call that is damaged in one place, each as likely; a refusal
        to a call of a tool that is shown.
        """
        made = TrainingSet(kind)
        pool = ValuePool(call for one in scenarios for call in as_objects(_right(one)))
        for one in scenarios:
            if (known := _known_answer(one, seed)) is None:
                made.leave_out(_ANY, one.id)
                continue
            wrong = None if kind == "sft" else _reject(one, known, pool, seed)
            if kind == "preference" and wrong is None:
                made.leave_out("no tool is shown that could be called wrongly", one.id)
                continue
            source = one.source.name or "scenarios"
            answer, action, fault = wrong or (None, "", "")
            example = Example(one.id, self._asked(one, known.thought), known.action, known.answer, source, answer, action, fault, known.thought)
            # A wrong call in front of which the right thought is differs from the right answer in the action alone.
            made.examples.append(replace(example, rejected_thought=known.thought))
        made.refuse_empty(f"{len(scenarios)} scenarios")
        made.shuffle(seed)
        return made

    def of_run(self, run: PlayedRun, kind: Kind, *, seed: int) -> TrainingSet:
        """Take a model's answers; what attempts a call where none fits is wrong, even if the attempt cannot be read."""

        def is_right(row: Row) -> bool | None:
            attempts = [row.values.get(name) for name in ("h_i", "relevance_intent")]
            return False if False in attempts else run.succeeded(row)

        return outputs_to_examples(run, kind, seed, read=_read, is_right=is_right, known=lambda scenario: _known_answer(scenario, seed))

    def _asked(self, scenario: Scenario, thought: str) -> Scenario:
        """Return a scenario as `run --reasoning` asks it for such a thought."""
        if not thought:
            return scenario
        kind = "form" if read_form(thought).fields else "free"
        return instruct(scenario, _thought_text(kind, self.prompts))

    def writer(self, model: TextModel | None, template: str) -> RowWriter:
        """Write the messages that the task sends, through the model's chat template."""
        found = prompt_writer(model, template, load_wording(self.prompts))
        return RowWriter(found.name, dict(found.wording), found.prompt, found.calls)


def _known_answer(scenario: Scenario, seed: int) -> Output | None:
    """Return the right calls of a scenario, or a refusal drawn by seed; None if any call is right."""
    assert isinstance(scenario.target, Calls)
    if scenario.target.expected == "any":
        return None
    calls, thought = _right(scenario), scenario.target.thought
    if calls:
        return Output(calls, _CALL, thought)
    return Output(random.Random(derive_seed("refusal", seed, scenario.id)).choice(_refusals()), _DECLINES, thought)


@cache
def _thought_text(kind: str, prompts: Path | None) -> str:
    return thought_text(job_of(RunConfig(task="refusal", prompts=prompts, options={"reasoning": kind})))


@cache
def _refusals() -> tuple[str, ...]:
    return tuple(packaged_toml("talm_sim.tasks.refusal.training", "refusals.toml")["refusals"]["texts"])


def _right(scenario: Scenario) -> tuple[CallToWrite, ...]:
    assert isinstance(scenario.target, Calls)
    return tuple(right_calls(scenario, scenario.target))


def _reject(scenario: Scenario, known: Output, pool: ValuePool, seed: int) -> _Rejected | None:
    """Return a wrong answer; None if there is none."""
    rng = random.Random(derive_seed("rejected", seed, scenario.id))
    if isinstance(known.answer, str):
        call = _needless_call(scenario, rng)
        return None if call is None else ((call,), _CALL, "")
    if (damage := _damage(scenario, known.answer, pool, rng)) is None or rng.random() < 0.5:
        return rng.choice(_refusals()), _DECLINES, ""
    return damage.answer, _CALL, damage.kind.value


def _damage(scenario: Scenario, calls: Sequence[CallToWrite], pool: ValuePool, rng: random.Random) -> Damage | None:
    """Return the calls with one wrong place; what the scenario accepts is not wrong."""
    assert isinstance(scenario.target, Calls)
    if scenario.target.syntax != "python":
        return None
    specs = {spec["name"]: spec for spec in map(spec_of, scenario.shown_tools)}
    tools = tools_of(scenario)
    for one in damages(as_objects(calls), specs, scenario.query, pool, rng):
        found = [ToolCall(id=str(number), name=call["name"], arguments=call["arguments"]) for number, call in enumerate(one.calls)]
        if not check_calls(found, scenario.target, tools).outcome:
            return one
    return None


def _needless_call(scenario: Scenario, rng: random.Random) -> CallToWrite | None:
    """Return a call of one of the shown tools with arguments that fit it."""
    if not (shown := list(zip(functions(tool_texts(scenario)), tool_specs(tool_texts(scenario)), strict=True))):
        return None
    function, spec = rng.choice(shown)
    return CallToWrite(function["name"], example_arguments(spec).arguments)


def _read(episode: Episode, scenario: Scenario, row: Row) -> Output | None:
    called = row.labels.get("found", "")
    found = read_answer(episode, scenario.shown_tools, _DECLINES)
    if found is None or not isinstance(found.answer, str):
        return found and Output(found.answer, _CALL, found.thought)
    # Words where a call is due may decline, ask or answer: nobody has judged which.
    action = _CALL if called == "malformed" else _DECLINES if row.labels["gold"] == "none" else "answer"
    return Output(found.answer, action, found.thought)
