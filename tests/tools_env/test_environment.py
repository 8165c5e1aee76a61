from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from talm_sim.agent.exposure import settle_exposure
from talm_sim.config import Traffic
from talm_sim.errors import CassetteMissError, PrerequisiteError, ProviderError, ToolError
from talm_sim.recordings import HttpRequest, HttpResponse, Player
from talm_sim.recordings.tape import Tape
from talm_sim.tools_env.argument_check import validate_arguments
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.routes import build_request
from talm_sim.tools_env.sources.http import HttpSource, HttpTools
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Origin, PerturbationLog, Route, Scenario, ToolCall, ToolEvent, ToolSpec, Turn, UnparsableCall
from tests.offered import bring_along

PLACE = {"type": "string"}
SPEC = ToolSpec(
    name="t",
    category="c",
    parameters={
        "type": "object",
        "properties": {"place": PLACE, "n": {"type": "integer"}, "deep": {"type": "boolean"}},
        "required": ["place"],
        "additionalProperties": False,
    },
)
OTHER = SPEC.model_copy(update={"name": "u"})
ROUTE, OTHER_ROUTE = Route(path="/c/{place}"), Route(path="/c/u/{place}")
BOTH = HttpTools({"t": SPEC, "u": OTHER}, {"t": ROUTE, "u": OTHER_ROUTE})
SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("t", "u"))


_loop = asyncio.Runner()
"""All calls of this file are made on one loop, as those of a run are: connections are kept open on it."""


class Handler(BaseHTTPRequestHandler):
    """Echoes the path; `/c/gone` is not there, `/c/slow` waits for the end of the tests."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/c/slow"):
            self.server.closing.wait()  # type: ignore[attr-defined]
        status = 404 if self.path.startswith("/c/gone") else 200
        body = json.dumps({"detail": "no such place"} if status == 404 else {"path": self.path}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # who asked the slow one is gone by now
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    closing = threading.Event()


@pytest.fixture(scope="module", autouse=True)
def _close_the_loop() -> Iterator[None]:
    yield
    _loop.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    http = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.closing.set()
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def client(url: str) -> Iterator[Tools]:
    client = reached(url)
    yield client
    _loop.run(client.aclose())


def reached(url: str, timeout: float = 100.0) -> Tools:
    return Tools([HttpSource(url, BOTH, timeout=timeout)])


def absent() -> Tools:
    return Tools(recorded={"t": (SPEC, ROUTE), "u": (OTHER, OTHER_ROUTE)})


def _call(client: Tools, *perturb: str, place: str = "x", player: Player | None = None, name: str = "t") -> ToolEvent:
    tools = Environment(client, perturb=perturb, clock=VirtualClock).open(SCENARIO, player=player)
    return _loop.run(tools.call(ToolCall(id="1", name=name, arguments={"place": place}), 0))


def test_a_live_call_is_real_http(client: Tools) -> None:
    event = _call(client, place="Hà Nội/ö")
    assert (event.ok, event.status, event.origin) == (True, 200, Origin.LIVE)
    assert json.loads(event.result) == {"path": "/c/H%C3%A0%20N%E1%BB%99i%2F%C3%B6"}


def test_a_credential_that_a_tool_says_does_not_come_in(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_API_KEY", "key-of-the-tool-1")
    client = reached(url)
    said = json.loads(_call(client, place="key-of-the-tool-1 z9x8c7v6b5n4m3q2w1").result)
    assert said == {"path": "/c/REDACTED%20z9x8c7v6b5n4m3q2w1"}
    _loop.run(client.aclose())


def test_a_tool_that_does_not_answer_times_out(url: str) -> None:
    client = reached(url, timeout=0.1)
    event = _call(client, place="slow")
    _loop.run(client.aclose())
    assert (event.ok, event.status, event.error, event.origin) == (False, None, "timeout", Origin.LIVE)


def test_an_absent_service_is_no_tools_failure() -> None:
    client = reached("http://127.0.0.1:9")
    with pytest.raises(ProviderError, match="does not answer"):
        _call(client)
    _loop.run(client.aclose())


@pytest.mark.parametrize(
    ("perturb", "fired"),
    [
        (("http-500", "timeout"), {"http-500": 1, "timeout": 0}),
        (("malformed-body", "http-500"), {"malformed-body": 0, "http-500": 1}),
        (("http-500:p=0", "malformed-body"), {"http-500:p=0": 0, "malformed-body": 1}),
        (("http-500:tool=u", "timeout"), {"http-500:tool=u": 0, "timeout": 1}),
    ],
)
def test_only_what_lands_counts_as_fired(client: Tools, perturb: tuple[str, ...], fired: dict[str, int]) -> None:
    tools = Environment(client, perturb=perturb, clock=VirtualClock).open(SCENARIO)
    event = _loop.run(tools.call(ToolCall(id="1", name="t", arguments={"place": "x"}), 0))
    assert {log.name: log.fired for log in _totals(tools, [event])} == fired
    assert {log.name: log.fired for log in event.perturbations}.items() <= fired.items()
    assert [log.name for log in event.perturbations if log.seen] == [name for name, hits in fired.items() if hits]


def _totals(tools: EpisodeTools, events: list[ToolEvent]) -> Sequence[PerturbationLog]:
    """What each perturbation did in an episode, where all that the agent was given counts as seen."""
    return settle_exposure(events, (), tools.logs(), "unknown", asked=False)[1]


def _logs(client: Tools, *perturb: str) -> list[tuple[str, int, int, int]]:
    return [(log.name, log.armed, log.fired, log.seen) for log in _call(client, *perturb).perturbations]


@pytest.mark.parametrize(
    ("perturb", "logs"),
    [
        (("empty-result", "malformed-body"), [("empty-result", 1, 1, 1), ("malformed-body", 1, 1, 1)]),
        (("malformed-body", "empty-result"), [("malformed-body", 1, 1, 0), ("empty-result", 1, 1, 1)]),
        (("empty-result", "empty-result:tool=t"), [("empty-result", 1, 1, 1), ("empty-result:tool=t", 1, 1, 0)]),
        (("malformed-body:p=0", "empty-result:tool=u"), [("malformed-body:p=0", 1, 0, 0)]),
        (("http-500:p=0", "malformed-body"), [("http-500:p=0", 1, 0, 0), ("malformed-body", 1, 1, 1)]),
        (("malformed-body", "http-500", "timeout"), [("http-500", 1, 1, 1)]),
    ],
)
def test_the_log_of_a_call_says_what_watched_it_hit_it_and_was_seen(
    client: Tools, perturb: tuple[str, ...], logs: list[tuple[str, int, int, int]]
) -> None:
    assert _logs(client, *perturb) == logs


CHOOSY = """
from talm_sim import Call, Outcome, Perturbation, register_perturbation


