"""Run templates in a sandbox: one that came with a model can neither reach out, nor write endlessly, nor run forever."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from talm_sim.models.formats import python_text
from talm_sim.tasks.templates.template_values import tojson

_MOST_TEXT = 4 << 20
"""Characters a template may write, those of its macros included."""
_MOST_TURNS = 200_000
"""Turns of loops, and calls, that a template may take."""
_MOST_SECONDS = 5.0
"""Processor seconds a template may take: a single turn may do a lot."""
_WIDTH = re.compile(r"[%{][^A-Za-z{}]*?(\d{5,})")


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
    intercepted_binops = frozenset({"*", "**", "%"})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "each turn", [], [], None, None, lineno=loop.iter.lineno)
        return tree

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # as Jinja has it
        _spend(turns=1)
        method = getattr(__obj, "__wrapped__", __obj)
        if isinstance(text := getattr(method, "__self__", None), str):
            _check_size(method.__name__, max(_numbers((text, *args, *kwargs.values())), default=0))
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            size = (left.bit_length() if isinstance(left, int) else 1) * (right if isinstance(right, int) else 1)
        elif operator == "%":
            size = max(_numbers((left, right)), default=0) if isinstance(left, str) else 0
        else:
            size = max((len(one) * n for one, n in ((left, right), (right, left)) if hasattr(one, "__len__") and isinstance(n, int)), default=0)
        _check_size(operator, size)
        return super().call_binop(context, operator, left, right)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """Join what a template or macro wrote."""
        written = list(pieces)
        if sum(map(len, written)) > _MOST_TEXT:
            raise RuntimeError(f"it writes more than {_MOST_TEXT:,} characters")
        return "".join(written)


def _check_size(what: str, size: int) -> None:
    if size > _MOST_TEXT:
        raise RuntimeError(f"'{what}' gives more than {_MOST_TEXT:,} characters")


def _numbers(values: Iterable[Any]) -> Iterator[int]:
    """Yield numbers that may be widths: given ones, and those at the beginning of a format, as in `%9d` and `{:9}`."""
    for value in values:
        if isinstance(value, int):
            yield value
        elif isinstance(value, str):
            yield from (int(digits[:20]) for digits in _WIDTH.findall(value))
        elif isinstance(value, tuple | list):
            yield from (one for one in value if isinstance(one, int))


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
