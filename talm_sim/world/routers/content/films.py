"""Films from 1940 to 2014, from an extract of bokeh-sampledata 2026.1 (CC0; data from Wikidata, 18 October 2026)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/films")

FIRST_YEAR, LAST_YEAR = 1940, 2014
FILM = Path(description="Name of the film in English.", examples=["Vertigo"], min_length=1, max_length=120)
YEAR = Query(description="Year of release, to tell films of one name apart.", examples=[1958], ge=FIRST_YEAR, le=LAST_YEAR)


@dataclass(frozen=True, slots=True)
class Film:
    """One film of the catalogue."""

    title: str
    year: int
    directors: list[str]
    runtime: int
    countries: list[str]
    languages: list[str]
    score: int
    reviews: int
    metacritic: int | None
    box_office: int | None


def _number(text: str) -> int | None:
    return int(text) if text else None


@lru_cache(maxsize=1)
def _films() -> list[Film]:
    return [
        Film(
            title=row["title"],
            year=int(row["year"]),
            directors=row["director"].split(", "),
            runtime=int(row["runtime"]),
            countries=row["countries"].split(", "),
            languages=row["languages"].split(", ") if row["languages"] else [],
            score=int(row["score"]),
            reviews=int(row["reviews"]),
            metacritic=_number(row["metacritic"]),
            box_office=_number(row["box_office"]),
        )
        for row in read_data("content", "films.csv.gz")
    ]


@lru_cache(maxsize=1)
def _by_title() -> dict[str, list[Film]]:
    index: dict[str, list[Film]] = {}
    for film in _films():
        index.setdefault(fold(film.title), []).append(film)
    return index


@lru_cache(maxsize=1)
def _by_director() -> dict[str, list[Film]]:
    index: dict[str, list[Film]] = {}
    for film in _films():
        for director in dict.fromkeys(film.directors):
            index.setdefault(fold(director), []).append(film)
    return index


def _film(title: str, year: int | None) -> Film:
    found = _by_title().get(fold(title), [])
    fitting = [film for film in found if year in (None, film.year)]
    if len(fitting) > 1:
        raise several_fit("films", found[0].title, (f"{film.year}, directed by {' and '.join(film.directors)}" for film in fitting), "year")
    if fitting:
        return fitting[0]
    if found:
        raise HTTPException(404, f"'{found[0].title}' is known of {' and '.join(str(film.year) for film in found)}, not of {year}.")
    hint = f"Only films of {FIRST_YEAR} to {LAST_YEAR} that many critics reviewed are known."
    raise not_found("film", title, (film.title for film in _films()), hint)


class FilmDetails(BaseModel):
    """What is printed on a film's poster."""

    title: str
    year: int
    directors: list[str]
    runtime_minutes: int
    countries: list[str]
    languages: list[str]


class FilmReviews(BaseModel):
    """What critics thought of a film."""

    title: str
    year: int
    positive_percent: int
    review_count: int
    metacritic_score: int | None
    recorded_on: str


class BoxOffice(BaseModel):
    """What a film took in cinemas."""

    title: str
    year: int
    box_office_usd: int
    recorded_on: str


class DirectorFilms(BaseModel):
    """A director's films in the catalogue."""

    director: str
    film_count: int
    earliest_film: str
    earliest_year: int
    best_reviewed_film: str
    best_positive_percent: int
    longest_film: str
    longest_runtime_minutes: int


class RankedFilm(BaseModel):
    """A film by its rank among those of its year."""

    year: int
    ranked_by: str
    rank: int
    title: str
    directors: list[str]
    value: int


RECORDED_ON = "2026-10-18"


@router.get(
    "/{film}",
    operation_id="get_film",
    summary="Get a film's directors, running time, countries and languages.",
    openapi_extra=person_can("A person reads it on the film's poster or cover."),
)
async def get_film(film: Annotated[str, FILM], year: Annotated[int | None, YEAR] = None) -> FilmDetails:
    found = _film(film, year)
    return FilmDetails(
        title=found.title,
        year=found.year,
        directors=found.directors,
        runtime_minutes=found.runtime,
        countries=found.countries,
        languages=found.languages,
    )


