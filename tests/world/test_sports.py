"""Odd questions about sports, and final tables."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.in_process import direct_caller

ODD: list[tuple[str, dict[str, Any], int, str]] = [
    ("get_football_match", {"season": "premier-league-2014-15", "home": "Chelsea", "away": "chelsea"}, 422, "against itself"),
    ("get_football_match", {"season": "premier-league-2014-15", "home": "Chelsae", "away": "Arsenal"}, 404, "Did you mean 'Chelsea'"),
    ("get_club_season", {"season": "premier-league-2014-15", "club": "Manchester"}, 404, "No club"),
    ("get_club_by_rank", {"season": "bundesliga-2012-13", "rank": 19}, 404, "Only 18 clubs"),
    ("get_olympic_sprinter", {"year": 1916, "medal": "gold"}, 404, "World Wars"),
    ("get_race_pace", {"distance_km": 5, "finishing_time": "0:00:00"}, 422, "at least a second"),
    ("score_decathlon_event", {"event": "100m", "mark": "nan"}, 422, "mark"),
]


@pytest.mark.parametrize(("tool", "arguments", "status", "said"), ODD)
def test_what_cannot_be_answered_gets_a_reason(tool: str, arguments: dict[str, Any], status: int, said: str) -> None:
    answer = asyncio.run(direct_caller().ask(tool, arguments))
    assert answer[0] == status and said in answer[1], answer


@pytest.mark.parametrize(
    ("event", "mark"), [("shot-put", 18.4), ("400m", 46.17), ("110m-hurdles", 13.8), ("discus", 56.18), ("javelin", 77.2), ("1500m", 233.79)]
)
def test_a_thousand_points_are_given_for_the_published_marks(event: str, mark: float) -> None:
    assert direct_caller()("score_decathlon_event", {"event": event, "mark": mark})["points"] == 1000
