"""Play BFCL's multi-turn rows: the agent's graph, with the simulated APIs, and without what only task `talm` has.

The other rows of the same run are asked as ever, by an agent without tools.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.tasks.acting.agent_notes import STARTS_AGAIN
from talm_sim.tasks.acting.person_model import prompts_of
from talm_sim.tasks.agent_task import tools_of
from talm_sim.tasks.base import Job
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.open_job import Opened, Recorded
from talm_sim.tasks.refusal.bfcl import MULTI_TURN, find_package
from talm_sim.tasks.refusal.bfcl.turn_rows import answered_turn
from talm_sim.tasks.refusal.tool_wording import RefusalOptions, load_wording
from talm_sim.tasks.refusal.turns.row_person import ALONE, open_person
from talm_sim.types import Scenario, ToolSpec

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from talm_sim.agent.episode import Agent
    from talm_sim.models.base import Model
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.environment import Environment

STEPS = 21
"""Turns with calls in one turn of the user's after which a row ends; BFCL stops when more than 20 are counted."""
RESULT_LIMIT = 64_000
"""Characters of a result that the model reads: the length of results is what `multi_turn_long_context` is about, whose longest has 28,000."""
_MOST_TURNS = 50
"""Turns of the user's in a row: more than any has."""
_NAME = "bfcl"


def acts(scenario: Scenario) -> bool:
    """Return whether the model acts in a scenario: it is a multi-turn row."""
    return scenario.group in MULTI_TURN


def has_acting_rows(options: RefusalOptions, *, alone: bool = False) -> bool:
    """Return whether a run has multi-turn rows, which are run only if their subsets are named; with `alone`, whether it has no others."""
    named = {*options.subset.split(",")}
    return named <= {*MULTI_TURN} if alone else not named.isdisjoint(MULTI_TURN)


def tool_traffic(job: Job[RefusalOptions], recorded: Recorded) -> Traffic:
    """Return how the functions are reached if the user does not say it: replayed with a replayed model, if they are recorded."""
    replayed = job.config.models is Traffic.REPLAY and recorded.tools
    return job.config.tools or (Traffic.REPLAY if replayed else Traffic.LIVE)


@asynccontextmanager
async def open_turns(
    job: Job[RefusalOptions], shared: Shared, asked: Opened[Job[Any]], control: Callable[[str, Scenario], Model | None]
) -> AsyncIterator[Opened[Job[Any]]]:
    """Open what the multi-turn rows of a run need, beside what its other rows need."""
    from talm_sim.agent.episode import Agent
    from talm_sim.agent.graph import TalmRules, talm_graph
    from talm_sim.tasks.refusal.turns.prompted import acting_model
    from talm_sim.tools_env.clock import VirtualClock
    from talm_sim.tools_env.environment import Environment

    config, template = job.config, asked.job.options.template
    live = () if config.tools is Traffic.REPLAY else (f"{_NAME}=bfcl:{find_package(job.options.bfcl)}",)
    tools = await shared.tools(config, live)
    environment = Environment(tools, seed=config.seed, clock=VirtualClock, result_limit=RESULT_LIMIT)
    model = acting_model(await shared.model(config, job.created), template, load_wording(config.prompts).get(template, ""))
    person = await open_person(asked.job, shared, environment)
    rules = TalmRules(person.prompts, {}, steps=STEPS, system=False, answered_turn=answered_turn, text_calls=config.tool_format == "auto")

    def agent(saver: BaseCheckpointSaver[Any] | None) -> Agent:
        other = asked.agent(saver)
        return Agent(
            model=model,
            graph=talm_graph(rules, saver),
            settings=job.settings(),
            environment=environment,
            human=job.options.human,
            human_tool=person.tool,
            alone=ALONE,
            responder=person.responder,
            ask_limits=person.limits,
            saver=saver,
            most_steps=2 * STEPS * _MOST_TURNS,
            control=control,
            choose=lambda scenario: None if acts(scenario) else other,
        )

    async with AsyncExitStack() as stack:
        stack.push_async_callback(environment.aclose)
        yield replace(
            asked,
            agent=agent,
            check=lambda scenarios: _check(scenarios, environment, asked),
            in_flight=None,
            tools_of=lambda scenarios: tools_of(scenarios, environment),
            human=job.options.human,
            waits=person.waits,
            starts_again=person.waits and tools.keep_state,
            wording={**asked.wording, **person.wording},
            notices=(*asked.notices, *([STARTS_AGAIN] if person.waits and tools.keep_state else ())),
        )


def _check(scenarios: Sequence[Scenario], environment: Environment, asked: Opened[Job[Any]]) -> Sequence[Scenario]:
    asked.check([one for one in scenarios if not acts(one)])
    for one in filter(acts, scenarios):
        if not environment.specs:
            raise PrerequisiteError(f"scenario {one.id}: its functions are not recorded there; record them with --record, or add --live.")
        environment.open(one)
    return scenarios


def turn_bounds(scenarios: Sequence[Scenario], job: Job[RefusalOptions], recorded: Recorded) -> Iterator[Bound]:
    """Return what each multi-turn row may cost: an answer for each turn of the user's at least, and all steps that it may take at most."""
    specs = _specs(scenarios, job, recorded)
    written = job.settings().max_new_tokens
    asking = [] if job.options.human == "none" else [prompts_of(job).human_tool()]
    for scenario in scenarios:
        turns = len(scenario.user_turns)
        said = [message["content"] for turn in scenario.turns for message in turn.messages]
        shown = [*(specs[name] for name in scenario.tools if name in specs), *([] if answered_turn(scenario) is None else asking)]
        first = max_tokens_of(*said, *(one.model_dump_json() for one in shown))
        # What a function returns is what the row starts from, or what the model wrote, unless it is padded.
        result = RESULT_LIMIT // 2 if scenario.start["long_context"] else max_tokens_of(json.dumps(scenario.start)) + written
        most, more = STEPS * turns, written + result
        yield Bound(turns, most, most * first + more * most * (most - 1) // 2, most * written, last=first + most * more)


def _specs(scenarios: Sequence[Scenario], job: Job[RefusalOptions], recorded: Recorded) -> Mapping[str, ToolSpec]:
    from talm_sim.tools_env.sources.bfcl.apis import read_specs

    known = recorded.library.tool_specs()
    return known if all(name in known for one in scenarios for name in one.tools) else read_specs(find_package(job.options.bfcl))
