"""The protocol of engines, which have a run's shards played in other processes or on other machines, and report what became of each.

An engine is a class with the methods of `Engine`, registered under its name by `register_engine`, or offered by a package as an entry point of
group `talm_sim.engines`. `--on NAME[:N][://ADDRESS]` opens it, for N shards. All it has to do is to call `carry_out` elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.foreign.plugins import Registry, load_named

if TYPE_CHECKING:
    from talm_sim.runs.events import BudgetSpent

_MOST_SHARDS: Final = 10_000
_PLAY = "talm_sim.runs.engines.playing:play_shard"
"""By name, because it imports what runs episodes, and that imports what knows the engines."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order to a node. It can be pickled.

    Attributes:
        place: The absolute path of the directory with the shards.
        token: What its file `MARKER` contains; a node that reads it there shares the storage.
        folder: The working directory of the command.
        version: The version of talm-sim that sends the order.
        name: The name of the shard's run. An order without a name only asks whether the node shares the storage.
        config: The configuration of the shard, as JSON.
        command: The command line, which is stored with the run.
        until: When the time of the budget is over, in seconds since 1970; None without such a limit.
    """

    place: str
    token: str
    folder: str
    version: str
    name: str = ""
    config: str = ""
    command: str = ""
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """The result of an order. It can be pickled.

    Attributes:
        node: The name of the machine.
        shared: Whether the machine shares the storage; if so, the shard is there.
        files: The files of the shard's run, by name, if it does not.
        error: Why the shard cannot be played, in one line; empty if it was.
        spent: What was spent, if there is a budget.
    """

    node: str
    shared: bool
    files: Mapping[str, bytes] = field(default_factory=dict)
    error: str = ""
    spent: BudgetSpent | None = None


class Engine(Protocol):
    """Has orders carried out elsewhere. It is made with what follows `://`, empty if nothing does, and connects at once."""

    @property
    def room(self) -> int:
        """How many orders it can carry out at the same time."""

    def submit(self, orders: Mapping[int, Order]) -> None:
        """Let `carry_out` be called with each of the orders on any machine, and again if that machine fails. Return at once."""

    def status(self) -> Collection[int]:
        """Return the numbers of the orders that have ended, whatever their end."""

    def collect(self, number: int) -> Played:
        """Return what became of an order that has ended; called once for each.

        Raises:
            PrerequisiteError: It could not be carried out, for example because its machine failed too often.
        """

    def close(self) -> None:
        """Cancel the orders that have not ended, with `KeyboardInterrupt` if that is possible, and disconnect."""


ENGINES: Registry[Callable[[str], Engine]] = Registry(
    "engine", {"local": "talm_sim.runs.engines.local:LocalEngine", "ray": "talm_sim.runs.engines.ray:RayEngine"}
)


def register_engine(name: str) -> Callable[[Callable[[str], Engine]], Callable[[str], Engine]]:
    """Register an engine, a class or a function that makes one, by its name."""

    def register(engine: Callable[[str], Engine]) -> Callable[[str], Engine]:
        ENGINES.register(name, engine)
        return engine

    return register


class On(NamedTuple):
    """The parsed value of `--on`."""

    name: str
    """The engine."""
    shards: int | None
    """None if as many as the engine can play at the same time."""
    address: str


def read_on(on: str) -> On:
    """Read the value of `--on`: `NAME[:N][://ADDRESS]`."""
    head, _, address = on.partition("://")
    name, colon, number = head.partition(":")
    if name not in ENGINES:
        raise PrerequisiteError(f"--on {on}: there is no engine '{name}'.{did_you_mean(name, ENGINES.names())}")
    if not colon:
        return On(name, None, address)
    if not (number.isascii() and number.isdecimal() and 0 < int(number[:9]) <= _MOST_SHARDS):
        raise PrerequisiteError(f"--on {on}: after the engine comes a number of shards from 1 to {_MOST_SHARDS:,}, as in {name}:4.")
    return On(name, int(number), address)


def open_engine(on: str) -> Engine:
    """Open the engine of `--on`."""
    name, _, address = read_on(on)
    try:
        return ENGINES.get(name)(address)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"--on {on}: {err}") from None


def carry_out(order: Order) -> Played:
    """Carry out an order, in the process of an engine's node that calls this."""
    return load_named(_PLAY, "")(order)
