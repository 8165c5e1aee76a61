"""The base class of tasks whose agent acts: it calls tools, some of them damaged or missing, and may ask a person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from talm_sim.config import RESULT_LIMIT, WHOLE_RESULT, Traffic
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.models.control_names import EVERY_CONTROL, FAULT_CONTROLS
from talm_sim.scenarios.load import select
from talm_sim.scenarios.problems import Problem, check_facts, lacking_tools
from talm_sim.scenarios.tool_names import with_names_of
from talm_sim.tasks.acting.acting_task import ACTING, FINISH_BY, RETRIES, TURNS, episode_bounds, refusal_judges, settle_acting, specs_of
from talm_sim.tasks.acting.agent_notes import (
    BUILDS,
    AgentNotes,
    can_hide_missing,
    own_agent,
    refuse_model_faults,
    settle_own_agent,
    visible_hidden_tools,
)
from talm_sim.tasks.acting.person_model import open_responder, who_answers
from talm_sim.tasks.acting.standing_in import kept_of_replaceable
from talm_sim.tasks.base import Job, RunView, Task
from talm_sim.tasks.bounds import RESULT_TOKENS, Bound
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.open_job import Opened, Recorded
from talm_sim.tasks.options import AgentTaskOptions
from talm_sim.tasks.registry import list_tasks, read_line
from talm_sim.types import FINISH, Facts, Scenario, ToolSpec

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from talm_sim.agent.episode import Agent
    from talm_sim.agent.own.agents import OwnAgent
    from talm_sim.agent.prompts import Prompts
    from talm_sim.models.base import Model
    from talm_sim.models.local.adapters import Weights
    from talm_sim.scenarios.problems import Problem
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.caller import ToolCaller
    from talm_sim.tools_env.environment import Environment
    from talm_sim.tools_env.toolbox import Tools

AgentTaskOptionsT = TypeVar("AgentTaskOptionsT", bound=AgentTaskOptions)
_OWN_TURNS = 50
"""Of an agent that calls tools as it likes, each call may count as a turn; and a control that looks for a way out needs many."""


class AgentTask(Task[AgentTaskOptionsT]):
    """A task whose agent acts. A subclass needs `name`, `splits`, `rows` and `summarize`.

    The built-in graph plays its scenarios, or the user's own agent. Tools can be damaged, recorded and replayed, and a person can be asked.

    Attributes:
        tools_from: Where its tools come from unless the user names others, each as `--tools-from` has it; empty: the built-in tools.
        without_tools: Groups whose scenarios offer no tools; a turn without a call ends their episodes.
        defaults: As of `Task`.
    """

    tools_from: ClassVar[tuple[str, ...]] = ()
    without_tools: ClassVar[frozenset[str]] = frozenset()
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 1.0, "max_new_tokens": 512}
    options: ClassVar[type[AgentTaskOptions]] = AgentTaskOptions
    controls: ClassVar[tuple[str, ...]] = EVERY_CONTROL

    def read_line(self, line: Any, where: str, task: str) -> Scenario:
        """Read a line of a scenario file; see `Task.read_line`."""
        return read_line(line, where, task)

    def load(self, job: Job[AgentTaskOptionsT]) -> list[Scenario]:
        """Return the scenarios; of all, leave out those that take away a tool built into the user's agent. A named one is refused later.

        Of a run that asks the awareness questions alone, those of the groups that are asked some.

        Raises:
            PrerequisiteError: They cannot be read, or none is left.
        """
        file = str(job.config.scenarios or "")
        if job.options.stop_after is not None:
            asked = self._asked_groups(job)
            return select(self._read_all(job), asked, job.config.limit, file, self.name)
        played = self._without_visible(job, self._read_all(job))
        return select(played, list(dict.fromkeys(one.group for one in played)), job.config.limit, file, self.name)

    def choose(self, job: Job[AgentTaskOptionsT], every: list[Scenario]) -> list[Scenario]:
        """Choose scenarios from those of the job's groups, before a limit does; by default all.

        Raises:
            PrerequisiteError: None is left.
        """
        return every

    def _read_all(self, job: Job[AgentTaskOptionsT]) -> list[Scenario]:
        return self.choose(job, super().load(job.having(limit=None)))

    def _without_visible(self, job: Job[AgentTaskOptionsT], every: list[Scenario]) -> list[Scenario]:
        """Leave out the scenarios that hide a tool the agent sees anyway; keep all if none would be left."""
        own = self._sees_all(job)
        return every if own is None else [one for one in every if can_hide_missing(one, own)] or every

    def _sees_all(self, job: Job[AgentTaskOptionsT]) -> OwnAgent | None:
        """Return the user's agent, if tools are built into it, and the run is of all scenarios and not of some that were named."""
        own = None if job.options.agent is None else own_agent(job)
        return own if own is not None and own.built_in and job.config.split == "all" and not job.config.scenario else None

    def _asked_groups(self, job: Job[AgentTaskOptionsT]) -> tuple[str, ...]:
        if not (asked := tuple(group for group in job.groups if self.questions(group))):
            of = f"group {format_names(job.groups, 3)} of " if any(map(self.questions, self.splits["all"])) else ""
            why = f"{of}task {self.name} is asked no awareness questions"
            raise PrerequisiteError(f"--stop-after {job.options.stop_after}: {why}; leave out --stop-after.")
        return asked

    def prove(self, scenarios: Sequence[Scenario], call: ToolCaller | None, *, packaged: bool) -> Sequence[Problem]:
        """See that the tools which the scenarios offer are there, and offer what their gold calls need."""
        return [] if call is None else [*lacking_tools(scenarios, call.specs)]

    def control(self, name: str, scenario: Scenario) -> Model | None:
        """Return a policy that makes the gold calls, or does not, and answers with facts; None for a target that it knows nothing of."""
        from talm_sim.tasks.acting.agent_controls import AgentPolicy
        from talm_sim.tasks.acting.fault_controls import FAULT_POLICIES
        from talm_sim.tasks.acting.person_controls import PERSON_POLICIES

        policy = {**FAULT_POLICIES, **PERSON_POLICIES}.get(name, AgentPolicy)
        return policy(name, scenario) if isinstance(scenario.target, Facts | None) else None

    def categories(self, scenarios: Sequence[Scenario], job: Job[AgentTaskOptionsT], recorded: Recorded) -> Mapping[str, frozenset[str]]:
        """Return the categories of the tools that each scenario offers."""
        specs = specs_of((scenario.tools for scenario in scenarios), recorded)
        return {one.id: frozenset(specs[name].category for name in one.tools if name in specs) for one in scenarios}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[AgentTaskOptionsT], recorded: Recorded) -> Iterator[Bound]:
        """Yield the bounds on each episode's cost; the user's own agent need not ask a model at all."""
        prompts = _prompts(job)
        facts = max((one.facts for one in scenarios if job.options.answer == "values"), key=len, default=())
        options, result_tokens = job.options, RESULT_TOKENS * (job.options.result_limit or RESULT_LIMIT) // RESULT_LIMIT
        if options.agent is not None:
            return episode_bounds(scenarios, job, recorded, prompts, lambda group: (), least=0, result_tokens=result_tokens)
        return episode_bounds(
            scenarios,
            job,
            recorded,
            prompts,
            (lambda group: ()) if options.no_awareness else self.questions,
            awareness_alone=options.stop_after is not None,
            retries=RETRIES if job.settings().temperature != 0 else 0,
            result_tokens=result_tokens,
            more_tools=[prompts.finish_tool(facts)] if options.finish == "tool" else [],
        )

    def settle(self, job: Job[AgentTaskOptionsT], recorded: Recorded) -> Job[AgentTaskOptionsT]:
        """Decide how the tools are reached, who answers, how many turns an episode may take, and what ends it."""
        job = job if job.options.agent is None else settle_own_agent(job)
        few = job.options.agent is None and job.config.model.removeprefix("sim/") not in FAULT_CONTROLS
        turns = TURNS if few else _OWN_TURNS
        options = job.options
        limit = options.result_limit or (RESULT_LIMIT if options.agent is None else None)
        settled = settle_acting(job, recorded, turn_limit=turns, finish=_finish_of(options), result_limit=limit)
        own = options.agent is not None and options.tool_errors == "auto"
        return settled.having(tool_errors=_errors_of(settled, recorded)) if own else settled

    def key(self, job: Job[AgentTaskOptionsT]) -> Mapping[str, Any]:
        """Return the settings that shape a conversation."""
        not_in = AgentTaskOptions.model_fields.keys() - ACTING
        own = {name: value for name, value in super().key(job).items() if name not in not_in}
        agent = {"agent": job.options.agent} if job.options.agent else {}
        # Recordings from before these options were made with their defaults of then.
        finish = {"finish": "tool"} if _finish_of(job.options) == "tool" else {}
        limit = {"result_limit": job.options.result_limit} if job.options.result_limit not in (None, RESULT_LIMIT) else {}
        values = {"answer": "values"} if job.options.answer == "values" else {}
        errors = {"tool_errors": "raise"} if job.options.tool_errors == "raise" else {}
        context = {"agent_context": job.options.agent_context} if job.options.agent_context else {}
        unasked = {"no_awareness": True} if job.options.no_awareness else {}
        examples = {"schema_examples": "hide"} if job.options.schema_examples == "hide" else {}
        return {**own, **agent, **finish, **values, **limit, **unasked, **errors, **context, **examples}

    def judges(self, job: Job[AgentTaskOptionsT]) -> tuple[str, ...]:
        """Return the judge of faults if the run injects any, and that of refusals if a person may refuse calls."""
        return (*(("fault",) if job.options.perturb else ()), *refusal_judges(job.options))

    @asynccontextmanager
    async def open(self, job: Job[AgentTaskOptionsT], shared: Shared) -> AsyncIterator[Opened[Job[Any]]]:
        """Open model and tools."""
        from talm_sim.agent.ask_limits import limits_of
        from talm_sim.agent.episode import Agent
        from talm_sim.agent.responders import responder_kind

        config, options = job.config, job.options
        prompts = _prompts(job)
        kind = None if options.human == "none" else responder_kind(options.human)
        sources, own = options.tools_from or self.tools_from, own_agent(job) if options.agent else None
        tools = await shared.tools(config, sources, trusted=options.trust, person=kind is not None)
        environment = _environment(job, tools, self._gold_arguments(job), built_in=not sources)
        model = _no_model(config.model) if own and not own.takes_model else await shared.model(config, job.created)
        waits = kind is not None and kind.waits
        responder = await open_responder(job, shared, environment, prompts) if kind and not waits else None
        stack = AsyncExitStack()
        stack.push_async_callback(environment.aclose)

        def agent(saver: BaseCheckpointSaver[Any] | None) -> Agent:
            saver = None if own else saver
            made = Agent(
                model=model,
                graph=self._graph(job, own, prompts, saver, tools_ask=tools.may_ask),
                settings=job.settings(),
                environment=environment,
                human=options.human,
                human_tool=prompts.human_tool() if kind else None,
                finish_tool=prompts.finish_tool() if options.finish == "tool" else None,
                values=prompts.finish_tool if options.answer == "values" else None,
                alone=self.without_tools,
                responder=responder,
                saver=saver,
                most_steps=(4 if environment.approve else 2) * (options.turn_limit or TURNS) + 5,
                control=self.control,
                ask_limits=limits_of(options.human, options.ask_limit, options.ask_limit_run),
                prompts="all" if own is None else "handed" if own.takes_model else "unknown",
            )
            stack.push_async_callback(made.aclose)
            return made

        every = [] if self._sees_all(job) is None else self._read_all(job)
        said = AgentNotes(own, job, tools, len(every) - len(self._without_visible(job, every)), waits=waits)
        weights: Weights | None = getattr(model, "weights", None)
        async with stack:
            yield Opened(
                job,
                agent,
                wording=prompts.texts(values=options.answer == "values")
                | prompts.person_texts(options.persona if ":" in options.human else ""),
                human=options.human,
                waits=waits,
                starts_again=waits and (own is not None or tools.keep_state),
                check=lambda scenarios: _check_tools(scenarios, environment, job, own),
                tools_of=lambda scenarios: tools_of(scenarios, environment),
                replaceable=kept_of_replaceable(environment, options.perturb) if waits else {},
                weights=weights.digests if weights else {},
                notes={**said.notes, **(weights.notes if weights else {})},
                notices=said.notices,
                warnings=said.warnings,
            )

    def _graph(self, job: Job[AgentTaskOptionsT], own: OwnAgent | None, prompts: Prompts, saver: Any, *, tools_ask: bool) -> Any:
        """Return what plays an episode: the user's own agent, or our graph, held where it is while a tool asks the person."""
        from talm_sim.agent.graph import TalmRules, talm_graph
        from talm_sim.agent.holding import HoldingGraph

        options = job.options
        if own is not None:
            from talm_sim.agent.own.agent_rules import AgentRules
            from talm_sim.agent.own.sessions import Sessions

            rounds = 0 if options.human in {"none", "recorded"} else options.rounds
            own_limits = (options.turn_limit or TURNS, options.token_limit, options.agent_timeout, rounds)
            return Sessions(own, AgentRules(*own_limits, options.tool_errors != "raise", options.agent_context))
        groups, alone = () if options.no_awareness else self.splits["all"], options.stop_after is not None
        asked = {group: self.questions(group) for group in groups}
        limits = (options.turn_limit or TURNS, options.token_limit)
        reads = job.config.tool_format == "auto"
        rules = TalmRules(prompts, asked, *limits, alone, rounds=options.rounds, retries=RETRIES, text_calls=reads)
        graph = talm_graph(rules, saver)
        return HoldingGraph(graph) if tools_ask else graph

    def _gold_arguments(self, job: Job[AgentTaskOptionsT]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return each tool's arguments in the gold calls of all scenarios, whichever are run; empty if nothing is perturbed."""
        if not job.options.perturb:
            return {}
        from talm_sim.tasks.acting.recoveries import gold_arguments

        try:
            return gold_arguments(self.load(job.having(split="all", limit=None)))
        except PrerequisiteError:  # a task that makes its scenarios has no others
            return gold_arguments(self.load(job))

    def for_control(self, job: Job[AgentTaskOptionsT]) -> Job[AgentTaskOptionsT]:
        """Change the job for a control: it asks the simulated person if the real model has anybody to ask, and uses the built-in graph."""
        asked = {"human": "simulated"} if job.options.human != "none" else {"human": "none", "approve": ""}
        return job.having(**asked, persona="none", agent=None, answer_timeout=None)

    def label(self, run: RunView) -> str:
        """Name the agent, who could be asked, and the perturbations."""
        options = run.job.options
        asked = "Ask-and-Help" if run.imported else f"Ask-and-Help ({who_answers(options)})"
        damage = f", perturbed: {', '.join(options.perturb)}" if options.perturb else ""
        damage += f", approved by a person: {options.approve.replace(',', ', ')}" if options.approve else ""
        own = f"agent {options.agent}, " if options.agent and not run.job.config.model.endswith(options.agent) else ""
        return own + ("standalone" if options.human == "none" else asked) + damage


def _prompts(job: Job[Any]) -> Prompts:
    from talm_sim.agent.prompts import load_prompts

    return load_prompts(job.config.prompts, job.task.name, list_tasks)


def _no_model(name: str) -> Model:
    """Return what takes the model's place where the user's own agent takes none."""
    from talm_sim.agent.own.sessions import OwnModel

    return OwnModel(name)


def _finish_of(options: AgentTaskOptions) -> str:
    """Return what ends an episode; your own agent ends its episodes itself."""
    return options.finish if options.finish != "auto" else FINISH_BY if options.agent is None else "text"


def _errors_of(job: Job[AgentTaskOptionsT], recorded: Recorded) -> str:
    """Return how a tool's failure reaches your agent: a recording from before there was a choice was made with texts."""
    known = [way for way in ("raise", "text") if recorded.conversation(job.config.model, recording_key(job.having(tool_errors=way)))]
    return known[0] if known and job.config.models is Traffic.REPLAY else "raise"


def _environment(job: Job[Any], tools: Tools, others: Mapping[str, Sequence[Mapping[str, Any]]], *, built_in: bool) -> Environment:
    from talm_sim.tools_env.clock import RealClock, VirtualClock
    from talm_sim.tools_env.environment import Environment
    from talm_sim.tools_env.guarded import guarded_tools

    config, options = job.config, job.options
    # Waits are part of an injected fault: ours need not be sat through, and of a stranger's tool the agent may see the time.
    pretended = config.model.startswith("sim/") or Traffic.REPLAY in (config.models, config.tools) or built_in
    clock = VirtualClock if pretended else RealClock
    return Environment(
        tools,
        perturb=options.perturb,
        seed=config.seed,
        clock=clock,
        result_limit=options.result_limit or WHOLE_RESULT,  # of the built-in agent it is settled
        others=others,
        writing=options.writing,
        approve=guarded_tools(options.approve, tools) if options.approve else frozenset(),
        examples=options.schema_examples == "show",
    )


def _check_tools(scenarios: Sequence[Scenario], environment: Environment, job: Job[Any], own: OwnAgent | None) -> Sequence[Scenario]:
    """See that the tools of every scenario are there, and out of the agent's sight where they should be; return them by their own names."""
    if not environment.specs and any(scenario.tools for scenario in scenarios):
        where = job.config.cassettes or "the shipped recordings"
        raise PrerequisiteError(f"{where}: no tools are recorded there; choose another --cassettes, or set TALM_SIM_TOOLS=live.")
    if any(name not in environment.specs for one in scenarios for name in one.tools):
        scenarios = [with_names_of(one, environment.specs) for one in scenarios]
    if job.options.answer == "values":
        check_facts(scenarios)
    for scenario in scenarios:
        unknown = next((name for name in scenario.tools if name not in environment.specs), None)
        if unknown is not None and (whose := _whose(job)):
            raise PrerequisiteError(f"scenario {scenario.id}: no tool '{unknown}' among {whose}")
        if why := environment.tools.fault_in_start(scenario.start):
            raise PrerequisiteError(f"scenario {scenario.id}: start: {why}")
        try:
            offered = [tool.name for tool in environment.open(scenario).tools]
            if own is not None and not own.takes_model:
                refuse_model_faults(scenario.perturbations, own)
        except PrerequisiteError as err:  # the run's own were looked at when the environment was made
            raise PrerequisiteError(f"scenario {scenario.id}: perturbations: {str(err).removeprefix('--perturb ')}") from None
        if own is not None and any(turn.tools_added for turn in scenario.turns):
            raise PrerequisiteError(
                f"scenario {scenario.id}: adds tools in a later turn, and your own agent is given its tools once; leave out --agent."
            )
        if FINISH in offered and job.options.finish == "tool":
            raise PrerequisiteError(
                f"scenario {scenario.id}: its tool '{FINISH}' has the name of the one that ends an episode; add --finish text."
            )
        hidden = visible_hidden_tools(scenario, own, offered) if own else []
        if own and hidden:
            still = f"the model of {own.name}, a compiled graph, still sees {'it' if len(hidden) == 1 else 'them'}"
            raise PrerequisiteError(f"scenario {scenario.id} takes {format_names(hidden, 3)} away, but {still}; {BUILDS}.")
    return scenarios


def _whose(job: Job[Any]) -> str:
    """Say whose tools there are and which option brings the others, of a run with its own scenarios or its own tools, but not both."""
    own, theirs = job.config.scenarios, job.options.tools_from
    if own is not None and not theirs:
        return f"the built-in ones; name the tools {own} was written for: --tools-from [NAME=]KIND:PLACE."
    if own is None and theirs:
        wanted = "write scenarios for yours: talm-sim scenarios init --tools-from ... --out FILE, and add --scenarios FILE."
        return f"yours, which the packaged scenarios do not know; {wanted}"
    return ""


def tools_of(scenarios: Sequence[Scenario], environment: Environment) -> list[ToolSpec]:
    """Return the environment's tools that `scenarios` name, missing ones included."""
    named = {name for scenario in scenarios for name in (*scenario.tools, *(call.name for call in scenario.gold_calls))}
    named |= {one.name for scenario in scenarios for one in scenario.missing}
    return [spec for name, spec in sorted(environment.specs.items()) if name in named]
