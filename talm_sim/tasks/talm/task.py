"""The class of task `talm`: what its runs load, ask, count and show."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from talm_sim.config import GEN, option
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.turns import fault_in_user_turns
from talm_sim.tasks.acting.acting_task import refusal_judges
from talm_sim.tasks.acting.person_faults import persona_note
from talm_sim.tasks.agent_task import AgentTask
from talm_sim.tasks.base import Job, RunView
from talm_sim.tasks.judged_by_people import PersonQuestion, PublishedAgreement, pass_question
from talm_sim.tasks.open_job import Recorded
from talm_sim.tasks.options import AgentTaskOptions, PairedOptions
from talm_sim.tasks.page_sections import missing_section, shorten
from talm_sim.tasks.paper.paper_rows import OTHER, Beside, compare_own
from talm_sim.tasks.row_figures import Figure, average_of, mean_of, ratio_of, within
from talm_sim.tasks.talm import groups, measures, rows
from talm_sim.tasks.talm.blockers import ask_f1_figure
from talm_sim.tasks.talm.groups import QUICK, draw_sample
from talm_sim.tasks.talm.guesses import find_guesses
from talm_sim.tasks.talm.outcomes import GUESSED, OUTCOMES, expected_outcomes
from talm_sim.tasks.talm.recovered import NOTHING_REMOVED, knowledge_notes
from talm_sim.tasks.talm.rows import PerfectPairs
from talm_sim.types import AwarenessKind, Episode, Line, Missing, Outcome, Row, Scenario, Section, Summary, ToolSpec

if TYPE_CHECKING:
    from talm_sim.scenarios.problems import Problem
    from talm_sim.tools_env.caller import ToolCaller


def page_sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    if scenario.missing:
        yield missing_section(*scenario.missing, more=_help_line)
    elif scenario.source.unchanged:
        yield Section(title="Missing", lines=((Line(text=f"{NOTHING_REMOVED}: it has all of {scenario.source.base}"),),))
    if episode.awareness:
        yield Section(title="Awareness", lines=tuple(_awareness(episode)))
    if episode.values is not None:
        given = [f"{name}: {shorten(json.dumps(value, ensure_ascii=False))}" for name, value in episode.values.items()] or ["none"]
        yield Section(title="Values", lines=tuple((Line(text=line),) for line in given))


def _help_line(missing: Missing) -> str:
    return f"a person would say: {shorten(missing.human_answer)}" if missing.human_answer else "no person could help"


def _awareness(episode: Episode) -> Iterator[tuple[Line, ...]]:
    for answer in episode.awareness:
        lacking = "information" if answer.kind is AwarenessKind.INFORMATION else "tools"
        asked, raw = f"Asked 'Do you have enough {lacking}?', it said: ", f"  “{answer.raw}”"
        yield Line(text=asked), Line(text=answer.value.value, style="strong"), Line(text=raw, style="faint")
        for number, text in enumerate(answer.unread, start=1):
            yield (Line(text=f"  try {number} could not be read: “{text}”", style="faint"),)
        if answer.question:
            yield (Line(text=f"  asked: {answer.question}", style="faint"),)


class TalmOptions(AgentTaskOptions, PairedOptions):
    """Options of task `talm`."""

    set: Literal["quick", "sample", "full"] | None = option(None, GEN, "Packaged queries: 72 (quick), 300 or all.", metavar="quick|sample|full")
    """Which perfect queries are played, each with all that is derived from it; `quick` if left out. See `talm_sim.tasks.talm.groups`."""


class TalmTask(AgentTask[TalmOptions]):
    """Agents over tools, with something missing."""

    name = "talm"
    target = "facts"
    about = "With under-specified queries or unavailable tools: does the agent notice, ask, still solve it?"
    options = TalmOptions
    splits = groups.SPLITS
    success = ("pass_rate",)
    further_measures = measures.FURTHER
    own_judges = ("reference", "llm", "preference", "published", "published-preference")
    data = files("talm_sim.tasks.talm") / "scenarios"
    published_queries = files("talm_sim.tasks.talm") / "published_queries.json"
    headline: ClassVar = {
        "PR perf": "perfect.pass_rate",
        "PR under": "underspecified.pass_rate",
        "PR unav": "unavailable.pass_rate",
        "PR none": "no-tools.pass_rate",
        "Aw under": "underspecified.awareness",
        "Aw unav": "unavailable.awareness",
    }
    named_by = ("human",)
    terms: ClassVar = {"standalone": "nobody can be asked", "Ask-and-Help": "the agent may ask a person"}
    gaps: ClassVar = {("perfect", lacking): "judgement gap" for lacking in ("underspecified", "replaceable", *groups.BEYOND)}
    about_groups = groups.ABOUT
    lacking = frozenset({"underspecified", "replaceable", "non-replaceable", *groups.BEYOND})
    outcomes = OUTCOMES
    listed: ClassVar = {"tools": "Calls", "questions": "Asked"}
    recorded_in = ""
    without_tools: ClassVar = frozenset(name for name, group in groups.GROUPS.items() if not group.has_tools)
    rows = staticmethod(rows.rows)
    summarize = staticmethod(measures.summarize)
    sections = staticmethod(page_sections)

    def expected(self, group: str, job: Job[TalmOptions]) -> Sequence[Outcome]:
        """Return the outcomes that an episode of a group may have."""
        return expected_outcomes(group, awareness_alone=job.options.stop_after is not None, faults=bool(job.options.perturb))

    def evidence(self, episode: Episode, scenario: Scenario, outcome: str, specs: Mapping[str, ToolSpec]) -> str:
        """Return the call that made something up, or what shows any other outcome."""
        guesses = find_guesses(episode, scenario, specs) if outcome == GUESSED.name else []
        if not guesses:
            return super().evidence(episode, scenario, outcome, specs)
        call = guesses[0]
        given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        return f"turn {call.turn + 1} calls {call.name}({given}), and nobody had said it"

    def figure(self, group: str, measure: str) -> Figure | None:
        """Return how Ask-F1, the shares beside it and the plain average of the halves of `unavailable` are computed; all else is a mean."""
        if measure == "ask_f1":
            return ask_f1_figure
        if measure in measures.BLOCKERS:
            _, part, whole, _ = measures.BLOCKERS[measure]
            return ratio_of(lambda row: (float(row.values.get(part) or 0), float(row.values.get(whole) or 0)) if row.scored else (0.0, 0.0))
        average, halves = groups.AVERAGED
        if group != average:
            return None
        return average_of(*(within(partial(_of_group, half), mean_of(measure)) for half in halves))

    def choose(self, job: Job[TalmOptions], every: list[Scenario]) -> list[Scenario]:
        """Choose the scenarios of a set, where they are the packaged ones."""
        chosen = job.options.set
        if job.config.scenarios is not None and chosen is not None:
            raise PrerequisiteError("--set: chooses among the packaged scenarios, and --scenarios names others; leave one of them out.")
        if job.config.scenarios is not None or chosen == "full":
            return every
        queries = draw_sample(one.id for one in self.read(("perfect",))) if chosen == "sample" else QUICK
        if not (found := [one for one in every if one.base in queries]):
            raise PrerequisiteError(f"set {chosen or 'quick'} has no scenario of group {' or '.join(job.groups)}; add --set full.")
        return found

    def searched(self, job: Job[TalmOptions]) -> str:
        """Name the set, and the one with all scenarios."""
        found, chosen = super().searched(job), job.options.set
        return found if job.config.scenarios or chosen == "full" else f"{found}, set {chosen or 'quick'} (--set full has all)"

    def selection(self, job: Job[TalmOptions]) -> tuple[str, ...]:
        """Name the set, too."""
        return (*super().selection(job), *(("--set", job.options.set) if job.options.set else ()))

    def read_line(self, line: Any, where: str, task: str) -> Scenario:
        """Read a scenario; refuse an unknown group, which would never be run, and a target of another type, which would never be judged."""
        scenario = super().read_line(line, where, task)
        if scenario.group not in self.splits["all"]:
            raise PrerequisiteError(f"{where}: group: there is no '{scenario.group}'.{did_you_mean(scenario.group, self.splits['all'])}")
        if isinstance(scenario.target, dict):
            kind = scenario.target["type"]
            raise PrerequisiteError(f"{where}: target: is of type '{kind}'; task {self.name} reads facts.{did_you_mean(kind, ['facts'])}")
        if fault := fault_in_user_turns(scenario.turns):
            raise PrerequisiteError(f"{where}: {fault}")
        return scenario

    def prove(self, scenarios: Sequence[Scenario], call: ToolCaller | None, *, packaged: bool) -> Sequence[Problem]:
        """Make the gold calls, and check what a metric relies on."""
        from talm_sim.tasks.talm.making.check import check_scenarios

        assert call is not None
        begin = call.start_episode if call.tools.keep_state else None
        return check_scenarios(scenarios, call.specs, call, packaged=packaged, begin=begin)

    def guessing_odds(self, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Mapping[str, int]:
        """Return how many values the descriptions of the tools list for each argument that the user left out."""
        from talm_sim.tasks.talm.making.giveaways import guessing_odds

        return guessing_odds(scenario, specs)

    def questions(self, group: str) -> tuple[AwarenessKind, ...]:
        """Return the questions that the paper asks each group (Fail-TaLMs, Section 4.2)."""
        found = groups.GROUPS.get(group)
        return found.asked if found else ()

    def categories(self, scenarios: Sequence[Scenario], job: Job[TalmOptions], recorded: Recorded) -> Mapping[str, frozenset[str]]:
        """Return the categories of the tools that are offered; without tools, those the paired `perfect` query needs."""
        if all(scenario.tools for scenario in scenarios):
            return super().categories(scenarios, job, recorded)
        paired: dict[str, tuple[str, ...]] = {}
        with contextlib.suppress(PrerequisiteError):  # a user's file may have none
            paired = {scenario.id: scenario.tools for scenario in self.read(("perfect",), job.config.scenarios)}
        offered = [one if one.tools else one.model_copy(update={"tools": paired.get(one.base_in_language, ())}) for one in scenarios]
        return super().categories(offered, job, recorded)

    def key(self, job: Job[TalmOptions]) -> Mapping[str, Any]:
        """Return the key without the task's name, as recordings of this task have no folder of their own, and without the set."""
        return {name: value for name, value in super().key(job).items() if name not in {"task", "set"}}

    def judges(self, job: Job[TalmOptions]) -> tuple[str, ...]:
        """Return the judges: the facts, the faults and refusals where there may be any; with a judge model also that, and one for no-tools."""
        masked = not {*groups.AVERAGED[1]}.isdisjoint(job.groups)
        found = ("reference", *(("fault",) if masked or job.options.perturb else ()), *refusal_judges(job.options))
        if job.config.judge_model is None:
            return found
        return (*found, "llm", *(["preference"] if "no-tools" in job.groups else []))

    def person_questions(self, job: Job[TalmOptions]) -> Sequence[PersonQuestion]:
        """Ask whether an episode passes, as the paper did to validate its judge (Fail-TaLMs, Appendix D)."""
        return (pass_question(published=(PublishedAgreement("fail-talms", "people", ("GPT-4o",), "Agree"),)),)

    def pair(self, run: RunView) -> Callable[[Episode, Scenario], Episode | None]:
        """Return the `perfect` episode of the same query, of this run or of the one named."""
        perfect: PerfectPairs[Episode] = PerfectPairs()
        for episode in (run.paired or run).episodes("perfect"):
            if episode.termination.completed:
                perfect.add(episode.scenario_id, episode.epoch, episode)
        return lambda episode, scenario: perfect.of(scenario.base_in_language, episode.epoch)

    def beside(self, run: RunView) -> Beside:
        """Return the paper's table without a person to ask, or with one, and say whether the queries are the paper's own."""
        from talm_sim.tasks.talm.published import RELEASE_URL

        addresses = [scenario.source.url for scenario in run.scenarios()]
        own = compare_own(f"{len(addresses):,} of its published queries") if set(addresses) == {RELEASE_URL} else OTHER
        alone = run.job.options.human == "none"
        heads = {name: head for name, head in measures.PRINTED.items() if name != ("interaction" if alone else "skip")}
        settings = {group: {"setting": name} for group, name in groups.PAPER.items()}
        table, about = ("1", "standalone") if alone else ("2", "Ask-and-Help")
        return Beside("fail-talms", table, heads, settings, ("GPT4o", "Llama 8B", "Claude-3.5-sonnet"), about, own)

    def notes(self, summaries: Sequence[Summary], run: RunView) -> Iterable[str]:
        """Say which judge the pass rates are from, what a simulated person knows, and what was no answer to an awareness question."""
        said_by: dict[str, list[str]] = {}
        real = [summary for summary in summaries if not summary.derived]
        for summary in real:
            if summary.facts["pass_judge"]:
                said_by.setdefault(summary.facts["pass_judge"], []).append(summary.group)
        known = run.measures()
        for judge, judged in said_by.items():
            where = f" of {', '.join(judged)}" if len(said_by) > 1 else ""
            about = known[judge].about if judge in known else _PUBLISHED.get(judge, "")
            yield f"passed{where} by judge {judge}{f' ({about})' if about else ''}"
        if run.job.options.human == "simulated":
            yield from knowledge_notes(run.scenarios())
        yield from persona_note(run.job.options.human, run.job.options.persona)
        if unparsed := sum(summary.facts["unparsed"] for summary in real):
            what = f"{unparsed:,} awareness answer{'' if unparsed == 1 else 's'}"
            yield f"{what} neither Yes, No nor I don't know; counted as not aware"


_PUBLISHED = {
    "published": "the grades that came with the outputs",
    "published-preference": "the win rates that came with the outputs",
}
"""Verdicts of the judges of imported runs."""


def _of_group(group: str, rows: Sequence[Row]) -> Sequence[Row]:
    return [row for row in rows if row.group == group]
