"""What reads settings, sources, recordings and secrets, and what prints."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text
from vcr.request import Request

from campaign.readers.base import SPEC, Reading, also_in, hider
from talm_sim.cli.making.reviewing import page_of
from talm_sim.cli.person.blind_judging import shown_text
from talm_sim.cli.person.label_files import parse_labels
from talm_sim.cli.report.transcript import call_text
from talm_sim.cli.terminal import screen
from talm_sim.common.credentials import credentials_in_headers, credentials_in_url, is_distinctive, names_credential
from talm_sim.common.ignored_parts import IgnoredParts
from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, did_you_mean, full_name
from talm_sim.exchange.traces import attributes as span_attributes
from talm_sim.exchange.traces.framework_messages import read_trace
from talm_sim.exchange.traces.traced_episodes import episode_of, scenario_of
from talm_sim.recordings import HttpRequest, HttpResponse, matching, redaction, tape
from talm_sim.recordings.redaction import Redactor
from talm_sim.scenarios.making.review import Entry, Part
from talm_sim.store.files.comments import Comment, make_comment
from talm_sim.store.files.manifest import check_name
from talm_sim.store.people.sample import Sample
from talm_sim.tasks import pass_question
from talm_sim.tasks.talm.making import giveaways
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.perturbations import open_perturbations
from talm_sim.tools_env.perturbations.silent import is_echo, move_days
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.trial_arguments import example_arguments
from talm_sim.types import ToolCall, ToolSpec
from talm_sim.types.pages import html_table
from talm_sim.world.lookup import fold, not_found

_KEPT_COMMENT: Final = {"episode_id": "e", "attempt": 1, "name": "", "text": "TEXT", "written_at": 0.5}


def _review(text: str) -> None:
    page = page_of(Entry(key="a", title="a", parts=(Part("text", text, before=text[::-1]),)), {}, "", 80)
    _print(page)


def _print(page: Any) -> None:
    with open("/dev/null", "w", encoding="utf-8", errors="replace") as nowhere:
        Console(file=nowhere, width=100).print(page)


def _judged(text: str) -> None:
    _print(Text(shown_text(text)))


def _labels(text: str) -> None:
    sample = Sample(seed=0, sizes={"one": 2}, episodes={"e-1": "one", "=2": "one"})
    question = pass_question()
    for labels in (text, f"episode,name,shown,label,note\n{text}", f"episode,name,shown,label,note\ne-1,ann,x1,pass,{text}"):
        with contextlib.suppress(PrerequisiteError):
            parse_labels(labels, Path("a.csv"), question, sample, None, {"e-1": "x1", "=2": "x2"})


@cache
def _redactor() -> Redactor:
    return Redactor(("sk-abcdefghijklmnop", "s3cret/with+signs=", "aaaaaaaaaaaaaaaa"))


def _posted(text: str) -> Request:
    return Request("POST", "http://a.example/x", text.encode("utf-8", "replace"), {})


def _request(text: str) -> HttpRequest:
    body = json.dumps({"q": text, "token": text[:50]}).encode()
    return HttpRequest(
        "POST", f"http://a.example/x?q={text[:2000].encode('ascii', 'ignore').decode()}", {"content-type": "application/json"}, body
    )


def _redact(text: str) -> None:
    request = _request(text)
    _redactor().request(request)
    _redactor().response(HttpResponse(200, "OK", (("content-type", "application/json"),), text.encode("utf-8", "replace")), request)


def _openapi(text: str) -> None:
    tools_from_openapi({"openapi": "3.1.0", "paths": {f"/{text}": {"get": {"operationId": text, "summary": text, "description": text}}}}, "x")


def _described(text: str) -> None:
    properties = {"city": {"type": "string", "description": text}, "day": {"type": "string"}}
    spec = ToolSpec(name="f", description=text, parameters={"type": "object", "properties": properties, "required": ["city", "day"]})
    example_arguments(spec)
    giveaways.find_giveaway("Hanoi", "city", [spec], [spec], anywhere=True)
    giveaways.find_giveaway(12, "city", [spec], [spec], anywhere=True)


def _trace(text: str) -> None:
    call = {"id": "a", "name": text[:60], "arguments": text}
    said: list[Any] = [
        {"role": role, "content": text, "tool_calls": [call], "tool_call_id": "a"} for role in ("user", "assistant", "tool", "user")
    ]
    trace = read_trace(said, "x")
    episode_of(trace, scenario_of(trace, "talm", "a"), 1)
    span_attributes.unflatten({f"gen_ai.prompt.0.{text}": text}, "gen_ai.prompt")
    span_attributes.json_in(text)


def _field(text: str) -> None:
    """Read a field of an answer, and of its schema, as the silent faults do."""
    (units,) = open_perturbations(("wrong-unit",), seed=0, episode="s@1")
    units.lacks(SPEC, {"properties": {text: {"description": text}}}, ())
    move_days({"day": text, "weekday": "Monday"}, lambda path, day_text, day: day.replace(year=2000))
    is_echo(text, text[::-1])


IGNORED = IgnoredParts((r"\d\d:\d\d", r"id=\w+ at \S+", "x.*y.*z", r"[0-9a-f]{8}(-[0-9a-f]{4})?"))
READ: Final[Reading] = {
    "common.ignored_parts: IgnoredParts": lambda text: IGNORED.strip(json.dumps({"messages": [text]}).encode()),
    "exchange.traces.framework_messages: traces": _trace,
    "common.credentials: Hider.text": lambda text: hider().text(text),
    "common.credentials: Hider.body": lambda text: hider().body(json.dumps(text).encode()),
    "common.credentials: Hider.value": lambda text: hider().value({text: [text]}),
    "common.credentials: credentials": lambda text: (
        names_credential(text),
        is_distinctive(text),
        list(credentials_in_url(text)),
        list(credentials_in_headers([("authorization", text), (text, "x")])),
    ),
    "recordings.redaction: Redactor": _redact,
    "recordings.matching: recorded bodies": lambda text: matching.canonical_body(text.encode("utf-8", "replace")),
    "recordings.redaction: recorded calls": lambda text: redaction.hide_named_in_answer(
        json.dumps(
            {"choices": [{"message": {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": text}}]}}]}
        ).encode(),
        text.encode("utf-8", "replace"),
        lambda name, value: "token" in name,
    ),
    "recordings.tape: recorded misses": lambda text: tape.explain_miss(_posted(text), [_posted(text[: len(text) // 2] + "x")], hider().text),
    "tools_env.trial_arguments: given_away, examples": _described,
    "cli.terminal.screen: screen": lambda text: (screen.fit_line(text, 60), list(screen.wrap(text, 60))),
    "cli.report.transcript: call_text": lambda text: call_text(ToolCall(id="1", name=text, arguments={text: text})),
    "cli.making.reviewing: reviewed texts": _review,
    "types.pages: html_table": lambda text: html_table({"a": text}, [[text]]),
    "store.files.comments: a reader's comment": lambda text: make_comment("e", 1, text, text[:40], 0.0),
    "store.files.comments: a comment as it is kept": also_in(_KEPT_COMMENT, Comment.model_validate_json),
    "store.files.manifest: names of runs": lambda text: check_name(text, "--run-id"),
    "config: settings": lambda text: RunConfig(model="openai/x", model_options={"extra_headers": text}, limit=None),
    "errors: did_you_mean": lambda text: (
        did_you_mean(text, ["perfect", "underspecified", "a" * 30]),
        full_name(text, ["perfect"], "runs"),
        did_you_mean("perfect", [text, "a"]),
    ),
    "tools_env.perturbations.silent_values: fields of answers": _field,
    "tools_env.sources.openapi_document: OpenAPI texts": _openapi,
    "tools_env.argument_check: arguments": lambda text: validate_arguments(SPEC, {"amount": text, text: 1}),
    "cli.terminal.text: what a person judges": _judged,
    "cli.person.label_files: labels as CSV": _labels,
    "world.lookup: looked up names": lambda text: (fold(text), not_found("city", text, ["Hanoi", "Bern"])),
}
