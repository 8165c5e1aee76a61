"""Show a transcript in a notebook's cell: plain HTML with every text escaped, in the notebook's own colours, without script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from talm_sim.cli.pages.transcripts import PageTexts, transcript_data
from talm_sim.store.transcripts import Transcript, make_transcript
from talm_sim.types import FINISH, Episode

_SHORT: Final = 300
"""Characters of a text that is shown without a click."""
_FRAME: Final = "border-left:3px solid {};padding:0 0 0 .7em;margin:.5em 0;text-align:left"
_GREY: Final = "rgba(128,128,128,.6)"
_RED: Final = "#d64545"
_AMBER: Final = "#c98a1b"
_GREEN: Final = "#2f9e5b"
_BLUE: Final = "#3f87c9"
"""Colours of lines beside a text, never of letters: a notebook may be light or dark."""
_STYLES: Final = {
    "strong": "font-weight:bold",
    "faint": "opacity:.75",
    "good": "font-weight:bold",
    "bad": "font-weight:bold",
    "notice": "font-style:italic",
}
_PRE: Final = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0;background:none;color:inherit"


def notebook_html(value: Episode | Transcript) -> str:
    """Return an episode as an element that holds all it needs.

    Args:
        value: A transcript; or an episode alone, without its scenario and verdicts.
    """
    alone = isinstance(value, Episode)
    one = transcript_data(make_transcript(value, None, ()) if isinstance(value, Episode) else value, PageTexts())
    return f'<div style="max-width:60em;text-align:left">{"".join(_parts(one, alone=alone))}</div>'


def _parts(one: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    control = " (control, not a language model)" if one["model"].startswith("sim/") else ""
    own = f"agent {one['agent']}, " if one.get("agent") else ""
    yield f"<p><b>{escape(one['episode'])}</b> ({escape(one['group'])}), {escape(own)}model {escape(one['model'])}{control}, "
    yield f"human {escape(one['human'])}<br>ended: {escape(one['termination'])} after {escape(one['turns_seen'])}, {one['elapsed_s']} s</p>"
    yield from (f"<p><i>{escape(note)}</i></p>" for note in one.get("notes", ()))
    if "query" in one and one["query"] is not None:
        yield _titled("Query", _text(one["query"]))
    for section in one["sections"]:
        yield _titled(section["title"], "".join(map(_line, section["lines"])))
    if one.get("prompt", "").strip():
        yield f"<details><summary><b>Prompt</b></summary>{_text(one['prompt'])}</details>"
    for turn in one["turns"]:
        yield from _turn(turn)
    yield from (_titled("The user, unanswered", _text(said)) for said in one.get("unanswered", ()))
    for name in ("error", "traceback"):
        if one.get(name):
            yield _titled(name.capitalize(), _long(one[name]), _RED)
    if "answer" in one:
        yield _titled("Answer", _text(one["answer"]) if one["answer"].strip() else "(none)")
    if one.get("faults"):
        yield _titled("Perturbations", "".join(_text(said) for said in one["faults"]), _AMBER)
    if one["verdicts"] is not None and not alone:
        yield _titled("Verdicts", "".join(map(_verdict, one["verdicts"])) or "(none yet)")


def _titled(title: str, html: str, colour: str = "transparent") -> str:
    return f'<div style="{_FRAME.format(colour)}"><b>{escape(title)}</b><br>{html}</div>'


def _text(text: str) -> str:
    return f'<div style="white-space:pre-wrap;overflow-wrap:anywhere">{escape(text.strip())}</div>'


def _long(text: str) -> str:
    """Return a text as it is, behind its length if it is long."""
    whole = f'<pre style="{_PRE}">{escape(text)}</pre>'
    return whole if len(text) <= _SHORT else f"<details><summary>{len(text):,} characters</summary>{whole}</details>"


def _line(parts: Sequence[Sequence[str]]) -> str:
    """Return a line of a task's section; of a long one, for example the words of an awareness question, the beginning before a click."""
    said = "".join(f'<span style="{_STYLES.get(style, "")}">{escape(text)}</span>' for style, text in parts)
    line = f'<div style="white-space:pre-wrap;overflow-wrap:anywhere">{said}</div>'
    plain = " ".join("".join(text for _, text in parts).split())
    return line if len(plain) <= _SHORT else f'<details><summary style="opacity:.75">{escape(plain[:80])}…</summary>{line}</details>'


