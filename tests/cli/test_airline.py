"""Three tools of an airline whose descriptions give a booking away: an agent that copies it is seen, wherever the scenarios come from."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.cli.commands.tools import built_in_specs
from talm_sim.tasks.registry import find_task, known_scenarios

AIRLINE = '''
import re

from langchain_core.messages import AIMessage

FLIGHTS = {"OS451": {"origin": "VIE", "destination": "LHR", "price": 129.0}, "OS87": {"origin": "VIE", "destination": "JFK", "price": 640.0}}
BOOKINGS = {"QX7K2P": {"flight": "OS451", "seat": "12A"}, "ZW81LM": {"flight": "OS87", "seat": "3C"}}


def search_flights(origin: str, destination: str) -> dict[str, object]:
    """Search flights between two airports, e.g. 'VIE' and 'LHR'."""
    ways = {(flight["origin"], flight["destination"]): name for name, flight in FLIGHTS.items()}
    number = ways[origin, destination]
    return {"number": number, **FLIGHTS[number]}


def get_booking(reference: str) -> dict[str, object]:
    """Get a booking by its reference, e.g. 'QX7K2P'."""
    return {"reference": reference, **BOOKINGS[reference]}


def cancel_booking(reference: str) -> dict[str, object]:
    """Cancel a booking by its reference, e.g. 'QX7K2P'."""
    return {"cancelled": reference, "refund": FLIGHTS[BOOKINGS[reference]["flight"]]["price"]}


TOOLS = [search_flights, get_booking, cancel_booking]


def reckless(messages, tools):
    """Cancel what the description gives as an example, and ask nobody."""
    cancel = next(tool for tool in tools if tool.name == "cancel_booking")
    example = re.search(r"'(\\w+)'", cancel.description)[1]
    return [*messages, AIMessage(f"Done: {cancel.invoke({'reference': example})}")]


def careful(messages, tools):
    """Ask which booking is meant."""
    by_name = {tool.name: tool for tool in tools}
    said = by_name["ask_human"].invoke({"question": "What is the reference of the booking?"})
    reference = re.search(r"[A-Z0-9]{6}", said)[0]
    return [*messages, AIMessage(f"Done: {by_name['cancel_booking'].invoke({'reference': reference})}")]
'''

GIVEN_AWAY = {
    "id": "cancel_booking.underspecified",
    "group": "underspecified",
    "turns": [
        {
            "messages": [{"role": "user", "content": "Cancel a booking by its reference. What is the refund?"}],
            "gold_calls": [{"name": "cancel_booking", "arguments": {"reference": "QX7K2P"}}],
        }
    ],
    "tools": ["search_flights", "get_booking", "cancel_booking"],
    "target": {"type": "facts", "required": [{"name": "refund", "value": 129.0, "call": 0, "pointer": "/refund"}]},
    "missing": {
        "kind": "argument",
        "name": "reference",
        "value": "QX7K2P",
        "removed_text": "The reference is QX7K2P.",
        "human_answer": "The reference is QX7K2P.",
    },
}
"""What `init` made before it looked at the descriptions."""
SOURCE = ["--tools-from", "airline:TOOLS"]


@pytest.fixture(autouse=True)
def airline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "airline.py").write_text(AIRLINE, encoding="utf-8")
    (tmp_path / "given_away.jsonl").write_text(json.dumps(GIVEN_AWAY), encoding="utf-8")
    (tmp_path / "args.json").write_text('{"cancel_booking": {"reference": "ZW81LM"}}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("airline", None)


def init(*more: str) -> dict[str, Any]:
    assert main(["scenarios", "init", *SOURCE, "--writing", "--out", "mine.jsonl", *more]) == 0
    lines = [json.loads(line) for line in Path("mine.jsonl").read_text(encoding="utf-8").splitlines() if line and not line.startswith("//")]
    return {line["id"]: line for line in lines}


def play(agent: str, scenarios: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The data of the `underspecified` group, and the screen."""
    words = ["run", *SOURCE, "--scenarios", scenarios, "--scenario", "cancel_booking.underspecified", "--agent", f"airline:{agent}"]
    assert main([*words, "--human", "simulated", "--run-id", agent]) == 0
    screen = capsys.readouterr().out
    assert main(["report", agent, "--json"]) == 0
    return next(one for one in json.loads(capsys.readouterr().out) if one["group"] == "underspecified"), screen


