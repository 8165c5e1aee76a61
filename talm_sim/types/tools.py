"""The types of what can be done: tools, and the calls that models make of them."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import AliasChoices, Field, model_validator

from talm_sim.types.base import FrozenModel, JsonObject

FINISH = "Finish"
"""Name of the tool whose call gives the answer, where a text alone does not end an episode."""


def _refuse_surrogates(values: Any) -> Any:
    """Check that no text contains half of a character, as no file, request or recording does."""
    try:
        json.dumps(values, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair, which text cannot contain") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except TypeError:
        return values  # a key that is not a text: its field reports it
    return values


class ToolSpec(FrozenModel):
    """One tool as it is shown to the model."""

    name: str
    """Unique within an environment; letters, digits, underscores and hyphens."""
    category: str = ""
    description: str = ""
    parameters: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments as it is shown, always of type object."""
    whole: JsonObject = Field(default_factory=dict, exclude_if=lambda schema: not schema)
    """The JSON Schema that arguments are checked against, where what is shown says less."""
    human_replaceable: bool = False
    """Whether a person can do the tool's work with minimal effort (Fail-TaLMs, section 3.2)."""
    human_replaceable_reason: str = ""
    """Why a person can or cannot; empty where the tool's source does not say."""
    coerces: bool = Field(default=False, exclude_if=lambda coerces: not coerces)
    """Whether the tool takes numbers and truth values also as texts, as LangChain's own do."""
    return_direct: bool = Field(default=False, exclude_if=lambda direct: not direct)
    """Whether an agent of LangChain ends with the tool's result as its answer."""
    is_record: bool = False
    """Whether what it gives is a record, such as a rate of a day or a row of a table: nobody can compute it or knows it by heart."""

    _written = model_validator(mode="before")(_refuse_surrogates)

    @model_validator(mode="before")
    @classmethod
    def _drop_route(cls, values: Any) -> Any:
        # Where tools are recorded, and in runs of before, how a tool is reached stands beside what is shown of it.
        return {key: value for key, value in values.items() if key not in Route.model_fields} if isinstance(values, dict) else values

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the arguments that must be given."""
        return tuple(self.parameters.get("required", ()))


class Route(FrozenModel):
    """How a tool's calls are recorded as HTTP requests; for a tool reached over HTTP, also how they are sent."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = ""
    """Path below the tools' base address; `{name}` parts are filled from the arguments."""
    query: tuple[str, ...] = ()
    """Arguments sent in the query string; those that are neither there, in the path nor a header are properties of the JSON body."""
    header: tuple[str, ...] = ()
    """Arguments sent as headers. They are recorded in the query string, because headers do not distinguish recordings."""
    cookie: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Arguments sent as cookies, and recorded as headers are."""
    styles: dict[str, str] = Field(default_factory=dict, exclude_if=lambda styles: not styles)
    """How arguments are written whose style is not the default of their place (`talm_sim.tools_env.styles`)."""
    body: str | None = Field(default="", exclude_if=lambda kind: kind == "")
    """Media type of the body; None for none; empty for JSON with POST, PUT and PATCH, and none else."""
    bare: str = Field(default="", exclude_if=lambda name: not name)
    """The argument that is the whole body."""
    _written = model_validator(mode="before")(_refuse_surrogates)

    state: Literal["", "reads", "writes"] = ""
    """What a call does with a state that each episode has for itself; empty for a tool without one."""
    reads: bool = False
    """Whether the source says of a tool that is not called with GET that a call changes nothing."""
    checks: bool = Field(default=True, exclude_if=lambda checks: checks)
    """Whether arguments are checked against the schema before a call; otherwise the tool says itself what is wrong with them."""
    asks: bool = False
    """Whether its source was told that there is a person, whom the tool may ask something while a call of it runs."""


class ToolCall(FrozenModel):
    """One call a model made, already parsed into an object of arguments."""

    id: str
    name: str
    arguments: JsonObject = Field(default_factory=dict)


class UnparsableCall(FrozenModel):
    """A call the model wrote that is not valid: malformed JSON, or arguments that are not an object."""

    id: str
    name: str
    raw: str
    reason: str


class GoldCall(FrozenModel):
    """A call a correct solution makes."""

    name: str = Field(validation_alias=AliasChoices("name", "tool"), serialization_alias="tool")
    """The tool's name. Files of before say `tool`, which is still read."""
    arguments: JsonObject = Field(default_factory=dict)
    result: str | None = Field(default=None, exclude_if=lambda result: result is None)
    """What it returned where the scenario comes from, as text; None where that is not known."""
