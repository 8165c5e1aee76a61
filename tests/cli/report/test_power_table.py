from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.types import Verdict, episode_id
from tests.cli.conftest import episode, scenario
from tests.cli.wrong import Talm
from tests.runs.stored import store

pytestmark = pytest.mark.usefixtures("nothing_given")
NOTE = "one epoch: single runs of equal agents lie 2.2 to 6.0 points apart (arXiv 2602.07150)"


def judged(name: str, epochs: int = 1, **options: str) -> None:
    """A run of 50 scenarios, 30 of which pass in the first epoch, and one fewer in each further one."""
    made = [scenario(f"perfect-{n}", "perfect") for n in range(50)]
    played = [
        episode(one).model_copy(update={"id": episode_id(one.id, epoch), "epoch": epoch}) for one in made for epoch in range(1, epochs + 1)
    ]
    verdicts = [
        Verdict(episode_id=episode_id(one.id, epoch), judge="reference", value=place < 31 - epoch)
        for place, one in enumerate(made)
        for epoch in range(1, epochs + 1)
    ]
    config: dict[str, Any] = {"model": "openai/some", "models": "live", "tools": "live", "split": "perfect", "epochs": epochs, **options}
    store(Path("runs"), name, made, played, verdicts, **config)


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_table_says_what_one_epoch_finds_and_from_what(talm: Talm) -> None:
    judged("r")
    code, out, err = talm("report", "r", "--power", "pass_rate", "--drop", ".2")
    assert (code, err) == (0, "")
    assert "perfect 50 .60 .40 .20 .52 .42 107" in words(out)
    assert "Differ: share of the scenarios in which the two runs differ, as for independent runs, because there is one epoch" in words(out)
    assert max(map(len, out.splitlines())) <= 80
    assert "perfect 107 .60 .40 .20 .52 .80 107" in words(talm("report", "r", "--power", "pass_rate", "--drop", ".2", "--n", "107")[1])
    assert "perfect 107 .60 .40 .20 .52 .80" in words(talm("report", "r", "--power", "pass_rate", "--n", "107")[1])


def test_a_program_reads_it_too(talm: Talm) -> None:
    judged("r")
    judged("s", 3)
    first, second = json.loads(talm("report", "r", "s", "--power", "pass_rate", "--json")[1])
    assert (first["run"], first["discordance_of"], first["n"]) == ("r", "independent runs", 50)
    assert (second["run"], second["discordance_of"]) == ("s", "own epochs") and second["discordance"] < first["discordance"]
    assert next(csv.DictReader(talm("report", "r", "--power", "pass_rate", "--csv")[1].splitlines()))["measure"] == "pass_rate"
    out = talm("report", "r", "s", "--power", "pass_rate")[1]
    assert out.splitlines()[2].startswith("Run") and max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--drop", ".2"), "--n and --drop need --power."),
        (("--power", "pass_rate", "--rows"), "--power prints a table of its own; of the other forms it has --json and --csv."),
        (("--power", "pass_rate", "--html", "p.html"), "--power prints a table of its own; of the other forms it has --json and --csv."),
        (("--power", "pass_rat"), "power: 'pass_rat' is not a share of the episodes of runs/r. Did you mean 'pass_rate'?"),
        (("--power", "pass_rate", "--drop", ".7"), "drop 0.7: pass_rate cannot get worse by so much; it is perfect 0.60."),
        (("--power", "pass_rate", "--n", "0"), "n 0: give a number of scenarios from 1 to 1,000,000."),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(given: tuple[str, ...], message: str, talm: Talm) -> None:
    judged("r")
    code, out, err = talm("report", "r", *given)
    assert (code, out, err) == (2, "", f"talm-sim: error: {message}\n")


def test_one_epoch_of_a_live_model_says_what_it_can_tell_apart(talm: Talm) -> None:
    judged("r")
    found = json.loads(talm("report", "r", "--power", "pass_rate", "--json")[1])[0]["drop"]
    said = words(talm("report", "r", "--all")[1])
    assert f"{NOTE}; a run that is worse by this many points is found with a power of .8: {100 * found:.0f} in perfect" in said
    assert "(talm-sim report r --power pass_rate)" in said


def test_several_epochs_have_tables_of_their_own(talm: Talm) -> None:
    judged("r", 3)
    out = talm("report", "r", "--all")[1]
    assert "epochs, n: scenarios n Flips Lowest Highest Spread perfect 50 .04 .56 .60 .04" in words(out)
    assert "pass@k, n: scenarios n pass@1 pass@2 pass@3 perfect 50 .58 .59 .60" in words(out)
    assert "pass^k, n: scenarios n pass^1 pass^2 pass^3 perfect 50 .58 .57 .56" in words(out)
    assert "| group: pass@k, n: scenarios | n | pass@1 | pass@2 | pass@3 |" in talm("report", "r", "--markdown")[1]
    assert talm("report", "r", "--html", "p.html")[0] == 0 and "pass^3" in Path("p.html").read_text(encoding="utf-8")
