"""The wording of task `awareness`, and its replacement by the user's."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError, did_you_mean

__all__ = ["Wording", "fill", "load_wording"]

Wording = dict[str, dict[str, str]]
"""Text by table and key; the tables are the protocols with their own words, and `again`."""
_TASK = "awareness"
_PLACE = re.compile(r"\{(conversation|tools|call)\}")


def load_wording(file: Path | None = None) -> Wording:
    """Return the built-in texts, with those of the user's `file` in their place.

    The texts are in tables within `[awareness]`. Texts directly in it belong to task talm, whose awareness questions were there before
    this task existed.

    Args:
        file: TOML file with tables such as `[awareness.zero-shot]`.

    Raises:
        PrerequisiteError: The file is missing, is not TOML, or has an unknown table or key there.
    """
    return _load_file(file, None if file is None or not file.is_file() else file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load_file(file: Path | None, changed: int | None) -> Wording:
    """Read the texts of a file once after each change, as every request is made of them."""
    wording = {name: dict(texts) for name, texts in _packaged_wording().items()}
    if file is None:
        return wording
    own = read_toml(file, "prompts").get(_TASK, {})
    tables = {name: table for name, table in own.items() if isinstance(table, dict)} if isinstance(own, dict) else {}
    for name in tables:
        if name not in wording:
            raise PrerequisiteError(f"{file}: unknown table '{_TASK}.{name}'.{did_you_mean(name, wording)}")
        wording[name] |= texts_of(tables, name, wording[name], f"{file}: {_TASK}")
    return wording


def fill(text: str, **places: str) -> str:
    """Return the text with its places filled, in one pass: the values may contain braces themselves."""
    return _PLACE.sub(lambda found: places.get(found[1], found[0]), text)


@cache
def _packaged_wording() -> Wording:
    tables = packaged_toml("talm_sim.tasks.awareness")[_TASK]
    return {name: {key: text.strip() for key, text in texts.items()} for name, texts in tables.items()}
