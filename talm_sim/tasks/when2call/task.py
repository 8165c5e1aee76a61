"""The class of task `when2call`: what its runs load, ask, count and show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from talm_sim.common.interrupts import interrupts_at_once
from talm_sim.config import GEN, option
from talm_sim.errors import PrerequisiteError
from talm_sim.models.registry import cannot_score, in_process
from talm_sim.scenarios.item_tools import tool_name
from talm_sim.scenarios.turns import fault_in_question
from talm_sim.tasks.base import Job, RunView
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.model_task import Asking, AskingTask
from talm_sim.tasks.page_sections import missing_section, shorten
from talm_sim.tasks.paper.paper_rows import OTHER, Beside, compare_own
from talm_sim.tasks.reasoning import NONE, ReasoningOptions, ask_for_thought, instruct_all, keyed, reasoning_label, reasoning_notes
from talm_sim.tasks.registry import read_line
from talm_sim.tasks.when2call import measures
from talm_sim.tasks.when2call.outcomes import OUTCOMES
from talm_sim.tasks.when2call.published import TASK, URL, LineKind, kind_of, rough_length, scenario_of, with_rows
from talm_sim.tasks.when2call.scored import Scored
from talm_sim.types import Choice, Episode, Line, Scenario, Section, Summary

if TYPE_CHECKING:
    from talm_sim.models.base import GenerationSettings, Model
    from talm_sim.tasks.judged_by_people import PersonQuestion
    from talm_sim.tasks.open_job import Recorded
    from talm_sim.tasks.templates import Template
    from talm_sim.types import ModelTurn

_SHOWN = 300
"""Characters of an option's text that are shown."""


