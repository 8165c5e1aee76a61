"""Questions, calls to approve and forms wait by the hundred: two people answer at once while everything is killed, and nothing goes astray."""

from __future__ import annotations

import json
import math
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
from talm_sim.common.digests import digest
from talm_sim.runs.desk import Desk
from talm_sim.runs.questions import Question, next_open_question
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.types import Decision, Episode, Form

__all__ = ["PARTS", "answer_next", "reply_to"]

_PLUGIN: Final = ("--plugin", "campaign.paperwork")
_PAPERWORK: Final = ("--task", "paperwork", "--model", "sim/oracle")
_OWN: Final = ("--split", "underspecified,perfect", "--model", "sim/asker", "--human", "terminal", "--replay")
_SCENARIOS: Final = 144
"""Episodes of an epoch of these groups; each puts something to a person."""
_MOST_ROUNDS: Final = 12
_KILLS: Final = {"run": 6, "people": 6}
_LIMIT_S: Final = 600.0
_IDLE_S: Final = 0.05


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let as many items of the three kinds wait, and play."""
    return _play(count, rng, scratch, (*_PAPERWORK, "--number", str(count)), kinds=3)


def play_own(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let the questions and calls of our own agent wait, and play; every call of its tools waits for a person."""
    tools = ",".join(one["name"] for one in json.loads(talm("tools", "list", "--json", scratch=scratch).out))
    return _play(count, rng, scratch, (*_OWN, "--epochs", str(math.ceil(count / _SCENARIOS))), kinds=2, approve=tools)


def _play(count: int, rng: random.Random, scratch: Path, options: tuple[str, ...], *, kinds: int, approve: str = "") -> Outcome:
    """Answer what waits, and what follows, from two processes; kill them and the run at random; compare with a quiet run."""
    outcome = Outcome(tried=count)
    for run in ("killed", "quiet"):
        asked = talm(
            "run",
            *options,
            "--display",
            "none",
            *_PLUGIN,
            "--run-id",
            run,
            scratch=scratch,
            env={"TALM_SIM_APPROVE": approve} if approve else {},
            seconds=_LIMIT_S,
        )
        if asked.wrong or asked.code != 1:
            outcome.failures.append(f"run: {asked.wrong or asked.err[-300:]}")
            return outcome
    waiting = Counter(one["kind"] for one in _listed(scratch, "killed"))
    if waiting.total() < count or len(waiting) != kinds:
        outcome.failures.append(f"{dict(waiting)} wait, not {count} of {kinds} kinds")

    people = [_Person(scratch, name) for name in ("Ada", "Bob")]
    runner = _Runner(scratch, rng)
    began = time.monotonic()
    runner.play_until_done([*people])
    for person in people:
        person.stop()
    outcome.failures += [*runner.faults, *(fault for person in people for fault in person.faults)]
    took = time.monotonic() - began

    _resume_quietly(outcome, scratch)
    outcome.failures += list(_astray(scratch, people))
    outcome.figures = {
        "waiting": ", ".join(f"{number} {kind}s" for kind, number in sorted(waiting.items())),
        "answered in": f"{took:.0f} s ({' and '.join(str(len(person.saved)) for person in people)})",
        "started again": f"{sum(one.attempt > 1 for one in load_run(scratch / 'runs' / 'killed').episodes())} episodes",
        "killed": f"the run {runner.kills} times, the people {sum(person.kills for person in people)} times",
    }
    return outcome


def reply_to(item: Question) -> dict[str, Any]:
    """Return what everybody answers to an item: the same, whoever answers it."""
    number, request = int(digest([item.episode_id, item.ask], 6), 16), item.request
    if request is None:
        return {"text": item.knows or f"answer {number} to {item.episode_id}"}
    if isinstance(request, Form):
        accept = Decision(action="accept", content={"nights": number + 1})
        return {"decision": (accept, Decision(action="decline"), Decision(action="cancel"))[number % 3]}
    calls = (
        Decision(action="approve"),
        Decision(action="edit", name=request.name, arguments=dict(reversed(request.arguments.items()))),
        Decision(action="reject", message=f"not {number}"),
        Decision(action="respond", message=f"done already, {number}"),
    )
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
    status = desk.answer(item.key, **reply_to(item), name=name, responder="answer")
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
    """Answer and continue the quiet run, until it is done."""
    quiet = load_run(scratch / "runs" / "quiet")
    for _ in range(_MOST_ROUNDS):
        _answer_all(quiet.path)
        done = talm("resume", "quiet", "--display", "none", *_PLUGIN, scratch=scratch, seconds=_LIMIT_S)
        if done.wrong or done.code not in (0, 1):
            outcome.failures.append(f"resume quiet: {done.wrong or done.err[-300:]}")
        if quiet.finished == quiet.total:
            return
    outcome.failures.append("the quiet run does not end")


def _listed(scratch: Path, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(talm("answer", run, "--list", "--json", scratch=scratch, seconds=_LIMIT_S).out)
    return found


def _astray(scratch: Path, people: list[_Person]) -> Iterator[str]:
    """Yield what was lost, answered twice or otherwise, and how the figures differ."""
    killed, quiet = (load_run(scratch / "runs" / run) for run in ("killed", "quiet"))
    saved = Counter((name, ask) for person in people for name, _, ask in person.saved)
    yield from (f"{key}: saved {times} times" for key, times in saved.items() if times > 1)
    kept = Counter((episode.id, event.name) for episode in killed.episodes() for event in episode.human_events)
    yield from (f"{name}: an answer of nobody" for name, who in kept if not who)
    by = Counter((name, person.name) for person in people for name, _, _ in person.saved)
    yield from (
        f"{name}: {times} answers of {who} saved, {kept[name, who]} kept" for (name, who), times in by.items() if times > kept[name, who]
    )
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


PARTS: Final = (
    Part("desk", "items of three kinds that wait, answered by two at once, all of them killed", "items", 500, 60, play),
    Part("desk-own", "the same with the questions and calls of our own agent", "items", 500, 0, play_own),
)
