"""Load the words by which an agent's final message is read: `answer_words.toml` and `evidence.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

QUOTE = re.compile(r"^\s{0,3}>", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|\n+|;\s")


def compile_words(*patterns: str) -> re.Pattern[str]:
    """Compile alternatives; `]*` only so much that the work grows with the length of the text alone."""
    return re.compile("|".join(patterns).replace("]*", "]{0,200}"), re.IGNORECASE)


@cache
def read_words(name: str) -> dict[str, Any]:
    """Return the tables of a file of this folder, in whose patterns `<name>` stands for the part of that name."""
    read = tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    parts: dict[str, str] = {}
    for part, pattern in read.pop("parts").items():
        parts[part] = _fill(pattern if isinstance(pattern, str) else f"(?:{'|'.join(pattern)})", parts)
    return {title: {key: _fill(one, parts) for key, one in table.items()} for title, table in read.items()}


def _fill(pattern: Any, parts: dict[str, str]) -> Any:
    if isinstance(pattern, list):
        return [_fill(one, parts) for one in pattern]
    return re.sub(r"<([a-z_]+)>", lambda found: parts[found[1]], pattern)


@cache
def way(name: str) -> re.Pattern[str]:
    """Return a way of declining, failing, finding nothing or claiming, by its name in the file; it is compiled when it is first looked for."""
    return compile_words(*read_words("answer_words.toml")["ways"][name])