@register_perturbation
class Choosy(Perturbation):
    name, summary = "choosy", "refuse what is about x, let every second such call through"

    def concerns(self, call: Call) -> bool:
        return call.arguments["place"].startswith("x")

    async def before(self, call: Call) -> Outcome | None:
        return None if call.number % 2 else Outcome(423, b"{}")
"""


def test_a_call_of_no_concern_is_not_armed_and_one_let_through_has_not_fired(
    client: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, CHOOSY) as load:
        load()
        tools = Environment(client, perturb=("choosy:times=4",)).open(SCENARIO)
        places = ("y", "y", "x", "x", "x2", "x2")
        events = [_loop.run(tools.call(ToolCall(id=str(n), name="t", arguments={"place": place}), 0)) for n, place in enumerate(places)]
        assert [[(log.armed, log.fired) for log in event.perturbations] for event in events] == [[], [], [(1, 0)], [(1, 1)], [(1, 0)], [(1, 0)]]
        assert [event.ok for event in events] == [True, True, True, False, True, True], "`times` counts all calls of the tool"
        assert [(log.armed, log.fired, log.seen) for log in _totals(tools, events)] == [(4, 1, 1)]


SLOW_AND_NOSY = """
from dataclasses import replace

from pydantic import Field

from talm_sim.tools_env.perturbations import Call, Outcome, Perturbation, PerturbationOptions, register_perturbation


@register_perturbation
class Nosy(Perturbation):
    name, summary = "nosy", "wait, then tell what is known of the call"

    class Options(PerturbationOptions):
        banner: str = Field("", description="What to say first.")

    options: Options

    async def before(self, call: Call) -> Outcome | None:
        await call.clock.sleep(4)
        return None

    async def after(self, call: Call, outcome: Outcome) -> Outcome:
        known = f"{call.spec.name} {dict(call.arguments)} {call.number} {sorted(call.pool)} {call.episode}"
        return replace(outcome, body=f'"{self.options.banner}: {known}"'.encode())

    def narrow(self, tools, pool):
        return [*tools, *(spec for name, spec in pool.items() if spec not in tools and self.applies(name))]
