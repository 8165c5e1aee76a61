"""A person in the rows that lack a value: who can be asked, what an answer ends, what is said twice by nobody, and Inter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from talm_sim import load_run
from talm_sim.cli import main
from talm_sim.exchange.exports.exchanged_messages import conversation
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox
from talm_sim.types import Episode, Row
from tests.tasks.refusal.turns.acting import RIGHT, TOUCH_A, TOUCH_B, Calls, Play, acting

pytestmark = pytest.mark.skipif(bool(explain_no_sandbox()), reason="no sandbox: see talm-sim doctor")
ASKS: Calls = [("ask_human", {"question": "What shall the file be called?"})]
SCRIPT = {**RIGHT, "Make another.": ASKS, "Call it b": TOUCH_B[:1]}
PARAM = "multi_turn_miss_param"


def played(name: str) -> tuple[Episode, Row]:
    """The only episode of a run, and its row."""
    run = load_run(name)
    (episode,), (row,) = run.episodes(), run.rows()
    return episode, row


def said(request: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["role"], str(one.get("content") or "")) for one in request["messages"]]


def turns_of(episode: Episode) -> list[int]:
    return [turn.user_turn for turn in episode.model_turns]


@pytest.mark.parametrize("template", ["chat", "injected", "pythonic"])
def test_the_rows_own_answer_ends_the_turn_and_is_not_said_twice(play: Play, template: str) -> None:
    with acting(SCRIPT) as server:
        assert play("made", "--live", "--human", "recorded", "--template", template, subset=PARAM, server=server) == 0
    episode, row = played("made")
    assert turns_of(episode) == [0, 0, 1, 2, 2]
    assert [(one.turn, one.answer, one.responder) for one in episode.human_events] == [(2, "Call it b.", "recorded (BFCL)")]
    values = {name: row.values[name] for name in ("turns", "missing_turn", "missing_named", "missing_done", "interaction")}
    assert values == dict.fromkeys(values, True) and row.labels["missing"] == "asked"
    assert str(server.requests[-1]["messages"]).count("Call it b.") == 1
    texts = [one.text for one in conversation(episode, next(iter(load_run("made").scenarios())), acts=True)]
    assert texts.count("Call it b.") == 1


@pytest.mark.parametrize("template", ["chat", "injected"])
def test_after_any_other_answer_the_rows_next_message_follows(play: Play, template: str, capsys: pytest.CaptureFixture[str]) -> None:
    question: Calls = [("ask_human", {"question": "Are you in a hurry?"})]
    with acting({**SCRIPT, "Make another.": question}) as server:
        assert play("made", "--live", "--human", "simulated", "--template", template, subset=PARAM, server=server) == 0
    episode, row = played("made")
    assert turns_of(episode) == [0, 0, 1, 2, 2]
    assert [one.declined for one in episode.human_events] == ["idk"]
    last = [text for _, text in said(server.requests[3])][-2 if template == "chat" else -1 :]
    assert "don't know" in last[0] and last[-1].endswith("Call it b.") and "".join(last).count("Call it b.") == 1
    assert (row.values["turns"], row.values["interaction"], row.values["missing_named"]) == (True, True, False)
    assert main(["show", "made:multi_turn_miss_param_0"]) == 0
    assert re.search(r"does not know\n\nThe user, request 3\n  Call it b\.\n\nTurn 4", capsys.readouterr().out)


def test_the_person_is_offered_in_all_turns_of_these_rows_and_in_no_other_row(play: Play) -> None:
    with acting(SCRIPT) as server:
        assert play("made", "--live", "--human", "recorded", subset=f"irrelevance,multi_turn_miss_func,{PARAM}", server=server) == 0
    offered: dict[bool, set[bool]] = {True: set(), False: set()}
    for request in server.requests:
        names = [tool["function"]["name"] for tool in request.get("tools", ())]
        # Only in these rows are all functions shown from the beginning, that of the first turn included.
        offered["ls" in names and "more functions" not in str(request["messages"])].add("ask_human" in names)
    assert offered == {True: {True}, False: {False}}
    humans = {one.group: one.human for one in load_run("made").episodes()}
    assert humans == {"irrelevance": "none", "multi_turn_miss_func": "none", PARAM: "recorded"}
    assert {row.group for row in load_run("made").rows() if "interaction" in row.values} == {PARAM}


@pytest.mark.parametrize("human", ["recorded", "model:openai-api/here/person"])
def test_a_question_in_another_turn_ends_nothing_and_nobody_knows_an_answer_to_it(play: Play, human: str) -> None:
    with acting({"Make a.": ASKS, "don't know": TOUCH_A}) as server:
        assert play("made", "--live", "--human", human, subset=PARAM, server=server) == 0
    episode, row = played("made")
    assert turns_of(episode) == [0, 0, 0, 1, 2]
    assert [one.declined for one in episode.human_events] == ["idk"]
    assert (row.values["interaction"], row.labels["missing"]) == (True, "other_text")


def test_whoever_asks_twice_at_once_and_acts_meanwhile_has_guessed(play: Play) -> None:
    with acting({**SCRIPT, "Make another.": [*ASKS, ("touch", {"file_name": "c"}), *ASKS]}) as server:
        assert play("made", "--live", "--human", "recorded", subset=PARAM, server=server) == 0
    episode, row = played("made")
    assert turns_of(episode) == [0, 0, 1, 2], "a call beside the question belongs to the turn of the question"
    assert sorted(one.answer for one in episode.human_events) == ["Call it b.", "Sorry, I don't know."]
    assert (row.values["turns"], row.labels["missing"], row.values["interaction"]) == (False, "guessed", True)


@pytest.mark.parametrize(("control", "inter"), [("oracle", 1), ("asker", 1), ("eager", 0), ("cautious", 0)])
def test_the_controls_have_their_true_values(play: Play, control: str, inter: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model", f"sim/{control}", "--human", "recorded")
    assert play("made", *words, subset=f"multi_turn_miss_func,{PARAM}") == 0
    assert main(["report", "made", "--all"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"the missing turn +n +Right +Looked +Named +Done +person +by BFCL", out)
    assert f"asked a person: a question was put in {inter} of the 1 rows of {PARAM}" in " ".join(out.split())
    assert "Ask-and-Help (recorded human)" in out
    (param,) = (row for row in load_run("made").rows() if row.group == PARAM)
    assert (param.values["interaction"], param.values["turns"]) == (inter == 1, control in ("oracle", "eager") and param.values["turns"])
    records = {one.group: one.measure("interaction") for one in load_run("made").summary()}
    assert [(name, one.k, one.n) for name, one in records.items() if one is not None and one.n] == [(PARAM, inter, 1), ("all", inter, 1)]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--human", "simulated"), "--human simulated: a person answers only in BFCL's rows of multi_turn_miss_param; add that --subset"),
        (("--human", "nobody-known"), "human: unknown responder 'nobody-known'"),
        (("TALM_SIM_ASK_LIMIT", "2"), "ask_limit: nobody is there to answer"),
        (("TALM_SIM_PERSONA", "terse"), "PERSONA: 'terse' is for a person whom a model plays"),
    ],
)
def test_what_does_not_fit_is_one_line(
    play: Play, words: tuple[str, str], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = words if words[0].startswith("--") else ()
    if not flags:
        monkeypatch.setenv(*words)
    assert play("made", *flags, subset="multi_turn_base,irrelevance") == 2
    err = capsys.readouterr().err
    assert why in " ".join(err.split()) and not Path("runs").exists()


@pytest.mark.parametrize("human", ["recorded", "simulated"])
def test_a_recording_is_replayed_with_what_its_person_said(play: Play, human: str, capsys: pytest.CaptureFixture[str]) -> None:
    question: Calls = [("ask_human", {"question": "Are you in a hurry?"})]
    with acting({**SCRIPT, "Make another.": question}) as server:
        assert play("made", "--record", "--cassettes", "tapes", "--human", human, subset=PARAM, server=server) == 0
        sent = len(server.requests)
        assert play("again", "--replay", "--cassettes", "tapes", "--human", "recorded", subset=PARAM, server=server) == 0
        assert len(server.requests) == sent
        before, after = played("made"), played("again")
        assert after[1].model_dump() == before[1].model_dump()
        assert [one.answer for one in after[0].human_events] == [one.answer for one in before[0].human_events]
        assert after[0].human_events[0].responder.startswith("recorded (") and turns_of(after[0]) == turns_of(before[0])
        capsys.readouterr()
        assert play("alone", "--replay", "--cassettes", "tapes", subset=PARAM, server=server) != 0, "it is another conversation"
        assert "with human" in " ".join(str(capsys.readouterr()).split())


def test_a_question_waits_for_its_answer(play: Play, capsys: pytest.CaptureFixture[str]) -> None:
    assert play("made", "--model", "sim/oracle", "--human", "terminal", subset=PARAM) == 1
    capsys.readouterr()
    assert main(["answer", "made", "--list"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "You know: Call it b." in out and out.count("Call it b.") == 1, "what the user is still to say is only what the person knows"
    assert main(["answer", "made", "--text", "You choose."]) == 0
    assert main(["resume", "made", "-q"]) == 0
    episode, row = played("made")
    assert [one.answer for one in episode.human_events] == ["You choose."] and turns_of(episode) == [0, 0, 1, 2, 2]
    assert (row.values["turns"], row.values["interaction"], row.values["missing_turn"]) == (True, True, True)
