"""Standing in for a tool: who answers a stored question sees the tool, and an answer in JSON is held to what it could give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim import StoredRun, resume, run
from talm_sim.errors import PrerequisiteError
from talm_sim.store.desk import AnswerStatus, answer
from talm_sim.store.stored_run import load_run

DAY = {"date": "2025-04-07", "name": "Hung Kings' Commemoration Day", "weekday": "Monday"}
HOLIDAY = {"country_code": "VN", "year": 2025, "matches": [DAY]}


def asked(folder: Path, **options: object) -> StoredRun:
    shared = {"human": "terminal", "tools": "live", "category": "calendar", "run_dir": folder, "progress": False}
    return run(**{**shared, **options})  # type: ignore[arg-type]


def test_the_tool_is_shown_and_only_its_own_answers_in_json_are_taken(tmp_path: Path) -> None:
    stored = asked(tmp_path, model="sim/asker", split="replaceable", limit="3")
    first, second, third = stored.pending()
    assert first.stands_in is not None and (first.stands_in.tool, first.stands_in.parameters["required"]) == (
        "find_holiday",
        ["country_code", "year", "name"],
    )
    assert first.stands_in.answer == (
        '{"country_code": text, "year": whole number, "matches": [{"date": date as YYYY-MM-DD, "weekday": text, "name": text}, ...]}'
    )
    for text, fault in (
        (json.dumps({**HOLIDAY, "year": "2025"}), "not an answer of find_holiday: year: '2025' is not of type 'integer'"),
        ("[]", "not an answer of find_holiday: [] is not of type 'object'"),
        (json.dumps(HOLIDAY)[:-1], "not JSON ("),
    ):
        with pytest.raises(PrerequisiteError) as told:
            answer(stored.path, first.key, text)
        assert str(told.value).startswith(f"'{first.episode_id}': {fault}") and str(told.value).endswith("; correct it, or answer in words.")
    assert load_run(stored.path).pending() == [first, second, third], "nothing is lost, and the question is open"
    assert answer(stored.path, first.key, json.dumps(HOLIDAY)) is AnswerStatus.SAVED
    assert answer(stored.path, second.key, "It is the Day of Zumbi.") is AnswerStatus.SAVED
    assert answer(stored.path, third.key, declined="idk") is AnswerStatus.SAVED
    done = resume(stored, progress=False)
    assert json.loads(done.episode(first.episode_id).questions[0].answer) == HOLIDAY
    rows = {row.episode: row.values for row in done.rows()}
    assert [(values.get("stand_ins"), values.get("stand_ins_in_json")) for values in rows.values()] == [(1, 1), (1, 0), (None, None)]
    notes = [note for one in done.summary() for note in one.notes]
    assert "people stood in for a tool 2 times: 1 in JSON as it answers, 1 in words" in notes


@pytest.mark.parametrize("fault", ["http-500:tool=find_holiday", "mask:tool=find_holiday"])
def test_a_tool_that_a_fault_took_away_is_shown_too(fault: str, tmp_path: Path) -> None:
    stored = asked(tmp_path, model="sim/recoverer", split="perfect", scenario=("calendar-01",), perturb=(fault,))
    (question,) = stored.pending()
    assert question.stands_in is not None and question.stands_in.tool == "find_holiday" and question.stands_in.response
    with pytest.raises(PrerequisiteError, match="not an answer of find_holiday"):
        answer(stored.path, question.key, "{}")


def test_no_tool_is_shown_where_none_is_gone_or_the_person_is_blind(tmp_path: Path) -> None:
    stored = asked(tmp_path, model="sim/asker", split="underspecified", limit="1")
    (question,) = stored.pending()
    assert question.stands_in is None
    assert answer(stored.path, question.key, '{"any": "thing"}') is AnswerStatus.SAVED
    blind = asked(tmp_path, model="sim/asker", split="replaceable", limit="1", blind=True)
    (question,) = blind.pending()
    assert (question.stands_in, question.knows) == (None, None)
    assert answer(blind.path, question.key, "{}") is AnswerStatus.SAVED, "what is hidden is not told by a refusal"
