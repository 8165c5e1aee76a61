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
    from talm_sim.compare.comparison import compare
    from talm_sim.compare.gate_set import check_gates
    from talm_sim.compare.run_power import power
    from talm_sim.config import RunConfig, Scope, option
    from talm_sim.errors import PrerequisiteError, ToolError
    from talm_sim.judges import Judge, register_judge
    from talm_sim.judges.stats import share, wilson
    from talm_sim.models.registry import provider
    from talm_sim.runs.ablation.play_grid import ablate, ablate_async
    from talm_sim.runs.api import judge, judge_async, resume, resume_async, run, run_async
    from talm_sim.runs.engines.merge_shards import merge_runs
    from talm_sim.scenarios.load import select
    from talm_sim.store.listing import list_runs
    from talm_sim.store.stored_run import StoredRun, load_run
    from talm_sim.tasks import AgentOptions, AgentTask, AgentTaskOptions, Request, RunView, SingleStepTask, Task, TaskOptions, register_task
    from talm_sim.tools_env.environment import Environment
    from talm_sim.tools_env.perturbations import (
        Call,
        ModelCall,
        ModelOptions,
        ModelPerturbation,
        ModelRequestError,
        Outcome,
        Perturbation,
        PerturbationOptions,
        ReadAnswer,
        ToolListOptions,
        register_perturbation,
    )
    from talm_sim.tools_env.sources.factories import tool_factory
    from talm_sim.tools_env.sources.registry import register_tool_source
    from talm_sim.types import (
        Approval,
        Decision,
        Episode,
        Form,
        LabelMeasured,
        Matrix,
        Measure,
        Measured,
        Rate,
        Row,
        Scenario,
        Section,
        Summary,
        ToolSpec,
        Turn,
        Verdict,
    )

__version__ = "0.2.0"

__all__ = [
    "AgentOptions",
    "AgentTask",
    "AgentTaskOptions",
    "Approval",
    "Call",
    "Decision",
    "Environment",
    "Episode",
    "Form",
    "HumanReply",
    "Judge",
    "LabelMeasured",
    "Matrix",
    "Measure",
    "Measured",
    "ModelCall",
    "ModelOptions",
    "ModelPerturbation",
    "ModelRequestError",
    "Outcome",
    "Perturbation",
    "PerturbationOptions",
    "PrerequisiteError",
    "Rate",
    "ReadAnswer",
    "Request",
    "Responder",
    "ResponderContext",
    "Row",
    "RunConfig",
    "RunView",
    "Scenario",
    "Scope",
    "Section",
    "SingleStepTask",
    "StoredRun",
    "Summary",
    "Task",
    "TaskOptions",
    "ToolError",
    "ToolListOptions",
    "ToolSpec",
    "Turn",
    "Verdict",
    "__version__",
    "ablate",
    "ablate_async",
    "check_gates",
    "compare",
    "judge",
    "judge_async",
    "list_runs",
    "load_run",
    "merge_runs",
    "option",
    "power",
    "provider",
    "register_judge",
    "register_perturbation",
    "register_task",
    "register_tool_source",
    "responder",
    "resume",
    "resume_async",
    "run",
    "run_async",
    "select",
    "share",
    "tool_factory",
    "wilson",
]

_HOMES = {
    "AgentOptions": "talm_sim.tasks",
    "AgentTask": "talm_sim.tasks",
    "AgentTaskOptions": "talm_sim.tasks",
    "Approval": "talm_sim.types",
    "Call": "talm_sim.tools_env.perturbations",
    "Decision": "talm_sim.types",
    "Environment": "talm_sim.tools_env.environment",
    "Episode": "talm_sim.types",
    "Form": "talm_sim.types",
    "HumanReply": "talm_sim.agent.humans",
    "Judge": "talm_sim.judges",
    "LabelMeasured": "talm_sim.types",
    "Matrix": "talm_sim.types",
    "Measure": "talm_sim.types",
    "Measured": "talm_sim.types",
    "ModelCall": "talm_sim.tools_env.perturbations",
    "ModelOptions": "talm_sim.tools_env.perturbations",
    "ModelPerturbation": "talm_sim.tools_env.perturbations",
    "ModelRequestError": "talm_sim.tools_env.perturbations",
    "Outcome": "talm_sim.tools_env.perturbations",
    "Perturbation": "talm_sim.tools_env.perturbations",
    "PerturbationOptions": "talm_sim.tools_env.perturbations",
    "PrerequisiteError": "talm_sim.errors",
    "Rate": "talm_sim.types",
    "ReadAnswer": "talm_sim.tools_env.perturbations",
    "Request": "talm_sim.tasks",
    "Responder": "talm_sim.agent.humans",
    "ResponderContext": "talm_sim.agent.responders",
    "Row": "talm_sim.types",
    "RunConfig": "talm_sim.config",
    "RunView": "talm_sim.tasks",
    "Scenario": "talm_sim.types",
    "Scope": "talm_sim.config",
    "Section": "talm_sim.types",
    "SingleStepTask": "talm_sim.tasks",
    "StoredRun": "talm_sim.store.stored_run",
    "Summary": "talm_sim.types",
    "Task": "talm_sim.tasks",
    "TaskOptions": "talm_sim.tasks",
    "ToolError": "talm_sim.errors",
    "ToolListOptions": "talm_sim.tools_env.perturbations",
    "ToolSpec": "talm_sim.types",
    "Turn": "talm_sim.types",
    "Verdict": "talm_sim.types",
    "ablate": "talm_sim.runs.ablation.play_grid",
    "ablate_async": "talm_sim.runs.ablation.play_grid",
    "check_gates": "talm_sim.compare.gate_set",
    "compare": "talm_sim.compare.comparison",
    "judge": "talm_sim.runs.api",
    "judge_async": "talm_sim.runs.api",
    "list_runs": "talm_sim.store.listing",
    "load_run": "talm_sim.store.stored_run",
    "merge_runs": "talm_sim.runs.engines.merge_shards",
    "option": "talm_sim.config",
    "power": "talm_sim.compare.run_power",
    "provider": "talm_sim.models.registry",
    "register_judge": "talm_sim.judges",
    "register_perturbation": "talm_sim.tools_env.perturbations",
    "register_task": "talm_sim.tasks",
    "register_tool_source": "talm_sim.tools_env.sources.registry",
    "responder": "talm_sim.agent.responders",
    "resume": "talm_sim.runs.api",
    "resume_async": "talm_sim.runs.api",
    "run": "talm_sim.runs.api",
    "run_async": "talm_sim.runs.api",
    "select": "talm_sim.scenarios.load",
    "share": "talm_sim.judges.stats",
    "tool_factory": "talm_sim.tools_env.sources.factories",
    "wilson": "talm_sim.judges.stats",
}


def _progress(wanted: bool | None) -> Any:
    from talm_sim.cli.progress.python_progress import progress

    return progress(wanted)


def _render_episode(value: Any) -> str:
    from talm_sim.cli.pages.notebook_cell import notebook_html

    return notebook_html(value)


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'talm_sim' has no attribute '{name}'")
    if _HOMES[name].startswith(("talm_sim.runs.", "talm_sim.store.", "talm_sim.compare.")):
        # Rooms do not look up to who shows them: whoever takes a run's verbs from here gets its progress and episodes shown by the command
        # line's room.
        importlib.import_module("talm_sim.runs.events").show_progress_with(_progress)
        importlib.import_module("talm_sim.types.pages").render_episodes_with(_render_episode)
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