"""


def test_a_perturbation_of_ones_own_sees_the_whole_call(client: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bring_along(monkeypatch, tmp_path, PERTURBATIONS, SLOW_AND_NOSY) as load:
        load()
        only_t = SCENARIO.model_copy(update={"tools": ("t",)})
        perturb = (r"nosy:banner=Look\, here",)
        environment = Environment(client, perturb=perturb, clock=VirtualClock)
        tools = environment.open(only_t, epoch=2)
        assert [tool.name for tool in tools.tools] == ["t", "u"]
        _loop.run(tools.call(ToolCall(id="0", name="t", arguments={"place": 3}), 0))
        first = _loop.run(tools.call(ToolCall(id="1", name="u", arguments={"place": "x"}), 0))
        assert first.result == "Look, here: u {'place': 'x'} 1 ['t', 'u'] s@2"
        again = environment.open(only_t, epoch=2, state=json.loads(json.dumps(tools.state())))
        second = _loop.run(again.call(ToolCall(id="2", name="t", arguments={"place": "y"}), 1))
        assert " 2 " in second.result
        assert [log.model_dump() for log in again.logs()] == [{"name": perturb[0], "armed": 1, "fired": 1, "seen": 1}]
        totals = [(log.armed, log.fired, log.seen) for log in _totals(again, [first, second])]
        assert totals == [(3, 3, 3)], "a tool in sight, and two calls"
        assert (tools.slept, again.slept) == (4, 4)


async def test_pretended_waits_are_in_the_elapsed_time_and_those_of_one_turn_pass_together(client: Tools) -> None:
    perturb = ("timeout:seconds=7000,tool=t", "timeout:seconds=3000,tool=u")
    tools = Environment(client, perturb=perturb, clock=VirtualClock).open(SCENARIO)
    calls = [ToolCall(id=name, name=name, arguments={"place": "x"}) for name in ("t", "u")]
    began = time.monotonic()
    together = await asyncio.gather(*(tools.call(call, 0) for call in calls))
    alone = await tools.call(calls[1], 1)
    assert time.monotonic() - began < 500
    assert [round(event.elapsed_ms / 1e6) for event in (*together, alone)] == [7, 3, 3]
    assert tools.slept == 7000 + 3000


def test_recordings_lie_below_the_perturbations(client: Tools) -> None:
    tape = Tape("t")
    assert _call(client, player=Player(tape, Traffic.RECORD)).origin is Origin.LIVE
    gone = absent()
    assert _call(gone, player=Player(tape, Traffic.REPLAY)).origin is Origin.RECORDED
    damaged = _call(gone, "malformed-body", player=Player(tape, Traffic.REPLAY))
    assert (damaged.error, damaged.origin) == ("malformed_body", Origin.RECORDED)
    with pytest.raises(CassetteMissError):
        _call(gone, place="y", player=Player(tape, Traffic.REPLAY))


def test_a_masked_tool_is_out_of_sight_and_out_of_reach(client: Tools) -> None:
    masked = SCENARIO.model_copy(update={"perturbations": ("mask:tool=u",)})
    tools = Environment(client).open(masked)
    assert [tool.name for tool in tools.tools] == ["t"]
    assert [(log.name, log.armed, log.fired) for log in tools.logs()] == [("mask:tool=u", 1, 1)]
    event = _loop.run(tools.call(ToolCall(id="1", name="u", arguments={"place": "x"}), 0))
    assert event.error == "unknown_tool"


def test_counts_carry_a_paused_episode_over(client: Tools) -> None:
    environment = Environment(client, perturb=("http-500:times=1",))
    before = environment.open(SCENARIO)
    assert not _loop.run(before.call(ToolCall(id="1", name="t", arguments={"place": "x"}), 0)).ok
    after = environment.open(SCENARIO, state=json.loads(json.dumps(before.state())))
    assert _loop.run(after.call(ToolCall(id="2", name="t", arguments={"place": "x"}), 1)).ok


def test_unparsable_and_invalid_arguments_never_reach_the_wire() -> None:
    tools = Environment(absent()).open(SCENARIO)
    broken = _loop.run(tools.call(UnparsableCall(id="1", name="t", raw="{", reason="malformed JSON"), 0))
    wrong = _loop.run(tools.call(ToolCall(id="2", name="t", arguments={"place": 3}), 0))
    assert (broken.error, wrong.error) == ("unparsable_arguments", "invalid_arguments")
    assert "place" in wrong.result


@pytest.mark.parametrize(
    ("scenario", "perturb", "message"),
    [
        (SCENARIO.model_copy(update={"tools": ("tt",)}), (), "scenario s: no tool 'tt'."),
        (SCENARIO, ("mask:tool=tool_t",), "--perturb mask:tool=tool_t: no tool 'tool_t'."),
    ],
)
def test_names_that_fit_no_tool_are_one_line(scenario: Scenario, perturb: tuple[str, ...], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message):
        Environment(absent(), perturb=perturb).open(scenario)


def test_requests_have_one_form() -> None:
    request = build_request(ROUTE, {"n": 3, "place": "a b", "deep": True})
    assert request == HttpRequest("GET", "http://tools.invalid/c/a%20b?deep=true&n=3", {}, None)
    posted = build_request(ROUTE.model_copy(update={"method": "POST"}), {"n": 3, "place": "x"})
    assert (posted.url, posted.body) == ("http://tools.invalid/c/x", b'{"n": 3}')


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_query_arguments_of_a_method_with_a_body_stay_out_of_the_body(method: str) -> None:
    route = ROUTE.model_copy(update={"method": method, "query": ("deep", "tags")})
    request = build_request(route, {"n": 3, "place": "x", "tags": ["a", "b c"], "deep": True})
    assert request.url == "http://tools.invalid/c/x?deep=true&tags=a&tags=b+c"
    assert (request.body, request.headers) == (b'{"n": 3}', {"Content-Type": "application/json"})


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_method_without_a_body_has_everything_in_the_query(method: str) -> None:
    request = build_request(ROUTE.model_copy(update={"method": method, "query": ("deep",)}), {"n": 3, "place": "x", "deep": False})
    assert request == HttpRequest(method, "http://tools.invalid/c/x?deep=false&n=3", {}, None)


@given(st.text(min_size=1))
def test_no_argument_leaves_its_path_segment(place: str) -> None:
    url = build_request(ROUTE, {"place": place}).url
    assert url.startswith("http://tools.invalid/c/")
    assert not set("/?#") & set(url.removeprefix("http://tools.invalid/c/"))


def test_a_long_result_is_cut() -> None:
    class Long(HttpSource):
        async def send(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse(200, "OK", (), json.dumps("x" * 10_000).encode())

    event = _call(Tools([Long("", BOTH)]))
    assert len(event.result) < 8_100
    assert event.result.endswith("characters cut]")


def test_validation_accepts_what_fits_and_nothing_else() -> None:
    validate_arguments(SPEC, {"place": "x", "n": 1})
    for wrong in ({"n": 1}, {"place": "x", "n": "1"}, {"place": "x", "other": 1}):
        with pytest.raises(ToolError) as err:
            validate_arguments(SPEC, wrong)
        assert err.value.code == "invalid_arguments"


def test_a_call_says_whether_it_may_have_changed_something(client: Tools, url: str) -> None:
    assert not _call(client).writes and "writes" not in _call(client).model_dump()
    posting = Tools([HttpSource(url, HttpTools({"t": SPEC, "u": OTHER}, {"t": Route(method="POST", path="/c/{place}"), "u": OTHER_ROUTE}))])
    failed = _call(posting)
    assert (failed.ok, failed.writes) == (False, True), "it may have come through before it failed"
    assert not _call(posting, name="none_such").writes
    _loop.run(posting.aclose())


def test_examples_in_schemas_are_hidden_where_they_are_schemas() -> None:
    inner = {"type": "object", "examples": [{"a": 1}], "properties": {"examples": {"type": "string", "example": "x"}}}
    spec = SPEC.model_copy(update={"parameters": {**SPEC.parameters, "properties": {"place": {**PLACE, "examples": ["Hue"]}, "deep": inner}}})
    tools = Environment(Tools(recorded={"t": (spec, ROUTE), "u": (OTHER, OTHER_ROUTE)}), examples=False).open(SCENARIO).tools
    shown = {"type": "object", "properties": {"examples": {"type": "string"}}}
    assert tools[0].parameters["properties"] == {"place": PLACE, "deep": shown}
