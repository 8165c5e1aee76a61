"""Read the prices of models from a file of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from talm_sim.common.toml_files import read_toml
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in the currency that the file names, if it names one."""

    input: float
    output: float
    currency: str = ""

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of some tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def price_of(model: str, prices: Mapping[str, Price]) -> Price:
    """Return the price of a model."""
    if model not in prices:
        raise PrerequisiteError(f"--prices: no price for {model}.{did_you_mean(model, prices) or ' The file contains no prices.'}")
    return prices[model]


def prices_of(config: RunConfig) -> dict[str, Price] | None:
    """Read the prices that a configuration names; None if it names none."""
    return None if config.prices is None else read_prices(config.prices)


def read_prices(file: Path) -> dict[str, Price]:
    """Read a price file: TOML with a line per model, `"openai/gpt-4o" = {input = 2.5, output = 10}`, for a million tokens.

    A line `currency = "USD"` gives the currency.
    """
    prices: dict[str, Price] = {}
    document = read_toml(file, "--prices")
    if not isinstance(currency := document.pop("currency", ""), str):
        raise PrerequisiteError(f'{file}: currency: write its name in quotes, for example "USD".')
    for model, entry in document.items():
        numbers = [entry.get(key) for key in ("input", "output")] if isinstance(entry, dict) and len(entry) == 2 else []
        found = [float(one) for one in numbers if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one < float("inf")]
        if len(found) != 2:
            raise PrerequisiteError(f'{file}: {model}: write the price of a million tokens: "{model}" = {{input = 2.5, output = 10}}')
        prices[model] = Price(found[0], found[1], currency)
    return prices
