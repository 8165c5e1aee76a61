"""Command-line options made from the fields of options models: name, type, default, help, environment variable, all written once.

A `ConfigCommand` is about runs: its shared options are those of `RunConfig`; those of the task it is about are found when the command line is
read: `--task`, then `TALM_SIM_TASK`, then the `--config` file; of a command about a stored run, the run's. An `OptionsCommand` has the fields
of one other model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from talm_sim.cli.parsing.field_options import SECTIONS, ConfigOption, flags_of, option_of, options_of
from talm_sim.cli.parsing.option_errors import explain_extra_words, fixed_option_error, task_of, unknown_option_error
from talm_sim.common.typed_options import OptionsModel
from talm_sim.config import RunConfig, Scope, Traffic, scope_of
from talm_sim.errors import OptionError, PrerequisiteError

Options = TypeVar("Options", bound=OptionsModel)

_JOINED = {
    Traffic.LIVE.value: ("--live|--replay|--record", "Ask models and tools, replay them, or record them."),
    "replay": None,
    "record": None,
    "help_all": ("-h, --help|--help-all", "Show the common options, or every one, and exit."),
}
"""Flags that are one line of the help page, by the option's name."""
_EVERYWHERE = "Each option can also be set as TALM_SIM_<NAME>, or by its name in --config; talm-sim config list shows those that have no flag."
_ALL = "talm_sim.help_all"
"""Key of Click's context: whether the help page shows every option."""


class ConfigCommand(click.Command):
    """A command with the shared options, the traffic flags and the options of the task it is about, each in its own section.

    `--help` shows the common ones, `--help-all` every one. The values arrive as keyword arguments, one per field (None or empty if not given);
    `collect` turns them into fields.

    Args:
        without: Fields the command does not take.
        shown: Fields whose options its help page shows; all that it takes by default.
        flags: Fields that have a flag here, though a new run has none for them.
        stored: Whether it is about a stored run: its task is the run's, nothing is taken from defaults, and there is no `--config`.
        anew: Fields of other scopes that the user repeats unchanged, since nothing that a stored run names is imported by itself.
    """

    def __init__(
        self,
        *args: Any,
        scopes: Collection[Scope] = tuple(Scope),
        without: Collection[str] = (),
        shown: Collection[str] = (),
        flags: Collection[str] = (),
        stored: bool = False,
        anew: Collection[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._scopes = scopes
        self._anew = anew
        self._shown = shown
        self._flags = flags
        self._stored = stored
        how = SECTIONS[Scope.OPERATIONAL]
        for name, field in RunConfig.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra["flag"] is not None and scope_of(RunConfig, name) in scopes and name not in without:
                self.params.append(option_of(RunConfig, name, stored=stored))
        if Scope.OPERATIONAL in scopes:
            self.params += [ConfigOption([f"--{way.value}"], is_flag=True, section=how, help="Both tools and models.") for way in Traffic]
        if not stored:
            file = ConfigOption(
                ["--config"], type=click.Path(path_type=Path), metavar="F.toml", section=how, help="TOML file with these options."
            )
            self.params.append(file)
        show_all: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all}
        self.params.append(ConfigOption(["--help-all"], rare=True, help="Show every option and exit.", **show_all))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the task first, then read the line with its options; another task's is refused by name."""
        task = ctx.meta["task"] = None
        try:
            task = ctx.meta["task"] = task_of(args, stored=self._stored)
        except PrerequisiteError:
            if not ctx.resilient_parsing:  # a shell that completes a word needs words, not an error
                raise
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as err:
            raise (fixed_option_error(err, task, self._scopes) if self._stored else unknown_option_error(err, task)) from None
        except click.UsageError as err:
            words = err.message.removeprefix("Got unexpected extra argument")
            if words == err.message or self._stored:
                raise
            raise click.UsageError(explain_extra_words(words.partition("(")[2].rstrip(")").split(), task)) from None
        if self._stored and task is not None:
            from talm_sim.runs.resolve import check_environment  # for a new run, `load_config` does this

            check_environment(os.environ, task, others=True)
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the shared options, then the task's own."""
        shared = super().get_params(ctx)
        if (task := ctx.meta.get("task")) is None:
            return shared
        title = f"Task {task.name}"
        own = [
            option_of(task.options, name, stored=self._stored, section=title, flag=name in self._flags)
            for name in task.options.model_fields
            if scope_of(task.options, name) in self._scopes or name in self._anew
        ]
        return [*shared, *own]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options first, then one section per scope, then the task's; rare ones only if all are asked for."""
        own = "Options" if self._stored else SECTIONS[Scope.OPERATIONAL]  # a new run's page is long enough
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS.values())}
        for param in self.get_params(ctx):
            record = _JOINED.get(param.name or "", param.get_help_record(ctx))
            if "--help" in param.opts or (self._shown and isinstance(param, ConfigOption) and param.name not in self._shown):
                continue
            if record is not None and (ctx.meta.get(_ALL) or not (isinstance(param, ConfigOption) and param.rare)):
                records.setdefault((param.section if isinstance(param, ConfigOption) else "") or own, []).append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=26)
        formatter.write_paragraph()
        if not self._stored:
            formatter.write_text(_EVERYWHERE)
        if not ctx.meta.get(_ALL) and not self._shown:
            formatter.write_text(f"These are the common options; {ctx.command_path} --help-all shows every one.")


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class OptionsCommand(click.Command):
    """A command whose options are the fields of one model, in their order, before those it declares itself.

    Neither the environment nor a `--config` file is read. The values arrive as keyword arguments; `parse_options` makes the model of them.

    Args:
        fields: Imports the model that a command line is about; called when the command runs, so that other commands do not wait for it.
        foreign: The error of an option that the model does not have, given the line and Click's own; that one by default.
    """

    def __init__(
        self,
        *args: Any,
        fields: Callable[[list[str]], type[OptionsModel]],
        foreign: Callable[[list[str], click.NoSuchOption], click.UsageError] = lambda args, err: err,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._fields = fields
        self._foreign = foreign

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the model first, then read the line with its options."""
        ctx.meta["words"] = words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as err:
            raise self._foreign(words, err) from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the fields' options, then the command's own."""
        return [*options_of(self._fields(ctx.meta.get("words", []))), *super().get_params(ctx)]


def parse_options(model: type[Options], values: Mapping[str, Any]) -> Options:
    """Build an options model from what was parsed by the options made of its fields."""
    given = {name: value for name, value in values.items() if value not in (None, ())}
    try:
        return model(**given)
    except OptionError as err:
        raise PrerequisiteError(f"{flags_of(model, err.name)[-1]}: {err.fault}") from None


def collect(options: Mapping[str, Any]) -> dict[str, Any]:
    """Turn parsed options into fields, shared ones and the task's; those not given are left out."""
    flags = {"config", *(way.value for way in Traffic)}
    values = {name: value for name, value in options.items() if name not in flags and value not in (None, ())}
    given = [way for way in Traffic if options.get(way.value)]
    if len(given) > 1:
        raise click.UsageError(f"--{given[0].value} and --{given[1].value} exclude each other.")
    for way in given:
        values.setdefault("tools", way)
        values.setdefault("models", way)
    return values


def parse_config(options: Mapping[str, Any]) -> RunConfig:
    """Build the config from parsed options, the environment and the `--config` file."""
    from talm_sim.runs.resolve import load_config  # not at the top: a help page builds no config

    return load_config(options.get("config"), **collect(options))
