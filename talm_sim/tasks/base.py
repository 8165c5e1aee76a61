"""The base class of tasks, which says all that is special about what is measured; and what a task is handed: its job, and a run to read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel

from talm_sim.config import RunConfig, Scope, scope_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.control_names import CONTROLS
from talm_sim.tasks.acting.acting_task import ACTING, acting_key, episode_bounds, settle_acting
from talm_sim.tasks.acting.gold_calls import EpisodeCalls, agent_calls
from talm_sim.tasks.bounds import Bound, one_request_bounds
from talm_sim.tasks.open_job import Exported
from talm_sim.tasks.options import AgentOptions, TaskOptions
from talm_sim.tasks.paper.paper_rows import Beside
from talm_sim.tasks.row_figures import Figure
from talm_sim.types import AwarenessKind, Episode, Measured, Outcome, Row, Scenario, Section, Summary, ToolSpec, Verdict

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from talm_sim.judges.base import Judge
    from talm_sim.models.base import GenerationSettings, Model
    from talm_sim.scenarios.problems import Problem
    from talm_sim.scenarios.statistics import Statistics
    from talm_sim.tasks.judged_by_people import PersonQuestion
    from talm_sim.tasks.makers import Maker
    from talm_sim.tasks.open_job import Opened, Recorded
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.caller import ToolCaller
    from talm_sim.training.lessons.lesson import Lessons

OptionsT = TypeVar("OptionsT", bound=TaskOptions)


@dataclass(frozen=True, slots=True)
class Job(Generic[OptionsT]):
    """A job of a task: the shared options, the task, and its own options, checked."""

    config: RunConfig
    task: Task[OptionsT]
    options: OptionsT
    created: datetime = field(compare=False)
    """When the run was created: prompts that show a date show this one's, also when the run goes on on another day."""

    def made(self, created: datetime | None) -> Self:
        """Return the job of a run that was created at some time; None means now."""
        return replace(self, created=created or datetime.now(UTC))

    @property
    def groups(self) -> tuple[str, ...]:
        """Scenario groups of the split."""
        return self.task.groups(self.config.split)

    def settings(self) -> GenerationSettings:
        """Return how the model's turns are sampled; each episode derives a seed of its own."""
        from talm_sim.models.base import GenerationSettings  # not at the top: a table needs no model

        given = {name: getattr(self.config, name) for name in ("temperature", "max_new_tokens")}
        chosen = {name: self.task.sampling(self.options)[name] if value is None else value for name, value in given.items()}
        return GenerationSettings(seed=self.config.seed, **chosen)

    def having(self, **values: Any) -> Job[OptionsT]:
        """Return the job with other values; a name that is no shared option is the task's."""
        shared = {name: value for name, value in values.items() if name in RunConfig.model_fields}
        own = {name: value for name, value in values.items() if name not in shared}
        for name in own.keys() - type(self.options).model_fields.keys():
            raise TypeError(f"'{name}' is not an option of task {self.task.name}")
        options = self.options.model_copy(update=own)
        # What is stored says every option's value, given or not.
        config = self.config.model_copy(update={**shared, "options": options.model_dump(mode="json")})
        return replace(self, config=config, options=options)

    def values(self, *scopes: Scope) -> dict[str, Any]:
        """Return the JSON values of the shared options and of the task's own that are of one of `scopes`."""
        models: tuple[BaseModel, ...] = (self.config, self.options)
        dumped = {name: value for model in models for name, value in model.model_dump(mode="json", exclude={"options"}).items()}
        return {name: value for name, value in dumped.items() if self.scope_of(name) in scopes}

    def scope_of(self, name: str) -> Scope:
        """Return the scope of a shared option or of one of the task's own."""
        return scope_of(RunConfig if name in RunConfig.model_fields else type(self.options), name)


class RunView(Protocol):
    """A stored run. Every call reads again, so a run can be larger than memory."""

    @property
    def job(self) -> Job[Any]:
        """What was run, with the scoring options it was last judged with."""

    @property
    def imported(self) -> bool:
        """Whether the episodes are somebody else's published outputs."""

    @property
    def paired(self) -> RunView | None:
        """The other run it is compared with; None where none was named."""

    def episodes(self, group: str | None = None) -> Iterator[Episode]:
        """Yield finished episodes, of one group or all, in the order of the plan."""

    def scenarios(self) -> Iterator[Scenario]:
        """Yield the scenarios in order."""

    def verdicts(self) -> Iterator[Verdict]:
        """Yield verdicts of the judges it was last judged with."""

    def tools(self) -> dict[str, ToolSpec]:
        """Return the tools the scenarios name, by name."""

    def measures(self) -> dict[str, Measured]:
        """Return the measures that each of its judges declared when it judged."""


