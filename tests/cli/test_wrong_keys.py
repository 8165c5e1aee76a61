"""A key with a character that no HTTP header can carry: one line, for every provider, before anything is run."""

from __future__ import annotations

import pytest

from tests.cli.wrong import Talm, check, check_each

pytestmark = [pytest.mark.usefixtures("nothing_given"), pytest.mark.timeout(900)]
WRONG = {"quotes": "\u201csk-abc\u201d", "umlaut": "sk-\u00e4bc", "line break": "sk-abc\nrest"}
PROVIDERS = {"openai/gpt-4o": "OPENAI", "anthropic/claude-x": "ANTHROPIC", "openai-api/vllm/m": "VLLM"}


def test_each_provider_names_its_variable(talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(case: tuple[str, str]) -> tuple[int, str, str]:
        model, key = case
        monkeypatch.setenv(f"{PROVIDERS[model]}_API_KEY", WRONG[key])
        monkeypatch.setenv(f"{PROVIDERS[model]}_BASE_URL", "http://127.0.0.1:9/v1")
        return talm("run", "--model", model, "--limit", "1", "--display", "none")

    check_each((((model, key), f"{PROVIDERS[model]}_API_KEY: holds .* copy the key again") for model in PROVIDERS for key in WRONG), ask)


@pytest.mark.parametrize("variable", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
def test_what_the_sdk_reads_beside_the_key_is_looked_at(variable: str, talm: Talm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    monkeypatch.setenv(variable, WRONG["quotes"])
    check(talm("run", "--model", "openai/gpt-4o", "--limit", "1", "--display", "none"), f"{variable}: holds ")
