"""Two people judge 20 stored episodes at a real terminal, by a key each; one of them is killed, and goes on."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from talm_sim.common.kappa import kappa
from talm_sim.store.people.ballot import choose_question, find_people, open_ballot
from talm_sim.store.stored_run import StoredRun, load_run
from tests.cli.test_terminal import at_terminal
from tests.cli.wrong import Talm
from tests.store.people.judged import awareness_run, talm_run, when2call_run

__all__ = ["at_terminal"]


def keys_of(run: StoredRun, name: str) -> dict[str, str]:
    """What a person will type of each item, in the order in which they see them."""
    question = choose_question(run)
    with closing(open_ballot(run, question, name)) as ballot:
        keys = list(question.labels)
        return {item: keys[(place * (3 if name == "ann" else 2) + len(name)) % len(keys)] for place, item in enumerate(ballot.items)}


def labels_of(run: StoredRun, name: str) -> dict[str, str]:
    people = find_people(load_run(run.path), choose_question(run))
    return {} if people is None else {one: said[name].label for one, said in people.said.items() if name in said}


def sit(terminal: Any, keys: dict[str, str], run: StoredRun, *, done: int = 0, stop: int | None = None) -> None:
    """Type the keys of those who are left, up to `stop` of them; each waits for its item and is seen to be saved."""
    labels = choose_question(run).labels
    prompt = ", ".join(f"{key} {label.replace('_', ' ')}" for key, label in labels.items()) + " >"
    for place, key in list(enumerate(keys.values(), 1))[done:stop]:
        terminal.expect(f"{place} of {len(keys)}, {place - 1} judged")
        terminal.expect(prompt)
        terminal.type(key)
        terminal.expect(f"saved: {labels[key].replace('_', ' ')}")


def press(terminal: Any, key: str, shown: str) -> None:
    """Press a key once it is asked for, and wait for what that shows."""
    terminal.expect("p pass, f fail >")
    terminal.type(key)
    terminal.expect(shown)


def test_two_people_judge_and_one_is_killed(tmp_path: Path, at_terminal: Any, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    task, run = "choice", when2call_run(tmp_path / "runs")
    ann, bob = keys_of(run, "ann"), keys_of(run, "bob")
    assert [*ann] != [*bob] and len(ann) == len(bob) == 20
    terminal = at_terminal(tmp_path, "judge", task, "--judge", "person", "--name", "ann")
    sit(terminal, ann, run, stop=7)
    terminal.expect(" >")  # the next one is on the screen
    terminal.process.send_signal(signal.SIGKILL)
    terminal.process.wait()
    labels = choose_question(run).labels
    assert labels_of(run, "ann") == {item: labels[ann[item]] for item in list(ann)[:7]}, "what was saved is there"
    terminal = at_terminal(tmp_path, "judge", task, "--judge", "person", "--name", "bob")
    sit(terminal, bob, run)
    terminal.expect("20 of 20 items judged")
    terminal.ends()
    again = at_terminal(tmp_path, "judge", task, "--judge", "person", "--name", "ann")
    sit(again, ann, run, done=7)
    again.ends()
    for name, keys in (("ann", ann), ("bob", bob)):
        assert labels_of(run, name) == {item: labels[key] for item, key in keys.items()}, "nothing is lost, and nothing is another's"
    # What is shown acts nowhere: no title, no cleared screen, no colour of the text's own, no question to the terminal, no link.
    for shown in (terminal.raw, again.raw):
        assert "owned" not in terminal.text and "not red" in terminal.text and "[red]" in terminal.text
        for acts in ("\x1b]0;", "\x1b[2J", "\x1b[31m", "\u202e", "\x9b", "\x1b]8;", "\x1b[5n"):
            assert acts not in shown
        assert "secret" not in shown
    monkeypatch.chdir(tmp_path)
    code, out, _ = talm("judge", task, "--judge", "person", "--json")
    first = json.loads(out)["agreement"][0]
    assert code == 0 and first["between"] == ["ann", "bob"] and first["n"] == 20
    assert first["kappa"] == pytest.approx(kappa([(labels[ann[item]], labels[bob[item]]) for item in ann]), abs=1e-12)
    code, out, _ = talm("report", task, "-q")
    assert code == 0 and "agreement with people" in out and "ann and bob" in out
    assert max(map(len, out.splitlines())) <= 80


def test_undo_skip_note_and_stop_at_a_terminal(tmp_path: Path, at_terminal: Any) -> None:
    run = talm_run(tmp_path / "runs", 4)
    items = list(keys_of(run, "ann"))
    terminal = at_terminal(tmp_path, "judge", "talm", "--judge", "person", "--name", "ann")
    press(terminal, "u", "There is no decision to undo.")
    press(terminal, "xP", "Type one of p, f, s, u, q, m, #.")
    terminal.expect("p pass, f fail >")
    terminal.expect("2 of 4, 1 judged")
    press(terminal, "u", "1 of 4, 0 judged")
    press(terminal, "s", "2 of 4, 0 judged")
    press(terminal, "#", "note:")
    terminal.type("half right, \x1b[D\r")
    press(terminal, "f", "saved: fail (half right,")
    terminal.expect("3 of 4, 1 judged")
    press(terminal, "q", "1 of 4 items judged")
    terminal.expect("continue with: talm-sim judge talm --judge person --name ann")
    terminal.ends()
    assert labels_of(run, "ann") == {items[1]: "fail"}
    terminal = at_terminal(tmp_path, "judge", "talm", "--judge", "person", "--name", "ann")
    for _ in range(2):
        press(terminal, "p", "saved: pass")
    terminal.expect("4 of 4, 3 judged")
    press(terminal, "\x03", "interrupted; all verdicts are kept")
    terminal.ends(130)
    assert len(labels_of(run, "ann")) == 3


def test_a_second_terminal_of_the_same_name_replaces_nothing(tmp_path: Path, at_terminal: Any) -> None:
    run = talm_run(tmp_path / "runs", 3)
    items = list(keys_of(run, "ann"))
    first, second = (at_terminal(tmp_path, "judge", "talm", "--judge", "person", "--name", "ann") for _ in range(2))
    for terminal in (first, second):
        terminal.expect("p pass, f fail >")
    first.type("p")
    first.expect("2 of 3, 1 judged")
    second.type("f")
    second.expect("already judged elsewhere as ann: pass; that verdict stays")
    second.expect("2 of 3, 1 judged")
    press(second, "f", "3 of 3, 2 judged")
    press(second, "q", "2 of 3 items judged")
    press(first, "u", "2 of 3, 1 judged")
    first.expect("p pass, f fail >")
    assert labels_of(run, "ann") == {items[0]: "pass"}, "the last verdict is taken back, wherever it was given"
    first.type("p")
    first.expect("3 of 3, 2 judged")
    press(first, "q", "2 of 3 items judged")
    for terminal in (first, second):
        terminal.ends()
    assert labels_of(run, "ann") == {items[0]: "pass", items[1]: "pass"}


def test_scenarios_alone_are_a_baseline_of_people(tmp_path: Path, at_terminal: Any, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = next(awareness_run(tmp_path / "elsewhere", 1).scenarios())
    original = removed.model_dump(mode="json") | {"id": "i-00", "group": "complete"}
    original["target"]["gold"] = "yes"
    (tmp_path / "mine.jsonl").write_text(json.dumps(original) + "\n" + removed.model_dump_json() + "\n", encoding="utf-8")
    terminal = at_terminal(tmp_path, "judge", "--scenarios", "mine.jsonl", "--judge", "person", "--name", "ann")
    terminal.expect("run of these scenarios alone: runs/people-mine-")
    for place in (1, 2):
        shown = terminal.expect(f"{place} of 2, {place - 1} judged") + terminal.expect("y yes, n no >")
        assert "Can the request be served with these APIs now?" in shown and "removed" not in shown and "i-00" not in shown
        terminal.type("n")
        terminal.expect("saved: no")
    terminal.ends()
    monkeypatch.chdir(tmp_path)
    (run,) = (tmp_path / "runs").iterdir()
    assert labels_of(load_run(run), "ann") == {"i-00": "no", "i-00.removed": "no"}
    code, out, _ = talm("report", run.name, "--json")
    (whole,) = json.loads(out)
    assert code == 0 and (whole["person"], whole["person_n"], whole["n"]) == (0.5, 2, 0), "one of two is right, and no model was run"
    code, out, _ = talm("report", run.name)
    assert "not scored" not in out and "Acc" not in out and "cancelled" not in out
    assert "awareness: people judge scenarios, and no model was run" in out
    assert code == 0 and "what is right" in out and "Human" in out and ".81" in out, "the study's people are beside them"
    again = at_terminal(tmp_path, "judge", "--scenarios", "mine.jsonl", "--judge", "person", "--name", "ann")
    again.expect("2 of 2 items judged")
    again.ends()
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [run.name], "the same file is the same run"
