"""Tasks whose agent acts: it calls tools, some of them damaged or missing, and may ask a person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from talm_sim.config import DEFAULT_MODEL, Traffic
from talm_sim.errors import PrerequisiteError, format_names
from talm_sim.scenarios.load import select
from talm_sim.scenarios.problems import Problem
from talm_sim.tasks.acting import TURNS, episode_bounds, settle_acting, specs_of
from talm_sim.tasks.base import Job, Opened, RunView, Task
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.lines import read_line
from talm_sim.tasks.options import AgentTaskOptions
from talm_sim.tasks.recorded import Recorded
from talm_sim.tasks.registry import list_tasks
from talm_sim.tasks.tool_notices import network_note, warn_of_shared, warn_of_unexecuted
from talm_sim.types import Facts, MissingKind, Scenario, ToolSpec

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from talm_sim.agent.episode import Agent
    from talm_sim.agent.graph import TalmRules
    from talm_sim.agent.humans import Responder
    from talm_sim.agent.own.agents import OwnAgent
    from talm_sim.agent.prompts import Prompts
    from talm_sim.models.base import Model
    from talm_sim.scenarios.problems import Problem
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.caller import ToolCaller
    from talm_sim.tools_env.environment import Environment

__all__ = [
    "BUILDS",
    "AgentTask",
    "AgentTaskOptionsT",
    "can_hide_missing",
    "check_tools",
    "lacking_tools",
    "notices",
    "run_notes",
    "tools_of",
    "visible_hidden_tools",
]

AgentTaskOptionsT = TypeVar("AgentTaskOptionsT", bound=AgentTaskOptions)
_OWN_TURNS = 50
"""Of an agent that calls tools as it likes, each call may count as a turn."""


class AgentTask(Task[AgentTaskOptionsT]):
    """A task whose agent acts. A subclass needs `name`, `splits`, `rows` and `summarize`.

    The built-in graph plays its scenarios, or the user's own agent. Tools can be damaged, recorded and replayed, and a person can be asked.

    Attributes:
        tools_from: Where its tools come from unless the user names others, each as `--tools-from` has it; empty: the built-in tools.
        defaults: As of `Task`.
    """

    tools_from: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 1.0, "max_new_tokens": 512}
    options: ClassVar[type[AgentTaskOptions]] = AgentTaskOptions

    def read_line(self, line: Any, where: str, task: str) -> Scenario:
        """Read a line of a scenario file; see `Task.read_line`."""
        return read_line(line, where, task)

    def load(self, job: Job[AgentTaskOptionsT]) -> list[Scenario]:
        """The scenarios; of all, without those that take away a tool which is built into the user's agent. A named one is refused later.

        Of a run that asks the awareness questions alone, those of the groups that are asked some.

        Raises:
            PrerequisiteError: They cannot be read, or none is left.
        """
        if job.options.stop_after is not None:
            return self.read(self._asked_groups(job), job.config.scenarios, job.config.limit)
        played, left_out = self._leave_out_visible(job)
        if not left_out:
            return super().load(job)
        return select(played, list(dict.fromkeys(one.group for one in played)), job.config.limit)

    def _leave_out_visible(self, job: Job[AgentTaskOptionsT]) -> tuple[list[Scenario], int]:
        """What is played of all, and how many are left out; none where all are played, or nothing would be left."""
        own = _own_agent(job)
        if own is None or not own.built_in or job.config.split != "all" or job.config.scenario:
            return [], 0
        every = super().load(job.having(limit=None))
        played = [one for one in every if can_hide_missing(one, own)]
        return played, len(every) - len(played) if played else 0

    def _asked_groups(self, job: Job[AgentTaskOptionsT]) -> tuple[str, ...]:
        asked = tuple(group for group in job.groups if self.questions(group))
        if not asked:
            of = f"group {format_names(job.groups, 3)} of " if any(map(self.questions, self.splits["all"])) else ""
            why = f"{of}task {self.name} is asked no awareness questions"
            raise PrerequisiteError(f"--stop-after {job.options.stop_after}: {why}; leave out --stop-after.")
        return asked

    def prove(self, scenarios: Sequence[Scenario], call: ToolCaller | None, *, packaged: bool) -> Sequence[Problem]:
        """See that the tools which the scenarios offer are there, and offer what their gold calls need."""
        return [] if call is None else [*lacking_tools(scenarios, call.specs)]

    def control(self, name: str, scenario: Scenario) -> Model | None:
        """A policy that makes the gold calls, or does not, and answers with facts; None of a target that it knows nothing of."""
        from talm_sim.tasks.agent_controls import AgentPolicy

        return AgentPolicy(name, scenario) if isinstance(scenario.target, Facts | None) else None

    def categories(self, scenarios: Sequence[Scenario], job: Job[AgentTaskOptionsT], recorded: Recorded) -> Mapping[str, frozenset[str]]:
        """The categories of the tools that each scenario offers."""
        specs = specs_of((scenario.tools for scenario in scenarios), recorded)
        return {one.id: frozenset(specs[name].category for name in one.tools if name in specs) for one in scenarios}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[AgentTaskOptionsT], recorded: Recorded) -> Iterator[Bound]:
        """What each episode may cost; the user's own agent need not ask a model at all."""
        prompts = _prompts(job)
        if job.options.agent is None:
            return episode_bounds(scenarios, job, recorded, prompts, self.questions, awareness_alone=job.options.stop_after is not None)
        return episode_bounds(scenarios, job, recorded, prompts, lambda group: (), least=0)

    def settle(self, job: Job[AgentTaskOptionsT], recorded: Recorded) -> Job[AgentTaskOptionsT]:
        """Decide how the tools are reached, who answers, and how many turns an episode may take."""
        job = _settle_own_agent(job)
        return settle_acting(job, recorded, turn_limit=TURNS if job.options.agent is None else _OWN_TURNS)

    def key(self, job: Job[AgentTaskOptionsT]) -> Mapping[str, Any]:
        """The task's own options, the damage, and whether there is somebody to ask: the answers are in the recorded conversation itself."""
        own = {name: value for name, value in super().key(job).items() if name not in AgentTaskOptions.model_fields}
        agent = {"agent": job.options.agent} if job.options.agent else {}
        return {**own, "human": job.options.human != "none", "perturb": job.options.perturb, **agent}

    @asynccontextmanager
    async def open(self, job: Job[AgentTaskOptionsT], shared: Shared) -> AsyncIterator[Opened]:
        """Open model and tools."""
        from talm_sim.agent.episode import Agent
        from talm_sim.agent.graph import talm_graph
        from talm_sim.agent.own.session import AgentLimits
        from talm_sim.agent.own.sessions import OwnModel, Sessions
        from talm_sim.agent.responders import responder_kind
        from talm_sim.tools_env.clock import RealClock, VirtualClock
        from talm_sim.tools_env.environment import Environment

        config, options = job.config, job.options
        turns: int = options.turn_limit or TURNS
        prompts = _prompts(job)
        kind = None if options.human == "none" else responder_kind(options.human)
        sources = options.tools_from or self.tools_from
        tools = await shared.tools(config, sources, trusted=options.trust)
        # Waits are part of an injected fault: ours need not be sat through, and of a stranger's tool the agent may see the time.
        pretended = config.model.startswith("sim/") or Traffic.REPLAY in (config.models, config.tools) or not sources
        environment = Environment(tools, perturb=options.perturb, seed=config.seed, clock=VirtualClock if pretended else RealClock)
        own = _own_agent(job)
        model: Model = OwnModel(config.model) if own and not own.takes_model else await shared.model(config, job.created)
        limits = AgentLimits(turns, options.token_limit, options.agent_timeout, 0 if options.human in {"none", "recorded"} else options.rounds)
        waits = kind is not None and kind.waits
        stack = AsyncExitStack()
        stack.push_async_callback(environment.aclose)

        def agent(saver: BaseCheckpointSaver[Any] | None) -> Agent:
            graph: Any = talm_graph(self._rules(job, prompts), saver)
            if own is not None:
                graph, saver = Sessions(own, limits), None
                stack.push_async_callback(graph.aclose)
            return Agent(
                model=model,
                graph=graph,
                settings=job.settings(),
                environment=environment,
                human=options.human,
                human_tool=prompts.human_tool() if kind else None,
                responder=self._responder(job, shared, environment) if kind and not kind.waits else None,
                saver=saver,
                most_steps=2 * turns + 5,
                control=self.control,
            )

        async with stack:
            yield Opened(
                job,
                agent,
                wording=prompts.texts(),
                human=options.human,
                waits=waits,
                starts_again=waits and (own is not None or tools.keep_state),
                check=lambda scenarios: check_tools(scenarios, environment, job, own),
                tools_of=lambda scenarios: tools_of(scenarios, environment),
                notes=run_notes(own, job, self._leave_out_visible(job)[1]) | network_note(tools),
                notices=notices(own, job, waits=waits, state=tools.keep_state),
                warnings=lambda scenarios: (*warn_of_unexecuted(scenarios, tools), *warn_of_shared(scenarios, tools, config.epochs)),
            )

    def _rules(self, job: Job[AgentTaskOptionsT], prompts: Prompts) -> TalmRules:
        from talm_sim.agent.graph import TalmRules

        asked = {group: self.questions(group) for group in self.splits["all"]}
        return TalmRules(prompts, asked, job.options.turn_limit or TURNS, job.options.token_limit, job.options.stop_after is not None)

    def _responder(self, job: Job[AgentTaskOptionsT], shared: Shared, environment: Environment) -> Callable[[Scenario, int], Responder]:
        from talm_sim.agent.responders import ResponderContext, responder_kind

        make = responder_kind(job.options.human).open
        assert make is not None
        library, model, key = shared.library(job.config.cassettes, self.recorded_in), job.config.model, recording_key(job)

        def responder(scenario: Scenario, epoch: int) -> Responder:
            def recorded() -> Sequence[Any]:
                return library.human_answers(model, scenario.id, scenario.group, epoch, key)

            return make(ResponderContext(scenario, epoch, environment.specs, recorded))

        return responder

    def for_control(self, job: Job[AgentTaskOptionsT]) -> Job[AgentTaskOptionsT]:
        """Change the job for a control: it asks the simulated person if the real model has anybody to ask, and uses the built-in graph."""
        return job.having(human="none" if job.options.human == "none" else "simulated", agent=None)

    def label(self, run: RunView) -> str:
        """Name the agent, who could be asked, and the perturbations."""
        options = run.job.options
        asked = "Ask-and-Help" if run.imported else f"Ask-and-Help ({options.human} human)"
        damage = f", perturbed: {', '.join(options.perturb)}" if options.perturb else ""
        own = f"agent {options.agent}, " if options.agent and not run.job.config.model.endswith(options.agent) else ""
        return own + ("standalone" if options.human == "none" else asked) + damage


