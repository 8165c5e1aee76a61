"""Thousands of questions wait: two people answer them through pipes from both ends, and nothing goes astray."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, start, talm

__all__ = ["PARTS"]

_RUN: Final = "queue"
_SCENARIOS: Final = 144
"""Questions an epoch of these groups puts."""
_ASK: Final = ("run", "--split", "underspecified,unavailable", "--model", "sim/asker", "--human", "terminal", "--display", "none")
_MOST_SECONDS, _MOST_MEMORY = 60.0, 200 * 2**20
_QUESTION: Final = re.compile(rb"Question \d+ of \d+, (\S+) \(")


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let `count` questions wait, answer them from both ends, resume, and compare with answers that were given one by one."""
    outcome = Outcome(tried=count)
    epochs = math.ceil(count / _SCENARIOS)
    asked = talm(*_ASK, "--epochs", str(epochs), "--run-id", _RUN, scratch=scratch, seconds=600)
    if asked.wrong or asked.code != 1:
        outcome.failures.append(f"run: {asked.wrong or asked.err[-300:]}")
        return outcome
    questions = _open(scratch)
    rng.shuffle(questions)
    _answer_in_python(scratch, questions[count:])  # those beyond the number are not in the contest
    contest = {one["episode_id"]: one["knows"] or f"nothing more, {number}" for number, one in enumerate(questions[:count])}
    shutil.copytree(scratch / "runs" / _RUN, scratch / "runs" / "alone")

    began = time.monotonic()
    ends = [_Answerer(scratch, contest), _Answerer(scratch, contest, "--reverse")]
    for end in ends:
        end.join(300)
    took = time.monotonic() - began
    outcome.failures += [fault for end in ends for fault in end.faults]
    left = len(_open(scratch))
    if left:
        outcome.failures.append(f"{left} questions are still open")
    if took > _MOST_SECONDS:
        outcome.failures.append(f"answering took {took:.0f} s")

    _answer_in_python(scratch, questions[:count], contest, run="alone")
    results, seconds = {}, 0.0
    for run in (_RUN, "alone"):
        done = talm("resume", run, "--display", "none", scratch=scratch, seconds=600)
        if done.wrong or done.code == 2:
            outcome.failures.append(f"resume {run}: {done.wrong or done.err[-300:]}")
        seconds = done.seconds if run == _RUN else seconds
        results[run] = _metrics(scratch, run)
    if results[_RUN] != results["alone"]:
        outcome.failures.append("the metrics differ from those of answers given one by one")
    astray = _astray(scratch, contest)
    outcome.failures += [f"{episode}: went on with another answer than it was given" for episode in astray[:20]]
    memory = max(asked.most_memory, *(end.memory for end in ends))
    if asked.most_memory > _MOST_MEMORY:
        outcome.failures.append(f"{asked.most_memory / 2**20:.0f} MB while they wait")
    outcome.figures = {
        "answered in": f"{took:.1f} s ({' and '.join(str(end.said) for end in ends)})",
        "resumed in": f"{seconds:.0f} s",
        "astray": str(len(astray)),
        "most memory": f"{memory / 2**20:.0f} MB",
    }
    return outcome


class _Answerer(threading.Thread):
    """A person at a pipe, who answers each question with what they know of it."""

    def __init__(self, scratch: Path, answers: dict[str, str], *options: str) -> None:
        super().__init__(daemon=True)
        self.faults: list[str] = []
        self.said = 0
        self.memory = 0
        self._answers = answers
        self._name = " ".join(("answer", *options))
        command = ["answer", _RUN, "--display", "plain", *options]
        self._child = start(command, scratch, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.start()

    def run(self) -> None:
        assert self._child.stdin is not None and self._child.stderr is not None
        shown = b""
        while piece := os.read(self._child.stderr.fileno(), 65536):
            shown += piece
            if b"Traceback" in shown:
                self.faults.append(f"{self._name}: traceback")
            if not shown.endswith(b"> "):
                continue
            asked = _QUESTION.findall(shown)
            if asked:  # else the line is wanted once more
                self._child.stdin.write(self._answers[asked[-1].decode()].encode() + b"\n")
                self._child.stdin.flush()
                self.said += 1
                shown = b""
        _, status, used = os.wait4(self._child.pid, 0)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        self.memory = used.ru_maxrss * 1024
        if self._child.returncode:
            self.faults.append(f"{self._name}: exit {self._child.returncode}")
        self._child.stdin.close()
        self._child.stderr.close()


def _open(scratch: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(talm("answer", _RUN, "--list", "--json", scratch=scratch).out)
    return found


def _answer_in_python(scratch: Path, questions: list[dict[str, Any]], answers: dict[str, str] | None = None, run: str = _RUN) -> None:
    from contextlib import closing

    from talm_sim.runs.desk import Desk

    with closing(Desk(scratch / "runs" / run)) as desk:
        for one in questions:
            text = (answers or {}).get(one["episode_id"], "I do not know.")
            desk.answer((one["episode_id"], one["attempt"], one["interrupt_id"]), text, responder="answer")


def _metrics(scratch: Path, run: str) -> list[dict[str, Any]]:
    found = talm("report", run, "--json", scratch=scratch).out
    return [{name: value for name, value in record.items() if name != "run"} for record in json.loads(found)]


def _astray(scratch: Path, answers: dict[str, str]) -> list[str]:
    from talm_sim.runs.stored_run import load_run

    episodes = {episode.id: episode for episode in load_run(scratch / "runs" / _RUN).episodes()}
    return [name for name, text in answers.items() if name not in episodes or text not in {e.answer for e in episodes[name].human_events}]


PARTS: Final = (Part("queue", "questions that wait, answered from both ends", "questions", 2000, _SCENARIOS, play),)
