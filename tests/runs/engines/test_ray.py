"""Sixteen shards on a Ray cluster of four nodes, two of which lose their power: the run is what one process plays.

It needs the extra `ray` (scripts/extras.sh).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import talm_sim
from tests.runs.engines.test_engines import content

HERE = Path(__file__).parent
OPTIONS = ["--split", "underspecified", "--model", "slow/0.02", "--plugin", "slow_words", "--replay", "--epochs", "12"]
TOTAL = 72 * 12

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (scripts/extras.sh)"),
    pytest.mark.timeout(400),
]


@contextmanager
def cluster(nodes: int, place: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Yield a cluster, and the environment of a command that uses it."""
    root = str(Path(talm_sim.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (root, str(HERE), os.environ.get("PYTHONPATH", "")))),
        "RAY_TMPDIR": str(place),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
    }
    words = [sys.executable, str(HERE / "ray_nodes.py"), str(nodes)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        environment["RAY_ADDRESS"] = process.stdout.readline().strip()
        yield process, environment
        process.stdin.close()


def test_two_of_four_nodes_are_killed_and_nothing_is_lost_or_twice(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run_dir = tmp_path / "runs"
    command = [sys.executable, "-m", "talm_sim", "run", *OPTIONS, "--run-dir", str(run_dir)]
    with cluster(4, tmp_path_factory.mktemp("r")) as (nodes, environment):
        assert nodes.stdin is not None and nodes.stdout is not None
        many = [*command, "--run-id", "many", "--on", "ray:16", "--display", "plain"]
        with subprocess.Popen(many, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as process:
            killed = []
            for _ in range(2):
                nodes.stdin.write(f"{run_dir / '.many.shards'}\n")
                nodes.stdin.flush()
                killed.append(nodes.stdout.readline().strip())
            printed = process.communicate()[0]
        assert process.returncode == 0, printed
        one = subprocess.run([*command, "--run-id", "one", "-q"], capture_output=True, text=True, env=environment, check=True)
    assert all(killed), killed  # a shard that goes on at another node may be met again
    assert f"{TOTAL} of {TOTAL} episodes" in printed and "16 shards are played in" in printed
    assert printed.count(" is finished; ") == 16
    merged, alone = talm_sim.load_run("many", run_dir), talm_sim.load_run("one", run_dir)
    ids = [episode.id for episode in merged.episodes()]
    assert len(ids) == len(set(ids)) == TOTAL
    again = [one for one in content(merged) if one["attempt"] > 1]
    assert again  # what was in flight on a killed node; all else of its shard was kept
    assert [{**one, "attempt": 1} for one in content(merged)] == content(alone)
    # Between the run's own name and the next commands, which hold it.
    screen = one.stdout.partition("episodes share")[2].partition("\n\n")[0]
    assert screen.count("\n") > 2 and screen in printed
    assert sum(shard.rows for shard in merged.shards) == TOTAL and len(merged.shards) == 16
    assert [path.name for path in run_dir.iterdir() if path.name.startswith(".")] == []
