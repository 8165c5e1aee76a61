"""Score given texts with a served model: its server is sent each text whole, and tells how likely every token is.

`/completions` with `echo` and `logprobs` gives the log-probabilities of the tokens it was sent; vLLM serves it. Which of them belong to an
option is told by the tokenizer that the user names, else by the texts of the tokens: an option begins where the prompt without its trailing
white space ends, as in lm-evaluation-harness and in scoring by a model in this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import fsum, isfinite
from pathlib import Path
from typing import Any

from talm_sim.errors import PrerequisiteError, ProviderError, RefusedError, pip_install
from talm_sim.models.answers import ROUNDING
from talm_sim.models.base import Continuation, GenerationSettings
from talm_sim.models.openai_chat import OpenAIChat, choice_of
from talm_sim.types import JsonObject, ModelTurn

_ONE_TOKEN = GenerationSettings(temperature=0.0, max_new_tokens=1)
"""Not every server takes 0 for the tokens to write; of the one that it writes, nothing is read."""


class ScoringChat(OpenAIChat):
    """A model behind `/completions` that scores given texts; arguments as of `OpenAIChat`."""

    _scored = False

    async def score(self, prompt: str, options: Sequence[str]) -> list[Continuation]:
        """Say how likely each option is as the continuation of `prompt`, in one request per option; see `ScoringModel.score`."""
        if not options or not all(options):
            raise ProviderError(f"{self.name}: an option is empty; there is nothing to score.")
        return [await self._score(prompt, option) for option in options]

    async def _score(self, prompt: str, option: str) -> Continuation:
        start = len(prompt.rstrip())
        tokens, logprobs = await self._echo(prompt + option)
        if "".join(tokens) != prompt + option:
            raise ProviderError(f"{self.name}: the server's tokens do not spell the text that was sent; add -M tokenizer=DIR.")
        return self._last(logprobs, sum(at >= start for at in accumulate(map(len, tokens[:-1]), initial=0)))

    async def _echo(self, text: str) -> tuple[list[str], list[float | None]]:
        """Return the tokens of a text with their log-probabilities; the first token has none."""
        body = self._body({"prompt": text}, "max_tokens", _ONE_TOKEN, {"echo": True, "logprobs": 0, "add_special_tokens": False})
        found = await self._endpoint.post("/completions", body, lambda answer: _echoed(answer, text))
        if found is None:
            line = (
                f"{self.name}: the server gives no log-probabilities of the prompt (/completions with echo and logprobs; 0 and more are none), "
                "so it cannot score given answers; use vLLM, a model in this process (hf/, vllm/), or --mode judge."
            )
            raise (ProviderError if self._scored else RefusedError)(line)
        self._scored = True
        return found

    def _last(self, logprobs: Sequence[float | None], count: int) -> Continuation:
        values = [value for value in logprobs[len(logprobs) - count :] if value is not None and isfinite(value)]
        if not values or len(values) < count:
            raise ProviderError(f"{self.name}: a token of an option has no log-probability that is a finite number.")
        return Continuation(fsum(values), count)


class TextChat(ScoringChat):
    """A scoring chat whose tokenizer is known: texts are written and split as by a model in this process. It is a `TextModel`."""

    def __init__(self, *args: Any, tokenizer: Any, **fields: Any) -> None:
        from talm_sim.models.local.prompting import Rendering, chat_template_of

        super().__init__(*args, **fields)
        self._tokenizer = tokenizer
        self._rendering = Rendering().without_thought()
        self.chat_template = chat_template_of(tokenizer)

    def render_chat(self, messages: Sequence[dict[str, str]], tools: Sequence[JsonObject]) -> str:
        """Render a conversation through the tokenizer's chat template; see `TextModel.render_chat`."""
        from talm_sim.models.local.prompting import render

        wrapped = [{"type": "function", "function": tool} for tool in tools]
        return render(self._tokenizer, list(messages), wrapped, self.name, self._rendering)

    async def complete(self, prompt: str, settings: GenerationSettings) -> ModelTurn:
        """Continue the raw `prompt`; where the template has written the token that opens a text, the server does not add it again."""
        opened = bool(self._tokenizer.bos_token) and prompt.startswith(self._tokenizer.bos_token)
        options = {"add_special_tokens": False, **settings.options} if opened else settings.options
        return await super().complete(prompt, replace(settings, options=options))

    async def _score(self, prompt: str, option: str) -> Continuation:
        from talm_sim.models.local.scoring import encode_question, encode_text

        question = encode_question(self._tokenizer, prompt, [option], max_length=None, name=self.name)
        # The server adds no special token: those that the tokenizer opens a text with are sent as text.
        text = prompt + option
        whole = encode_text(self._tokenizer, text)
        added = len(whole) - len(self._tokenizer.encode(text, add_special_tokens=False))
        tokens, logprobs = await self._echo(self._tokenizer.decode(whole[:added]) + text)
        if len(tokens) != len(question.prompt) + len(question.options[0]):
            raise PrerequisiteError(
                f"-M tokenizer: the server of {self.name} makes {len(tokens)} tokens of a text, this tokenizer {len(whole)}; "
                "name the directory of the model that is served."
            )
        return self._last(logprobs, len(question.options[0]))


def load_tokenizer(name: str, folder: str) -> Any:
    """Load the tokenizer of a served model."""
    try:
        import transformers
    except ImportError:
        raise PrerequisiteError(f"-M tokenizer: needs transformers; install it with: {pip_install('local')}") from None
    from talm_sim.models.local.engine import silence_transformers

    place = Path(folder).expanduser()
    if not place.is_dir():
        raise PrerequisiteError(f"-M tokenizer={folder}: there is no such directory; name one that holds the tokenizer of {name}.")
    silence_transformers(transformers)
    try:
        return transformers.AutoTokenizer.from_pretrained(str(place), local_files_only=True, trust_remote_code=False)
    except Exception as err:  # a damaged file breaks in as many ways as there are libraries that read it
        reason = " ".join(str(err).split())[:200]
        raise PrerequisiteError(f"-M tokenizer={folder}: cannot be loaded: {reason}") from None


def _echoed(answer: dict[str, Any], text: str) -> tuple[list[str], list[float | None]] | None:
    """Return the tokens that were sent, with their log-probabilities; None if the answer does not give them."""
    choice = choice_of(answer)
    logprobs = choice.get("logprobs")
    said = choice.get("text")
    if not isinstance(logprobs, dict) or not isinstance(said, str) or not said.startswith(text):
        return None
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    usage = answer.get("usage")
    written = usage.get("completion_tokens") if isinstance(usage, dict) else None
    end = len(tokens) - (written if written in (0, 1) else 1)
    known = [float(value) if type(value) in (int, float) else None for value in values[:end]]
    given = [value for value in known if value is not None]
    # Some servers write 0 where they computed nothing; above 0, by more than a rounding, is no logarithm of a probability.
    if (end > 1 and not given) or (len(given) > 2 and not any(given)) or any(value > ROUNDING for value in given):
        return None
    return [str(token) for token in tokens[:end]], [value if value is None else min(value, 0.0) for value in known]
