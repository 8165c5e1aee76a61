"""Parse the budget of a command: `requests=N,tokens=N,cost=X,minutes=M`, any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from talm_sim.common.typed_options import OptionsModel, read_options, split_options
from talm_sim.errors import PrerequisiteError


class Budget(OptionsModel):
    """The limits of one command; None where there is no limit."""

    requests: int | None = Field(None, ge=1)
    """Requests to models, each retry included."""
    tokens: int | None = Field(None, ge=1)
    """Tokens that models read and write."""
    cost: float | None = Field(None, gt=0)
    """Money, in the currency of the price file."""
    minutes: float | None = Field(None, gt=0)
    """Time since the command began."""


BUDGET_WORDS: Final = tuple(f"{name}=" for name in Budget.model_fields)
"""How each limit begins, for completion in a shell."""


def read_budget(text: str) -> Budget:
    """Read a budget as it is written.

    >>> read_budget("requests=10,cost=0.5")
    Budget(requests=10, tokens=None, cost=0.5, minutes=None)

    Raises:
        ValueError: A limit is unknown, is given twice, or is not a positive number; or there is none.
    """
    parts = text.split(",")
    try:
        written = split_options(parts, "")
        if len(written) < len(parts):
            raise PrerequisiteError("a limit is given twice; give each once.")
        return read_options(written, Budget, "a budget", "")
    except PrerequisiteError as err:
        raise ValueError(str(err)) from None


def write_budget(limits: Mapping[str, float]) -> str:
    """Return limits as `read_budget` reads them; the empty text if there are none."""
    return ",".join(f"{name}={limit!r}" for name, limit in limits.items())


def divide_budget(budget: Budget, parts: int) -> list[str]:
    """Divide what a command may spend evenly, and return each part as it is written. Time is not divided, because parts share it.

    >>> divide_budget(read_budget("requests=7,cost=1,minutes=5"), 2)
    ['requests=4,cost=0.5', 'requests=3,cost=0.5']

    Raises:
        ValueError: A limit is smaller than the number of parts.
    """
    found: list[dict[str, float]] = [{} for _ in range(parts)]
    for name, limit in budget.model_dump(exclude={"minutes"}, exclude_none=True).items():
        if isinstance(limit, int) and limit < parts:
            raise ValueError(f"{name}={limit} cannot be divided among {parts:,}")
        for number, part in enumerate(found):
            part[name] = limit // parts + (number < limit % parts) if isinstance(limit, int) else limit / parts
    return [write_budget(part) for part in found]
