"""Seeds: the part of a scenario that a person writes by hand. Facts are named here and computed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from talm_sim.common.toml_files import read_toml
from talm_sim.errors import PrerequisiteError

__all__ = ["Seed", "load_seeds"]


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


class Gap(_Strict):
    """Something the user forgot to say: an argument of a gold call."""

    call: int = Field(ge=0)
    argument: str
    removed_text: str
    human_answer: str


class Underspecified(Gap):
    """The variant in which the user forgot to say one thing."""

    query: str


class SeveralGaps(_Strict):
    """The variant in which the user forgot to say two or three things."""

    query: str
    gaps: tuple[Gap, ...] = Field(min_length=2, max_length=3)


class LateGap(Underspecified):
    """The variant in which nothing seems to be missing until a tool answers that several things fit."""

    other: Any
    """Another value of the argument, which the tool's answer without it names as well, and which leads to other facts."""


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
    underspecified: tuple[Underspecified, ...] = Field(min_length=1)
    """The first is the pair of the perfect query; others forget something else."""
    several_gaps: SeveralGaps | None = None
    late_gap: LateGap | None = None
    unavailable: Unavailable

    @model_validator(mode="after")
    def _refers_to_what_is_there(self) -> Seed:
        for fact in self.facts:
            if fact.call >= len(self.calls):
                raise ValueError(f"fact '{fact.name}': there is no call {fact.call}.")
        without = [call.tool for index, call in enumerate(self.calls) if index not in {fact.call for fact in self.facts}]
        if without:
            raise ValueError(f"call '{without[0]}' gives no fact.")
        for name, gap in self._gaps():
            if gap.call >= len(self.calls) or gap.argument not in self.calls[gap.call].arguments:
                raise ValueError(f"{name}: call {gap.call} has no argument '{gap.argument}'.")
        if self.unavailable.tool not in {call.tool for call in self.calls}:
            raise ValueError(f"unavailable: no call uses the tool '{self.unavailable.tool}'.")
        return self

    def _gaps(self) -> Iterator[tuple[str, Gap]]:
        yield from (("underspecified", one) for one in self.underspecified)
        yield from (("several_gaps", one) for one in (self.several_gaps.gaps if self.several_gaps else ()))
        yield from (("late_gap", one) for one in ([self.late_gap] if self.late_gap else []))


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
