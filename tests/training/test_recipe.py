"""Recipes: what the papers state, and what replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.training import RECIPES, read_recipe
from talm_sim.training.recipe import Method


def test_the_studys_table() -> None:
    found = read_recipe("study", "sft")
    assert (found.rank, found.alpha, found.epochs, found.learning_rate, found.batch, found.max_length) == (32, 64, 2, 8e-5, 32, 2048)
    assert found.open == ("schedule", "warmup_steps", "dropout")


def test_when2call_states_neither_batch_nor_epochs() -> None:
    sft, rpo = read_recipe("when2call-sft", "sft"), read_recipe("when2call-rpo", "rpo")
    assert (sft.learning_rate, sft.schedule, sft.warmup_steps) == (5e-6, "constant", 0)
    assert (rpo.learning_rate, rpo.schedule, rpo.warmup_steps, rpo.beta, rpo.scale) == (9e-7, "constant", 10, 0.05, 1.0)
    assert {"batch", "epochs"} <= set(sft.open) & set(rpo.open)


def test_every_packaged_recipe_states_every_key_that_its_paper_leaves_open() -> None:
    for name in RECIPES:
        method: Method = "rpo" if name.endswith("rpo") else "sft"
        assert set(read_recipe(name, method).open) <= read_recipe(name, method).model_fields_set


def test_an_option_replaces_a_value_and_is_open_no_more() -> None:
    found = read_recipe("when2call-sft", "sft", {"batch": 8, "learning_rate": 1e-4})
    assert (found.batch, found.learning_rate) == (8, 1e-4)
    assert "batch" not in found.open and "epochs" in found.open


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("epochs = 3\n", encoding="utf-8")
    assert read_recipe(str(file), "dpo").epochs == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("stody", None, "there is no recipe 'stody'; name a TOML file or a recipe. Did you mean 'study'?"),
        ("mine.toml", None, "cannot be read: No such file"),
        ("mine.toml", "epoch = 3", "mine.toml: epoch: a recipe has no such option. Did you mean 'epochs'?"),
        ("mine.toml", "epochs = 0", "mine.toml: epochs: 0 is too small"),
        ("mine.toml", 'methods = ["rpo"]', "mine.toml: is for rpo, not for sft"),
        ("mine.toml", 'open = ["bach"]', "mine.toml: open: there is no key 'bach'. Did you mean 'batch'?"),
    ],
)
def test_a_wrong_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(PrerequisiteError) as err:
        read_recipe(name, "sft")
    assert said in str(err.value)


def test_a_wrong_option() -> None:
    with pytest.raises(PrerequisiteError, match=r"^--learning-rate: 2(\.0)? is too large"):
        read_recipe("study", "sft", {"learning_rate": 2.0})
