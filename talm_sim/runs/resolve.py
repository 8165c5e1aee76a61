"""Turn what the user gave into what is run: sort names, check options, decide automatic values, admit overrides by scope."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from talm_sim.common.toml_files import read_toml
from talm_sim.common.typed_options import split_options
from talm_sim.config import ENV_PREFIX, REMOVED, WHOLE, RunConfig, Scope, Traffic, spell
from talm_sim.errors import OptionError, PrerequisiteError, did_you_mean, suggest_nearest
from talm_sim.foreign.plugins import load_plugins
from talm_sim.runs.tool_sources import move_tool_objects
from talm_sim.tasks import Job, Task, find_task, job_of, list_tasks
from talm_sim.tasks.registry import option_owner_message, owners_of_option

RECORDINGS = Path("recordings")
"""Where new recordings go unless the user names a directory: nothing is written to the shipped ones."""
_READ: list[Job[Any]] = []
"""The job that was last read from a command's options, so that its run need not read them again."""
_OTHER_VARIABLES = ("TALM_SIM_BENCH_DATA", "TALM_SIM_TEST_MODEL")
"""Names that look like options but are not: the project's own tests and benchmarks read them."""


def load_config(file: Path | None = None, environ: Mapping[str, str] | None = None, **options: Any) -> RunConfig:
    """Build a configuration from, in rising priority: defaults, TOML file, `TALM_SIM_<FIELD>` environment variables, `options`.

    The task is taken from the same places, in the same order, before its own options are read; a `plugin` is imported before that.
    """
    return read_config(file, environ, **options)[0]


def read_config(file: Path | None = None, environ: Mapping[str, str] | None = None, **options: Any) -> tuple[RunConfig, dict[str, str]]:
    """Build a configuration like `load_config`, and say where each value came from, in the words of a message."""
    environ = os.environ if environ is None else environ
    document = {} if file is None else read_toml(file, "--config")
    given = {name: value for name, value in options.items() if value is not None}
    task = choose_task(document, file, environ, given)
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, value, place in (*_from_file(document, file, task), *_from_environ(environ, task)):
        values[name], origin[name] = value, place
    for name, value in given.items():
        refuse_unknown(name, task, spelt=spell)
        values[name], origin[name] = value, _option_label(name, value, task)
    job = _build_job({**values, "task": task.name}, origin)
    _READ[:] = [job]
    return job.config, origin


def choose_task(document: Mapping[str, Any], file: Path | None, environ: Mapping[str, str], given: Mapping[str, Any]) -> Task[Any]:
    """Import the plugins that are named, and return the task that the command line, the environment or the TOML file chooses."""
    places = ((f"{file}: ", document, str), ("", environ, lambda name: ENV_PREFIX + name.upper()), ("--", given, str))
    task: tuple[str, Any] = "", RunConfig.model_fields["task"].default
    for before, values, spelt in places:
        modules = values.get(spelt("plugin"), ())
        if not isinstance(modules, str) and not (isinstance(modules, list | tuple) and all(isinstance(name, str) for name in modules)):
            raise PrerequisiteError(f"{before}{spelt('plugin')}: write names of modules, in quotes.")
        load_plugins(_parts(modules), before + spelt("plugin"))
        if values.get(spelt("task")):
            task = f"{before}{spelt('task')}: ", values[spelt("task")]
    place, name = task
    if not isinstance(name, str):
        raise PrerequisiteError(f"{place}write the name of a task, in quotes.")
    try:
        return find_task(name)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"{place}{err}") from None


def configure(config: RunConfig | None, options: Mapping[str, Any], *, look_up: bool = True, created: datetime | None = None) -> Job[Any]:
    """Return `config`, or the defaults, with `options` in place, as its task reads it.

    Args:
        config: The configuration before.
        options: Shared options and the task's own.
        look_up: Whether what the options name must exist; for a stored run that is only read or judged, it need not.
        created: When the run was created.
    """
    if config is not None and not isinstance(config, RunConfig):
        raise PrerequisiteError(f"{config!r} is not a RunConfig; name the option, as in split={config!r}.")
    if not options and _READ and config is _READ[0].config:
        return _READ[0].made(created)
    given = {} if config is None else {name: getattr(config, name) for name in config.model_fields_set if name != "options"}
    own = {} if config is None else config.options
    options = move_tool_objects(options)
    load_plugins(options.get("plugin", given.get("plugin", ())))
    before = given.get("task", RunConfig.model_fields["task"].default)
    try:
        task = find_task(str(options.get("task", before)))
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--task: {err}") from None
    for name in options:
        refuse_unknown(name, task, spelt=spell)
    if task.name != before:
        own = {}  # another task's
    values = {**given, **own, **options}
    return _build_job(values, {name: _option_label(name, value, task) for name, value in values.items()}, look_up=look_up, created=created)


def override(job: Job[Any], options: Mapping[str, Any], admitted: Collection[Scope], *, verb: str, otherwise: str) -> Job[Any]:
    """Return a stored run's `job` with `options` in place, all of scopes `admitted`; an unchanged value is not an override."""
    given = {name: value for name, value in options.items() if value is not None}
    if given.pop("on", None):
        raise PrerequisiteError(f"{verb}: --on belongs to `talm-sim run`; leave it out.")
    changed = configure(job.config, given, look_up=False, created=job.created)
    for name in given:
        before, after = (getattr(one.config if name in RunConfig.model_fields else one.options, name) for one in (job, changed))
        if changed.scope_of(name) not in admitted and after != before:
            flag = spell(name, RunConfig, type(job.options))
            raise PrerequisiteError(f"{verb}: {flag} would change from {_format_value(before)} to {_format_value(after)}; {otherwise}")
    return changed