Exporter = Callable[[RunView], Exported]
"""Writes a run of its task for another tool, or raises `PrerequisiteError`; the first line of its docstring is the help of its command."""


class Task(ABC, Generic[OptionsT]):
    """One thing that is measured. A task that sends one request per scenario is a `SingleStepTask`.

    Attributes:
        name: What `--task` calls it.
        about: The question it answers, in a line.
        options: The model of its own options.
        defaults: Values of shared options left out: `temperature` and `max_new_tokens`.
        splits: Name of a split to the scenario groups it holds; one is called `all`.
        own_judges: Judges made for it: no other task takes them, and `rows` reads their verdicts. Any other judge has a column of its own.
        judge_classes: Judges that come with it, by name: the class, or `module:Class`, which is imported when the judge is used.
        data: Folder of its packaged scenarios, one `<group>.jsonl` per group; None where `load` makes them, or the user gives them.
        published_queries: JSON file: counts of a paper's queries by group, as `scenarios.statistics.likeness_of` takes them.
        target: The type of its scenarios' targets (`facts`) in `line_schema`; any if empty.
        hub_file: The file that is read of `--scenarios hub:OWNER/DATASET`; without one, the user names it.
        maker: What makes scenarios of it, for `scenarios generate`: a class derived from `Maker`, or `module:Class`.
        lessons: What makes training rows of it, for `export training`: a class derived from `Lessons`, or `module:Class`.
        exporters: What writes its runs for other tools, by the name that follows `talm-sim export`: the function, or `module:function`.
        success: Values of a row that say whether its episode succeeded; the first one that a row has counts. Without it, none does or fails.
        about_groups: Group to what its scenarios are, in a line.
        lacking: Groups that lack something, where it is right to ask or to decline.
        outcomes: What an episode may come to, in the order of a table: `rows` gives each row the name of one. Without any, a task with
            `success` has two: solved, and not.
        gaps: What the success lost from one group to another is called, where the second lacks something that can be asked for: by both groups.
        headline: What `report --by-model` shows: the head of a column to its figure, `GROUP.MEASURE`; of several, the first with a value.
        further_measures: Names of measures that its table has only where they apply; None if nobody lists them. A gate on others is refused.
        named_by: Own options that stand beside the model's name in the records of a run.
        terms: Words of its titles (see `label`) that a reader may not know, to what they mean.
        listed: What a run's list of episodes shows: a label or value of a row, `tools` or `questions` (how many), to the head of its column.
        controls: The control models that may play it, by their names after `sim/`; `control` says whether one does.
    """

    name: ClassVar[str]
    about: ClassVar[str] = ""
    options: ClassVar[type[TaskOptions]] = TaskOptions
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0.0, "max_new_tokens": 512}
    splits: ClassVar[Mapping[str, tuple[str, ...]]]
    own_judges: ClassVar[tuple[str, ...]] = ()
    judge_classes: ClassVar[Mapping[str, str | type[Judge]]] = {}
    data: ClassVar[Traversable | None] = None
    published_queries: ClassVar[Traversable | None] = None
    target: ClassVar[str] = ""
    hub_file: ClassVar[str] = ""
    maker: ClassVar[str | type[Maker[Any, Any, Any]] | None] = None
    lessons: ClassVar[str | type[Lessons] | None] = None
    exporters: ClassVar[Mapping[str, str | Exporter]] = {}
    success: ClassVar[tuple[str, ...]] = ()
    about_groups: ClassVar[Mapping[str, str]] = {}
    lacking: ClassVar[frozenset[str]] = frozenset()
    outcomes: ClassVar[tuple[Outcome, ...]] = ()
    gaps: ClassVar[Mapping[tuple[str, str], str]] = {}
    headline: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    further_measures: ClassVar[tuple[str, ...] | None] = None
    named_by: ClassVar[tuple[str, ...]] = ()
    terms: ClassVar[Mapping[str, str]] = {}
    listed: ClassVar[Mapping[str, str]] = {}
    controls: ClassVar[tuple[str, ...]] = CONTROLS

    @classmethod
    def succeeded(cls, row: Row) -> bool | None:
        """Return whether a row's episode succeeded, which a silent one never does; None if it is not scored, or the task does not say."""
        found = (value for name in cls.success if (value := row.values.get(name)) is not None)
        return bool(value) and not row.silent if row.scored and (value := next(found, None)) is not None else None

    @property
    def recorded_in(self) -> str:
        """Folder of its conversations below each model's recordings; groups of two tasks may share a name."""
        return self.name

    @classmethod
    def groups(cls, split: str) -> tuple[str, ...]:
        """Return the scenario groups of one split, or of several with commas between them, in the order of all.

        Raises:
            PrerequisiteError: There is no such split.
        """
        names = split.split(",")
        for name in names:
            if name not in cls.splits:
                raise PrerequisiteError(f"unknown split '{name}' of task {cls.name}.{did_you_mean(name, cls.splits)}")
        if len(names) == 1:
            return cls.splits[split]
        wanted = dict.fromkeys(group for name in names for group in cls.splits[name])
        return tuple(sorted(wanted, key=lambda group: cls.splits["all"].index(group) if group in cls.splits["all"] else len(wanted)))

    def read_line(self, line: Any, where: str, task: str) -> Scenario:
        """Read a line of a scenario file; a task whose data has a form of its own reads that.

        Raises:
            PrerequisiteError: It cannot be read; the message names `where`, the line's place.
        """
        from talm_sim.scenarios.load import read_scenario

        return read_scenario(line, where, task)

    def line_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a line that `read_line` reads."""
        from talm_sim.scenarios.schema import scenario_schema

        groups = dict.fromkeys(group for split in self.splits.values() for group in split)
        return scenario_schema(self.name, [*groups], self.target, needs_target=bool(self.target) and not issubclass(self.options, AgentOptions))

    def claim(self, line: Any, task: str) -> str:
        """Describe a line in a published form of this task that `task` cannot read, for a message; return "" for any other line."""
        return ""

    def read(self, groups: Sequence[str], file: Path | None = None, limit: str | None = None) -> list[Scenario]:
        """Read the scenarios of some groups, as they lie in the packaged data or in `file`; see `load_scenarios`."""
        from talm_sim.scenarios.load import load_scenarios

        return load_scenarios(groups, file, limit, task=self.name, data=self.data, hub_file=self.hub_file, read=self.read_line)

    def prove(self, scenarios: Sequence[Scenario], call: ToolCaller | None, *, packaged: bool) -> Sequence[Problem]:
        """Look for what is wrong with scenarios that can be read, for `scenarios check`.

        Args:
            scenarios: All that were read.
            call: Calls the tools of the environment; None where the task's agents call none.
            packaged: Whether they are the task's own data, not the user's file.
        """
        return ()

    def guessing_odds(self, scenario: Scenario, specs: Mapping[str, ToolSpec]) -> Mapping[str, int]:
        """Return how many values each argument that a scenario lacks may have, by name; without those whose values nothing lists."""
        return {}

    def published_statistics(self, counted: Statistics) -> Statistics | None:
        """Return a paper's counts for the set that `scenarios stats` counted; None if no paper has any."""

    def load(self, job: Job[OptionsT]) -> list[Scenario]:
        """Return the scenarios of a job, in the order in which they are run.

        Raises:
            PrerequisiteError: They cannot be read, or nothing is left to run.
        """
        return self.read(job.groups, job.config.scenarios, job.config.limit)

    def searched(self, job: Job[OptionsT]) -> str:
        """Say where a scenario was looked for, for a message."""
        return f"split {job.config.split} of task {self.name}"

    def selection(self, job: Job[OptionsT]) -> tuple[str, ...]:
        """Return the words of a command line that choose the job's groups and scenarios."""
        config = job.config
        named = {"--task": self.name, "--split": config.split, "--limit": config.limit}
        left_out = {"--task": RunConfig.model_fields["task"].default, "--split": "all", "--limit": None}
        return tuple(word for flag, value in named.items() if value != left_out[flag] for word in (flag, str(value)))

    def categories(self, scenarios: Sequence[Scenario], job: Job[OptionsT], recorded: Recorded) -> Mapping[str, frozenset[str]]:
        """Map each scenario's id to the categories of its tools, for option `category`; empty if the task's tools have none."""
        return {}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[OptionsT], recorded: Recorded) -> Iterable[Bound]:
        """Return the bounds on each episode's cost: all turns an acting agent may take, else one request with all that the scenario holds."""
        if isinstance(job.options, AgentOptions):
            from talm_sim.agent.prompts import load_prompts  # not at the top: a table needs none

            return episode_bounds(scenarios, job, recorded, load_prompts(), self.questions)
        return one_request_bounds(scenarios, job.settings().max_new_tokens)

    def settle(self, job: Job[OptionsT], recorded: Recorded) -> Job[OptionsT]:
        """Decide the automatic values that need no model; the model's traffic is decided already. Only agents' tools are executed."""
        return settle_acting(job, recorded) if isinstance(job.options, AgentOptions) else job.having(tools=None)

    def sampling(self, options: OptionsT) -> Mapping[str, Any]:
        """Return the values of `temperature` and `max_new_tokens` if they are left out; a temperature of None is the provider's default."""
        return self.defaults

    def key(self, job: Job[OptionsT]) -> Mapping[str, Any]:
        """Return what shapes a request beyond what all tasks share, as part of a recording's name: another key, another conversation."""
        own = {name: value for name, value in job.options.model_dump(mode="json").items() if job.scope_of(name) is Scope.GENERATION}
        if isinstance(job.options, AgentOptions):
            own = {name: value for name, value in own.items() if name not in ACTING} | acting_key(job.options)
        return {"task": self.name, **own}

    def judges(self, job: Job[OptionsT]) -> tuple[str, ...]:
        """Return the judges a run applies if the user names none."""
        return ()

    def person_questions(self, job: Job[OptionsT]) -> Sequence[PersonQuestion]:
        """Return the questions to a person who judges a run, the usual one first: by default whether an episode passes, if rows say it."""
        from talm_sim.tasks.judged_by_people import pass_question  # not at the top: a table needs none

        return (pass_question(),) if self.success else ()

    def acts(self, scenario: Scenario | None) -> bool:
        """Return whether an agent is led through the turns of a scenario; otherwise each turn of the model answers one request."""
        return issubclass(self.options, AgentOptions)

    def asking_turns(self, scenario: Scenario, job: Job[OptionsT]) -> int:
        """Return how many turns of an agent's episode may put a question to a person, at most."""
        return job.options.turn_limit or 0 if isinstance(job.options, AgentOptions) else 0

    def calls_as(self, job: Job[OptionsT]) -> str:
        """Return how raw text is to write calls: `pythonic`, a list in Python's syntax, which BFCL's own reader takes; empty otherwise."""
        return ""

    def questions(self, group: str) -> tuple[AwarenessKind, ...]:
        """Return the awareness questions that the built-in graph asks before a scenario of `group`; a No to one of them ends the episode.

        Each one that the task asks of any group is a column of its episodes' records.
        """
        return ()

    def calls(self, episode: Episode, scenario: Scenario, job: Job[OptionsT]) -> EpisodeCalls | None:
        """Return the gold calls and the calls of an episode, for `report --by-tool`; None if none are known."""
        return agent_calls(episode, scenario, job.options, job.config.seed)

    @abstractmethod
    def open(self, job: Job[OptionsT], shared: Shared) -> AbstractAsyncContextManager[Opened[Job[Any]]]:
        """Open what a settled job needs.

        Raises:
            PrerequisiteError: Something is missing: a key, a recording, a package, a port.
        """

    def control(self, name: str, scenario: Scenario) -> Model | None:
        """Return the task's own policy of the control model `name` (`sim/oracle`) for a scenario; None leaves it to the control."""
        return None

    def for_control(self, job: Job[OptionsT]) -> Job[OptionsT]:
        """Return the job as a control model plays it beside the real one."""
        return job

    def for_traces(self, job: Job[OptionsT]) -> Job[OptionsT]:
        """Return the job of a run that contains traces of an agent that ran elsewhere, which answered freely."""
        return job

    def pair(self, run: RunView) -> Callable[[Episode, Scenario], Episode | None]:
        """Return the episode that another is compared with, for judges that need pairs."""
        return lambda episode, scenario: None

    @abstractmethod
    def rows(self, run: RunView) -> Iterable[Row]:
        """Return the row of each finished episode: what it counts as."""

    @abstractmethod
    def summarize(self, rows: Sequence[Row], run: RunView) -> list[Summary]:
        """Sum up the rows, group by group."""

    def expected(self, group: str, job: Job[OptionsT]) -> Sequence[Outcome]:
        """Return the outcomes that are counted in a group even if none of its episodes has one: by default, all."""
        return self.outcomes

    def figure(self, group: str, measure: str) -> Figure | None:
        """Return how a measure of a group's summary is computed, if it is not a mean of the values that its rows have under its name.

        A comparison without it has no interval and no test. It is given the rows of the group; all rows, where the group's summary is derived.
        """
        return None

    def label(self, run: RunView) -> str:
        """Return the text behind the model's name in the title of a run's rows."""
        return ""

    def notes(self, summaries: Sequence[Summary], run: RunView) -> Iterable[str]:
        """Return notes about the whole table; notes about one group belong to its summary."""
        return ()

    def beside(self, run: RunView) -> Beside | None:
        """Return the published table a reader may look at beside the run's; None if there is none."""
        return None

    def evidence(self, episode: Episode, scenario: Scenario, outcome: str, specs: Mapping[str, ToolSpec]) -> str:
        """Return what shows an episode's outcome best, in a line: by default its error, or its last words."""
        said = episode.answer.strip() or next((turn.text for turn in reversed(episode.model_turns) if turn.text.strip()), "")
        return episode.error or (f"“{' '.join(said.split())[:200]}”" if said else f"the request is “{' '.join(scenario.query.split())[:200]}”")

    def sections(self, episode: Episode, scenario: Scenario) -> Iterable[Section]:
        """Return the sections of an episode's page besides the query, its turns, its answer and its verdicts."""
        return ()
