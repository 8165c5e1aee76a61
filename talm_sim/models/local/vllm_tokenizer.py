"""The tokenizer of a `vllm/...` model, loaded when first needed: text becomes the same tokens as for the other local models."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local.prompting import chat_template_of, render
from talm_sim.types import JsonObject

__all__ = ["Tokenizer"]


class Tokenizer:
    """A tokenizer of transformers, loaded by the first who asks.

    Args:
        name: The model's `provider/name`, for messages.
        model: Directory or hub id.
        revision: Of a model from the hub.
    """

    def __init__(self, name: str, model: str, revision: str | None = None) -> None:
        self._name, self._model, self._revision = name, model, revision
        self._loaded: Any = None
        self._lock = threading.Lock()

    def __call__(self) -> Any:
        """The tokenizer itself.

        Raises:
            PrerequisiteError: It cannot be loaded.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    @property
    def template(self) -> str:
        """The Jinja source of the chat template; empty where there is none."""
        return chat_template_of(self())

    def render(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation, ready for the model's turn.

        Raises:
            PrerequisiteError: There is no chat template, or it cannot take these messages.
        """
        return render(self(), list(messages), [{"type": "function", "function": tool} for tool in tools], self._name)

    def _load(self) -> Any:
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(self._model, revision=self._revision)
        except Exception as err:
            reason = " ".join(str(err).split())[:200]
            raise PrerequisiteError(f"{self._name}: its tokenizer cannot be loaded: {reason}") from None
