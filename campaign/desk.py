"""Questions, calls to approve and forms wait by the hundred: two people answer at once while everything is killed, and nothing goes astray."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import campaign.paperwork  # noqa: F401 - the runs are of its task
from campaign.base import ROOT, Outcome, Part, environment, start, talm
from talm_sim.runs.desk import Desk
from talm_sim.runs.questions import next_open_question
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.types import Decision, Episode

__all__ = ["PARTS", "answer_next", "decision_of"]

_PLUGIN: Final = ("--plugin", "campaign.paperwork")
_RUN: Final = ("run", "--task", "paperwork", "--model", "sim/oracle", "--display", "none", *_PLUGIN)
_KILLS: Final = {"run": 6, "people": 6}
_LIMIT_S: Final = 600.0
_IDLE_S: Final = 0.05


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let `count` items wait, answer them and those that follow from two processes, kill all three at random, and compare with a quiet run."""
    outcome = Outcome(tried=count)
    for run in ("killed", "quiet"):
        asked = talm(*_RUN, "--number", str(count), "--run-id", run, scratch=scratch, seconds=_LIMIT_S)
        if asked.wrong or asked.code != 1:
            outcome.failures.append(f"run: {asked.wrong or asked.err[-300:]}")
            return outcome
    waiting = Counter(one["kind"] for one in _listed(scratch, "killed"))
    if waiting.total() != count or len(waiting) != 3:
        outcome.failures.append(f"{dict(waiting)} wait, not {count} of three kinds")

    people = [_Person(scratch, name) for name in ("Ada", "Bob")]
    runner = _Runner(scratch, rng)
    began = time.monotonic()
    runner.play_until_done([*people])
    for person in people:
        person.stop()
    outcome.failures += [*runner.faults, *(fault for person in people for fault in person.faults)]
    took = time.monotonic() - began

    _answer_all(scratch / "runs" / "quiet")
    _resume_quietly(outcome, scratch)
    outcome.failures += list(_astray(scratch, people))
    outcome.figures = {
        "waiting": ", ".join(f"{number} {kind}s" for kind, number in sorted(waiting.items())),
        "answered in": f"{took:.0f} s ({' and '.join(str(len(person.saved)) for person in people)})",
        "started again": f"{sum(one.attempt > 1 for one in load_run(scratch / 'runs' / 'killed').episodes())} episodes",
        "killed": f"the run {runner.kills} times, the people {sum(person.kills for person in people)} times",
    }
    return outcome


def decision_of(key: tuple[str, int, str], kind: str, ask: int) -> dict[str, Any]:
    """Return what everybody answers to an item: the same, whoever answers it."""
    number = int(key[0].rpartition("-")[2]) + ask
    if kind == "question":
        return {"text": f"answer {number} to {key[0]}, part {ask}"}
    if kind == "form":
        forms: list[dict[str, Any]] = [{"action": "accept", "content": {"nights": number}}, {"action": "decline"}, {"action": "cancel"}]
        return {"decision": forms[number % 3]}
    calls: list[dict[str, Any]] = [
        {"action": "approve"},
        {"action": "edit", "name": "book", "arguments": {"room": str(number)}},
        {"action": "reject", "message": f"not {number}"},
        {"action": "respond", "message": f"done already, {number}"},
    ]
    return {"decision": calls[number % 4]}


_PERSON: Final = """
import sys, time
from contextlib import closing
from pathlib import Path
from campaign.desk import answer_next
from talm_sim.runs.desk import Desk
run, name = Path(sys.argv[1]), sys.argv[2]
with closing(Desk(run)) as desk:
    while True:
        said = answer_next(desk, name, last_first=name == "Bob")
        if said:
            print(said, flush=True)
        else:
            time.sleep(0.05)
"""


def answer_next(desk: Desk, name: str, *, last_first: bool) -> str:
    """Answer one open item; return its key and what became of the answer, or nothing if none is open."""
    item = next_open_question(desk.reading, last_first=last_first)
    if item is None:
        return ""
    said = decision_of(item.key, item.kind, item.ask)
    decision = Decision.model_validate(said["decision"]) if "decision" in said else None
    status = desk.answer(item.key, said.get("text", ""), decision=decision, name=name, responder="answer")
    return json.dumps([*item.key, item.ask, status.value])


