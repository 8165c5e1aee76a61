"""`talm-sim explain WORD`: every word in a few lines, and an unknown one in one."""

from __future__ import annotations

import pytest

from talm_sim.tasks.outcomes import agent_words
from talm_sim.tasks.registry import find_task, list_tasks
from tests.cli.wrong import Talm, check
from tests.tables import labelled


@labelled
def test_a_word_is_explained(word: str, lines: list[str], talm: Talm) -> None:
    code, out, err = talm("explain", word)
    assert (code, err) == (0, "")
    for line in lines:
        assert line in " ".join(out.split()), out


@pytest.mark.usefixtures("nothing_given")
def test_an_unknown_word_is_one_line(talm: Talm) -> None:
    check(talm("explain", "guesed"), r"explain: nothing is called 'guesed'\. Did you mean 'guessed'\?")
    check(talm("explain", "\x1b[31m"), r"explain: nothing is called")
    assert "\x1b" not in talm("explain", "\x1b[31m")[2]


@pytest.mark.parametrize("task", list_tasks())
def test_every_outcome_is_explained_on_a_few_lines(task: str, talm: Talm) -> None:
    for one in find_task(task).outcomes:
        for word in (one.name, one.words):
            code, out, _ = talm("explain", word)
            part = next((part for part in out.split("\n\n") if f" of task {task}; {agent_words(one)} " in " ".join(part.split())), "")
            assert code == 0 and part and len(part.splitlines()) <= 12, (word, out)
            assert max(map(len, out.splitlines())) <= 80, word
