"""The commands that are killed, and what each needs to begin and go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["KINDS", "RUN", "Kind"]

RUN: Final = "r"
_MODEL: Final = "openai-api/host/m"
_NAMED: Final = ("--display", "json", "--run-id", RUN)
_DAMAGED: Final = ("--perturb", "http-500:p=0.4", "--split", "underspecified", "--human", "simulated", *_NAMED)
"""Half of the episodes meet a broken tool, so that the numbers are not all alike."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A command that is killed.

    Attributes:
        name: What it is.
        begin: The options of `run`.
        work: The command that is killed, and called again until it is done; None: `run`, then `resume`.
        typed: Whether a person's lines come through a pipe.
        tapes: Where it records.
        child: Whether the tool service or a process that plays a shard is killed in place of the command.
        sounds: What a line holds that tells of progress; none: it is killed at some moment of the time that it takes.
    """

    name: str
    begin: tuple[str, ...]
    work: tuple[str, ...] = ()
    typed: bool = False
    tapes: str = ""
    child: bool = False
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
    Kind(
        "answer",
        ("--model", "sim/asker", "--live", *_DAMAGED, "--human", "terminal", "--limit", "24"),
        ("answer", RUN, "--display", "plain"),
        typed=True,
        sounds="saved: ",
    ),
    Kind(
        "terminal",
        ("--model", "sim/asker", "--live", *_DAMAGED, "--human", "terminal", "--limit", "24"),
        typed=True,
        sounds="saved: ",
    ),
    Kind("generate", (), ("scenarios", "generate", "--task", "when2call", "--out", "made", "--limit", "12"), sounds=""),
    Kind("local", ("--model", "sim/asker", "--replay", *_DAMAGED, "--on", "local:2"), sounds="shards_progress"),
    Kind("process of local", ("--model", "sim/asker", "--replay", *_DAMAGED, "--on", "local:2"), child=True, sounds="shards_progress"),
    Kind("tool service", ("--model", "sim/asker", "--live", *_DAMAGED, "--limit", "40"), child=True),
)
