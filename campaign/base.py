"""What a part of the campaign is, and the real program that it attacks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.warm import warm_python

ROOT: Final = Path(__file__).parents[1]
"""The checkout."""
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TALM_SIM_BENCH_DATA", "PYTHONWARNINGS")


@dataclass(slots=True)
class Outcome:
    """What a part found.

    Attributes:
        tried: Cases that were tried.
        failures: One line a failed case, with what is needed to repeat it.
        figures: What is printed beside, by name.
    """

    tried: int
    failures: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """One class of attacks.

    Attributes:
        name: What it is called on the command line.
        what: What it does, in a few words.
        unit: What is counted.
        full: Cases in the full form.
        short: Cases in the short form; 0 where it is played in the full form alone.
        play: Tries so many cases, with all chance from the generator and all files below the folder.
    """

    name: str
    what: str
    unit: str
    full: int
    short: int
    play: Callable[[int, random.Random, Path], Outcome]


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended.

    Attributes:
        command: What was run.
        code: Exit status; below 0 the signal that ended it; None where it had to be stopped at its time limit.
        out: Its standard output.
        err: Its standard error.
        seconds: How long it ran.
        most_memory: The most resident memory of it or a process it waited for, in bytes.
    """

    command: tuple[str, ...]
    code: int | None
    out: str
    err: str
    seconds: float
    most_memory: int

    @property
    def wrong(self) -> str:
        """What no command may do, in a few words: a traceback, a hang, a crash; empty where it did nothing of that."""
        if self.code is None:
            return f"no end after {self.seconds:.0f} s"
        if "Traceback (most recent call last)" in self.err + self.out:
            return f"traceback: {(self.err.strip() or self.out.strip()).splitlines()[-1][:200]}"
        return f"ended by signal {-self.code}" if self.code < 0 else ""


def environment(scratch: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables of a child: a home of its own below `scratch`, and nothing of the caller's settings or secrets."""
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "80", **(extra or {})}


def start(
    args: Sequence[str | Path],
    scratch: Path,
    *,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    python: str = sys.executable,
) -> subprocess.Popen[bytes]:
    """Start the program in `scratch`, in a process group of its own."""
    return subprocess.Popen(
        [python, "-m", "talm_sim", *map(str, args)],
        cwd=scratch,
        env=environment(scratch, env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def talm(*args: str | Path, scratch: Path, env: Mapping[str, str] | None = None, seconds: float = 180.0, warm: bool = False) -> Ran:
    """Run `talm-sim ARGS` to its end.

    Args:
        args: The command line without the program.
        scratch: Where it runs.
        env: Variables besides those of `environment`.
        seconds: After so long it is killed, with all that it started.
        warm: In a Python that has imported already what it needs; its memory is not known.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        python = warm_python() if warm else sys.executable
        child = start(args, scratch, env=env, stdout=out.fileno(), stderr=err.fileno(), python=python)
        code, memory = _end_of(child, began + seconds)
        took = time.monotonic() - began
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return Ran(("talm-sim", *map(str, args)), code, texts[0], texts[1], took, memory)


def _end_of(child: subprocess.Popen[bytes], deadline: float) -> tuple[int | None, int]:
    """Exit status and most memory in bytes; a child that runs past the deadline is killed and has no status."""
    late = False
    pause = 0.005
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return (None if late else child.returncode), used.ru_maxrss * 1024
        if not late and time.monotonic() > deadline:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
