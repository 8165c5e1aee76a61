"""Bound the cost of an episode before it is run: requests and tokens, at least and at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from talm_sim.models.metering import max_tokens_of
from talm_sim.types import Scenario

RESULT_TOKENS = 4_000
"""Of a tool's result, which is cut at 8,000 characters unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What one episode, or many, may cost the model.

    Attributes:
        least: Fewest requests, if the model ends as soon as it may.
        most: Most requests, without retries.
        input_tokens: Most input tokens of all requests together.
        output_tokens: Most output tokens of all requests together.
        last: Input tokens of the last request: a judge reads about as many.
    """

    least: int = 0
    most: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    last: int = 0

    def __add__(self, other: Bound) -> Bound:
        return Bound(
            self.least + other.least,
            self.most + other.most,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.last + other.last,
        )

    def times(self, number: int) -> Bound:
        """Return the bound of so many equal ones."""
        return Bound(self.least * number, self.most * number, self.input_tokens * number, self.output_tokens * number, self.last * number)


def one_request_bounds(scenarios: Sequence[Scenario], tokens: int) -> Iterator[Bound]:
    """Yield the bound of each scenario whose task asks one request with all that it holds."""
    for scenario in scenarios:
        size = max_tokens_of(scenario.model_dump_json())
        yield Bound(1, 1, size, tokens, last=size + tokens)
