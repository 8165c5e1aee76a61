"""Every fault over HTTP: one call in which it fires and one in which it does not, with what the agent reads; and any of them together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Origin, Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.perturbations.alps import MONT_BLANC, Alps, alps
from tests.tools_env.perturbations.expected import ASKED, EXPECTED, Expected

ROOT = Path(__file__).parents[3]
ALL = ("get_mountain", "list_mountains", "take_note")
SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=ALL)
OVER_TOOLS = [name for name, one in EXPECTED.items() if not one.elsewhere]

_loop = asyncio.Runner()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alps]:
    with alps(tmp_path_factory.mktemp("alps")) as running:
        yield running
    _loop.close()


@pytest.fixture(scope="module")
def tools(server: Alps) -> Iterator[Tools]:
    opened = _loop.run(open_tools([server.source]))
    yield opened
    _loop.run(opened.aclose())


async def _play(opened: EpisodeTools, calls: Sequence[tuple[str, object]]) -> list[ToolEvent]:
    return [await opened.call(ToolCall(id=str(turn), name=name, arguments=asked), turn) for turn, (name, asked) in enumerate(calls)]


def _episode(tools: Tools, expected: Expected, perturb: str) -> tuple[EpisodeTools, ToolEvent]:
    environment = Environment(tools, perturb=(perturb,) if perturb else (), clock=VirtualClock, others=expected.others)
    opened = environment.open(SCENARIO)
    return opened, _loop.run(_play(opened, expected.calls))[-1]


def test_every_kind_has_an_entry_and_they_are_sorted_by_family() -> None:
    assert set(EXPECTED) == set(PERTURBATIONS.names())
    families = ["endpoint", "silent", "drift", "tools", "model"]
    order = [(families.index(PERTURBATIONS.get(name).family), name) for name in EXPECTED]
    assert order == sorted(order)
    assert all((ROOT / one.elsewhere).is_file() for one in EXPECTED.values() if one.elsewhere)


@pytest.mark.parametrize("name", OVER_TOOLS)
def test_it_fires(name: str, tools: Tools, server: Alps) -> None:
    expected = EXPECTED[name]
    clean = _episode(tools, expected, "")[1]
    server.seen.clear()
    opened, event = _episode(tools, expected, f"{name}:{expected.options}".rstrip(":"))
    assert (event.result, event.error, event.ok) == (expected.reads, expected.error, not expected.error)
    assert event.elapsed_ms // 1e3 == expected.seconds
    if expected.tools is not None:
        (log,) = opened.logs()
        assert tuple(tool.name for tool in opened.tools) == expected.tools
        assert (log.armed > 0, log.fired > 0) == (True, True)
        return
    (log,) = event.perturbations
    assert (log.name, log.armed, log.fired) == (f"{name}:{expected.options}".rstrip(":"), 1, 1)
    assert len(server.seen) == len(expected.calls) - (not expected.reached)
    assert event.origin is (Origin.LIVE if expected.reached else Origin.PERTURBED)
    if event.result == clean.result:
        assert (log.seen, log.injected, log.replaced) == (0, None, None), "a fault that no text shows is not seen"
    else:
        assert (log.seen, log.injected, log.replaced) == (1, event.result, clean.result if expected.reached else None)
        assert PERTURBATIONS.get(name).silent is not bool(event.error)


@pytest.mark.parametrize("name", OVER_TOOLS)
def test_it_does_not_fire(name: str, tools: Tools, server: Alps) -> None:
    expected = EXPECTED[name]
    clean = _episode(tools, expected, "")
    server.seen.clear()
    opened, event = _episode(tools, expected, ",".join(filter(None, [f"{name}:p=0", expected.options])))
    assert (event.result, event.error, event.elapsed_ms < 1e3) == (clean[1].result, clean[1].error, True)
    assert [tool.name for tool in opened.tools] == list(ALL)
    assert len(server.seen) == len(expected.calls)
    logs = [log for log in (*opened.logs(), *event.perturbations) if log.armed]
    assert [(log.fired, log.seen, log.injected, log.replaced) for log in logs] == [(0, 0, None, None)]


def test_fields_of_every_item_of_a_list_change_or_one_that_a_pointer_names(tools: Tools) -> None:
    listed = Expected(calls=(("list_mountains", {"limit": 2}),))
    assert _episode(tools, listed, "null-field:field=elevation")[1].result.count("null") == 2
    one = json.loads(_episode(tools, listed, "null-field:field=/mountains/1/elevation")[1].result)
    assert [mountain["elevation"] for mountain in one["mountains"]] == [5642, None]
    wrapped = json.loads(_episode(tools, listed, "field-to-list:field=/mountains/0")[1].result)
    assert wrapped == json.loads(_episode(tools, listed, "")[1].result), "an item of a list is not a field"


def test_a_tool_without_the_field_is_not_applicable_and_not_armed(tools: Tools) -> None:
    event = _episode(tools, Expected(calls=(("list_mountains", {}),)), "null-field:field=surveyed")[1]
    (log,) = event.perturbations
    assert (log.armed, log.fired, log.not_applicable) == (0, 0, 1), "only the answer shows that no item has it"
    event = _episode(tools, Expected(calls=(("get_mountain", {"name": "Olympus"}),)), "null-field")[1]
    assert (event.error, event.perturbations[0].not_applicable) == ("http_404", 1)


@pytest.mark.parametrize(
    ("perturb", "message"),
    [
        (
            "null-field:tool=get_mountain,field=height",
            "not applicable, as get_mountain has no field 'height' in its answers; choose another tool or fault.",
        ),
        (
            "renamed-argument:tool=get_mountain,field=height",
            "not applicable, as get_mountain has no argument 'height'; choose another tool or fault.",
        ),
        (
            "empty-result:tool=take_note",
            "take_note may change data, and this fault lets its calls through; add --writing, or declare it read-only.",
        ),
    ],
)
def test_what_cannot_apply_is_refused_with_a_tool(perturb: str, message: str, tools: Tools) -> None:
    with pytest.raises(PrerequisiteError) as err:
        Environment(tools, perturb=(perturb,))
    assert str(err.value) == f"--perturb {perturb}: {message}"


def test_an_argument_works_under_its_new_name_alone(tools: Tools, server: Alps) -> None:
    server.seen.clear()
    environment = Environment(tools, perturb=("renamed-argument:tool=get_mountain",), clock=VirtualClock)
    opened = environment.open(SCENARIO)
    old, new, both = _loop.run(
        _play(opened, [ASKED, ("get_mountain", {"nam": "Mont Blanc", "unit": "m"}), ("get_mountain", {"name": "Elbrus", "nam": "Kazbek"})])
    )
    assert [tool.parameters["required"] for tool in opened.tools if tool.name == "get_mountain"] == [["name"]], "its description is the old one"
    assert old.status == 422
    assert (new.result, new.arguments, new.ok) == (MONT_BLANC, {"name": "Mont Blanc", "unit": "m"}, True)
    assert (new.perturbations[0].armed, new.perturbations[0].fired) == (1, 0)
    assert both.error in {"http_422", "invalid_arguments"}
    assert server.seen == ["/mountains/Mont%20Blanc?unit=m"]


def test_faults_answer_in_the_place_of_a_tool_that_writes_and_let_no_call_of_it_through(tools: Tools, server: Alps) -> None:
    server.seen.clear()
    note = Expected(calls=(("take_note", {"text": "x"}),))
    assert _episode(tools, note, "http-500")[1].error == "http_500"
    assert server.seen == []
    (log,) = _episode(tools, note, "empty-result")[1].perturbations
    assert (log.armed, log.not_applicable, server.seen) == (0, 1, ["/notes"])
    allowed = Environment(tools, perturb=("empty-result",), clock=VirtualClock, writing=True).open(SCENARIO)
    assert _loop.run(_play(allowed, note.calls))[0].result == "{}"


"""What finds no field after another fault: none is left, or each single value is in a list or null."""
