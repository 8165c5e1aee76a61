"""One model says what a generation is asked for; what decides the texts is told by it, in the words that shipped recordings are named by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.config import Scope, scope_of
from talm_sim.errors import OptionError
from talm_sim.recordings import shipped_cassettes
from talm_sim.recordings.archive import open_archive
from talm_sim.scenarios.making.options import RULES
from talm_sim.scenarios.making.prompts import load_writer_prompts
from talm_sim.tasks.when2call.maker import PROMPTS
from talm_sim.tasks.when2call.making import GenerateOptions

RECORDED: dict[str, Any] = {
    "model": "openai-api/vllm/smollm2-135m",
    "tool_use": "call",
    "max_new_tokens": 96,
    "variants": "one",
}
RECORDED_DIGEST = "3d9f9c050b0f"


def options(**given: Any) -> GenerateOptions:
    return GenerateOptions(out=Path("made"), **given)


def test_the_settings_of_the_shipped_recording_are_what_they_were() -> None:
    wording = load_writer_prompts(PROMPTS).digest
    assert list(options(**RECORDED).settings(wording).items()) == [
        ("model", "openai-api/vllm/smollm2-135m"),
        ("model_options", {}),
        ("tool_use", "call"),
        ("labels", "constrained"),
        ("prompts", "e129c88eb50c"),
        ("seed", 0),
        ("temperature", 0.6),
        ("top_p", 0.95),
        ("max_new_tokens", 96),
        ("attempts", 1),
        ("judge", "none"),
        ("unable", "removed"),
        ("variants", "one"),
    ]
    assert options(**RECORDED).conversations(wording) == RECORDED_DIGEST
    archive = open_archive(shipped_cassettes() / "openai-api--vllm--smollm2-135m" / "when2call" / "generate.zip")
    assert all(name.endswith(f"1-0-{RECORDED_DIGEST}.json") for name in archive.names() if name.endswith(".json") and "/" in name)


def test_the_digest_of_other_settings_is_what_it_was() -> None:
    given: dict[str, Any] = {"model": "openai-api/a/b", "model_options": {"base_url": "x"}, "seed": 3, "temperature": 0.5, "top_p": 0.9}
    assert options(**given, max_new_tokens=128, attempts=2).conversations("p") == "eac3a22793ad"


def test_where_it_goes_and_how_it_is_run_decides_no_text() -> None:
    other = options(**RECORDED, file=Path("x"), limit="3", max_connections=2, traffic="live", cassettes=Path("y"))
    assert other.settings("p") == options(**RECORDED).settings("p")
    free = {name for name in GenerateOptions.model_fields if scope_of(GenerateOptions, name) is not Scope.GENERATION}
    assert free == {"out", "file", "limit", "max_connections", "traffic", "cassettes"}


def test_the_rows_an_item_gets_are_a_setting_but_nothing_a_model_is_asked() -> None:
    both = [options(**{**RECORDED, "variants": variants}) for variants in ("one", "all")]
    assert both[0].settings("p") != both[1].settings("p")
    assert both[0].conversations("p") == both[1].conversations("p")


@pytest.mark.parametrize("model", ["hf/smollm2-135m", "vllm/smollm2-135m"])
@pytest.mark.parametrize("tool_format", ["auto", "constrained"])
def test_a_model_in_this_process_labels_by_itself_and_is_said_to(model: str, tool_format: str) -> None:
    given = options(model=model, tool_format=tool_format)
    assert (given.constrained, given.settings()["labels"]) == (False, "plain")


def test_without_a_model_the_gold_call_says_why_a_tool_is_needed() -> None:
    assert options().model == RULES and options().by_rules
    settings = options().settings()
    assert (settings["tool_use"], settings["labels"], settings["prompts"]) == ("call", "plain", "")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"model": "nobody"}, "PROVIDER/NAME"),
        ({"model_options": {"api_key": "x"}}, "secrets"),
        ({"limit": "x"}, "'x' is not a limit"),
        ({"attempts": 11}, "11 is too large; the most is 10"),
        ({"top_p": 0}, "0 is too small; it must be more than 0"),
        ({"nope": 1}, "there is no such name. Known: out"),
    ],
)
def test_a_wrong_value_is_refused_by_the_rules_of_a_run(given: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        options(**given)
