"""Complete a word in a shell: names of tasks, splits, models, runs, episodes and the like."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from talm_sim.config import ENV_PREFIX, JudgeSampling
from talm_sim.foreign.plugins import load_named

if TYPE_CHECKING:
    from talm_sim.store.stored_run import StoredRun

_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_SAFE = re.compile(r"[\w@+:,./-][\w@%+=:,./-]*")
"""Names that every shell takes as they are: bash inserts what it receives, without quotes."""
_RUNS = 50
"""How many runs are offered, the newest; an older one needs more of its name."""


def completes(kind: str, place: str = "", *, several: bool = False, files: bool = False) -> _Complete:
    """Make the function by which a parameter completes its values."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        # A word that cannot be completed can be typed; the command itself reports the error.
        found = [CompletionItem(incomplete, type="file")] if files else []
        with contextlib.suppress(Exception):
            before, comma, word = incomplete.rpartition(",") if several else ("", "", incomplete)
            found += [
                CompletionItem(before + comma + name)
                for name in (load_named(place, "") if place else COMPLETED[kind](context, word))
                if name.startswith(word) and name not in before.split(",") and _is_completable(name, parameter)
            ]
        return found

    return complete


def _is_completable(name: str, parameter: click.Parameter) -> bool:
    """Return whether a name, which a stranger may have chosen, is safe in a shell and is not read as an option."""
    return _SAFE.fullmatch(name) is not None and not (name.startswith("-") and isinstance(parameter, click.Argument))


def _run_dir(context: click.Context) -> Path:
    return Path(context.params.get("run_dir") or os.environ.get(f"{ENV_PREFIX}RUN_DIR") or "runs")


def _task(context: click.Context) -> Any:
    from talm_sim.config import RunConfig
    from talm_sim.tasks.registry import find_task

    return context.meta.get("task") or find_task(context.params.get("task") or str(RunConfig.model_fields["task"].default))


