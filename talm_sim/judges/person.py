"""The judge `person`, known here by name only: people look at a stored run, and `talm_sim.store.people` asks them and keeps what they say."""

from __future__ import annotations

from collections.abc import Iterable

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Judge
from talm_sim.types import Episode, Measured, Scenario, Verdict

PEOPLE = "person"
"""Name of the judge: of what people say together, and of what was settled."""
WHERE = "people judge a stored run: talm-sim judge RUN --judge person --name NAME"
"""How to have people judge."""


class PersonJudge(Judge):
    """Stands for people, who judge no episode while a run is made."""

    name = PEOPLE
    measure = Measured(name=PEOPLE, head="People", about="people said yes", better="higher")
    needs = frozenset({"person"})

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Refuse: people are asked by `talm-sim judge`.

        Raises:
            PrerequisiteError: Always.
        """
        raise PrerequisiteError(WHERE)


def asks_people(judges: Iterable[str]) -> bool:
    """Return whether people are among some judges."""
    return PEOPLE in judges


def judge_of(name: str) -> str:
    """Return the judge under whose name a person's verdicts are kept; without a name, that of what was settled."""
    return f"{PEOPLE}:{name}" if name else PEOPLE


def person_of(judge: str) -> str | None:
    """Return the name of the person whose verdicts a judge's are: empty for what was settled, and None for any other judge.

    >>> person_of("person:ann"), person_of("person"), person_of("reference")
    ('ann', '', None)
    """
    people, colon, name = judge.partition(":")
    return name if people == PEOPLE and bool(colon) is bool(name) else None
