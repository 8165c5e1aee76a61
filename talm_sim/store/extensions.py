"""Note the extensions of a run when it starts, and check them when it continues; they are never imported automatically."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.plugins import Registry, load_named
from talm_sim.tasks import AgentOptions, Job, PersonOptions
from talm_sim.tools_env.sources.registry import read_source
from talm_sim.types import Scenario

_REGISTRIES = {
    "task": "talm_sim.tasks:TASKS",
    "judge": "talm_sim.judges.registry:JUDGES",
    "provider": "talm_sim.models.registry:PROVIDERS",
    "perturbation": "talm_sim.tools_env.perturbations:PERTURBATIONS",
    "responder": "talm_sim.agent.responders:RESPONDERS",
    "tool_source": "talm_sim.tools_env.sources.registry:TOOL_SOURCES",
    "engine": "talm_sim.runs.engines.base:ENGINES",
}
KINDS = tuple(_REGISTRIES)
"""The kinds of extensions."""


def name_extensions(job: Job[Any], scenarios: Sequence[Scenario], judges: Iterable[str]) -> dict[str, str]:
    """Name the tasks, judges, perturbations, responders and providers of a run that are not built in, and how to load each.

    Returns:
        `<kind> <name>`, for example `judge short`, to `--plugin MODULE` or `package NAME`.
    """
    used: dict[str, Iterable[str]] = {"task": [job.config.task], "judge": judges, "provider": [job.config.model.partition("/")[0]]}
    if isinstance(job.options, PersonOptions):
        used["responder"] = [job.options.human.partition(":")[0]]
    if isinstance(job.options, AgentOptions):
        written = {text for scenario in scenarios for text in scenario.perturbations} | set(job.options.perturb)
        used["perturbation"] = sorted({text.partition(":")[0] for text in written})
        used["tool_source"] = sorted({read_source(text)[0] for text in job.options.tools_from})
    return {f"{kind} {name}": origin for kind, names in used.items() for name in names if (origin := _registry(kind).origin(name))}


def check_brought(noted: Mapping[str, str], where: str, kinds: Sequence[str] = KINDS) -> None:
    """Check that the extensions of a stored run are available."""
    for thing, origin in noted.items():
        kind, _, name = thing.partition(" ")
        if kind in kinds and name not in _registry(kind):
            fix = f"add {origin}" if origin.startswith("--plugin") else f"install {origin}"
            raise PrerequisiteError(f"{where}: {kind} '{name}' is not known here; {fix}.")


def import_agent(given: Mapping[str, Any]) -> None:
    """Import the agent that the user names again for a stored run; a stored run imports nothing by itself."""
    if given.get("agent"):
        from talm_sim.agent.own.agents import hand_over, load_agent

        load_agent(hand_over(given["agent"]) or "")


def list_installed() -> list[dict[str, str]]:
    """List everything that other packages offer, with kind, name, origin and any fault; each is imported."""
    found = []
    for kind in KINDS:
        registry = _registry(kind)
        for name in registry.names():
            if origin := registry.origin(name):
                found.append({"kind": kind, "name": name, "origin": origin, "problem": _problem(registry, name)})
    return found


def _problem(registry: Registry[Any], name: str) -> str:
    try:
        registry.get(name)
    except PrerequisiteError as err:
        return str(err)
    return ""


def _registry(kind: str) -> Registry[Any]:
    return load_named(_REGISTRIES[kind], kind)  # imported when it is asked for
