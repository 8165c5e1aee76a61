"""Odd questions about games, and what is computed for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.world.routers.games.boards import glicko_2
from talm_sim.world.routers.games.cards import deal_freecell
from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("get_chess_variation", {"variation": "English Attack"}, 422, "Sicilian Najdorf; Sicilian Taimanov"),
    ("get_chess_variation", {"variation": "English Attack", "opening": "French"}, 404, "does not belong to 'French'"),
    ("get_chess_variation", {"variation": "Velimirović Atack"}, 404, "Did you mean 'Velimirovic Attack'"),
    ("get_monster", {"monster": "red dragon"}, 422, "wyrmling; young; adult; ancient"),
    ("get_monster", {"monster": "goblin", "age": "young"}, 404, "Leave out age"),
    ("get_monster", {"monster": "pink dragon", "age": "young"}, 404, "No dragon 'pink dragon'"),
    ("get_spell", {"spell": "firebal"}, 404, "Did you mean 'Fireball'"),
    ("get_equipment", {"item": "Crossbow"}, 422, "light; hand; heavy"),
    ("get_equipment", {"item": "crossbow", "kind": "silver"}, 404, "There is light and hand and heavy"),
    ("get_equipment", {"item": "Longsword", "kind": "heavy"}, 404, "leave out kind"),
    ("rank_poker_hand", {"cards": ["Ah", "Ah", "Kd", "Qs", "Jc"]}, 422, "twice"),
    ("rank_poker_hand", {"cards": ["Ah"]}, 422, "at least 5"),
    ("rank_poker_hand", {"cards": ["Ah", "1h", "Kd", "Qs", "Jc"]}, 422, "pattern"),
    ("get_card_game_setup", {"game": "Hearts"}, 422, "3 players; 4 players; 5 players"),
    ("get_card_game_setup", {"game": "skat", "players": 4}, 404, "not for 4 players, but for 3"),
    ("get_dice_odds", {"dice": 2, "sides": 6, "at_least": 13}, 422, "12 at most"),
    (
        "update_rating",
        {"rating": 1500, "deviation": 50, "opponent_ratings": [1500], "opponent_deviations": [50, 60], "scores": ["win"]},
        422,
        "as many",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


def test_the_first_row_of_deal_617_is_the_published_one() -> None:
    assert ["23456789TJQKA"[column[0][0]] + column[0][1].upper() for column in deal_freecell(617)] == [
        "7D",
        "AD",
        "5C",
        "3S",
        "5S",
        "8C",
        "2D",
        "AH",
    ]


@given(st.integers(1, 32000))
def test_a_deal_has_every_card_once(number: int) -> None:
    columns = deal_freecell(number)
    assert [len(column) for column in columns] == [7, 7, 7, 7, 6, 6, 6, 6]
    assert len({card for column in columns for card in column}) == 52


def test_the_new_rating_is_that_of_the_published_example() -> None:
    rating, deviation, volatility = glicko_2(1500, 200, 0.06, [(1400, 30, 1), (1550, 100, 0), (1700, 300, 0)])
    # The example rounds on its way.
    assert rating == pytest.approx(1464.06, abs=0.02)
    assert deviation == pytest.approx(151.52, abs=0.01)
    assert volatility == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize(
    ("hand", "starter", "points"),
    [
        (["As", "2h", "3d", "3c"], "4c", 10),
        (["2h", "4h", "6h", "8h"], "10h", 5),
        (["2h", "4h", "6h", "8h"], "10c", 4),
        (["10c", "Jd", "Qs", "Kd"], "5d", 13),
    ],
)
def test_cribbage_hands_count_as_players_count_them(hand: list[str], starter: str, points: int) -> None:
    assert direct_caller()("score_cribbage_hand", {"hand": hand, "starter": starter})["points"] == points
