"""The examples for clusters run as far as one machine can: scripts with stand-ins for their schedulers, the manifest by its own commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import talm_sim
from tests.warm import warm_python

yaml: Any = pytest.importorskip("yaml")

EXAMPLES = Path(__file__).parent.parent / "examples" / "cluster"
OPTIONS = ["--split", "underspecified", "--limit", "5", "--model", "sim/oracle", "--replay"]
SBATCH = """#!/bin/sh
# Runs at once what Slurm would queue: an array's tasks one after the other, or a job that depends on one.
echo "$@" >> "$CALLS"
array=
while :; do
    case $1 in
        --parsable) shift ;;
        --array=*) array=${1#--array=1-}; shift ;;
        --dependency=*) shift ;;
        *) break ;;
    esac
done
[ -n "$array" ] || exec sh "$@"
for task in $(seq "$array"); do SLURM_ARRAY_TASK_ID=$task sh "$@" >&2 || exit; done
echo 4711
"""
PARALLEL = """#!/bin/sh
# Runs a command per line, as GNU parallel does with --quote: {} is the line.
[ "$1" = --quote ] && shift
while read -r line; do
    (set --  "$@"; for word; do shift; [ "$word" = {} ] && word=$line; set -- "$@" "$word"; done; exec "$@") || exit
done
"""


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment whose `talm-sim`, `sbatch` and `parallel` are ours."""
    programs = tmp_path / "bin"
    programs.mkdir()
    own = {"talm-sim": f'#!/bin/sh\nexec "{warm_python()}" -m talm_sim "$@"\n', "sbatch": SBATCH}
    if shutil.which("parallel") is None:
        own["parallel"] = PARALLEL
    for name, text in own.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    root = str(Path(talm_sim.__file__).parent.parent)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": root, "CALLS": str(tmp_path / "calls"), "PYTHONDONTWRITEBYTECODE": "1"}


def check(run_dir: Path, name: str) -> None:
    run = talm_sim.load_run(name, run_dir)
    ids = [episode.id for episode in run.episodes()]
    assert len(ids) == len(set(ids)) == 5 and run.judged and len(run.shards) > 1


def begin(number: int, shards: int, name: str, folder: Path, **options: Any) -> None:
    """Begin a shard that is not finished, as one whose machine failed."""
    with pytest.raises(KeyboardInterrupt):

        def stop(event: object) -> None:
            raise KeyboardInterrupt

        talm_sim.run(
            split="underspecified", limit="5", model="sim/oracle", tools="replay", shard=f"{number}/{shards}", run_id=f"{name}.shard-{number}",
            run_dir=folder / "runs", on_event=stop,
        )  # fmt: skip


@pytest.mark.parametrize("script", ["slurm.sh", "parallel.sh"])
def test_a_script_plays_all_shards_and_merges_them(tmp_path: Path, shell: dict[str, str], script: str) -> None:
    begin(1, 2, "first", tmp_path)
    words = ["sh", str(EXAMPLES / script), "first", "2", *OPTIONS]
    done = subprocess.run(words, cwd=tmp_path, env=shell, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "runs", "first")
    if script == "slurm.sh":
        array, merge = (tmp_path / "calls").read_text().splitlines()
        assert array.startswith("--parsable --array=1-2 ") and merge.startswith("--dependency=afterok:4711 ")


def test_the_manifest_is_an_indexed_job_and_its_commands_work(tmp_path: Path, shell: dict[str, str]) -> None:
    """What is checked by hand is what Kubernetes' API demands of a Job of `batch/v1`."""
    shards, merge = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text(encoding="utf-8"))
    for job in (shards, merge):
        assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job") and set(job) == {"apiVersion", "kind", "metadata", "spec"}
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", job["metadata"]["name"])
        pod = job["spec"]["template"]["spec"]
        assert pod["restartPolicy"] in ("Never", "OnFailure")
        (container,) = pod["containers"]
        assert {"name", "image", "command", "args"} <= set(container) and container["command"] == ["/bin/sh", "-euc"]
        assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
        assert all(isinstance(one["value"], str) for one in container.get("env", ()))  # a number is refused
    spec = shards["spec"]
    assert spec["completionMode"] == "Indexed" and spec["template"]["spec"]["restartPolicy"] == "Never"  # as backoffLimitPerIndex demands
    (container,) = spec["template"]["spec"]["containers"]
    assert {one["name"]: one["value"] for one in container["env"]} == {"SHARDS": str(spec["completions"])}
    play = container["args"][0].replace("--split all", " ".join(OPTIONS))
    begin(2, 2, "first", tmp_path)
    for index in range(2):
        words = [*container["command"], play]
        environment = {**shell, "SHARDS": "2", "JOB_COMPLETION_INDEX": str(index)}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    (container,) = merge["spec"]["template"]["spec"]["containers"]
    subprocess.run([*container["command"], *container["args"]], cwd=tmp_path, env=shell, capture_output=True, check=True)
    check(tmp_path / "runs", "first")
