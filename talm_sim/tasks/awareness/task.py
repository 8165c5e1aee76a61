"""The class of task `awareness`: what its runs load, ask, count and show."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from talm_sim.config import GEN, option
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.dialogue import ATTEMPT, as_text, dialogue, part_of
from talm_sim.scenarios.load import select
from talm_sim.tasks.awareness import chances, measures, page
from talm_sim.tasks.awareness.data import COMPLETE, MANIPULATED, choose, gold_of, read_instance
from talm_sim.tasks.awareness.decision import read_decision
from talm_sim.tasks.awareness.outcomes import OUTCOMES
from talm_sim.tasks.awareness.protocols import IMPLICIT, LABEL_FIRST, LABEL_TOKENS, AskingStyle, Probability, Protocol
from talm_sim.tasks.base import Job, RunView
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.judged_by_people import Material, PersonQuestion, PublishedAgreement
from talm_sim.tasks.options import TaskOptions
from talm_sim.tasks.single_step_task import Request, SingleStepTask
from talm_sim.types import Episode, Row, Scenario, Summary, YesNo

if TYPE_CHECKING:
    from pathlib import Path

    from talm_sim.models.base import Model
    from talm_sim.tasks.judged_by_people import PersonQuestion
    from talm_sim.tasks.open_job import Recorded
    from talm_sim.types import ModelTurn


def _instance(episode: Episode, scenario: Scenario) -> Material | None:
    if not isinstance(scenario.target, YesNo):
        return None
    attempt = part_of(scenario, ATTEMPT)
    return [
        ("APIs", "\n".join(scenario.shown_tools) or "(none)"),
        ("Conversation", as_text(dialogue(scenario))),
        *([("The call made before", as_text(attempt))] if attempt else []),
    ]


def _explanation(episode: Episode, scenario: Scenario) -> Material | None:
    """Return what the judge of explanations is shown; as for it, there is something to judge only where No is right and was said."""
    if not isinstance(scenario.target, YesNo) or scenario.target.gold != "no" or not episode.termination.completed:
        return None
    decision = read_decision(episode.answer)
    if decision.said != "no" or not decision.explanation:
        return None
    return [*(_instance(episode, scenario) or ()), ("The assistant's explanation", decision.explanation)]


def _answers(row: Row) -> Mapping[str, str]:
    return {name: row.labels[label] for name, label in (("what is right", "gold"), ("the model", "said")) if label in row.labels}


def _judged(row: Row) -> str:
    """Return what the judge said of the explanation: each is of a right No, so whether it was right is the same for all."""
    value = row.values.get("explanation")
    return "not judged" if value is None else "correct" if value else "wrong"


INSTANCE = PersonQuestion(
    name="instance",
    asks="Can the request be served with these APIs now?",
    labels={"y": "yes", "n": "no"},
    about="said what is right",
    show=_instance,
    value=lambda label, scenario: label == gold_of(scenario),
    judges=(),
    beside=_answers,
    outcome=lambda row: row.labels.get("gold", ""),
    published=(PublishedAgreement("incomplete-conditions", "3", ("Human",), "Overall Acc"),),
    needs_episode=False,
)
EXPLANATION = PersonQuestion(
    name="explanation",
    asks="Is the reason the assistant gave right?",
    labels={"c": "correct", "w": "wrong"},
    about="a right No has the right reason",
    show=_explanation,
    value=lambda label, scenario: label == "correct",
    judges=("explanation",),
    said={True: "correct", False: "wrong"},
    outcome=_judged,
    published=(PublishedAgreement("incomplete-conditions", "people", ("GPT-4",), "Agree"),),
    not_asked="none of its answers is a right No with an explanation; make a run with --protocol explanation",
)


log = logging.getLogger(__name__)
_TOLD = 5
"""Of the study's rows that cannot be used, so many are named one by one."""


