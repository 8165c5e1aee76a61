"""Where brackets and quoted texts end."""

from __future__ import annotations

from talm_sim.tasks.refusal.attempts.brackets import closings, split_arguments


def test_a_quoted_text_ends_at_its_quote_and_the_comma_behind_it_counts() -> None:
    text = "f('a,(b','c')"
    pairs = closings(text, 0)
    assert {text[start : end + 1] for start, end in pairs.items()} == {"('a,(b','c')", "'a,(b'", "'c'"}
    assert split_arguments(text, 1, len(text) - 1, pairs) == ["'a,(b'", "'c'"]
