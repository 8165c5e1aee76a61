"""talm-sim: what does a tool-using language model do when something is missing?

The public names are imported when they are first used, so `import talm_sim` costs nothing.

>>> import talm_sim
>>> stored = talm_sim.run(talm_sim.RunConfig(split="underspecified"))  # doctest: +SKIP
>>> stored.to_pandas()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talm_sim.agent.humans import HumanReply as HumanReply, Responder as Responder
    from talm_sim.agent.responders import ResponderContext as ResponderContext, register_responder as register_responder
    from talm_sim.comparison.compare import compare as compare
    from talm_sim.comparison.gate_set import check_gates as check_gates
    from talm_sim.comparison.run_power import power as power
    from talm_sim.config import RunConfig as RunConfig, Scope as Scope, option as option
    from talm_sim.errors import PrerequisiteError as PrerequisiteError, ToolError as ToolError
    from talm_sim.judges import Judge as Judge, register_judge as register_judge
    from talm_sim.judges.stats import share as share, wilson as wilson
    from talm_sim.models.registry import register_provider as register_provider
    from talm_sim.runs.ablation.play_grid import ablate as ablate, ablate_async as ablate_async
    from talm_sim.runs.api import (
        judge as judge,
        judge_async as judge_async,
        resume as resume,
        resume_async as resume_async,
        run as run,
        run_async as run_async,
    )
    from talm_sim.runs.engines.base import register_engine as register_engine
    from talm_sim.runs.engines.merge_shards import merge_runs as merge_runs
    from talm_sim.scenarios.load import select as select
    from talm_sim.store.listing import list_runs as list_runs
    from talm_sim.store.stored_run import StoredRun as StoredRun, load_run as load_run
    from talm_sim.tasks import (
        AgentOptions as AgentOptions,
        AgentTask as AgentTask,
        AgentTaskOptions as AgentTaskOptions,
        Job as Job,
        Request as Request,
        RunView as RunView,
        SingleStepTask as SingleStepTask,
        Task as Task,
        TaskOptions as TaskOptions,
        register_task as register_task,
    )
    from talm_sim.tools_env.environment import Environment as Environment
    from talm_sim.tools_env.perturbations import (
        Call as Call,
        ModelCall as ModelCall,
        ModelOptions as ModelOptions,
        ModelPerturbation as ModelPerturbation,
        ModelRequestError as ModelRequestError,
        Outcome as Outcome,
        Perturbation as Perturbation,
        PerturbationOptions as PerturbationOptions,
        ReadAnswer as ReadAnswer,
        ToolListOptions as ToolListOptions,
        register_perturbation as register_perturbation,
    )
    from talm_sim.tools_env.sources.factories import tool_factory as tool_factory
    from talm_sim.tools_env.sources.registry import register_tool_source as register_tool_source
    from talm_sim.types import (
        Approval as Approval,
        Decision as Decision,
        Episode as Episode,
        Fact as Fact,
        Facts as Facts,
        Form as Form,
        GoldCall as GoldCall,
        LabelMeasured as LabelMeasured,
        Matrix as Matrix,
        Measure as Measure,
        Measured as Measured,
        Missing as Missing,
        Rate as Rate,
        Row as Row,
        Scenario as Scenario,
        Section as Section,
        Summary as Summary,
        ToolSpec as ToolSpec,
        Turn as Turn,
        Verdict as Verdict,
    )

from talm_sim.version import __version__ as __version__

_HOMES = {
    "talm_sim.agent.humans": "HumanReply Responder",
    "talm_sim.agent.responders": "ResponderContext register_responder responder=register_responder",
    "talm_sim.comparison.compare": "compare",
    "talm_sim.comparison.gate_set": "check_gates",
    "talm_sim.comparison.run_power": "power",
    "talm_sim.config": "RunConfig Scope option",
    "talm_sim.errors": "PrerequisiteError ToolError",
    "talm_sim.judges": "Judge register_judge",
    "talm_sim.judges.stats": "share wilson",
    "talm_sim.models.registry": "provider=register_provider register_provider",
    "talm_sim.runs.ablation.play_grid": "ablate ablate_async",
    "talm_sim.runs.api": "judge judge_async resume resume_async run run_async",
    "talm_sim.runs.engines.base": "register_engine",
    "talm_sim.runs.engines.merge_shards": "merge_runs",
    "talm_sim.scenarios.load": "select",
    "talm_sim.store.listing": "list_runs",
    "talm_sim.store.stored_run": "StoredRun load_run",
    "talm_sim.tasks": "AgentOptions AgentTask AgentTaskOptions Job Request RunView SingleStepTask Task TaskOptions register_task",
    "talm_sim.tools_env.environment": "Environment",
    "talm_sim.tools_env.perturbations": (
        "Call ModelCall ModelOptions ModelPerturbation ModelRequestError Outcome Perturbation PerturbationOptions "
        "ReadAnswer ToolListOptions register_perturbation"
    ),
    "talm_sim.tools_env.sources.factories": "tool_factory",
    "talm_sim.tools_env.sources.registry": "register_tool_source",
    "talm_sim.types": (
        "Approval Decision Episode Fact Facts Form GoldCall LabelMeasured Matrix Measure Measured Missing Rate Row "
        "Scenario Section Summary ToolSpec Turn Verdict"
    ),
}
_SHOWN = ("talm_sim.runs.", "talm_sim.store.", "talm_sim.comparison.")


def _progress(wanted: bool | None) -> Any:
    from talm_sim.cli.progress.python_progress import progress

    return progress(wanted)


def _render_episode(value: Any) -> str:
    from talm_sim.cli.pages.notebook_cell import notebook_html

    return notebook_html(value)


def _hand_on(space: dict[str, Any], homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a module that hands names on, and set its `__all__`.

    Args:
        space: The module's `globals()`; a name that was imported is kept there.
        homes: Module to the names that come from it, with spaces between them; `old=name` is an old name, not in `__all__`.
    """
    found: dict[str, tuple[str, str]] = {}
    for module, names in homes.items():
        for name in names.split():
            public, _, own = name.partition("=")
            found[public] = (module, own or public)
    space["__all__"] = sorted(name for name, (_, own) in found.items() if name == own)

    def get(name: str) -> Any:
        """Import a public name from its home on first use."""
        if name not in found:
            raise AttributeError(f"module '{space['__name__']}' has no attribute '{name}'")
        module, own = found[name]
        space[name] = value = getattr(importlib.import_module(module), own)
        return value

    def list_names() -> list[str]:
        """List the public names, imported or not."""
        return sorted({*space, *found})

    return get, list_names


_get, __dir__ = _hand_on(globals(), _HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name from its home on first use."""
    if any(name in names.split() for module, names in _HOMES.items() if module.startswith(_SHOWN)):
        # Rooms do not look up to who shows them: whoever takes a run's verbs from here gets its progress and episodes shown by the command
        # line's room.
        importlib.import_module("talm_sim.runs.events").show_progress_with(_progress)
        importlib.import_module("talm_sim.types.pages").render_episodes_with(_render_episode)
    return _get(name)
