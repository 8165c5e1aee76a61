"""The prompts for a writing model, their replacement by the user's, and the request itself: sent once more if the text was cut off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from talm_sim.common.digests import digest
from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import ContextOverflowError, PrerequisiteError, did_you_mean
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.scenarios.making.options import MakingOptions

_EXAMPLE = re.compile(r"(?P<step>\w+)_example_\d+")
_MARK = re.compile(r"\{(\w+)\}")
ASKED_AGAIN = 2
"""Requests a text may take, the second one with so many times the tokens."""


@dataclass(frozen=True, slots=True)
class WriterPrompts:
    """Texts by step and part: `system` and `user` of a step, `user` and `assistant` of each worked example of it (`<step>_example_<n>`)."""

    texts: dict[str, dict[str, str]]

    @property
    def digest(self) -> str:
        """Equal wordings have equal digests."""
        return digest(self.texts)

    def messages(self, step: str, **values: str) -> list[BaseMessage]:
        """Return the conversation of a step, with `{name}` replaced by each value; its worked examples precede the request."""
        told: list[BaseMessage] = []
        for name, example in self.texts.items():
            if (found := _EXAMPLE.fullmatch(name)) and found["step"] == step:
                told += [HumanMessage(example["user"]), AIMessage(example["assistant"])]
        system, user = (self.text(step, part, **values) for part in ("system", "user"))
        return [SystemMessage(system), *told, HumanMessage(user)]

    def text(self, step: str, part: str, **values: str) -> str:
        """Return one text, with `{name}` replaced by each value."""
        # In one pass, not str.format: a question or a specification may contain braces, and even the name of another value.
        return _MARK.sub(lambda match: values.get(match[1], match[0]), self.texts[step][part])


def load_writer_prompts(package: str, file: Path | None = None) -> WriterPrompts:
    """Return the texts of a package's `prompts.toml`, with those of the user's `file` in their place."""
    built_in = packaged_toml(package)
    texts = {step: texts_of(built_in, step, tuple(built_in[step]), "prompts.toml") for step in built_in}
    if file is None:
        return WriterPrompts(texts)
    own = read_toml(file, "--prompts")
    for step in own:
        if step not in texts:
            raise PrerequisiteError(f"{file}: unknown table '{step}'.{did_you_mean(step, texts)}")
        texts[step] |= texts_of(own, step, tuple(texts[step]), str(file))
    return WriterPrompts(texts)


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text, or why there is none.

    Attributes:
        problem: Why it cannot be used, whatever the checks say: it was cut off, the rules know nothing.
    """

    text: str
    problem: str = ""


async def ask(model: Model, messages: Sequence[BaseMessage], options: MakingOptions, seed: int, choices: tuple[str, ...] = ()) -> WrittenText:
    """Ask a model for one text."""
    text = ""
    for tokens in (options.max_new_tokens, ASKED_AGAIN * options.max_new_tokens):
        settings = GenerationSettings(options.temperature, tokens, seed, choices, {"top_p": options.top_p})
        try:
            turn = await model.generate(messages, (), settings)
        except ContextOverflowError:
            return WrittenText("", "the prompt does not fit the model's context")
        text = turn.text
        if turn.stop != "length":
            return WrittenText(text)
    return WrittenText(text, f"it was cut off after {ASKED_AGAIN * options.max_new_tokens} tokens")
