"""Sports: three football seasons (football.json 1.0.0, public domain), Olympic sprinters (bokeh-sampledata, BSD), points and pace."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/sports")

Season = Literal["premier-league-2014-15", "bundesliga-2012-13", "la-liga-2012-13"]
SEASON = Path(description="League and season.")
CLUB_HINT = "Give the name that the league uses."
WIN = 3
Event = Literal["100m", "long-jump", "shot-put", "high-jump", "400m", "110m-hurdles", "discus", "pole-vault", "javelin", "1500m"]
DECATHLON: dict[str, tuple[float, float, float]] = {
    "100m": (25.4347, 18, 1.81),
    "long-jump": (0.14354, 220, 1.4),
    "shot-put": (51.39, 1.5, 1.05),
    "high-jump": (0.8465, 75, 1.42),
    "400m": (1.53775, 82, 1.81),
    "110m-hurdles": (5.74352, 28.5, 1.92),
    "discus": (12.91, 4, 1.1),
    "pole-vault": (0.2797, 100, 1.35),
    "javelin": (10.14, 7, 1.08),
    "1500m": (0.03768, 480, 1.85),
}
"""The coefficients of World Athletics: points are a * |mark - b| ** c, of seconds, metres or centimetres."""
JUMPS = frozenset({"long-jump", "high-jump", "pole-vault"})


class Match(BaseModel):
    """One match."""

    season: str
    home: str
    away: str
    home_goals: int
    away_goals: int


class TableRow(BaseModel):
    """A club in the final table."""

    season: str
    rank: int
    club: str
    points: int
    won: int
    drawn: int
    lost: int
    goals_for: int
    goals_against: int


class Medallist(BaseModel):
    """A sprinter of the Olympic final over 100 metres of men."""

    year: int
    medal: str
    athlete: str
    country_code: str
    seconds: float


class EventPoints(BaseModel):
    """The points of a performance."""

    event: str
    mark: float
    points: int


class Pace(BaseModel):
    """How fast a race was run."""

    distance_km: float
    pace_per_km: str
    pace_per_mile: str
    speed_km_h: float


@dataclass
class _Tally:
    won: int = 0
    drawn: int = 0
    lost: int = 0
    goals_for: int = 0
    goals_against: int = 0

    def add(self, own: int, other: int) -> None:
        self.won += own > other
        self.drawn += own == other
        self.lost += own < other
        self.goals_for += own
        self.goals_against += other

    @property
    def points(self) -> int:
        return WIN * self.won + self.drawn


@cache
def _matches(season: str) -> list[Match]:
    return [
        Match(
            season=season,
            home=row["home"],
            away=row["away"],
            home_goals=int(row["home_goals"]),
            away_goals=int(row["away_goals"]),
        )
        for row in read_data("sports", "matches.csv.gz")
        if row["season"] == season
    ]


@cache
def _table(season: str) -> list[TableRow]:
    """The final table, by points, then goal difference, then goals."""
    tallies: dict[str, _Tally] = {}
    for match in _matches(season):
        tallies.setdefault(match.home, _Tally()).add(match.home_goals, match.away_goals)
        tallies.setdefault(match.away, _Tally()).add(match.away_goals, match.home_goals)
    order = sorted(tallies.items(), key=lambda pair: (-pair[1].points, pair[1].goals_against - pair[1].goals_for, -pair[1].goals_for))
    return [TableRow(season=season, rank=rank, club=club, points=tally.points, **vars(tally)) for rank, (club, tally) in enumerate(order, 1)]


def _club(season: str, name: str) -> str:
    clubs = {fold(row.club): row.club for row in _table(season)}
    if fold(name) in clubs:
        return clubs[fold(name)]
    within = [club for folded, club in clubs.items() if fold(name) in folded.split(" ")]
    if len(within) == 1:
        return within[0]
    raise not_found("club of that season", name, clubs.values(), CLUB_HINT)


@router.get(
    "/football/{season}/match",
    operation_id="get_football_match",
    summary="Look up the result of a football match by its home and away clubs.",
    openapi_extra=person_cannot("It is one of over three hundred matches of a season long ago.", record=True),
)
async def get_football_match(
    season: Annotated[Season, SEASON],
    home: Annotated[str, Query(description="Club that plays at home.", examples=["Burnley"], min_length=3, max_length=40)],
    away: Annotated[str, Query(description="Club that visits.", examples=["Sunderland"], min_length=3, max_length=40)],
) -> Match:
    host, guest = _club(season, home), _club(season, away)
    if host == guest:
        raise HTTPException(422, "A club does not play against itself: give two clubs.")
    return next(match for match in _matches(season) if (match.home, match.away) == (host, guest))


@router.get(
    "/football/{season}/clubs/{club}",
    operation_id="get_club_season",
    summary="Look up a club's place in the final table of a football season: points, wins, draws, losses and goals.",
    openapi_extra=person_cannot("It is a row of the final table of a season long ago."),
)
async def get_club_season(
    season: Annotated[Season, SEASON],
    club: Annotated[str, Path(description="Name of the club.", examples=["Burnley"], min_length=3, max_length=40)],
) -> TableRow:
    name = _club(season, club)
    return next(row for row in _table(season) if row.club == name)


@router.get(
    "/football/{season}/places/{rank}",
    operation_id="get_club_by_rank",
    summary="Find which club finished a football season at a place of the table, and with how many points.",
    openapi_extra=person_cannot("It is a row of the final table of a season long ago."),
)
async def get_club_by_rank(
    season: Annotated[Season, SEASON],
    rank: Annotated[int, Path(description="Place in the table, 1 for the champions.", examples=[14], ge=1, le=20)],
) -> TableRow:
    table = _table(season)
    if rank > len(table):
        raise HTTPException(404, f"Only {len(table)} clubs played that season.")
    return table[rank - 1]


@router.get(
    "/olympic-sprint",
    operation_id="get_olympic_sprinter",
    summary="Look up who won a medal over 100 metres of men at the Olympic Games from 1896 to 2012, and in how many seconds.",
    openapi_extra=person_can("Any almanac of the Olympic Games lists the medallists with their times."),
)
async def get_olympic_sprinter(
    year: Annotated[int, Query(description="Year of the Games.", examples=[1936], ge=1896, le=2012)],
    medal: Annotated[Literal["gold", "silver", "bronze"], Query(description="Which medal.")],
) -> Medallist:
    rows = read_data("sports", "sprint.csv")
    for row in rows:
        if (int(row["year"]), row["medal"]) == (year, medal):
            return Medallist(**{**row, "year": year, "seconds": float(row["seconds"])})
    raise not_found(
        f"{medal} medal over 100 metres in", str(year), hint="The Games are held in years that four divides, not in the World Wars."
    )


@router.get(
    "/decathlon-points",
    operation_id="score_decathlon_event",
    summary="Compute the decathlon points of a mark: seconds in a race, metres in a throw or jump.",
    openapi_extra=person_cannot("It takes a power with two decimals, or the scoring tables."),
)
async def score_decathlon_event(
    event: Annotated[Event, Query(description="Event of the decathlon.")],
    mark: Annotated[float, Query(description="Seconds or metres.", examples=[7.4], gt=0, le=1000, allow_inf_nan=False)],
) -> EventPoints:
    a, b, c = DECATHLON[event]
    over = b - mark if event.endswith("m") or event.endswith("hurdles") else (round(mark * 100) if event in JUMPS else mark) - b
    return EventPoints(event=event, mark=mark, points=int(a * over**c) if over > 0 else 0)


@router.get(
    "/race-pace",
    operation_id="get_race_pace",
    summary="Compute the pace of a race from its distance and finishing time.",
    openapi_extra=person_can("A running watch shows it, and so does a division on a pocket calculator."),
)
async def get_race_pace(
    distance_km: Annotated[float, Query(description="Distance in kilometres.", examples=[12], ge=0.1, le=1000, allow_inf_nan=False)],
    finishing_time: Annotated[
        str, Query(description="Hours, minutes and seconds.", examples=["1:02:30"], pattern=r"^[0-9]{1,2}:[0-5][0-9]:[0-5][0-9]$")
    ],
) -> Pace:
    hours, minutes, seconds = map(int, finishing_time.split(":"))
    total = hours * 3600 + minutes * 60 + seconds
    if not total:
        raise HTTPException(422, "A race takes at least a second.")

    def clock(pace: float) -> str:
        whole = round(pace)
        return f"{whole // 60}:{whole % 60:02}"

    per_km = total / distance_km
    return Pace(distance_km=distance_km, pace_per_km=clock(per_km), pace_per_mile=clock(per_km * 1.609344), speed_km_h=round(3600 / per_km, 2))