def _tasks(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.tasks.registry import list_tasks

    return list_tasks()


def _makers(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.tasks.registry import list_makers

    return list_makers()


def _splits(context: click.Context, _: str) -> Iterable[str]:
    return list(_task(context).splits)


def _templates(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.tasks.templates import list_templates

    return [*list_templates(), *_task(context).options.own_templates]


def _scenarios(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.tasks.registry import known_scenarios

    return [scenario.id for scenario in known_scenarios(_task(context), "all", context.params.get("scenarios") or context.params.get("file"))]


def _tools(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.recordings import CassetteLibrary

    return sorted(CassetteLibrary().tool_specs())


def _categories(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.recordings import CassetteLibrary

    return sorted({spec.category for spec in CassetteLibrary(context.params.get("cassettes")).tool_specs().values()})


def _models(context: click.Context, _: str) -> Iterable[str]:
    """List the recorded models, the controls, and the beginnings of all others."""
    from talm_sim.models.control_names import EVERY_CONTROL
    from talm_sim.models.registry import list_providers
    from talm_sim.recordings import CassetteLibrary

    yield from (f"sim/{name}" for name in EVERY_CONTROL)
    recorded = {one.model for one in CassetteLibrary(context.params.get("cassettes")).describe()} - {"tools"}
    for one in list_providers():
        yield from (f"{one.name}/{service}/" for service in one.found)
        yield f"{one.name}/"
    yield from sorted(recorded)


def _model_options(_: click.Context, word: str) -> Iterator[str]:
    """List the folders here, or in the folder that was typed, that contain an adapter, and those on the way to one."""
    key, equals, place = word.partition("=")
    if not equals:
        yield "lora="
    if key != "lora":
        return
    before, slash = place.rpartition("/")[:2]
    for folder in sorted(path for path in Path(before + slash or ".").iterdir() if path.is_dir() and not path.name.startswith(".")):
        yield f"lora={before}{slash}{folder.name}{'' if (folder / 'adapter_config.json').is_file() else '/'}"


def _providers(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.models.registry import list_providers

    return [one.name for one in list_providers()]


def _perturbations(context: click.Context, word: str) -> Iterable[str]:
    from talm_sim.tools_env.perturbations import PERTURBATIONS

    name, colon, option = word.partition(":")
    if not colon:
        return PERTURBATIONS.names()
    before, equals, _ = option.rpartition("=")
    return [f"{name}:{before}={tool}" for tool in _tools(context, "")] if before == "tool" and equals else [f"{name}:tool="]


def _sources(context: click.Context, word: str) -> Iterable[str]:
    """List the kinds of sources, also after the name that one is given; after a source's place, the options of its kind."""
    from talm_sim.tools_env.sources.registry import BUILT_IN, TOOL_SOURCES, options_of_source

    source, comma, _ = word.rpartition(",")
    if comma:
        return [f"{source},{option}=" for option in options_of_source(source)]
    name, equals, _ = word.rpartition("=")
    handed_over = {"given"}
    return [f"{name}{equals}{kind}{'' if kind == BUILT_IN else ':'}" for kind in TOOL_SOURCES.names() if kind not in handed_over]


def _judges(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.judges.registry import JUDGES
    from talm_sim.tasks.registry import every_task

    brought = {name for task in every_task() for name in task.judge_classes}
    return [*JUDGES.names(), *sorted(brought - {*JUDGES.names()})]


def _responders(context: click.Context, word: str) -> Iterable[str]:
    """List the responders and, after the colon of one that a model plays, the models; a control plays no person."""
    from talm_sim.agent.responders import RESPONDERS

    kind, colon, _ = word.partition(":")
    if colon:
        return [f"{kind}:{model}" for model in _models(context, "") if not model.startswith("sim/")] if kind == "model" else []
    return ["none", *(f"{name}:" if name == "model" else name for name in RESPONDERS.names())]


def _runs(context: click.Context, word: str) -> Iterable[str]:
    from talm_sim.store.files.manifest import LATEST, run_names

    names = [name for name in run_names(_run_dir(context)) if name.startswith(word)]
    return [*names[-_RUNS:], *([LATEST] if names or LATEST.startswith(word) else [])]


def _episodes(context: click.Context, word: str) -> Iterator[str]:
    """List runs and, after a run's name and a colon, its episodes."""
    return _with_parts(context, word, lambda run: run.episode_ids())


def _sides(context: click.Context, word: str) -> Iterator[str]:
    """List runs and, after a run's name and a colon, its groups."""
    return _with_parts(context, word, lambda run: dict.fromkeys(one.group for one in run.scenarios()))


def _with_parts(context: click.Context, word: str, parts: Callable[[StoredRun], Iterable[str]]) -> Iterator[str]:
    from talm_sim.store.stored_run import load_run

    run, colon, _ = word.rpartition(":")
    yield from (f"{run}:{name}" for name in parts(load_run(run, _run_dir(context)))) if colon else _runs(context, word)


def _run_of(context: click.Context) -> str:
    """Return the run that a line names; Click reads no argument before an option whose value is not there yet."""
    return str(context.params.get("run") or next(word for word in context.args if not word.startswith("-")))


def _people(context: click.Context, _: str) -> Iterator[str]:
    """List the people who judged the run that the line names."""
    from talm_sim.store.stored_run import load_run

    yield from dict.fromkeys(name for one in load_run(_run_of(context), _run_dir(context)).people() for name in one.names)


def _questions(context: click.Context, _: str) -> Iterator[str]:
    """List what people are asked of the run that the line names."""
    from talm_sim.store.stored_run import load_run

    job = load_run(_run_of(context), _run_dir(context)).job
    yield from (one.name for one in job.task.person_questions(job))


def _engines(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.runs.engines.base import ENGINES

    return ENGINES.names()


def _bases(context: click.Context, _: str) -> Iterable[str]:
    """List the models that can be trained: those that were fetched, and the beginning of all others."""
    from talm_sim.models.local.folders import models_folder

    return ["hf/", *sorted(f"hf/{one.name}" for one in models_folder().glob("*"))]


def _explained(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.cli.report.explanations import explained_words

    return explained_words()


def _recipes(context: click.Context, _: str) -> Iterable[str]:
    from talm_sim.training.recipe import RECIPES

    return RECIPES


COMPLETED: dict[str, Callable[[click.Context, str], Iterable[str]]] = {
    "task": _tasks,
    "maker": _makers,
    "split": _splits,
    "template": _templates,
    "scenario": _scenarios,
    "category": _categories,
    "tool": _tools,
    "model": _models,
    "judge_model": _models,
    "judge_options": lambda context, word: [f"{name}=" for name in JudgeSampling.model_fields],
    "model_options": _model_options,
    "provider": _providers,
    "perturb": _perturbations,
    "explained": _explained,
    "tools_from": _sources,
    "judge": _judges,
    "human": _responders,
    "on": _engines,
    "run": _runs,
    "paired_run": _runs,
    "baseline": _runs,
    "episode": _episodes,
    "side": _sides,
    "people": _people,
    "question": _questions,
    "base": _bases,
    "recipe": _recipes,
}
"""Existing names by what they name, which may be an option's field."""