@router.get(
    "/{film}/reviews",
    operation_id="get_film_reviews",
    summary="Get how many critics reviewed a film, and which share of them was positive, as Wikidata had it in October 2026.",
    openapi_extra=person_cannot("The counts are those of one day in a database.", record=True),
)
async def get_film_reviews(film: Annotated[str, FILM], year: Annotated[int | None, YEAR] = None) -> FilmReviews:
    found = _film(film, year)
    return FilmReviews(
        title=found.title,
        year=found.year,
        positive_percent=found.score,
        review_count=found.reviews,
        metacritic_score=found.metacritic,
        recorded_on=RECORDED_ON,
    )


@router.get(
    "/{film}/box-office",
    operation_id="get_film_box_office",
    summary="Get what a film earned at the box office, in US dollars, as Wikidata had it in October 2026.",
    openapi_extra=person_cannot("The sum to the dollar is an entry of a database.", record=True),
)
async def get_film_box_office(film: Annotated[str, FILM], year: Annotated[int | None, YEAR] = None) -> BoxOffice:
    found = _film(film, year)
    if found.box_office is None:
        raise HTTPException(404, f"Nobody reported what '{found.title}' ({found.year}) earned.")
    return BoxOffice(title=found.title, year=found.year, box_office_usd=found.box_office, recorded_on=RECORDED_ON)


@router.get(
    "/by-director/{director}",
    operation_id="get_director_films",
    summary="Count a catalogue's films of a director, 1940 to 2014; get the earliest, the best reviewed, the longest and its running time.",
    openapi_extra=person_cannot("It takes a look at every film of a catalogue.", record=True),
)
async def get_director_films(
    director: Annotated[str, Path(description="Full name of the director.", examples=["Christopher Nolan"], min_length=2, max_length=80)],
) -> DirectorFilms:
    found = _by_director().get(fold(director))
    if not found:
        names = {name for film in _films() for name in film.directors}
        raise not_found("director", director, sorted(names), "Give the full name, as in the credits.")
    earliest = min(found, key=lambda film: (film.year, film.title))
    best = min(found, key=lambda film: (-film.score, -film.reviews, film.title))
    longest = min(found, key=lambda film: (-film.runtime, film.title))
    return DirectorFilms(
        director=next(name for name in found[0].directors if fold(name) == fold(director)),
        film_count=len(found),
        earliest_film=earliest.title,
        earliest_year=earliest.year,
        best_reviewed_film=best.title,
        best_positive_percent=best.score,
        longest_film=longest.title,
        longest_runtime_minutes=longest.runtime,
    )


@router.get(
    "/years/{year}/ranking",
    operation_id="rank_films_of_year",
    summary="Find the film of a given rank among the catalogue's films of a year, by box office, critics, running time or number of reviews.",
    openapi_extra=person_cannot("It takes a comparison of all films of a year in a catalogue.", record=True),
)
async def rank_films_of_year(
    year: Annotated[int, Path(description="Year of release.", examples=[1999], ge=FIRST_YEAR, le=LAST_YEAR)],
    by: Annotated[
        Literal["box_office", "positive_percent", "runtime_minutes", "review_count"],
        Query(description="What they are ranked by, the highest first.", examples=["runtime_minutes"]),
    ],
    rank: Annotated[int, Query(description="Rank, 1 for the highest.", examples=[1], ge=1, le=100)],
) -> RankedFilm:
    def value(film: Film) -> int | None:
        return {"box_office": film.box_office, "positive_percent": film.score, "runtime_minutes": film.runtime}.get(by, film.reviews)

    known = [(number, film) for film in _films() if film.year == year and (number := value(film)) is not None]
    if rank > len(known):
        raise HTTPException(404, f"Only {len(known)} films of {year} are known for that.")
    number, film = sorted(known, key=lambda one: (-one[0], -one[1].reviews, one[1].title))[rank - 1]
    return RankedFilm(year=year, ranked_by=by, rank=rank, title=film.title, directors=film.directors, value=number)
