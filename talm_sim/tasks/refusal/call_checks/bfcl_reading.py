"""Read calls in raw text as BFCL does: its `default_decode_ast_prompting`, rewritten, without evaluating what a model wrote.

BFCL adds the brackets that are missing at either end, parses the text as one Python expression, and takes its calls. So a missing `]` and a
fence's backticks pass; prose, a fence's language, JSON, and calls on several lines do not. Some of its behaviour is surprising:

- Arguments without a name are left out, and the call counts: `f(1)` is a call of `f` without arguments.
- A name used as a value (`true`, `city`) is a text. A tuple is a tuple, not a list.
- A call as a value is its source text if it names no argument, otherwise an object.
- Any sign in front of a number (`+5`, `~5`, `not 5`) makes it negative.
- Sums are worked out. BFCL evaluates them as Python; here numbers are worked out and nothing else: a sum that holds texts, lists or calls
  cannot be read, and neither can one whose result has more than 4,096 bits. BFCL would read `'a' + 'b'`.

An answer of more than 100,000 characters is not read.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from talm_sim.types import ToolCall

MOST_CHARACTERS = 100_000
_MOST_BITS = 4096
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert}


class _UnreadError(ValueError):
    """The text is not one that BFCL reads calls in."""


def read_as_bfcl(text: str) -> tuple[ToolCall, ...]:
    """Read the calls in an answer as BFCL does.

    Returns:
        The calls; none if BFCL's decoder fails, or finds an empty list.

    >>> [(call.name, call.arguments) for call in read_as_bfcl("`math.add(a=5-1, b=true)`")]
    [('math.add', {'a': 4, 'b': 'true'})]
    >>> read_as_bfcl("The call is [f(a=1)].")
    ()
    """
    source = text.strip("`\n ")
    if len(source) > MOST_CHARACTERS:
        return ()
    source = ("" if source.startswith("[") else "[") + source
    source += "" if source.endswith("]") else "]"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash that begins no escape
            body = ast.parse(source.strip().strip("'"), mode="eval").body
        calls = [_call(one) for one in ([body] if isinstance(body, ast.Call) else _items(body))]
    except (ArithmeticError, MemoryError, RecursionError, TypeError, ValueError, SyntaxError):
        return ()
    # Values that Python allows and JSON lacks are never accepted by a checker; so nothing is validated.
    return tuple(ToolCall.model_construct(id=f"call-0-{number}", name=name, arguments=given) for number, (name, given) in enumerate(calls))


def _items(body: ast.expr) -> list[ast.expr]:
    if not isinstance(body, ast.List | ast.Tuple | ast.Set):
        raise _UnreadError
    return body.elts


def _call(node: ast.expr) -> tuple[str, dict[Any, Any]]:
    """Return the name and the named arguments of a call; for an expression that is called, the part of the name after it."""
    if not isinstance(node, ast.Call):
        raise _UnreadError
    parts: list[str] = []
    called = node.func
    while isinstance(called, ast.Attribute):
        parts.append(called.attr)
        called = called.value
    if isinstance(called, ast.Name):
        parts.append(called.id)
    return ".".join(reversed(parts)), {one.arg: _value(one.value) for one in node.keywords}


def _value(node: ast.expr | None) -> Any:
    found: Any
    match node:
        case ast.Constant(value=value):
            found = "..." if value is ... else value
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            found = -value  # type: ignore[operator]  # a text raises TypeError, in BFCL as well
        case ast.BinOp():
            found = _number(node)
        case ast.Name(id=name):
            found = name
        case ast.List(elts=items):
            found = [_value(one) for one in items]
        case ast.Tuple(elts=items):
            found = tuple(_value(one) for one in items)
        case ast.Dict(keys=keys, values=values):
            found = {_value(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.Call(keywords=named):
            found = dict([_call(node)]) if named else ast.unparse(node)
        case ast.Subscript(value=value, slice=place):
            found = f"{ast.unparse(value)}[{ast.unparse(place)}]"
        case _:
            raise _UnreadError
    return found


def _number(node: ast.expr) -> int | float | complex:
    """Evaluate a sum of numbers, as large as a number may get and no larger."""
    match node:
        case ast.Constant(value=int() | float() | complex() as value):
            return value
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _refuse_huge(_UNARY[type(op)](_number(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            one, other = _number(left), _number(right)
            if isinstance(op, ast.Pow | ast.LShift) and isinstance(one, int) and isinstance(other, int):
                grows = one.bit_length() * abs(other) if isinstance(op, ast.Pow) else one.bit_length() + other
                if grows > _MOST_BITS:
                    raise _UnreadError
            return _refuse_huge(_BINARY[type(op)](one, other))
    raise _UnreadError


def _refuse_huge(value: int | float | complex) -> int | float | complex:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise _UnreadError
    return value
