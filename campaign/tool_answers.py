"""Hostile services behind an OpenAPI document, in real time: whatever they answer costs one call, in 35 s and 250 MB at most."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Final

from campaign.base import Outcome, Part, talm
from campaign.servers import Play, heads, http, lines, serve, statuses

__all__ = ["PARTS"]

MOST_MEMORY: Final = 250 * 10**6
MOST_SECONDS: Final = 35.0
GOOD: Final = b'{"item": "cup"}'
SCENARIO: Final = {
    "task": "talm",
    "group": "perfect",
    "tools": ["t"],
    "turns": [{"messages": [{"role": "user", "content": "q"}], "gold_calls": [{"tool": "t", "arguments": {}}]}],
    "target": {"type": "facts", "required": []},
}


def _plays() -> Iterator[tuple[str, Play]]:
    yield from chain(statuses(), heads(GOOD), lines(GOOD))
    for name, piece in (("pairs", b'{"a":0},'), ("lists", b"[],"), ("escapes", b'"\\u0041",')):
        yield f"4 MB of {name}", _answer(b"[" + piece * (3_990_000 // len(piece)) + b"1]")


def _answer(body: bytes) -> Play:
    return lambda connection: connection.sendall(http(body))


def _run(folder: Path, play: Play) -> tuple[str, float, int]:
    """What is wrong, or nothing; seconds and memory of the run."""
    folder.mkdir()
    scenarios = [json.dumps({"id": f"s{number}", **SCENARIO}) for number in range(2)]
    (folder / "s.jsonl").write_text("\n".join(scenarios), encoding="utf-8")
    with serve(play, patience=MOST_SECONDS * 3) as server:
        document = {"openapi": "3.1.0", "servers": [{"url": server.url}], "paths": {"/t": {"get": {"operationId": "t", "summary": "Say."}}}}
        (folder / "d.json").write_text(json.dumps(document), encoding="utf-8")
        args = ("--tools-from", "d.json", "--scenarios", "s.jsonl", "--model", "sim/oracle", "--display", "none")
        ran = talm("run", *args, "--run-id", "r", scratch=folder, seconds=180)
    return ran.wrong or ("" if ran.code in {0, 1} else f"exit {ran.code}: {ran.err[-200:]}"), ran.seconds, ran.most_memory


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Let two episodes call each service, and compare time and memory with those of a good one."""
    wrong, usual, least = _run(scratch / "good", _answer(GOOD))
    if wrong:
        return Outcome(1, [f"a good service: {wrong}"])
    cases = list(_plays())
    chosen = rng.sample(cases, min(count, len(cases)))

    def attempt(case: tuple[int, tuple[str, Callable[..., None]]]) -> tuple[str, float, int]:
        number, (name, what) = case
        wrong, seconds, memory = _run(scratch / f"{number}", what)
        if not wrong and seconds - usual > MOST_SECONDS:
            wrong = f"{seconds - usual:.0f} s"
        if not wrong and memory - least > MOST_MEMORY:
            wrong = f"{(memory - least) / 10**6:.0f} MB"
        return (f"{name}: {wrong}" if wrong else ""), seconds - usual, memory - least

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(attempt, enumerate(chosen)))
    figures = {
        "most seconds": f"{max(seconds for _, seconds, _ in found):.0f}",
        "most memory": f"{max(memory for _, _, memory in found) / 10**6:.0f} MB",
    }
    return Outcome(len(found), [wrong for wrong, _, _ in found if wrong], figures)


PARTS = (Part("tool-answers", "hostile services of an OpenAPI document", "services", 90, 3, play),)
