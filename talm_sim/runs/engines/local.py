"""Engine `local`: each shard is played by a process of this machine, which is `python -m talm_sim.runs.engines.local`."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

from talm_sim.common.garbage import rare_searches
from talm_sim.common.processes import end_in_time, leave
from talm_sim.errors import PrerequisiteError
from talm_sim.foreign.code import foreign_code_has_run
from talm_sim.runs.engines.base import Order, Played, carry_out

_MOST: Final = 64
"""Processes that play one run."""
_MOST_DEATHS: Final = 3
_END_S: Final = 5.0
"""Seconds in which a process that is to end may put down its work."""
_WORDS: Final = ("-P", "-m", "talm_sim.runs.engines.local")
"""-P: a file in the working directory must not stand in for a module."""

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Player:
    """The process that plays a shard, or the latest of several that died."""

    order: Order
    process: subprocess.Popen[bytes]
    answer: IO[bytes]
    """A file, since others may still hold a pipe when the process has ended."""
    deaths: int = 0


class LocalEngine:
    """Has each shard played by a process of its own; one that dies is replaced by another, which continues the shard."""

    def __init__(self, address: str) -> None:
        if address:
            raise PrerequisiteError("processes of this machine have no address; write local, or local:N.")
        self._playing: dict[int, _Player] = {}
        self._ended: dict[int, Played | PrerequisiteError] = {}

    @property
    def room(self) -> int:
        """How many CPUs this process may use."""
        return min(_MOST, len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1)

    def submit(self, orders: Mapping[int, Order]) -> None:
        """Start a process per shard."""
        if len(orders) > _MOST:
            raise PrerequisiteError(f"--on local: {len(orders):,} processes are too many for one machine; at most {_MOST} play a run.")
        for number, order in orders.items():
            if order.name:
                self._start(number, order)
            else:  # whether the storage is shared
                self._ended[number] = carry_out(order)

    def status(self) -> Collection[int]:
        """Return the numbers of the shards that are played; replace what died."""
        for number, one in [*self._playing.items()]:
            if (code := one.process.poll()) is None:
                continue
            del self._playing[number]
            one.answer.seek(0)
            answer = one.answer.read()
            _put_away(one)
            if answer:
                self._ended[number] = pickle.loads(answer)
            elif one.deaths < _MOST_DEATHS:
                log.warning("%s: its process was %s; another one continues", one.order.name, _describe_end(code))
                self._start(number, one.order, one.deaths + 1)
            else:
                why = f"its process died {one.deaths + 1} times, the last time {_describe_end(code)}"
                self._ended[number] = PrerequisiteError(f"{why}; find out why, for example whether memory ran out.")
        return [*self._ended]

    def collect(self, number: int) -> Played:
        """Return what became of a shard."""
        if isinstance(ended := self._ended.pop(number), PrerequisiteError):
            raise ended
        return ended

    def close(self) -> None:
        """Let the processes put down their work, and kill one that takes too long."""
        until = time.monotonic() + _END_S + 1
        for one in self._playing.values():
            _put_away(one)
        for one in self._playing.values():
            try:
                one.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait()
        self._playing.clear()

    def _start(self, number: int, order: Order, deaths: int = 0) -> None:
        # It finds the package where this process has it. Ctrl-C in a terminal is for the command.
        settings: dict[str, Any] = {"env": {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, "start_new_session": True}
        answer = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            process = subprocess.Popen([sys.executable, *_WORDS], stdin=subprocess.PIPE, stdout=answer, **settings)
        except OSError as err:
            answer.close()
            self._ended[number] = PrerequisiteError(f"its process cannot be started ({err.strerror}); play fewer shards.")
            return
        self._playing[number] = _Player(order, process, answer, deaths)
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):  # it is dead already
            pickle.dump(([*filter(None, sys.path)], os.environ.get("PYTHONPATH"), order), process.stdin)
            process.stdin.flush()


def _put_away(one: _Player) -> None:
    """Close what is held of a process; one that is alive sees this as its time to end."""
    one.answer.close()
    assert one.process.stdin is not None
    with contextlib.suppress(OSError):
        one.process.stdin.close()


def _describe_end(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"gone with exit code {code}"


def _end_with(orders: IO[bytes]) -> None:
    """Wait until nobody can write orders any more, because the command was stopped or killed; then end, as Ctrl-C would, or at once."""
    orders.read()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_END_S)
    os._exit(1)


def main() -> int:
    """Carry out the order on standard input; what others print goes to standard error."""
    orders, answer = os.fdopen(os.dup(sys.stdin.fileno()), "rb"), os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been ignored where the command was started
    try:
        sys.path[:], python_path, order = pickle.load(orders)
        os.environ.pop("PYTHONPATH", None)  # with which this process was started
        if python_path is not None:
            os.environ["PYTHONPATH"] = python_path
        threading.Thread(target=_end_with, args=(orders,), name="talm-sim-end-with-command", daemon=True).start()
        with rare_searches(first=1_000_000):
            os.write(answer, pickle.dumps(carry_out(order)))
    except (KeyboardInterrupt, EOFError):
        return leave(1)
    if not foreign_code_has_run():  # the interpreter's own end frees every object, which takes a second
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(0)
    end_in_time(0, log.warning)
    return leave(0)


if __name__ == "__main__":
    sys.exit(main())
