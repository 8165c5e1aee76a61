"""Texts that act where they are printed raw: in a stranger's run, through every output, none of them does."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import pty
import random
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from campaign.base import Outcome, Part, environment
from talm_sim.agent.episode import PendingQuestion, Waiting
from talm_sim.config import RunConfig
from talm_sim.runs.files.manifest import describe_run
from talm_sim.runs.files.records import write_episode, write_verdict
from talm_sim.runs.files.sealing import insert_row
from talm_sim.runs.files.store import RunStore, create_run
from talm_sim.types import (
    Episode,
    HumanEvent,
    Missing,
    MissingKind,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Source,
    Termination,
    ToolCall,
    ToolEvent,
    Turn,
    Verdict,
)

__all__ = ["PARTS"]

PAYLOADS: Final = (
    "\x1b[2J\x1b[H", "\x1b[31;1m red", "\x1b]0;title\x07", "\x1b]8;;https://evil.invalid\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]52;c;ZXZpbA==\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gi=1;AAAA\x1b\\", "\x1b[6n", "\x1b[?1049h", "\x1bc", "\x1b", "\x9b2J",
    "\x9d52;c;ZXZpbA==\x9c", "\x85next", "\x90q\x9c", "\x00nul", "\x07\x08\x08\x08bell", "\x7f\x7f", "over\rwritten", "\r=1+1", "a\r\nb\rc",
    "\u202egnp.exe", "\u2066a\u2069\u200f\u061c", "one\u2028two\u2029three", "\x0b\x0c\x1c\x1d\x1e",
    "[bold red]x[/] [link=https://evil.invalid]y[/link]", ":warning: [/nothing]", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onmouseover='alert(1)", "{{ 7*7 }} {% raw %}", "javascript:alert(1)",
    "![p](https://evil.invalid/p.png)", "[l](javascript:alert(1)) <https://evil.invalid>", "| a | b |\n|---|---|",
    '=HYPERLINK("https://evil.invalid")', "@SUM(1+1)*cmd|' /C calc'!A0", "+1+cmd|' /C calc'!A0", "\t-2+3+cmd|' /C calc'!A0", "\ufeff=1+1",
)  # fmt: skip
_HARMLESS: Final = "harmless"
_ACTS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\u2028\u2029]")
_OURS: Final = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which are all that we write ourselves."""
_NUMBER: Final = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)
_LIVE_MARKDOWN: Final = re.compile(r"<[a-zA-Z/!]|(?<!\\)\]\(|(?<!\\)!\[|(?<!\\)\[[^\]\\]*\]\(")
_AT_A_TERMINAL: Final = """
import sys
from talm_sim.cli import main
for words in ("report r", "show r", "show r:ended", "show --full r:ended", "runs list", "answer r --list", "answer r"):
    main(words.split())
print("THE END")
"""
_SECONDS: Final = 120.0


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Put each payload wherever a run holds text, and print that run in every way there is."""
    chosen = rng.sample(PAYLOADS, min(count, len(PAYLOADS)))
    outcome = Outcome(tried=0)
    os.environ.update(environment(scratch, {"PAGER": "cat", "TERM": "xterm-256color"}))
    plain = _signature(_printed(_made(scratch / "harmless", _HARMLESS)))
    for number, payload in enumerate(chosen):
        folder = _made(scratch / f"payload-{number}", payload)
        found = _printed(folder)
        for name, fault in [*_faults(found, plain), *_at_terminal(folder)]:
            outcome.failures.append(f"{name}: {fault}: payload {payload!a}")
        outcome.tried += 1
    outcome.figures = {"outputs of each": f"{len(found) + 7}"}
    return outcome


def _made(folder: Path, text: str) -> Path:
    """A run with `text` wherever it holds one: an episode that ended, and one that waits for a person."""

    def scenario(name: str) -> Scenario:
        lacks = Missing(kind=MissingKind.ARGUMENT, name=text, value=text, removed_text=text, human_answer=text)
        said = Turn(messages=({"role": "user", "content": text},))
        return Scenario(id=name, group="underspecified", turns=(said,), tools=(text,), missing=lacks, source=Source(base=text))

    ended, named, waits = scenario("ended"), scenario(f"x{text}"), scenario("waits")
    call = ToolCall(id="1", name=text, arguments={text: text})
    tool = ToolEvent(turn=0, call_id="1", name=text, arguments={text: text}, result=text, ok=False, error=text)
    asked = HumanEvent(turn=0, call_id="2", question=text, answer=text, responder=text)
    episodes = [
        Episode(
            id=one.id,
            scenario_id=one.id,
            group=one.group,
            model=f"openai/{text}",
            human=text,
            model_turns=(ModelTurn(text=text, reasoning=text, raw_prompt=text, tool_calls=(call,)),),
            events=(tool, asked),
            answer=text,
            error=text,
            termination=Termination.ANSWERED,
            perturbations=(PerturbationLog(name=text, armed=1, fired=1),),
        )
        for one in (ended, named)
    ]
    said: dict[str, Any] = {"value": True, "label": text, "explanation": text}
    verdicts = [Verdict(episode_id=one.id, judge=judge, **said) for one in episodes for judge in ("reference", text)]
    measured = {text: {"name": text or "m", "head": text, "about": text}}

    def fill(conn: sqlite3.Connection) -> None:
        for position, one in enumerate(episodes):
            write_episode(conn, one, position)
        for verdict in verdicts:
            write_verdict(conn, verdict)
        insert_row(conn, "meta", "judges", json.dumps([("reference", ""), (text, "")]))
        insert_row(conn, "meta", "measures", json.dumps(measured))

    folder.mkdir(parents=True)
    config = RunConfig(split="all", model=f"openai/{text}", models="replay", tools="replay", options={"human": "terminal"})
    run = create_run(folder / "runs", "r", describe_run(config, [ended, named, waits]), [ended, named, waits], fill=fill)

    async def wait() -> None:
        async with RunStore.open(run) as store:
            question = PendingQuestion("waits#1-1", 1, text)
            await store.pause(Waiting("waits", "waits", 1, 1, (question,), episodes[0].model_turns, (tool, asked), {"answers": []}))

    asyncio.run(wait())
    return folder


_WAYS: Final[dict[str, tuple[str, ...]]] = {
    "report": ("report", "r"),
    "report --json": ("report", "r", "--json"),
    "report --csv": ("report", "r", "--csv"),
    "report --rows --csv": ("report", "r", "--rows", "--csv"),
    "report --markdown": ("report", "r", "--markdown"),
    "report --html": ("report", "r", "--html", "page.html"),
    "show": ("show", "r"),
    "show --json": ("show", "r", "--json"),
    "show EPISODE": ("show", "r:ended", "--full"),
    "show EPISODE --json": ("show", "r:ended", "--json"),
    "runs list": ("runs", "list"),
    "runs list --json": ("runs", "list", "--json"),
    "answer --list": ("answer", "r", "--list"),
    "answer --list --json": ("answer", "r", "--list", "--json"),
}


def _printed(folder: Path) -> dict[str, str]:
    """What each way of printing a run writes, with the NDJSON of a run over the payload's scenarios."""
    found = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for name, words in _WAYS.items():
            found[name] = _told(words)
        written = Path("page.html")
        found["report --html, the file"] = written.read_text(encoding="utf-8") if written.exists() else ""
        found["run --display json"] = _told(_ndjson(folder))
    finally:
        os.chdir(before)
    return found


