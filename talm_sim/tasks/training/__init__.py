"""Training rows from what a task measures: scenarios, runs and the user's own rows, written as a model reads and writes them."""

from __future__ import annotations

from talm_sim.tasks.training.examples import Answer, Example, Kind, TrainingSet
from talm_sim.tasks.training.lessons import Lessons
from talm_sim.tasks.training.writing import RowWriter, write_rows

__all__ = ["Answer", "Example", "Kind", "Lessons", "RowWriter", "TrainingSet", "write_rows"]
