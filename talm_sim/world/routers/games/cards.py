"""Card games: poker and cribbage hands, numbered FreeCell deals, and how many cards are dealt."""

from collections import Counter
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found, several_fit
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/cards")

RANKS = "23456789TJQKA"
RANK_NAMES = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace")
SUITS = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}
CARD = Query(pattern="^([2-9TJQKAtjqka]|10)[cdhsCDHS]$")
HANDS = ("high card", "pair", "two pair", "three of a kind", "straight", "flush", "full house", "four of a kind", "straight flush")
WHEEL = (12, 3, 2, 1, 0)
FREECELL_COLUMNS, LONG_COLUMNS = 8, 4
FIFTEEN = 15
LEAST_RUN = 3

Card = tuple[int, str]
"""The index of its rank in `RANKS`, and its suit."""


class PokerHand(BaseModel):
    """The best five cards."""

    hand: str
    best_five: list[str]
    strength_rank: int


class CribbageScore(BaseModel):
    """The points of a hand with the starter."""

    points: int
    fifteens: int
    pairs: int
    runs: int
    flush: int
    nobs: int


class FreecellColumn(BaseModel):
    """One column of a numbered deal; its last card is free."""

    deal: int
    column: int
    cards: list[str]
    free_card: str


class CardGame(BaseModel):
    """How a card game is set up."""

    game: str
    players: int
    cards_each: int
    pack: int
    target_score: int | None


def _card(text: str) -> Card:
    return RANKS.index(text[:-1].upper().replace("10", "T")), text[-1].lower()


def _cards(*texts: str) -> list[Card]:
    cards = [_card(text) for text in texts]
    if len(set(cards)) < len(cards):
        raise HTTPException(422, "The same card is given twice.")
    return cards


def _name(card: Card) -> str:
    return f"{RANK_NAMES[card[0]]} of {SUITS[card[1]]}"


def _value_of(ranks: tuple[int, ...], flush: bool) -> tuple[int, ...]:
    """What five cards are worth: the index of the hand, then what decides between equal hands."""
    counts = sorted(((times, rank) for rank, times in Counter(ranks).items()), reverse=True)
    order = tuple(rank for _, rank in counts)
    shape = tuple(times for times, _ in counts)
    straight = len(order) == len(ranks) and (order[0] - order[-1] == len(ranks) - 1 or order == WHEEL)
    if straight:
        return (8 if flush else 4, 3 if order == WHEEL else order[0])
    kinds = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1}
    return (5 if flush else kinds.get(shape, 0), *order)


@cache
def _strengths() -> dict[tuple[int, ...], int]:
    """The rank of each worth, 1 for the best; there are 7,462."""
    hands = [ranks for ranks in combinations_with_replacement(range(len(RANKS)), 5) if max(Counter(ranks).values()) < 5]
    worths = {_value_of(ranks, flush) for ranks in hands for flush in (False, True) if not flush or len(set(ranks)) == len(ranks)}
    return {worth: place for place, worth in enumerate(sorted(worths, reverse=True), 1)}


@router.get(
    "/poker-hand",
    operation_id="rank_poker_hand",
    summary="Find the best poker hand among five to seven cards, and its rank among all 7,462 different hands, 1 for a royal flush.",
    openapi_extra=person_can("Whoever plays poker sees the hand, and a chart of the hands gives its rank."),
)
async def rank_poker_hand(
    cards: Annotated[
        list[Annotated[str, CARD]],
        Query(description="The cards, each by rank and suit.", examples=[["9c", "9d", "4h", "4s", "Kd"]], min_length=5, max_length=7),
    ],
) -> PokerHand:
    def worth(five: tuple[Card, ...]) -> tuple[int, ...]:
        return _value_of(tuple(rank for rank, _ in five), len({suit for _, suit in five}) == 1)

    best = max(combinations(_cards(*cards), 5), key=worth)
    value = worth(best)
    name = "royal flush" if value == (8, len(RANKS) - 1) else HANDS[value[0]]
    return PokerHand(hand=name, best_five=[_name(card) for card in sorted(best, reverse=True)], strength_rank=_strengths()[value])


