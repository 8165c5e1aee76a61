"""Odd questions about films, books and emoji."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from talm_sim.errors import ToolError
from talm_sim.tools_env.service.vendored import read_data
from tests.in_process import direct_caller

DATA = files("talm_sim.tools_env.service") / "data" / "content"


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


def test_every_chapter_of_austen_is_there() -> None:
    chapters = {title: len(found["chapters"]) for title, found in read_data("content", "austen.json.gz").items()}
    assert list(chapters.values()) == [50, 61, 48, 55, 31, 24]
    assert list(chapters)[:2] == ["Sense and Sensibility", "Pride and Prejudice"]
    assert direct_caller()("count_novel_word", {"novel": "Emma", "word": "zeppelin"})["occurrences"] == 0


def test_every_book_has_its_author_and_one_number() -> None:
    with (DATA / "classics.csv").open(encoding="utf-8") as file:
        books = list(csv.DictReader(file))
    numbers = [book["ebook"] for book in books]
    assert len(set(numbers)) == len(numbers)
    for name in {book["author"] for book in books} - {"Daniel Defoe"}:
        assert direct_caller()("get_author", {"name": name})["books"]
