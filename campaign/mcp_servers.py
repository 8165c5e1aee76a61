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

from campaign.base import Outcome, Part, start, talm
from talm_sim.runs.stored_run import StoredRun
from tests.tools_env.sources import hostile_http, hostile_mcp

__all__ = ["PARTS"]

MOST_MEMORY: Final = 250 * 10**6
"""Above what a run with a server that does no harm takes."""
MOST_SECONDS: Final = 35.0
LEFT_S: Final = 15.0
ENDS: Final = ("normal", "SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
HARMLESS: Final = "call: none"
BUSY: Final = re.compile("without end|stopped|half second|silence")
"""Servers that answer nothing from then on."""
UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _modes() -> list[str]:
    tables: dict[str, Any] = {"call": {**hostile_mcp.CALLS, **hostile_mcp.ANSWERED}, "list": hostile_mcp.LISTS, "page": hostile_mcp.PAGES}
    tables |= {"start": {**hostile_mcp.STARTS, **hostile_mcp.FINE}, "hand": hostile_mcp.HANDS}
    tables |= {
        "http": {**hostile_http.BAD_ANSWERS, **hostile_http.SLOW},
        "end": {f"{how}, {who}": 0 for how in ENDS for who in hostile_mcp.FINE},
    }
    return [f"{kind}: {what}" for kind, table in tables.items() for what in table]


def _scenarios(folder: Path) -> Path:
    rows = []
    for n in range(6):
        tool = ("good", "bad")[n % 2]
        turn = {"messages": [{"role": "user", "content": f"Double {n}."}], "gold_calls": [{"tool": tool, "arguments": {"n": n}}]}
        required = [{"name": "twice", "value": 2 * n, "call": 0, "pointer": "/twice"}]
        rows.append(
            {"id": f"{tool}-{n}", "group": "perfect", "turns": [turn], "tools": [tool], "target": {"type": "facts", "required": required}}
        )
    file = folder / "scenarios.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def _try(mode: str, folder: Path, most: int, own: float = 0.0) -> tuple[str, int]:
    """What is wrong, or nothing, and the most memory it took; the program itself may take `own` seconds besides."""
    folder.mkdir()
    kind, _, what = mode.partition(": ")
    with ExitStack() as stack, suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # else a child begins with the most memory that this process ever had
        if kind == "http":
            source = f"h=mcp:{stack.enter_context(hostile_http.served({**hostile_http.BAD_ANSWERS, **hostile_http.SLOW}[what]))}"
        else:
            played = f"start: {what.partition(', ')[2]}" if kind == "end" else mode
            command = f"{sys.executable} -S {hostile_mcp.__file__} {shlex.quote(played)} {folder}"
            source = f"h=mcp:{command}".replace(",", "\\,")
        args: tuple[str | Path, ...] = (
            "run",
            "--scenarios",
            _scenarios(folder),
            "--tools-from",
            source,
            "--model",
            "sim/oracle",
            "--run-id",
            "r",
        )
        args = (*args, "--display", "none")
        wrong, memory = _ended(what, args, folder) if kind == "end" else _played(mode, args, folder, most, own)
        until = time.monotonic() + LEFT_S
        while (left := _living(str(folder))) and time.monotonic() < until:
            time.sleep(0.2)
        return (f"{mode}: {wrong}" if wrong else f"{mode}: left behind: {left[0]}" if left else ""), memory
    return f"{mode}: not tried", 0


def _played(mode: str, args: tuple[str | Path, ...], folder: Path, most: int, own: float) -> tuple[str, int]:
    ran = talm(*args, scratch=folder, seconds=150)
    wrong = ran.wrong or ("its text shows escapes" if UNPRINTABLE.search(ran.out + ran.err) else "")
    if ran.most_memory > most:
        wrong = wrong or f"{ran.most_memory / 10**6:.0f} MB, {most / 10**6:.0f} are allowed"
    run = folder / "runs" / "r"
    if not wrong and not run.exists() and mode.startswith("list: "):
        wrong = f"one tool cost the whole server: {ran.err[-200:]}"
    elif not wrong and not run.exists():
        lines = [line for line in ran.err.splitlines() if line.strip()]
        wrong = (
            ""
            if ran.code == 2 and len(lines) == 1 and ran.seconds < MOST_SECONDS + 10
            else f"exit {ran.code}, {ran.seconds:.0f} s: {ran.err[-300:]}"
        )
    elif not wrong:
        episodes = {episode.scenario_id: episode for episode in StoredRun(run).episodes()}
        slow = [event for one in episodes.values() for event in one.events if getattr(event, "elapsed_ms", 0) > MOST_SECONDS * 1000]
        bad = [name for name, one in episodes.items() if name.startswith("good") and any(not getattr(e, "ok", True) for e in one.events)]
        if len(episodes) != 6 or slow:
            wrong = f"{len(episodes)} of 6 episodes, {len(slow)} calls longer than {MOST_SECONDS:g} s"
        elif bad and not BUSY.search(mode):
            wrong = f"{len(bad)} episodes failed beside the bad ones"
    return wrong, ran.most_memory


def _ended(what: str, args: tuple[str | Path, ...], folder: Path) -> tuple[str, int]:
    """Start a run, and end it by a signal once its server is there."""
    how = what.partition(", ")[0]
    if how == "normal":
        return talm(*args, scratch=folder).wrong, 0
    child = start((*args, "--perturb", "slow:seconds=60"), folder)
    until = time.monotonic() + 30
    while not _living(str(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)
    child.send_signal(signal.Signals[how])
    began = time.monotonic()
    with suppress(Exception):
        child.wait(LEFT_S)
    if child.poll() is None:
        child.kill()
        child.wait()
        return f"no end {LEFT_S:g} s after the first {how}", 0
    return "" if time.monotonic() - began < LEFT_S else "slow", 0


def _living(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if mark in words and "talm_sim" not in words:
                found.append(" ".join(words))
    return found


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Run 6 episodes with each server, three of which call a tool that is bad."""
    if find_spec("mcp") is None:
        return Outcome(0, skipped="needs the extra mcp")
    modes = _modes()
    rng.shuffle(modes)
    began = time.monotonic()
    _, least = _try(HARMLESS, scratch / "harmless", 10**12)
    took = time.monotonic() - began
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda pair: _try(pair[1], scratch / str(pair[0]), least + MOST_MEMORY, 2 * took), enumerate(modes[:count])))
    most = max(memory for _, memory in found)
    figures = {"most memory": f"{most / 10**6:.0f} MB", "with a harmless one": f"{least / 10**6:.0f} MB"}
    return Outcome(len(found), [wrong for wrong, _ in found if wrong], figures)


PARTS = (Part("mcp-servers", "hostile MCP servers, stdio and HTTP, and how they end", "servers", 200, 6, play),)
