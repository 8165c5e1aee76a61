"""The class of task `refusal`: what its runs load, ask, count and show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.reference import is_gold_call
from talm_sim.models.registry import cannot_score, in_process
from talm_sim.tasks.acting.gold_calls import EpisodeCalls, MadeCall
from talm_sim.tasks.base import Job
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.judged_by_people import PersonQuestion, pass_question
from talm_sim.tasks.model_task import Asking, AskingTask
from talm_sim.tasks.reasoning import NONE, ask_for_thought, instruct_all, keyed
from talm_sim.tasks.refusal import measures, outcomes, page
from talm_sim.tasks.refusal.bfcl import MULTI_TURN
from talm_sim.tasks.refusal.bfcl.rows import is_row
from talm_sim.tasks.refusal.bfcl.turn_rows import LACKS_FUNCTION, LACKS_VALUE, answered_turn
from talm_sim.tasks.refusal.call_checks.all_calls import find_tool
from talm_sim.tasks.refusal.call_checks.calls_judge import calls_of, tools_of
from talm_sim.tasks.refusal.call_checks.one_call import check_call
from talm_sim.tasks.refusal.data import load, read_case
from talm_sim.tasks.refusal.propensity import add_propensity, load_refusals, no_scores_error, refusals_for, wants_propensity
from talm_sim.tasks.refusal.shown_tools import functions
from talm_sim.tasks.refusal.tool_wording import RefusalOptions
from talm_sim.tasks.refusal.turns.play import STEPS, acts, has_acting_rows, open_turns, tool_traffic, turn_bounds
from talm_sim.tasks.refusal.turns.row_person import asking_key, settle_human
from talm_sim.types import Calls, Episode, Outcome, Scenario

if TYPE_CHECKING:
    from talm_sim.models.base import Model
    from talm_sim.tasks.acting.gold_calls import EpisodeCalls
    from talm_sim.tasks.open_job import Opened, Recorded
    from talm_sim.tasks.shared import Shared


def called(episode: Episode, scenario: Scenario) -> EpisodeCalls | None:
    """Return the right calls and those in the answer, as judge `calls` reads them; None if the scenario says nothing of calls.

    Where the model acts, these are the right calls of all turns and those that were executed. Elsewhere no call is executed, so none fails.
    Where no call is right, or any is, no tool is wanted.
    """
    if acts(scenario):
        events, gold = episode.tool_events, scenario.gold_calls
        made_here = [MadeCall(event.name, not event.ok, event.error != "unknown_tool") for event in events]
        return EpisodeCalls([one.name for one in gold], made_here, lambda wanted, place: is_gold_call(scenario, wanted, events[place]))
    if not isinstance(scenario.target, Calls):
        return None
    tools, syntax, accepted = tools_of(scenario), scenario.target.syntax, scenario.target.accepted
    made = calls_of(episode, tools, syntax)
    names = {one["name"] for one in functions(scenario.shown_tools)}

    def is_right(wanted: int, place: int) -> bool:
        right = accepted[wanted]
        return check_call(made[place], right, find_tool(right.name, tools), syntax).outcome

    return EpisodeCalls([one.name for one in accepted], [MadeCall(call.name, exists=call.name in names) for call in made], is_right)


_OWN_TOKENS = 256
_THOUGHT_TOKENS = 512


class RefusalTask(AskingTask[RefusalOptions]):
    """A call where a tool fits, none where none does."""

    name = "refusal"
    target = "calls"
    about = "Is a call refused when no tool fits, by intent and by format, and made when one does?"
    options = RefusalOptions
    defaults: ClassVar = {"temperature": 0.0, "max_new_tokens": 2048}
    splits: ClassVar = {
        "fitting": ("fitting",),
        "removed": ("removed",),
        "unrelated": ("unrelated",),
        "all": ("fitting", "removed", "unrelated"),
    }
    success = ("ast", "h_s", "relevance", "turns")
    own_judges = (measures.FORMAT, measures.INTENT, measures.BFCL, measures.TURNS, measures.MISSING)
    judge_classes: ClassVar = {
        measures.TURNS: "talm_sim.tasks.refusal.turns.turns_judge:BfclTurnsJudge",
        measures.MISSING: "talm_sim.tasks.refusal.turns.missing_turn:MissingTurnJudge",
        measures.FORMAT: "talm_sim.tasks.refusal.call_checks.calls_judge:CallsJudge",
        measures.BFCL: "talm_sim.tasks.refusal.call_checks.calls_judge:BfclCallsJudge",
        "bfcl-official": "talm_sim.tasks.refusal.call_checks.official:BfclOfficialJudge",
        measures.INTENT: "talm_sim.tasks.refusal.intent:IntentJudge",
    }
    data = files("talm_sim.tasks.refusal") / "scenarios"
    maker = "talm_sim.tasks.refusal.maker:ThoughtMaker"
    lessons = "talm_sim.tasks.refusal.training.lessons:RefusalLessons"
    exporters: ClassVar = {"bfcl": "talm_sim.tasks.refusal.bfcl.export:export_bfcl"}
    # Of a run in several languages, the English part.
    headline: ClassVar = {
        "AST": ("all.ast_bfcl", "all.ast", "all, en.ast_bfcl", "all, en.ast", "fitting.ast"),
        "BFCL Irr": ("live_irrelevance.h_s_bfcl", "live_irrelevance.h_s", "live_irrelevance, en.h_s_bfcl", "live_irrelevance, en.h_s"),
        "H-I": ("all.h_i", "all, en.h_i"),
        "H-S": ("all.h_s_bfcl", "all.h_s", "all, en.h_s_bfcl", "all, en.h_s"),
    }
    named_by = ("template", "reasoning")
    about_groups: ClassVar = {
        "fitting": "one of the tools fits: its call is right",
        "removed": "the tool that would fit was taken out: no call is right",
        "unrelated": "only tools for other things are there: no call is right",
    }
    outcomes = outcomes.OUTCOMES
    listed: ClassVar = {"gold": "Right", "found": "Found", "missing": "Missing", "language": "Lang"}
    load = staticmethod(load)
    read_line = staticmethod(read_case)
    rows = staticmethod(measures.rows)
    summarize = staticmethod(measures.summarize)
    figure = staticmethod(measures.figure)
    sections = staticmethod(page.sections)
    label = staticmethod(page.label)
    notes = staticmethod(page.notes)
    beside = staticmethod(page.beside)

    def expected(self, group: str, job: Job[RefusalOptions]) -> Sequence[Outcome]:
        """Return the outcomes that are counted in a subset even if no row has one."""
        return outcomes.expected_outcomes(group)

    def claim(self, line: Any, task: str) -> str:
        """Claim the rows of BFCL and of its translations."""
        fix = "use one kind of line per file." if task == self.name else f"add --task {self.name} to run it."
        return f"contains a BFCL row; {fix}" if is_row(line) else ""

    def settle(self, job: Job[RefusalOptions], recorded: Recorded) -> Job[RefusalOptions]:
        """Settle the form of calls: free text or a provider's own, even for weak models, as readability is part of the result.

        Our own rows, none of which needs more than two short calls, take fewer tokens than BFCL's if the user gives no number.
        """
        if job.config.tool_format == "constrained":
            raise PrerequisiteError("--tool-format constrained: is for agents; task refusal describes tools with --template, so leave it out.")
        if job.options.propensity and cannot_score(job.config.model):
            raise no_scores_error(job.config.model)
        if job.options.propensity and job.options.reasoning != NONE:
            raise PrerequisiteError("--propensity: scores what follows the request at once, without thought; leave out --reasoning.")
        if job.options.propensity and has_acting_rows(job.options, alone=True):
            raise PrerequisiteError("--propensity: is for single requests; name a subset other than multi_turn_... with it.")
        if job.options.reasoning != NONE and has_acting_rows(job.options):
            raise PrerequisiteError("--reasoning: is for single requests; leave out the subsets multi_turn_... with it.")
        tools = tool_traffic(job, recorded) if has_acting_rows(job.options) else None
        job = (
            super()
            .settle(job, recorded)
            .having(tool_format="native" if job.config.constrained else job.config.tool_format, tools=tools, human=settle_human(job))
        )
        own = not job.options.subset and job.options.bfcl is None and job.config.scenarios is None
        tokens = _OWN_TOKENS if job.options.reasoning == NONE else _OWN_TOKENS + _THOUGHT_TOKENS
        return job.having(max_new_tokens=tokens) if own and job.config.max_new_tokens is None else job

    def key(self, job: Job[RefusalOptions]) -> Mapping[str, Any]:
        """Return the key as other tasks do; without reasoning, propensity and a person it is the key from before there were any."""
        asked = asking_key(keyed(super().key(job)), job.options.human)
        return {name: value for name, value in asked.items() if (name, value) != ("propensity", False)}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[RefusalOptions], recorded: Recorded) -> Iterator[Bound]:
        """Count what each row that is asked takes, and for each in which the model acts all that it may take."""
        for acting, some in groupby(scenarios, acts):
            yield from (turn_bounds if acting else self._asked_bounds)([*some], job, recorded)

    def _asked_bounds(self, scenarios: Sequence[Scenario], job: Job[RefusalOptions], recorded: Recorded) -> Iterator[Bound]:
        """Count one request, with what asks for thought; if no tool fits, also one for each text to score, in this process one for all."""
        listed = load_refusals(job.config.prompts) if job.options.propensity else {}
        served = not in_process(job.config.model)
        for scenario, bound in zip(scenarios, super().bounds(instruct_all(scenarios, job), job, recorded), strict=True):
            texts = 1 + len(refusals_for(scenario, listed)) if job.options.propensity and wants_propensity(scenario) else 0
            sent = texts if served else min(texts, 1)
            yield bound + Bound(sent, sent, bound.input_tokens * texts, sent if served else 0)

    def asking_turns(self, scenario: Scenario, job: Job[RefusalOptions]) -> int:
        """Return the steps of a row in which a person can be asked."""
        return STEPS * len(scenario.user_turns) if answered_turn(scenario) is not None else 0

    def for_control(self, job: Job[RefusalOptions]) -> Job[RefusalOptions]:
        """Change the job for a control: the row itself answers it, if the real model has anybody to ask."""
        asked = "none" if job.options.human == "none" else "recorded"
        return job.having(tools=None, human=asked, persona="none", ask_limit=None, ask_limit_run=None, answer_timeout=None)

    def judges(self, job: Job[RefusalOptions]) -> tuple[str, ...]:
        """Return the judges of calls, read and attempted, and as BFCL reads them if its reader is made for them; and of turns."""
        asked = (measures.FORMAT, measures.INTENT, *((measures.BFCL,) if self.calls_as(job) else ()))
        subsets = {*job.options.subset.split(",")}
        turns = (
            (measures.TURNS, *((measures.MISSING,) if subsets & {LACKS_FUNCTION, LACKS_VALUE} else ())) if has_acting_rows(job.options) else ()
        )
        return (*(() if subsets <= {*MULTI_TURN} else asked), *turns)

    def person_questions(self, job: Job[RefusalOptions]) -> Sequence[PersonQuestion]:
        """Ask whether an answer passes, in words that fit a task whose right answer may be no call."""
        return (pass_question("Is the answer right: a fitting call where a tool fits, and no call where none does?"),)

    def acts(self, scenario: Scenario | None) -> bool:
        """Return whether a scenario is a multi-turn row of BFCL: its functions are executed."""
        return scenario is not None and acts(scenario)

    @asynccontextmanager
    async def open(self, job: Job[RefusalOptions], shared: Shared) -> AsyncIterator[Opened[Job[Any]]]:
        """Open the model and, if rows act, the functions that are executed."""
        async with super().open(job, shared) as asked:
            if not has_acting_rows(job.options):
                yield asked
                return
            async with open_turns(job, shared, asked, self.control) as opened:
                yield opened

    def calls_as(self, job: Job[RefusalOptions]) -> str:
        """Return the syntax of calls: one template asks for Python's list syntax, as BFCL's prompt mode does."""
        return job.options.template if job.options.template == "pythonic" else ""

    def calls(self, episode: Episode, scenario: Scenario, job: Job[RefusalOptions]) -> EpisodeCalls | None:
        """Return the right calls, and those in the text of the answer."""
        return called(episode, scenario)

    def control(self, name: str, scenario: Scenario, *, pythonic: bool = False, reasoning: str = NONE) -> Model | None:
        """Return the control's policy, which calls or writes words as it always does; None if a scenario says nothing of calls."""
        if acts(scenario):
            from talm_sim.tasks.refusal.turns.controls import TurnsPolicy

            return TurnsPolicy(name, scenario)
        from talm_sim.tasks.refusal.controls import CallPolicy

        if not isinstance(scenario.target, Calls):
            return None
        return CallPolicy(name, scenario, scenario.target, pythonic=pythonic, reasoning=reasoning)

    def asking(self, job: Job[RefusalOptions], model: Model) -> Asking:
        """Ask by the template that suits the model."""
        from talm_sim.tasks.refusal.prompts import asking
        from talm_sim.tasks.refusal.tool_wording import load_wording

        found = asking(model, job.options.template, load_wording(job.config.prompts))
        if job.options.propensity:
            found = add_propensity(found, model, load_refusals(job.config.prompts))
        return ask_for_thought(replace(found, control={"pythonic": bool(self.calls_as(job))}), job, model)
