"""The commands that are killed, and what each needs to begin and go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RUN: Final = "r"
_MODEL: Final = "openai-api/host/m"
_NAMED: Final = ("--display", "json", "--run-id", RUN)
_DAMAGED: Final = ("--perturb", "http-500:p=0.4", "--split", "underspecified", "--human", "simulated", *_NAMED)
"""Half of the episodes meet a broken tool, so that the numbers are not all alike."""
_ASKING: Final = ("--model", "sim/asker", "--live", *_DAMAGED, "--human", "terminal", "--limit", "24")


@dataclass(frozen=True, slots=True)
class Kind:
    """A command that is killed.

    Attributes:
        name: What it is.
        begin: The options of `run`.
        work: The command that is killed, and called again until it is done; empty: `run`, then `resume`.
        typed: Whether a person's lines come through a pipe.
        tapes: Where it records.
        sounds: What a line holds that tells of progress.
    """

    name: str
    begin: tuple[str, ...]
    work: tuple[str, ...] = ()
    typed: bool = False
    tapes: str = ""
    sounds: str = "episode_finished"


KINDS: Final = (
    Kind("run", ("--model", "sim/asker", "--replay", *_DAMAGED)),
    Kind("record tools", ("--model", "sim/asker", "--record", "--cassettes", "tapes", *_DAMAGED, "--limit", "40"), tapes="tapes/tools"),
    Kind("model", ("--model", _MODEL, "--live", *_DAMAGED)),
    Kind(
        "record model",
        ("--task", "when2call", "--mode", "judge", "--model", _MODEL, "--record", "--cassettes", "tapes", *_NAMED),
        tapes="tapes",
    ),
    Kind(
        "judge",
        ("--model", "sim/asker", "--replay", *_DAMAGED),
        ("judge", RUN, "--judge", "llm", "--judge-model", _MODEL, "--live", "--display", "json"),
        sounds="judge_progress",
    ),
    Kind("answer", _ASKING, ("answer", RUN, "--display", "plain"), typed=True, sounds="saved: "),
    Kind("terminal", _ASKING, typed=True, sounds="saved: "),
    Kind("local", ("--model", "sim/asker", "--replay", *_DAMAGED, "--on", "local:2"), sounds="shards_progress"),
)
