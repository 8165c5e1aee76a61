"""A random model of some 10^4 parameters, a file of rows for it, and trainings of it in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from talm_sim.training import Job, Step, read_recipe, train

ROWS = 12
ACTIONS = ("tool_call", "request_for_info", "cannot_answer")


def write_rows(file: Path, rows: Sequence[dict[str, Any]]) -> Path:
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return file


def completions(number: int = ROWS) -> list[dict[str, Any]]:
    return [
        {"id": f"r{one}", "prompt": f"the question {one}?\n", "completion": f"answer {one * one}", "action": ACTIONS[one % 3], "source": "test"}
        for one in range(number)
    ]


def pairs(number: int = ROWS) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{one}",
            "prompt": f"the question {one}?\n",
            "chosen": f"answer {one * one}",
            "rejected": f"the {one}!",
            "chosen_action": ACTIONS[one % 3],
            "rejected_action": "direct",
            "source": "test",
        }
        for one in range(number)
    ]


def make_job(folder: Path, method: Any, *, out: str, start: Path | None = None, checkpoint_s: float = float("inf"), **changed: Any) -> Job:
    """Return a training of the model in `folder/model` of 12 steps."""
    file = folder / ("sft.jsonl" if method == "sft" else "pairs.jsonl")
    if not file.exists():
        write_rows(file, completions() if method == "sft" else pairs())
    recipe = read_recipe("study", method, {"batch": 2, "epochs": 2, "max_length": 64, "learning_rate": 0.01, **changed})
    return Job(method, file, f"hf/{folder / 'model'}", folder / out, recipe, start, threads=1, checkpoint_s=checkpoint_s)


class Training:
    """A training in a process of its own, which can be killed."""

    def __init__(self, job: Job) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(["talm_sim.training.trainers"])  # else each process would import it for seconds
        self._steps, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_train, args=(job, theirs))
        self._process.start()
        theirs.close()
        self.first: int | None = None
        """The step at which it began."""

    def kill_at(self, number: int) -> None:
        """Kill it as soon as it has finished a step."""
        while self._next().number < number:
            pass
        self._process.kill()
        self._process.join()
        assert self._process.exitcode == -9

    def finish(self) -> None:
        """Wait for its end."""
        try:
            while True:
                self._next()
        except EOFError:
            self._process.join()
        assert self._process.exitcode == 0

    def _next(self) -> Step:
        step: Step = self._steps.recv()
        if step.loss is None:
            self.first = step.number
        return step


def _train(job: Job, steps: Any) -> None:
    assert train(job, steps.send)