@router.get(
    "/cribbage-hand",
    operation_id="score_cribbage_hand",
    summary="Count the points of a cribbage hand of four cards with the starter.",
    openapi_extra=person_can("Cribbage players count their hands aloud by the same rules."),
)
async def score_cribbage_hand(
    hand: Annotated[
        list[Annotated[str, CARD]],
        Query(
            description="The four cards in the hand, each by rank and suit.", examples=[["2c", "3d", "4h", "Ks"]], min_length=4, max_length=4
        ),
    ],
    starter: Annotated[str, Query(description="The card that was turned up.", examples=["Qc"], pattern="^([2-9TJQKAtjqka]|10)[cdhsCDHS]$")],
) -> CribbageScore:
    *held, turned = cards = _cards(*hand, starter)
    places = [(rank + 1) % len(RANKS) + 1 for rank, _ in cards]
    groups = [group for size in range(2, 6) for group in combinations(places, size)]
    fifteens = 2 * sum(sum(min(place, 10) for place in group) == FIFTEEN for group in groups)
    pairs = 2 * sum(len(group) == 2 and len(set(group)) == 1 for group in groups)
    in_row = [len(group) for group in groups if len(group) >= LEAST_RUN and sorted(group) == list(range(min(group), min(group) + len(group)))]
    runs = max(in_row, default=0) * in_row.count(max(in_row, default=0))
    suits = {suit for _, suit in held}
    flush = 0 if len(suits) > 1 else 5 if turned[1] in suits else 4
    nobs = int((RANKS.index("J"), turned[1]) in held)
    return CribbageScore(points=fifteens + pairs + runs + flush + nobs, fifteens=fifteens, pairs=pairs, runs=runs, flush=flush, nobs=nobs)


@cache
def deal_freecell(number: int) -> tuple[tuple[Card, ...], ...]:
    """The eight columns of a numbered deal, by the generator of random numbers that the first computer version used."""
    pack = [(rank % len(RANKS), suit) for rank in (12, *range(12)) for suit in "cdhs"]
    columns: list[list[Card]] = [[] for _ in range(FREECELL_COLUMNS)]
    state = number
    for place in range(len(pack)):
        state = (state * 214013 + 2531011) % 2**31
        chosen = (state >> 16) % len(pack)
        pack[chosen], pack[-1] = pack[-1], pack[chosen]
        columns[place % FREECELL_COLUMNS].append(pack.pop())
    return tuple(tuple(column) for column in columns)


@router.get(
    "/freecell/{deal}",
    operation_id="get_freecell_column",
    summary="Look up which cards lie in a column of a numbered FreeCell deal.",
    openapi_extra=person_cannot("There are 32,000 numbered deals, and a deal shows only when it is laid out.", record=True),
)
async def get_freecell_column(
    deal: Annotated[int, Path(description="Number of the deal.", examples=[25], ge=1, le=32000)],
    column: Annotated[int, Query(description="Column from the left.", examples=[8], ge=1, le=8)],
) -> FreecellColumn:
    cards = [_name(card) for card in deal_freecell(deal)[column - 1]]
    return FreecellColumn(deal=deal, column=column, cards=cards, free_card=cards[-1])


@router.get(
    "/setup/{game}",
    operation_id="get_card_game_setup",
    summary="Look up how many cards each player is dealt in a card game, the size of its pack and the score that wins.",
    openapi_extra=person_can("The leaflet that comes with a pack of cards says it, and so does anyone who plays the game."),
)
async def get_card_game_setup(
    game: Annotated[str, Path(description="Name of the card game in English.", examples=["Bezique"], min_length=2, max_length=40)],
    players: Annotated[int | None, Query(description="How many play.", ge=2, le=8)] = None,
) -> CardGame:
    rows = read_data("games", "card_games.csv")
    named = [row for row in rows if fold(row["game"]) == fold(game)]
    if not named:
        raise not_found("card game", game, dict.fromkeys(row["game"] for row in rows))
    found = [row for row in named if players in (None, int(row["players"]))]
    if not found:
        raise HTTPException(404, f"{named[0]['game']} is not for {players} players, but for {' or '.join(row['players'] for row in named)}.")
    if len(found) > 1:
        raise several_fit("ways to deal", found[0]["game"], (f"{row['players']} players" for row in found), "players")
    row = found[0]
    return CardGame(
        game=row["game"],
        players=int(row["players"]),
        cards_each=int(row["cards_each"]),
        pack=int(row["pack"]),
        target_score=int(row["target"]) if row["target"] else None,
    )
