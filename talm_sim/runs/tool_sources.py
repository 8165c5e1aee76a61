"""The sources of a run's tools: objects passed in Python, and those that the user must name again to continue a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.config import ENV_PREFIX, Scope, Traffic
from talm_sim.errors import PrerequisiteError, line_to_copy
from talm_sim.tasks import AgentOptions, Job


def move_tool_objects(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as they are written, where some are tools themselves: `tools=[...]` in place of their traffic, or among `tools_from`."""
    options = dict(options)
    tools, sources = options.get("tools"), options.get("tools_from") or ()
    given = [] if tools is None or isinstance(tools, str) else options.pop("tools")
    given = list(given) if isinstance(given, list | tuple) else [given]
    sources = list(sources) if isinstance(sources, list | tuple) else [sources]
    texts = [one for one in sources if isinstance(one, str)]
    given += [one for one in sources if not isinstance(one, str)]
    if given:
        from talm_sim.tools_env.sources.python import hand_over  # not at the top: it imports LangChain

        options["tools_from"] = (*texts, hand_over(given))
    return options


def resume_command(job: Job[Any], run: str, *options: str, **variables: str) -> str:
    """Return the command that continues a run, with the plugins, agent and tools of the user: a stored run starts none by itself."""
    words = [f"{ENV_PREFIX}{name.upper()}={value}" for name, value in variables.items()]
    words = [*(["env"] if words else []), *words, "talm-sim", "resume", run]
    words += [word for module in job.config.plugin for word in ("--plugin", module)]
    if agent := job.values(Scope.GENERATION).get("agent"):
        words += ["--agent", agent]
    if isinstance(job.options, AgentOptions) and job.config.tools is not Traffic.REPLAY:
        words += _source_words(job.options)
    return line_to_copy(*words, *options)


def _source_words(options: AgentOptions) -> list[str]:
    return [word for source in options.tools_from for word in ("--tools-from", source)] + ["--trust"] * options.trust


def check_sources(job: Job[Any], named: Sequence[str] | None, run: str) -> None:
    """Check that the user names the tool sources of a continued run again: a stored run never starts or imports them by itself."""
    if not isinstance(job.options, AgentOptions):
        return
    begun = job.options.tools_from
    if named is None and (not begun or job.config.tools is Traffic.REPLAY):
        return
    if tuple(named or ()) != begun:
        words = line_to_copy(*_source_words(job.options))
        fix = f"add {words}" if words else "leave out --tools-from"
        raise PrerequisiteError(f"{run}: was run with other tools, and talm-sim does not start what a stored run names; {fix}.")
