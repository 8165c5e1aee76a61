"""The wording a writing model is given, and its replacement by the user's."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from talm_sim.digests import digest
from talm_sim.errors import PrerequisiteError, did_you_mean

__all__ = ["WriterPrompts", "load_writer_prompts"]

_PARTS = ("system", "user")
_MARK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class WriterPrompts:
    """Texts by step and part."""

    texts: dict[str, dict[str, str]]

    @property
    def digest(self) -> str:
        """Equal wordings have equal digests."""
        return digest(self.texts)

    def messages(self, step: str, **values: str) -> list[BaseMessage]:
        """The conversation of a step, with `{name}` replaced by each value."""
        system, user = (self.texts[step][part] for part in _PARTS)
        # In one pass, not str.format: a question or a specification may hold braces, and even the name of another value.
        return [SystemMessage(_filled(system, values)), HumanMessage(_filled(user, values))]


def load_writer_prompts(file: Path | None = None) -> WriterPrompts:
    """Return the built-in texts, with those of the user's `file` in their place.

    Raises:
        PrerequisiteError: The file is missing, is not TOML, or has an unknown key.
    """
    texts: dict[str, dict[str, str]] = tomllib.loads((resources.files(__package__) / "prompts.toml").read_text(encoding="utf-8"))
    texts = {step: {part: text.strip() for part, text in parts.items()} for step, parts in texts.items()}
    if file is None:
        return WriterPrompts(texts)
    try:
        own: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise PrerequisiteError(f"{file}: cannot be read; --prompts needs a TOML file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise PrerequisiteError(f"{file}: not valid TOML: {err}.") from None
    for step, parts in own.items():
        if step not in texts:
            raise PrerequisiteError(f"{file}: unknown table '{step}'.{did_you_mean(step, texts)}")
        if not isinstance(parts, dict):
            raise PrerequisiteError(f"{file}: '{step}' must be a table of texts.")
        for part, text in parts.items():
            if part not in _PARTS:
                raise PrerequisiteError(f"{file}: unknown key '{step}.{part}'.{did_you_mean(part, _PARTS)}")
            if not isinstance(text, str) or not text.strip():
                raise PrerequisiteError(f"{file}: '{step}.{part}' must be a text.")
            texts[step][part] = text.strip()
    return WriterPrompts(texts)


def _filled(text: str, values: dict[str, str]) -> str:
    return _MARK.sub(lambda match: values.get(match[1], match[0]), text)
