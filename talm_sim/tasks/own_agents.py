"""The user's own agent in place of ours: what a run may not ask of one that takes no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from talm_sim.config import DEFAULT_MODEL
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.keys import AnyJob

if TYPE_CHECKING:
    from talm_sim.agent.own.agents import OwnAgent

__all__ = ["own_agent", "refuse_model_faults", "settle_own_agent"]

JobT = TypeVar("JobT", bound=AnyJob)


def own_agent(job: AnyJob) -> OwnAgent | None:
    """Return the user's own agent; None where ours plays."""
    if job.options.agent is None:
        return None
    from talm_sim.agent.own.agents import find_agent

    return find_agent(job.options.agent)


def settle_own_agent(job: JobT) -> JobT:
    """Return the job, without a model where the agent takes none.

    Raises:
        PrerequisiteError: A model was named that the agent does not take, or a fault of its model.
    """
    own = own_agent(job)
    if own is None or own.takes_model:
        return job
    refuse_model_faults(job.options.perturb, own)
    name, named = f"agent/{own.name}", job.config.model
    if named not in (DEFAULT_MODEL, name):
        raise PrerequisiteError(
            f"--model {named}: agent {own.name} takes no model; leave out --model, or give the agent's function a parameter 'model'."
        )
    return job.having(model=name, models=None)


def refuse_model_faults(texts: Sequence[str], own: OwnAgent) -> None:
    """Check that no fault of the model is to be injected where the agent asks models of its own.

    Raises:
        PrerequisiteError: One is; the message begins with `--perturb`.
    """
    from talm_sim.tools_env.perturbations import PERTURBATIONS, parse_perturbation

    for spec in map(parse_perturbation, texts):
        if PERTURBATIONS.get(spec.name).family == "model":
            fix = f"leave it out, or give the function of {own.name} a parameter 'model' and use that."
            raise PrerequisiteError(f"--perturb {spec}: your agent takes no model; {fix}")
