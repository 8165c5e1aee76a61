"""Write the episodes of runs as JUnit XML, in which CI servers show failures. Every text in it may be a model's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any
from xml.etree import ElementTree as ET

from rich.console import Console

from talm_sim.cli.report.transcript import transcript
from talm_sim.cli.terminal.text import clip, one_line, safe_text
from talm_sim.comparison.bounded_gates import GateResult
from talm_sim.config import Scope
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.tidy_tables import settings_of
from talm_sim.types import Episode, Row, Scenario, Verdict
from talm_sim.version import __version__

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no character for."""
_MOST = 4_000
"""Most characters of a transcript; the run has the whole."""
_LONG = 1_000
"""Most characters of one text in it, so that a page is not laid out only to be cut."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What is needed of a run for each of its episodes."""

    run: StoredRun
    scenarios: Mapping[str, Scenario]
    verdicts: Mapping[str, Sequence[Verdict]]
    agent: str
    acts: Callable[[Scenario | None], bool]
    repeats: bool


def junit_xml(runs: Sequence[StoredRun], gates: Sequence[GateResult] = ()) -> bytes:
    """Return one suite per group of each run, and one with the gates.

    An episode that was scored and did not succeed is a failure, one in which the user's agent raised an error is an error, and one that is not
    scored is skipped.
    """
    root = ET.Element("testsuites", name="talm-sim")
    for run in runs:
        with run.at_once():
            for suite in _suites(run, named=len(runs) > 1):
                root.append(suite)
    if gates:
        root.append(_gates_suite(gates))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suites(run: StoredRun, *, named: bool) -> Iterator[ET.Element]:
    job, rows = run.job, {row.episode: row for row in run.rows()}
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in run.verdicts():
        verdicts.setdefault(verdict.episode_id, []).append(verdict)
    agent = str(job.values(Scope.GENERATION).get("agent") or "")
    scenarios = {one.id: one for one in run.scenarios()}
    read = _Read(run, scenarios, verdicts, agent, job.task.acts, job.config.epochs > 1)
    cases: dict[str, list[ET.Element]] = {row.group: [] for row in rows.values()}
    for episode in run.episodes():
        if (row := rows.get(episode.id)) is not None:
            cases[row.group].append(_case(episode, row, read))
    for group, own in cases.items():
        suite = _suite(f"{job.task.name}/{group}" + (f" [{run.id}]" if named else ""), own)
        suite.set("timestamp", run.manifest.created.removesuffix("Z").partition("+")[0].partition(".")[0])
        suite.set("hostname", "localhost")  # where the episodes were run is nobody's business
        suite.insert(0, _properties(run))
        yield suite


def _suite(name: str, cases: Sequence[ET.Element]) -> ET.Element:
    counts = Counter(child.tag for case in cases for child in case)
    seconds = sum(float(case.get("time", 0)) for case in cases)
    suite = ET.Element("testsuite", name=_clean(name), tests=str(len(cases)))
    for attribute, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
        suite.set(attribute, str(counts[tag]))
    suite.set("time", f"{seconds:.3f}")
    suite.extend(cases)
    return suite


def _properties(run: StoredRun) -> ET.Element:
    found: dict[str, Any] = {"run": run.id, **settings_of(run.job), "version": run.manifest.versions.get("talm-sim", __version__)}
    if run.finished < run.total:
        found["finished"] = f"{run.finished} of {run.total} episodes"
    element = ET.Element("properties")
    for name, value in found.items():
        if value not in (None, ""):
            ET.SubElement(element, "property", name=name, value=_clean(one_line(str(value), 500)))
    return element


def _case(episode: Episode, row: Row, read: _Read) -> ET.Element:
    task = read.run.job.task
    epoch = f"[epoch {episode.epoch}]" if read.repeats else ""
    name = _clean(one_line(episode.scenario_id)) + epoch
    case = ET.Element("testcase", classname=_clean(f"{task.name}.{one_line(row.group)}"), name=name, time=f"{episode.elapsed_s:.3f}")
    succeeded = task.succeeded(row)
    if episode.crashed:
        _add(case, "error", one_line(episode.error, 300) or "the agent raised an error", "agent_error", _page(episode, read))
    elif not row.scored:
        about = f": {one_line(episode.error, 300)}" if episode.error else ""
        ET.SubElement(case, "skipped", message=_clean(f"not scored ({row.not_scored}){about}"))
    elif succeeded is None:
        known = "; ".join(one_line(text, 300) for name, text in row.why.items() if name in task.success)
        why = known or (f"no value of {' or '.join(task.success)}" if task.success else f"task {task.name} does not say which episodes succeed")
        ET.SubElement(case, "skipped", message=_clean(f"not scored ({why})"))
    elif not succeeded:
        judge, why = _reason(row, task.success, read.verdicts.get(episode.id, ()))
        _add(case, "failure", why, judge, _page(episode, read))
    return case


def _reason(row: Row, success: Sequence[str], verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """Return who says that an episode did not succeed, a judge or a measure, and why."""
    measure = next(name for name in success if row.values.get(name) is not None)
    noes = [one for one in verdicts if one.value is False]
    said = next((one for one in noes if one.judge == row.labels.get("pass_judge")), next(iter(noes), None))
    if said is None:
        return measure, f"{measure} is {row.values[measure]}"
    return said.judge, one_line(said.explanation, 300) or f"judge {said.judge} says no"


def _add(case: ET.Element, tag: str, message: str, kind: str, text: str) -> None:
    ET.SubElement(case, tag, message=_clean(one_line(message, 300)), type=_clean(kind)).text = text


def _page(episode: Episode, read: _Read) -> str:
    """Return the transcript as plain text, cut where it is long."""
    scenario = read.scenarios.get(episode.scenario_id)
    shown = Episode.model_validate(_cut(episode.model_dump()))
    sections = list(read.run.job.task.sections(episode, scenario)) if scenario else []
    page = StringIO()
    console = Console(file=page, width=120, no_color=True, markup=False, emoji=False, highlight=False)
    console.print(transcript(shown, scenario, read.verdicts.get(episode.id, ()), sections, agent=read.agent, led=read.acts(scenario)))
    text = _clean("\n".join(line.rstrip() for line in page.getvalue().splitlines()))
    return (
        text
        if shown == episode and len(text) <= _MOST
        else f"{clip(text, _MOST)}\n(cut; the whole: talm-sim show {_clean(read.run.id)}:{_clean(episode.id)})"
    )


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return clip(value, _LONG)
    if isinstance(value, Mapping):
        return {key: _cut(one) for key, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list | tuple) else value


def _gates_suite(gates: Sequence[GateResult]) -> ET.Element:
    cases = []
    for one in gates:
        case = ET.Element("testcase", classname="talm.gates", name=_clean(one.name), time="0.000")
        if not one.passed:
            _add(case, "failure", one.line, "gate", _clean(one.line))
        cases.append(case)
    return _suite("gates", cases)


def _clean(text: str) -> str:
    """Return text without terminal escapes and without what XML 1.0 has no character for."""
    return _NOT_IN_XML.sub("", safe_text(text))
