"""What a command says and returns where answers or verdicts did not come: from a model, or from a judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from talm_sim.errors import BlockedError, ProviderError
from talm_sim.models import registry
from talm_sim.models.base import GenerationSettings
from talm_sim.store.stored_run import load_run
from talm_sim.types import ModelTurn, ToolCall, ToolSpec
from tests.cli.wrong import Talm
from tests.tasks.refusal.crafted import calls, case
from tests.tasks.views import share

THINKS = ModelTurn(raw_text="<think>Let me see", reasoning="Let me see", stop="length")
CALL = ModelTurn(tool_calls=(ToolCall(id="1", name="world.clock", arguments={"city": "Hue"}),), stop="tool_calls")
WORDS = ModelTurn(raw_text="I cannot.", text="I cannot.")


JUDGED = "run --task when2call --mode judge --model sim/oracle --limit 2 --judge-model test/says --run-id r"


class Says:
    """Answers by a function of what it is asked; keeps the settings."""

    name = "test/says"

    def __init__(self) -> None:
        self.answer: Callable[[str], ModelTurn | Exception] = lambda text: WORDS
        self.settings: list[GenerationSettings] = []

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        self.settings.append(settings)
        found = self.answer(messages[-1].text)
        if isinstance(found, Exception):
            raise found
        return found

    async def aclose(self) -> None: ...


@pytest.fixture
def says(nothing_given: None, monkeypatch: pytest.MonkeyPatch) -> Says:
    """What is `test/says`."""
    model = Says()
    monkeypatch.setattr(registry.PROVIDERS, "_registered", dict(registry.PROVIDERS._registered))
    registry.register_provider("test")(lambda request: model)
    return model


def rows(number: int) -> tuple[str, ...]:
    """Half of the rows have a right call, and half have none."""
    asked = [(("user", f"Row {place}: what time is it in Hue?"),) for place in range(number // 2)]
    found = [case(f"fitting-{place}", "fitting", calls(city="Hue"), one) for place, one in enumerate(asked)]
    found += [case(f"unrelated-{place}", "unrelated", said=one) for place, one in enumerate(asked)]
    Path("rows.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in found))
    return "run", "--task", "refusal", "--scenarios", "rows.jsonl", "--model", "test/says", "--run-id", "r"


def test_what_a_provider_loses_is_in_no_rate(says: Says, talm: Talm) -> None:
    """Every fifth of 200 answers is lost; of the others, .80 are right where a call is, and .60 where none is."""
    seen: set[str] = set()

    def answer(text: str) -> ModelTurn | Exception:
        place = int(re.findall(r"\d+", text)[0])
        fitting = text not in seen
        seen.add(text)
        rank = 4 * (place // 5) + place % 5
        if place % 5 == 4:
            return ProviderError("the server is down")
        return CALL if (rank % 10 < 8 if fitting else rank % 10 >= 6) else WORDS

    says.answer = answer
    code, _, err = talm(*rows(200))
    found = {one.group: one for one in load_run(Path("runs/r")).summary()}
    assert (share(found["fitting"], "ast"), share(found["unrelated"], "h_i")) == ((64, 80), (48, 80))
    assert code == 1 and "40 episodes failed" in err and sum(sum(one.not_scored.values()) for one in found.values() if not one.derived) == 40


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (THINKS, "6 of 6 gave no answer: 6 were cut off while thinking: raise --max-new-tokens"),
        (ModelTurn(), "6 of 6 gave no answer: 6 got nothing from the server, neither a text nor a call"),
        (BlockedError("content_filter"), "6 of 6 gave no answer: 6 were blocked by the provider (content_filter)"),
    ],
)
def test_a_run_without_answers_says_why_and_ends_with_1(answer: ModelTurn | Exception, told: str, says: Says, talm: Talm) -> None:
    says.answer = lambda text: answer
    code, out, _ = talm(*rows(6))
    assert (code, " ".join(out.split()).count(told)) == (1, 1)
    assert talm("report", "r", "--gate", "all.h_s>=0")[0] in (1, 2)
    found = {one.group: one for one in load_run(Path("runs/r")).summary()}
    assert share(found["unrelated"], "h_i") == (0, 0) and (share(found["fitting"], "ast") or (0, 0))[0] == 0
    silent = isinstance(answer, ModelTurn)
    assert share(found["unrelated"], "h_s") == ((3, 3) if silent else (0, 0)) and found["unrelated"].facts["silent"] == 3 * silent
    assert ("6 of 6 answers silent" in " ".join(talm("report", "r", "--all")[1].split())) is silent


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (THINKS, "replies were cut off"),
        (ModelTurn(raw_text="A question.", text="A question."), "replies could not be read"),
        (ProviderError("down"), "replies failed (down)"),
    ],
)
def test_a_judge_that_cannot_answer_says_nothing(reply: ModelTurn | Exception, told: str, says: Says, talm: Talm) -> None:
    says.answer = lambda text: reply
    code, out, _ = talm(*JUDGED.split())
    (summary,) = load_run(Path("runs/r")).summary()
    assert (code, summary.n, summary.not_scored) == (1, 0, {"not judged": 6})
    assert f"judge behaviour-llm: 6 of 6 {told}" in " ".join(out.split())
    asked = len(says.settings)
    code, _, _ = talm("judge", "r", "--judge-options", "max_new_tokens=4096", "--judge-options", "temperature=0.5")
    assert (code, len(says.settings)) == (1, 2 * asked)
    assert {(one.max_new_tokens, one.temperature) for one in says.settings} == {(512, 0.0), (4096, 0.5)}
    says.answer = lambda text: ModelTurn(text='{"classification": "tool_call"}')
    code, out, _ = talm("judge", "r")
    assert (code, load_run(Path("runs/r")).summary()[0].n, "replies" in out) == (0, 6, False)


def test_settings_of_a_judge_that_are_none(nothing_given: None, talm: Talm) -> None:
    wrong = {"top_p=1": "top_p: there is no such key", "max_new_tokens=many": "not a whole number", "temperature=3": "3 is too large"}
    for given, told in wrong.items():
        code, _, err = talm("run", "--judge-options", given)
        assert (code, err.count("\n")) == (2, 1) and err.startswith("talm-sim: error: --judge-options: ") and told in err
