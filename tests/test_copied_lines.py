"""A line that is printed for copying means the same words in bash, zsh and fish, whatever a stranger called a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from talm_sim.errors import line_to_copy, quote
from tests.cli.parsing.shells import NAMES, SHELLS, needs, passed

_ACT = "'\\\"$`!~=%#;&|(){}[]<>*?^ a-:,\u00a0\u3000"
_TEXTS = st.text(st.one_of(st.sampled_from(_ACT), st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))), max_size=12)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.lists(_TEXTS, min_size=1, max_size=4), min_size=60, max_size=60))
def test_each_shell_reads_the_words_that_were_meant(shell: str, words: list[list[str]], tmp_path: Path) -> None:
    needs(shell)
    assert passed(shell, [line_to_copy("talm-sim", *some) for some in words], tmp_path) == words


@pytest.mark.parametrize("shell", SHELLS)
def test_no_name_acts(shell: str, tmp_path: Path) -> None:
    needs(shell)
    names = [*NAMES, "", "~", "~/x", "=", "==ls", "%", "%%", "%?x", "!", "!!:p", "!$", "^x^y", "-", "a\u2003b", "'", "''", "\\", "\\'", "'\\''"]
    assert passed(shell, [line_to_copy("talm-sim", "show", name) for name in names], tmp_path) == [["show", name] for name in names]
    assert not list(tmp_path.rglob("PWNED"))


@pytest.mark.parametrize(
    "plain", ["runs/2026-11-23T14-00-00", "a-run:perfect-0", "openai-api/vllm/m", "x=openapi:https://a.example/b,c", "50%", "a=b", "."]
)
def test_a_plain_name_stays_plain(plain: str) -> None:
    assert quote(plain) == plain


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "\x1b[2J", "a\x9bb", "a\u202eb", "a\u2028b", "a\u200bb", "a\ud800b", "\x7f"])
def test_a_name_with_control_characters_is_no_line_to_copy(name: str) -> None:
    said = line_to_copy("talm-sim", "show", name)
    assert said == "no command to copy: a name in it has control characters"
