"""Board and dice games: knight moves, letter tiles, the odds of a throw, and ratings."""

import math
from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel

from talm_sim.world.stand_in import person_can, person_cannot

router = APIRouter()

BOARD = 8
JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
SQUARE = "^[a-hA-H][1-8]$"
TILE_POINTS = {points: letters for points, letters in enumerate(("", "aeinorst", "dlu", "chmg", "bpfk", "vwy", "jx", "zq"))}
"""The points of the letters of the club set, a set of our own."""
TIMES = {"none": 1, "double": 2, "triple": 3}
GLICKO_SCALE = 173.7178
TAU = 0.5
"""How fast volatility changes, as in Glickman's example."""
CLOSE_ENOUGH = 1e-6


class KnightPath(BaseModel):
    """A shortest way of a knight."""

    moves: int
    path: list[str]


class TileScore(BaseModel):
    """The points of a word."""

    word: str
    tile_points: int
    score: int


class DiceOdds(BaseModel):
    """How likely a throw is."""

    dice: str
    ways: int
    percent: float
    mean: float


class NewRating(BaseModel):
    """A player's figures after a rating period."""

    rating: float
    deviation: float
    volatility: float


@router.get(
    "/knight-moves",
    operation_id="count_knight_moves",
    summary="Find the fewest moves in which a knight gets from one square of an empty chessboard to another.",
    openapi_extra=person_can("With a board and a knight at hand, a person tries it out in a minute."),
)
async def count_knight_moves(
    start: Annotated[str, Query(description="Square of the knight.", examples=["d1"], pattern=SQUARE)],
    end: Annotated[str, Query(description="Square that it goes to.", examples=["h5"], pattern=SQUARE)],
) -> KnightPath:
    origin, goal = start.lower(), end.lower()
    came_from: dict[str, str] = {origin: ""}
    waiting = deque([origin])
    while goal not in came_from:
        here = waiting.popleft()
        for across, up in JUMPS:
            file, rank = ord(here[0]) - ord("a") + across, int(here[1]) - 1 + up
            there = f"{chr(ord('a') + file)}{rank + 1}"
            if 0 <= file < BOARD and 0 <= rank < BOARD and there not in came_from:
                came_from[there] = here
                waiting.append(there)
    path = [goal]
    while came_from[path[0]]:
        path.insert(0, came_from[path[0]])
    return KnightPath(moves=len(path) - 1, path=path)


@router.get(
    "/tile-score",
    operation_id="score_tiles",
    summary="Add up the points of a word in the letter tiles of the club set, with the bonus of its squares.",
    openapi_extra=person_can("The points are printed on the tiles: a person who has them on the table adds them up."),
)
async def score_tiles(
    word: Annotated[str, Query(description="The word.", examples=["jigsaw"], pattern="^[A-Za-z]{2,15}$")],
    word_bonus: Annotated[Literal["none", "double", "triple"], Query(description="What the squares do to the points of the word.")] = "none",
) -> TileScore:
    points = {letter: value for value, letters in TILE_POINTS.items() for letter in letters}
    tiles = sum(points[letter] for letter in word.lower())
    return TileScore(word=word.lower(), tile_points=tiles, score=tiles * TIMES[word_bonus])


@cache
def _ways(dice: int, sides: int) -> list[int]:
    """In how many ways the dice show each sum, from the smallest one."""
    ways = [1]
    for _ in range(dice):
        longer = [0] * (len(ways) + sides - 1)
        for place, number in enumerate(ways):
            for face in range(sides):
                longer[place + face] += number
        ways = longer
    return ways


@router.get(
    "/dice-odds",
    operation_id="get_dice_odds",
    summary="Compute how likely a throw of equal dice is to reach a sum or more, in percent.",
    openapi_extra=person_cannot("It takes counting all the throws of several dice."),
)
async def get_dice_odds(
    dice: Annotated[int, Query(description="How many dice are thrown.", examples=[9], ge=1, le=20)],
    sides: Annotated[int, Query(description="Sides of each die.", examples=[12], ge=2, le=100)],
    at_least: Annotated[int, Query(description="Sum to reach.", examples=[60], ge=1, le=2000)],
) -> DiceOdds:
    ways = _ways(dice, sides)
    if at_least > dice * sides:
        raise HTTPException(422, f"{dice}d{sides} shows {dice * sides} at most.")
    good = sum(ways[max(at_least - dice, 0) :])
    return DiceOdds(dice=f"{dice}d{sides}", ways=good, percent=round(100 * good / sides**dice, 2), mean=dice * (sides + 1) / 2)


