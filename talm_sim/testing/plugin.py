"""The pytest plugin: the fixture `talm`, `--talm-record`, and the ini options `talm_cassettes` and `talm_judge_model`.

Pytest imports this in every session of an environment that holds the package, so nothing heavy is imported before a test asks for the fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from talm_sim.testing.lab import Lab

_CASSETTES = "talm_cassettes"
_used: pytest.StashKey[bool] = pytest.StashKey()
_NOTICE = "talm_sim_notice"
"""Key of what the user should know of a test: a property of the test's, as those travel from the workers of pytest-xdist."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture, on the command line and in the ini file."""
    group = parser.getgroup("talm-sim", "tests of agents (fixture talm)")
    group.addoption("--talm-record", action="store_true", help="record the tools and models that agent tests use, unless already recorded")
    parser.addini(_CASSETTES, "directory of the recordings for agent tests [default: talm_cassettes, if it exists]", default="")
    parser.addini(
        "talm_judge_model",
        "model, PROVIDER/NAME, asked live whether an answer reports a failure or an empty result, if the wording does not settle it",
        default="",
    )


@pytest.fixture
def talm(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    """Run scenarios against your agent: `talm.run(agent, scenario=..., perturb=...).asked_before_acting()`."""
    from talm_sim.testing.lab import Lab

    config = request.config
    record = bool(config.getoption("--talm-record"))
    named = str(config.getini(_CASSETTES))
    cassettes = config.rootpath / (named or _CASSETTES)
    request.node.stash[_used] = True
    properties = request.node.user_properties
    return Lab(
        tmp_path / "runs",
        cassettes if named or record or cassettes.is_dir() else None,
        record=record,
        judge_model=str(config.getini("talm_judge_model")),
        on_notice=lambda notice: properties.append((_NOTICE, notice)),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say in one line what the user must fix."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if report.failed and item.stash.get(_used, False) and type(error).__module__ == "talm_sim.errors":
        report.longrepr = f"talm-sim: {error}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End pytest in time even if an agent still blocks a thread."""
    if "talm_sim.common.processes" in sys.modules:
        sys.modules["talm_sim.common.processes"].end_in_time(int(exitstatus), lambda line: print(line, file=sys.stderr))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report what to know about the agents, for example which may not have been offline."""
    reports = (report for listed in terminalreporter.stats.values() for report in listed)
    properties = (one for report in reports for one in getattr(report, "user_properties", ()))
    if notices := dict.fromkeys(text for key, text in properties if key == _NOTICE):
        terminalreporter.section("talm-sim")
        for notice in notices:
            terminalreporter.write_line(notice)
