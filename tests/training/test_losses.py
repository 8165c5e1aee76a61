"""The losses of three rows, against values computed in plain Python from the model's logits."""

from __future__ import annotations

import warnings
from math import exp, log, log1p
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.models.local.engine import HFOptions, load_engine
from talm_sim.models.local.prompting import Rendering
from talm_sim.training import read_recipe
from talm_sim.training.token_rows import Example, encode_rows, read_rows
from tests.models.local.tiny import make_tiny
from tests.training.tiny_training import completions, pairs, write_rows

pytestmark = [pytest.mark.local, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")]
torch = pytest.importorskip("torch", reason="torch is not installed (the extra local)")
pytest.importorskip("trl", reason="trl is not installed (the extra train)")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("losses") / "model")


def make(model: Path, folder: Path, method: Any, **changed: Any) -> tuple[Any, list[Example]]:
    """A trainer of three rows whose adapter is not that of the beginning, in float64, so that the sums are exact."""
    from talm_sim.training.trainers import make_trainer

    engine = load_engine("hf/tiny", str(model), HFOptions(threads=1))
    file = write_rows(folder / "rows.jsonl", completions(3) if method == "sft" else pairs(3))
    examples = encode_rows(
        read_rows(file, method),
        engine.tokenizer,
        name="hf/tiny",
        max_length=64,
        ends=engine.model.generation_config.eos_token_id,
        rendering=Rendering(),
    )
    recipe = read_recipe("study", method, {"batch": 3, **changed})
    trainer = make_trainer(method, recipe, engine.model, engine.tokenizer, examples, folder / "checkpoints", together=3)
    trainer.model.double()
    torch.manual_seed(1)
    for name, weight in trainer.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    return trainer, examples


def loss_of(trainer: Any) -> float:
    inputs = trainer.data_collator([{key: value for key, value in row.items()} for row in trainer.train_dataset])
    trainer.model.train()
    return float(trainer.compute_loss(trainer.model, inputs).detach())


def logprobs(trainer: Any, example: Example) -> list[list[float]]:
    """Of each answer, the log-probability of each of its tokens."""
    found = []
    trainer.model.eval()
    for answer in example.answers:
        tokens = example.prompt + answer
        with torch.no_grad():
            logits = trainer.model(input_ids=torch.tensor([tokens])).logits[0].tolist()
        found.append([logprob(logits[place - 1], tokens[place]) for place in range(len(example.prompt), len(tokens))])
    return found


def logprob(logits: list[float], token: int) -> float:
    most = max(logits)
    return logits[token] - most - log(sum(exp(one - most) for one in logits))


def ratios(trainer: Any, examples: list[Example]) -> list[float]:
    """Of each pair, how much more the model prefers the chosen answer than the base does."""
    found = []
    for example in examples:
        chosen, rejected = map(sum, logprobs(trainer, example))
        with trainer.model.disable_adapter():
            before = [*map(sum, logprobs(trainer, example))]
        found.append((chosen - before[0]) - (rejected - before[1]))
    assert max(map(abs, found)) > 0.01
    return found


def test_sft(model: Path, tmp_path: Path) -> None:
    trainer, examples = make(model, tmp_path, "sft")
    tokens = [one for example in examples for one in logprobs(trainer, example)[0]]
    assert loss_of(trainer) == pytest.approx(-sum(tokens) / len(tokens), abs=1e-6)


def test_dpo(model: Path, tmp_path: Path) -> None:
    trainer, examples = make(model, tmp_path, "dpo", beta=0.3)
    by_hand = [log1p(exp(-0.3 * one)) for one in ratios(trainer, examples)]
    assert loss_of(trainer) == pytest.approx(sum(by_hand) / 3, abs=1e-6)


