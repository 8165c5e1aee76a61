"""Recipes: the settings of a training, from a TOML file and the options that override it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from talm_sim.common.toml_files import packaged_toml, read_toml
from talm_sim.common.typed_options import OptionsModel, read_options
from talm_sim.errors import OptionError, PrerequisiteError, did_you_mean

Method = Literal["sft", "dpo", "rpo"]
METHODS: tuple[Method, ...] = ("sft", "dpo", "rpo")
RECIPES = ("study", "when2call-sft", "when2call-rpo")
"""Names of the packaged recipes; the first is used unless another is named."""


class Recipe(OptionsModel):
    """How an adapter is trained.

    Attributes:
        about: What the recipe is, for a person.
        methods: The methods that it is for.
        open: Keys that the recipe's paper does not state, so that their values are not the paper's.
        rank: Rank of the adapter (LoRA), on every linear layer but the last.
        alpha: The adapter's scale, times the rank.
        dropout: Share of the adapter's inputs that are dropped; DPO and RPO drop none.
        learning_rate: The highest learning rate of AdamW.
        schedule: What the learning rate does after the warm-up.
        warmup_steps: Steps in which the learning rate rises from 0.
        epochs: How often each row is read.
        batch: Rows per step.
        max_length: Most tokens of a row; a longer row is refused.
        seed: Seed of the adapter's first weights and of the order of the rows.
        dtype: Type that passes are computed in; the weights are float32 always.
        beta: Weight of the difference from the model as it was when this stage began (DPO, RPO).
        scale: Weight of the rewards, which are 1 for the chosen answer and 0 for the rejected one (RPO).
    """

    about: str = ""
    methods: tuple[Method, ...] = METHODS
    open: tuple[str, ...] = ()
    rank: int = Field(32, ge=1, le=1024)
    alpha: float = Field(64, gt=0)
    dropout: float = Field(0.0, ge=0, lt=1)
    learning_rate: float = Field(8e-5, gt=0, le=1)
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = Field(0, ge=0)
    epochs: int = Field(2, ge=1)
    batch: int = Field(32, ge=1)
    max_length: int = Field(2048, ge=2)
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Literal["float32", "bfloat16"] = "float32"
    beta: float = Field(0.05, gt=0)
    scale: float = Field(1.0, gt=0)


def read_recipe(name: str, method: Method, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """Read one of `RECIPES`, or a TOML file, with some values replaced; a key of `open` that is replaced is open no more."""
    if name in RECIPES:
        written, where = packaged_toml("talm_sim.training", f"recipes/{name}.toml"), f"recipe {name}"
    elif (file := Path(name).expanduser()).suffix == ".toml" or file.is_file():
        written, where = read_toml(file, "--recipe"), str(file)
    else:
        raise PrerequisiteError(f"--recipe: there is no recipe '{name}'; name a TOML file or a recipe.{did_you_mean(name, RECIPES)}")
    recipe = read_options(written, Recipe, "a recipe", f"{where}: ")
    if unknown := next((key for key in recipe.open if key not in Recipe.model_fields), None):
        raise PrerequisiteError(f"{where}: open: there is no key '{unknown}'.{did_you_mean(unknown, Recipe.model_fields)}")
    if method not in recipe.methods:
        raise PrerequisiteError(f"{where}: is for {' and '.join(recipe.methods)}, not for {method}; name another with --recipe.")
    given = dict(overrides or {})
    left = tuple(key for key in recipe.open if key not in given)
    try:
        return Recipe(**{**recipe.model_dump(), **given, "open": left})
    except OptionError as err:
        raise PrerequisiteError(f"--{err.name.replace('_', '-')}: {err.fault}") from None
