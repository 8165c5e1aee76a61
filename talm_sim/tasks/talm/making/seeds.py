"""Seeds: the part of a scenario that a person writes by hand. Facts are named here and computed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from talm_sim.common.toml_files import read_toml
from talm_sim.errors import PrerequisiteError

__all__ = ["Seed", "SeedFact", "load_seeds"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SeedCall(_Strict):
    """One gold call."""

    tool: str
    arguments: dict[str, Any] = {}


class SeedFact(_Strict):
    """A fact a correct answer states: where it is found, never its value."""

    name: str
    call: int = Field(ge=0)
    """Index of the gold call."""
    pointer: str
    """JSON pointer into that call's result."""
    accepted: tuple[str, ...] = ()
    """Other names of the value."""
    unit: str = ""
    asks: tuple[str, ...] = ()
    complete: bool = False


class Underspecified(_Strict):
    """The variant in which the user forgot to say something."""

    query: str
    call: int = Field(ge=0)
    argument: str
    removed_text: str
    human_answer: str


class Unavailable(_Strict):
    """The variant in which a tool is masked."""

    tool: str
    human_answer: str | None = None
    """A person's answer in place of the tool, with `{fact_name}` for the computed fact; only for a replaceable tool."""


class Seed(_Strict):
    """One scenario and what its variants need."""

    query: str
    calls: tuple[SeedCall, ...] = Field(min_length=1)
    facts: tuple[SeedFact, ...] = Field(min_length=1)
    underspecified: Underspecified
    unavailable: Unavailable

    @model_validator(mode="after")
    def _refers_to_what_is_there(self) -> Seed:
        for fact in self.facts:
            if fact.call >= len(self.calls):
                raise ValueError(f"fact '{fact.name}': there is no call {fact.call}.")
        without = [call.tool for index, call in enumerate(self.calls) if index not in {fact.call for fact in self.facts}]
        if without:
            raise ValueError(f"call '{without[0]}' gives no fact.")
        asked = self.underspecified
        if asked.call >= len(self.calls) or asked.argument not in self.calls[asked.call].arguments:
            raise ValueError(f"underspecified: call {asked.call} has no argument '{asked.argument}'.")
        if self.unavailable.tool not in {call.tool for call in self.calls}:
            raise ValueError(f"unavailable: no call uses the tool '{self.unavailable.tool}'.")
        return self


def load_seeds(file: Path) -> list[Seed]:
    """Read the seeds of one category, an array of `[[scenario]]` tables.

    Raises:
        PrerequisiteError: The file is not TOML, or a seed is broken; the message names file and scenario.
    """
    tables = read_toml(file, "a seed").get("scenario", [])
    seeds: list[Seed] = []
    for number, table in enumerate(tables, 1):
        try:
            seeds.append(Seed.model_validate(table))
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            message = first["msg"].removeprefix("Value error, ")
            raise PrerequisiteError(f"{file}: scenario {number}{': ' + where if where else ''}: {message}") from None
    return seeds
