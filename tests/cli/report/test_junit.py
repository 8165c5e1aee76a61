"""JUnit XML: what failed, what is an error, what was not scored; well-formed whatever a model wrote."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from talm_sim.cli.report.junit import _clean, junit_xml
from talm_sim.comparison.bounded_gates import GateResult
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import Episode, ModelTurn, Termination, Verdict
from tests.cli.conftest import episode, scenario
from tests.runs.stored import store

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x00\u2028]]> <!DOCTYPE x [<!ENTITY a 'b'>]>&a; \ufffe \u202eend "


@given(st.text(st.characters()) | st.text(st.sampled_from("\x00\x1b[m\ufffe\uffff\ud800\t\n\r<&]>")))
def test_any_text_is_made_one_that_xml_can_hold(text: str) -> None:
    element = ET.Element("a", b=_clean(text))
    element.text = _clean(text)
    read = ET.fromstring(ET.tostring(element, encoding="utf-8"))
    assert (read.text or "").replace("\n", "") == _clean(text).replace("\r", "").replace("\n", "")
    assert read.get("b") == _clean(text)


def made(path: Path, episodes: list[Episode], *, epochs: int = 1, passed: str = "") -> StoredRun:
    """A run of group `perfect` with these episodes, of which one passed."""
    scenarios = [scenario(name, "perfect") for name in dict.fromkeys(one.scenario_id for one in episodes)]
    judged = [one for one in episodes if one.termination is Termination.ANSWERED]
    verdicts = [Verdict(episode_id=one.id, judge="reference", value=one.id == passed, explanation=f"said {HOSTILE}") for one in judged]
    config: dict[str, Any] = {"split": "perfect", "model": "openai/some", "models": "replay", "tools": "replay", "epochs": epochs}
    return store(path, "a-run", scenarios, episodes, verdicts, **config, options={"human": "recorded"})


def played(name: str, **more: Any) -> Episode:
    return episode(scenario(name, "perfect"), elapsed_s=1.25, **more)


@pytest.fixture
def root(tmp_path: Path) -> ET.Element:
    gates = [GateResult("perfect.pass_rate>=0.6", True, ".70"), GateResult("perfect.skip<=0.1", False, "no value, n 4")]
    run = made(
        tmp_path,
        [
            played("good"),
            played("bad", answer=HOSTILE, model_turns=(ModelTurn(text=HOSTILE),)),
            played("crashed", termination=Termination.AGENT_ERROR, error="KeyError: 'x'", traceback="in act"),
            played("lost", termination=Termination.REPLAY_MISS, error="not recorded"),
            played("down", termination=Termination.INFRASTRUCTURE_ERROR, error=f"no route {HOSTILE}"),
        ],
        passed="good",
    )
    return ET.fromstring(junit_xml([run], gates))


def test_each_episode_is_a_case_and_says_what_happened(root: ET.Element) -> None:
    suite, gates = root
    cases = {str(case.get("name")): [child.tag for child in case] for case in suite.findall("testcase")}
    assert cases == {"good": [], "bad": ["failure"], "crashed": ["error"], "lost": ["skipped"], "down": ["skipped"]}
    assert {str(case.get("name")): [child.tag for child in case] for case in gates} == {
        "perfect.pass_rate>=0.6": [],
        "perfect.skip<=0.1": ["failure"],
    }
    assert [suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped", "time")] == [
        "talm/perfect",
        "5",
        "1",
        "1",
        "2",
        "6.250",
    ]
    assert [root.get(name) for name in ("tests", "failures", "errors", "time")] == ["7", "2", "1", "6.250"]
    assert {case.get("classname") for case in suite.findall("testcase")} == {"talm.perfect"}
    properties = {one.get("name"): one.get("value") for one in suite.findall("properties/property")}
    assert properties["model"] == "openai/some" and properties["run"] == "a-run"
    assert "finished" not in properties
    of = {str(case.get("name")): case for case in root.iter("testcase")}
    failure, error = of["bad"][0], of["crashed"][0]
    assert failure.get("type") == "reference"
    assert str(failure.get("message")).startswith("said red")
    assert "Query\n  What is the capital? (bad)" in (failure.text or "")
    assert (error.get("message"), error.get("type")) == ("KeyError: 'x'", "agent_error")
    assert "Traceback\n  in act" in (error.text or "")
    assert of["lost"][0].get("message") == "not scored (replay_miss): not recorded"
    assert of["perfect.skip<=0.1"][0].get("message") == "gate missed: perfect.skip<=0.1: no value, n 4"


def test_epochs_are_part_of_names_and_unfinished_episodes_are_counted(tmp_path: Path) -> None:
    run = made(tmp_path, [played("x"), played("x").model_copy(update={"id": "x@2", "epoch": 2}), played("y")], epochs=2)
    suite = ET.fromstring(junit_xml([run]))[0]
    assert [case.get("name") for case in suite.findall("testcase")] == ["x[epoch 1]", "y[epoch 1]", "x[epoch 2]"]
    assert suite.find("properties/property[@name='finished']") is not None
    assert [child.get("name") for child in ET.fromstring(junit_xml([run, run]))] == ["talm/perfect [a-run]"] * 2


def test_a_hostile_transcript_of_two_megabytes_is_cut_and_read_back(tmp_path: Path) -> None:
    long = HOSTILE * (2_000_000 // len(HOSTILE))
    run = made(tmp_path, [played("bad", answer=long, model_turns=(ModelTurn(text=long, raw_text=long),) * 3)])
    started = time.process_time()
    written = junit_xml([run])
    assert time.process_time() - started < 10
    assert len(written) < 20_000
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", written) and b"<!DOCTYPE" not in written and b"\x1b" not in written
    assert written.isascii() or "\u2028" not in written.decode()
    failure = next(ET.fromstring(written).iter("failure"))
    assert (failure.text or "").endswith("(cut; the whole: talm-sim show a-run:bad)")


def test_junitparser_reads_the_same_counts(tmp_path: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    file = tmp_path / "run.junit.xml"
    run = made(tmp_path, [played("good"), played("bad", answer=HOSTILE), played("lost", termination=Termination.REPLAY_MISS)], passed="good")
    file.write_bytes(junit_xml([run], [GateResult("g", False, "no value")]))
    read = junitparser.JUnitXml.fromfile(str(file))
    counted = (read.tests, read.failures, read.errors, read.skipped)
    read.update_statistics()
    assert counted[:3] == (read.tests, read.failures, read.errors) == (4, 2, 0)
    assert [(suite.name, suite.skipped) for suite in read] == [("talm/perfect", 1), ("gates", 0)]
