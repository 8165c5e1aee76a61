from __future__ import annotations

from pathlib import Path

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.talm.making.seeds import load_seeds
from tests.tasks.talm.making.toy import SEED, write_seed


def test_a_seed_names_facts_and_never_their_values(tmp_path: Path) -> None:
    (seed,) = load_seeds(write_seed(tmp_path) / "toys.toml")
    assert [fact.name for fact in seed.facts] == ["height", "sum"]
    assert "value" not in type(seed.facts[0]).model_fields


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[scenario]]", "[[scenario]", "not valid TOML"),
        ('argument = "code"', 'argument = "name"', "scenario 1: underspecified: call 0 has no argument 'name'"),
        ("call = 0\nargument", "call = 2\nargument", "scenario 1: underspecified: call 2 has no argument 'code'"),
        ("call = 1, pointer", "call = 5, pointer", "scenario 1: fact 'sum': there is no call 5"),
        ("call = 1, pointer", "call = 0, pointer", "scenario 1: call 'add_up' gives no fact"),
        ("call = 1, pointer", "call = -1, pointer", r"scenario 1: facts\.1\.call: "),
        ('[scenario.unavailable]\ntool = "get_height"', '[scenario.unavailable]\ntool = "other"', "scenario 1: unavailable: no call uses"),
        ('name = "height",', 'name = "height", value = 13355,', r"scenario 1: facts\.0\.value: Extra inputs"),
        ("query = ", "question = ", r"scenario 1: query: Field required"),
    ],
)
def test_a_broken_seed_is_named_with_file_scenario_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SEED
    with pytest.raises(PrerequisiteError, match=rf"toys\.toml: {message}") as caught:
        load_seeds(write_seed(tmp_path, SEED.replace(old, new)) / "toys.toml")
    assert "\n" not in str(caught.value)
