"""A training that is killed three times ends in the weights of one that was not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.training import train
from tests.models.local.tiny import make_tiny
from tests.training.tiny_training import Training, make_job

pytestmark = [pytest.mark.local, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]
pytest.importorskip("trl", reason="trl is not installed (the extra train)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    make_tiny(folder / "model")
    Training(make_job(folder, "sft", out="first")).finish()
    return folder


def weights_of(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(str(folder / "adapter_model.safetensors")))


def greatest_difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[key] - other[key]).abs().max()) for key in one)


@pytest.mark.parametrize(
    ("method", "second"), [("sft", False), pytest.param("dpo", False, marks=pytest.mark.slow), ("rpo", False), ("rpo", True)]
)
def test_three_kills_change_no_weight(folder: Path, method: str, second: bool) -> None:
    start = folder / "first" if second else None
    whole, broken = (f"{method}-{second}-{name}" for name in ("whole", "broken"))
    Training(make_job(folder, method, out=whole, start=start)).finish()
    job = make_job(folder, method, out=broken, start=start, checkpoint_s=0)
    begun: list[int] = []
    for kill in (3, 6, 9):  # of 12, and at any moment after the step: while its checkpoint is written, say
        training = Training(job)
        training.kill_at(kill)
        begun.append(training.first or 0)
        assert not (job.out / "adapter_config.json").exists()
    last = Training(job)
    last.finish()
    assert begun[0] == 0 and 2 <= begun[1] <= 3 and 5 <= begun[2] <= 6 and last.first in (8, 9)
    assert greatest_difference(weights_of(folder / whole), weights_of(job.out)) <= 1e-6
    assert (job.out / "losses.jsonl").read_text() == (folder / whole / "losses.jsonl").read_text() != ""
    assert max(float(one.abs().max()) for key, one in weights_of(job.out).items() if "lora_B" in key) > 1e-3, "nothing was learned"
    assert sorted(one.name for one in job.out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        *(["base"] if second else []),
        "losses.jsonl",
        "training.json",
    ]


def test_a_finished_training_is_left_alone(folder: Path) -> None:
    before = (folder / "first" / "adapter_model.safetensors").stat().st_mtime_ns
    assert not train(make_job(folder, "sft", out="first"), lambda step: pytest.fail("it trains"))
    assert (folder / "first" / "adapter_model.safetensors").stat().st_mtime_ns == before


def test_the_result_of_a_second_stage_can_be_loaded(folder: Path) -> None:
    import torch

    from talm_sim.models.local.engine import HFOptions, load_engine

    def load(model: Path, adapter: Path | None) -> tuple[Any, dict[str, str]]:
        options = HFOptions(threads=1, **({"lora": str(adapter)} if adapter else {}))
        engine = load_engine("hf/some", str(model), options)
        with torch.no_grad():
            return engine.model(input_ids=torch.tensor([[0, 70, 71, 72]])).logits, dict(engine.weights.notes)

    second = folder / "rpo-True-whole"
    first, merged, whole = load(folder / "model", folder / "first"), load(second / "base", None), load(second / "base", second)
    assert float((first[0] - merged[0]).abs().max()) < 1e-4
    assert float((whole[0] - merged[0]).abs().max()) > 1e-2
    assert first[1] == whole[1] == {}
    assert "was trained on" in load(folder / "model", second)[1]["adapter"]
