"""Run templates in a sandbox: one that came with a model can neither reach out, nor write endlessly, nor run forever."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial, wraps
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from talm_sim.models.formats import json_text, python_text

_MOST_TEXT = 4 << 20
"""Characters a template may write, those of its macros included."""
_MOST_TURNS = 200_000
"""Turns of loops, and calls, that a template may take."""
_MOST_SECONDS = 5.0
"""Processor seconds a template may take: a single turn may do a lot."""
_WIDTH = re.compile(r"[%{][^A-Za-z{}]*?(\d{5,})")


class _Spending:
    def __init__(self, given: int) -> None:
        self.given = 8 * given  # a prompt may repeat what it is given
        self.text = -self.given
        self.turns = 0
        self.until = time.thread_time() + _MOST_SECONDS


_spent: ContextVar[_Spending | None] = ContextVar("_spent", default=None)


@contextmanager
def limit_rendering(given: int = 0) -> Iterator[None]:
    """Limit what is rendered in the block, of so many characters; whatever exceeds the limits raises a RuntimeError."""
    token = _spent.set(_Spending(given))
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
    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "each turn", [], [], None, None, lineno=loop.iter.lineno)
        for joined in tree.find_all(nodes.Concat):
            joined.nodes = [nodes.Filter(one, "each part", [], [], None, None, lineno=one.lineno) for one in joined.nodes]
        return tree

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # as Jinja has it
        _spend(turns=1)
        method = getattr(__obj, "__wrapped__", __obj)
        if isinstance(text := getattr(method, "__self__", None), str):
            _check_size(method.__name__, _size_made(method.__name__, (text, *args, *kwargs.values())))
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+":
            size = sum(len(one) for one in (left, right) if hasattr(one, "__len__"))
        elif operator == "**":
            size = (left.bit_length() if isinstance(left, int) else 1) * (right if isinstance(right, int) else 1)
        elif operator == "%":
            size = max(_numbers((left, right)), default=0) if isinstance(left, str) else 0
        else:
            size = max((len(one) * n for one, n in ((left, right), (right, left)) if hasattr(one, "__len__") and isinstance(n, int)), default=0)
        _check_size(operator, size)
        return super().call_binop(context, operator, left, right)

    def bind(self) -> None:
        """Take the limits into what expressions use."""
        self.finalize = _count_text
        self.filters |= {name: _limit_filter(name, run) for name, run in self.filters.items()}
        self.filters |= {"each turn": _count_turns, "each part": _check_part}
        self.globals["range"] = _range
        self.globals.pop("lipsum", None)

    @staticmethod
    def concat(pieces: Iterable[str]) -> str:
        """Join what a template or macro wrote."""
        written = list(pieces)
        _check_size("it", sum(map(len, written)), "writes")
        return "".join(written)


def _check_size(what: str, size: int, does: str = "gives") -> None:
    spent = _spent.get()
    if size > _MOST_TEXT + (spent.given if spent else 0):
        raise RuntimeError(f"'{what}' {does} more than {_MOST_TEXT:,} characters")


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


def _check_part(value: Any) -> Any:
    _check_size("~", len(value) if isinstance(value, str) else 0)
    return value


def _size_made(name: str, given: Sequence[Any]) -> int:
    """Return how many characters a filter or a method of texts may make of what it is given."""
    texts = [one for one in given if isinstance(one, str)] or [""]
    if name in ("list", "split", "rsplit", "splitlines"):  # a list takes many times what its text does
        _spend(text=len(texts[0]))
    number = max((one for one in given if isinstance(one, int)), default=0)
    if name in ("format", "format_map"):
        return max(number, *_numbers(given), 0)
    least = max(number, *map(_size, given), 0)
    if name == "join":
        return least + len(texts[0]) * max((len(one) for one in given if isinstance(one, list | tuple)), default=0)
    each = {"replace": texts[0].count(texts[1]) if len(texts) > 1 else 0, "indent": texts[0].count("\n") + 1, "wordwrap": len(texts[0])}
    return least + each.get(name, 0) * len(texts[-1] if len(texts) > 1 else "")


def _size(value: Any) -> int:
    """Return how many characters a value has, all that is in it included."""
    if isinstance(value, dict | list | tuple):
        _spend(turns=1)
        return sum(1 + _size(one) for one in (value.items() if isinstance(value, dict) else value))
    return len(value) if isinstance(value, str) else 0


def _limit_filter(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(run, "limited"):
        return run

    @wraps(run)
    def limited(*args: Any, **kwargs: Any) -> Any:
        _check_size(name, _size_made(name, (*args, *kwargs.values())))
        return run(*args, **kwargs)

    vars(limited)["limited"] = True
    return limited


def limit_transformers() -> None:
    """Let transformers, once it is imported, compile chat templates within the limits, with the filters and names that it knows there."""
    theirs: Any = sys.modules.get("transformers.utils.chat_template_utils")
    if theirs is None or hasattr(theirs, "talm_sim_limits"):
        return
    compiled = theirs._compile_jinja_template

    @lru_cache
    def limited(source: str) -> Any:
        found = compiled.__wrapped__("").environment  # made anew for each template
        found.__class__ = _Bounded
        found.bind()
        return found.from_string(source)

    theirs._compile_jinja_template, theirs.talm_sim_limits = limited, True


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Return the sandbox; block tags take no line of their own, as in tokenizers' chat templates."""
    made = _Bounded(autoescape=False, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True)
    made.bind()
    # A shown tool is written as the data has it.
    made.filters |= {"tojson": partial(json_text, default=lambda tool: tool.data), "python": python_text}
    return made
