"""Makes questions for task `capitals` from a CSV file of cities and countries."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from talm_sim import PrerequisiteError, Scenario, Scope, Turn, option
from talm_sim.extend import Made, Maker, MakingOptions, digest


@dataclass(frozen=True)
class Claim:
    """A line of the file."""

    id: str
    city: str
    country: str
    true: bool

    @property
    def digest(self) -> str:
        """Tells it from another line of the same name."""
        return digest([self.city, self.country, self.true])


class ClaimOptions(MakingOptions):
    """Options of `talm-sim scenarios generate --task capitals`."""

    continent: str = option("europe", Scope.GENERATION, "Group of the questions.")


class MoreCapitals(Maker[ClaimOptions, Claim, Made]):
    """One Yes/No question per line."""

    options_model = ClaimOptions
    outcome = Made
    rules = 1
    noun = "claim"

    def load(self) -> Sequence[Claim]:
        """Read `city,country,true` lines."""
        if self.options.file is None:
            raise PrerequisiteError("--from: name a CSV file with the columns city, country and true.")
        with self.options.file.open(encoding="utf-8") as file:
            return [
                Claim(f"{line['city']}-{line['country']}", line["city"], line["country"], line["true"] == "yes")
                for line in csv.DictReader(file)
            ]

    async def make(self, source: Claim) -> Made:
        """Make its question; a city that is part of the country's name would give the answer away."""
        if source.city in source.country:
            return Made(source=source.id, digest=source.digest, dropped="the country's name holds the city's")
        query = f"Is {source.city} the capital of {source.country}? Answer Yes or No."
        made = Scenario(
            id=source.id,
            task="capitals",
            group=self.options.continent,
            turns=(Turn(messages=({"role": "user", "content": query},)),),
            target={"type": "yes_no", "gold": "yes" if source.true else "no"},
        )
        return Made(source=source.id, digest=source.digest, rows=[made.model_dump(mode="json")])