def check_environment(environ: Mapping[str, str], task: Task[Any], *, others: bool = False) -> None:
    """Refuse a `TALM_SIM_<NAME>` that is not an option."""
    for variable in sorted(environ):
        name = variable.removeprefix(ENV_PREFIX).lower()
        if variable.startswith(ENV_PREFIX) and variable not in _OTHER_VARIABLES and not (others and owners_of_option(name, task)):
            refuse_unknown(name, task, spelt=lambda name: ENV_PREFIX + name.upper())


def refuse_unknown(name: str, task: Task[Any], place: str = "", *, spelt: Callable[[str], str] = str) -> None:
    """Refuse a name that is neither a shared option nor one of the task's own."""
    names = _names(task)
    if name in names:
        return
    if name in REMOVED:
        raise PrerequisiteError(f"{place}{spelt(name)} {REMOVED[name]}")
    if owners := owners_of_option(name, task):
        raise PrerequisiteError(f"{place}{spelt(name)} {option_owner_message(owners, task)}")
    raise PrerequisiteError(f"{place}unknown option '{spelt(name)}'.{suggest_nearest(name, names, spelt) or ' See: talm-sim config list'}")


def _build_job(values: Mapping[str, Any], origin: Mapping[str, str], *, look_up: bool = True, created: datetime | None = None) -> Job[Any]:
    """Return a configuration as its task reads it; every wrong option is reported with its place."""
    name = ""
    try:
        config = RunConfig(**values)
        job = job_of(config, created)
        if look_up:
            job.options.check()
            _check_files(config)
        return job
    except OptionError as err:
        name, message = err.name, err.fault
    except PrerequisiteError as err:
        name, _, message = str(err).partition(": ")
        if name not in values:
            raise
    raise PrerequisiteError(f"{origin.get(name, name)}: {message}") from None


def _check_files(config: RunConfig) -> None:
    """Check that the wordings and recordings that are named exist; where recordings are made, they need not."""
    if config.prompts is not None:
        read_toml(config.prompts, "prompts")
    if config.cassettes is not None and not config.cassettes.is_dir() and Traffic.RECORD not in (config.models, config.tools):
        raise PrerequisiteError(f"cassettes: there is no directory '{config.cassettes}'; add --record to make it, or leave it out.")


def _from_file(document: Mapping[str, Any], file: Path | None, task: Task[Any]) -> Iterator[tuple[str, Any, str]]:
    """Return values of the file's top level, then of the table of `task`; of other tasks' tables, only the names are looked at."""
    if not isinstance(document.get(task.name, {}), dict):
        raise PrerequisiteError(f"{file}: '{task.name}' must be a table of the task's options.")
    tasks = list_tasks()
    tables = {key: value for key, value in document.items() if isinstance(value, dict) and key in tasks}
    top = {key: value for key, value in document.items() if key not in tables}
    for key in top:
        name = key.replace("-", "_")
        if name not in _names(task) and (name in REMOVED or owners_of_option(name, task)):
            refuse_unknown(name, task, f"{file}: ")
    yield from _of_table(top, _names(task), f"{file}: ")
    for other, table in tables.items():
        if other == task.name:
            continue
        try:
            known = [*find_task(other).options.model_fields]
        except PrerequisiteError:  # a broken package must not fail a run of this task
            continue
        for _ in _of_table(table, known, f"{file}: ", f"{other}."):
            pass
    yield from _of_table(tables.get(task.name, {}), [*task.options.model_fields], f"{file}: ", f"{task.name}.")


def _of_table(keys: Mapping[str, Any], known: Collection[str], place: str, table: str = "") -> Iterator[tuple[str, Any, str]]:
    """Return name, value and place of each key; refuse an unknown one, and a name given twice, once with a dash."""
    given: dict[str, str] = {}
    for key, value in keys.items():
        name = key.replace("-", "_")
        if name not in known:
            raise PrerequisiteError(f"{place}unknown key '{table}{key}'.{did_you_mean(name, known)}")
        if name in given:
            raise PrerequisiteError(f"{place}{table}{key} is set twice, as '{given[name]}' and '{key}'; leave one out.")
        given[name] = key
        yield name, value, f"{place}{table}{key}"


def _from_environ(environ: Mapping[str, str], task: Task[Any]) -> Iterator[tuple[str, Any, str]]:
    """Return values given as `TALM_SIM_<FIELD>`; lists are split at commas, `k=v` lists become mappings."""
    check_environment(environ, task)
    models: tuple[type[BaseModel], ...] = (RunConfig, task.options)
    for name, field in ((name, field) for model in models for name, field in model.model_fields.items() if name != "options"):
        variable = ENV_PREFIX + name.upper()
        if (text := environ.get(variable)) is None:
            continue
        if isinstance(field.default, tuple):
            yield name, (text,) if name in WHOLE else _parts(text), variable
        elif isinstance(field.default, dict):
            yield name, split_options(_parts(text), f"{variable}: "), variable
        else:
            yield name, text, variable


def _option_label(name: str, value: Any, task: Task[Any]) -> str:
    """Return what a message calls an option; an agent that is an object can only be passed in Python."""
    return name if name == "agent" and not isinstance(value, str) else spell(name, RunConfig, task.options)


def _names(task: Task[Any]) -> list[str]:
    """List all options: the shared ones, then the task's own."""
    return [name for name in (*RunConfig.model_fields, *task.options.model_fields) if name != "options"]


def _parts(text: Any) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part) if isinstance(text, str) else tuple(text)


def _format_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"'{', '.join(map(str, value))}'" if value else "none"
    return "none" if value is None else f"'{value}'"
