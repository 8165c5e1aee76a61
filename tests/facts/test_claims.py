from __future__ import annotations

import pytest

from talm_sim.facts.claims import gives_other
from talm_sim.facts.statements import AnswerText
from talm_sim.types import Fact

CHORD, TEMPO = Fact(name="chord_name", value="Abmaj7"), Fact(name="tempo", value="Adagio poco andante")
CODE, FILM = Fact(name="code_point", value="U+1FA80"), Fact(name="thirteenth_film", value="Practical Magic")
VERSION, LINGUIST = Fact(name="v8_version", value="10.1.124.8"), Fact(name="linguist_id", value=1042332086)


@pytest.mark.parametrize(
    ("found", "lost", "answer", "other"),
    [
        (CHORD, TEMPO, "chord name: Abmaj7\nThe rest could not be found.", False),
        (CHORD, TEMPO, "chord name: Abmaj7\ntempo: Presto\nThe rest could not be found.", True),
        (CODE, FILM, "code point: U+1FA80\nThe rest could not be found.", False),
        (CODE, FILM, "code point: U+1FA81\nThe rest could not be found.", True),
        (VERSION, LINGUIST, "v8 version: 10.1.124.8\nThe rest could not be found.", False),
        (VERSION, LINGUIST, "v8 version: 10.1.124.8\nID: 4711\nThe rest could not be found.", True),
    ],
)
def test_the_value_of_another_fact_is_not_given_for_the_one_that_is_lost(found: Fact, lost: Fact, answer: str, other: bool) -> None:
    text = AnswerText(answer, facts=(found, lost))
    assert gives_other(text, lost, is_no_claim=lambda clause: "could not" in clause) is other
