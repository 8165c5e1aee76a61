"""`--propensity`: where no tool fits, the likelihood of a call's beginning next to that of refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli import main
from talm_sim.comparison.compare import compare
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.runs.api import judge, run
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.tasks import find_task
from talm_sim.tasks.refusal.prompts import asking
from talm_sim.tasks.refusal.propensity import Propensity, TextScore, add_propensity, load_refusals, refusals_for
from talm_sim.tasks.refusal.tool_wording import load_wording
from talm_sim.types import Calls, ModelTurn, Scenario
from tests.tables import labelled
from tests.tasks.refusal.crafted import calls, case
from tests.tasks.refusal.test_prompts import SHOWS_TOOLS, Chat, Raw
from tests.tasks.views import job

TASK = find_task("refusal")
HERMES = SHOWS_TOOLS + "<tool_call>"


class Scoring(Raw):
    """A model whose log-probabilities are known: -0.5 for each word, and -0.1 for each character besides."""

    def __init__(self, chat_template: str = HERMES) -> None:
        super().__init__(chat_template)
        self.scored: list[tuple[str, list[str]]] = []

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        self.scored.append((prompt, list(options)))
        return [Continuation(-0.5 * len(text.split()) - 0.1 * len(text), len(text.split())) for text in options]


def likelihood(text: str) -> float:
    """What `Scoring` makes of a text, by hand."""
    return exp((-0.5 * len(text.split()) - 0.1 * len(text)) / len(text.split()))


async def detail_of(model: Any, scenario: Scenario, template: str = "auto", listed: Any = None) -> tuple[ModelTurn, Propensity]:
    way = add_propensity(asking(model, template, load_wording()), model, listed or load_refusals())
    way.check(scenario)
    turn = await way.ask(model, scenario, GenerationSettings())
    assert turn is not None and way.detail is not None
    return turn, Propensity.model_validate(await way.detail(model, scenario, (turn,)))


# --- one row ------------------------------------------------------------------------------------------------------------------------------


async def test_the_value_is_the_one_computed_by_hand() -> None:
    model, listed = Scoring(), {"en": ("I cannot.", "No function fits this.")}
    turn, found = await detail_of(model, case("a"), listed=listed)
    opening = '<tool_call>\n{"name": "'
    assert model.scored == [(turn.raw_prompt, [opening, "I cannot.", "No function fits this."])]
    call, refusal = likelihood(opening), (likelihood("I cannot.") + likelihood("No function fits this.")) / 2
    assert found.value == pytest.approx(call / (call + refusal), abs=1e-12)
    assert found.difference == pytest.approx(log(call / refusal), abs=1e-12)


@given(st.floats(-800, 0), st.lists(st.tuples(st.floats(-800, 0), st.integers(1, 50)), min_size=1, max_size=5), st.integers(1, 50))
def test_it_is_that_of_the_plain_formula_wherever_that_has_a_value(call: float, refusals: list[tuple[float, int]], tokens: int) -> None:
    scores = [TextScore(kind="refusal", text="no", logprob=logprob, tokens=size) for logprob, size in refusals]
    found = Propensity(option_scores=(TextScore(kind="call", text="[", logprob=call, tokens=tokens), *scores))
    plain, other = exp(call / tokens), sum(exp(logprob / size) for logprob, size in refusals) / len(refusals)
    assert found.value is not None and 0 <= found.value <= 1
    if min(plain, other) > 1e-300:
        assert found.value == pytest.approx(plain / (plain + other), rel=1e-9, abs=1e-12)


async def test_a_row_where_a_call_may_be_right_has_none() -> None:
    for target in (calls(city="Hue"), Calls(expected="any")):
        model = Scoring()
        _, found = await detail_of(model, case("a", target=target))
        assert (found.value, found.option_scores, model.scored) == (None, (), [])


@labelled
async def test_a_call_begins_as_the_template_writes_it(chat_template: str, template: str, opening: str) -> None:
    _, found = await detail_of(Scoring(chat_template), case("a"), template)
    assert found.option_scores[0].text == opening


def test_refusals_are_the_rows_own_or_those_of_its_language(tmp_path: Path) -> None:
    listed = load_refusals()
    assert refusals_for(case("a", language="vi"), listed) == listed["vi"] != listed["en"]
    assert refusals_for(case("a", language="sw"), listed) == listed["en"]
    assert refusals_for(case("a", target=Calls(expected="none", cannot_answer="Not me.")), listed) == ("Not me.",)
    file = tmp_path / "own.toml"
    file.write_text('[propensity]\nen = """\n  No.\n\nNever.\n"""\nsw = "Siwezi."\n')
    own = load_refusals(file)
    assert (own["en"], own["sw"], own["vi"]) == (("No.", "Never."), ("Siwezi.",), listed["vi"])
    for damaged, fault in (("[propensity]\nen = 1", "'propensity.en' must be a text"), ("propensity = 1", "'propensity' must be a table")):
        file.write_text(damaged)
        with pytest.raises(PrerequisiteError, match=fault):
            load_refusals(file)


def test_a_row_of_bfcl_may_bring_its_own_refusal(tmp_path: Path) -> None:
    line = {"id": "r", "subset": "irrelevance", "language": "en", "question": [[{"role": "user", "content": "?"}]], "function": []}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**line, "cannot_answer": " I have no clock. "}))
    (found,) = TASK.load(job("refusal", scenarios=file))
    assert isinstance(found.target, Calls) and found.target.cannot_answer == "I have no clock."
    file.write_text(json.dumps({**line, "cannot_answer": 1}))
    with pytest.raises(PrerequisiteError, match=r"rows\.jsonl:1: cannot_answer: is not a text"):
        TASK.load(job("refusal", scenarios=file))


# --- what is refused ----------------------------------------------------------------------------------------------------------------------


def test_a_model_without_scoring_is_refused_in_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["run", "--task", "refusal", "--propensity", "--limit", "1", "--run-dir", str(tmp_path), "--model"]
    assert main([*words, "openai/gpt-4o"]) == 2
    assert " ".join(capsys.readouterr().err.split()) == (
        "talm-sim: error: --propensity: openai/gpt-4o gives no log-probabilities of given texts; use hf/, vllm/, or openai-api/ with "
        "-M tokenizer=DIR."
    )
    with pytest.raises(PrerequisiteError, match=r"^--propensity: openai/some gives no log-probabilities"):
        add_propensity(asking(Chat(), "auto", load_wording()), Chat(), load_refusals())


def test_a_served_model_without_its_tokenizer_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVER_BASE_URL", "http://127.0.0.1:9/v1")
    words = ["run", "--task", "refusal", "--propensity", "--limit", "1", "--run-dir", str(tmp_path), "--model", "openai-api/my-server/m"]
    assert main(words) == 2
    assert "openai-api/my-server/m is sent messages, and scores texts; add -M tokenizer=DIR to send it texts." in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_chat_template_without_a_known_form_is_refused() -> None:
    model = Scoring(SHOWS_TOOLS)
    with pytest.raises(PrerequisiteError, match=r"uses no tool-call format that talm-sim knows; give --template injected\.$"):
        add_propensity(asking(model, "chat", load_wording()), model, load_refusals())


# --- runs of controls ---------------------------------------------------------------------------------------------------------------------


def played(control: str, folder: Path, **options: Any) -> StoredRun:
    return run(task="refusal", model=f"sim/{control}", propensity=True, limit="3", run_dir=folder, run_id=control, **options)


def test_the_controls_have_their_known_values(tmp_path: Path) -> None:
    eager, oracle = (played(name, tmp_path, language="en") for name in ("eager", "oracle"))
    for stored, share, mean in ((eager, 1.0, 0.9), (oracle, 0.0, 0.1)):
        by_group = {one.group: one for one in stored.summary()}
        assert by_group["fitting"].measure("propensity") is None
        for group, n in (("removed", 3), ("unrelated", 3), ("all", 6)):
            likelier, propensity = (by_group[group].measure(name) for name in ("call_likelier", "propensity"))
            assert likelier is not None and (likelier.value, likelier.n) == (share, n)
            assert propensity is not None and propensity.value == pytest.approx(mean, abs=1e-9)
            assert None not in (likelier.low, likelier.high, propensity.low, propensity.high)
    found = compare(eager, oracle, run_dir=tmp_path).difference("propensity", "removed")
    assert found is not None and found.difference == pytest.approx(-0.8)
    assert found.verdict in {"improved", ""}


def test_it_is_kept_with_the_episode_and_read_offline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = played("eager", tmp_path)
    before = [row.values.get("propensity") for row in stored.rows()]
    judge(stored.path)
    assert [row.values.get("propensity") for row in load_run(stored.path).rows()] == before
    episode = next(one for one in stored.episodes() if one.group == "removed")
    assert [one["kind"] for one in episode.details["option_scores"]] == ["call", "refusal", "refusal", "refusal"]
    assert main(["show", f"{stored.path}:{episode.id}"]) == 0
    page = capsys.readouterr().out
    assert "Propensity" in page and "call / (call + refusal): 0.900" in page
    assert main(["report", str(stored.path), "--csv"]) == 0
    heads = capsys.readouterr().out.splitlines()[0].split(",")
    assert {"call_likelier", "propensity", "propensity_low", "propensity_high"} <= {*heads}
    assert main(["report", str(stored.path), "--all"]) == 0
    assert "Propensity" in capsys.readouterr().out
