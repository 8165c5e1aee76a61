"""Read scenarios from JSON Lines as people write them: `//` begins a comment; a message names each broken line and the fix."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, nests_deeply, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.types import Scenario

COMMENT = "//"
"""Begins a line for people alone; JSON never begins so."""

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def json_lines(source: Traversable) -> Iterator[tuple[str, Any]]:
    """Read a file's JSON values, each with `<file>:<line>`; blank lines and comments are skipped."""
    for where, line in numbered_lines(source):
        try:
            yield where, parse(line)
        except ValueError as err:
            raise PrerequisiteError(f"{where}: not JSON ({err}); write one scenario per line.") from None


def numbered_lines(source: Traversable, give: str = "give a JSONL file with one scenario per line") -> Iterator[tuple[str, str]]:
    """Read a file's lines unchanged, each with `<file>:<line>`; blank ones and comments are skipped. `give` is the fix if there is none."""
    try:
        encoding = "utf-8-sig"
        text = read_text(source, LARGEST_DATA, encoding) if isinstance(source, Path) else source.read_text(encoding)
    except OSError as err:
        raise PrerequisiteError(f"{source}: cannot be read: {err.strerror}; {give}.") from None
    except UnicodeDecodeError as err:
        place = err.object.count(10, 0, err.start) + 1  # line feeds before it
        raise PrerequisiteError(f"{source}:{place}: is not UTF-8 text; save the file as UTF-8.") from None
    # Not splitlines(): JSON strings may contain line separators such as U+2028 unescaped.
    lines = enumerate(text.split("\n"), 1)
    yield from ((f"{source}:{number}", line) for number, line in lines if line.strip() and not line.lstrip().startswith(COMMENT))


def _refuse_constant(name: str) -> Any:
    raise _NotJson(f"{name} is not a JSON number")


class _NotJson(ValueError):
    """A value that Python reads and JSON does not have."""


def parse(text: str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: It is not JSON, or cannot be stored; the message says why in a few words.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as err:
        raise ValueError(f"{err.msg} at column {err.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except _NotJson:
        raise
    except ValueError:
        raise ValueError("a number is too long") from None
    if text.count("[") + text.count("{") > 100 and nests_deeply(value):
        raise ValueError("nested too deeply")
    if _HALF.search(text) and _HALF_PAIR.search(json.dumps(value, ensure_ascii=False)):
        raise ValueError("half a surrogate pair, which text cannot contain")
    return value


def write_scenarios(groups: Mapping[str, Sequence[Scenario]], directory: Path) -> None:
    """Write one `<group>.jsonl` per group that has scenarios; equal scenarios give equal bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    for group, scenarios in groups.items():
        if not scenarios:
            continue
        text = "".join(json.dumps(short_form(scenario), ensure_ascii=False) + "\n" for scenario in scenarios)
        (directory / f"{group}.jsonl").write_text(text, encoding="utf-8")


def short_form(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario without the fields that have their default; the target keeps the type by which it is recognized."""
    short = scenario.model_dump(mode="json", exclude_defaults=True)
    if scenario.target is not None and not isinstance(scenario.target, dict):
        short["target"] = {"type": scenario.target.type, **short["target"]}
    return short
