"""Parse a gate: a measure, and the value that it must reach."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

_GateEnd = Literal["value", "lower", "upper"]
"""What must reach the bound: the measure's value, or an end of its 95 % interval."""
_FORM: Final = re.compile(r"(?P<name>[^<>=@]*)(?P<end>@[^<>=@]*)?(?P<sign>[<>=]*)(?P<bound>.*)", re.DOTALL)
_EXAMPLE: Final = "write [GROUP.]MEASURE>=NUMBER or <=NUMBER, for example pass_rate>=0.6"


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate.

    Attributes:
        text: The gate as it was written, without spaces at its ends.
        name: The measure, with or without the group that it is for.
        end: What must reach the bound.
        sign: `>=` or `<=`; empty for a gate against a baseline.
        bound: The bound; 0 for a gate against a baseline.
    """

    text: str
    name: str
    end: _GateEnd = "value"
    sign: Literal["", ">=", "<="] = ""
    bound: float = 0.0

    def holds(self, value: float) -> bool:
        """Return whether a value reaches the bound; what differs by rounding alone does."""
        return value >= self.bound - 1e-12 if self.sign == ">=" else value <= self.bound + 1e-12


def read_gate(text: str) -> Gate:
    """Read a gate.

    >>> read_gate("perfect.pass_rate@lower >= 0.6")
    Gate(text='perfect.pass_rate@lower >= 0.6', name='perfect.pass_rate', end='lower', sign='>=', bound=0.6)
    """
    text = text.strip()
    found = _FORM.fullmatch(text)
    assert found is not None  # every part may be empty
    name, end, sign, written = (found[part].strip() if found[part] else "" for part in ("name", "end", "sign", "bound"))
    said = f"'{text}' is not a gate: "
    if not name:
        raise ValueError(f"{said}it names no measure; {_EXAMPLE}.")
    if end not in ("", "@lower", "@upper"):
        raise ValueError(f"{said}'{end}' is not an end of an interval; write @lower or @upper.")
    if not sign and not written:
        if end:
            raise ValueError(f"{said}{end} needs a number; {_EXAMPLE}.")
        return Gate(text, name)
    if sign not in (">=", "<="):
        raise ValueError(f"{said}'{sign or written}' is not a comparison; {_EXAMPLE}.")
    try:
        bound = float(written)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise ValueError(f"{said}'{written}' is not a number; {_EXAMPLE}.")
    return Gate(text, name, "lower" if end == "@lower" else "upper" if end else "value", ">=" if sign == ">=" else "<=", bound)
