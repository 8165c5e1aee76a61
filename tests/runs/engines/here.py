"""An engine that plays shards in this process, each in a thread of its own, as a node would."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from talm_sim.errors import PrerequisiteError
from talm_sim.runs.engines.base import ENGINES, Engine, Order, Played, carry_out


class Here:
    """Plays one shard at a time. A test may change an order on its way, or raise in the place of a node."""

    def __init__(self, change: Callable[[Order], Order] = lambda order: order, room: int = 3) -> None:
        self.room = room
        self.addresses: list[str] = []
        self.orders: list[Order] = []
        self.closed = 0
        self._change = change
        self._due: dict[int, Order] = {}
        self._ended: dict[int, Played | Exception] = {}

    def submit(self, orders: Mapping[int, Order]) -> None:
        """Keep the orders."""
        self._due |= orders

    def status(self) -> Collection[int]:
        """Carry out the next order."""
        if self._due:
            number = next(iter(self._due))
            order = self._due.pop(number)
            self.orders.append(order)
            with ThreadPoolExecutor(1) as pool:
                try:
                    self._ended[number] = pool.submit(lambda: carry_out(self._change(order))).result()
                except PrerequisiteError as err:
                    self._ended[number] = err
        return list(self._ended)

    def collect(self, number: int) -> Played:
        """Return the end of an order, or raise it."""
        ended = self._ended.pop(number)
        if isinstance(ended, Exception):
            raise ended
        return ended

    def close(self) -> None:
        """Forget what is left."""
        self.closed += 1
        self._due.clear()


@contextmanager
def engine(change: Callable[[Order], Order] = lambda order: order, room: int = 3) -> Iterator[Here]:
    """Make the engine known as `here`."""
    here = Here(change, room)

    def open_it(address: str) -> Engine:
        here.addresses.append(address)
        return here

    ENGINES.register("here", open_it, "talm_sim.tests")
    try:
        yield here
    finally:
        ENGINES._registered.pop("here")


def blind(order: Order) -> Order:
    """Let a node see another storage than the command's."""
    return replace(order, place=f"{order.place}-elsewhere")
