"""Open the model that plays the person of a run, choose where its requests are recorded, and bound what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.common.toml_files import read_toml
from talm_sim.config import RunConfig, Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.models.registry import in_process
from talm_sim.tasks.acting.standing_in import hidden_tools
from talm_sim.tasks.base import Job
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.keys import recording_key
from talm_sim.tasks.options import AgentOptions, PersonOptions
from talm_sim.types import Scenario

if TYPE_CHECKING:
    from talm_sim.agent.humans import Responder
    from talm_sim.agent.person.model_person import PersonModel
    from talm_sim.agent.prompts import Prompts
    from talm_sim.recordings import CassetteLibrary
    from talm_sim.tasks.shared import Shared
    from talm_sim.tools_env.environment import Environment

OptionsT = TypeVar("OptionsT", bound=PersonOptions)


def prompts_of(job: Job[Any]) -> Prompts:
    """Return the wording of a job: of its agent, and of the model that plays the person."""
    from talm_sim.agent.prompts import load_prompts
    from talm_sim.tasks.registry import list_tasks

    file = job.config.prompts
    if isinstance(job.options, AgentOptions) or file is None:
        return load_prompts(file, job.task.name, list_tasks)
    # Of a task that asks most of its scenarios once, all other tables are about that.
    return load_prompts(file, "", lambda: read_toml(file, "prompts"))


def person_model(config: RunConfig) -> str:
    """Return the model that plays the person of a run, by its name; empty where none does."""
    from talm_sim.agent.person.model_person import named_model  # not at the top: a help page needs no agent

    return named_model(str(config.options.get("human", "")))


async def open_responder(job: Job[Any], shared: Shared, environment: Environment, prompts: Prompts) -> Callable[[Scenario, int], Responder]:
    """Open what answers at once, and return what makes the responder of a scenario and epoch."""
    from talm_sim.agent.responders import ResponderContext, responder_kind

    make = responder_kind(job.options.human).open
    assert make is not None
    library, model, key = shared.library(job.config.cassettes, job.task.recorded_in), job.config.model, recording_key(job)
    person = await _open_person(job, shared, prompts)

    hidden = hidden_tools([*environment.specs.values()], environment.perturb)

    def responder(scenario: Scenario, epoch: int) -> Responder:
        def recorded() -> Sequence[Any]:
            return library.human_answers(model, scenario.id, scenario.group, epoch, key)

        return make(ResponderContext(scenario, epoch, environment.specs, recorded, hidden, person))

    return responder


async def _open_person(job: Job[Any], shared: Shared, prompts: Prompts) -> PersonModel | None:
    """Open the model that plays the person, once for a session; return None where none does."""
    from talm_sim.agent.person.model_person import PersonModel, named_model

    if not (name := named_model(job.options.human)):
        return None
    library = shared.library(job.config.cassettes, job.task.recorded_in)
    traffic = person_traffic(job, name, library)
    as_person: dict[str, Any] = {"model": name, "tool_format": "native", "model_options": {}, "models": traffic}
    try:
        model = await shared.model(job.config.model_copy(update=as_person), job.created)
    except PrerequisiteError as err:
        flag = f"--human model:{name}: "
        raise PrerequisiteError(flag + str(err).removeprefix(flag)) from None
    if hasattr(model, "play"):
        raise PrerequisiteError(f"--human model:{name}: a control plays no person; name a model, or write --human simulated.")

    def open_request(digest: str, scenario: Scenario, epoch: int, ask: int) -> AbstractContextManager[object]:
        return library.conversation(name, scenario.id, scenario.group, epoch, ask, digest, traffic)

    return PersonModel(model, prompts, job.options.persona, job.config.seed, open_request)


def settle_person(job: Job[OptionsT], models: Traffic | None, tools: Traffic | None, library: CassetteLibrary) -> Job[OptionsT]:
    """Decide how the model that plays the person is reached beside an agent whose model has no traffic; `models` is the person's alone then.

    It is reached as the user says of models, else recorded or replayed as the tools; otherwise it is replayed where a recording is found.
    """
    if not (person := person_model(job.config)) or job.config.models is not None:
        return job
    asked = models or (None if tools is Traffic.LIVE else tools)
    return job.having(models=person_traffic(job.having(models=asked), person, library))


def person_traffic(job: Job[Any], model: str, library: CassetteLibrary) -> Traffic | None:
    """Return how the person's model is reached, of a job that is settled: as `models` says; None for one in process."""
    if in_process(model):
        return None
    models = job.config.models
    if models in (Traffic.LIVE, Traffic.RECORD):
        return models
    # Not in every group need the person have been asked.
    if any(library.has_model(model, [group]) for group in job.groups):
        return Traffic.REPLAY
    if models is None:
        return Traffic.LIVE
    raise PrerequisiteError(f"--human model:{model}: was not recorded, and this run is replayed; add --live, or write --human recorded.")


def person_bounds(scenarios: Sequence[Scenario], job: Job[Any]) -> Iterator[Bound]:
    """Yield what the person's model may cost in each episode: at most one question per turn of the agent, each read with all before it."""
    from talm_sim.agent.person.knowledge import knowledge_of
    from talm_sim.agent.person.model_person import ANSWER_TOKENS

    more = job.settings().max_new_tokens + ANSWER_TOKENS
    told = max_tokens_of(*prompts_of(job).person(job.options.persona))
    for scenario in scenarios:
        turns = job.task.asking_turns(scenario, job)
        first = told + max_tokens_of(knowledge_of(scenario, {}).text) + job.settings().max_new_tokens
        yield Bound(0, turns, turns * first + more * turns * (turns - 1) // 2, turns * ANSWER_TOKENS, last=first)


def who_answers(options: PersonOptions) -> str:
    """Return in words who answers the agent of a run."""
    persona = "" if options.persona == "none" else f", {options.persona}"
    return f"human played by {options.human.partition(':')[2]}{persona}" if ":" in options.human else f"{options.human} human"
