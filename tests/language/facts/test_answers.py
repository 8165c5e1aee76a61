"""The labelled answers: how often the rules pass a wrong one and fail a right one, by language."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from talm_sim.judges.base import JudgeContext
from talm_sim.judges.reference import ReferenceJudge
from talm_sim.types import Episode, Facts, HumanEvent, ModelTurn, Scenario, Termination, Turn
from tests.labelled_scenarios import labelled_scenarios

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.jsonl"))


@cache
def packaged() -> dict[str, Scenario]:
    return labelled_scenarios()


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def scenario_of(row: dict[str, Any]) -> Scenario:
    """The row's scenario, without gold calls: the answer alone is judged."""
    if "scenario" in row:
        asked = packaged()[row["scenario"]]
        return asked.model_copy(update={"turns": (Turn(messages=asked.turns[0].messages),)})
    turn = Turn(messages=({"role": "user", "content": row["request"]},))
    return Scenario(id="s", group="perfect", turns=(turn,), target=Facts.model_validate({"required": row["facts"]}))


def judged(row: dict[str, Any]) -> tuple[bool | None, str]:
    texts = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    asked = tuple(HumanEvent(turn=n, call_id="q", question="?", answer="a", responder="r", by="words") for n in range(len(texts) - 1))
    episode = Episode(
        id="s", scenario_id="s", group="perfect", model="m", model_turns=tuple(ModelTurn(text=text) for text in texts), events=asked,
        answer=texts[-1], termination=Termination.ANSWERED,
    )  # fmt: skip
    return ReferenceJudge(JudgeContext()).judge(episode, scenario_of(row))


def rates(file: Path) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(file):
        for language in (row["language"], "all"):
            found[language][row["label"]] += 1
            value = judged(row)[0]
            found[language]["undecided"] += value is None and row["label"] != "unclear"
            wrong = value is not None and value is not (row["label"] == "pass") and row["label"] != "unclear"
            found[language]["false " + ("pass" if row["label"] == "fail" else "fail")] += wrong
    return dict(found)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_few_wrong_answers_pass_and_few_right_ones_fail(file: Path) -> None:
    english = rates(file)["en"]
    assert english["false pass"] <= 0.05 * english["fail"], english
    assert english["false fail"] <= 0.10 * english["pass"], english
    assert english["undecided"] <= 0.15 * (english["fail"] + english["pass"]), english


if __name__ == "__main__":
    import sys

    for file in map(Path, sys.argv[1:]):
        for language, found in sorted(rates(file).items()):
            print(
                f"{file.stem} {language}: false pass {found['false pass']}/{found['fail']}, false fail {found['false fail']}/{found['pass']}",
                found["undecided"],
            )
        for row in rows(file):
            value, why = judged(row)
            if value is not (row["label"] == "pass"):
                print(row["label"], row["language"], row["kind"], row.get("scenario") or row["facts"], "|", row["answer"], "|", why)
