"""The judge `person`: people, who look at a stored run. It is known by name here; what is asked, and kept, is in `talm_sim.runs.people`."""

from __future__ import annotations

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Judge
from talm_sim.types import Episode, Measured, Scenario, Verdict

__all__ = ["WHERE", "PersonJudge"]


class PersonJudge(Judge):
    """Stands for people, who judge no episode while a run is made."""

    name = "person"
    measure = Measured(name="person", head="People", about="people said yes", better="higher")
    needs = frozenset({"person"})

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Refuse: people are asked by `talm-sim judge`.

        Raises:
            PrerequisiteError: Always.
        """
        raise PrerequisiteError(WHERE)


WHERE = "people judge a stored run: talm-sim judge RUN --judge person --name NAME"
"""How to have people judge."""
