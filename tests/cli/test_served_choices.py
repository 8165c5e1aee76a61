"""Task `when2call` on a served model: scored, recorded, replayed without the server, and what the table says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talm_sim import load_run
from talm_sim.tasks.templates import load_template
from talm_sim.tasks.when2call.published import row_of
from talm_sim.types import Choice, Scenario
from tests.cli.wrong import Talm
from tests.models.loopback import Answer, chat_answer, loopback, text_answer
from tests.models.test_served_scoring import echo
from tests.tasks.when2call.choices import scenario

MODEL = "openai-api/my-server/m"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row_of(scenario())) + "\n", encoding="utf-8")
    return file


def answers(item: Scenario) -> list[Answer]:
    """The right option is the likeliest."""
    style = load_template("default", None)
    assert isinstance(item.target, Choice)
    prompt = style.prompt(item.query, item.shown_tools)
    likely = {True: -0.25, False: -2.0}
    found = []
    for option in item.target.options:
        text = prompt + style.option(option)
        tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
        found.append(echo(text, tokens=tokens, values=[None, *[likely[option.behaviour is item.target.gold]] * (len(tokens) - 1)]))
    return found


def test_a_scored_run_is_recorded_and_replayed_without_its_server(
    rows: Path, tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--model", MODEL, "--cassettes", str(tmp_path / "c"), "--run-dir")
    with loopback(*answers(scenario())) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        code, _, told = talm(*run, str(tmp_path / "live"), "--run-id", "r", "--record")
        assert (code, len(server.seen)) == (0, 4), told
    table = talm("report", str(tmp_path / "live" / "r"), "--all")[1]
    assert "template: default" in table and "-M tokenizer=DIR" in " ".join(table.split())
    monkeypatch.delenv("MY_SERVER_BASE_URL")
    code, _, told = talm(*run, str(tmp_path / "played"), "--run-id", "r", "--replay")
    assert code == 0, told
    first, second = (load_run(tmp_path / name / "r") for name in ("live", "played"))
    (one,), (other,) = first.episodes(), second.episodes()
    assert one.details == other.details and len(one.details["option_scores"]) == 4
    assert [row.values["accuracy"] for row in second.rows()] == [1]


def test_a_server_that_cannot_score_ends_the_run_in_a_line(rows: Path, tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = f"{MODEL}: the server gives no log-probabilities of the prompt"
    refused = "echo is not supported; it cannot score given answers: use vLLM"
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--model", MODEL, "--run-dir", str(tmp_path / "r"), "--display", "none")
    for answer, said in (
        (text_answer("No."), nothing),
        (chat_answer("No."), nothing),
        (Answer({"error": {"message": "echo is not supported"}}, 400), refused),
    ):
        with loopback(answer) as server:
            monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
            code, _, told = talm(*run)
        assert (code, len(server.seen)) == (2, 1)
        (line,) = (one for one in told.splitlines() if said in one)
        assert MODEL in line


def test_a_dry_run_counts_a_request_per_option(rows: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVER_BASE_URL", "http://127.0.0.1:9/v1")
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--model", MODEL, "--dry-run")
    code, said, told = talm(*run)
    assert code == 0 and "live: 4 to 4 requests" in said, (said, told)


@pytest.mark.parametrize(
    ("given", "sent", "said"), [((), None, "the provider's default temperature"), (("--temperature", "0.3"), 0.3, "0.3 as given")]
)
def test_published_choices_on_the_wire(
    given: tuple[str, ...], sent: float | None, said: str, rows: Path, tmp_path: Path, talm: Talm, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", "--task", "when2call", "--scenarios", str(rows), "--model", MODEL, "--run-dir", str(tmp_path), "--mode", "judge")
    with loopback(chat_answer("Where?")) as server:
        monkeypatch.setenv("MY_SERVER_BASE_URL", f"{server.url}/v1")
        code, _, told = talm(*run, "--choices", "published", "--run-id", "r", *given)
    assert code == 0, told
    table = talm("report", str(tmp_path / "r"), "--all")[1]
    assert [one.body.get("temperature") for one in server.seen] == [sent]
    assert f"choices published: a judge model sees the first call only; {'temperature ' if given else ''}{said}" in " ".join(table.split())
