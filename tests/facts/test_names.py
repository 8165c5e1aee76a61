from __future__ import annotations

import pytest

from talm_sim.facts.names import Words, places_of


@pytest.mark.parametrize("name", ["Good Friday", "Boxing Day", "Constitution Day", "F# A C E", "Bm7b5"])
def test_a_name_that_could_be_chords_by_its_letters_is_found_as_chords_are(name: str) -> None:
    text = f"It was {name}."
    assert [text[slice(*place)] for place in places_of(name, text, Words(text))] == [name]
