"""Turn a model's answers in a run into examples: right answers to learn from, wrong ones to reject."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from talm_sim.common.digests import canonical_json, derive_seed
from talm_sim.models.formats import CallToWrite, read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.training.lessons.damage import as_objects
from talm_sim.training.lessons.training_examples import Answer, Example, Kind, TrainingSet
from talm_sim.types import Episode, Row, Scenario


@dataclass(frozen=True, slots=True)
class Output:
    """An answer given in an episode."""

    answer: Answer
    action: str
    thought: str = ""

    @property
    def text(self) -> str:
        """The answer as text; equal answers have equal ones."""
        return self.answer if isinstance(self.answer, str) else canonical_json(as_objects(self.answer))


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """A run that is learned from.

    Attributes:
        episodes: Its finished episodes, in the order of the plan.
        succeeded: Says whether a row's episode succeeded; None if it is not scored.
        asked: Returns a scenario as the model was asked it: with the text that asks for thought, if there is one.
    """

    name: str
    scenarios: Iterable[Scenario]
    episodes: Iterable[Episode]
    rows: Iterable[Row]
    succeeded: Callable[[Row], bool | None]
    asked: Callable[[Scenario], Scenario] = lambda scenario: scenario


def outputs_to_examples(
    run: PlayedRun,
    kind: Kind,
    seed: int,
    *,
    read: Callable[[Episode, Scenario, Row], Output | None],
    is_right: Callable[[Row], bool | None],
    known: Callable[[Scenario], Output | None],
) -> TrainingSet:
    """Make examples from a run.

    An SFT example is a right answer. A preference example pairs a wrong answer with a right one to the same scenario, drawn from the run's
    other epochs; if there is none, with the right answer that the scenario itself has.
    """
    made = TrainingSet(kind)
    found = list(_read_all(run, made, read, is_right))
    total = len(found) + sum(map(len, made.left_out.values()))
    if kind == "sft":
        made.leave_out("the answer is wrong", *(one.id for one, _, right in found if not right))
        made.examples = [_example(one, scenario, output, run.name) for one, (scenario, output), right in found if right]
    else:
        made.examples = list(_pairs(found, made, seed, known, run.name))
    made.refuse_empty(f"{total:,} episodes")
    made.examples = [replace(one, scenario=run.asked(one.scenario)) for one in made.examples]
    made.shuffle(seed)
    return made


_Found = tuple[Episode, tuple[Scenario, Output], bool]


def _read_all(
    run: PlayedRun, made: TrainingSet, read: Callable[[Episode, Scenario, Row], Output | None], is_right: Callable[[Row], bool | None]
) -> Iterator[_Found]:
    """Yield what can be used, each answer to a scenario once; note the rest."""
    rows = {row.episode: row for row in run.rows}
    scenarios = {one.id: one for one in run.scenarios}
    seen: set[tuple[str, str]] = set()
    for episode in run.episodes:
        row, scenario = rows.get(episode.id), scenarios.get(episode.scenario_id)
        right = None if row is None else is_right(row)
        if row is None or scenario is None or right is None:
            made.leave_out(f"not scored: {(row.not_scored if row else '') or 'no verdict'}", episode.id)
        elif any(turn.stop == "length" for turn in episode.model_turns):
            made.leave_out("cut off at the token limit", episode.id)
        elif (output := read(episode, scenario, row)) is None:
            made.leave_out("without an answer that can be read", episode.id)
        elif (scenario.id, output.text) in seen:
            made.leave_out("the same answer as in another epoch", episode.id)
        else:
            seen.add((scenario.id, output.text))
            yield episode, (scenario, output), right


def _example(episode: Episode, scenario: Scenario, output: Output, source: str) -> Example:
    return Example(episode.id, scenario, output.action, output.answer, source, thought=output.thought)


def _pairs(found: Sequence[_Found], made: TrainingSet, seed: int, known: Callable[[Scenario], Output | None], source: str) -> Iterator[Example]:
    answered: dict[str, list[_Found]] = {}
    for one in found:
        answered.setdefault(one[1][0].id, []).append(one)
    for of in answered.values():
        scenario = of[0][1][0]
        right = [output for _, (_, output), good in of if good]
        wrong = [(episode, output) for episode, (_, output), good in of if not good]
        if not wrong:
            made.leave_out("no wrong answer to its scenario", *(episode.id for episode, _, _ in of))
            continue
        if not right and (own := known(scenario)) is not None:
            right = [own]
        if not right:
            made.leave_out("no right answer to its scenario is known", *(episode.id for episode, _ in wrong))
            continue
        rng = random.Random(derive_seed("paired", seed, scenario.id))
        for episode, output in wrong:
            pair = _example(episode, scenario, rng.choice(right), source)
            yield replace(pair, rejected=output.answer, rejected_action=output.action, rejected_thought=output.thought)


def read_answer(episode: Episode, tools: Sequence[str], action: str) -> Output | None:
    """Read an episode's free answer: its calls, to be written as the trained model would, or its words as they are."""
    if not episode.model_turns:
        return None
    turn = episode.model_turns[-1]
    said, thought = split_reasoning(turn.written or turn.text)
    calls = turn.tool_calls or read_calls(said, [spec_of(tool) for tool in tools]).calls
    answer: Answer = tuple(CallToWrite(call.name, call.arguments) for call in calls) or said.strip()
    thought = turn.reasoning or thought
    # A form has no tags: what is behind it is known.
    before = in_tags(thought) if turn.answered is None else f"{thought.strip()}\n\n"
    return Output(answer, action, before) if answer else None


def in_tags(thought: str) -> str:
    """Return a free thought as a model writes it before its answer; empty if there is none."""
    return f"<think>\n{thought.strip()}\n</think>\n\n" if thought.strip() else ""
