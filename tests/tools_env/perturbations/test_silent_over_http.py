"""The silent faults and those of the list of tools, over the HTTP of the built-in tools: each fires, or does not, and the log says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment, EpisodeTools
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Origin, Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.perturbations.expected_silent import OTHERS, SILENT, TOOL_LISTS, ListCase, SilentCase

ASKED = (Turn(messages=({"role": "user", "content": "q"},)),)
_loop = asyncio.Runner()
"""Connections are kept open on one loop, as in a run."""


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    opened = _loop.run(open_tools())
    yield opened
    _loop.run(opened.aclose())
    _loop.close()


def open_episode(tools: Tools, *perturb: str, offered: tuple[str, ...] = (), seed: int = 0) -> EpisodeTools:
    scenario = Scenario(id="s", group="perfect", turns=ASKED, tools=offered or tuple(tools.specs))
    return Environment(tools, perturb=perturb, others=OTHERS, clock=VirtualClock, seed=seed).open(scenario)


def call(episode: EpisodeTools, tool: str, arguments: Mapping[str, Any], turn: int = 0) -> ToolEvent:
    return _loop.run(episode.call(ToolCall(id="1", name=tool, arguments=dict(arguments)), turn))


def test_every_silent_fault_and_every_one_of_the_list_has_a_case() -> None:
    kinds = {name: PERTURBATIONS.get(name) for name in PERTURBATIONS.names()}
    assert set(SILENT) == {name for name, kind in kinds.items() if kind.family == "silent"}
    assert set(TOOL_LISTS) | {"mask"} == {name for name, kind in kinds.items() if kind.family == "tools"}
    assert all(kinds[name].silent and kinds[name].permanent and kinds[name].origin for name in SILENT)


@pytest.mark.parametrize("kind", SILENT)
def test_a_silent_fault_answers_with_another_value_and_nothing_says_so(kind: str, tools: Tools) -> None:
    case = SILENT[kind]
    clean, struck = (play(open_episode(tools, *perturb), case) for perturb in ((), (kind,)))
    assert case.unseen in clean.result or case.first, clean.result
    assert case.seen in struck.result and case.unseen not in struck.result, struck.result
    assert (struck.ok, struck.status, struck.error, struck.origin) == (True, 200, "", Origin.LIVE)
    (log,) = struck.perturbations
    assert (log.armed, log.fired, log.seen, log.not_applicable) == (1, 1, 1, 0)
    assert (log.injected, log.replaced) == (struck.result, clean.result)
    assert struck.arguments == clean.arguments == case.arguments
    for name, value in json.loads(clean.result).items():
        if name in case.arguments:
            assert json.loads(struck.result)[name] == value, "an argument that the answer repeats is the one that was given"


def play(episode: EpisodeTools, case: SilentCase) -> ToolEvent:
    if case.first:
        assert call(episode, *case.first).ok
    return call(episode, case.tool, case.arguments, 1)


NOT_THERE = {
    "coerced-argument": ("get_plural", {"noun": "ox"}),  # one word in lower case
    "contradiction": ("get_plural", {"noun": "ox"}),  # no other tool was read
    "ignored-argument": ("get_plural", {"noun": "ox"}),  # nothing would be left of the question
    "implicit-default": ("get_plural", {"noun": "ox"}),
    "off-by-one": ("get_plural", {"noun": "ox"}),
    "stale": ("get_plural", {"noun": "ox"}),
    "wrong-record": ("get_plural", {"noun": "ox"}),  # no other gold call
    "wrong-unit": ("get_plural", {"noun": "ox"}),
}


@pytest.mark.parametrize("kind", NOT_THERE)
def test_what_a_tool_does_not_offer_is_not_applicable(kind: str, tools: Tools) -> None:
    tool, arguments = NOT_THERE[kind]
    clean, spared = (call(open_episode(tools, *perturb), tool, arguments) for perturb in ((), (kind,)))
    assert spared.result == clean.result
    (log,) = spared.perturbations
    assert (log.armed, log.fired, log.seen, log.not_applicable) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("perturb", "why"),
    [
        ("stale:tool=get_plural", "get_plural has no day or year among its arguments"),
        ("wrong-record:tool=get_plural", "get_plural has no gold call in another scenario"),
        ("wrong-unit:tool=find_holiday", "find_holiday has no field with a unit in its answer"),
        ("ignored-argument:tool=get_plural", "get_plural has no argument that is optional, nor a second one with an example"),
        ("ignored-argument:tool=get_plural,argument=verb", "get_plural has no argument 'verb'"),
        ("coerced-argument:tool=get_plural,argument=verb", "get_plural has no argument 'verb'"),
        ("implicit-default:tool=get_plural", "get_plural has no argument with a default, choices or a least value"),
        ("implicit-default:tool=convert_color,argument=color", "convert_color has no default, choices or least value for an argument 'color'"),
        ("description:tool=get_plural,mode=terse", ""),
    ],
)
def test_a_fault_of_one_tool_that_cannot_have_it_is_refused(perturb: str, why: str, tools: Tools) -> None:
    if not why:
        assert Environment(tools, perturb=(perturb,))
        return
    with pytest.raises(PrerequisiteError) as err:
        Environment(tools, perturb=(perturb,))
    assert str(err.value) == f"--perturb {perturb}: not applicable, as {why}; choose another tool or fault."


def test_options_choose_what_is_wrong(tools: Tools) -> None:
    def read(perturb: str, tool: str, arguments: dict[str, Any]) -> Any:
        return json.loads(call(open_episode(tools, perturb), tool, arguments).result)

    assert read("off-by-one:by=-3", "get_scale_notes", {"tonic": "C", "scale": "major"})["note_count"] == 4
    # The first choice of the schema is the major scale.
    scale = {"tonic": "D", "scale": "blues"}
    assert read("implicit-default:argument=scale", "get_scale_notes", scale)["notes"] == "D E F# G A B C#"
    assert read("ignored-argument:argument=tonic", "get_scale_notes", scale)["tonic"] == "D"
    # Easter Monday of Greece was the 21st of April in 2025; it is the 3rd of May in 2027.
    easter = {"country_code": "GR", "year": 2027, "name": "Easter Monday"}
    assert read("stale:days=730", "find_holiday", easter)["matches"] == [
        {"date": "2027-04-21", "name": "Easter Monday", "weekday": "Wednesday"}
    ]


@pytest.mark.parametrize("kind", TOOL_LISTS)
def test_a_fault_of_the_list_shows_in_what_the_model_sees(kind: str, tools: Tools) -> None:
    case = TOOL_LISTS[kind]
    episode = open_episode(tools, case.perturb, offered=case.tools)
    assert tuple(tool.name for tool in episode.tools) == case.names
    assert episode.tools[0].description.startswith(case.description)
    (log,) = episode.logs()
    assert (log.fired, log.seen) == (log.armed, log.armed) and log.armed > 0


def test_a_renamed_tool_answers_under_its_new_name_alone(tools: Tools) -> None:
    episode = open_episode(tools, "rename:tool=get_plural,to=pluralise", offered=("get_plural", "romanize_text"))
    assert [tool.name for tool in episode.tools] == ["pluralise", "romanize_text"]
    event = call(episode, "pluralise", {"noun": "ox"})
    assert (event.ok, event.name, event.called_as) == (True, "get_plural", "pluralise")
    assert json.loads(event.result)["plural"] == "oxen"
    gone = call(episode, "get_plural", {"noun": "ox"})
    assert (gone.ok, gone.error) == (False, "unknown_tool")
    assert "There is no tool 'get_plural'" in gone.result


def test_a_distractor_and_a_replacement_answer_truly(tools: Tools) -> None:
    for kind in ("distractors", "replacement"):
        case: ListCase = TOOL_LISTS[kind]
        episode = open_episode(tools, case.perturb, offered=case.tools)
        added = next(name for name in case.names if name not in case.tools)
        arguments = {"get_ionic_radius": {"element": "Na"}, "get_scale_notes": {"tonic": "C", "scale": "major"}}[added]
        assert call(episode, added, arguments).ok
        gone = [name for name in case.tools if name not in case.names]
        assert [call(episode, name, {}).error for name in gone] == ["unknown_tool"] * len(gone)


def test_a_hidden_tool_does_not_come_back_as_a_distractor(tools: Tools) -> None:
    offered = ("get_element", "get_isotope")
    for perturb in (("mask:tool=get_element", "distractors:n=9"), ("distractors:n=9", "mask:tool=get_element")):
        names = [tool.name for tool in open_episode(tools, *perturb, offered=offered).tools]
        assert "get_element" not in names and len(names) == 10
