"""Prices of models, read from a file of the user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from talm_sim.common.toml_files import read_toml
from talm_sim.errors import PrerequisiteError

__all__ = ["Price", "read_prices"]


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in the currency that the file names, if it names one."""

    input: float
    output: float
    currency: str = ""

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of some tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def read_prices(file: Path) -> dict[str, Price]:
    """Read a price file: TOML with a line per model, `"openai/gpt-4o" = {input = 2.5, output = 10}`, for a million tokens.

    A line `currency = "USD"` gives the currency.

    Raises:
        PrerequisiteError: It cannot be read, or a line has another form.
    """
    prices: dict[str, Price] = {}
    document = read_toml(file, "--prices")
    currency = document.pop("currency", "")
    if not isinstance(currency, str):
        raise PrerequisiteError(f'{file}: currency: write its name in quotes, for example "USD".')
    for model, entry in document.items():
        numbers = [entry.get(key) for key in ("input", "output")] if isinstance(entry, dict) and len(entry) == 2 else []
        found = [float(one) for one in numbers if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < float("inf")]
        if len(found) != 2:
            raise PrerequisiteError(f'{file}: {model}: write the price of a million tokens: "{model}" = {{input = 2.5, output = 10}}')
        prices[model] = Price(found[0], found[1], currency)
    return prices
