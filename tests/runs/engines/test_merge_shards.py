"""Shards merge into the run that one process would have made, or are refused in one line."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from talm_sim.errors import EmptyShardError, PrerequisiteError
from talm_sim.models import registry
from talm_sim.models.base import GenerationSettings, Model
from talm_sim.models.request import ModelRequest
from talm_sim.runs.api import judge, resume, run
from talm_sim.runs.engines import merge_shards as merging
from talm_sim.runs.engines.merge_shards import merge_runs, merge_shards
from talm_sim.store.desk import answer
from talm_sim.store.files import manifest
from talm_sim.store.files.store import RunStore
from talm_sim.store.stored_run import StoredRun
from talm_sim.types import ModelTurn, ToolCall, ToolSpec
from tests.runs import merging_work
from tests.runs.crafting import changed, unsealed
from tests.runs.killed import until, working
from tests.runs.recorded_world import make_world

TIMES = {"elapsed_s", "elapsed_ms", "started_at", "asked_at", "answered_at", "given_at"}
SPLIT = "perfect,underspecified"


def shards(world: dict[str, Any], number: int, **options: Any) -> list[Path]:
    """Run all shards; those without scenarios are left out."""
    found = []
    for part in range(number, 0, -1):
        try:
            found.append(run(**{**world, **options}, shard=f"{part}/{number}", run_id=f"part-{part}").path)
        except EmptyShardError as err:
            assert "nothing was run" in str(err)
    return found


def timeless(value: Any) -> Any:
    """A document without the times in it."""
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list | tuple) else value


def content(stored: StoredRun) -> dict[str, Any]:
    """All that is known of a run but its name and times."""
    first = stored.first_measure
    assert first is not None
    return {
        "scenarios": list(stored.scenarios()),
        "episodes": [timeless(one.model_dump(mode="json")) for one in stored.episodes()],
        "verdicts": sorted(one.model_dump_json() for one in stored.verdicts()),
        "rows": stored.rows(),
        "summary": stored.summary(),
        "records": timeless([{**one, "run": ""} for one in stored.to_records()]),
        "tools": stored.tools(),
        "first": (first.name, first.head, first.note, first.value, first.k, first.n),
        "judged": (stored.judged, stored.unjudged, stored.total, stored.measures()),
        "config": stored.config.model_dump(exclude={"run_id", "shard"}),
        "dataset": (stored.manifest.dataset_digest, stored.manifest.wording, stored.manifest.brought, stored.manifest.notes),
    }


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    return make_world(tmp_path) | {"split": SPLIT}


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 2},
        {"human": "simulated", "model": "sim/asker", "limit": "3"},
        {"perturb": ("wrong-record", "http-500:p=0.5"), "model": "sim/eager", "human": "simulated"},
    ],
)
def test_merged_shards_are_what_one_process_makes(world: dict[str, Any], options: dict[str, Any]) -> None:
    """A fault that takes another record takes it from all scenarios, and its judge must know them, too."""
    whole = run(**{**world, **options}, run_id="whole")
    parts = shards(world, 3, **options)
    assert len(parts) > 1
    merged = merge_runs("merged", parts, run_dir=world["run_dir"])
    ours, theirs = content(merged), content(whole)
    for what in theirs:
        assert ours[what] == theirs[what], what
    assert {one.part for one in merged.shards} == {StoredRun(path).config.shard for path in parts}
    assert sum(one.rows for one in merged.shards) == whole.finished
    assert merged.closed
    assert resume(merged).finished == whole.finished


# --- what is refused ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    world = make_world(tmp_path_factory.mktemp("shards")) | {"split": SPLIT}
    shards(world, 2)
    return world


@pytest.fixture
def runs(made: dict[str, Any], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made["run_dir"], tmp_path / "runs"))


def refusal(runs: Path, *names: str, **options: Any) -> str:
    with pytest.raises(PrerequisiteError) as caught:
        merge_runs("out", names or ("part-1", "part-2"), run_dir=runs, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert sorted(path.name for path in runs.iterdir() if not path.name.startswith("part-") and path.name != "other") == []
    return text.replace(f"{runs}/", "")


def other(made: dict[str, Any], runs: Path, **options: Any) -> str:
    run(**{**made, "run_dir": runs, "shard": "2/2", "run_id": "other", **options})
    return refusal(runs, "part-1", "other")


def test_comments_on_the_shards_are_in_the_merged_run(runs: Path) -> None:
    first, second = StoredRun(runs / "part-1"), StoredRun(runs / "part-2")
    written = [one.comment(next(one.episodes()).id, f"on {one.id}", "Ada") for one in (second, first)]
    assert merge_runs("merged", ["part-1", "part-2"], run_dir=runs).comments() == written


def test_a_missing_shard_is_named(runs: Path) -> None:
    assert re.fullmatch(r"\d of 8 scenarios are missing: give shard 2/2 as well\.", refusal(runs, "part-1"))


def test_a_shard_is_given_once(runs: Path) -> None:
    assert refusal(runs, "part-2", "part-1", "part-2") == "shard 2/2 is given twice: part-2 and part-2; leave one out."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": 7}, "other: seed is '7', and in part-1 '0'; only shards of one run can be merged."),
        ({"limit": "3"}, "other: limit is '3', and in part-1 none; only shards of one run can be merged."),
        ({"shard": "3/3"}, "other: is shard 3/3, and part-1 is 1/2; only shards of one run can be merged."),
        ({"shard": None}, 'other: is not a shard; shards are run with shard="I/N".'),
        ({"judge": ("fault",)}, "other: judge is 'fault', and in part-1 none; judge both alike: talm-sim judge other --judge ..."),
    ],
)
def test_a_shard_of_another_run_is_refused(made: dict[str, Any], runs: Path, options: dict[str, Any], said: str) -> None:
    assert other(made, runs, **options) == said


def test_a_shard_of_another_version_is_refused(made: dict[str, Any], runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = manifest._versions()
    monkeypatch.setattr(manifest, "_versions", lambda: {**known, "talm-sim": "0.0.1"})
    assert other(made, runs).startswith(f"other: was made with talm-sim 0.0.1, and part-1 with {known['talm-sim']}; ")


def test_a_shard_of_other_scenarios_is_refused(made: dict[str, Any], runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "scenarios.jsonl"
    file.write_text(made["scenarios"].read_text().replace("How far north is rome", "How far up is rome"))
    assert other(made, runs, scenarios=file) == "other: was cut from other scenarios than part-1; only shards of one run can be merged."


def meta(key: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with changed(path) as conn:
            ((text,),) = conn.execute("SELECT value FROM meta WHERE key = ?", (key,))
            conn.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(change(json.loads(text))), key))

    return damage


def sql(query: str, *, fitting: bool = True) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with changed(path, fitting=fitting) as conn:
            conn.execute(query)

    return damage


FIRST = "(SELECT min(id) FROM episodes)"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (unsealed, r"part-2: was not closed properly; continue with: talm-sim resume \S*part-2"),
        (
            sql(f"DELETE FROM episodes WHERE id = {FIRST}"),
            r"part-2: 1 of \d episodes neither finished nor wait for a person; continue with: .*",
        ),
        (sql(f"DELETE FROM episodes WHERE id = {FIRST}", fitting=False), r"part-2: run.db: has changed since it was sealed: .*"),
        (sql("UPDATE episodes SET body = x'00'", fitting=False), r"part-2: run.db: row '\S+' of episodes is damaged: .*"),
        (sql("DELETE FROM meta WHERE key = 'shard'"), r"part-2: its run.db does not say that it is shard 2/2; .*"),
        (meta("shard", lambda one: {**one, "part": "1/2"}), r"part-2: its run.db does not say that it is shard 2/2; .*"),
        (meta("shard", lambda one: {**one, "dataset": "0"}), r"part-2: was cut from other scenarios than part-1; .*"),
        (meta("tools", lambda one: []), r"part-2: the description of tool town_latitude is another one than in part-1; .*"),
        (sql("UPDATE scenarios SET position = 99 - position"), r"part-1 and the other shards do not contain the scenarios that were cut; .*"),
        (lambda path: (path / "run.json").write_text("{"), r"part-2/run.json: .*"),
    ],
)
def test_a_shard_that_is_not_whole_is_refused(runs: Path, damage: Callable[[Path], None], said: str) -> None:
    damage(runs / "part-2")
    assert re.fullmatch(said, refusal(runs))


def test_scenarios_of_another_shard_are_refused(runs: Path) -> None:
    with closing(sqlite3.connect(runs / "part-1" / "run.db")) as conn:
        (place, name) = conn.execute("SELECT position, id FROM scenarios").fetchone()
    with changed(runs / "part-2") as conn:
        conn.execute("UPDATE scenarios SET position = ? WHERE position = (SELECT min(position) FROM scenarios)", (place,))
    assert re.fullmatch(r"scenario '\S+' is in part-1 and in part-2; .*", refusal(runs))
    assert name


def test_a_shard_in_use_is_refused(runs: Path) -> None:
    async def go() -> None:
        async with RunStore.open(runs / "part-1"):
            assert re.match(r"part-1: is being run by process \d+ on \S+; wait for it, then merge again\.", refusal(runs))

    asyncio.run(go())


def test_a_shard_that_changes_while_it_is_merged_is_refused(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(*_: object) -> int:
        sql("UPDATE attempts SET attempt = 2")(runs / "part-2")
        return 0

    monkeypatch.setattr(merging, "_merge_cassettes", meanwhile)
    assert refusal(runs) == "part-2: has changed since the merge began; merge again."


def test_a_name_that_is_taken_is_refused(runs: Path) -> None:
    with pytest.raises(
        PrerequisiteError, match=r"part-1: a run of this name exists; choose another name, or delete it with: talm-sim runs delete"
    ):
        merge_runs("part-1", ["part-1", "part-2"], run_dir=runs)
    with pytest.raises(PrerequisiteError, match="runs merge: 'latest' always means the newest run"):
        merge_runs("latest", ["part-1", "part-2"], run_dir=runs)


@pytest.mark.parametrize("moment", ["copied", "written"])
def test_a_merge_that_is_killed_leaves_nothing_in_sight(runs: Path, moment: str) -> None:
    for number, name in enumerate(("first", "second"), start=1):
        (runs / f"part-{number}").rename(runs / name)
    with working(merging_work, runs.parent, moment) as kill:
        until((runs.parent / "reached").exists)
        kill()
    assert {path.name for path in runs.iterdir() if not path.name.startswith(".")} == {"first", "second"}
    assert merge_runs("out", ["first", "second"], run_dir=runs).finished == 8
    assert {path.name for path in runs.iterdir()} == {"first", "second", "out"}, "what the killed one left is removed"


# --- judges, people, recordings, controls ---------------------------------------------------------------------------------------------


def test_verdicts_stay_where_not_all_shards_were_judged(runs: Path) -> None:
    sql("DELETE FROM meta WHERE key IN ('judges', 'measures', 'scoring', 'first_measure')")(runs / "part-2")
    merged = merge_runs("out", ["part-1", "part-2"], run_dir=runs)
    assert (merged.judged, merged.first_measure) == (False, None)
    assert judge(merged).unjudged == 0
    assert merged.first_measure is not None


class Asking(Model):
    """A model that asks one question and answers with what it heard."""

    name = "test/asking"

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        if settings.choices:
            return ModelTurn(text="Yes", raw_text="Yes")
        heard = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        if heard:
            return ModelTurn(text=f"heard {heard[0]}", raw_text="")
        return ModelTurn(tool_calls=(ToolCall(id="c", name="ask_human", arguments={"question": "Which town?"}),), stop="tool_calls")

    async def aclose(self) -> None:
        return


@pytest.fixture
def asking(world: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    def opened(request: ModelRequest) -> Model:
        return Asking()

    monkeypatch.setattr(registry.PROVIDERS, "_registered", dict(registry.PROVIDERS._registered))
    registry.register_provider("test")(opened)
    yield {**world, "split": "underspecified", "model": "test/asking", "human": "terminal", "models": "live"}


def test_what_waits_in_the_shards_continues_in_the_merged_run(asking: dict[str, Any]) -> None:
    parts = shards(asking, 2)
    first, *later = [one.episode_id for path in parts for one in StoredRun(path).pending()]
    (where,) = [path for path in parts if first in StoredRun(path).asking()]
    answer(where, first, "before the merge")
    merged = merge_runs("merged", parts, run_dir=asking["run_dir"])
    assert (merged.finished, sorted(merged.asking())) == (0, sorted(later))
    assert {one.status for one in merged.shards} == {"waiting"}
    for name in later:
        answer(merged.path, name, f"for {name}")
    done = {one.id: one for one in resume(merged).episodes()}
    assert {name: (one.answer, one.attempt) for name, one in done.items()} == {
        first: ("heard before the merge", 1),
        **{name: (f"heard for {name}", 1) for name in later},
    }
    assert not (merged.path / "checkpoints.db").exists()


def test_an_episode_whose_checkpoint_is_gone_starts_again(asking: dict[str, Any]) -> None:
    parts = shards(asking, 2)
    (parts[0] / "checkpoints.db").unlink()
    merged = merge_runs("merged", parts, run_dir=asking["run_dir"])
    attempts = {one.attempt for one in resume(merged).pending()}
    assert attempts == {1, 2}


def test_recordings_of_their_own_are_merged(world: dict[str, Any], tmp_path: Path) -> None:
    parts = []
    for part in (1, 2):
        own = shutil.copytree(world["cassettes"], tmp_path / f"recordings-{part}")
        parts.append(run(**{**world, "cassettes": own}, shard=f"{part}/2", run_id=f"part-{part}").path)
    with pytest.raises(
        PrerequisiteError, match=r"^the shards have recordings of their own, for example in \S+: add cassettes=\"DIR\" to merge them\.$"
    ):
        merge_runs("merged", parts, run_dir=world["run_dir"])
    merged = merge_shards(Path("merged"), parts, tmp_path / "all", run_dir=world["run_dir"])
    assert merged.run.config.cassettes == tmp_path / "all"
    assert merged.recordings == len([*world["cassettes"].rglob("*.json")])
    with changed(merged.run.path) as conn:
        conn.execute("DELETE FROM episodes")
    assert resume(merged.run).terminations == run(**world).terminations, "its recordings are replayed"


def test_no_recordings_are_written_where_the_shards_have_none(tmp_path: Path) -> None:
    world: dict[str, Any] = {"run_dir": tmp_path / "runs", "task": "when2call", "limit": "3", "model": "sim/oracle"}
    with pytest.raises(PrerequisiteError, match="the shards have no recordings of their own; leave it out"):
        merge_runs("merged", shards(world, 2), tmp_path / "all", run_dir=world["run_dir"])


def test_controls_are_merged_where_all_shards_have_them(world: dict[str, Any]) -> None:
    parts = shards(world, 2, human="simulated", model="sim/asker")
    for path in parts:
        run(**{**world, "run_id": f"{path.name}.sim-oracle"}, shard=StoredRun(path).config.shard)
    run(**{**world, "model": "sim/eager", "run_id": f"{parts[0].name}.sim-eager"}, shard=StoredRun(parts[0]).config.shard)
    merged = merge_shards(Path("merged"), parts, run_dir=world["run_dir"])
    assert [one.id for one in merged.controls] == ["merged.sim-oracle"]
    assert merged.controls[0].finished == merged.run.finished
    assert merged.left_out == ("sim/eager",)
