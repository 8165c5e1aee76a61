"""Texts that act where they are printed raw: in a stranger's run, through every output, none of them does."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from campaign.base import Outcome, Part, environment
from tests.exchange.exports.hostile_run import make_run

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
_ACTS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\u2028\u2029]")
_NUMBER: Final = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)
_LIVE_MARKDOWN: Final = re.compile(r"<[a-zA-Z/!]|(?<!\\)\]\(|(?<!\\)!\[|(?<!\\)\[[^\]\\]*\]\(")


def play(count: int, rng: random.Random, scratch: Path) -> Outcome:
    """Put each payload wherever a run holds text, and print that run in every way there is."""
    chosen = rng.sample(PAYLOADS, min(count, len(PAYLOADS)))
    outcome = Outcome(len(chosen))
    os.environ.update(environment(scratch, {"PAGER": "cat", "TERM": "xterm-256color"}))
    plain = _signature(_printed(scratch / "harmless", "harmless"))
    for number, payload in enumerate(chosen):
        found = _printed(scratch / f"payload-{number}", payload)
        for name, fault in _faults(found, plain):
            outcome.failures.append(f"{name}: {fault}: payload {payload!a}")
    outcome.figures = {"outputs of each": f"{len(found)}"}
    return outcome


_WAYS: Final[dict[str, tuple[str, ...]]] = {
    "report": ("report", "hostile"),
    "report --json": ("report", "hostile", "--json"),
    "report --csv": ("report", "hostile", "--csv"),
    "report --rows --csv": ("report", "hostile", "--rows", "--csv"),
    "report --markdown": ("report", "hostile", "--markdown"),
    "report --html": ("report", "hostile", "--html", "page.html"),
    "show": ("show", "hostile"),
    "show --json": ("show", "hostile", "--json"),
    "show EPISODE": ("show", "hostile:ordinary-1", "--full"),
    "show EPISODE --json": ("show", "hostile:ordinary-1", "--json"),
    "runs list": ("runs", "list"),
    "runs list --json": ("runs", "list", "--json"),
}


def _printed(folder: Path, said: str) -> dict[str, str]:
    """What each way of printing a run writes."""
    found = {}
    make_run(folder / "runs", said)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for name, words in _WAYS.items():
            found[name] = _told(words)
        written = Path("page.html")
        found["report --html, the file"] = written.read_text(encoding="utf-8") if written.exists() else ""
    finally:
        os.chdir(before)
    return found


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
        if acts := _ACTS.search(text):
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


_CHECKS: Final[dict[str, Callable[[str], str]]] = {
    "report --csv": _csv,
    "report --rows --csv": _csv,
    "report --markdown": _markdown,
    **dict.fromkeys([name for name in _WAYS if name.endswith("--json")], _json),
}


PARTS: Final = (Part("payloads", "texts that act, through every output", "payloads", len(PAYLOADS), 6, play),)