@pytest.mark.parametrize(("beta", "scale"), [(0.05, 1.0), (0.5, 2.0)])
def test_rpo(model: Path, tmp_path: Path, beta: float, scale: float) -> None:
    trainer, examples = make(model, tmp_path, "rpo", beta=beta, scale=scale)
    by_hand = []
    for one in ratios(trainer, examples):
        b = 1 / (1 + exp(-beta * one))
        a = 1 / (1 + exp(-scale * (1 - 0)))
        by_hand.append(a * log(a / b) + (1 - a) * log((1 - a) / (1 - b)))
    assert loss_of(trainer) == pytest.approx(sum(by_hand) / 3, abs=1e-6)


def test_rpo_does_not_overflow() -> None:
    from talm_sim.training.trainers import rpo_loss

    found = rpo_loss(torch.tensor([1e4, -1e4]), torch.tensor([0.0, 0.0]), 1.0, 1.0)
    a = 1 / (1 + exp(-1))
    entropy = a * log(a) + (1 - a) * log(1 - a)
    assert float(found) == pytest.approx(entropy + 1e4 / 2, rel=1e-6)


@pytest.mark.parametrize("method", ["sft", "rpo"])
def test_a_step_in_several_passes_is_the_same_step(model: Path, tmp_path: Path, method: Any) -> None:
    from talm_sim.training.trainers import make_trainer

    found = {}
    for together in (1, 4):
        engine = load_engine("hf/tiny", str(model), HFOptions(threads=1))
        file = write_rows(tmp_path / "rows.jsonl", completions(10) if method == "sft" else pairs(10))  # the last step has two rows
        examples = encode_rows(read_rows(file, method), engine.tokenizer, name="", max_length=64, ends=None, rendering=Rendering())
        recipe = read_recipe("study", method, {"batch": 4, "learning_rate": 1e-3})
        steps: list[float | None] = []
        trainer = make_trainer(
            method,
            recipe,
            engine.model,
            engine.tokenizer,
            examples,
            tmp_path,
            together=together,
            report=lambda number, total, loss, steps=steps: steps.append(loss),  # type: ignore[misc]
        )
        trainer.train()
        found[together] = steps[1:]
    assert len(found[1]) == 6 and found[1] == pytest.approx(found[4], rel=1e-3)


def test_a_loss_that_is_no_number_ends_the_training(model: Path, tmp_path: Path) -> None:
    trainer, _ = make(model, tmp_path, "sft")
    for name, weight in trainer.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.constant_(weight, float("nan"))
    with pytest.raises(PrerequisiteError, match=r"^step 1: the loss is not a finite number any more; lower --learning-rate\.$"):
        trainer.train()


def test_no_warning_of_the_names_that_trl_uses(model: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        make(model, tmp_path, "sft")
        for name in ("gradient_checkpointing", "is_gradient_checkpointing", "other"):
            warnings.warn(f"`{name}` is deprecated and will be removed in v6. Use another.", FutureWarning, stacklevel=1)
    assert [str(one.message)[:9] for one in found if one.category is FutureWarning] == ["`other` i"]


def test_the_stop_token_is_learned_and_the_prompt_is_not(model: Path, tmp_path: Path) -> None:
    trainer, examples = make(model, tmp_path, "sft")
    inputs = trainer.data_collator(list(trainer.train_dataset))
    end = trainer.processing_class.eos_token_id
    for read, labels, example in zip(inputs["input_ids"].tolist(), inputs["labels"].tolist(), examples, strict=True):
        learned = [place for place, label in enumerate(labels) if label != -100]
        assert learned == [*range(len(example.prompt), len(example.prompt) + len(example.answers[0]))]
        assert labels[learned[-1]] == read[learned[-1]] == end
        assert [labels[place] for place in learned] == [read[place] for place in learned]
    trainer, examples = make(model, tmp_path, "rpo")
    inputs = trainer.data_collator(list(trainer.train_dataset))
    for read, mask in zip(inputs["input_ids"].tolist(), inputs["completion_mask"].tolist(), strict=True):
        assert read[max(place for place, one in enumerate(mask) if one)] == end
