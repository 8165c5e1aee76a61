"""What is typed and read where a budget ends a command: the lines, the exit code, and the command that continues."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talm_sim.cli.progress.budget_lines import describe_reached, describe_spent
from talm_sim.runs.events import BudgetReached, BudgetSpent, PartSpent
from tests.models.stand_in import StandIn, serving
from tests.runs.recorded_world import make_world
from tests.runs.test_budget import JUDGE, MODEL, act

Talm = Callable[..., tuple[int, str, str]]


@pytest.fixture
def server(nothing_given: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The server of `MODEL`; in the working directory are the scenarios and recorded tools of a small world, and prices."""
    make_world(tmp_path)
    (tmp_path / "p.toml").write_text(f'currency = "USD"\n"{MODEL}" = {{input = 1000, output = 1000}}\n', encoding="utf-8")
    monkeypatch.setattr(StandIn, "act", act)
    with serving("guesses") as found:
        monkeypatch.setenv("STAND_BASE_URL", f"{found.url}/v1")
        monkeypatch.setenv("TALM_SIM_TOOLS", "replay")
        monkeypatch.setenv("TALM_SIM_MAX_EPISODES", "1")
        yield found


WORLD = ("--scenarios", "scenarios.jsonl", "--split", "perfect", "--model", MODEL, "--cassettes", "cassettes")
RUN = ("run", *WORLD, "--run-id", "r")


def test_a_run_that_its_budget_ends_says_so_and_what_continues_it(server: StandIn, talm: Talm) -> None:
    code, out, err = talm(*RUN, "--budget", "requests=5,cost=9", "--prices", "p.toml")
    assert code == 4 and "not finished: 2 of 4\n" in out
    assert "budget: the limit of requests is reached, so nothing more starts" in err
    assert "budget: 8 of 5 requests (3 over): agent 8\nbudget: 0.112 of 9 USD: agent 0.112\nbudget: left over: 2 episodes not started" in err
    line = next(line for line in err.splitlines() if "Continue with: " in line)
    assert line.startswith("the budget is spent: 2 episodes not started. Continue with: ")
    program, *words = shlex.split(line.partition("Continue with: ")[2])
    assert (program, words) == ("talm-sim", ["resume", "r", "--budget", "requests=5,cost=9", "--prices", "p.toml"])
    code, out, err = talm(*words, "-q")
    assert code == 0 and "not finished" not in out + err and "budget" not in err, "nothing was left, and a quiet command says nothing"
    assert "cost: 0.22 USD" in " ".join(out.split()) and len(server.requests) == 16


def test_judging_that_its_budget_ends_says_what_is_not_judged(server: StandIn, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALM_SIM_MAX_CONNECTIONS", "1")
    assert talm(*RUN)[0] == 0
    words = ("judge", "r", "--judge", "llm", "--judge-model", JUDGE, "--budget", "requests=2")
    monkeypatch.setattr("sys.argv", ["talm-sim", *words])
    code, out, err = talm(*words)
    assert code == 4 and "3 of 4 finished episodes without a verdict" in out
    assert "budget: 3 of 2 requests (1 over): judge 3\nbudget: left over: 3 episodes not judged by llm" in err
    assert f"the budget is spent: 3 episodes not judged by llm. Continue with: talm-sim {shlex.join(words)}" in err
    assert talm("resume", "r")[0] == 0 and "without a verdict" not in talm("report", "r")[1], "resume judges what is left, too"


def test_a_grid_that_its_budget_ends_prints_what_it_has(server: StandIn, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("ablate", *WORLD, "--over", "seed=1,2,3", "--budget", "requests=20")
    monkeypatch.setattr("sys.argv", ["talm-sim", *words])
    code, out, err = talm(*words)
    assert code == 4 and "  seed=2  " in out and "seed=3" not in out
    assert f"the budget is spent: 3 episodes not started, 1 cell not started. Continue with: talm-sim {shlex.join(words)}" in err
    assert talm(*words)[0] == 4 and talm(*words)[0] == 0 and len(server.requests) == 48


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--budget", "reqests=1"), "--budget: reqests: a budget has no such option. Did you mean 'requests'?"),
        (("--budget", "cost=1"), "--budget cost: needs the prices of the models; add --prices FILE."),
        (("--budget", "cost=1", "--dry-run"), "--budget cost: needs the prices of the models; add --prices FILE."),
        (("--budget", "cost=1", "--prices", "q.toml"), f"--prices: no price for {MODEL}. Known: other/m."),
    ],
)
def test_what_is_wrong_with_a_budget_is_one_line_before_any_request(server: StandIn, talm: Talm, words: tuple[str, ...], line: str) -> None:
    Path("q.toml").write_text('"other/m" = {input = 1, output = 1}\n', encoding="utf-8")
    assert talm(*RUN, *words) == (2, "", f"talm-sim: error: {line}\n")
    assert not server.requests and not Path("runs").exists()


@pytest.mark.parametrize("verb", ["resume", "judge"])
def test_a_wrong_budget_for_a_stored_run_is_one_line(verb: str, stored: Path, talm: Talm) -> None:
    assert talm(verb, "a-run", "--budget", "tokens=x") == (2, "", "talm-sim: error: --budget: tokens: 'x' is not a whole number.\n")


def test_an_upper_bound_is_called_one_and_foreign_names_are_harmless() -> None:
    parts = (PartSpent("agent", "a/b", 2, 300, 100, 2, 0.5), PartSpent("judge", "c/d", 1, 100, 0, 0, 0.25))
    event = BudgetSpent({"tokens": 450, "cost": 1.0}, {"requests": 3, "tokens": 500, "cost": 0.75}, parts, "\x1b[31mUSD", {"judge x\x1b": 1})
    assert describe_spent(event) == [
        "budget: at most 500 of 450 tokens (50 over): agent 400, judge 100",
        "budget: at most 0.75 of 1 USD: agent 0.5, judge 0.25",
        "budget: 2 requests counted at the upper bound, as no usage was reported",
        "budget: left over: 1 episode not judged by x",
    ]
    nothing = BudgetSpent({"requests": 5}, {"requests": 0}, (), "", {})
    assert describe_spent(nothing)[1] == "budget: no model was asked; replayed answers and controls count nothing"
    assert describe_reached(BudgetReached(("requests", "minutes"), 3)) == (
        "budget: the limit of requests and minutes is reached, so nothing more starts; 3 in flight will end"
    )
