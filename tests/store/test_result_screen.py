"""The screen of a run: 80 columns wide whatever the run is, and clean whatever its names and answers are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from talm_sim.store.result_screen import WIDTH, screen_lines, screen_text
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks.registry import TASKS
from talm_sim.types import Episode, Termination
from tests.cli.summaries import HOSTILE
from tests.comparison.test_run_power import COINS
from tests.offered import bring_along
from tests.runs.scripted import finished, scenarios
from tests.runs.stored import store

SILENT = COINS.replace('("heads",)', "()")
"""The same task without a word on what succeeds."""


def lines_of(stored: StoredRun, alerts: Sequence[str] = ()) -> list[str]:
    found = ["".join(part.text for part in parts) for parts in screen_lines(stored, "r", alerts)]
    assert max(map(len, found)) <= WIDTH, found
    return [line.rstrip() for line in found]


def played(tmp_path: Path, **options: Any) -> list[str]:
    return lines_of(talm_sim.run(run_dir=tmp_path, progress=False, **options))


def test_one_group_has_bars_controls_a_cause_an_example_and_three_commands(tmp_path: Path) -> None:
    lines = played(tmp_path, split="underspecified", limit=12)
    assert lines[0] == "openai-api/vllm/smollm2-135m: talm, underspecified, 12 episodes"
    assert lines[2].split() == ["episodes", "share", "95", "%", "int."]
    assert sum(int(line.split("█")[-1].split("▏")[0].split()[-3]) for line in lines if "█" in line) == 12
    for begin in (
        "  none: ",
        "  and solved the task ",
        "  control, careful (sim/asker): asked for",
        "  control, careless (sim/eager): made up",
    ):
        assert [line for line in lines if line.startswith(begin)], begin
    assert [line.split("talm-sim ")[1].split()[0] for line in lines[-3:]] == ["show", "explain", "report"]
    assert any(line.startswith("  example: ") for line in lines) and any(line.startswith("  why: ") for line in lines)


def test_several_groups_have_a_bar_in_parts_each(tmp_path: Path) -> None:
    lines = played(tmp_path, split="perfect,underspecified", limit=10)
    heads = [line for line in lines if line.startswith(("  perfect (nothing is missing) ", "  underspecified "))]
    assert (
        [line[:37].split()[-1] for line in heads] == ["10", "10"]
        and heads[0].startswith("  perfect (nothing is missing) ")
        and {len(line) for line in heads} == {len(heads[0])}
    )
    assert not any("control," in line for line in lines)


def test_fewer_than_ten_have_a_line_each_and_no_shares(tmp_path: Path) -> None:
    lines = played(tmp_path, split="underspecified", limit=3)
    assert (
        "talm, underspecified, 3 episodes" in lines[0]
        and "talm, perfect (nothing is missing), 3 episodes" in played(tmp_path, limit=3, split="perfect")[0]
    )
    assert [line.split()[0] for line in lines if line.startswith("  calendar-")] == [f"calendar-0{n}.underspecified" for n in (1, 2, 3)]
    assert not any("%" in line or "why:" in line or "example:" in line for line in lines)


@pytest.mark.parametrize(("text", "number"), [(COINS, 12), (COINS, 3), (SILENT, 12), (SILENT, 3)])
def test_a_strangers_task_has_two_outcomes_or_none(text: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, TASKS, text) as load:
        load()
        made = scenarios(number)
        episodes = [finished(one, answer="heads" if place % 2 else "tails") for place, one in enumerate(made)]
        lines = lines_of(store(tmp_path, "r", made, episodes, task="coins", model="sim/scripted"))
    said = "\n".join(lines)
    assert lines[0] == f"control: sim/scripted: coins, all, {number} episodes"
    assert ("did not solve it" in said) is (text is COINS) and "report r --all" in lines[-1]


def test_what_was_not_scored_or_not_finished_and_alerts_are_said(tmp_path: Path) -> None:
    made = scenarios(14)
    lost = [finished(one, termination=Termination.REPLAY_MISS) for one in made[:2]]
    stored = store(tmp_path, "r", made, [*lost, *map(finished, made[2:13])], model="sim/oracle")
    lines = lines_of(stored, ["http-500 fired in 3 of 11 episodes, " + "which is said in a long line " * 4])
    assert "  not scored: 2 replay miss" in lines and "  not finished: 1 of 14" in lines
    assert any(line.startswith("  note: http-500 fired in 3 of 11 episodes") for line in lines)


@pytest.mark.parametrize("number", [3, 12])
def test_print_shows_it_and_nothing_hostile_reaches_a_terminal(number: int, tmp_path: Path) -> None:
    name = "\x1b]0;title\x07" + HOSTILE.replace("\x00", "\x9b")
    made = [one.model_copy(update={"id": f"{name}{place}"}) for place, one in enumerate(scenarios(number))]
    episodes: list[Episode] = [finished(one, answer=f"{HOSTILE}\r\n\u2028", error=HOSTILE) for one in made]
    stored = store(tmp_path, "r", made, episodes, model=f"openai/{HOSTILE}", models="replay")
    assert str(stored) == screen_text(stored, "r") and len(str(stored).splitlines()) > 5
    assert all(sign.isprintable() for line in str(stored).split("\n") for sign in line)
    lines_of(stored)
