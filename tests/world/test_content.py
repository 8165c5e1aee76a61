"""Odd questions about films, books and emoji."""

from __future__ import annotations

import pytest

from talm_sim.errors import ToolError
from tests.in_process import direct_caller


def test_films_of_one_title_are_told_apart_by_year() -> None:
    with pytest.raises(ToolError, match=r"Several films fit 'Psycho': 1960, directed by Alfred Hitchcock; 1998, directed by Gus Van Sant\."):
        direct_caller()("get_film", {"film": "Psycho"})
    assert direct_caller()("get_film_reviews", {"film": "psycho", "year": 1960})["positive_percent"] > 90
    with pytest.raises(ToolError, match="is known of 1960 and 1998, not of 1999"):
        direct_caller()("get_film", {"film": "Psycho", "year": 1999})


@pytest.mark.parametrize(
    "tool, arguments, sentence",
    [
        ("get_film", {"film": "Casblanca"}, "Did you mean 'Casablanca'"),
        ("get_film_box_office", {"film": "Casablanca"}, "Nobody reported"),
        ("get_director_films", {"director": "Alfred Hitchcok"}, "Did you mean 'Alfred Hitchcock'"),
        ("rank_films_of_year", {"year": 1940, "by": "box_office", "rank": 90}, "Only [0-9]+ films of 1940"),
        ("get_classic_book", {"book": "The Count of Somewhere"}, "Only about a hundred classics"),
        ("get_author", {"name": "Marc Twain"}, "Did you mean 'Mark Twain'"),
        ("describe_isbn", {"isbn": "9780306406158"}, "is not an ISBN"),
        ("describe_isbn", {"isbn": "٣-306-40615-2"}, "is not an ISBN"),
        ("get_novel_chapter_length", {"novel": "Persuasion", "chapter": 25}, "only 24 chapters"),
        ("find_emoji", {"name": "heart"}, "beating heart"),
    ],
)
def test_what_is_unknown_is_answered_by_a_sentence(tool: str, arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        direct_caller()(tool, arguments)