def page_sections(episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Return the parts this task adds to the page, below the query."""
    if scenario.missing:
        yield missing_section(*scenario.missing)
    if isinstance(scenario.target, Choice):
        names = ", ".join(shorten(tool_name(tool)) for tool in scenario.shown_tools)
        shown = Line(text=names) if names else Line(text="(none)", style="faint")
        yield Section(title="Tools shown", lines=((shown,),))
        yield Section(title="Options", lines=tuple(_options(episode, scenario.target)))


def _options(episode: Episode, target: Choice) -> Iterator[tuple[Line, ...]]:
    """Write each option: whether it is right, whether it was chosen, its log-probability, also per byte; below it, its text."""
    scored = Scored.of(episode)
    scores = {score.behaviour: score for score in scored.option_scores}
    for one in target.options:
        chosen = one.behaviour is scored.chosen
        parts = [Line(text=f"{one.behaviour.value:<17}", style="strong" if chosen else "plain")]
        if (score := scores.get(one.behaviour)) is not None:
            parts.append(Line(text=f"{score.logprob:>10.2f}  {score.per_byte:>8.4f} per byte  {score.tokens:>4} tokens"))
        if one.behaviour is target.gold:
            parts.append(Line(text="  right", style="good"))
        if chosen:
            parts.append(Line(text="  chosen", style="strong"))
        yield tuple(parts)
        yield (Line(text=f"  {shorten(one.text, _SHOWN)}", style="faint"),)


def _read_item(line: Any, where: str, task: str) -> Scenario:
    """Read a line as a multiple-choice item: a scenario, or a row as published."""
    if kind_of(line) is LineKind.ROW:
        return scenario_of(line, where)
    scenario = read_line(line, where, task)
    if not isinstance(scenario.target, Choice):
        raise PrerequisiteError(f"{where}: target: is not a choice; a scenario of task {TASK} needs one, with options and the gold behaviour.")
    if scenario.group != scenario.target.gold:
        raise PrerequisiteError(f"{where}: group: is '{scenario.group}'; write the gold behaviour '{scenario.target.gold}'.")
    if fault := fault_in_question(scenario):
        raise PrerequisiteError(f"{where}: {fault}")
    return scenario


class When2CallOptions(ReasoningOptions):
    """Options of task `when2call`."""

    mode: Literal["logprob", "judge"] = option("logprob", GEN, "logprob: the likeliest given answer; judge: a free one.", metavar="MODE")
    choices: Literal["ours", "published"] = option("ours", GEN, "published: judge as the paper's code does.", metavar="WHOSE", rare=True)
    """Of mode judge. `published`: the judge model sees the first call alone, and the temperature is the provider's default."""


class When2CallTask(AskingTask[When2CallOptions]):
    """Four answers scored by log-probability, or a free one classified."""

    name = TASK
    target = "choice"
    about = "Direct answer, tool call, follow-up question, unable to answer: which does the model choose?"
    options = When2CallOptions
    splits: ClassVar = {
        "tool_call": ("tool_call",),
        "request_for_info": ("request_for_info",),
        "cannot_answer": ("cannot_answer",),
        "direct": ("direct",),
        "all": ("tool_call", "request_for_info", "cannot_answer", "direct"),
    }
    success = ("accuracy",)
    further_measures = ()
    own_judges = ("behaviour", "behaviour-llm", "behaviour-llm-first-call")
    judge_classes: ClassVar = {
        "behaviour": "talm_sim.judges.behaviour:BehaviourJudge",
        "behaviour-llm": "talm_sim.tasks.when2call.behaviour_llm:BehaviourLlmJudge",
        "behaviour-llm-first-call": "talm_sim.tasks.when2call.behaviour_llm:FirstCallJudge",
    }
    data = files("talm_sim.tasks.when2call") / "scenarios"
    hub_file = "test/when2call_test_mcq.jsonl"
    maker = "talm_sim.tasks.when2call.maker:ItemMaker"
    lessons = "talm_sim.tasks.when2call.training.lessons:ChoiceLessons"
    headline: ClassVar = {
        "F1": "all.macro_f1",
        "Acc": "all.accuracy",
        "Acc-norm": "all.accuracy_norm",
        "ToolHall": "all.tool_hallucination",
    }
    named_by = ("template", "reasoning")
    listed: ClassVar = {"gold": "Right", "chosen": "Chosen"}
    outcomes = OUTCOMES
    rows = staticmethod(measures.rows)
    summarize = staticmethod(measures.summarize)
    figure = staticmethod(measures.figure)
    sections = staticmethod(page_sections)
    read_line = staticmethod(_read_item)

    def line_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a line: a scenario, or a row as published."""
        return with_rows(super().line_schema())

    label = staticmethod(reasoning_label)

    def control(self, name: str, scenario: Scenario, *, reasoning: str = NONE) -> Model | None:
        """Return a policy that takes the option that shows the control's behaviour."""
        from talm_sim.tasks.when2call.controls import ChoicePolicy

        return ChoicePolicy(name, scenario, scenario.target, reasoning=reasoning) if isinstance(scenario.target, Choice) else None

    def for_traces(self, job: Job[When2CallOptions]) -> Job[When2CallOptions]:
        """Judge free answers: in a trace nobody scored the given ones."""
        return job.having(mode="judge")

    def claim(self, line: Any, task: str) -> str:
        """Claim the published test rows, and the training rows, which nothing can be measured on."""
        kind = kind_of(line)
        if kind in {LineKind.SFT, LineKind.PREFERENCE}:
            return f"contains {kind.value}, which cannot be used for measuring; give scenarios or When2Call's test rows."
        return f"contains {kind.value}; add --task {self.name} to run it." if kind is LineKind.ROW else ""

    def load(self, job: Job[When2CallOptions]) -> list[Scenario]:
        """Load the items, long prompts first, so that too little memory is noticed at once.

        Items that show the same tools are next to each other: their prompts begin alike, and a local model continues from there.
        """
        scenarios = super().load(job)
        longest: dict[tuple[str, ...], int] = {}
        for scenario in scenarios:
            longest[scenario.shown_tools] = max(rough_length(scenario), longest.get(scenario.shown_tools, 0))
        return sorted(scenarios, key=lambda one: (-longest[one.shown_tools], one.shown_tools, -rough_length(one)))

    def key(self, job: Job[When2CallOptions]) -> Mapping[str, Any]:
        """Return how the request is written; for a template file its text, or its name if it cannot be read, which opening the task reports."""
        from pathlib import Path

        from talm_sim.common.plain_files import LARGEST_SETTINGS, read_bytes
        from talm_sim.tasks.templates import list_templates

        name = job.options.template
        is_text = name not in list_templates() and Path(name).is_file()
        written = name
        if is_text:
            with suppress(OSError):
                written = read_bytes(Path(name), LARGEST_SETTINGS).decode(errors="replace")
        published = {"choices": "published"} if job.options.choices == "published" else {}
        asked = {"mode": job.options.mode, "template": written, "reasoning": job.options.reasoning}
        return keyed({"task": self.name, **asked, "human": False, "perturb": (), **published})

    def sampling(self, options: When2CallOptions) -> Mapping[str, Any]:
        """Sample as other tasks do; with the published choices, at the provider's default temperature."""
        return {**self.defaults, "temperature": None} if options.choices == "published" else self.defaults

    def bounds(self, scenarios: Sequence[Scenario], job: Job[When2CallOptions], recorded: Recorded) -> Iterator[Bound]:
        """Count one request; if given answers are scored, one with each of them, in this process as one, and nothing is written."""
        served = not in_process(job.config.model)
        for scenario, bound in zip(scenarios, super().bounds(instruct_all(scenarios, job), job, recorded), strict=True):
            scored = len(scenario.target.options) if job.options.mode == "logprob" and isinstance(scenario.target, Choice) else 0
            sent = scored if served else 1
            read = {"least": sent, "most": sent, "input_tokens": bound.input_tokens * scored, "output_tokens": sent if served else 0}
            yield replace(bound, **read) if scored else bound

    def judges(self, job: Job[When2CallOptions]) -> tuple[str, ...]:
        """Return no judges if the model chooses among given answers; otherwise the rules and, with a judge model, its verdict."""
        if job.options.mode == "logprob":
            return ()
        if job.config.judge_model is None:
            return ("behaviour",)
        return ("behaviour", "behaviour-llm-first-call" if job.options.choices == "published" else "behaviour-llm")

    def person_questions(self, job: Job[When2CallOptions]) -> Sequence[PersonQuestion]:
        """Ask which of the four behaviours an answer shows."""
        from talm_sim.tasks.when2call.behaviour_llm import BEHAVIOUR

        return (BEHAVIOUR,)

    def settle(self, job: Job[When2CallOptions], recorded: Recorded) -> Job[When2CallOptions]:
        """See that the model can score answers where it must; said before its provider asks for a key."""
        thinks = job.options.reasoning != NONE
        if job.options.mode == "logprob":
            if thinks:
                raise PrerequisiteError(
                    f"--reasoning {job.options.reasoning}: given answers are scored, and none is written; add --mode judge."
                )
            if job.options.choices == "published":
                raise PrerequisiteError("--choices published: concerns free answers; add --mode judge, or leave it out.")
            if cannot_score(job.config.model):
                raise _no_logprobs_error(job)
            if job.config.tool_format == "constrained":
                raise PrerequisiteError("--tool-format constrained: given answers are scored, and none is written; leave it out.")
            job = job.having(tool_format="native")  # also of a weak model
        if thinks:
            if job.config.tool_format == "constrained":
                raise PrerequisiteError("--tool-format constrained: leaves no place for thought; leave it or --reasoning out.")
            job = job.having(tool_format="native")
        return super().settle(job, recorded)

    def asking(self, job: Job[When2CallOptions], model: Model) -> Asking:
        """Score the given answers, or let the model answer, with the template that suits it."""
        from talm_sim.tasks.when2call.scored import score_graph

        scores = job.options.mode == "logprob"
        template = _template(job, model)
        asking = Asking(
            _ask(template),
            lambda scenario: _check(scenario, template, model if scores else None),
            wording={} if template is None else {f"template {template.name}": template.source},
            template="" if template is None else template.name,
            graph=score_graph(template) if scores and template else None,
        )
        return ask_for_thought(asking, job, model)

    def beside(self, run: RunView) -> Beside:
        """Return the paper's table of scored options, or that of free answers."""
        scored = run.job.options.mode == "logprob"
        columns = {"accuracy_norm": "Acc-Norm"} if scored else {"accuracy": "Acc"}
        columns |= {"macro_f1": "F1", "tool_hallucination": "Tool Hall"}
        models = ("Llama 3.1 70B Instruct", "Qwen 2.5 7B Instruct", "MNM8BWhen2Call-RPO") if scored else ("GPT-4o", "GPT-4o-Mini")
        table, about = ("3", "log-probability") if scored else ("4", "free answers")
        addresses = [scenario.source.url for scenario in run.scenarios()]
        own = compare_own(f"{len(addresses):,} of its published rows") if set(addresses) == {URL} else OTHER
        # The paper's two columns of BFCL are figures of task `refusal`.
        bfcl = {("refusal", "AST"): "BFCL AST Acc", ("refusal", "BFCL Irr"): "BFCL Irr Acc"}
        return Beside("when2call", table, columns, {measures.GROUP: {}}, models, about, own, bfcl)

    def notes(self, summaries: Sequence[Summary], run: RunView) -> Iterable[str]:
        """Say how the model was asked, what decided, and what was not an answer."""
        options = run.job.options
        shown = f"template: {options.template}" if options.template != "auto" else "messages and native tools, no template"
        yield shown
        if options.mode == "logprob" and options.template == "default" and _served_without_tokenizer(run.job):
            yield "the served model's own chat template is not known here; with -M tokenizer=DIR, --template auto takes it"
        for summary in summaries:
            judge = summary.facts["judge"]
            if options.mode == "logprob":
                yield "mode logprob: the likeliest given answer counts"
            elif judge is not None:
                rules = " (rules, no model; weak beside behaviour-llm)" if judge == "behaviour" else ""
                yield f"mode judge: free answers, classified by judge {judge}{rules}"
            if unparsed := summary.facts["unparsed"]:
                yield f"{unparsed:,} answer{'' if unparsed == 1 else 's'} could not be classified; counted as wrong"
            if summary.n and (tool := summary.measure("tool_hallucination")) is not None and not tool.n:
                yield "no row shows no tools (and has gold cannot_answer): there is no tool hallucination rate"
        yield from reasoning_notes(run.job)
        if options.choices == "published":
            given = run.job.config.temperature
            said = "the provider's default temperature" if given is None else f"temperature {given:g} as given, not the provider's default"
            yield f"choices published: a judge model sees the first call only; {said}"
        if options.mode == "judge":
            yield from measures.labels_of(run).notes


def _template(job: Job[When2CallOptions], model: Model) -> Template | None:
    """Return the template of a run; None if a chat model gets messages and native tools."""
    from talm_sim.models.base import ScenarioModel, ScoringModel, TextModel
    from talm_sim.tasks.templates import load_template

    name = job.options.template
    if isinstance(model, TextModel):
        return load_template(name, model)
    if isinstance(model, ScenarioModel) or (job.options.mode == "logprob" and isinstance(model, ScoringModel)):
        return load_template("default" if name == "auto" else name, None)
    if job.options.mode == "logprob":
        raise _no_logprobs_error(job)
    return None if name == "auto" else load_template(name, None)


def _served_without_tokenizer(job: Job[When2CallOptions]) -> bool:
    return not in_process(job.config.model) and "tokenizer" not in job.config.model_options


def _no_logprobs_error(job: Job[When2CallOptions]) -> PrerequisiteError:
    return PrerequisiteError(
        f"model '{job.config.model}': gives no log-probabilities of given answers; use a local one (talm-sim models get smollm2-135m, then "
        "--model hf/smollm2-135m), one behind vLLM (openai-api/SERVICE/MODEL), or add --mode judge."
    )


def _ask(template: Template | None) -> Any:
    """Let the model answer: the very prompt that is scored or, without a template, messages and native tools."""
    from langchain_core.messages import HumanMessage

    from talm_sim.agent.shown_tools import tool_specs
    from talm_sim.models.base import TextModel

    async def ask(model: Model, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn] = ()) -> ModelTurn | None:
        if turns:
            return None
        if template is None:
            turn = await model.generate([HumanMessage(scenario.query)], tool_specs(scenario.shown_tools), settings)
            return turn.model_copy(update={"raw_prompt": turn.raw_prompt or scenario.query})
        prompt = template.prompt(scenario.query, scenario.shown_tools)
        if isinstance(model, TextModel):
            turn = await model.complete(prompt, settings)
        else:
            turn = await model.generate([HumanMessage(prompt)], (), settings)
        return turn.model_copy(update={"raw_prompt": turn.raw_prompt or prompt})

    return ask


def _check(scenario: Scenario, template: Template | None, scorer: Model | None) -> None:
    """Check that an item can be written for the model and, if there is a `scorer`, scored by it."""
    from talm_sim.agent.shown_tools import tool_specs
    from talm_sim.models.base import TextModel
    from talm_sim.tasks.templates.chat_template import check_thought_ended

    with interrupts_at_once():
        if template is None:
            tool_specs(scenario.shown_tools)
            return
        prompt = template.prompt(scenario.query, scenario.shown_tools)
        if isinstance(scorer, TextModel):
            check_thought_ended(prompt, scorer)
        for one in scenario.target.options if scorer is not None and isinstance(scenario.target, Choice) else ():
            template.option(one)