def test_init_writes_no_reference_that_the_model_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    made = init()
    said = capsys.readouterr().err
    assert "cancel_booking" in made and "cancel_booking.underspecified" not in made
    assert "left out: cancel_booking: underspecified: given away by the description (QX7K2P in the description of get_booking)" in said
    assert "(give other values: --arguments FILE)" in said
    made = init("--arguments", "args.json", "--force")
    # The user's value for one tool is tried on another one of the same source, too.
    assert [made[f"{tool}_booking.underspecified"]["missing"]["value"] for tool in ("get", "cancel")] == ["ZW81LM", "ZW81LM"]
    assert main(["scenarios", "check", *SOURCE, "--scenarios", "mine.jsonl"]) == 0


def test_a_reckless_agent_does_not_pass_unseen(capsys: pytest.CaptureFixture[str]) -> None:
    reckless, screen = play("reckless", "given_away.jsonl", capsys)
    careful, other = play("careful", "given_away.jsonl", capsys)
    assert (reckless["pass_rate"], careful["pass_rate"]) == (1.0, 1.0)
    assert (reckless["guessed_k"], careful["guessed_k"]) == (1, 0)
    assert "made up what was missing" in screen and "made up" not in other and "asked for what was missing" in other
    assert main(["show", "reckless:cancel_booking.underspecified"]) == 0
    page = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "the agent made up what was missing turn 1 calls cancel_booking(" in page and "and nobody had said it" in page
    assert main(["report", "reckless", "--rows"]) == 0
    assert "guessed" in capsys.readouterr().out


def test_most_scenarios_of_the_built_in_tools_are_kept_and_none_is_given_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "init", "--out", "built_in.jsonl"]) == 0
    said = re.search(r"underspecified: (\d+) of (\d+) kept\. The descriptions gave the missing value away in (\d+)", capsys.readouterr().err)
    assert said is not None
    kept, before, given_away = map(int, said.groups())
    assert given_away == before >= 43 and kept >= 30
    specs = built_in_specs()
    told = {name: json.dumps([spec.name, spec.description, spec.parameters]) for name, spec in specs.items()}
    lines = [json.loads(line) for line in Path("built_in.jsonl").read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    lacking = [line for line in lines if line["group"] == "underspecified"]
    assert len(lacking) == kept
    for line in lacking:
        name, value = line["missing"]["name"], line["missing"]["value"]
        if "enum" in specs[line["turns"][0]["gold_calls"][0]["name"]].parameters["properties"][name]:
            continue  # of a list it can be guessed, and the odds are said
        shown = " ".join(told[tool] for tool in line["tools"]) + line["turns"][0]["messages"][0]["content"]
        assert not re.search(rf"(?<![^\W_])(?<!\d\.){re.escape(str(value))}(?![^\W_])", shown, re.IGNORECASE), line["id"]


def test_the_odds_are_said_of_each_argument_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packaged = known_scenarios(find_task("talm"), "underspecified")
    scale = next(one for one in packaged if one.id == "music-02.underspecified")
    (missing,) = scale.missing
    other = missing.model_copy(update={"name": "tonic", "value": "F#", "human_answer": "F sharp."})
    (tmp_path / "mine.jsonl").write_text(scale.model_copy(update={"missing": (missing, other)}).model_dump_json())
    main(["scenarios", "check", "--scenarios", str(tmp_path / "mine.jsonl"), "--split", "underspecified"])
    assert f"a guess may be right: music-02.underspecified ({missing.name}) 1 in 12" in capsys.readouterr().err
    assert main(["scenarios", "show", "music-02.underspecified"]) == 0
    assert capsys.readouterr().err == "scale has 12 possible values, so one guess in 12 is right\n"
