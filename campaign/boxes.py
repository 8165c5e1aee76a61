"""A stranger's tools stay as long as they can, and the run they are called by is ended meanwhile: nothing of them may be left."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Mapping
from inspect import isfunction
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any, Final

from campaign.base import ROOT, Outcome, Part, start, talm
from talm_sim.tools_env.sources.sandbox import SECONDS, explain_no_sandbox
from tests.tools_env.sources import staying
from tests.tools_env.sources.traces import processes, state

__all__ = ["PARTS"]

_TOOLS: Final = tuple(name for name, one in vars(staying).items() if isfunction(one))
_TOOLS_A_RUN: Final = 4
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OTHERS: Final = {".env": "KEY=x", ".venv/pyvenv.cfg": "home = /usr", ".git/hooks/sample": "", "runs/r1/run.db": "", "README": "x"}
"""What lies beside the tools, where a user keeps them in a project."""


def _play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    if why := explain_no_sandbox():
        return Outcome(0, skipped=why)
    found = Outcome(0)
    killed = 0
    for number in range(count):
        place = scratch / str(number)
        place.mkdir()
        tools = rng.sample(_TOOLS, _TOOLS_A_RUN)
        ends = None if number % 2 else (rng.choice(_SIGNALS), rng.uniform(3, SECONDS))
        killed += ends is not None
        found.tried += 1
        if wrong := _wrong(place, tools, ends):
            found.failures.append(f"{', '.join(tools)}{f', {ends[0].name} after {ends[1]:.1f} s' if ends else ''}: {wrong}")
        shutil.rmtree(place)
    found.figures = {"ended by a signal": f"{killed}", "calls": f"{found.tried * _TOOLS_A_RUN}"}
    return found


def _wrong(place: Path, tools: list[str], ends: tuple[signal.Signals, float] | None) -> str:
    """What a run left behind or did wrong, in a few words; empty where nothing."""
    # Its processes are found by this name of the package.
    package = place / "named" / "talm_sim"
    package.parent.mkdir()
    package.symlink_to(ROOT / "talm_sim")
    folder, temporary = place / "tools", place / "temporary"
    temporary.mkdir()
    _lay_out(folder, tools)
    (place / "scenarios.jsonl").write_text("".join(json.dumps(_scenario(tool)) + "\n" for tool in tools), encoding="utf-8")
    before = state(folder)
    words = ["run", "--tools-from", f"fail-talms:{folder}", "--trust", "--live", "--model", "sim/oracle", "--display", "json"]
    words += ["--scenarios", str(place / "scenarios.jsonl"), "--run-id", "r", "--run-dir", str(place / "kept")]
    env = {"PYTHONPATH": str(package.parent), "TMPDIR": str(temporary)}
    wrong = _ended(words, place, env, *ends) if ends else talm(*words, scratch=place, env=env, seconds=SECONDS * 6).wrong
    if left := processes(package):
        wrong = wrong or f"{len(left)} processes are left after 15 s"
    if state(folder) != before or list(temporary.glob("talm-sim-*")):
        wrong = wrong or "something is left behind"
    return wrong


def _ended(words: list[str], place: Path, env: Mapping[str, str], by: signal.Signals, after: float) -> str:
    with start(words, place, env=env) as program:
        time.sleep(after)
        program.send_signal(by)
        try:
            program.wait(SECONDS * 3)
        except TimeoutExpired:
            program.kill()
            return f"no end after {SECONDS * 3} s"
    return ""


def _lay_out(folder: Path, tools: list[str]) -> None:
    for name, text in _OTHERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(staying.__file__, folder / "api.py")
    described = [{"name": tool, "description": "Stay.", "required_parameters": [], "optional_parameters": []} for tool in tools]
    (folder / "staying.json").write_text(json.dumps({"tool_name": "staying", "api_list": described}), encoding="utf-8")


def _scenario(tool: str) -> dict[str, Any]:
    turn = {"messages": [{"role": "user", "content": "Stay."}], "gold_calls": [{"tool": tool, "arguments": {}}]}
    return {"id": tool, "group": "perfect", "turns": [turn], "tools": [tool], "target": {"type": "facts", "required": []}}


PARTS: Final = (Part("boxes", "strangers' tools that stay, in runs that are ended or not", "runs", 40, 2, _play),)
