"""What each kind of an answer's end makes of an episode, if the agent, a judge or the person gives it: the table of docs/models.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.types import Termination
from tests.models.loopback import Answer, Seen, chat_answer, loopback

ERROR = {"message": "upstream broke", "code": 502}
KINDS: dict[str, Answer] = {
    "a text": chat_answer("Pass. It is the first."),
    "a text, cut off": chat_answer("Pass. It is", finish="length"),
    "a text, and an unknown word": chat_answer("Pass. It is the first.", finish="weird"),
    "silence": chat_answer(""),
    "a thought alone": chat_answer("", reasoning_content="Hm."),
    "a thought, cut off": chat_answer("", reasoning_content="Hm.", finish="length"),
    "a promised call": chat_answer("", finish="tool_calls"),
    "a broken call": chat_answer("", finish="malformed_function_call"),
    "a filter's block": chat_answer("I", finish="content_filter"),
    "a block by HTTP 400": Answer({"error": {"message": "filtered", "code": "content_filter"}}, 400),
    "a failure": chat_answer("", finish="error"),
    "an error beside a text": Answer({"choices": [{"message": {"content": "I"}, "finish_reason": "stop"}], "error": ERROR}),
    "an unknown word alone": chat_answer("", finish="weird"),
    "HTTP 500": Answer({"error": {"message": "broke"}}, 500),
}


def test_the_table_is_what_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("talm_sim.models.retries.RetryPolicy.wait_before", lambda *_: None)
    model = "openai-api/x/m"
    common: dict[str, Any] = {"limit": len(KINDS), "run_dir": tmp_path, "progress": False, "models": "live"}
    alone: dict[str, Any] = {**common, "split": "perfect", "human": "none"}
    kinds: dict[str, str] = {}

    def reply(seen: Seen) -> Answer:
        """Answer by the kind of the scenario whose request is in what is asked."""
        text = json.dumps(seen.body)
        return KINDS[next(kind for query, kind in kinds.items() if json.dumps(query)[1:-1] in text)]

    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    with loopback(chat_answer("")) as server:
        server.reply = reply
        monkeypatch.setenv("X_BASE_URL", f"{server.url}/v1")
        for role, options in {
            "agent": {**alone, "model": model, "no_awareness": True, "finish": "text"},
            "judge": {**alone, "model": "sim/oracle", "judge": ("llm",), "judge_model": model},
            "person": {**common, "split": "underspecified", "model": "sim/asker", "human": f"model:{model}"},
        }.items():
            planned = talm_sim.run(**common, split=options["split"], model="sim/cautious", human="none")
            by_id = dict(zip([one.id for one in planned.scenarios()], KINDS, strict=True))
            kinds |= {one.query: by_id[one.id] for one in planned.scenarios()}
            run = talm_sim.run(**options, max_retries=0)
            verdicts = {one.episode_id: one for one in run.verdicts()}
            for episode in run.episodes():
                said = ("undecided" if verdicts[episode.id].undecided else "a verdict") if role == "judge" else outcome(episode)
                found[by_id[episode.id]].append(said)
    assert {kind: tuple(cells) for kind, cells in found.items()} == docs_table()


def outcome(episode: talm_sim.Episode) -> str:
    if episode.termination is not Termination.ANSWERED:
        return episode.termination.value
    return "no answer" if episode.gave_no_answer else "answered"


def docs_table() -> dict[str, tuple[str, ...]]:
    text = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8").partition("| the answer |")[2]
    lines = text.partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    return {first: tuple(others) for first, *others in cells}
