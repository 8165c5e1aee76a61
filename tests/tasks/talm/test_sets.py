"""The sets of packaged scenarios: chosen by perfect query, so that pairs stay together."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import NotRecordedError, PrerequisiteError
from talm_sim.runs.api import run
from talm_sim.tasks import find_task
from talm_sim.tasks.registry import job_of
from talm_sim.tasks.talm.sets import QUICK, SAMPLE, draw_sample


def chosen(**options: Any) -> list[Any]:
    config = RunConfig(**{name: value for name, value in options.items() if name != "set"}, options={"set": options.get("set")})
    return find_task("talm").load(job_of(config))


def test_quick_is_the_default_with_72_of_each_split() -> None:
    found = chosen()
    assert found == chosen(set="quick")
    assert {one.base for one in found} == QUICK
    counts = Counter("unavailable" if "replaceable" in one.group else one.group for one in found)
    assert counts == {"perfect": 72, "underspecified": 72, "unavailable": 72, "no-tools": 72}


def test_a_sample_is_drawn_by_seed_and_keeps_pairs_whole() -> None:
    queries = [f"games-{number:03}" for number in range(500)]
    drawn = draw_sample(queries)
    assert len(drawn) == SAMPLE and drawn == draw_sample(reversed(queries))
    # One that is added takes the place of at most one.
    assert len(draw_sample([*queries, "games-500"]) - drawn) <= 1
    found, every = chosen(set="sample"), chosen(set="full")
    bases = {one.base for one in found}
    assert found == [one for one in every if one.base in bases] and len(bases) == min(SAMPLE, len({one.base for one in every}))


def test_split_limit_category_and_scenario_select_within_a_set() -> None:
    assert [one.id for one in chosen(split="replaceable,perfect", limit="1")] == [chosen(split=one)[0].id for one in ("perfect", "replaceable")]
    with pytest.raises(PrerequisiteError, match=r"scenario 'games-99' in split all of task talm, set quick \(set=.full. has all\)"):
        run(scenario=("games-99",), progress=False)


@pytest.mark.parametrize(("options", "words"), [({"set": "full"}, "--set full"), ({"set": "full", "split": "late-gap,perfect"}, "--set full")])
def test_a_set_of_which_some_is_recorded_is_refused_with_the_live_command(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotRecordedError) as refused:
        run(**options, run_dir=tmp_path, progress=False)
    said = str(refused.value)
    assert re.search(r"[\d,]+ of [\d,]+ scenarios are recorded in ", said)
    assert words in said and said.endswith("--model openai-api/vllm/smollm2-135m --live")
    assert [*tmp_path.iterdir()] == []


def test_a_set_of_the_user_s_own_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(chosen()[0].model_dump_json(), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match="--set: chooses among the packaged scenarios, and --scenarios names others"):
        chosen(scenarios=file, set="sample")
    assert len(chosen(scenarios=file)) == 1
