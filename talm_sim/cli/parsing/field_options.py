"""Make a command-line option from a field: its flags, type, default and help; say where a field without a flag is set."""

from __future__ import annotations

import contextlib
import json
import math
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from click.types import OptionHelpExtra
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from talm_sim.cli.parsing.lazy import completer_for
from talm_sim.common.typed_options import split_options
from talm_sim.config import ENV_PREFIX, WHOLE, RunConfig, Scope, has_flag, scope_of, takes_several

SECTIONS = {
    Scope.GENERATION: "Selection",
    Scope.SCORING: "Scoring",
    Scope.OPERATIONAL: "Execution",
}


class ConfigOption(click.Option):
    """An option of one field.

    Args:
        rare: Whether only `--help-all` shows it.
        places: Where else it is set, if it has no flag: a line that begins with it and refuses it; empty if it has one.
        reads_environment: Whether the option reads its variable. For a new run `load_config` does, which knows the order of precedence.
        maps: Whether its values are `KEY=VALUE`, and together one mapping.
    """

    def __init__(
        self,
        *args: Any,
        section: str = "",
        rare: bool = False,
        places: str = "",
        shown_default: str = "",
        reads_environment: bool = False,
        maps: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.hidden = bool(places)
        self.section = section
        self.places = places
        self.rare = rare
        self.shown_default = shown_default
        self.reads_environment = reads_environment
        self.maps = maps

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Make one mapping of several `KEY=VALUE`."""
        found = super().process_value(ctx, value)
        return split_options(found, f"{self.opts[-1]}: ") if self.maps and found and not ctx.resilient_parsing else found

    def handle_parse_result(self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]) -> tuple[Any, list[str]]:
        """Refuse an option that has no flag, and say where it is set."""
        if self.places and self.name in opts:
            value = opts[self.name]
            raise click.UsageError(self.places.format(value=value if _is_number(value) else json.dumps(value, ensure_ascii=False)))
        return super().handle_parse_result(ctx, opts, args)

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Read the variable, or leave it to `load_config`."""
        return super().resolve_envvar_value(ctx) if self.reads_environment else None

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Split a list at its commas, as `load_config` does."""
        text = self.resolve_envvar_value(ctx)
        return ([text] if self.name in WHOLE else text.split(",")) if text and self.multiple else text

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name only the option if the value cannot come from the environment."""
        return super().get_error_hint(ctx) if self.reads_environment else f"'{self.opts[-1]}'"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Show the half of a switch that changes something."""
        record = super().get_help_record(ctx)
        on, slash, off = record[0].partition(" / ") if record else ("", "", "")
        return record if record is None or not slash else ((off if self.shown_default == "True" else on), record[1])

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Add the field's default to what Click shows, and leave out the variable: one line covers all of them."""
        extra = super().get_help_extra(ctx)
        extra.pop("envvars", None)
        if self.shown_default and not self.secondary_opts:
            extra["default"] = self.shown_default
        return extra


def options_of(model: type[BaseModel]) -> Iterator[ConfigOption]:
    """Make the options of all fields; Click itself checks bounds, and a field with a flag per value becomes several options."""
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra
        assert isinstance(extra, dict)
        flags = extra["flags"]
        assert isinstance(flags, dict)
        if not flags:
            yield option_of(model, name, bounded=True)
        for value, text in flags.items():
            yield ConfigOption([f"--{value}", name], flag_value=value, section="", help=str(text))


def config_options(*names: str) -> Callable[[click.Command], click.Command]:
    """Give a command about stored runs some options of a new run; each reads its variable."""

    def add(command: click.Command) -> click.Command:
        command.params += [option_of(RunConfig, name, stored=True, flag=True) for name in names]
        return command

    return add


def option_of(
    model: type[BaseModel], name: str, *, stored: bool = False, bounded: bool = False, section: str = "", flag: bool = False
) -> ConfigOption:
    """Make the option of one field.

    Args:
        model: The options model.
        name: Its field.
        stored: Whether it overrides a stored value, so that no default is shown and Click itself reads the environment.
        bounded: Whether Click itself sees to the field's bounds and shows them; else only the model does, which knows where a value came from.
        section: Title on the help page; that of the field's scope by default.
        flag: Whether it has a flag here, even if a new run has none for it.
    """
    field = model.model_fields[name]
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    *short, long = flags_of(model, name)
    declarations = [name, *short, long]
    settings: dict[str, Any] = {
        "help": field.description,
        "metavar": extra["metavar"] or None,
        "envvar": ENV_PREFIX + name.upper(),
        "section": section or SECTIONS[scope_of(model, name)],
        "rare": bool(extra["rare"]),
        "places": "" if flag or has_flag(model, name) else _places(name, stored=stored),
        "shown_default": "" if stored or "[default: " in (field.description or "") else _format_default(field.default),
        "reads_environment": stored,
        "default": None,
        "required": field.is_required(),
    }
    if (kind := inner_type(field.annotation)) is bool:
        declarations[-1] = f"{long}/--no-{long[2:]}"
        settings |= {"shown_default": str(field.default), "metavar": None}
    elif get_origin(kind) in (tuple, dict):
        settings |= {"multiple": True, "maps": get_origin(kind) is dict}
    elif get_origin(kind) is Literal:
        settings["type"] = click.Choice([str(choice) for choice in get_args(kind)])
    elif isinstance(kind, type) and issubclass(kind, Enum):
        settings["type"] = click.Choice([str(member.value) for member in kind])
    elif kind is Path:
        settings["type"] = click.Path(path_type=Path)
    else:
        settings |= {"type": _range(kind, field) if bounded else kind, "metavar": extra["metavar"] or name.upper().replace("_", "-")}
    if "type" not in settings or kind is str or extra["metavar"] == "RUN":
        settings["shell_complete"] = completer_for(name, str(extra.get("complete", "")), several=takes_several(field))
    return ConfigOption(declarations, **settings)


def flags_of(model: type[BaseModel], name: str) -> list[str]:
    """Return the flags of a field: a short one if it has one, and the long one, made of its name unless it has its own."""
    extra = model.model_fields[name].json_schema_extra
    own = str(extra["flag"]) if isinstance(extra, dict) and extra["flag"] else ""
    if own.startswith("--"):
        return [own]
    return [*([own] if own else []), "--" + name.replace("_", "-")]


def _places(name: str, *, stored: bool) -> str:
    """Return where an option without a flag is set, as a line with a place for its value; a command on a stored run reads no file."""
    file = f"in the file of --config ({name} = {{value}}), or " if not stored else ""
    return f"--{name.replace('_', '-')} is set {file}as {ENV_PREFIX}{name.upper()}"


def _is_number(value: Any) -> bool:
    with contextlib.suppress(ValueError):
        return isinstance(value, str) and math.isfinite(float(value))
    return False


def fields_without_flags(task: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of each option of a run that has no flag, shared ones and the task's."""
    for model in (RunConfig, task.options):
        for name, field in model.model_fields.items():
            if name != "options" and not has_flag(model, name):
                default = option_of(model, name).shown_default
                yield name, f"{field.description}{f'  [default: {default}]' if default else ''}"


def _range(kind: Any, field: FieldInfo) -> Any:
    """Return the type of a number within the field's bounds; any other type unchanged."""
    bounds = {sign: value for mark in field.metadata for sign in ("ge", "gt", "le") if (value := getattr(mark, sign, None)) is not None}
    if not bounds:
        return kind
    number = click.IntRange if kind is int else click.FloatRange
    return number(bounds.get("ge", bounds.get("gt")), bounds.get("le"), min_open="gt" in bounds)


def inner_type(annotation: Any) -> Any:
    """Return the type without `| None` and what pydantic checks beyond it."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _format_default(default: Any) -> str:
    """Return the default as the help page shows it; empty if there is none."""
    if default is PydanticUndefined or default in (None, (), {}):
        return ""
    return str(default.value if isinstance(default, Enum) else default)
