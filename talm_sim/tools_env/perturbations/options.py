"""The options after a perturbation's name: typed, refused in one line, and described by `talm-sim perturbations show`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo

from talm_sim.common.typed_options import OptionsModel, split_commas, split_options
from talm_sim.tools_env.sources.base import tool_name


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

        >>> PerturbationSpec.parse(r"banner:text=Sorry\, closed,p=0.5").options
        {'text': 'Sorry, closed', 'p': '0.5'}
        """
        name, _, rest = text.partition(":")
        return cls(name, split_options(filter(None, split_commas(rest)), f"--perturb {text}: "))


class ToolListOptions(OptionsModel):
    """The options that every perturbation takes; one of the list of tools takes no others unless it adds them.

    A perturbation's own options are fields of a subclass, of any type that can be written as text. A field's description is its help, its
    title the noun of what may be written.
    """

    tool: Annotated[str, BeforeValidator(lambda own: tool_name(str(own), say=False))] = Field("", description="Only this tool.")
    p: float = Field(1.0, ge=0, le=1, title="a chance", description="Probability of firing.")
    seed: int | None = Field(None, description="Seed of its chances, in place of the run's.")


class PerturbationOptions(ToolListOptions):
    """The options of a perturbation of calls: which calls of a tool it may hit, counted in each episode."""

    call: int | None = Field(None, ge=1, description="Only this call of a tool, counted from 1.")
    times: int | None = Field(None, ge=0, description="Strike at most N calls of a tool; it works again after them.")
    after: int | None = Field(None, ge=0, description="Let the first N calls of a tool work, then fail.")

    def allow(self, number: int) -> bool:
        """Return whether the call of this 1-based number may be hit."""
        if self.call is not None and number != self.call:
            return False
        first = (self.after or 0) + 1
        return number >= first and (self.times is None or number < first + self.times)


class ModelOptions(PerturbationOptions):
    """The options of a perturbation of the model: which generations of the agent it may hit, counted in each episode. No tool is named."""

    tool: ClassVar[str] = ""  # type: ignore[misc]
    call: int | None = Field(None, ge=1, description="Only this generation of the agent, counted from 1.")
    times: int | None = Field(None, ge=0, description="Strike at most N generations of the agent; the model works again after them.")
    after: int | None = Field(None, ge=0, description="Let the first N generations of the agent work, then fail.")


@dataclass(frozen=True, slots=True)
class OptionHelp:
    """The description of one option.

    Attributes:
        default: Its value where it is not written, as text; empty for none.
        required: Whether it must be written.
        values: What may be written.
    """

    name: str
    default: str
    required: bool
    values: str
    help: str


def option_help(kind: type[ToolListOptions]) -> list[OptionHelp]:
    """Describe the options of a perturbation: its own first, then those that all share."""
    shared = set(PerturbationOptions.model_fields)
    fields = sorted(kind.model_fields.items(), key=lambda item: item[0] in shared)
    return [
        OptionHelp(field.alias or name, _as_written(field), field.is_required(), _describe_type(kind, name), field.description or "")
        for name, field in fields
    ]


def _as_written(field: FieldInfo) -> str:
    value = field.default
    if field.is_required() or value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _describe_type(kind: type[ToolListOptions], name: str) -> str:
    """Return what may be written for an option, in words; empty if its type has none."""
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
