"""Read a command line before its options are known: find the task it is about, and report words that are not its options."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from talm_sim.common.toml_files import read_toml
from talm_sim.config import ENV_PREFIX, REMOVED, RunConfig, Scope, scope_of
from talm_sim.errors import PrerequisiteError, did_you_mean, line_to_copy


def task_of(args: list[str], *, stored: bool) -> Any:
    """Return the task a command line is about; None if that is unknown, which the command itself reports."""
    from talm_sim.runs.resolve import choose_task

    given = {"plugin": values_of("--plugin", args), "task": last_value_of("--task", args, "")}
    if stored:
        plugin = f"{ENV_PREFIX}PLUGIN"
        choose_task({}, None, {plugin: os.environ.get(plugin, "")}, given | {"task": ""})
        return next(_stored_tasks(args), None)
    file = next((Path(name) for name in reversed(values_of("--config", args))), None)
    return choose_task({} if file is None else read_toml(file, "--config"), file, os.environ, given)


def _stored_tasks(args: list[str]) -> Iterator[Any]:
    """Return the task of the run that a command line names: the first word that names one, full names before prefixes."""
    from talm_sim.store.files.manifest import MANIFEST, find_run, read_manifest
    from talm_sim.store.kept_shards import find_kept, read_plan
    from talm_sim.tasks.registry import find_task

    run_dir = Path(last_value_of("--run-dir", args, "") or os.environ.get(f"{ENV_PREFIX}RUN_DIR") or "runs")
    words = [word for word in args if not word.startswith("-")]
    for word in sorted(words, key=lambda word: not any((place / word / MANIFEST).is_file() for place in (Path(), run_dir))):
        with contextlib.suppress(PrerequisiteError):
            begun = find_kept(word, run_dir)
            kept = None if begun is None else read_plan(begun)
            yield find_task(read_manifest(find_run(word, run_dir)).config.task if begun is None or kept is None else kept.given(begun).task)


def last_value_of(flag: str, args: list[str], default: str) -> str:
    """Return the last value a command line gives an option, before it is parsed."""
    return next(reversed(values_of(flag, args)), default)


def values_of(flag: str, args: list[str]) -> list[str]:
    """Return all values a command line gives an option, before it is parsed."""
    spaced = [after for word, after in pairwise(args) if word == flag]
    return [*spaced, *(word.removeprefix(f"{flag}=") for word in args if word.startswith(f"{flag}="))]


def usage_message(err: click.ClickException) -> str:
    """Return what the user reads of an error that Click raises: with the name that was meant, or the words to write."""
    message = err.format_message()
    for its_words, said in (("valid integer", "whole number"), ("valid float", "number")):
        message = message.replace(f"{its_words} range.", f"{said}.").replace(f"{its_words}.", f"{said}.")
    ctx = err.ctx if isinstance(err, click.UsageError) else None
    if isinstance(err, click.NoSuchOption) and err.possibilities:
        return f"No such option '{err.option_name}'. Did you mean '{get_close_matches(err.option_name, err.possibilities, 1, 0)[0]}'?"
    if ctx is None:
        return message
    if isinstance(err, click.NoSuchOption) and ctx.info_name == "try" and err.option_name in ("--fault", "--faults", "--perturb"):
        message = f"No such option '{err.option_name}': try injects its own faults; for another: talm-sim run --perturb FAULT"
    if isinstance(err, click.NoSuchCommand) and isinstance(ctx.command, click.Group):
        return f"No such command '{err.command_name}'.{did_you_mean(err.command_name, ctx.command.list_commands(ctx))}"
    if isinstance(err, click.MissingParameter) and isinstance(err.param, click.Option):
        return f"{message.partition('.')[0]}; add {(err.param.get_help_record(ctx) or err.param.opts)[0]}"
    if isinstance(err, click.MissingParameter) or message.startswith("Got unexpected extra"):
        file = any("--scenarios" in one.opts for one in ctx.command.params) and message.endswith(".jsonl)")
        usage = "--scenarios FILE" if file else " ".join(ctx.command.collect_usage_pieces(ctx))
        return f"{message.rstrip('.')}; write: {ctx.command_path} {usage}"
    return message


def explain_extra_words(words: list[str], task: Any) -> str:
    """Explain words that belong to no option, and suggest the option."""
    splits = () if task is None else task.splits
    if all(part in splits for word in words for part in word.split(",")):
        return f"'{' '.join(words)}' is an unexpected argument; write {line_to_copy('--split', ','.join(words))}"
    if "/" in words[0] and not Path(words[0]).exists():
        return f"'{words[0]}' is an unexpected argument; write {line_to_copy('--model', words[0])}"
    return f"'{words[0]}' is an unexpected argument; every value follows the name of its option, as in --split perfect"


def unknown_option_error(err: click.NoSuchOption, task: Any) -> click.UsageError:
    """Return the error for an unknown option, or for another task's."""
    from talm_sim.tasks.registry import option_owner_message, owners_of_option

    name = err.option_name.lstrip("-").replace("-", "_")
    if name in REMOVED:
        return click.UsageError(f"{err.option_name} {REMOVED[name]}")
    owners = owners_of_option(name, task) if task is not None else []
    if not owners:
        return err
    return click.UsageError(f"{err.option_name} {option_owner_message(owners, task)}")


def fixed_option_error(err: click.NoSuchOption, task: Any, scopes: Collection[Scope]) -> click.UsageError:
    """Return the error of a command about a stored run: for an unknown option, a fixed one, or another task's."""
    from talm_sim.tasks.registry import owners_of_option

    name = err.option_name.lstrip("-").replace("-", "_")
    if name in REMOVED:
        return unknown_option_error(err, task)
    for model in () if task is None else (RunConfig, task.options):
        if name in model.model_fields and scope_of(model, name) not in scopes:
            judged = scope_of(model, name) is Scope.SCORING
            fix = "to use another value: talm-sim judge RUN" if judged else "to use another value, start a new run with: talm-sim run"
            return click.UsageError(f"{err.option_name} is fixed when a run is {'judged' if judged else 'made'}; {fix}")
    owners = owners_of_option(name, task) if task is not None else []
    return click.UsageError(f"{err.option_name} is an option of task {' or '.join(owners)}; the run is of task {task.name}.") if owners else err
