"""The sandbox of templates: a template that came with a model can neither reach out, nor write endlessly, nor run forever."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from talm_sim.agent.templates.values import tojson
from talm_sim.models.formats import python_text

__all__ = ["environment", "limit_rendering"]

_MOST_TEXT = 4 << 20
"""Characters a template may write, those of its macros included."""
_MOST_TURNS = 200_000
"""Turns of loops, and calls, that a template may take."""
_MOST_SECONDS = 5.0
"""Processor seconds a template may take: a single turn may do a lot."""


class _Spending:
    def __init__(self) -> None:
        self.text = 0
        self.turns = 0
        self.until = time.thread_time() + _MOST_SECONDS


_spent: ContextVar[_Spending | None] = ContextVar("_spent", default=None)


@contextmanager
def limit_rendering() -> Iterator[None]:
    """Limit what is rendered in the block; whatever exceeds the limits raises a RuntimeError."""
    token = _spent.set(_Spending())
    try:
        yield
    finally:
        _spent.reset(token)


def _spend(*, text: int = 0, turns: int = 0) -> None:
    spent = _spent.get()
    if spent is None:  # constants are evaluated when a template is compiled
        return
    spent.text += text
    spent.turns += turns
    if spent.text > _MOST_TEXT:
        raise RuntimeError(f"it writes more than {_MOST_TEXT:,} characters")
    if spent.turns > _MOST_TURNS:
        raise RuntimeError(f"its loops and calls take more than {_MOST_TURNS:,} turns")
    if time.thread_time() > spent.until:
        raise RuntimeError(f"it takes more than {_MOST_SECONDS:g} s")


class _Bounded(ImmutableSandboxedEnvironment):
    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "each turn", [], [], None, None, lineno=loop.iter.lineno)
        return tree

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # as Jinja has it
        _spend(turns=1)
        return super().call(__context, __obj, *args, **kwargs)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """Join what a template or macro wrote."""
        written = list(pieces)
        if sum(map(len, written)) > _MOST_TEXT:
            raise RuntimeError(f"it writes more than {_MOST_TEXT:,} characters")
        return "".join(written)


@pass_context
def _count_turns(_: Context, items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        _spend(turns=1)
        yield item


def _range(*args: int) -> range:
    found = safe_range(*args)
    _spend(turns=len(found))  # a list is made of it without any turn
    return found


def _count_text(value: Any) -> str:
    text = str(value)
    _spend(text=len(text))
    return text


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Return the sandbox; block tags take no line of their own, as in tokenizers' chat templates."""
    made = _Bounded(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True, finalize=_count_text
    )
    made.filters |= {"tojson": tojson, "python": python_text, "each turn": _count_turns}
    made.globals["range"] = _range
    del made.globals["lipsum"]
    return made
