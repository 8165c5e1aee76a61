"""Hostile MCP servers: each start or call ends in time and memory, costs at most its own episode, and leaves no process behind."""

from __future__ import annotations

import json
import random
import re
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, Ran, start, talm
from talm_sim.runs.stored_run import StoredRun
from tests.tools_env.sources import hostile_http
from tests.tools_env.sources import hostile_mcp as stdio

__all__ = ["PARTS"]

MOST_MEMORY: Final = 250 * 10**6
"""Above what a run with a server that does no harm takes."""
MOST_SECONDS: Final = 35.0
LEFT_S: Final = 15.0
BUSY: Final = re.compile("without end|stopped|half second|silence")
"""Servers that answer nothing from then on."""
UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
HTTP: Final = {**hostile_http.BAD_ANSWERS, **hostile_http.SLOW}
KINDS: Final[dict[str, dict[str, Any]]] = {
    "call": {**stdio.CALLS, **stdio.ANSWERED},
    "page": stdio.PAGES,
    "start": {**stdio.STARTS, **stdio.FINE},
    "hand": stdio.HANDS,
    "http": HTTP,
    "end": {f"{how}, {who}": 0 for how in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL") for who in stdio.FINE},
}


def _try(mode: str, folder: Path, most: int, own: float) -> tuple[str, int]:
    """What is wrong, or nothing, and the most memory it took; the program itself may take `own` seconds besides."""
    folder.mkdir()
    kind, _, what = mode.partition(": ")
    rows = []
    for n, tool in enumerate(("good", "bad") * 3):
        turn = {"messages": [{"role": "user", "content": f"Double {n}."}], "gold_calls": [{"tool": tool, "arguments": {"n": n}}]}
        target = {"type": "facts", "required": [{"name": "twice", "value": 2 * n, "call": 0, "pointer": "/twice"}]}
        rows.append({"id": f"{tool}-{n}", "group": "perfect", "turns": [turn], "tools": [tool], "target": target})
    (folder / "scenarios.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with ExitStack() as stack:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # else a child begins with the most memory that this process ever had
        if kind == "http":
            source = f"h=mcp:{stack.enter_context(hostile_http.served(HTTP[what]))}"
        else:
            played = f"start: {what.partition(', ')[2]}" if kind == "end" else mode
            source = f"h=mcp:{sys.executable} -S {stdio.__file__} {shlex.quote(played)} {folder}".replace(",", "\\,")
        options = ["--model", "sim/oracle", "--run-id", "r", "--display", "none", "--no-fail-fast"]
        args: tuple[str | Path, ...] = ("run", "--scenarios", folder / "scenarios.jsonl", "--tools-from", source, *options)
        if kind == "end":
            wrong, memory = _ended(what.partition(", ")[0], args, folder), 0
        else:
            ran = talm(*args, scratch=folder, seconds=150)
            wrong, memory = _fault(mode, ran, folder / "runs" / "r", most, own), ran.most_memory
        until = time.monotonic() + LEFT_S
        while (left := stdio.living(str(folder))) and time.monotonic() < until:
            time.sleep(0.2)
    wrong = wrong or (f"left behind: {left[0]}" if left else "")
    return f"{mode}: {wrong}" if wrong else "", memory


def _fault(mode: str, ran: Ran, run: Path, most: int, own: float) -> str:
    if ran.wrong or UNPRINTABLE.search(ran.out + ran.err):
        return ran.wrong or "its text shows escapes"
    if ran.most_memory > most:
        return f"{ran.most_memory / 10**6:.0f} MB, {most / 10**6:.0f} are allowed"
    if not run.exists():
        lines = [line for line in ran.err.splitlines() if line.strip()]
        refused = ran.code == 2 and len(lines) == 1 and ran.seconds < MOST_SECONDS + 10 + own
        return "" if refused else f"exit {ran.code}, {ran.seconds:.0f} s: {ran.err[-300:]}"
    episodes = {episode.scenario_id: episode for episode in StoredRun(run).episodes()}
    slow = [event for one in episodes.values() for event in one.events if getattr(event, "elapsed_ms", 0) > MOST_SECONDS * 1000]
    if len(episodes) != 6 or slow:
        return f"{len(episodes)} of 6 episodes, {len(slow)} calls longer than {MOST_SECONDS:g} s"
    bad = [name for name, one in episodes.items() if name.startswith("good") and any(not getattr(e, "ok", True) for e in one.events)]
    return f"{len(bad)} episodes failed beside the bad ones" if bad and not BUSY.search(mode) else ""


def _ended(how: str, args: tuple[str | Path, ...], folder: Path) -> str:
    """Start a run, and end it by a signal once its server is there."""
    child = start((*args, "--perturb", "slow:seconds=60"), folder)
    until = time.monotonic() + 30
    while not stdio.living(str(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)
    child.send_signal(signal.Signals[how])
    with suppress(Exception):
        child.wait(LEFT_S)
    if child.poll() is not None:
        return ""
    child.kill()
    child.wait()
    return f"no end {LEFT_S:g} s after the first {how}"


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Run 6 episodes with each server, three of which call a tool that is bad."""
    if find_spec("mcp") is None:
        return Outcome(0, skipped="needs the extra mcp")
    modes = ["list: all", *(f"{kind}: {what}" for kind, table in KINDS.items() for what in table)]
    rng.shuffle(modes)
    began = time.monotonic()
    _, least = _try("none: harmless", scratch / "harmless", 10**12, 0.0)
    took = time.monotonic() - began
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda pair: _try(pair[1], scratch / str(pair[0]), least + MOST_MEMORY, 2 * took), enumerate(modes[:count])))
    most = max(memory for _, memory in found)
    figures = {"most memory": f"{most / 10**6:.0f} MB", "with a harmless one": f"{least / 10**6:.0f} MB"}
    return Outcome(len(found), [wrong for wrong, _ in found if wrong], figures)


PARTS = (Part("mcp-servers", "hostile MCP servers, stdio and HTTP, and how they end", "servers", 70, 6, play),)
