"""Tables of labelled data: a line of a JSONL file is a case, and one test lists all cases that fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, iscoroutine, signature
from pathlib import Path
from typing import Any

import pytest


def read_table(test_file: str, name: str) -> list[dict[str, Any]]:
    """Rows of the table `tables/NAME.jsonl` beside a test file."""
    text = (Path(test_file).parent / "tables" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def labelled(check: Callable[..., object]) -> Callable[..., None]:
    """Make one test that runs `check` with each row of the table `tables/NAME.jsonl` beside it, NAME being its own without `test_`.

    A row holds arguments of `check` by name; its other parameters are fixtures, which all rows share.
    """
    name = check.__name__.removeprefix("test_")
    rows = read_table(check.__code__.co_filename, name)

    @wraps(check)
    def test(**fixtures: Any) -> None:
        missed = []
        for number, row in enumerate(rows, 1):
            try:
                done = check(**fixtures, **row)
                if iscoroutine(done):
                    asyncio.run(done)
            except (Exception, pytest.fail.Exception) as err:
                missed.append(f"{name}.jsonl:{number}: {row}\n{type(err).__name__}: {err}")
        assert rows and not missed, "\n\n".join([f"{len(missed)} of {len(rows)} rows", *missed])

    others = [Parameter(name, Parameter.KEYWORD_ONLY) for name in signature(check).parameters if name not in rows[0]]
    test.__signature__ = Signature(others)  # type: ignore[attr-defined]
    return test
