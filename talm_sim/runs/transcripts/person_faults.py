"""What the simulated person of an episode got wrong, as a section of its page."""

from __future__ import annotations

from collections.abc import Iterator

from talm_sim.tasks import RunView
from talm_sim.tasks.person_faults import read_person
from talm_sim.types import Episode, Line, Scenario, Section

__all__ = ["person_sections"]

_SAID = {
    "contradiction": "gives another value for",
    "false_claim": "claims what no fact says:",
    "leak": "gives away, unasked,",
}


def person_sections(stored: RunView, episode: Episode, scenario: Scenario) -> Iterator[Section]:
    """Yield the section, if the person was at fault."""
    read = read_person(episode, scenario, stored.tools(), perturbed=bool(stored.job.options.perturb))
    lines = tuple(
        (
            Line(text=f"answer {number}: "),
            Line(text=fault.kind.replace("_", " "), style="bad"),
            Line(text=f"  {_SAID[fault.kind]} {fault.about}", style="faint"),
        )
        for number, answer in enumerate(read, start=1)
        for fault in answer.faults
    )
    if lines:
        yield Section(title="Faults of the person", lines=lines)
