"""One session of a command, killed at a moment, and what it said until then."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from campaign.base import start

_EVENT: Final = re.compile(r'\{"event".*\}$')
_LIMIT_S: Final = 240.0


@dataclass(frozen=True, slots=True)
class Kill:
    """When a command is killed, and how."""

    sounds: str
    """What a line holds that is counted."""
    after: int | None
    """So many such lines; None: from the start."""
    seconds: float
    """So much later."""
    term: bool = False
    """With SIGTERM; else with SIGKILL."""

    def __str__(self) -> str:
        when = f"{self.seconds:.3f} s after " + ("the start" if self.after is None else f"line {self.after}")
        return ("SIGTERM " if self.term else "SIGKILL ") + when


@dataclass(slots=True)
class Session:
    """What a command said and how it ended."""

    kill: Kill | None
    lines: list[str] = field(default_factory=list)
    code: int | None = None
    killed: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def term(self) -> bool:
        """Whether it was told to end."""
        return self.killed and self.kill is not None and self.kill.term

    @property
    def events(self) -> list[dict[str, Any]]:
        """Of `--display json`; a line that was cut in the middle tells of nothing."""
        found = []
        for line in self.lines:
            if match := _EVENT.search(line):
                with suppress(ValueError):
                    found.append(json.loads(match[0]))
        return found

    @property
    def under_way(self) -> bool:
        """Whether episodes or verdicts were seen to come, and more were to come."""
        last: dict[str, Any] = next(
            (event for event in reversed(self.events) if event["event"] in {"episode_finished", "judge_progress", "run_finished"}), {}
        )
        return bool(last) and last.get("finished", last.get("done", 0)) < last["total"]

    @property
    def wrong(self) -> str:
        """What no command may do."""
        if self.code is None:
            return f"no end after {_LIMIT_S:.0f} s"
        return "traceback" if "Traceback (most recent call last)" in self.text else ""


def broken_off(command: Sequence[str], scratch: Path, kill: Kill | None, *, typed: str = "", env: Mapping[str, str] | None = None) -> Session:
    """Run a command, kill it at its moment, and return what it said.

    Args:
        command: The command line without the program.
        scratch: Where it runs.
        kill: The moment; None: never.
        typed: Its standard input.
        env: Variables besides the usual ones.
    """
    session = Session(kill)
    with tempfile.TemporaryFile() as given:
        given.write(typed.encode())
        given.seek(0)
        process = start(command, scratch, env=env, stdin=given.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    timers = [threading.Timer(_LIMIT_S, process.kill)]
    began = time.monotonic()

    def arm() -> None:
        assert kill is not None
        timers.append(threading.Timer(kill.seconds, lambda: _strike(process, kill, session)))
        timers[-1].start()

    timers[0].start()
    if kill is not None and kill.after is None:
        arm()
    counted = 0
    assert process.stdout is not None
    with process.stdout as out:
        for raw in out:
            line = raw.decode(errors="replace").rstrip("\n")
            session.lines.append(line)
            if kill is not None and kill.after is not None and (kill.sounds in line or (kill.after == 0 and counted == 0)):
                counted += 1
                if counted == max(1, kill.after):
                    arm()
    session.code = process.wait()
    for timer in timers:
        timer.cancel()
        if timer.ident:
            timer.join()
    if time.monotonic() - began > _LIMIT_S:
        session.code = None
    if session.killed and session.kill and session.code == 0:
        session.killed = False  # it was done already
    return session


def _strike(process: subprocess.Popen[bytes], kill: Kill, session: Session) -> None:
    if process.poll() is None:
        session.killed = True
        process.send_signal(signal.SIGTERM if kill.term else signal.SIGKILL)
