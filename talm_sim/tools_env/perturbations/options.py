"""What is written after a perturbation's name: typed, refused in one line, and told of by `talm-sim perturbations show`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from talm_sim.errors import PrerequisiteError, did_you_mean

__all__ = ["OptionHelp", "PerturbationOptions", "PerturbationSpec", "option_help", "read_options"]


@dataclass(frozen=True, slots=True)
class PerturbationSpec:
    """A perturbation as written: a name and its options."""

    name: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        options = ",".join(f"{key}={value}".replace(",", r"\,") for key, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name

    @classmethod
    def parse(cls, text: str) -> PerturbationSpec:
        r"""Read `NAME[:key=value,...]`; a comma within a value is written `\,`.

        Raises:
            PrerequisiteError: An option is not `key=value`.

        >>> PerturbationSpec.parse(r"banner:text=Sorry\, closed,p=0.5").options
        {'text': 'Sorry, closed', 'p': '0.5'}
        """
        name, _, rest = text.partition(":")
        options: dict[str, str] = {}
        for part in filter(None, re.split(r"(?<!\\),", rest)):
            key, equals, value = part.partition("=")
            if not equals or not key or not value:
                raise PrerequisiteError(f"--perturb {text}: '{part}' is no option; write key=value.")
            options[key] = value.replace(r"\,", ",")
        return cls(name, options)


class PerturbationOptions(BaseModel):
    """The options every perturbation takes; those of its own are fields of a subclass, of any type that can be written as text.

    A field's description is its help, its title the noun of the message that refuses a wrong value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    tool: str = Field("", description="Only calls of this tool.")
    p: float = Field(1.0, ge=0, le=1, title="a chance", description="Chance to fire on a call.")
    times: int | None = Field(None, ge=0, description="Times it fires in an episode, at most.")


Options = TypeVar("Options", bound=PerturbationOptions)


def read_options(spec: PerturbationSpec, kind: type[Options]) -> Options:
    """Read a perturbation's options as written.

    Raises:
        PrerequisiteError: One is unknown, is wrong, or must be given and is not.
    """
    known = {_written(name, field): field for name, field in kind.model_fields.items()}
    for key in spec.options:
        if key not in known:
            raise PrerequisiteError(f"--perturb {spec}: unknown option '{key}'.{did_you_mean(key, known)}")
    try:
        return kind.model_validate_strings(dict(spec.options))
    except ValidationError as err:
        raise PrerequisiteError(f"--perturb {spec}: {_refusal(spec, kind, err.errors()[0])}") from None


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """What is said of one option.

    Attributes:
        name: As it is written.
        default: Its value where it is not written, as text; empty for none.
        required: Whether it must be written.
        values: What may be written.
        help: What it does.
    """

    name: str
    default: str
    required: bool
    values: str
    help: str


def option_help(kind: type[PerturbationOptions]) -> list[OptionHelp]:
    """Describe the options of a perturbation: its own first, then those that all share."""
    shared = set(PerturbationOptions.model_fields)
    fields = sorted(kind.model_fields.items(), key=lambda item: item[0] in shared)
    return [
        OptionHelp(
            _written(name, field),
            _as_written(field),
            field.is_required(),
            _wanted(kind, name),
            field.description or "",
        )
        for name, field in fields
    ]


def _written(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _as_written(field: FieldInfo) -> str:
    value = field.default
    if field.is_required() or value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _refusal(spec: PerturbationSpec, kind: type[PerturbationOptions], error: ErrorDetails) -> str:
    said = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"][:1].lower() + error["msg"][1:]
    said = said.removesuffix(".")
    if not error["loc"]:
        return f"{said}."
    key = str(error["loc"][0])
    if error["type"] == "missing":
        return f"it needs the option '{key}'; write {spec.name}:{key}=..."
    name = next(name for name, field in kind.model_fields.items() if _written(name, field) == key)
    wanted = "" if error["type"] == "value_error" else _wanted(kind, name)
    return f"{key}={spec.options[key]} is not {wanted}." if wanted not in {"", "text"} else f"{key}={spec.options[key]}: {said}."


def _wanted(kind: type[PerturbationOptions], name: str) -> str:
    """What may be written for an option, in words; empty where its type has none."""
    field = kind.model_fields[name]
    schema: dict[str, Any] = kind.model_json_schema(by_alias=False)["properties"][name]
    schema = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    nouns = {"number": "a number", "integer": "a whole number", "boolean": "true or false", "string": "text"}
    noun = field.title or nouns.get(schema.get("type", ""), "")
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f"{noun} between {low:g} and {high:g}"
    bounds = [
        *([f"{low:g} or more"] if low is not None else []),
        *([f"more than {above:g}"] if above is not None else []),
        *([f"at most {high:g}"] if high is not None else []),
        *([f"less than {below:g}"] if below is not None else []),
    ]
    return ", ".join([noun, *bounds])