class AwarenessOptions(TaskOptions):
    """Options of task `awareness`."""

    protocol: Protocol = option(
        "zero-shot", GEN, "zero-shot, few-shot, cot, explanation, implicit, implicit-native, completion or feedback.", metavar="NAME"
    )
    """How the model is asked; see `protocols`."""
    probability: Probability = option("first-tokens", GEN, "P(Yes) from: first-tokens or scores (local models).", metavar="HOW")
    """Yes against No among the answer's likeliest first tokens, or how likely the two words are as the answer."""


class AwarenessTask(SingleStepTask[AwarenessOptions]):
    """Yes or No: can the request be served with these tools now?"""

    name = "awareness"
    target = "servable"
    about = "Can the request be served with these APIs now, Yes or No: does the model know when it cannot?"
    options = AwarenessOptions
    defaults: ClassVar = {"temperature": 0.0, "max_new_tokens": 512}
    splits: ClassVar = {
        COMPLETE: (COMPLETE,),
        **{name: (COMPLETE, name) for name in MANIPULATED},
        "all": (COMPLETE, *MANIPULATED),
    }
    reads_dialogues = True
    success = ("accuracy",)
    further_measures = chances.MEASURES
    own_judges = ("explanation",)
    judge_classes: ClassVar = {"explanation": "talm_sim.tasks.awareness.explanation:ExplanationJudge"}
    data = files("talm_sim.tasks.awareness") / "scenarios"
    maker = "talm_sim.tasks.awareness.maker:ManipulationMaker"
    headline: ClassVar = {"F1 repl": "replaced.f1", "Acc repl": "replaced.accuracy", "F1 rem": "removed.f1", "Acc rem": "removed.accuracy"}
    named_by = ("protocol",)
    listed: ClassVar = {"gold": "Right", "said": "Said"}
    about_groups: ClassVar = {
        "complete": "the request can be served with the APIs that are shown",
        "replaced": "an API that it needs is replaced by another one",
        "removed": "an API that it needs is taken out",
    }
    outcomes = OUTCOMES
    rows = staticmethod(measures.rows)
    summarize = staticmethod(measures.summarize)
    figure = staticmethod(measures.figure)
    sections = staticmethod(page.sections)
    beside = staticmethod(page.beside)
    published_statistics = staticmethod(page.published_statistics)
    read_line = staticmethod(read_instance)

    def claim(self, line: Any, task: str) -> str:
        """Recognize rows of the study's own files, which say Yes or No to a conversation and its APIs."""
        from talm_sim.tasks.awareness.making.study import is_row

        if not is_row(line):
            return ""
        return f"is a row of the study on incomplete conditions; run it with --task {self.name} --scenarios study:FILE."

    def read(self, groups: Sequence[str], file: Path | None = None, limit: str | None = None) -> list[Scenario]:
        """Read scenarios, or of `study:PLACE` the rows of the study's own files; those that cannot be used are counted and named."""
        from talm_sim.tasks.awareness.making.study import load_study, study_place

        if (place := study_place(file)) is None:
            return super().read(groups, file, limit)
        loaded = load_study(place)
        if loaded.problems:
            for problem in loaded.problems[:_TOLD]:
                log.warning("%s", problem)
            rows = len(loaded.scenarios) + len(loaded.problems)
            log.warning("%s: %s of %s rows cannot be used and are left out", file, f"{len(loaded.problems):,}", f"{rows:,}")
        return select(loaded.scenarios, groups, limit, str(file), self.name)

    def load(self, job: Job[AwarenessOptions]) -> list[Scenario]:
        """Load the originals, then what was made of them; each with the additions of the protocol."""
        pool = self.read(job.groups, job.config.scenarios)
        if job.options.protocol == "feedback":
            from talm_sim.tasks.awareness.feedback import conditions

            return conditions(pool, job.config.seed, job.config.limit)
        _tell_unpaired(pool, job)
        if not (found := choose(pool, job.groups, job.config.limit)):
            raise PrerequisiteError(f"--limit {job.config.limit}: no scenario of split {job.config.split} is within it; choose another.")
        if job.options.protocol == "few-shot":
            from talm_sim.tasks.awareness.protocols import add_examples

            return add_examples(found, pool, _way_of(job), job.config.seed)
        return found

    def settle(self, job: Job[AwarenessOptions], recorded: Recorded) -> Job[AwarenessOptions]:
        """Settle the form of answers: free text unless a constrained form is asked for, even for weak models, as readability counts.

        An answer that begins with its label takes few tokens if the user gives no number, because each is stored with the likeliest others.
        """
        job = super().settle(job, recorded)
        job = job.having(tool_format="native") if job.config.tool_format == "auto" else job
        short = job.options.protocol in LABEL_FIRST and job.config.tool_format == "native" and job.config.max_new_tokens is None
        return job.having(max_new_tokens=LABEL_TOKENS) if short else job

    def request(self, scenario: Scenario, job: Job[AwarenessOptions]) -> Request:
        """Return the protocol's first request."""
        from talm_sim.tasks.awareness.protocols import first_request

        return first_request(_way_of(job), scenario)

    def then(self, scenario: Scenario, job: Job[AwarenessOptions], turns: Sequence[ModelTurn]) -> Request | None:
        """Return the protocol's next request."""
        from talm_sim.tasks.awareness.protocols import next_request

        return next_request(_way_of(job), scenario, turns)

    def wording(self, job: Job[AwarenessOptions]) -> Mapping[str, str]:
        """Return every text of the prompts."""
        from talm_sim.tasks.awareness.protocols import load_wording

        tables = load_wording(job.config.prompts)
        return {f"prompt {table}.{key}": text for table, texts in tables.items() for key, text in texts.items()}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[AwarenessOptions], recorded: Recorded) -> Iterator[Bound]:
        """Count one request, two for the implicit protocols, and one more if an answer cannot be read."""
        protocol = job.options.protocol
        least = 2 if protocol in IMPLICIT else 1
        most = least + (protocol != "completion")
        for one in super().bounds(scenarios, job, recorded):
            more = (most - 1) * (one.input_tokens + one.output_tokens)
            yield replace(one, least=least, most=most, input_tokens=one.input_tokens + more, output_tokens=most * one.output_tokens)

    def judges(self, job: Job[AwarenessOptions]) -> tuple[str, ...]:
        """Return the judge of explanations, if there are any and a model to judge them."""
        return ("explanation",) if job.options.protocol == "explanation" and job.config.judge_model else ()

    def person_questions(self, job: Job[AwarenessOptions]) -> Sequence[PersonQuestion]:
        """Ask the question of the task itself; of a run with explanations, first whether they are right."""
        return (EXPLANATION, INSTANCE) if job.options.protocol == "explanation" else (INSTANCE,)

    def control(self, name: str, scenario: Scenario) -> Model | None:
        """Answer Yes or No, as the control always does."""
        from talm_sim.tasks.awareness.controls import YesNoPolicy

        return YesNoPolicy(name, scenario.target) if isinstance(scenario.target, YesNo) else None

    def label(self, run: RunView) -> str:
        """Return the protocol."""
        return str(run.job.options.protocol)

    def notes(self, summaries: Sequence[Summary], run: RunView) -> Iterable[str]:
        """Say how the model was asked, where the probabilities are from, and what could not be read."""
        return page.notes(summaries, run)


def _tell_unpaired(pool: Sequence[Scenario], job: Job[AwarenessOptions]) -> None:
    """Say how many of the study's originals `choose` leaves out, as nothing of them is manipulated."""
    from talm_sim.tasks.awareness.making.study import study_place

    groups = [name for name in job.groups if name != COMPLETE]
    paired = {one.base for one in pool if one.group in groups}
    originals = [one.id for one in pool if one.group == COMPLETE]
    alone = len(originals) - len(paired.intersection(originals))
    if paired and alone and study_place(job.config.scenarios) is not None:
        what = f"{alone:,} of {len(originals):,} originals have no {' or '.join(groups)} instance and are left out"
        log.warning("%s: %s", job.config.scenarios, what)


def _way_of(job: Job[AwarenessOptions]) -> AskingStyle:
    from talm_sim.tasks.awareness.protocols import load_wording

    return AskingStyle(job.options.protocol, load_wording(job.config.prompts), job.options.probability)
