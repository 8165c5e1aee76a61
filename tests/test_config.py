"""What no configuration may hold: it is written into the run as it stands."""

from __future__ import annotations

from typing import Any

import pytest

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError


@pytest.mark.parametrize("key", ["api_key", "apikey", "default_Authorization", "client_secret", "auth_token"])
def test_a_secret_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(PrerequisiteError, match=f"--model-options: '{key}' would be written into the run") as caught:
        RunConfig.load(environ={}, model_options={key: "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("key", ["max_tokens_field", "eos_token", "top_p", "tokenizer"])
def test_other_options_pass(key: str) -> None:
    assert RunConfig.load(environ={}, model_options={key: "1"}).model_options == {key: "1"}


@pytest.mark.parametrize("options", [{"timeout": "inf"}, {"temperature": "nan"}, {"timeout": 0}, {"temperature": 2.1}, {"max_retries": -1}])
def test_a_number_out_of_bounds_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PrerequisiteError, match=f"--{next(iter(options)).replace('_', '-')}: Input should be"):
        RunConfig.load(environ={}, **options)