def _prompts(job: Job[Any]) -> Prompts:
    from talm_sim.agent.prompts import load_prompts

    return load_prompts(job.config.prompts, job.task.name, list_tasks)


def _own_agent(job: Job[Any]) -> OwnAgent | None:
    """The user's own agent; None where ours plays."""
    if job.options.agent is None:
        return None
    from talm_sim.agent.own.agents import find_agent

    return find_agent(job.options.agent)


def _settle_own_agent(job: Job[AgentTaskOptionsT]) -> Job[AgentTaskOptionsT]:
    """The job, without a model where the agent takes none.

    Raises:
        PrerequisiteError: A model was named that the agent does not take.
    """
    own = _own_agent(job)
    if own is None or own.takes_model:
        return job
    name, named = f"agent/{own.name}", job.config.model
    if named not in (DEFAULT_MODEL, name):
        raise PrerequisiteError(
            f"--model {named}: agent {own.name} takes no model; leave out --model, or give the agent's function a parameter 'model'."
        )
    return job.having(model=name, models=None)


BUILDS = "hand over a function (tools) -> graph that builds it"
"""How an agent comes to see what is offered, and nothing else."""


def notices(own: OwnAgent | None, job: Job[Any], *, waits: bool, state: bool) -> tuple[str, ...]:
    """What the user of an agent or of tools of their own should know.

    Args:
        own: The agent.
        job: Final.
        waits: Whether a question may stay open.
        state: Whether episodes have tools of their own.
    """
    traffic = {Traffic.REPLAY: "only its tools are replayed", Traffic.RECORD: "only its tools are recorded"}
    recorded = traffic.get(job.config.tools or Traffic.LIVE, "nothing is recorded")
    said = [f"agent {own.name}: if it asks a model, that is live; {recorded}"] if own and not own.takes_model else []
    if waits and own:
        said.append(f"agent {own.name}: an episode that still waits when this command ends starts again on resume; answers are kept")
    elif waits and state:
        said.append("an episode that still waits when this command ends starts again on resume, with new tools; answers are kept")
    silent = [group for group in job.groups if not job.task.questions(group)] if job.options.stop_after is not None else []
    if silent:
        said.append(f"--stop-after {job.options.stop_after}: leaves out {', '.join(silent)}, which is asked no awareness questions")
    return tuple(said)