class _Person:
    """A process that answers whatever is open, and can be killed and started again."""

    def __init__(self, scratch: Path, name: str) -> None:
        self.faults: list[str] = []
        self.saved: list[tuple[str, int, int]] = []
        """Episode, attempt and number of every answer that was said to be saved."""
        self.kills = 0
        self.name = name
        self._scratch = scratch
        self._begin()

    def _begin(self) -> None:
        command = [sys.executable, "-c", _PERSON, str(self._scratch / "runs" / "killed"), self.name]
        errors = (self._scratch / f"{self.name}.err").open("ab")
        self._child = subprocess.Popen(command, cwd=ROOT, env=environment(self._scratch), stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.close()
        self._reading = threading.Thread(target=self._read, args=(self._child,), daemon=True)
        self._reading.start()

    def _read(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        for line in child.stdout:
            if line.endswith("\n"):
                episode, attempt, _, ask, status = json.loads(line)
                if status in ("delivered", "saved"):
                    self.saved.append((episode, attempt, ask))
                elif status != "taken":
                    self.faults.append(f"{episode}, {ask}: {status}")

    def kill(self) -> None:
        """Kill it, and start it again."""
        self._end()
        self.kills += 1
        self._begin()

    def stop(self) -> None:
        """End it."""
        self._end()
        said = (self._scratch / f"{self.name}.err").read_text(encoding="utf-8")
        if said:
            self.faults.append(f"{self.name}: {said.strip().splitlines()[-1][:200]}")

    def _end(self) -> None:
        self._child.kill()
        self._child.wait()
        self._reading.join(30)
        assert self._child.stdout is not None
        self._child.stdout.close()


class _Runner:
    """Goes on with the run in a process that is killed several times."""

    def __init__(self, scratch: Path, rng: random.Random) -> None:
        self.faults: list[str] = []
        self.kills = 0
        self._scratch = scratch
        self._rng = rng

    def play_until_done(self, people: list[_Person]) -> None:
        """Resume the run until all of it is finished; kill it, and the people, at random moments."""
        until = time.monotonic() + _LIMIT_S
        while time.monotonic() < until:
            child = start(("resume", "killed", "--display", "none", *_PLUGIN), self._scratch, stderr=subprocess.PIPE)
            code = self._wait(child, people)
            if code is None:
                continue
            said = child.communicate()[1].decode(errors="replace")
            if code not in (0, 1) or "Traceback" in said:
                self.faults.append(f"resume: exit {code}: {said[-300:]}")
                return
            if self._is_done():
                return
            time.sleep(_IDLE_S)
        self.faults.append(f"not done after {_LIMIT_S:.0f} s")

    def _wait(self, child: subprocess.Popen[bytes], people: list[_Person]) -> int | None:
        """Return how the child ended; None if it was killed."""
        deadline = None
        while child.poll() is None:
            if deadline is None and self.kills < _KILLS["run"] and self._stored.owner is not None:
                deadline = time.monotonic() + self._rng.uniform(0, 1.5)  # it has begun
            if deadline is not None and time.monotonic() > deadline:
                child.kill()
                child.communicate()
                self.kills += 1
                return None
            person = self._rng.choice(people)
            if person.kills < _KILLS["people"] // len(people) and self._rng.random() < 0.02:
                person.kill()
            time.sleep(_IDLE_S)
        return child.returncode

    def _is_done(self) -> bool:
        return self._stored.finished == self._stored.total

    @property
    def _stored(self) -> StoredRun:
        return load_run(self._scratch / "runs" / "killed")


def _answer_all(run: Path) -> None:
    with closing(Desk(run)) as desk:
        while answer_next(desk, "Eve", last_first=False):
            pass


def _resume_quietly(outcome: Outcome, scratch: Path) -> None:
    """Let the quiet run continue, answer what follows, and let it end."""
    for last in (False, True):
        done = talm("resume", "quiet", "--display", "none", *_PLUGIN, scratch=scratch, seconds=_LIMIT_S)
        if done.wrong or done.code not in ((0,) if last else (0, 1)):
            outcome.failures.append(f"resume quiet: {done.wrong or done.err[-300:]}")
        if not last:
            _answer_all(scratch / "runs" / "quiet")


def _listed(scratch: Path, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(talm("answer", run, "--list", "--json", scratch=scratch, seconds=_LIMIT_S).out)
    return found


def _astray(scratch: Path, people: list[_Person]) -> Iterator[str]:
    """Yield what was lost, answered twice or otherwise, and how the figures differ."""
    killed, quiet = (load_run(scratch / "runs" / run) for run in ("killed", "quiet"))
    saved = Counter(key for person in people for key in person.saved)
    yield from (f"{key}: saved {times} times" for key, times in saved.items() if times > 1)
    kept = {episode.id: episode for episode in killed.episodes()}
    for person in people:
        for name, _, ask in person.saved:
            said = [event for event in kept[name].human_events if event.call_id == str(ask)] if name in kept else []
            if [event.name for event in said] != [person.name]:
                yield f"{name}, {ask}: saved by {person.name}, kept from {[event.name for event in said]}"
    content = [{episode.id: _content(episode) for episode in run.episodes()} for run in (killed, quiet)]
    yield from (f"{name}: {content[0].get(name)} is not {one}" for name, one in content[1].items() if content[0].get(name) != one)
    figures = [[{name: value for name, value in one.items() if name != "run"} for one in run.summary_records()] for run in (killed, quiet)]
    if figures[0] != figures[1]:
        yield f"metrics differ: {figures[0]} | {figures[1]}"


def _content(episode: Episode) -> Any:
    events = [
        event.model_dump(mode="json", include={"question", "answer", "request", "decision", "declined"}) for event in episode.human_events
    ]
    return [episode.termination.value, episode.answer, events]


PARTS: Final = (Part("desk", "items of three kinds that wait, answered by two at once, all of them killed", "items", 500, 60, play),)
