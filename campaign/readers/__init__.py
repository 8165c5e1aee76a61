"""Everything that reads what a model, a tool, a server or a person wrote: a line of `texts.jsonl` each, with beginnings of its texts.

A name is a module of the package, a colon, and the functions that read a text; what needs more than a text is in `READ` of a module here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from campaign.readers import judges, models, others, scenarios
from campaign.readers.base import Reading

__all__ = ["READERS", "Reader"]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a foreign text.

    Attributes:
        name: Its module in the package, a colon, and what it is called.
        module: Pieces of texts are drawn from the patterns there and near there.
        read: Reads a text.
        texts: Beginnings behind which it does its work, and pieces that are written many times.
    """

    name: str
    module: str
    read: Callable[[str], object]
    texts: tuple[str, ...]


def _listed() -> Iterator[Reader]:
    more: Reading = models.READ | judges.READ | scenarios.READ | others.READ
    for line in Path(__file__).with_name("texts.jsonl").read_text(encoding="utf-8").splitlines():
        name, *texts = json.loads(line)
        module, _, names = name.partition(": ")
        module = f"talm_sim.{module}"
        read = more.pop(name) if name in more else _each(module, names.split(", "))
        yield Reader(name, module, read, tuple(texts))
    if more:
        raise LookupError(f"no line of texts.jsonl for {', '.join(more)}")


def _each(module: str, names: list[str]) -> Callable[[str], object]:
    functions = [getattr(import_module(module), name) for name in names]
    return lambda text: [function(text) for function in functions]


READERS: Final = tuple(_listed())
