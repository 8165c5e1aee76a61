"""talm-sim: what does a tool-using language model do when something is missing?

The public names are imported when they are first used, so `import talm_sim` costs nothing.

>>> import talm_sim
>>> stored = talm_sim.run(talm_sim.RunConfig(split="underspecified"))  # doctest: +SKIP
>>> stored.to_pandas()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talm_sim.agent.humans import HumanReply, Responder
    from talm_sim.agent.responders import ResponderContext, responder
    from talm_sim.config import RunConfig
    from talm_sim.errors import PrerequisiteError, ToolError
    from talm_sim.runs.ablate import ablate
    from talm_sim.runs.api import judge, resume, run
    from talm_sim.runs.stored import StoredRun, load_run
    from talm_sim.tools_env.environment import Environment
    from talm_sim.tools_env.perturbations import Call, Outcome, Perturbation, PerturbationOptions, register_perturbation
    from talm_sim.types import Episode, Rate, Scenario, ToolSpec, Verdict

__version__ = "0.1.0"

__all__ = [
    "Call",
    "Environment",
    "Episode",
    "HumanReply",
    "Outcome",
    "Perturbation",
    "PerturbationOptions",
    "PrerequisiteError",
    "Rate",
    "Responder",
    "ResponderContext",
    "RunConfig",
    "Scenario",
    "StoredRun",
    "ToolError",
    "ToolSpec",
    "Verdict",
    "__version__",
    "ablate",
    "judge",
    "load_run",
    "register_perturbation",
    "responder",
    "resume",
    "run",
]

_HOMES = {
    "Call": "talm_sim.tools_env.perturbations",
    "Environment": "talm_sim.tools_env.environment",
    "Episode": "talm_sim.types",
    "HumanReply": "talm_sim.agent.humans",
    "Outcome": "talm_sim.tools_env.perturbations",
    "Perturbation": "talm_sim.tools_env.perturbations",
    "PerturbationOptions": "talm_sim.tools_env.perturbations",
    "PrerequisiteError": "talm_sim.errors",
    "Rate": "talm_sim.types",
    "Responder": "talm_sim.agent.humans",
    "ResponderContext": "talm_sim.agent.responders",
    "RunConfig": "talm_sim.config",
    "Scenario": "talm_sim.types",
    "StoredRun": "talm_sim.runs.stored",
    "ToolError": "talm_sim.errors",
    "ToolSpec": "talm_sim.types",
    "Verdict": "talm_sim.types",
    "ablate": "talm_sim.runs.ablate",
    "judge": "talm_sim.runs.api",
    "load_run": "talm_sim.runs.stored",
    "register_perturbation": "talm_sim.tools_env.perturbations",
    "responder": "talm_sim.agent.responders",
    "resume": "talm_sim.runs.api",
    "run": "talm_sim.runs.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'talm_sim' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
