"""The records of the made-up office: each is found by part of a name, in order, and refused with what there is."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from talm_sim.world.vendored import read_data
from tests.in_process import direct_caller


def ask(tool: str, **arguments: Any) -> tuple[int, Any]:
    status, text = asyncio.run(direct_caller().ask(tool, arguments))
    assert len(text) < 1500
    return status, json.loads(text)


def test_the_next_reminder_is_the_first_from_the_day_on() -> None:
    days = [ask("get_next_reminder", person="Bram Hoekstra", from_day=day)[1]["due"] for day in ("2026-11-17", "2026-11-18")]
    assert days == ["2026-11-17", "2026-11-30"]


def test_a_poll_lists_its_answers_by_votes() -> None:
    poll = ask("get_poll_results", topic="team day")[1]
    assert (poll["winner"], [one["votes"] for one in poll["results"]]) == ("escape room", [6, 5, 2])


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("find_colleague", {"name": "Smith"}, "Elif Aydin"),
        ("read_latest_message", {"sender": "Nobody"}, "Amara Nwosu"),
        ("read_note", {"title": "recipes"}, "Archive keys"),
        ("get_next_reminder", {"person": "Elif Aydin", "from_day": "2027-01-01"}, "none that late"),
        ("get_poll_results", {"topic": "pay"}, "Logo"),
        ("get_room_booking", {"room": "Cairn", "date": "2026-12-26"}, "2026-11-18"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(tool: str, arguments: dict[str, Any], said: str) -> None:
    status, answer = ask(tool, **arguments)
    assert status == 404 and said in answer["detail"]


def test_numbers_and_addresses_are_of_the_kinds_kept_for_fiction() -> None:
    for contact in read_data("human_interact", "office.json")["contacts"]:
        assert re.fullmatch(r"\+44 20 7946 0\d{3}", contact["phone"]) and contact["email"].endswith(".example")