def lacking_tools(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> Iterator[Problem]:
    """Tools that scenarios offer and that are not there, and gold calls to tools that they do not offer."""
    for scenario in scenarios:
        for name in scenario.tools:
            if name not in specs:
                yield Problem(scenario.id, f"there is no tool '{name}'", "correct the name or add the tool")
        for call in scenario.gold_calls:
            if call.tool not in scenario.tools:
                yield Problem(scenario.id, f"gold call '{call.tool}' is not among its tools", "add it to `tools`")


def visible_hidden_tools(scenario: Scenario, own: OwnAgent | None, offered: Collection[str]) -> list[str]:
    """The tools that a scenario takes away and that the agent's model sees all the same, as they are built into it.

    Args:
        scenario: Without tools, it takes all away.
        own: The agent; None for our graph, which sees what is offered.
        offered: Names of the tools that are left.
    """
    if own is None:
        return []
    gone = {scenario.missing.name} if scenario.missing and scenario.missing.kind is MissingKind.TOOL else set()
    return sorted(({*scenario.tools} | gone if scenario.tools else own.built_in) & own.built_in - {*offered})


def can_hide_missing(scenario: Scenario, own: OwnAgent) -> bool:
    """Whether the agent misses all that the scenario itself takes away."""
    from talm_sim.tools_env.perturbations import open_perturbations  # not at the top: a table needs no environment

    left = [ToolSpec(name=name) for name in scenario.tools]
    for perturbation in open_perturbations(scenario.perturbations, seed=0, episode=scenario.id):
        left = perturbation.narrow(left, {})
    return not visible_hidden_tools(scenario, own, [tool.name for tool in left])


def run_notes(own: OwnAgent | None, job: Job[Any], left_out: int) -> dict[str, str]:
    """What a reader of the run should know of an agent whose tools are built into it.

    Args:
        own: The agent.
        job: Final.
        left_out: Scenarios that are not run, as it would not miss what they take away.
    """
    said = {}
    if own is not None and own.built_in and job.options.human != "none":
        said["ask_human not offered"] = "compiled graph"
    if left_out:
        scenarios = f"{left_out:,} scenario{' that takes' if left_out == 1 else 's that take'} away a tool"
        said["left out"] = f"{scenarios} which the model of a compiled graph still sees; {BUILDS}"
    return said


def check_tools(scenarios: Sequence[Scenario], environment: Environment, job: Job[Any], own: OwnAgent | None) -> None:
    """See that the tools of every scenario are there, and out of the agent's sight where they should be.

    Raises:
        PrerequisiteError: A scenario names a tool or perturbation that is not there, or hides a tool that is built into the agent.
    """
    if not environment.specs and any(scenario.tools for scenario in scenarios):
        where = job.config.cassettes or "the shipped recordings"
        raise PrerequisiteError(f"{where}: no tools are recorded there; choose another --cassettes, or add --tools live.")
    for scenario in scenarios:
        unknown = next((name for name in scenario.tools if name not in environment.specs), None)
        if unknown is not None and (whose := _whose(job)):
            raise PrerequisiteError(f"scenario {scenario.id}: no tool '{unknown}' among {whose}")
        try:
            offered = [tool.name for tool in environment.open(scenario).tools]
        except PrerequisiteError as err:  # the run's own were looked at when the environment was made
            raise PrerequisiteError(f"scenario {scenario.id}: perturbations: {str(err).removeprefix('--perturb ')}") from None
        hidden = visible_hidden_tools(scenario, own, offered)
        if hidden and own is not None:
            still = f"the model of {own.name}, a compiled graph, still sees {'it' if len(hidden) == 1 else 'them'}"
            raise PrerequisiteError(f"scenario {scenario.id} takes {format_names(hidden, 3)} away, but {still}; {BUILDS}.")


def _whose(job: Job[Any]) -> str:
    """Of a run with its own scenarios or its own tools, but not both: whose tools there are, and the option that brings the others."""
    own, theirs = job.config.scenarios, job.options.tools_from
    if own is not None and not theirs:
        return f"the built-in ones; name the tools {own} was written for: --tools-from [NAME=]KIND:PLACE."
    if own is None and theirs:
        wanted = "write scenarios for yours: talm-sim scenarios init --tools-from ... --out FILE, and add --scenarios FILE."
        return f"yours, which the packaged scenarios do not know; {wanted}"
    return ""


def tools_of(scenarios: Sequence[Scenario], environment: Environment) -> list[ToolSpec]:
    """The environment's tools that `scenarios` name, missing ones included."""
    named = {name for scenario in scenarios for name in (*scenario.tools, *(call.tool for call in scenario.gold_calls))}
    named |= {scenario.missing.name for scenario in scenarios if scenario.missing}
    return [spec for name, spec in sorted(environment.specs.items()) if name in named]
