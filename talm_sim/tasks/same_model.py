"""Recognise a published model in the name of one that was run: by its family, version and size, however they are spelt."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["recognise"]

_DATE = re.compile(r"(?<!\d)(?:20\d\d-?\d\d-?\d\d|\d\d-\d\d|\d{4})(?![\d.a-z])")
_REVISION = re.compile(r":\d+$|(?<![a-z])v\d+(?:\.\d+)*")
"""What follows the name of a model that is served (`-v1:0`), and revisions (`-v0.2`)."""
_DASHED_VERSION = re.compile(r"(?<![\d.])(\d)-(\d)(?![\da-z.])")
_PART = re.compile(r"\d+x\d+b|\d+(?:\.\d+)*[a-z]*|[a-z]+")
_VERSION = re.compile(r"\d+(?:\.\d+)*")
_TUNED = frozenset({"instruct", "chat", "it"})
_SILENT = re.compile(r"instruct|chat|it|latest|hf|meta|mistralai|anthropic|\d+k")
"""Parts of a run's name that do not tell two published models apart; any other part, such as `mini` or `awq`, makes it another model."""
_UNSAID = {"llama": {"3.1"}, "qwen": {"2", "2.5"}}
"""Versions that a name without one may mean: Llama of 405B, which is in the same table, is 3.1."""


def recognise(model: str, published: Iterable[str]) -> str | None:
    """Return the published model that a run's model is; None where not exactly one fits.

    >>> recognise("anthropic/claude-3-5-sonnet-20240620", ["GPT4o", "Claude-3.5-sonnet"])
    'Claude-3.5-sonnet'
    """
    own = _parts(model.rstrip("/").rpartition("/")[2])
    found = [name for name in dict.fromkeys(published) if _fits(own, _parts(name))]
    return found[0] if len(found) == 1 else None


def _parts(name: str) -> frozenset[str]:
    plain = _REVISION.sub("", _DATE.sub("", name.lower().replace("_", "-")))
    parts = _PART.findall(_DASHED_VERSION.sub(r"\1.\2", plain))
    return frozenset("turbo" if part == "t" else part for part in parts)


def _fits(own: frozenset[str], published: frozenset[str]) -> bool:
    versions = {part for part in own if _VERSION.fullmatch(part)}
    # A full name without "instruct" is that of a base model; a short one leaves it out.
    wanted = published if versions else published - _TUNED
    if not wanted <= own:
        return False
    further = {part for part in own - published if not _SILENT.fullmatch(part)}
    if not any(_VERSION.fullmatch(part) for part in published):
        further -= {version for version in versions if any(version in _UNSAID.get(part, ()) for part in published)}
    return not further
