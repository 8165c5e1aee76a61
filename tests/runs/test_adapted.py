"""A run of a model with an adapter: its names, and the digests by which it is told apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli import main
from talm_sim.comparison.compare import compare
from talm_sim.errors import PrerequisiteError
from talm_sim.runs.api import resume, run
from talm_sim.store.stored_run import StoredRun
from tests.models.local.adapting import change_tensor, make_adapter
from tests.models.local.tiny import make_tiny

pytestmark = [pytest.mark.local, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("peft", reason="peft is not installed (the extra local)")
FIRST = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model, two adapters, and a run of each and of the model alone."""
    folder = tmp_path_factory.mktemp("adapted")
    make_tiny(folder / "tiny", context=8192)
    for name, seed in (("first", 1), ("second", 2)):
        make_adapter(folder / "tiny", folder / name, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("base", "first", "second"):
            played(name)
    return folder


@pytest.fixture(autouse=True)
def _there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(place)
    yield


def played(adapter: str, **options: Any) -> StoredRun:
    lora = {} if adapter == "base" else {"model_options": {"lora": adapter}}
    return run(**{"task": "when2call", "split": "cannot_answer", "limit": "2", "model": "hf/tiny", "run_id": adapter, **lora, **options})


def test_base_and_adapter_are_named_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        assert main([*words]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "hf/tiny + first" in said("report", "first")
    assert "hf/tiny + first" in said("show", f"first:{StoredRun(Path('runs/first')).episode_ids()[0]}")
    assert "tiny + first" in said("runs", "list")
    table = said("report", "--by-model", "base", "first", "second")
    assert "hf/tiny + first" in table and "hf/tiny + second" in table and "differ in" not in table
    said("report", "first", "--html", "page.html")
    assert Path("page.html").read_text().count("hf/tiny + first") >= 2
    record = json.loads(said("report", "first", "--json"))
    assert "'model': 'hf/tiny', 'adapter': 'first'" in str(record)


def test_the_digests_are_part_of_the_run() -> None:
    first, second = (StoredRun(Path("runs") / name).manifest.weights for name in ("first", "second"))
    assert first["base"] == second["base"] and first["adapter"] != second["adapter"]
    assert "weights" not in json.loads(Path("runs/base/run.json").read_text())
    compared = compare("first", "second")
    assert compared.changed == {
        "model_options": tuple(f"lora={name} (digest {one['adapter'][:12]})" for name, one in (("first", first), ("second", second)))
    }
    assert [*compare("base", "first").changed] == ["model_options"]
    assert (
        compared.labels == ("hf/tiny + first, template default", "hf/tiny + second, template default")
        or "hf/tiny + first" in compared.labels[0]
    )


def test_resume_refuses_another_adapter_and_another_base(tmp_path: Path) -> None:
    shutil.copytree("second", "third")
    stored = played("third")
    assert resume(stored.path).finished == stored.total
    change_tensor(Path("third"), FIRST, (4, 32))
    with pytest.raises(PrerequisiteError, match=r"^resume: the adapter of hf/tiny \+ third changed since the run began; restore the files"):
        resume(stored.path)
    shutil.copytree("second", "third", dirs_exist_ok=True)
    kept = Path("tiny/model.safetensors").read_bytes()
    try:
        make_tiny(Path("tiny"), context=8192)
        from safetensors.torch import load_file, save_file

        tensors = load_file("tiny/model.safetensors")
        save_file({name: one + 1e-3 for name, one in tensors.items()}, "tiny/model.safetensors", metadata={"format": "pt"})
        with pytest.raises(PrerequisiteError, match=r"^resume: the weights of hf/tiny \+ third changed since the run began"):
            resume(stored.path)
    finally:
        Path("tiny/model.safetensors").write_bytes(kept)


def test_an_adapter_of_another_base_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("first", "fourth")
    file = Path("fourth/adapter_config.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": "some/other"}))
    words = ["--task", "when2call", "--split", "cannot_answer", "--limit", "1", "--model", "hf/tiny", "-M", "lora=fourth"]
    assert main(["run", *words, "--run-id", "fourth"]) == 0
    note = "adapter: fourth was trained on 'some/other', and is used on hf/tiny"
    assert note in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_is_no_adapter_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--task", "when2call", "--model", "hf/tiny", "-M", "lora=tiny", "--limit", "1"]) == 2
    fault = "-M lora=tiny: contains no adapter_config.json, so it is not an adapter; name the directory that does."
    assert " ".join(capsys.readouterr().err.split()).endswith(fault)
