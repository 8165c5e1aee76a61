"""Turn the rows of a training file into the tokens that are trained on: nothing is cut, and every fault names the row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talm_sim.common.plain_files import LARGEST_DATA, nests_deeply, read_text
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.local.decoding import end_tokens
from talm_sim.models.local.prompting import Rendering, render
from talm_sim.models.local.scoring import encode_question
from talm_sim.training.recipe import Method
from talm_sim.types import Behaviour

_ACTIONS = (*(one.value for one in Behaviour), "call", "defer", "clarify", "answer")
"""Classes of answers: those of When2Call, and the decisions of the study of tool refusal."""
_PAIR = ("chosen", "rejected")
_LONGEST_TOKEN = 64
"""Characters that a token of a row has at most, on average; a longer row is not made tokens of."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file, and the line that it is on."""

    place: str
    values: Mapping[str, Any]

    def fault(self, message: str) -> PrerequisiteError:
        """Return the error that names the row."""
        name = f"row '{str(self.values['id'])[:80]}' " if self.values.get("id") else ""
        return PrerequisiteError(f"{self.place}: {name}{message}")


@dataclass(frozen=True, slots=True)
class Example:
    """A row as tokens.

    Attributes:
        prompt: What the model is given.
        answers: What it learns to write, with the token that ends its turn; of a pair, the chosen answer and then the rejected one.
    """

    prompt: list[int]
    answers: tuple[list[int], ...]

    @property
    def tokens(self) -> int:
        """Tokens that a pass over the row reads: a pair is two texts."""
        return sum(len(self.prompt) + len(one) for one in self.answers)

    @property
    def longest(self) -> int:
        """Tokens of its longest text."""
        return len(self.prompt) + max(map(len, self.answers))

    def fields(self) -> dict[str, list[int]]:
        """Return the columns that TRL's trainers read."""
        if len(self.answers) == 1:
            return {"input_ids": self.prompt + self.answers[0], "labels": [-100] * len(self.prompt) + self.answers[0]}
        return {"prompt_ids": self.prompt, **{f"{name}_ids": one for name, one in zip(_PAIR, self.answers, strict=True)}}


