"""A run that is exported as spans and imported again is the same run."""

from __future__ import annotations

from pathlib import Path

from talm_sim import judge, run
from talm_sim.exchange.exports.episode_spans import traces
from talm_sim.exchange.traces.import_traces import import_traces


def test_spans_of_a_run_are_its_episodes_and_give_its_verdicts(tmp_path: Path) -> None:
    stored = run(
        split="perfect,underspecified",
        limit="4",
        model="sim/oracle",
        tools="replay",
        perturb=["http-500:p=0.4"],
        run_dir=tmp_path,
        run_id="here",
        display="none",
    )
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(trace.text.rstrip("\n") + "\n" for trace in traces(stored, content=True)), encoding="utf-8")
    there = import_traces(file, run_dir=tmp_path).run
    judge(there.path)
    assert [one.id for one in there.episodes()] == [one.id for one in stored.episodes()]
    for before, after in zip(stored.episodes(), there.episodes(), strict=True):
        assert (after.answer, after.termination) == (before.answer, before.termination)
        assert [(one.name, one.arguments, one.ok) for one in after.tool_events] == [
            (one.name, one.arguments, one.ok) for one in before.tool_events
        ]
    said = [{one.episode_id: one.value for one in each.verdicts() if one.judge == "reference"} for each in (stored, there)]
    assert said[0] == said[1]
    assert set(said[0].values()) == {True, False}
