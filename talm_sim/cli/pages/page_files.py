"""Write a page as files: one if it is not too large, else one with tables and index, and the transcripts in others beside it.

A file loads nothing. Data is JSON that the page's own script writes as text; nothing in it can act.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, Final

from talm_sim.cli.terminal.text import as_json, one_line_text

LARGEST: Final = 4 * 2**20
"""Bytes of a file."""

_Episodes = list[list[dict[str, Any]]]
"""Lines of the index, run by run."""
_SCRIPTS: Final = ("dom.js", "tables.js", "figures.js", "transcript.js", "episodes.js", "pairs.js", "page.js")
"""The parts of the page's script, in the order they are run, within one function."""
_ESCAPES: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Signs that could end or begin a tag; JSON may write them so."""
_TITLE: Final = 120


def page_files(page: Path, index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]] | None) -> list[tuple[Path, bytes]]:
    """Return the files of a page, its own first.

    Args:
        page: The page's file. The others are called `NAME-1.html` and so on, beside it.
        index: What `build_index` returned.
        transcripts: Of each run, its transcripts by episode; None to write none.
    """
    whole = render_page(index, transcripts).encode("utf-8")
    if len(whole) <= LARGEST or transcripts is None:
        return [(page, whole)]
    part = {"number": 10_000, "of": 10_000, "main": page.name}
    frame = len(render_page(_within(index, [[] for _ in transcripts], part), [{} for _ in transcripts]).encode("utf-8"))
    parts = list(_split(index, transcripts, LARGEST - frame))
    names = [f"{page.stem}-{number}{page.suffix}" for number in range(1, len(parts) + 1)]
    found = []
    for number, (name, lines) in enumerate(zip(names, parts, strict=True), 1):
        for line in (line for run in lines for line in run):
            line["file"] = name
        held = [{line["id"]: of[line["id"]] for line in run} for run, of in zip(lines, transcripts, strict=True)]
        part = {"number": number, "of": len(parts), "main": page.name}
        text = render_page(_within(index, lines, part), held)
        found.append((page.with_name(name), text.encode("utf-8")))
    main = render_page({**index, "part": {"whole": True, "files": names}}, None)
    return [(page, main.encode("utf-8")), *found]


def _within(index: Mapping[str, Any], lines: _Episodes, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the index of one part: its episodes, and the pairs of which it has both."""
    ids = [{line["id"] for line in run} for run in lines]
    less = {"tables": [], "breakdowns": [], "asked": {"counts": [], "items": [], "more": 0}}
    runs = [{**run, **less, "episodes": own} for run, own in zip(index["runs"], lines, strict=True)]
    compared = []
    for one in index["compared"]:
        pairs = [pair for pair in one["pairs"] if all(name in ids[place] for name, place in zip(pair["episodes"], one["places"], strict=True))]
        if pairs:
            compared.append({**one, "tables": [], "about": [], "pairs": pairs})
    return {**index, "blocks": [], "papers": [], "definitions": [], "runs": runs, "compared": compared, "part": dict(part)}


def _split(index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]], room: int) -> Iterator[_Episodes]:
    """Yield the lines of each part: all runs' episodes of a scenario together, as many scenarios as there is room for, but at least one."""
    by_scenario: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, run in enumerate(index["runs"]):
        for line in run["episodes"]:
            by_scenario.setdefault(line["scenario"], []).append((place, line))
    pairs = _pair_sizes(index)
    part: _Episodes = [[] for _ in transcripts]
    taken = 0
    for scenario, lines in by_scenario.items():
        size = pairs.get(scenario, 0) + sum(_data_size(line) + _data_size(transcripts[place][line["id"]]) + 200 for place, line in lines)
        if taken and taken + size > room:
            yield part
            part, taken = [[] for _ in transcripts], 0
        taken += size
        for place, line in lines:
            part[place].append(line)
    yield part


def _pair_sizes(index: Mapping[str, Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for one in index["compared"]:
        for pair in one["pairs"]:
            sizes[pair["scenario"]] = sizes.get(pair["scenario"], 0) + _data_size(pair)
    return sizes


def render_page(index: Mapping[str, Any], transcripts: Sequence[Mapping[str, Any]] | None, nonce: str | None = None, live: bool = False) -> str:
    """Return the page as HTML.

    Args:
        index: What `build_index` returned.
        transcripts: Of each run, its transcripts by episode; None if the page has none, or asks for them.
        nonce: Allows script and style in place of their digests.
        live: Whether the page asks its server for transcripts, at `transcript.json?run=PLACE&episode=ID` beside it.
    """
    script, style = _script(live), _style(live)
    allowed = [f"'nonce-{nonce}'"] * 2 if nonce else [_digest(script), _digest(style)]
    policy = (
        f"default-src 'none'; script-src {allowed[0]}; style-src {allowed[1]}; connect-src {chr(39)}{'self' if live else 'none'}{chr(39)}; "
        "base-uri 'none'; form-action 'none'"
    )
    given = f' nonce="{escape(nonce)}"' if nonce else ""
    title = one_line_text(str(index["title"]))
    return _file("page.html").format(
        policy=escape(policy, quote=False).replace('"', "&quot;"),
        title=escape(title if len(title) <= _TITLE else f"{title[:_TITLE]}…"),
        nonce=given,
        style=style,
        script=script,
        mode="live" if live else "file",
        index=_as_data(index),
        transcripts=_as_data(transcripts),
    )


def _data_size(value: Any) -> int:
    return len(_as_data(value).encode("utf-8"))


def _as_data(value: Any) -> str:
    return as_json(value).translate(_ESCAPES)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def _script(live: bool) -> str:
    parts = "\n".join(map(_file, (*_SCRIPTS, *(["live.js"] if live else []))))
    return f"(() => {{\n'use strict'\n{parts}\n}})()"


@cache
def _style(live: bool) -> str:
    return "\n".join(map(_file, ("page.css", *(["live.css"] if live else []))))


@cache
def _file(name: str) -> str:
    return (resources.files("talm_sim.cli.pages") / "static" / name).read_text(encoding="utf-8").strip()