def read_rows(path: Path, method: Method) -> list[Row]:
    """Read the rows of a file and check them."""
    try:
        lines = read_text(path, LARGEST_DATA, "utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as err:
        reason = err.strerror if isinstance(err, OSError) else "is not UTF-8 text"
        raise PrerequisiteError(f"{path}: cannot be read ({reason}); name the file that `talm-sim export training` wrote.") from None
    rows = [_read_row(f"{path}:{number}", line, method) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise PrerequisiteError(f"{path}: has no rows; write at least one.")
    return rows


def _read_row(place: str, line: str, method: Method) -> Row:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise PrerequisiteError(f"{place}: is not a JSON object; write one row per line.")
    row = Row(place, values)
    if fault := _fault_of(values, method):
        raise row.fault(fault)
    try:
        # Arguments may be JSON within a text.
        json.dumps([values, *map(_for_template, values.get("messages", ()))], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise row.fault("has half of a character (a lone surrogate), which no tokenizer reads; delete it.") from None
    return row


def _fault_of(row: Mapping[str, Any], method: Method) -> str:
    """Say what is wrong with a row; empty if nothing is."""
    pair = method != "sft"
    for key in ("chosen_action", "rejected_action") if pair else ("action",):
        if (action := row.get(key)) not in (None, "", *_ACTIONS):
            return f"has an unknown class in '{key}': '{str(action)[:40]}'.{did_you_mean(str(action), _ACTIONS)}"
    if "messages" in row:
        return f"has 'messages'; {method} needs 'prompt', 'chosen' and 'rejected'." if pair else _fault_of_messages(row)
    for key in ("prompt", *(_PAIR if pair else ("completion",))):
        if not isinstance(row.get(key), str):
            wanted = f"another method than {method}: 'dpo' or 'rpo' for pairs, 'sft' for completions"
            wanted = wanted if pair or "chosen" in row else "'messages'"
            return f"has no text '{key}'; write one, or use {wanted}."
        if not row[key].strip():
            return f"has an empty '{key}'; fill it or delete the row."
    same = pair and row["chosen"].split() == row["rejected"].split()  # a difference in white space alone teaches none between answers
    return "has the same text as 'chosen' and as 'rejected'; delete it." if same else ""


def _fault_of_messages(row: Mapping[str, Any]) -> str:
    try:
        *before, last = map(_for_template, row["messages"])
        fits = all(isinstance(one, dict) for one in row.get("tools") or []) and not nests_deeply([*before, last, row.get("tools")])
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        fits = False
    if not fits:
        return "has 'messages' or 'tools' that are not those of the chat-completions protocol."
    if not before or last["role"] != "assistant":
        return "must end with a message of the role 'assistant', which is what the model learns, after at least one other."
    return "" if last.get("tool_calls") or last["content"].strip() else "has an empty last message; fill it or delete the row."


def encode_rows(rows: Sequence[Row], tokenizer: Any, *, name: str, max_length: int, ends: Any, rendering: Rendering) -> list[Example]:
    """Return the rows as tokens, each as the tasks score it: the prompt's last spaces belong to the answer."""
    if tokenizer.eos_token_id is None:
        raise PrerequisiteError(f"{name}: its tokenizer has no token that ends a text, so the model could not learn to stop.")
    stops = end_tokens(ends, tokenizer)
    made = []
    fix = f"raise --max-length above {max_length:,}, shorten it or delete it"
    for row in rows:
        prompt, *answers = _texts_of(row, tokenizer, name, rendering)
        if (length := len(prompt) + max(map(len, answers))) > _LONGEST_TOKEN * max_length:
            raise row.fault(f"has {length:,} characters, far more than {max_length:,} tokens can hold, and would be cut; {fix}.")
        question = encode_question(tokenizer, prompt, answers, max_length=None, name=name)
        made.append(Example(list(question.prompt), tuple(_close(one, stops, tokenizer) for one in question.options)))
    long = [(row, one.longest) for row, one in zip(rows, made, strict=True) if one.longest > max_length]
    if long:
        others = f" (and so would {len(long) - 1} more; the longest has {max(one for _, one in long):,})" if len(long) > 1 else ""
        raise long[0][0].fault(f"has {long[0][1]:,} tokens and would be cut{others}; {fix}.")
    return made


def _close(answer: Sequence[int], stops: frozenset[int], tokenizer: Any) -> list[int]:
    """Return an answer that ends with the token that ends a turn; a template may write a line end after it."""
    last = max((place for place, token in enumerate(answer) if token in stops), default=None)
    if last is not None and not tokenizer.decode(list(answer[last + 1 :])).strip():
        return list(answer[: last + 1])
    return [*answer, tokenizer.eos_token_id]


def _texts_of(row: Row, tokenizer: Any, name: str, rendering: Rendering) -> list[str]:
    """Return a row's prompt and its answers; the chat template writes those of messages."""
    if "messages" not in row.values:
        return [row.values[key] for key in ("prompt", *(_PAIR if "chosen" in row.values else ("completion",)))]
    messages, tools = [_for_template(one) for one in row.values["messages"]], row.values.get("tools") or []
    prompt = render(tokenizer, messages[:-1], tools, name, rendering)
    whole = render(tokenizer, messages, tools, name, rendering, prompt=False)
    lost = "tools" if tools and prompt == render(tokenizer, messages[:-1], [], name, rendering) else ""
    answer = whole[len(prompt) :]
    for one in messages:  # a name may also stand in what the user says
        shown = answer if one is messages[-1] else whole
        if any(call["function"]["name"] not in shown for call in one.get("tool_calls") or ()):
            lost = lost or "calls"
    if lost:
        raise row.fault(f"has {lost}, but the chat template of {name} shows none; give one that does with --chat-template FILE.")
    if not whole.startswith(prompt) or whole == prompt:
        fix = "give another with --chat-template FILE"
        raise row.fault(f"has an answer that the chat template of {name} does not write after the prompt; {fix}.")
    return [prompt, answer]


def _for_template(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as templates want it: a text as its content, and arguments as objects."""
    shown = {**message, "role": str(message["role"]), "content": message.get("content") or ""}
    shown["content"].strip()  # a list of parts is not read here
    if message.get("tool_calls"):
        shown["tool_calls"] = [_for_template_call(one) for one in message["tool_calls"]]
    return shown


def _for_template_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {**call, "function": {**function, "name": str(function["name"]), "arguments": {**read}}}
