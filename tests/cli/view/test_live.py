"""The page follows a run that goes on, is killed and is resumed, and never takes its lease."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from talm_sim.store.stored_run import load_run
from tests.cli.view.live_run import playing
from tests.cli.view.served import PATIENCE_S, Viewer, viewing
from tests.runs.killed import until
from tests.runs.scripted import new_run


def episodes(viewer: Viewer) -> list[str]:
    (run,) = viewer.state()["index"]["runs"]
    return [one["id"] for one in run["episodes"]]


def running(viewer: Viewer) -> bool:
    (run,) = viewer.state()["runs"]
    return bool(run["running"])


def test_a_live_run_is_followed_killed_resumed_and_commented_on(tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 60, name="live")
    with viewing("live", cwd=tmp_path) as viewer:
        viewer.visit()
        assert episodes(viewer) == []
        with playing(run) as child:
            until(lambda: len(episodes(viewer)) >= 3)
            seen = episodes(viewer)
            assert seen == [f"plain-{number:03}" for number in range(len(seen))] and len(seen) < 60
            assert viewer.transcript(seen[0]).json["answer"] == "done"
            assert viewer.write(seen[0], "While it runs.", "Ada").status == 201
            assert running(viewer) and load_run(run).owner is not None, "the page took the lease"
            before = viewer.state()["version"]
            child.send_signal(signal.SIGKILL)
            child.wait(PATIENCE_S)
        until(lambda: not running(viewer))
        assert viewer.state()["version"] != before
        stopped = episodes(viewer)
        assert viewer.state()["runs"][0]["again"] == "talm-sim resume live"
        time.sleep(0.2)
        assert episodes(viewer) == stopped
        assert viewer.write(stopped[-1], "It was killed here.").status == 201
        with playing(run, delay=0) as child:
            until(lambda: len(episodes(viewer)) == 60)
            assert child.wait(PATIENCE_S) == 0
        until(lambda: not running(viewer))
        assert viewer.state()["runs"] == [{"id": "live", "finished": 60, "total": 60, "waiting": 0, "running": False, "again": ""}]
        (comments,) = viewer.state()["comments"]
        assert [(one["episode"], one["text"], one["who"].partition(",")[0]) for one in comments] == [
            (seen[0], "While it runs.", "Ada"),
            (stopped[-1], "It was killed here.", "anonymous"),
        ]
    assert load_run(run).closed and load_run(run).finished == 60
    assert sorted(path.name for path in run.iterdir()) == ["comments.jsonl", "run.db", "run.json"], "the run is whole in its files"


def test_nothing_is_sent_while_nothing_changes(tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 2, name="still")
    with viewing("still", cwd=tmp_path) as viewer:
        viewer.visit()
        version = viewer.state()["version"]
        assert viewer.ask(f"/state.json?have={version}").status == 204
        assert viewer.ask("/state.json?have=older").status == 200
        with playing(run, delay=0):
            until(lambda: viewer.ask(f"/state.json?have={version}").status == 200)


def test_without_a_run_the_newest_is_shown_and_several_are_together(tmp_path: Path) -> None:
    for name in ("first", "second"):
        new_run(tmp_path / "runs", 1, name=name)
    with viewing(cwd=tmp_path) as viewer:
        viewer.visit()
        assert [run["id"] for run in viewer.state()["index"]["runs"]] == ["second"]
    assert "Showing second. The link works once. Ctrl-C stops." in viewer.said
    with viewing("first", "second", cwd=tmp_path) as viewer:
        viewer.visit()
        assert [run["id"] for run in viewer.state()["index"]["runs"]] == ["first", "second"]
