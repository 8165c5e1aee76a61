"""What a person who stands in for a tool sees, and what becomes of an answer that the tool could not give."""

from __future__ import annotations

import json
from dataclasses import replace

from talm_sim import run
from talm_sim.cli.person.replies import Reply
from talm_sim.scenarios.stand_ins import StandIn
from tests.cli.person.test_prompt import Terminal, question, shown, terminal, text_on

__all__ = ["terminal"]

PEOPLE = {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
TOOL = StandIn("count_people", "Count who lives in\na \x1b[31mcountry.", {"type": "object", "properties": {"code": {"type": "string"}}}, PEOPLE)
ASKED = replace(question("How many people live there?"), stands_in=TOOL)


def test_the_page_says_what_the_tool_takes_and_answers() -> None:
    for plain in (False, True):
        text = " ".join(text_on(shown(ASKED, plain=plain)[1]).replace("│", " ").split())
        assert "You stand in for" in text and "\x1b[31m" not in text
        assert 'count_people: Count who lives in a country. takes {"code": text} answers {"people": whole number}' in text
    assert "You stand in for" not in text_on(shown(question())[1])
    bare = replace(ASKED, stands_in=replace(TOOL, response={}))
    assert "Answer in words or JSON." in text_on(shown(bare)[1])


async def test_an_answer_that_does_not_fit_is_one_line_and_asked_for_again(terminal: Terminal) -> None:
    terminal.type('{"people": "many"}\n{"people": \n{"people": 68}\n')
    assert await terminal.ask(ASKED) == Reply('{"people": 68}')
    told = [line for one in terminal.screen.splitlines() if (line := one.removeprefix("> ")).startswith("not ")]
    assert told == [
        "not an answer of count_people: people: 'many' is not of type 'integer'; correct it, or answer in words.",
        "not JSON (Expecting value at column 11); correct it, or answer in words.",
    ]


def test_the_list_and_its_data_say_it_and_a_misfit_ends_with_2(talm, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    run(model="sim/asker", split="replaceable", category="calendar", limit="1", human="terminal", tools="live", run_id="a", progress=False)
    code, out, _ = talm("answer", "a", "--list")
    listed = " ".join(out.split())
    assert code == 0 and "You stand in for: find_holiday: Find on which date" in listed and 'takes {"country_code": text' in listed
    (found,) = json.loads(talm("answer", "a", "--list", "--json")[1])
    assert found["stands_in"]["tool"] == "find_holiday" and {"parameters", "response", "description"} < found["stands_in"].keys()
    blind = talm("answer", "a", "--list", "--blind")[1] + talm("answer", "a", "--list", "--json", "--blind")[1]
    assert "You stand in for" not in blind and '"stands_in": null' in blind
    code, out, err = talm("answer", "a", "--text", '{"year": 2025}')
    assert (code, out) == (2, "") and err.count("\n") == 1 and "not an answer of find_holiday: 'country_code' is a required property" in err
    assert len(json.loads(talm("answer", "a", "--json")[1])) == 1