def _ndjson(folder: Path) -> tuple[str, ...]:
    from talm_sim.runs.stored_run import load_run

    lines = [one.model_dump(mode="json", exclude={"tools"}) for one in load_run(folder / "runs" / "r").scenarios()]
    (folder / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = ("--model", "sim/asker", "--human", "terminal", "--replay", "--split", "underspecified")
    return ("run", "--scenarios", "mine.jsonl", *asked, "--display", "json", "--run-id", "n")


def _told(words: tuple[str, ...]) -> str:
    """Standard output and error of a command in this process; a traceback is part of them."""
    from talm_sim.cli import main

    out, err = io.StringIO(newline=""), io.StringIO(newline="")
    code: object
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
    except BaseException as fault:
        code = f"Traceback: {type(fault).__name__}: {fault}"
    if isinstance(code, str):
        return code
    return out.getvalue() + ("" if "--json" in words or "json" in words or "--csv" in words else err.getvalue())


class _Tags(HTMLParser):
    """The elements of a page, with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        self.found |= {f"{tag} {name}={value}" for name, value in attrs if name in {"href", "src"} and not (value or "").startswith("#")}


def _signature(found: dict[str, str]) -> dict[str, set[str]]:
    """What elements each page holds."""
    made = {}
    for name, text in found.items():
        if name.endswith("the file"):
            tags = _Tags()
            tags.feed(text)
            made[name] = tags.found
    return made


def _faults(found: dict[str, str], plain: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    for name, text in found.items():
        if text.startswith("Traceback"):
            yield name, text[:200]
            continue
        acts = _ACTS.search(text)
        if acts:
            yield name, f"holds {acts[0]!a} after {text[max(0, acts.start() - 20) : acts.start()]!a}"
        check = _CHECKS.get(name)
        if check is not None and (fault := check(text)):
            yield name, fault
    for name, tags in _signature(found).items():
        more = {tag for tag in tags - plain[name] if tag.split()[0] not in {"path", "use"}}
        if more:
            yield name, f"elements {sorted(more)}"


def _csv(text: str) -> str:
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) and not _NUMBER.fullmatch(cell):
                return f"a formula: {cell[:60]!a}"
    return ""


def _markdown(text: str) -> str:
    live = _LIVE_MARKDOWN.search(text)
    return f"live Markdown: {live[0]!a}" if live else ""


def _json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as err:
        return f"no JSON: {err}"
    return ""


def _lines(text: str) -> str:
    faults = [fault for line in text.splitlines() if (fault := _json(line))]
    return faults[0] if faults else "" if text else "nothing was written"


_CHECKS: Final[dict[str, Callable[[str], str]]] = {
    "report --csv": _csv,
    "report --rows --csv": _csv,
    "report --markdown": _markdown,
    **dict.fromkeys([name for name in _WAYS if name.endswith("--json")], _json),
    "run --display json": _lines,
}


def _at_terminal(folder: Path) -> Iterator[tuple[str, str]]:
    """The same at a terminal of its own, the responder's prompt last: nothing but colours comes out."""
    keyboard, screen = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _AT_A_TERMINAL],
        cwd=folder,
        env={**os.environ, "TALM_SIM_DISPLAY": "plain"},
        stdin=screen,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
    )
    os.close(screen)
    raw, until, said, marked = "", time.monotonic() + _SECONDS, False, False
    with suppress(OSError):
        while time.monotonic() < until and "THE END" not in raw:
            if select.select([keyboard], [], [], 0.2)[0]:
                raw += os.read(keyboard, 65536).decode(errors="replace")
            if not said and "Your answer" in raw and raw.rstrip().endswith(">"):
                os.write(keyboard, b"an answer\n")
                said = True
            if said and not marked and raw.rstrip().endswith("mark>"):
                os.write(keyboard, b"1\n")
                marked = True
    if child.poll() is None and "THE END" not in raw:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    os.close(keyboard)
    if not marked or "THE END" not in raw:
        yield "terminal", f"did not come to its end: {raw[-200:]!a}"
    shown = _OURS.sub("", raw).replace("\r\n", "\n")
    acts = _ACTS.search(shown)
    if acts:
        yield "terminal", f"holds {acts[0]!a} in {shown[max(0, acts.start() - 30) : acts.start() + 20]!a}"


PARTS: Final = (Part("payloads", "texts that act, through every output", "payloads", len(PAYLOADS), 6, play),)