def _turn(turn: Mapping[str, Any]) -> Iterator[str]:
    user = turn.get("user", ())
    first = turn.get("request", 1) - len(user) + 1
    yield from (_titled(f"The user, request {number}", _text(said)) for number, said in enumerate(user, first))
    same = f"Turns {turn['number']} to {turn['to']}, all identical" if turn["to"] > turn["number"] else f"Turn {turn['number']}"
    inside = [_fault(fault) for fault in turn.get("faults", ())]
    if turn.get("reasoning", "").strip():
        inside.append(f"<details><summary>thinks</summary>{_text(turn['reasoning'])}</details>")
    if turn.get("text", "").strip():
        inside.append(_text(turn["text"]))
    inside += map(_event, turn["events"])
    if turn.get("finish") is not None:
        inside.append(f"<div>→ <code>{FINISH}</code>{_text(turn['finish'] or '(empty)')}</div>")
    if turn.get("reminded"):
        inside.append(f"<div><i>no call: reminded to call {FINISH}</i></div>")
    if turn.get("cut"):
        inside.append("<div><i>cut off at the token limit of one turn</i></div>")
    yield _titled(f"{same}, the answer" if turn.get("answers") else same, "".join(inside), _GREY)


def _event(event: Mapping[str, Any]) -> str:
    if event["kind"] == "broken":
        return f"<div>! not a valid call: <code>{escape(event['name'])} {escape(event['raw'])}</code>: {escape(event['reason'])}</div>"
    if event["kind"] != "call":
        asked, reply = f"{event['how']}: {event['question']}", f"{event['who']}: {event['reply']}"
        return f'<div style="{_FRAME.format(_BLUE)}">{_text(asked)}{_text(reply)}</div>'
    arguments = ", ".join(f"{escape(name)}={escape(value)}" for name, value in event["arguments"])
    call = f'→ <code style="overflow-wrap:anywhere">{escape(event["name"])}({arguments})</code>'
    if not event["executed"]:
        return f"<div>{call} <i>{escape(event.get('why_not', ''))}</i></div>"
    status = event.get("status")
    facts = ["<b>ok</b>" if event["ok"] else "<b>failed</b>", *([] if status is None else [str(status)])]
    facts += [escape(text) for text in (event.get("error", ""), event.get("origin", "")) if text]
    result = _long(event["result"]) if event.get("result") else ""
    inside = f"{call}<br>{', '.join(facts)}{''.join(map(_fault, event.get('faults', ())))}{result}"
    return f'<div style="{_FRAME.format(_GREEN if event["ok"] else _RED)}">{inside}</div>'


def _fault(fault: Mapping[str, Any]) -> str:
    replaced = fault.get("replaced")
    in_place = f"in place of: {_long(replaced)}" if replaced is not None else ""
    said = f"fault <b>{escape(fault['name'])}</b>: {escape(fault['said'])}"
    return f'<div style="{_FRAME.format(_AMBER)}">{said}{in_place}</div>'


def _verdict(verdict: Mapping[str, Any]) -> str:
    word, colour = {True: ("pass", _GREEN), False: ("fail", _RED), None: ("no verdict", _AMBER)}[verdict["value"]]
    more = "".join(f" ({escape(text)})" for text in (verdict["label"], verdict["votes"]) if text)
    why = f" {escape(verdict['why'])}" if verdict["why"] else ""
    return f'<div style="{_FRAME.format(colour)}">{escape(verdict["judge"])}: <b>{word}</b>{more}{why}</div>'
