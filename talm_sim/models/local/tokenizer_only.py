"""A model's tokenizer without its weights: it writes and counts the text that the model would read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.common.typed_options import read_options
from talm_sim.errors import PrerequisiteError, pip_install
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.local.engine import silence_transformers
from talm_sim.models.local.folders import find_model
from talm_sim.models.local.prompting import Rendering, RenderingOptions, chat_template_of, render
from talm_sim.models.local.scoring import encode_text
from talm_sim.types import JsonObject, ModelTurn

_LOCAL = ("hf", "vllm")


class TokenizerOnly:
    """A `TextModel` that can write prompts, and neither score nor answer."""

    def __init__(self, name: str, tokenizer: Any, rendering: Rendering) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._rendering = rendering.without_thought()
        self.chat_template = chat_template_of(tokenizer, rendering)

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the chat template; see `TextModel.render_chat`."""
        wrapped = [{"type": "function", "function": tool} for tool in tools]
        return render(self._tokenizer, list(messages), wrapped, self.name, self._rendering)

    def count_tokens(self, prompt: str, answer: str) -> tuple[int, bool]:
        """Count the tokens of a prompt with its answer and the token that ends it; say whether the answer begins with a token of its own."""
        # As in scoring and training, the prompt's last spaces belong to the answer.
        alone, whole = encode_text(self._tokenizer, prompt.rstrip()), encode_text(self._tokenizer, prompt + answer)
        return len(whole) + 1, whole[: len(alone)] == alone

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Refuse: there are no weights."""
        raise NotImplementedError

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Refuse: there are no weights."""
        raise NotImplementedError


def open_tokenizer(name: str, options: Mapping[str, str]) -> TokenizerOnly:
    """Load the tokenizer of a model that runs on this machine."""
    provider, _, model = name.partition("/")
    if provider not in _LOCAL or not model:
        raise PrerequisiteError(f"--model {name}: only a model on this machine can be trained; write hf/DIR.")
    given = read_options(options, RenderingOptions, name, "-M ")
    try:
        import transformers
    except ImportError:
        raise PrerequisiteError(f"{name}: needs transformers; install it with: {pip_install('local')}") from None
    silence_transformers(transformers)
    place = find_model(name, model)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except Exception as err:  # a damaged file breaks in as many ways as there are libraries that read it
        raise PrerequisiteError(f"{name}: its tokenizer cannot be loaded: {' '.join(str(err).split())[:200]}") from None
    return TokenizerOnly(name, tokenizer, Rendering.of(given, None))
