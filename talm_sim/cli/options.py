"""Command-line options made from the fields of `RunConfig`: name, type, default, help, environment variable. Nothing is written twice."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.types import OptionHelpExtra
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from talm_sim.config import ENV_PREFIX, RunConfig, Scope, Traffic, scope_of

__all__ = ["ConfigCommand", "collect", "config_options", "load_config"]

Command = TypeVar("Command", bound=Callable[..., Any])

SECTIONS = {
    Scope.GENERATION: "What is run",
    Scope.SCORING: "What the answers are worth",
    Scope.OPERATIONAL: "How it is run",
}
_TRAFFIC_HELP = {
    Traffic.LIVE: "Tools and models live.",
    Traffic.REPLAY: "Tools and models from recordings; the network is never touched.",
    Traffic.RECORD: "Tools and models live, recorded under --cassettes.",
}


class ConfigOption(click.Option):
    """An option of one `RunConfig` field.

    Args:
        *args: As of `click.Option`.
        scope: The field's scope.
        shown_default: The field's default, for the help page.
        reads_environment: Whether the option reads its variable. For a new run `RunConfig.load` does, which knows the order of precedence.
        **kwargs: As of `click.Option`.
    """

    def __init__(self, *args: Any, scope: Scope, shown_default: str = "", reads_environment: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scope = scope
        self.shown_default = shown_default
        self.reads_environment = reads_environment

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Read the variable, or leave it to `RunConfig.load`."""
        return super().resolve_envvar_value(ctx) if self.reads_environment else None

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Split a list at its commas, as `RunConfig.load` does."""
        text = self.resolve_envvar_value(ctx)
        return text.split(",") if text and self.multiple else text

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name the option alone where the value cannot have come from the environment."""
        return super().get_error_hint(ctx) if self.reads_environment else f"'{self.opts[-1]}'"

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Add the field's default to what Click shows."""
        extra = super().get_help_extra(ctx)
        if self.shown_default:
            extra["default"] = self.shown_default
        return extra


class ConfigCommand(click.Command):
    """A command whose help page puts the options of each scope under a title of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options first, then one section a scope."""
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS.values())}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                records[SECTIONS[param.scope] if isinstance(param, ConfigOption) else "Options"].append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=26)


def config_options(
    scopes: Collection[Scope] = tuple(Scope), *, without: Collection[str] = (), stored: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of the fields in `scopes` and, with `OPERATIONAL`, the traffic flags.

    The values arrive as keyword arguments, one a field (None or empty where not given); `collect` turns them into fields.

    Args:
        scopes: Scopes whose fields become options.
        without: Fields the command does not take.
        stored: Whether the command changes a stored run's config, so that nothing is taken from defaults, and there is no `--config`.
    """
    options: list[Callable[[Command], Command]] = []
    for name, field in RunConfig.model_fields.items():
        if scope_of(name) in scopes and name not in without:
            options.append(_option(name, field, stored))
    if Scope.OPERATIONAL in scopes:
        options += [
            click.option(f"--{traffic.value}", cls=ConfigOption, is_flag=True, scope=Scope.OPERATIONAL, help=_TRAFFIC_HELP[traffic])
            for traffic in Traffic
        ]
    if not stored:
        options.append(
            click.option(
                "--config",
                cls=ConfigOption,
                type=click.Path(path_type=Path),
                metavar="F.toml",
                scope=Scope.OPERATIONAL,
                help="TOML file whose keys are these options' names; the command line and the environment go before it.",
            )
        )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def collect(options: Mapping[str, Any]) -> dict[str, Any]:
    """Turn parsed options into `RunConfig` fields; those not given are left out.

    Raises:
        click.UsageError: Two traffic flags, or a K=V option without "=".
    """
    values = {name: value for name, value in options.items() if name in RunConfig.model_fields and value not in (None, ())}
    for name, value in values.items():
        if isinstance(RunConfig.model_fields[name].default, dict):
            values[name] = dict(_pair(name, text) for text in value)
    given = [traffic for traffic in Traffic if options.get(traffic.value)]
    if len(given) > 1:
        raise click.UsageError(f"--{given[0].value} and --{given[1].value} exclude each other.")
    for traffic in given:
        values.setdefault("tools", traffic)
        values.setdefault("models", traffic)
    return values


def load_config(options: Mapping[str, Any]) -> RunConfig:
    """Build the config from parsed options, the environment and the `--config` file."""
    return RunConfig.load(options.get("config"), **collect(options))


def _pair(name: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--{name.replace('_', '-')}: '{text}' is no K=V pair.")
    return key, value


def _option(name: str, field: FieldInfo, stored: bool) -> Callable[[Command], Command]:
    """Return the decorator that adds the option of one field."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    long = "--" + name.replace("_", "-")
    declarations = [name, *([str(extra["flag"])] if extra["flag"] else []), long]
    settings: dict[str, Any] = {
        "help": field.description,
        "metavar": extra["metavar"] or None,
        "envvar": ENV_PREFIX + name.upper(),
        "show_envvar": True,
        "scope": scope_of(name),
        "shown_default": "" if stored else _shown(field.default),
        "reads_environment": stored,
        "default": None,
    }
    kind = _inner(field.annotation)
    if kind is bool:
        declarations[-1] = f"{long}/--no-{long[2:]}"
        settings |= {"shown_default": "", "metavar": None}
    elif get_origin(kind) in (tuple, dict):
        settings["multiple"] = True
    elif get_origin(kind) is Literal:
        settings["type"] = click.Choice([str(choice) for choice in get_args(kind)])
    elif isinstance(kind, type) and issubclass(kind, Enum):
        settings["type"] = click.Choice([str(member.value) for member in kind])
    elif kind is Path:
        settings["type"] = click.Path(path_type=Path)
    else:
        settings |= {"type": kind, "metavar": extra["metavar"] or name.upper().replace("_", "-")}
    return click.option(*declarations, cls=ConfigOption, **settings)


def _inner(annotation: Any) -> Any:
    """The type without `| None`."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def _shown(default: Any) -> str:
    """The default as the help page shows it; empty where there is none to show."""
    if default is PydanticUndefined or default in (None, (), {}):
        return ""
    return str(default.value if isinstance(default, Enum) else default)