def glicko_2(rating: float, deviation: float, volatility: float, games: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Compute a player's rating, deviation and volatility after games, as Mark Glickman describes in "Example of the Glicko-2 system".

    Args:
        rating: Rating before.
        deviation: Rating deviation before.
        volatility: Volatility before.
        games: Rating and deviation of each opponent, and the score: 1, 0.5 or 0.
    """
    mu, phi = (rating - 1500) / GLICKO_SCALE, deviation / GLICKO_SCALE
    precision = difference = 0.0
    for other, other_deviation, score in games:
        weight = 1 / math.sqrt(1 + 3 * (other_deviation / GLICKO_SCALE) ** 2 / math.pi**2)
        expected = 1 / (1 + math.exp(-weight * (mu - (other - 1500) / GLICKO_SCALE)))
        precision += weight**2 * expected * (1 - expected)
        difference += weight * (score - expected)
    variance = 1 / precision
    sigma = _volatility(variance * difference, phi, variance, volatility)
    phi = 1 / math.sqrt(1 / (phi**2 + sigma**2) + precision)
    return 1500 + GLICKO_SCALE * (mu + phi**2 * difference), GLICKO_SCALE * phi, sigma


def _volatility(delta: float, phi: float, variance: float, volatility: float) -> float:
    """Find the new volatility by the Illinois algorithm."""
    start = math.log(volatility**2)

    def slope(x: float) -> float:
        spread = phi**2 + variance + math.exp(x)
        return math.exp(x) * (delta**2 - spread) / (2 * spread**2) - (x - start) / TAU**2

    low = start
    if delta**2 > phi**2 + variance:
        high = math.log(delta**2 - phi**2 - variance)
    else:
        step = 1
        while slope(start - step * TAU) < 0:
            step += 1
        high = start - step * TAU
    at_low, at_high = slope(low), slope(high)
    while abs(high - low) > CLOSE_ENOUGH:
        middle = low + (low - high) * at_low / (at_high - at_low)
        at_middle = slope(middle)
        if at_middle * at_high <= 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, at_middle
    return math.exp(low / 2)


@router.get(
    "/rating",
    operation_id="update_rating",
    summary="Compute a player's Glicko-2 rating and deviation after a rating period (volatility 0.06, tau 0.5).",
    openapi_extra=person_cannot("It takes the formulas of the Glicko-2 system, with a root that is found step by step."),
)
async def update_rating(
    rating: Annotated[float, Query(description="Rating before.", examples=[1610], ge=100, le=4000)],
    deviation: Annotated[float, Query(description="Rating deviation before.", examples=[80], ge=30, le=350)],
    opponent_ratings: Annotated[
        list[Annotated[float, Query(ge=100, le=4000)]],
        Query(description="Ratings of the opponents, game by game.", examples=[[1590, 1730]], min_length=1, max_length=20),
    ],
    opponent_deviations: Annotated[
        list[Annotated[float, Query(ge=30, le=350)]],
        Query(description="Their rating deviations, in the same order.", examples=[[60, 90]], min_length=1, max_length=20),
    ],
    scores: Annotated[
        list[Literal["win", "draw", "loss"]],
        Query(description="The player's results, in the same order.", examples=[["win", "loss"]], min_length=1, max_length=20),
    ],
) -> NewRating:
    if not len(opponent_ratings) == len(opponent_deviations) == len(scores):
        raise HTTPException(422, "Give as many opponent_deviations and scores as opponent_ratings.")
    worth = {"win": 1.0, "draw": 0.5, "loss": 0.0}
    games = [(other, spread, worth[score]) for other, spread, score in zip(opponent_ratings, opponent_deviations, scores, strict=True)]
    new = glicko_2(rating, deviation, 0.06, games)
    return NewRating(rating=round(new[0], 2), deviation=round(new[1], 2), volatility=round(new[2], 6))
