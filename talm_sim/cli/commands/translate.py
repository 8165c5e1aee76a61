"""`talm-sim scenarios translate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.cli.parsing.options import OptionsCommand, parse_options
from talm_sim.cli.parsing.shared_arguments import json_option, plugin_option, print_json, run_dir_option
from talm_sim.errors import PrerequisiteError

if TYPE_CHECKING:
    from talm_sim.tasks.translation.maker import TranslateOptions
    from talm_sim.types import Scenario


class _TranslateCommand(OptionsCommand):
    """A making whose source is an argument, not an option."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = [one for one in super().get_params(ctx) if not (one.name == "file" and isinstance(one, click.Option))]
        return sorted(found, key=lambda one: one.name != "to")


def _complete_places(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Offer the runs that begin with the word, otherwise files."""
    return completer_for("run")(context, parameter, word) or [CompletionItem(word, type="file")]


def _options(args: list[str]) -> type[TranslateOptions]:
    from talm_sim.tasks.translation.maker import TranslateOptions

    return TranslateOptions


@click.command("translate", cls=_TranslateCommand, fields=_options)
@click.argument("file", metavar="FILE|RUN", type=click.Path(path_type=Path), shell_complete=_complete_places)
@click.option("--dry-run", is_flag=True, help="Print the possible cost, and translate nothing.")
@run_dir_option
@plugin_option
@json_option
def translate(run_dir: Path, dry_run: bool, as_json: bool, **given: Any) -> int:
    """Translate what the user says in scenarios, with a model; run it again to continue.

    FILE is a scenario file of any task, RUN a stored run, whose scenarios are translated. Tools, targets and everything else stay as they
    are. Each row becomes ID.LANGUAGE, and `compare` pairs it with its original. A translation must keep the numbers and the values of the
    right calls, be in the language, and neither add nor leave out anything, as far as rules can tell. One that fails is kept with the
    reason and tried again, at most twice. Review the result with `scenarios review`. The exit code is 1 if no row was made, and as long as
    a text is left on which the provider failed.
    """
    from talm_sim.cli.making.generating import making_session, print_bound, print_report
    from talm_sim.tasks.translation.maker import TranslateOptions, TranslationMaker
    from talm_sim.tasks.translation.translation_review import ORIGINALS

    options = parse_options(TranslateOptions, given)
    assert options.file is not None
    task, scenarios = _read(options.file, run_dir)
    maker = TranslationMaker(options, scenarios)
    if dry_run:
        print_bound(maker, as_json=as_json)
        return 0
    report = making_session(task, maker)
    if as_json:
        print_json({name: value for name, value in report.items() if name != ORIGINALS})
    else:
        print_report(report, maker)
    made = any(group["made"] for group in report["groups"].values())
    return 1 if report["sources"]["failed"] or not made else 0


def _read(place: Path, run_dir: Path) -> tuple[str, Sequence[Scenario]]:
    """Return the task, and the scenarios as a run of a file plays them, or those of a stored run."""
    from talm_sim.config import RunConfig
    from talm_sim.store.stored_run import load_run
    from talm_sim.tasks.registry import find_task, job_of, task_of_file

    if place.is_file():
        _, task = task_of_file(place)
        return task, find_task(task).load(job_of(RunConfig(task=task, split="all", scenarios=place)))
    if place.suffix == ".jsonl" and not place.exists():
        raise PrerequisiteError(f"{place}: no such file; give a scenario file, or the name of a run.")
    stored = load_run(place, run_dir)
    return stored.job.task.name, [*stored.scenarios()]
