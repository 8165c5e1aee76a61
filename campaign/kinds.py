"""The commands that are killed, and what each needs to begin and go on."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from campaign.brought import SOURCES
from talm_sim.tools_env.sources.sandbox import explain_no_sandbox

__all__ = ["KINDS", "RUN", "Kind", "kinds_with_brought"]

RUN: Final = "r"
_MODEL: Final = "openai-api/host/m"
_DAMAGED: Final = ["--perturb", "http-500:p=0.4", "--split", "underspecified", "--human", "simulated", "--display", "json", "--run-id", RUN]
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
        brought: The options that name what the user brought, which `resume` is told again.
    """

    name: str
    begin: tuple[str, ...]
    work: tuple[str, ...] = ()
    typed: bool = False
    tapes: str = ""
    child: bool = False
    sounds: str = "episode_finished"
    brought: tuple[str, ...] = ()


KINDS: Final = (
    Kind("run", ("--model", "sim/asker", "--tools", "replay", *_DAMAGED)),
    Kind(
        "record tools", ("--model", "sim/asker", "--tools", "record", "--cassettes", "tapes", *_DAMAGED, "--limit", "40"), tapes="tapes/tools"
    ),
    Kind("model", ("--model", _MODEL, "--models", "live", "--tools", "replay", *_DAMAGED)),
    Kind(
        "record model",
        (
            "--task",
            "when2call",
            "--mode",
            "judge",
            "--model",
            _MODEL,
            "--models",
            "record",
            "--cassettes",
            "tapes",
            "--display",
            "json",
            "--run-id",
            RUN,
        ),
        tapes="tapes",
    ),
    Kind(
        "judge",
        ("--model", "sim/asker", "--tools", "replay", *_DAMAGED),
        ("judge", RUN, "--judge", "llm", "--judge-model", _MODEL, "--live", "--display", "json"),
        sounds="judge_progress",
    ),
    Kind(
        "answer",
        ("--model", "sim/asker", "--tools", "live", *_DAMAGED, "--human", "terminal", "--limit", "24"),
        ("answer", RUN, "--display", "plain"),
        typed=True,
        sounds="saved: ",
    ),
    Kind(
        "terminal",
        ("--model", "sim/asker", "--tools", "live", *_DAMAGED, "--human", "terminal", "--limit", "24"),
        typed=True,
        sounds="saved: ",
    ),
    Kind("local", ("--model", "sim/asker", "--tools", "replay", *_DAMAGED, "--on", "local:2"), sounds="shards_progress"),
    Kind("process of local", ("--model", "sim/asker", "--tools", "replay", *_DAMAGED, "--on", "local:2"), child=True, sounds="shards_progress"),
    Kind("tool service", ("--model", "sim/asker", "--tools", "live", *_DAMAGED, "--limit", "40"), child=True),
)


def kinds_with_brought() -> tuple[Kind, ...]:
    """Commands with what users bring, of the other tasks, and those that make several runs or none."""
    shown = ("--display", "json")
    named = (*shown, "--run-id", RUN)
    absent = {"mcp": find_spec("mcp") is None, "sandboxed": bool(explain_no_sandbox())}
    tools = ("--scenarios", "numbers.jsonl", "--model", "sim/oracle", "--tools", "live", *named)
    agent = ("--agent", "brought:agent")
    over = ("--over", "human=none,simulated", "--split", "underspecified", "--model", "sim/asker", "--tools", "replay", "--limit", "12")
    return (
        Kind("agent", ("--split", "underspecified", "--human", "simulated", "--tools", "live", "--limit", "24", *named), brought=agent),
        *(Kind(f"tools from {kind}", tools, brought=source) for kind, source in SOURCES.items() if not absent.get(kind)),
        Kind("awareness", ("--task", "awareness", "--model", "sim/asker", *named)),
        Kind("refusal", ("--task", "refusal", "--model", "sim/asker", *named)),
        Kind("ablate", (), ("ablate", *over, *shown)),
        Kind("generate", (), ("scenarios", "generate", "--task", "when2call", "--out", "made", "--limit", "12"), sounds=""),
        Kind("import", (), ("import", "fail-talms", "release"), sounds=""),
    )
