"""What an episode's page shows of task `awareness`, of instances of every kind."""

from __future__ import annotations

from talm_sim.tasks.awareness.page import sections
from talm_sim.types import Scenario
from tests.tasks.awareness.answers import answered, turn
from tests.tasks.awareness.crafted import family

COMPLETE, REPLACED, REMOVED = family(1)


def page(scenario: Scenario) -> dict[str, list[str]]:
    found = sections(answered(scenario, turn("Yes.")), scenario)
    return {one.title: ["".join(part.text for part in line) for line in one.lines] for one in found}


def test_of_a_complete_instance_nothing_is_missing() -> None:
    shown = page(COMPLETE)
    assert list(shown) == ["Conversation", "Tools shown", "Right"]
    assert shown["Tools shown"] == ["list_sights", "book_hotel  needed"] and shown["Right"] == ["Yes"]


def test_what_was_taken_away_stands_there() -> None:
    replaced, removed = page(REPLACED), page(REMOVED)
    assert replaced["Missing"] == ["tool book_hotel"]
    assert replaced["Tools shown"] == ["list_sights", "hotel_reviews  in place of book_hotel"]
    assert replaced["Right"] == ["No (taken away by rules)"]
    assert removed["Missing"][0].startswith("utterance") or removed["Missing"][0].startswith("argument")
    assert removed["Tools shown"] == ["list_sights", "book_hotel  needed"] and removed["Right"][0].startswith("No")
