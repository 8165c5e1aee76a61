"""Train adapters by TRL's trainers: recipes, rows as tokens, one loss, and training that a kill does not undo.

From the lowest layer up:

- `lessons/` makes the rows to train on
- `folder.py` is the folder of a training, and its checkpoints
- `recipe.py` reads the settings
- `token_rows.py` turns rows into tokens
- `trainers.py` sets up TRL's trainers
- `training_session.py` trains, from the file to the adapter
"""

from __future__ import annotations

from talm_sim.training.folder import whole_checkpoints
from talm_sim.training.recipe import RECIPES, Recipe, read_recipe
from talm_sim.training.training_session import Forecast, Job, Step, forecast, train

__all__ = ["RECIPES", "Forecast", "Job", "Recipe", "Step", "forecast", "read_recipe", "train", "whole_checkpoints"]
