"""`scenarios generate --task refusal` as it is typed: by rule, by a teacher over HTTP, from a recording; and what becomes of its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig
from talm_sim.reasoning import read_form
from talm_sim.tasks.reasoning import instruct, thought_text
from talm_sim.tasks.registry import find_task, job_of
from tests.cli.wrong import Talm
from tests.models.loopback import Answer, chat_answer, loopback
from tests.tables import labelled
from tests.tasks.refusal.making.test_thoughts import CLOCK, FITS, FORM, NOTHING, REFUSING

GENERATE = ("scenarios", "generate", "--task", "refusal", "--out", "made")
TEACHER = ("--model", "openai-api/toy/m", "--from", "own.jsonl", "--max-connections", "1", "--cassettes", "tapes")


def _line(name: str, target: Any) -> dict[str, Any]:
    group = "fitting" if target.expected == "calls" else "removed"
    said = [{"messages": [{"role": "user", "content": "What time is it in Hue?"}]}]
    shown = {"shown_tools": [json.dumps(CLOCK)], "target": target.model_dump(mode="json")}
    return {"id": name, "task": "refusal", "group": group, "turns": said, **shown, "source": {"licence": "CC0-1.0"}}


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [_line("fits", FITS), _line("nothing", NOTHING)]
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def test_forms_by_rule_become_training_rows_with_the_prompt_of_a_run(talm: Talm) -> None:
    code, out, err = talm(*GENERATE, "--limit", "6")
    assert code == 0 and "call" in out and "refusal" in out
    assert "6 rows; training rows: talm-sim export training made/items.jsonl --task refusal --kind sft --out FILE" in err
    read = {one.id: one for one in find_task("refusal").read(("fitting", "removed", "unrelated"), Path("made/items.jsonl"))}
    assert len(read) == 6 and len({one.group for one in read.values()}) == 3, "a part has rows of each group"
    assert talm("export", "training", "made/items.jsonl", "--task", "refusal", "--kind", "sft", "--out", "sft.jsonl")[0] == 0
    text = thought_text(job_of(RunConfig(task="refusal", options={"reasoning": "form"})))
    for row in _lines("sft.jsonl"):
        form = read_form(row["completion"])
        assert not form.missing and form.decision == ("call" if row["action"] == "tool_call" else "defer")
        assert form.rest.startswith('{"name"') == (row["action"] == "tool_call")
        assert instruct(read[row["id"]], text).query in row["prompt"]
        assert row["source"] == "talm-sim, thought by rules"
    Path("texts.toml").write_text('[refusal]\nform = ""\n', encoding="utf-8")
    plain = ("export", "training", "made/items.jsonl", "--task", "refusal", "--kind", "sft", "--out", "plain.jsonl")
    assert talm(*plain, "--prompts", "texts.toml")[0] == 0
    assert not any("fill this form" in row["prompt"] for row in _lines("plain.jsonl"))


def test_drawn_forms_are_made_without_a_model(talm: Talm) -> None:
    assert talm(*GENERATE, "--limit", "6", "--reasoning", "random")[0] == 0
    first = Path("made/items.jsonl").read_bytes()
    assert talm(*GENERATE[:-1], "again", "--limit", "6", "--reasoning", "random")[0] == 0
    assert Path("again/items.jsonl").read_bytes() == first
    assert talm(*GENERATE[:-1], "other", "--limit", "6", "--reasoning", "random", "--seed", "1")[0] == 0
    assert Path("other/items.jsonl").read_bytes() != first
    assert not any(read_form(row["target"]["thought"]).missing for row in _lines("made/items.jsonl"))


def test_a_contradiction_is_kept_as_rejected_and_tried_again(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(chat_answer(REFUSING), chat_answer(FORM), chat_answer(REFUSING)) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, out, err = talm(*GENERATE, *TEACHER, "--record", "--attempts", "2")
        asked = [request.body["messages"] for request in server.seen]
    assert code == 0 and "it decides on defer, and call is right" in out
    assert err.startswith("live: openai-api")
    assert [(one["id"], one["attempt"], one["reason"], one["text"]) for one in _lines("made/rejected.jsonl")] == [
        ("fits", 1, "it decides on defer, and call is right", REFUSING)
    ]
    assert [row["target"]["thought"] for row in _lines("made/items.jsonl")] == [f"{FORM}\n\n", f"{REFUSING}\n\n"]
    assert {row["source"]["licence"] for row in _lines("made/items.jsonl")} == {"CC0-1.0"}
    assert len(asked) == 3 and "(decision: call)" in asked[0][-1]["content"] and '"name": "clock"' in asked[0][-1]["content"]
    assert "(decision: defer)" in asked[2][-1]["content"]
    monkeypatch.delenv("TOY_BASE_URL")
    assert talm(*GENERATE[:-1], "played", *TEACHER, "--attempts", "2")[0] == 0
    for name in ("items.jsonl", "rejected.jsonl"):
        assert Path("played", name).read_bytes() == Path("made", name).read_bytes()


def test_a_stopped_making_goes_on_and_repeats_nothing(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Answer({"error": {"message": "the content filter was triggered"}}, status=400)
    with loopback(chat_answer(FORM), refused, chat_answer(REFUSING)) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, _, err = talm(*GENERATE, *TEACHER, "--live")
        assert code == 1 and "failed nothing: " in err and "run the same command to try again" in err
        assert [row["id"] for row in _lines("made/items.jsonl")] == ["fits"]
        code, _, err = talm(*GENERATE, *TEACHER, "--live")
        assert code == 0 and "1 finished before" in err and len(server.seen) == 3
    assert [row["id"] for row in _lines("made/items.jsonl")] == ["fits", "nothing"]
    code, _, err = talm(*GENERATE, *TEACHER, "--live", "--reasoning", "free")
    assert code == 2 and err.count("\n") == 1 and 'reasoning = "form"' in err


def test_a_free_thought_stands_in_thinking_tags(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    told = chat_answer("The clock can do it.\nDecision: call"), chat_answer("Nobody can.\nDecision: answer")
    with loopback(*told) as server:
        monkeypatch.setenv("TOY_BASE_URL", f"{server.url}/v1")
        code, _, err = talm(*GENERATE, *TEACHER, "--live", "--reasoning", "free")
    assert code == 0 and "given up 1: no thought passed the checks" in err
    assert [one["reason"] for one in _lines("made/rejected.jsonl")] == ["it decides on answer, and defer is right"]
    assert talm("export", "training", "made/items.jsonl", "--task", "refusal", "--kind", "preference", "--out", "p.jsonl")[0] == 0
    (row,) = _lines("p.jsonl")
    thought = "<think>\nThe clock can do it.\n</think>\n\n"
    assert row["chosen"] == thought + '{"name": "clock", "arguments": {"city": "Hue"}}'
    assert row["rejected"].startswith(thought) and row["rejected"] != row["chosen"]
    assert "Think first" in row["prompt"]


@labelled
def test_what_is_wrong_is_one_line(talm: Talm, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = talm(*GENERATE, *arguments)
    assert (code, out) == (2, "") and said in err
    assert [line for line in err.splitlines() if line.startswith("talm-sim: error")] == err.splitlines()[-1:]


def test_rows_of_which_any_call_is_right_are_dropped(talm: Talm) -> None:
    some = _line("any", FITS.model_copy(update={"expected": "any", "accepted": ()}))
    Path("some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (some, _line("fits", FITS))), encoding="utf-8")
    code, _, err = talm(*GENERATE, "--from", "some.jsonl")
    assert code == 0 and "dropped 1: any call is right, so that none is known" in err
    assert [row["id"] for row in _lines("made/items.jsonl")] == ["fits"]
