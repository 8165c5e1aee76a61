"""Engine `ray`: shards are tasks of a Ray cluster, which places them, and starts them again where a node fails."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.foreign.error_text import error_line, escape_control
from talm_sim.runs.engines.base import Order, Played, carry_out

_CONNECT_S: Final = 10.0
_END_S: Final = 10.0
"""Seconds in which a task that is cancelled may put down its work."""
_LONGEST: Final = 300


class RayEngine:
    """Has shards played by the nodes of a Ray cluster, one per CPU.

    Args:
        address: `HOST:PORT` of the cluster's client server. If it is empty, Ray looks for a cluster by itself: that of `RAY_ADDRESS`, or of
            this machine; if there is none, it starts one here.
    """

    def __init__(self, address: str) -> None:
        self._ray = _import_ray()
        self._tasks: dict[int, Any] = {}
        named = f"ray://{address}" if address else os.environ.get("RAY_ADDRESS", "")
        with _signals_kept():
            try:
                _check_answers(named or _left_address())
                quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": "ERROR"}
                self._ray.init(named or None, **quiet, **({} if named else {"include_dashboard": False}))
            except Exception as err:  # whatever its client and its servers say
                text = escape_control(error_line(err, _LONGEST)).rstrip(".")
                raise PrerequisiteError(
                    f"the cluster cannot be reached ({text}); check the address; if none was given, run `ray stop`."
                ) from None

    @property
    def room(self) -> int:
        """How many CPUs the cluster has."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, orders: Mapping[int, Order]) -> None:
        """Submit a task per order. Ray repeats one whose node fails, by default three times (`RAY_TASK_MAX_RETRIES`)."""
        path = os.environ.get("PYTHONPATH")
        environment = {"runtime_env": {"env_vars": {"PYTHONPATH": path}}} if path else {}
        task = self._ray.remote(carry_out).options(num_cpus=1, scheduling_strategy="SPREAD", name="talm-sim shard", **environment)
        self._tasks |= {number: task.remote(order) for number, order in orders.items()}

    def status(self) -> Collection[int]:
        """Return the numbers of the tasks that have ended."""
        numbers = {task: number for number, task in self._tasks.items()}
        ended, _ = self._ray.wait(list(numbers), num_returns=len(numbers), timeout=0, fetch_local=False) if numbers else ((), ())
        return [numbers[task] for task in ended]

    def collect(self, number: int) -> Played:
        """Fetch what a task returned."""
        try:
            played: Played = self._ray.get(self._tasks.pop(number))
        except self._ray.exceptions.RayTaskError as err:
            text = escape_control(error_line(err.cause, _LONGEST)).rstrip(".")
            raise PrerequisiteError(f"the node cannot run it ({text}); install there what is installed here.") from None
        except self._ray.exceptions.RayError as err:
            text = str(err).strip().splitlines()[0][:_LONGEST]
            raise PrerequisiteError(f"its nodes failed ({escape_control(text).rstrip('.')}).") from None
        return played

    def close(self) -> None:
        """Interrupt what is played as Ctrl-C would, so that it is put down in order, and disconnect; Ray ends what does not heed it."""
        with contextlib.suppress(Exception), _signals_kept():  # the cluster may have gone
            for task in self._tasks.values():
                self._ray.cancel(task)
            if self._tasks:
                self._ray.wait(list(self._tasks.values()), num_returns=len(self._tasks), timeout=_END_S, fetch_local=False)
        with contextlib.suppress(Exception):
            self._ray.shutdown()


def _left_address() -> str:
    """Return the cluster of this machine that Ray would join; the file that names it may be of one that was killed."""
    with contextlib.suppress(Exception):  # the function is Ray's own, and may go
        return str(importlib.import_module("ray._private.utils").read_ray_address() or "")
    return ""


def _check_answers(address: str) -> None:
    """See that something answers at an address, for which Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that is started here reports nothing to Ray's makers
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise PrerequisiteError(f"needs Ray; install it with: {pip_install('ray')}") from None


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Keep the handlers of signals: Ray replaces that of SIGTERM."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # not the main thread, where Ray replaces none either
            for number, handler in before.items():
                if handler is not None:
                    signal.signal(number, handler)
