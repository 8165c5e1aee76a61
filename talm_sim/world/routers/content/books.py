"""Classic books and their authors, from a list of our own, and book numbers, by python-stdnum 2.2 (LGPL-2.1+)."""

from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/books")

BOOK = Path(description="English name of the book.", examples=["Jane Eyre"], min_length=1, max_length=120)
ARTICLES = ("the ", "a ", "an ")


def _without_article(title: str) -> str:
    folded = fold(title.replace("’", "'"))
    return next((folded.removeprefix(article) for article in ARTICLES if folded.startswith(article)), folded)


@lru_cache(maxsize=1)
def _books() -> dict[str, dict[str, str]]:
    return {_without_article(row["title"]): row for row in read_data("content", "classics.csv")}


@lru_cache(maxsize=1)
def _authors() -> dict[str, dict[str, str]]:
    return {fold(row["name"]): row for row in read_data("content", "authors.csv")}


def _book(title: str) -> dict[str, str]:
    found = _books().get(_without_article(title))
    if found is None:
        raise not_found("book", title, (row["title"] for row in _books().values()), "Only about a hundred classics are known.")
    return found


class Book(BaseModel):
    """A classic."""

    title: str
    author: str
    first_edition: int
    original_language: str
    original_title: str
    main_character: str


class Author(BaseModel):
    """A writer of the past."""

    name: str
    birth_name: str
    born: int
    died: int
    birthplace: str
    books: list[str]


class Ebook(BaseModel):
    """A book in the library of Project Gutenberg."""

    title: str
    author: str
    ebook_number: int


class Isbn(BaseModel):
    """What an ISBN says."""

    isbn13: str
    isbn10: str
    registration_group: str
    group_number: str
    publisher_number: str
    title_number: str
    check_digit: str


@router.get(
    "/{book}",
    operation_id="get_classic_book",
    summary="Get a classic's author, main character, original title and the year of its first edition.",
    openapi_extra=person_can("A person who has read it knows, and the title page says the rest."),
)
async def get_classic_book(book: Annotated[str, BOOK]) -> Book:
    found = _book(book)
    return Book(
        title=found["title"],
        author=found["author"],
        first_edition=int(found["first_edition"]),
        original_language=found["language"],
        original_title=found["original_title"] or found["title"],
        main_character=found["main_character"],
    )


@router.get(
    "/authors/{name}",
    operation_id="get_author",
    summary="Get when and where a classic author was born, and under which name.",
    openapi_extra=person_can("A person reads it on the flap of any of the author's books."),
)
async def get_author(
    name: Annotated[str, Path(description="Name on the cover.", examples=["Jane Austen"], min_length=2, max_length=80)],
) -> Author:
    found = _authors().get(fold(name))
    if found is None:
        raise not_found("author", name, (row["name"] for row in _authors().values()), "Give the name as on the cover.")
    return Author(
        name=found["name"],
        birth_name=found["birth_name"] or found["name"],
        born=int(found["born"]),
        died=int(found["died"]),
        birthplace=found["birthplace"],
        books=[row["title"] for row in _books().values() if row["author"] == found["name"]],
    )


@router.get(
    "/{book}/ebook",
    operation_id="get_ebook_number",
    summary="Get the number under which Project Gutenberg keeps a classic as a free e-book.",
    openapi_extra=person_can("A person finds the book on the site of Project Gutenberg and reads its number there."),
)
async def get_ebook_number(book: Annotated[str, BOOK]) -> Ebook:
    found = _book(book)
    return Ebook(title=found["title"], author=found["author"], ebook_number=int(found["ebook"]))


@router.get(
    "/isbn/{isbn}",
    operation_id="describe_isbn",
    summary="Split an ISBN into its group, publisher and title numbers, and give its 10-digit and 13-digit forms.",
    openapi_extra=person_cannot("Where a publisher's number ends is in a table of the ISBN agency.", record=True),
)
async def describe_isbn(
    isbn: Annotated[str, Path(description="ISBN of 10 or 13 digits, with or without hyphens.", examples=["9780140449136"], max_length=20)],
) -> Isbn:
    from stdnum import isbn as numbers, numdb
    from stdnum.exceptions import ValidationError

    try:
        plain = numbers.to_isbn13(numbers.validate(isbn.strip()))
    except ValidationError as err:
        raise HTTPException(422, f"'{isbn}' is not an ISBN: {err}") from None
    parts = numbers.split(plain)
    short = numbers.format(numbers.to_isbn10(plain)) if plain.startswith("978") else ""
    about = numdb.get("isbn").info(plain)
    return Isbn(
        isbn13=numbers.format(plain),
        isbn10=short,
        registration_group=about[1][1].get("agency", "") if len(about) > 1 else "",
        group_number=parts[1],
        publisher_number=parts[2],
        title_number=parts[3],
        check_digit=parts[4],
    )
