"""Odd questions about quotations, proverbs, prompts and what things stand for."""

from __future__ import annotations

import pytest

from talm_sim.errors import ToolError
from talm_sim.world.vendored import read_data
from tests.in_process import direct_caller


@pytest.mark.parametrize(
    "tool, arguments, sentence",
    [
        ("find_quote", {"words": "boats"}, "Kenneth Grahame .*; F. Scott Fitzgerald .* by 'author'"),
        ("find_quote", {"words": "the"}, "Several quotations fit"),
        ("find_quote", {"words": "..."}, "give some words"),
        ("find_quote", {"words": "boats", "author": "Jane Austen"}, "Those words are known of Kenneth Grahame"),
        ("find_proverb", {"about": "mice"}, "Dutch .* French .* by 'language'"),
        ("find_proverb", {"about": "cat", "language": "French"}, "Give a rarer word"),
        ("find_proverb", {"about": "cat", "language": "Turkish"}, "There is one in Dutch and in French"),
        ("find_proverb", {"about": "..."}, "Give another word"),
        ("get_flower_meaning", {"flower": "roses"}, "Several meanings fit 'Rose': red; white; yellow"),
        ("get_flower_meaning", {"flower": "tulip", "colour": "blue"}, "not for blue"),
        ("get_name_meaning", {"name": "maya"}, "a Sanskrit one; a Hebrew one"),
        ("get_name_meaning", {"name": "Maya", "origin": "Greek"}, "not as Greek"),
        ("get_anniversary_gift", {"year": 10}, "traditional: tin and aluminium; modern: diamond jewellery"),
        ("get_anniversary_gift", {"year": 16}, "the nearest with one is 15"),
        ("get_topic_quote", {"topic": "reading", "number": 99}, "only 5 quotations about reading"),
        ("get_proverb", {"language": "Polish", "number": 50}, "only 5 proverbs in Polish"),
    ],
)
def test_what_is_unknown_or_fits_twice_is_answered_by_a_sentence(tool: str, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        direct_caller()(tool, arguments)


def test_an_activity_fits_the_group() -> None:
    for people in range(1, 13):
        found = direct_caller()("suggest_activity", {"day": f"2027-01-{people:02}", "people": people, "place": "indoors", "minutes": 30})
        row = next(row for row in read_data("inspiration", "activities.csv") if row["name"] == found["activity"])
        assert int(row["fewest"]) <= people <= int(row["most"]) and found["minutes"] <= 30
