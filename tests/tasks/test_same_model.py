"""Which published model a run's model is."""

from __future__ import annotations

from talm_sim.tasks.paper.paper_rows import recognise
from talm_sim.tasks.paper.published import published
from tests.tables import labelled


@labelled
def test_a_model_is_recognised_by_family_version_and_size(model: str, paper: str, table: str, name: str | None) -> None:
    found = published(paper, table)
    at = found.keys.index("model")
    assert recognise(model, [row.keys[at] for row in found.rows]) == name


def test_two_published_models_that_fit_are_none() -> None:
    assert recognise("hf/meta-llama/Llama-3.1-8B-Instruct", ["Llama 8B", "Llama 3.1 8B"]) is None
